//! The five transactions in SQL of the client. What does not depend on an answer goes in one batch: two round trips for most of them,
//! three for Delivery.

use super::connection::{Arg, Connection, Kind, Prepared};
use super::{Interrupt, ServerUrl, statements as sql, working};
use crate::error::{Class, Error};
use crate::inputs::{Input, Lookup, Transaction};
use crate::scale::{DISTRICTS, LINES};
use crate::session::{Reply, Session, bad_credit_data, middle, nothing};

use Arg::{Int, Ints};
use Kind::{Int4, Int4s, Int8, Texts};

/// See the module's description.
#[derive(Debug)]
pub(crate) struct ClientSession {
    connection: Connection,
    s: Statements,
    /// Whether a transaction is open.
    open: bool,
    ids: Vec<i64>,
    text: String,
    rows: LineRows,
}

/// Columns of the lines of an order, to be inserted together.
#[derive(Debug, Default)]
struct LineRows {
    numbers: Vec<i32>,
    items: Vec<i32>,
    supplies: Vec<i32>,
    quantities: Vec<i32>,
    amounts: Vec<i32>,
    infos: Vec<String>,
    prices: Vec<(i64, i64)>,
}

/// The statements, named by what they do.
#[derive(Debug)]
struct Statements {
    begin: Prepared,
    commit: Prepared,
    rollback: Prepared,
    warehouse_tax: Prepared,
    customer_terms: Prepared,
    next_order: Prepared,
    items: Prepared,
    /// By district.
    take_stock: Vec<Prepared>,
    insert_order: Prepared,
    insert_new_order: Prepared,
    insert_lines: Prepared,
    pay_warehouse: Prepared,
    pay_district: Prepared,
    by_name: Prepared,
    credit: Prepared,
    pay_customer: Prepared,
    pay_bad_customer: Prepared,
    insert_history: Prepared,
    balance: Prepared,
    last_order: Prepared,
    lines: Prepared,
    take_oldest: Prepared,
    set_carrier: Prepared,
    set_delivery: Prepared,
    order_amount: Prepared,
    add_balance: Prepared,
    district_next: Prepared,
    stock_level: Prepared,
}

impl Statements {
    fn prepare(c: &mut Connection) -> Result<Self, Error> {
        let mut p = |sql: &str, kinds: &[Kind]| c.prepare(sql, kinds);
        let mut take_stock = Vec::with_capacity(DISTRICTS as usize);
        for d in 1..=DISTRICTS {
            take_stock.push(p(
                &format!(
                    "UPDATE stock SET s_quantity = CASE WHEN s_quantity >= $3 + 10 THEN s_quantity - $3 \
                     ELSE s_quantity - $3 + 91 END, s_ytd = s_ytd + $3, s_order_cnt = s_order_cnt + 1, \
                     s_remote_cnt = s_remote_cnt + $4 WHERE s_w_id = $1 AND s_i_id = $2 \
                     RETURNING s_quantity, s_data, s_dist_{d:02}"
                ),
                &[Int4, Int4, Int4, Int4],
            )?);
        }
        let (one, two, three, four) = ([Int4], [Int4; 2], [Int4; 3], [Int4; 4]);
        Ok(Statements {
            begin: p(sql::BEGIN, &[])?,
            commit: p(sql::COMMIT, &[])?,
            rollback: p(sql::ROLLBACK, &[])?,
            warehouse_tax: p(sql::WAREHOUSE_TAX, &one)?,
            customer_terms: p(sql::CUSTOMER_TERMS, &three)?,
            next_order: p(sql::NEXT_ORDER, &two)?,
            items: p(sql::ITEMS, &[Int4s])?,
            take_stock,
            insert_order: p(sql::INSERT_ORDER, &[Int4, Int4, Int4, Int4, Int8, Int4, Int4])?,
            insert_new_order: p(sql::INSERT_NEW_ORDER, &three)?,
            insert_lines: p(
                sql::INSERT_LINES,
                &[Int4, Int4, Int4, Int4s, Int4s, Int4s, Int4s, Int4s, Texts],
            )?,
            pay_warehouse: p(sql::PAY_WAREHOUSE, &two)?,
            pay_district: p(sql::PAY_DISTRICT, &three)?,
            by_name: p(sql::BY_NAME, &[Int4, Int4, Kind::Text])?,
            credit: p(sql::CREDIT, &three)?,
            pay_customer: p(sql::PAY_CUSTOMER, &four)?,
            pay_bad_customer: p(sql::PAY_BAD_CUSTOMER, &[Int4, Int4, Int4, Int4, Kind::Text])?,
            insert_history: p(sql::INSERT_HISTORY, &[Int4, Int4, Int4, Int4, Int4, Int8, Int4, Kind::Text])?,
            balance: p(sql::BALANCE, &three)?,
            last_order: p(sql::LAST_ORDER, &three)?,
            lines: p(sql::LINES, &three)?,
            take_oldest: p(sql::TAKE_OLDEST, &two)?,
            set_carrier: p(sql::SET_CARRIER, &four)?,
            set_delivery: p(sql::SET_DELIVERY, &[Int4, Int4, Int4, Int8])?,
            order_amount: p(sql::ORDER_AMOUNT, &three)?,
            add_balance: p(sql::ADD_BALANCE, &[Int4, Int4, Int4, Int8])?,
            district_next: p(sql::DISTRICT_NEXT, &two)?,
            stock_level: p(sql::STOCK_LEVEL, &four)?,
        })
    }
}

