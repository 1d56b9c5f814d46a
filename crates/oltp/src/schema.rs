//! The tables, for both databases. Money is whole cents, rates are ten-thousandths, times are microseconds since 1970: sums of them
//! are exact wherever they are made.

use std::fmt::Write as _;

/// The version of what is built: another one is not used.
pub(crate) const FORMAT: u32 = 1;

/// A table of the standard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Table {
    Warehouse,
    District,
    Customer,
    History,
    NewOrder,
    Orders,
    OrderLine,
    Item,
    Stock,
}

/// What a database needs to be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// Keys are made after the load.
    Postgres,
    /// Tables are stored by their keys.
    Sqlite,
}

impl Table {
    pub(crate) const ALL: [Table; 9] = [
        Table::Warehouse,
        Table::District,
        Table::Customer,
        Table::History,
        Table::NewOrder,
        Table::Orders,
        Table::OrderLine,
        Table::Item,
        Table::Stock,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Table::Warehouse => "warehouse",
            Table::District => "district",
            Table::Customer => "customer",
            Table::History => "history",
            Table::NewOrder => "new_order",
            Table::Orders => "orders",
            Table::OrderLine => "order_line",
            Table::Item => "item",
            Table::Stock => "stock",
        }
    }

    /// Names and types, in the order in which rows are made.
    pub(crate) const fn columns(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Table::Warehouse => &[
                ("w_id", "integer"),
                ("w_name", "varchar(10)"),
                ("w_street_1", "varchar(20)"),
                ("w_street_2", "varchar(20)"),
                ("w_city", "varchar(20)"),
                ("w_state", "char(2)"),
                ("w_zip", "char(9)"),
                ("w_tax", "integer"),
                ("w_ytd", "bigint"),
            ],
            Table::District => &[
                ("d_id", "integer"),
                ("d_w_id", "integer"),
                ("d_name", "varchar(10)"),
                ("d_street_1", "varchar(20)"),
                ("d_street_2", "varchar(20)"),
                ("d_city", "varchar(20)"),
                ("d_state", "char(2)"),
                ("d_zip", "char(9)"),
                ("d_tax", "integer"),
                ("d_ytd", "bigint"),
                ("d_next_o_id", "integer"),
            ],
            Table::Customer => CUSTOMER,
            Table::History => &[
                ("h_c_id", "integer"),
                ("h_c_d_id", "integer"),
                ("h_c_w_id", "integer"),
                ("h_d_id", "integer"),
                ("h_w_id", "integer"),
                ("h_date", "bigint"),
                ("h_amount", "integer"),
                ("h_data", "varchar(24)"),
            ],
            Table::NewOrder => &[("no_o_id", "integer"), ("no_d_id", "integer"), ("no_w_id", "integer")],
            Table::Orders => &[
                ("o_id", "integer"),
                ("o_d_id", "integer"),
                ("o_w_id", "integer"),
                ("o_c_id", "integer"),
                ("o_entry_d", "bigint"),
                ("o_carrier_id", "integer"),
                ("o_ol_cnt", "integer"),
                ("o_all_local", "integer"),
            ],
            Table::OrderLine => &[
                ("ol_o_id", "integer"),
                ("ol_d_id", "integer"),
                ("ol_w_id", "integer"),
                ("ol_number", "integer"),
                ("ol_i_id", "integer"),
                ("ol_supply_w_id", "integer"),
                ("ol_delivery_d", "bigint"),
                ("ol_quantity", "integer"),
                ("ol_amount", "integer"),
                ("ol_dist_info", "char(24)"),
            ],
            Table::Item => &[
                ("i_id", "integer"),
                ("i_im_id", "integer"),
                ("i_name", "varchar(24)"),
                ("i_price", "integer"),
                ("i_data", "varchar(50)"),
            ],
            Table::Stock => STOCK,
        }
    }

    /// The columns of its key; none for the history.
    pub(crate) const fn key(self) -> Option<&'static str> {
        Some(match self {
            Table::Warehouse => "w_id",
            Table::District => "d_w_id, d_id",
            Table::Customer => "c_w_id, c_d_id, c_id",
            Table::History => return None,
            Table::NewOrder => "no_w_id, no_d_id, no_o_id",
            Table::Orders => "o_w_id, o_d_id, o_id",
            Table::OrderLine => "ol_w_id, ol_d_id, ol_o_id, ol_number",
            Table::Item => "i_id",
            Table::Stock => "s_w_id, s_i_id",
        })
    }

    /// The statement that makes it.
    pub(crate) fn create(self, dialect: Dialect) -> String {
        let mut text = format!("CREATE TABLE {} (", self.name());
        for (index, (name, kind)) in self.columns().iter().enumerate() {
            let _ = write!(text, "{}{name} {kind}", if index == 0 { "" } else { ", " });
        }
        match (dialect, self.key()) {
            (Dialect::Sqlite, Some(key)) => {
                let _ = write!(text, ", PRIMARY KEY ({key})) WITHOUT ROWID");
            }
            _ => text.push(')'),
        }
        text
    }

    /// The statement that makes its key, where the load comes first.
    pub(crate) fn add_key(self) -> Option<String> {
        self.key().map(|key| format!("ALTER TABLE {} ADD PRIMARY KEY ({key})", self.name()))
    }

    /// The statement that inserts a row of `?`.
    pub(crate) fn insert(self) -> String {
        let marks = vec!["?"; self.columns().len()].join(", ");
        format!("INSERT INTO {} VALUES ({marks})", self.name())
    }
}

