//! The five transactions as calls of functions of the server: one round trip each.

use super::connection::{Arg, Connection, Kind, Prepared};
use super::functions::UNUSED_ITEM;
use super::{Interrupt, ServerUrl, working};
use crate::error::{Class, Error};
use crate::inputs::{Input, Transaction};
use crate::session::{Reply, Session, nothing};

use Arg::{Int, Ints, Text};
use Kind::{Int4, Int4s, Int8};

/// See the module's description.
#[derive(Debug)]
pub(crate) struct ServerSideSession {
    connection: Connection,
    /// By [`Transaction`].
    calls: Vec<Prepared>,
    items: Vec<i32>,
    supplies: Vec<i32>,
    quantities: Vec<i32>,
}

impl ServerSideSession {
    pub(crate) fn connect(url: &ServerUrl, times_log: bool) -> Result<Self, Error> {
        let mut connection = working(url, times_log)?;
        let calls = Transaction::ALL.map(|transaction| match transaction {
            Transaction::NewOrder => connection.prepare(
                "SELECT assay_new_order($1, $2, $3, $4, $5, $6, $7, $8)",
                &[Int4, Int4, Int4, Int8, Int4s, Int4s, Int4s, Int4],
            ),
            Transaction::Payment => connection.prepare(
                "SELECT assay_payment($1, $2, $3, $4, $5, $6, $7, $8)",
                &[Int4, Int4, Int4, Int4, Int4, Kind::Text, Int4, Int8],
            ),
            Transaction::OrderStatus => connection
                .prepare("SELECT assay_order_status($1, $2, $3, $4)", &[Int4, Int4, Int4, Kind::Text]),
            Transaction::Delivery => connection
                .prepare("SELECT r_district, r_order FROM assay_delivery($1, $2, $3)", &[Int4, Int4, Int8]),
            Transaction::StockLevel => {
                connection.prepare("SELECT assay_stock_level($1, $2, $3)", &[Int4, Int4, Int4])
            }
        });
        let calls = calls.into_iter().collect::<Result<_, _>>()?;
        let empty = || Vec::with_capacity(16);
        Ok(ServerSideSession { connection, calls, items: empty(), supplies: empty(), quantities: empty() })
    }

    pub(crate) fn interrupt(&self) -> Result<Interrupt, Error> {
        self.connection.interrupt()
    }

    fn send(&mut self, input: &Input) {
        let call = &self.calls[input.transaction as usize];
        let (w, d, customer, at) = (Int(input.w), Int(input.d), Int(input.customer()), Int(input.at_us));
        let (c_w, c_d) = (Int(input.c_w), Int(input.c_d));
        let c = &mut self.connection;
        match input.transaction {
            Transaction::NewOrder => {
                let local = Int(i64::from(input.lines.iter().all(|line| line.supply_w == input.w)));
                let lists = [&mut self.items, &mut self.supplies, &mut self.quantities];
                lists.into_iter().for_each(Vec::clear);
                for line in &input.lines {
                    self.items.push(line.item as i32);
                    self.supplies.push(line.supply_w as i32);
                    self.quantities.push(line.quantity as i32);
                }
                let lists = [Ints(&self.items), Ints(&self.supplies), Ints(&self.quantities)];
                c.send(call, &[w, d, customer, at, lists[0], lists[1], lists[2], local]);
            }
            Transaction::Payment => {
                c.send(call, &[w, d, c_w, c_d, customer, Text(&input.last), Int(input.amount), at]);
            }
            Transaction::OrderStatus => c.send(call, &[c_w, c_d, customer, Text(&input.last)]),
            Transaction::Delivery => c.send(call, &[w, Int(input.carrier), at]),
            Transaction::StockLevel => c.send(call, &[w, d, Int(input.threshold)]),
        }
    }

    fn receive(&mut self, input: &Input) -> Result<Reply, Error> {
        let mut reply = Reply::default();
        self.connection.reply(&mut |mut cells| match input.transaction {
            Transaction::Payment => reply.customer = cells.int(),
            Transaction::Delivery => {
                let (d, order) = (cells.int(), cells.int());
                if let Some(delivered) = usize::try_from(d - 1).ok().and_then(|d| reply.delivered.get_mut(d))
                {
                    *delivered = order;
                }
            }
            _ => reply.number = cells.int(),
        })?;
        Ok(reply)
    }
}

impl Session for ServerSideSession {
    fn perform(&mut self, input: &Input) -> Result<Reply, Error> {
        self.send(input);
        self.connection.sync()?;
        let received = self.receive(input);
        if received.as_ref().is_err_and(|error| error.class() == Class::Lost) {
            return received;
        }
        self.connection.ready()?;
        match received {
            Err(Error::Statement { code, message, .. }) if code == UNUSED_ITEM => {
                // In the words of the function.
                let unused = input.lines.last().filter(|_| input.rolls_back);
                match unused.is_some_and(|line| message == format!("item {} does not exist", line.item)) {
                    true => Ok(Reply { rolled_back: true, ..Reply::default() }),
                    false => Err(nothing(message.trim_end_matches(" does not exist"))),
                }
            }
            received => received,
        }
    }
}