impl ClientSession {
    pub(crate) fn connect(url: &ServerUrl, times_log: bool) -> Result<Self, Error> {
        let mut connection = working(url, times_log)?;
        let s = Statements::prepare(&mut connection)?;
        let (ids, text) = (Vec::with_capacity(64), String::with_capacity(1100));
        let infos = vec![String::with_capacity(24); LINES.1 as usize];
        Ok(ClientSession {
            connection,
            s,
            open: false,
            ids,
            text,
            rows: LineRows { infos, ..LineRows::default() },
        })
    }

    pub(crate) fn interrupt(&self) -> Result<Interrupt, Error> {
        self.connection.interrupt()
    }

    /// One number of the next answer; `None`: it has no row.
    fn number(&mut self) -> Result<Option<i64>, Error> {
        let mut found = None;
        self.connection.reply(&mut |mut cells| found = Some(cells.int()))?;
        Ok(found)
    }

    /// Passes over an answer.
    fn skip(&mut self) -> Result<(), Error> {
        self.connection.reply(&mut |_| {})
    }

    /// Ends a batch: everything it asked for was read.
    fn batch_ends(&mut self) -> Result<(), Error> {
        self.connection.ready()
    }

    fn begin(&mut self) {
        self.connection.send(&self.s.begin, &[]);
        self.open = true;
    }

    /// Sends the last batch, and reads the answers of its `statements` and of the commit.
    fn end(&mut self, statements: usize, commit: bool) -> Result<(), Error> {
        self.connection.send(if commit { &self.s.commit } else { &self.s.rollback }, &[]);
        self.connection.sync()?;
        (0..=statements).try_for_each(|_| self.skip())?;
        self.batch_ends()?;
        self.open = false;
        Ok(())
    }

    fn transact(&mut self, input: &Input) -> Result<Reply, Error> {
        match input.transaction {
            Transaction::NewOrder => self.new_order(input),
            Transaction::Payment => self.payment(input),
            Transaction::OrderStatus => self.order_status(input),
            Transaction::Delivery => self.delivery(input),
            Transaction::StockLevel => self.stock_level(input),
        }
    }

    fn new_order(&mut self, input: &Input) -> Result<Reply, Error> {
        let (w, d, customer) = (Int(input.w), Int(input.d), input.customer());
        self.rows.items.clear();
        self.rows.items.extend(input.lines.iter().map(|line| line.item as i32));
        self.begin();
        let c = &mut self.connection;
        c.send(&self.s.warehouse_tax, &[w]);
        c.send(&self.s.customer_terms, &[w, d, Int(customer)]);
        c.send(&self.s.next_order, &[w, d]);
        c.send(&self.s.items, &[Ints(&self.rows.items)]);
        let take = &self.s.take_stock[(input.d - 1) as usize];
        for line in &input.lines {
            let remote = i64::from(line.supply_w != input.w);
            c.send(take, &[Int(line.supply_w), Int(line.item), Int(line.quantity), Int(remote)]);
        }
        c.sync()?;
        (0..3).try_for_each(|_| self.skip())?;
        let order = self.number()?.ok_or_else(|| nothing("the district"))?;
        let found = self.read_lines(input)?;
        self.batch_ends()?;
        let local = input.lines.iter().all(|line| line.supply_w == input.w);
        let c = &mut self.connection;
        let count = Int(input.lines.len() as i64);
        let head = [Int(order), d, w];
        c.send(
            &self.s.insert_order,
            &[head[0], d, w, Int(customer), Int(input.at_us), count, Int(i64::from(local))],
        );
        c.send(&self.s.insert_new_order, &head);
        let r = &self.rows;
        let n = r.numbers.len();
        c.send(
            &self.s.insert_lines,
            &[
                head[0],
                d,
                w,
                Ints(&r.numbers),
                Ints(&r.items),
                Ints(&r.supplies),
                Ints(&r.quantities),
                Ints(&r.amounts),
                Arg::Texts(&r.infos[..n]),
            ],
        );
        self.end(3, found)?;
        Ok(Reply { rolled_back: !found, number: order, customer, ..Reply::default() })
    }

