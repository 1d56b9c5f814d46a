//! Whether rows are gone of which no other row speaks, so that every condition of the standard holds without them: what was loaded is
//! counted, and what runs add is compared with what they count of it.

use crate::admin::{Admin, Facts, number};
use crate::conditions::{Checked, Held, held};
use crate::error::Error;
use crate::scale::DISTRICTS;
use crate::schema::Table;

const ROWS: &str = "rows: all that were loaded, and of each order and payment since";
const STOCK: &str = "stock: s_ytd = sum(ol_quantity) of the orders since the load";

/// Numbers of orders have no gaps.
const ORDERS: &str = "SELECT d_w_id, d_id, NULL, d_next_o_id - 1, coalesce(n, 0) FROM district LEFT JOIN \
     (SELECT o_w_id, o_d_id, count(*) AS n FROM orders GROUP BY o_w_id, o_d_id) AS t ON o_w_id = d_w_id AND o_d_id = d_id \
     WHERE coalesce(n, 0) <> d_next_o_id - 1";
const HISTORY: &str = "SELECT c_w_id, c_d_id, c_id, c_payment_cnt, coalesce(n, 0) FROM customer LEFT JOIN \
     (SELECT h_c_w_id, h_c_d_id, h_c_id, count(*) AS n FROM history GROUP BY h_c_w_id, h_c_d_id, h_c_id) AS t \
     ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id WHERE coalesce(n, 0) <> c_payment_cnt";

/// Checks both; `say` is told which comes next, and `stopped` asked before each.
pub(crate) fn check(
    admin: &mut dyn Admin,
    facts: &Facts,
    say: &mut dyn FnMut(&str),
    stopped: &dyn Fn() -> bool,
) -> Result<[Checked; 2], Error> {
    let mut next = |what: &str| {
        say(what);
        if stopped() { Err(Error::Interrupted) } else { Ok(()) }
    };
    next(ROWS)?;
    let rows = rows(admin, facts)?;
    next(STOCK)?;
    let loaded = facts.scale.first_order();
    let query = format!(
        "SELECT s_w_id, NULL, s_i_id, coalesce(q, 0), s_ytd FROM stock LEFT JOIN \
         (SELECT ol_supply_w_id, ol_i_id, sum(ol_quantity) AS q FROM order_line WHERE ol_o_id >= {loaded} \
         GROUP BY ol_supply_w_id, ol_i_id) AS t ON ol_supply_w_id = s_w_id AND ol_i_id = s_i_id \
         WHERE s_ytd <> coalesce(q, 0)"
    );
    let stock = held(admin, std::iter::once(query.as_str()))?;
    Ok([Checked { what: ROWS.to_owned(), held: rows }, Checked { what: STOCK.to_owned(), held: stock }])
}

fn rows(admin: &mut dyn Admin, facts: &Facts) -> Result<Held, Error> {
    let (warehouses, scale) = (i64::from(facts.warehouses), facts.scale);
    let (mut rows, mut examples) = (0, Vec::new());
    for (table, loaded) in [
        (Table::Warehouse, warehouses),
        (Table::District, warehouses * DISTRICTS),
        (Table::Customer, warehouses * DISTRICTS * scale.customers),
        (Table::Item, scale.items),
        (Table::Stock, warehouses * scale.items),
    ] {
        let name = table.name();
        let found = number(admin, &format!("SELECT count(*) FROM {name}"))?;
        if found != loaded {
            rows += found.abs_diff(loaded);
            examples.push(format!("rows of {name}: {loaded} expected, {found} found"));
        }
    }
    for (table, query) in [(Table::Orders, ORDERS), (Table::History, HISTORY)] {
        if let Held::No { rows: wrong, example } = held(admin, std::iter::once(query))? {
            rows += wrong;
            examples.push(format!("rows of {} of {example}", table.name()));
        }
    }
    Ok(examples.into_iter().next().map_or(Held::Yes, |example| Held::No { rows, example }))
}
