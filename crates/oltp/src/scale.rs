//! How large a database is, and the numbers that the standard fixes (TPC-C 5.11, clauses 1.2.1 and 4.3.3.1).

use serde::{Deserialize, Serialize};

/// Districts of a warehouse.
pub(crate) const DISTRICTS: i64 = 10;
/// Lines of an order: from, to.
pub(crate) const LINES: (i64, i64) = (5, 15);
/// Different last names.
const NAMES: i64 = 1000;

/// Rows per warehouse or district. Anything but [`Scale::STANDARD`] is for tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scale {
    /// Items, and rows of stock of each warehouse.
    pub items: i64,
    /// Customers of a district, and its orders after the load.
    pub customers: i64,
    /// How many of these orders are not delivered.
    pub undelivered: i64,
}

impl Scale {
    /// As the standard says.
    pub const STANDARD: Scale = Scale { items: 100_000, customers: 3000, undelivered: 900 };
    /// For tests.
    pub const TINY: Scale = Scale { items: 100, customers: 30, undelivered: 9 };

    /// Last names in use.
    pub(crate) fn names(&self) -> i64 {
        self.customers.min(NAMES)
    }

    /// The next order of a district after the load.
    pub(crate) fn first_order(&self) -> i64 {
        self.customers + 1
    }

    /// Rows of so many warehouses, about: an order has ten lines in the mean.
    pub(crate) fn rows(&self, warehouses: u32) -> u64 {
        // A customer, its row of history, its order and the lines of that.
        let of_district = self.customers * 13 + self.undelivered;
        let of_warehouse = 1 + DISTRICTS * (1 + of_district) + self.items;
        self.items as u64 + u64::from(warehouses) * of_warehouse as u64
    }

    /// Bytes that a warehouse takes about, indexes included: measured on both databases, rounded up.
    pub fn warehouse_bytes(&self) -> u64 {
        // A row of stock takes 340 bytes; a customer with history, order and ten lines 2,600.
        self.items as u64 * 360 + self.customers as u64 * DISTRICTS as u64 * 2800
    }
}

/// Warehouses per processor that HammerDB's documentation and the published set-ups use, rounded up to
const PER_CPU: u32 = 5;
/// so many.
const ROUND: u32 = 100;
/// Warehouses of a user.
const PER_USER: u32 = 10;
/// Share of the usable space that a database of `--size auto` may take: it grows while it is used.
const SPACE_SHARE: u64 = 2;

/// `--size auto`: warehouses for so many processors, as far as there is space; `None`: the space is not known.
pub(crate) fn advised_warehouses(cpus: u32, usable_bytes: Option<u64>) -> u32 {
    let wanted = (cpus.max(1) * PER_CPU).next_multiple_of(ROUND);
    let fitting =
        usable_bytes.map_or(u64::MAX, |bytes| bytes / SPACE_SHARE / Scale::STANDARD.warehouse_bytes());
    wanted.min(u32::try_from(fitting).unwrap_or(u32::MAX)).max(1)
}

/// Users for so many warehouses.
pub(crate) fn advised_users(warehouses: u32) -> u32 {
    (warehouses / PER_USER).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_follows_processors_and_space() {
        assert_eq!([2, 20, 21, 64].map(|cpus| advised_warehouses(cpus, None)), [100, 100, 200, 400]);
        let warehouse = Scale::STANDARD.warehouse_bytes();
        assert_eq!(advised_warehouses(2, Some(40 * warehouse)), 20);
        assert_eq!(advised_warehouses(2, Some(0)), 1);
        assert_eq!([1, 9, 10, 100].map(advised_users), [1, 1, 1, 10]);
    }
}