    /// Reads the answers about items and stock, and makes the lines of those that are there; whether all are. Only the item that is to
    /// be missing may be.
    fn read_lines(&mut self, input: &Input) -> Result<bool, Error> {
        let (connection, r) = (&mut self.connection, &mut self.rows);
        r.prices.clear();
        connection.reply(&mut |mut cells| r.prices.push((cells.int(), cells.int())))?;
        for list in [&mut r.numbers, &mut r.items, &mut r.supplies, &mut r.quantities, &mut r.amounts] {
            list.clear();
        }
        for (place, line) in input.lines.iter().enumerate() {
            let at = r.numbers.len();
            let info = &mut r.infos[at];
            let mut stocked = false;
            connection.reply(&mut |mut cells| {
                stocked = true;
                cells.nth(1);
                info.clear();
                info.push_str(cells.text());
            })?;
            let price = r.prices.iter().find(|(item, _)| *item == line.item);
            let Some((_, price)) = price.filter(|_| stocked) else {
                if input.is_unused(place) {
                    continue;
                }
                return Err(nothing(&format!("item {} of warehouse {}", line.item, line.supply_w)));
            };
            r.numbers.push(place as i32 + 1);
            r.items.push(line.item as i32);
            r.supplies.push(line.supply_w as i32);
            r.quantities.push(line.quantity as i32);
            r.amounts.push((price * line.quantity) as i32);
        }
        Ok(r.numbers.len() == input.lines.len())
    }

    /// Asks for the customer, if by name.
    fn send_look_up(&mut self, input: &Input) {
        if input.lookup == Lookup::Name {
            let args = [Int(input.c_w), Int(input.c_d), Arg::Text(&input.last)];
            self.connection.send(&self.s.by_name, &args);
        }
    }

    /// The customer that is meant.
    fn read_look_up(&mut self, input: &Input) -> Result<i64, Error> {
        if let Lookup::Id(id) = input.lookup {
            return Ok(id);
        }
        let ids = &mut self.ids;
        ids.clear();
        self.connection.reply(&mut |mut cells| ids.push(cells.int()))?;
        self.ids.get(middle(self.ids.len())).copied().ok_or_else(|| nothing("a customer of that name"))
    }

    fn payment(&mut self, input: &Input) -> Result<Reply, Error> {
        let (w, d, amount) = (Int(input.w), Int(input.d), Int(input.amount));
        self.begin();
        self.connection.send(&self.s.pay_warehouse, &[w, amount]);
        self.connection.send(&self.s.pay_district, &[w, d, amount]);
        self.send_look_up(input);
        if let Lookup::Id(id) = input.lookup {
            self.connection.send(&self.s.credit, &[Int(input.c_w), Int(input.c_d), Int(id)]);
        }
        self.connection.sync()?;
        self.skip()?;
        let mut names = std::mem::take(&mut self.text);
        names.clear();
        self.connection.reply(&mut |mut cells| names.push_str(cells.text()))?;
        names.push_str("    ");
        self.connection.reply(&mut |mut cells| names.push_str(cells.text()))?;
        let customer = self.read_look_up(input)?;
        let place = [Int(input.c_w), Int(input.c_d), Int(customer)];
        if input.lookup == Lookup::Name {
            self.batch_ends()?;
            self.connection.send(&self.s.credit, &place);
            self.connection.sync()?;
        }
        let mut data = None;
        self.connection.reply(&mut |mut cells| {
            if cells.text() == "BC" {
                let mut text = String::with_capacity(1100);
                bad_credit_data(&mut text, input, customer, cells.text());
                data = Some(text);
            }
        })?;
        self.batch_ends()?;
        match &data {
            Some(data) => {
                let args = [place[0], place[1], place[2], amount, Arg::Text(data)];
                self.connection.send(&self.s.pay_bad_customer, &args);
            }
            None => self.connection.send(&self.s.pay_customer, &[place[0], place[1], place[2], amount]),
        }
        let [c_w, c_d, c] = place;
        let row = [c, c_d, c_w, d, w, Int(input.at_us), amount, Arg::Text(&names)];
        self.connection.send(&self.s.insert_history, &row);
        self.text = names;
        self.end(2, true)?;
        Ok(Reply { customer, ..Reply::default() })
    }

