//! The five transactions on SQLite (TPC-C 5.11, clauses 2.4.2 to 2.8.2).

use std::sync::{Mutex, MutexGuard, PoisonError};

use assay_engine::Clock as _;
use assay_engine::clock::RealClock;
use rusqlite::{Connection, OptionalExtension as _, Params, Statement, params};

use super::{sql_error, statements as sql};
use crate::error::Error;
use crate::inputs::{Input, Line, Lookup, Transaction};
use crate::scale::DISTRICTS;
use crate::session::{Reply, Session, bad_credit_data, middle, nothing, quantity_left};

/// A connection with its statements. Transactions that write take `gate` first: SQLite lets one write at a time, and waiting at
/// its lock would be sleeping.
pub(crate) struct SqliteSession<'c> {
    connection: &'c Connection,
    gate: &'c Mutex<()>,
    clock: RealClock,
    s: Statements<'c>,
    /// Customers of one name.
    ids: Vec<i64>,
    text: String,
    /// The item that a transaction failed for.
    missing: Option<i64>,
}

/// The statements, named by what they do.
struct Statements<'c> {
    begin_write: Statement<'c>,
    begin_read: Statement<'c>,
    commit: Statement<'c>,
    rollback: Statement<'c>,
    warehouse_tax: Statement<'c>,
    customer_terms: Statement<'c>,
    next_order: Statement<'c>,
    insert_order: Statement<'c>,
    insert_new_order: Statement<'c>,
    item: Statement<'c>,
    /// By district.
    stock: Vec<Statement<'c>>,
    update_stock: Statement<'c>,
    insert_line: Statement<'c>,
    pay_warehouse: Statement<'c>,
    pay_district: Statement<'c>,
    by_name: Statement<'c>,
    credit: Statement<'c>,
    pay_customer: Statement<'c>,
    pay_bad_customer: Statement<'c>,
    insert_history: Statement<'c>,
    balance: Statement<'c>,
    last_order: Statement<'c>,
    lines: Statement<'c>,
    oldest: Statement<'c>,
    delete_new_order: Statement<'c>,
    set_carrier: Statement<'c>,
    set_delivery: Statement<'c>,
    order_amount: Statement<'c>,
    add_balance: Statement<'c>,
    district_next: Statement<'c>,
    stock_level: Statement<'c>,
}

impl<'c> Statements<'c> {
    fn prepare(connection: &'c Connection) -> rusqlite::Result<Self> {
        let p = |sql: &str| connection.prepare(sql);
        let stock = |d: i64| {
            p(&format!(
                "SELECT s_quantity, s_data, s_dist_{d:02} FROM stock WHERE s_w_id = ?1 AND s_i_id = ?2"
            ))
        };
        Ok(Statements {
            begin_write: p(sql::BEGIN_WRITE)?,
            begin_read: p(sql::BEGIN_READ)?,
            commit: p(sql::COMMIT)?,
            rollback: p(sql::ROLLBACK)?,
            warehouse_tax: p(sql::WAREHOUSE_TAX)?,
            customer_terms: p(sql::CUSTOMER_TERMS)?,
            next_order: p(sql::NEXT_ORDER)?,
            insert_order: p(sql::INSERT_ORDER)?,
            insert_new_order: p(sql::INSERT_NEW_ORDER)?,
            item: p(sql::ITEM)?,
            stock: (1..=DISTRICTS).map(stock).collect::<rusqlite::Result<_>>()?,
            update_stock: p(sql::UPDATE_STOCK)?,
            insert_line: p(sql::INSERT_LINE)?,
            pay_warehouse: p(sql::PAY_WAREHOUSE)?,
            pay_district: p(sql::PAY_DISTRICT)?,
            by_name: p(sql::BY_NAME)?,
            credit: p(sql::CREDIT)?,
            pay_customer: p(sql::PAY_CUSTOMER)?,
            pay_bad_customer: p(sql::PAY_BAD_CUSTOMER)?,
            insert_history: p(sql::INSERT_HISTORY)?,
            balance: p(sql::BALANCE)?,
            last_order: p(sql::LAST_ORDER)?,
            lines: p(sql::LINES)?,
            oldest: p(sql::OLDEST)?,
            delete_new_order: p(sql::DELETE_NEW_ORDER)?,
            set_carrier: p(sql::SET_CARRIER)?,
            set_delivery: p(sql::SET_DELIVERY)?,
            order_amount: p(sql::ORDER_AMOUNT)?,
            add_balance: p(sql::ADD_BALANCE)?,
            district_next: p(sql::DISTRICT_NEXT)?,
            stock_level: p(sql::STOCK_LEVEL)?,
        })
    }
}

