//! The rows of a loaded database (TPC-C 5.11, clause 4.3.3.1), table by table and warehouse by warehouse: each part is fixed by the
//! seed alone, so that parts can be made by several threads in any order.

use assay_workload::rng::{Rng, derive_seed};

use crate::error::Error;
use crate::scale::{DISTRICTS, LINES, Scale};
use crate::schema::Table;
use crate::text::{NuRand, between, data, digits, last_name, letters, percent};

/// Cents that every customer has paid when the database is loaded.
const FIRST_PAYMENT: i64 = 1000;
/// Numbers of carriers.
pub(crate) const CARRIERS: i64 = 10;

/// A value of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cell<'a> {
    Int(i64),
    Text(&'a str),
    Null,
}

/// Takes rows of one table.
pub(crate) trait Rows {
    /// The next row, in the order of the table's columns.
    fn row(&mut self, cells: &[Cell<'_>]) -> Result<(), Error>;
}

/// What is loaded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    pub(crate) scale: Scale,
    pub(crate) seed: u64,
    pub(crate) nurand: NuRand,
    /// When everything is said to have happened, microseconds since 1970.
    pub(crate) at_us: i64,
}

/// The tables that have rows of each warehouse.
pub(crate) const OF_WAREHOUSE: [Table; 8] = [
    Table::Warehouse,
    Table::District,
    Table::Stock,
    Table::Customer,
    Table::History,
    Table::Orders,
    Table::OrderLine,
    Table::NewOrder,
];

use Cell::{Int, Null, Text};

/// Texts of a row, written anew for each.
#[derive(Debug, Default)]
struct Texts([String; 16]);

impl Texts {
    fn set(&mut self, at: usize, write: impl FnOnce(&mut String)) {
        self.0[at].clear();
        write(&mut self.0[at]);
    }

    /// Streets, city, state and zip from place 1 on.
    fn address(&mut self, rng: &mut Rng) {
        for place in 1..4 {
            self.set(place, |text| letters(rng, text, 10, 20));
        }
        self.set(4, |text| letters(rng, text, 2, 2));
        self.set(5, |text| {
            digits(rng, text, 4);
            text.push_str("11111");
        });
    }

    fn text(&self, at: usize) -> Cell<'_> {
        Text(&self.0[at])
    }
}

impl Load {
    pub(crate) fn new(scale: Scale, seed: u64, at_us: i64) -> Self {
        Load { scale, seed, nurand: NuRand::of_load(&mut Rng::new(derive_seed(seed, 0))), at_us }
    }

    fn rng(&self, table: Table, warehouse: i64) -> Rng {
        Rng::new(derive_seed(derive_seed(self.seed, 1 + table as u64), warehouse as u64))
    }

    /// All items.
    pub(crate) fn items(&self, rows: &mut dyn Rows) -> Result<(), Error> {
        let (mut rng, mut texts) = (self.rng(Table::Item, 0), Texts::default());
        for id in 1..=self.scale.items {
            texts.set(0, |text| letters(&mut rng, text, 14, 24));
            texts.set(1, |text| data(&mut rng, text));
            let (image, price) = (between(&mut rng, 1, 10_000), between(&mut rng, 100, 10_000));
            rows.row(&[Int(id), Int(image), texts.text(0), Int(price), texts.text(1)])?;
        }
        Ok(())
    }

    /// The rows of a table that are of one warehouse.
    pub(crate) fn of_warehouse(&self, table: Table, w: i64, rows: &mut dyn Rows) -> Result<(), Error> {
        let rng = self.rng(table, w);
        match table {
            Table::Warehouse => self.warehouse(w, rng, rows),
            Table::District => self.districts(w, rng, rows),
            Table::Stock => self.stock(w, rng, rows),
            Table::Customer => self.customers(w, rng, rows),
            Table::History => self.history(w, rng, rows),
            Table::Orders => self.orders(w, rng, rows),
            Table::OrderLine => self.lines(w, rng, rows),
            Table::NewOrder => self.new_orders(w, rows),
            Table::Item => Ok(()),
        }
    }