const CUSTOMER: &[(&str, &str)] = &[
    ("c_id", "integer"),
    ("c_d_id", "integer"),
    ("c_w_id", "integer"),
    ("c_first", "varchar(16)"),
    ("c_middle", "char(2)"),
    ("c_last", "varchar(16)"),
    ("c_street_1", "varchar(20)"),
    ("c_street_2", "varchar(20)"),
    ("c_city", "varchar(20)"),
    ("c_state", "char(2)"),
    ("c_zip", "char(9)"),
    ("c_phone", "char(16)"),
    ("c_since", "bigint"),
    ("c_credit", "char(2)"),
    ("c_credit_lim", "bigint"),
    ("c_discount", "integer"),
    ("c_balance", "bigint"),
    ("c_ytd_payment", "bigint"),
    ("c_payment_cnt", "integer"),
    ("c_delivery_cnt", "integer"),
    ("c_data", "varchar(500)"),
];

const STOCK: &[(&str, &str)] = &[
    ("s_i_id", "integer"),
    ("s_w_id", "integer"),
    ("s_quantity", "integer"),
    ("s_dist_01", "char(24)"),
    ("s_dist_02", "char(24)"),
    ("s_dist_03", "char(24)"),
    ("s_dist_04", "char(24)"),
    ("s_dist_05", "char(24)"),
    ("s_dist_06", "char(24)"),
    ("s_dist_07", "char(24)"),
    ("s_dist_08", "char(24)"),
    ("s_dist_09", "char(24)"),
    ("s_dist_10", "char(24)"),
    ("s_ytd", "bigint"),
    ("s_order_cnt", "integer"),
    ("s_remote_cnt", "integer"),
    ("s_data", "varchar(50)"),
];

/// The indexes beside the keys.
pub(crate) const INDEXES: [&str; 2] = [
    "CREATE INDEX customer_by_name ON customer (c_w_id, c_d_id, c_last, c_first, c_id)",
    "CREATE UNIQUE INDEX orders_by_customer ON orders (o_w_id, o_d_id, o_c_id, o_id)",
];

/// What is known of the build: a table of words.
pub(crate) const BUILD_TABLE: &str = "assay_oltp";

/// The statement that makes it.
pub(crate) const CREATE_BUILD: &str =
    "CREATE TABLE assay_oltp (name varchar(40) PRIMARY KEY, value varchar(200) NOT NULL)";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_put_together() {
        assert_eq!(
            Table::NewOrder.create(Dialect::Sqlite),
            "CREATE TABLE new_order (no_o_id integer, no_d_id integer, no_w_id integer, PRIMARY KEY \
             (no_w_id, no_d_id, no_o_id)) WITHOUT ROWID"
        );
        assert_eq!(
            Table::NewOrder.add_key().unwrap(),
            "ALTER TABLE new_order ADD PRIMARY KEY (no_w_id, no_d_id, no_o_id)"
        );
        assert_eq!(Table::NewOrder.insert(), "INSERT INTO new_order VALUES (?, ?, ?)");
        assert!(Table::History.create(Dialect::Postgres).ends_with("h_data varchar(24))"));
        for table in Table::ALL {
            let keys = table.key().unwrap_or("").split(", ").filter(|name| !name.is_empty());
            for name in keys {
                assert!(table.columns().iter().any(|column| column.0 == name), "{name}");
            }
        }
    }
}