/// A row's first number.
fn first(statement: &mut Statement<'_>, params: impl Params) -> rusqlite::Result<i64> {
    statement.query_row(params, |row| row.get(0))
}

/// Reads all rows to their end.
fn read(statement: &mut Statement<'_>, params: impl Params) -> rusqlite::Result<()> {
    let mut rows = statement.query(params)?;
    while rows.next()?.is_some() {}
    Ok(())
}

impl<'c> SqliteSession<'c> {
    pub(crate) fn new(connection: &'c Connection, gate: &'c Mutex<()>) -> Result<Self, Error> {
        let s = Statements::prepare(connection).map_err(sql_error)?;
        let (ids, text) = (Vec::with_capacity(64), String::with_capacity(1100));
        Ok(SqliteSession { connection, gate, clock: RealClock::new(), s, ids, text, missing: None })
    }

    /// Takes the only place for writers.
    fn take_gate(&self) -> MutexGuard<'c, ()> {
        self.gate.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn transact(&mut self, input: &Input) -> rusqlite::Result<Reply> {
        let writes = !matches!(input.transaction, Transaction::OrderStatus | Transaction::StockLevel);
        let _writer = writes.then(|| self.take_gate());
        if writes { &mut self.s.begin_write } else { &mut self.s.begin_read }.execute([])?;
        let mut reply = match input.transaction {
            Transaction::NewOrder => self.new_order(input),
            Transaction::Payment => self.payment(input),
            Transaction::OrderStatus => self.order_status(input),
            Transaction::Delivery => self.delivery(input),
            Transaction::StockLevel => self.stock_level(input),
        }?;
        if reply.rolled_back {
            self.s.rollback.execute([])?;
            return Ok(reply);
        }
        let before = self.clock.now_ns();
        self.s.commit.execute([])?;
        reply.commit_ns = if writes { self.clock.now_ns().saturating_sub(before).max(1) } else { 0 };
        Ok(reply)
    }

    fn new_order(&mut self, input: &Input) -> rusqlite::Result<Reply> {
        let (w, d) = (input.w, input.d);
        let customer = input.customer();
        first(&mut self.s.warehouse_tax, [w])?;
        first(&mut self.s.customer_terms, [w, d, customer])?;
        let order = first(&mut self.s.next_order, [w, d])?;
        let local = input.lines.iter().all(|line| line.supply_w == w);
        let lines = input.lines.len() as i64;
        self.s.insert_order.execute([order, d, w, customer, input.at_us, lines, i64::from(local)])?;
        self.s.insert_new_order.execute([order, d, w])?;
        for (number, line) in (1..).zip(&input.lines) {
            let price = first(&mut self.s.item, [line.item]).optional()?;
            let Some(price) = price else {
                if input.is_unused(number as usize - 1) {
                    return Ok(Reply { rolled_back: true, ..Reply::default() });
                }
                self.missing = Some(line.item);
                return Err(rusqlite::Error::QueryReturnedNoRows);
            };
            self.order_line(input, (order, number), line, price)?;
        }
        Ok(Reply { number: order, customer, ..Reply::default() })
    }

    fn order_line(
        &mut self,
        input: &Input,
        (order, number): (i64, i64),
        line: &Line,
        price: i64,
    ) -> rusqlite::Result<()> {
        let (w, d) = (input.w, input.d);
        let text = &mut self.text;
        let quantity = self.s.stock[(d - 1) as usize].query_row([line.supply_w, line.item], |row| {
            text.clear();
            text.push_str(row.get_ref(2)?.as_str()?);
            row.get::<_, i64>(0)
        })?;
        let left = quantity_left(quantity, line.quantity);
        let remote = i64::from(line.supply_w != w);
        self.s.update_stock.execute([line.supply_w, line.item, left, line.quantity, remote])?;
        let amount = price * line.quantity;
        let (item, supply) = (line.item, line.supply_w);
        self.s.insert_line.execute(params![
            order,
            d,
            w,
            number,
            item,
            supply,
            line.quantity,
            amount,
            self.text.as_str()
        ])?;
        Ok(())
    }