    fn warehouse(&self, w: i64, mut rng: Rng, rows: &mut dyn Rows) -> Result<(), Error> {
        let mut t = Texts::default();
        t.set(0, |text| letters(&mut rng, text, 6, 10));
        t.address(&mut rng);
        let tax = between(&mut rng, 0, 2000);
        let paid = DISTRICTS * self.scale.customers * FIRST_PAYMENT;
        let [name, one, two, city, state, zip] = [0, 1, 2, 3, 4, 5].map(|at| t.text(at));
        rows.row(&[Int(w), name, one, two, city, state, zip, Int(tax), Int(paid)])
    }

    fn districts(&self, w: i64, mut rng: Rng, rows: &mut dyn Rows) -> Result<(), Error> {
        let mut t = Texts::default();
        for d in 1..=DISTRICTS {
            t.set(0, |text| letters(&mut rng, text, 6, 10));
            t.address(&mut rng);
            let tax = between(&mut rng, 0, 2000);
            let paid = self.scale.customers * FIRST_PAYMENT;
            let [name, one, two, city, state, zip] = [0, 1, 2, 3, 4, 5].map(|at| t.text(at));
            let next = Int(self.scale.first_order());
            rows.row(&[Int(d), Int(w), name, one, two, city, state, zip, Int(tax), Int(paid), next])?;
        }
        Ok(())
    }

    fn stock(&self, w: i64, mut rng: Rng, rows: &mut dyn Rows) -> Result<(), Error> {
        let mut t = Texts::default();
        for item in 1..=self.scale.items {
            let quantity = between(&mut rng, 10, 100);
            for place in 0..10 {
                t.set(place, |text| letters(&mut rng, text, 24, 24));
            }
            t.set(10, |text| data(&mut rng, text));
            let mut cells = [Null; 17];
            (cells[0], cells[1], cells[2]) = (Int(item), Int(w), Int(quantity));
            for (cell, place) in cells[3..13].iter_mut().zip(0..) {
                *cell = t.text(place);
            }
            (cells[13], cells[14], cells[15], cells[16]) = (Int(0), Int(0), Int(0), t.text(10));
            rows.row(&cells)?;
        }
        Ok(())
    }

    fn customers(&self, w: i64, mut rng: Rng, rows: &mut dyn Rows) -> Result<(), Error> {
        let mut t = Texts::default();
        let names = self.scale.names();
        for d in 1..=DISTRICTS {
            for id in 1..=self.scale.customers {
                t.set(0, |text| letters(&mut rng, text, 8, 16));
                t.address(&mut rng);
                let name = if id <= names { id - 1 } else { self.nurand.last_name(&mut rng, names) };
                t.set(6, |text| last_name(text, name));
                t.set(7, |text| digits(&mut rng, text, 16));
                let credit = if percent(&mut rng, 10) { "BC" } else { "GC" };
                let discount = between(&mut rng, 0, 5000);
                t.set(8, |text| letters(&mut rng, text, 300, 500));
                let [first, one, two, city, state, zip, last, phone, data] =
                    [0, 1, 2, 3, 4, 5, 6, 7, 8].map(|at| t.text(at));
                rows.row(&[
                    Int(id),
                    Int(d),
                    Int(w),
                    first,
                    Text("OE"),
                    last,
                    one,
                    two,
                    city,
                    state,
                    zip,
                    phone,
                    Int(self.at_us),
                    Text(credit),
                    Int(5_000_000),
                    Int(discount),
                    Int(-FIRST_PAYMENT),
                    Int(FIRST_PAYMENT),
                    Int(1),
                    Int(0),
                    data,
                ])?;
            }
        }
        Ok(())
    }

    fn history(&self, w: i64, mut rng: Rng, rows: &mut dyn Rows) -> Result<(), Error> {
        let mut t = Texts::default();
        for d in 1..=DISTRICTS {
            for id in 1..=self.scale.customers {
                t.set(0, |text| letters(&mut rng, text, 12, 24));
                let (d, w) = (Int(d), Int(w));
                rows.row(&[Int(id), d, w, d, w, Int(self.at_us), Int(FIRST_PAYMENT), t.text(0)])?;
            }
        }
        Ok(())
    }

    fn is_delivered(&self, order: i64) -> bool {
        order <= self.scale.customers - self.scale.undelivered
    }

    /// The number of lines of an order: of the order alone, as orders and lines are made apart.
    fn lines_of(&self, w: i64, d: i64, order: i64) -> i64 {
        let of_order = derive_seed(derive_seed(self.seed, 100 + (w * DISTRICTS + d) as u64), order as u64);
        between(&mut Rng::new(of_order), LINES.0, LINES.1)
    }

