//! The consistency conditions of the standard (TPC-C 5.11, clauses 3.3.2.1 to 3.3.2.12).
//!
//! Each is one or more queries of the rows that break it: three numbers that say where, what there should be, what there is.

use crate::admin::{Admin, Facts};
use crate::error::Error;

/// A condition.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Condition {
    /// Its number in clause 3.3.2.
    pub(crate) number: u32,
    /// What it says.
    pub(crate) rule: &'static str,
    queries: &'static [&'static str],
}

/// What became of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Held {
    /// It holds.
    Yes,
    /// It does not.
    No {
        /// How many rows break it.
        rows: u64,
        /// The first of them.
        example: String,
    },
    /// It was not asked for, and why.
    NotAsked(&'static str),
}

/// A line of the result of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// What was checked.
    pub what: String,
    /// What became of it.
    pub held: Held,
}

/// All of them but the eleventh, which holds only right after the load.
pub(crate) const CONDITIONS: [Condition; 11] = [
    Condition {
        number: 1,
        rule: "w_ytd = sum(d_ytd)",
        queries: &["SELECT w_id, NULL, NULL, s, w_ytd FROM warehouse LEFT JOIN \
            (SELECT d_w_id, sum(d_ytd) AS s FROM district GROUP BY d_w_id) AS t ON d_w_id = w_id WHERE w_ytd IS DISTINCT FROM s"],
    },
    Condition {
        number: 2,
        rule: "d_next_o_id - 1 = max(o_id) = max(no_o_id)",
        queries: &[
            "SELECT d_w_id, d_id, NULL, d_next_o_id - 1, m FROM district LEFT JOIN \
             (SELECT o_w_id, o_d_id, max(o_id) AS m FROM orders GROUP BY o_w_id, o_d_id) AS t \
             ON o_w_id = d_w_id AND o_d_id = d_id WHERE m IS DISTINCT FROM d_next_o_id - 1",
            "SELECT d_w_id, d_id, NULL, d_next_o_id - 1, m FROM district JOIN \
             (SELECT no_w_id, no_d_id, max(no_o_id) AS m FROM new_order GROUP BY no_w_id, no_d_id) AS t \
             ON no_w_id = d_w_id AND no_d_id = d_id WHERE m <> d_next_o_id - 1",
        ],
    },
    Condition {
        number: 3,
        rule: "max(no_o_id) - min(no_o_id) + 1 = rows of new_order",
        queries: &[
            "SELECT no_w_id, no_d_id, NULL, max(no_o_id) - min(no_o_id) + 1, count(*) FROM new_order \
            GROUP BY no_w_id, no_d_id HAVING max(no_o_id) - min(no_o_id) + 1 <> count(*)",
        ],
    },
    Condition {
        number: 4,
        rule: "sum(o_ol_cnt) = rows of order_line",
        queries: &["SELECT o_w_id, o_d_id, NULL, s, n FROM \
            (SELECT o_w_id, o_d_id, sum(o_ol_cnt) AS s FROM orders GROUP BY o_w_id, o_d_id) AS a LEFT JOIN \
            (SELECT ol_w_id, ol_d_id, count(*) AS n FROM order_line GROUP BY ol_w_id, ol_d_id) AS b \
            ON ol_w_id = o_w_id AND ol_d_id = o_d_id WHERE n IS DISTINCT FROM s"],
    },
    Condition {
        number: 5,
        rule: "o_carrier_id is null exactly where new_order has a row",
        queries: &[
            "SELECT o_w_id, o_d_id, o_id, no_o_id, o_carrier_id FROM orders LEFT JOIN new_order \
             ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id \
             WHERE (o_carrier_id IS NULL AND no_o_id IS NULL) OR (o_carrier_id IS NOT NULL AND no_o_id IS NOT NULL)",
            "SELECT no_w_id, no_d_id, no_o_id, no_o_id, o_id FROM new_order LEFT JOIN orders \
             ON o_w_id = no_w_id AND o_d_id = no_d_id AND o_id = no_o_id WHERE o_id IS NULL",
        ],
    },
    Condition {
        number: 6,
        rule: "o_ol_cnt = rows of order_line, order by order",
        queries: &["SELECT o_w_id, o_d_id, o_id, o_ol_cnt, n FROM orders LEFT JOIN \
            (SELECT ol_w_id, ol_d_id, ol_o_id, count(*) AS n FROM order_line GROUP BY ol_w_id, ol_d_id, ol_o_id) AS t \
            ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id WHERE n IS DISTINCT FROM o_ol_cnt"],
    },
    Condition {
        number: 7,
        rule: "ol_delivery_d is null exactly where o_carrier_id is",
        queries: &["SELECT ol_w_id, ol_d_id, ol_o_id, o_carrier_id, ol_number FROM order_line JOIN orders \
            ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id \
            WHERE (ol_delivery_d IS NULL AND o_carrier_id IS NOT NULL) OR (ol_delivery_d IS NOT NULL AND o_carrier_id IS NULL)"],
    },
    Condition {
        number: 8,
        rule: "w_ytd = sum(h_amount)",
        queries: &["SELECT w_id, NULL, NULL, s, w_ytd FROM warehouse LEFT JOIN \
            (SELECT h_w_id, sum(h_amount) AS s FROM history GROUP BY h_w_id) AS t ON h_w_id = w_id \
            WHERE w_ytd IS DISTINCT FROM s"],
    },
    Condition {
        number: 9,
        rule: "d_ytd = sum(h_amount)",
        queries: &["SELECT d_w_id, d_id, NULL, s, d_ytd FROM district LEFT JOIN \
            (SELECT h_w_id, h_d_id, sum(h_amount) AS s FROM history GROUP BY h_w_id, h_d_id) AS t \
            ON h_w_id = d_w_id AND h_d_id = d_id WHERE d_ytd IS DISTINCT FROM s"],
    },
    Condition {
        number: 10,
        rule: "c_balance = sum(ol_amount delivered) - sum(h_amount)",
        queries: &[
            "SELECT c_w_id, c_d_id, c_id, coalesce(bought, 0) - coalesce(paid, 0), c_balance FROM customer LEFT JOIN \
            (SELECT o_w_id, o_d_id, o_c_id, sum(ol_amount) AS bought FROM orders JOIN order_line \
             ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id WHERE ol_delivery_d IS NOT NULL \
             GROUP BY o_w_id, o_d_id, o_c_id) AS b ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id LEFT JOIN \
            (SELECT h_c_w_id, h_c_d_id, h_c_id, sum(h_amount) AS paid FROM history GROUP BY h_c_w_id, h_c_d_id, h_c_id) AS h \
            ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id \
            WHERE c_balance <> coalesce(bought, 0) - coalesce(paid, 0)",
        ],
    },
    Condition {
        number: 12,
        rule: "c_balance + c_ytd_payment = sum(ol_amount delivered)",
        queries: &[
            "SELECT c_w_id, c_d_id, c_id, coalesce(bought, 0), c_balance + c_ytd_payment FROM customer LEFT JOIN \
            (SELECT o_w_id, o_d_id, o_c_id, sum(ol_amount) AS bought FROM orders JOIN order_line \
             ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id WHERE ol_delivery_d IS NOT NULL \
             GROUP BY o_w_id, o_d_id, o_c_id) AS b ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id \
            WHERE c_balance + c_ytd_payment <> coalesce(bought, 0)",
        ],
    },
];