    /// The customer that is meant.
    fn look_up(&mut self, input: &Input) -> rusqlite::Result<i64> {
        if let Lookup::Id(id) = input.lookup {
            return Ok(id);
        }
        self.ids.clear();
        let mut rows = self.s.by_name.query(params![input.c_w, input.c_d, input.last.as_str()])?;
        while let Some(row) = rows.next()? {
            self.ids.push(row.get(0)?);
        }
        self.ids.get(middle(self.ids.len())).copied().ok_or(rusqlite::Error::QueryReturnedNoRows)
    }

    fn payment(&mut self, input: &Input) -> rusqlite::Result<Reply> {
        let (w, d, amount) = (input.w, input.d, input.amount);
        let text = &mut self.text;
        text.clear();
        let mut name = |row: &rusqlite::Row<'_>| -> rusqlite::Result<()> {
            text.push_str(row.get_ref(0)?.as_str()?);
            Ok(())
        };
        self.s.pay_warehouse.query_row([w, amount], &mut name)?;
        self.s.pay_district.query_row([w, d, amount], |row| {
            text.push_str("    ");
            text.push_str(row.get_ref(0)?.as_str()?);
            Ok(())
        })?;
        let customer = self.look_up(input)?;
        let history = params![customer, input.c_d, input.c_w, d, w, input.at_us, amount, self.text.as_str()];
        self.s.insert_history.execute(history)?;
        let place = [input.c_w, input.c_d, customer];
        let text = &mut self.text;
        let bad = self.s.credit.query_row(place, |row| {
            let bad = row.get_ref(0)?.as_str()? == "BC";
            if bad {
                bad_credit_data(text, input, customer, row.get_ref(1)?.as_str()?);
            }
            Ok(bad)
        })?;
        let [c_w, c_d, _] = place;
        match bad {
            true => {
                self.s.pay_bad_customer.execute(params![c_w, c_d, customer, amount, self.text.as_str()])?
            }
            false => self.s.pay_customer.execute([c_w, c_d, customer, amount])?,
        };
        Ok(Reply { customer, ..Reply::default() })
    }

    fn order_status(&mut self, input: &Input) -> rusqlite::Result<Reply> {
        let customer = self.look_up(input)?;
        let (w, d) = (input.c_w, input.c_d);
        first(&mut self.s.balance, [w, d, customer])?;
        let order = first(&mut self.s.last_order, [w, d, customer])?;
        read(&mut self.s.lines, [w, d, order])?;
        Ok(Reply { number: order, customer, ..Reply::default() })
    }

    fn delivery(&mut self, input: &Input) -> rusqlite::Result<Reply> {
        let w = input.w;
        let mut reply = Reply::default();
        for (d, delivered) in (1..).zip(&mut reply.delivered) {
            let Some(order) = first(&mut self.s.oldest, [w, d]).optional()? else { continue };
            self.s.delete_new_order.execute([w, d, order])?;
            let customer = first(&mut self.s.set_carrier, [w, d, order, input.carrier])?;
            self.s.set_delivery.execute([w, d, order, input.at_us])?;
            let amount = first(&mut self.s.order_amount, [w, d, order])?;
            self.s.add_balance.execute([w, d, customer, amount])?;
            *delivered = order;
        }
        Ok(reply)
    }

    fn stock_level(&mut self, input: &Input) -> rusqlite::Result<Reply> {
        let (w, d) = (input.w, input.d);
        let next = first(&mut self.s.district_next, [w, d])?;
        let low = first(&mut self.s.stock_level, [w, d, next, input.threshold])?;
        Ok(Reply { number: low, ..Reply::default() })
    }
}

impl Session for SqliteSession<'_> {
    fn perform(&mut self, input: &Input) -> Result<Reply, Error> {
        self.transact(input).map_err(|error| {
            if !self.connection.is_autocommit() {
                let _ = self.s.rollback.execute([]);
            }
            match self.missing.take() {
                Some(item) => nothing(&format!("item {item}")),
                None => sql_error(error),
            }
        })
    }
}