    fn orders(&self, w: i64, mut rng: Rng, rows: &mut dyn Rows) -> Result<(), Error> {
        let mut customers: Vec<i64> = (1..=self.scale.customers).collect();
        for d in 1..=DISTRICTS {
            rng.shuffle(&mut customers);
            for (id, customer) in (1..).zip(&customers) {
                let carrier = between(&mut rng, 1, CARRIERS);
                let carrier = if self.is_delivered(id) { Int(carrier) } else { Null };
                let lines = Int(self.lines_of(w, d, id));
                rows.row(&[
                    Int(id),
                    Int(d),
                    Int(w),
                    Int(*customer),
                    Int(self.at_us),
                    carrier,
                    lines,
                    Int(1),
                ])?;
            }
        }
        Ok(())
    }

    fn lines(&self, w: i64, mut rng: Rng, rows: &mut dyn Rows) -> Result<(), Error> {
        let mut t = Texts::default();
        for d in 1..=DISTRICTS {
            for id in 1..=self.scale.customers {
                let delivered = self.is_delivered(id);
                for number in 1..=self.lines_of(w, d, id) {
                    let item = between(&mut rng, 1, self.scale.items);
                    let amount = between(&mut rng, 1, 999_999);
                    t.set(0, |text| letters(&mut rng, text, 24, 24));
                    let at = if delivered { Int(self.at_us) } else { Null };
                    let amount = Int(if delivered { 0 } else { amount });
                    rows.row(&[
                        Int(id),
                        Int(d),
                        Int(w),
                        Int(number),
                        Int(item),
                        Int(w),
                        at,
                        Int(5),
                        amount,
                        t.text(0),
                    ])?;
                }
            }
        }
        Ok(())
    }

    fn new_orders(&self, w: i64, rows: &mut dyn Rows) -> Result<(), Error> {
        for d in 1..=DISTRICTS {
            for id in (1..=self.scale.customers).filter(|id| !self.is_delivered(*id)) {
                rows.row(&[Int(id), Int(d), Int(w)])?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Count(Table, usize, Vec<Vec<String>>);

    impl Rows for Count {
        fn row(&mut self, cells: &[Cell<'_>]) -> Result<(), Error> {
            assert_eq!(cells.len(), self.0.columns().len(), "{:?}", self.0);
            self.1 += 1;
            for (cell, (name, kind)) in cells.iter().zip(self.0.columns()) {
                let Text(text) = cell else { continue };
                let bounds = kind.split_once('(').unwrap_or_else(|| panic!("{name} is no text"));
                let max: usize = bounds.1.trim_end_matches(')').parse().unwrap();
                assert!(text.len() <= max, "{name}: {text}");
                assert!(bounds.0 != "char" || text.len() == max, "{name}: {text}");
            }
            self.2.push(cells.iter().map(|cell| format!("{cell:?}")).collect());
            Ok(())
        }
    }

    fn rows(load: &Load, table: Table, w: i64) -> Count {
        let mut count = Count(table, 0, Vec::new());
        load.of_warehouse(table, w, &mut count).unwrap();
        count
    }

    #[test]
    fn every_table_has_its_rows() {
        let load = Load::new(Scale::TINY, 7, 1_000_000);
        let counts = OF_WAREHOUSE.map(|table| rows(&load, table, 3).1);
        let lines = counts[6];
        assert_eq!(counts, [1, 10, 100, 300, 300, 300, lines, 90]);
        assert!((5 * 300..=15 * 300).contains(&lines), "{lines}");
        let mut items = Count(Table::Item, 0, Vec::new());
        load.items(&mut items).unwrap();
        assert_eq!(items.1, 100);
    }

    #[test]
    fn orders_and_lines_agree_and_a_seed_fixes_them() {
        let load = Load::new(Scale::TINY, 7, 1_000_000);
        let (orders, lines) = (rows(&load, Table::Orders, 1), rows(&load, Table::OrderLine, 1));
        for order in &orders.2 {
            let own = lines.2.iter().filter(|line| line[..3] == order[..3]).count();
            assert_eq!(order[6], format!("Int({own})"));
        }
        assert_eq!(rows(&load, Table::Customer, 2).2, rows(&load, Table::Customer, 2).2);
        assert_ne!(rows(&load, Table::Stock, 2).2, rows(&load, Table::Stock, 1).2);
    }
}