/// Where in the list the eleventh is told.
const BEFORE_THE_LAST: usize = 10;
const ELEVENTH: &str = "condition 11: rows of orders - rows of new_order as loaded";

/// Checks all of them; `say` is told which comes next, and `stopped` asked between two.
pub(crate) fn check(
    admin: &mut dyn Admin,
    facts: &Facts,
    say: &mut dyn FnMut(&str),
    stopped: &dyn Fn() -> bool,
) -> Result<Vec<Checked>, Error> {
    let mut all = Vec::with_capacity(CONDITIONS.len() + 1);
    for condition in CONDITIONS {
        if stopped() {
            return Err(Error::Interrupted);
        }
        let what = format!("condition {}: {}", condition.number, condition.rule);
        say(&what);
        all.push(Checked { held: held(admin, condition.queries.iter().copied())?, what });
    }
    let eleventh = if facts.runs == 0 {
        let delivered = facts.scale.customers - facts.scale.undelivered;
        let query = format!(
            "SELECT o_w_id, o_d_id, NULL, {delivered}, n - coalesce(m, 0) FROM \
             (SELECT o_w_id, o_d_id, count(*) AS n FROM orders GROUP BY o_w_id, o_d_id) AS a LEFT JOIN \
             (SELECT no_w_id, no_d_id, count(*) AS m FROM new_order GROUP BY no_w_id, no_d_id) AS b \
             ON no_w_id = o_w_id AND no_d_id = o_d_id WHERE n - coalesce(m, 0) <> {delivered}"
        );
        held(admin, std::iter::once(query.as_str()))?
    } else {
        Held::NotAsked("it holds only between the load and the first delivery")
    };
    all.insert(BEFORE_THE_LAST, Checked { what: ELEVENTH.to_owned(), held: eleventh });
    Ok(all)
}

/// Whether queries of what breaks a condition find nothing.
pub(crate) fn held<'q>(admin: &mut dyn Admin, queries: impl Iterator<Item = &'q str>) -> Result<Held, Error> {
    let (mut rows, mut example) = (0, String::new());
    for query in queries {
        admin.numbers(query, &mut |row| {
            rows += 1;
            if example.is_empty() {
                example = example_of(row);
            }
        })?;
    }
    Ok(if rows == 0 { Held::Yes } else { Held::No { rows, example } })
}

fn example_of(row: &[Option<i64>]) -> String {
    let value = |at: usize| row.get(at).copied().flatten().map_or("null".to_owned(), |n| n.to_string());
    let names = ["warehouse", "district", "number"];
    let place = names.iter().zip(row).filter_map(|(name, value)| Some(format!("{name} {}", (*value)?)));
    format!("{}: {} expected, {} found", place.collect::<Vec<_>>().join(" "), value(3), value(4))
}