    fn order_status(&mut self, input: &Input) -> Result<Reply, Error> {
        let (w, d) = (Int(input.c_w), Int(input.c_d));
        self.begin();
        self.send_look_up(input);
        self.connection.sync()?;
        self.skip()?;
        let customer = self.read_look_up(input)?;
        self.batch_ends()?;
        self.connection.send(&self.s.balance, &[w, d, Int(customer)]);
        self.connection.send(&self.s.last_order, &[w, d, Int(customer)]);
        self.connection.sync()?;
        self.skip()?;
        let order = self.number()?.ok_or_else(|| nothing("an order of the customer"))?;
        self.batch_ends()?;
        self.connection.send(&self.s.lines, &[w, d, Int(order)]);
        self.end(1, true)?;
        Ok(Reply { number: order, customer, ..Reply::default() })
    }

    fn delivery(&mut self, input: &Input) -> Result<Reply, Error> {
        let w = Int(input.w);
        self.begin();
        for d in 1..=DISTRICTS {
            self.connection.send(&self.s.take_oldest, &[w, Int(d)]);
        }
        self.connection.sync()?;
        self.skip()?;
        let mut reply = Reply::default();
        for delivered in &mut reply.delivered {
            *delivered = self.number()?.unwrap_or(0);
        }
        self.batch_ends()?;
        let orders = || (1..).zip(reply.delivered).filter(|(_, order)| *order > 0);
        for (d, order) in orders() {
            let place = [w, Int(d), Int(order)];
            self.connection.send(&self.s.set_carrier, &[w, place[1], place[2], Int(input.carrier)]);
            self.connection.send(&self.s.set_delivery, &[w, place[1], place[2], Int(input.at_us)]);
            self.connection.send(&self.s.order_amount, &place);
        }
        self.connection.sync()?;
        self.ids.clear();
        for _ in orders() {
            let customer = self.number()?.ok_or_else(|| nothing("a delivered order"))?;
            self.skip()?;
            let amount = self.number()?.unwrap_or(0);
            self.ids.extend([customer, amount]);
        }
        self.batch_ends()?;
        for ((d, _), pair) in orders().zip(self.ids.chunks_exact(2)) {
            self.connection.send(&self.s.add_balance, &[w, Int(d), Int(pair[0]), Int(pair[1])]);
        }
        self.end(orders().count(), true)?;
        Ok(reply)
    }

    fn stock_level(&mut self, input: &Input) -> Result<Reply, Error> {
        let (w, d) = (Int(input.w), Int(input.d));
        self.begin();
        self.connection.send(&self.s.district_next, &[w, d]);
        self.connection.sync()?;
        self.skip()?;
        let next = self.number()?.ok_or_else(|| nothing("the district"))?;
        self.batch_ends()?;
        self.connection.send(&self.s.stock_level, &[w, d, Int(next), Int(input.threshold)]);
        self.connection.send(&self.s.commit, &[]);
        self.connection.sync()?;
        let low = self.number()?.unwrap_or(0);
        self.skip()?;
        self.batch_ends()?;
        self.open = false;
        Ok(Reply { number: low, ..Reply::default() })
    }
}

impl Session for ClientSession {
    fn perform(&mut self, input: &Input) -> Result<Reply, Error> {
        let done = self.transact(input);
        if done.as_ref().is_err_and(|error| error.class() != Class::Lost) {
            // The server leaves out the rest of the batch; what was sent of its answers is passed over.
            self.connection.ready()?;
            if std::mem::take(&mut self.open) {
                self.connection.run("ROLLBACK")?;
            }
        }
        done
    }
}
