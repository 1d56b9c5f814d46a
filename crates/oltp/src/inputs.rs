//! What transactions are about: drawn as the standard says (TPC-C 5.11, clauses 2.4.1 to 2.8.1).

use assay_workload::rng::Rng;
use serde::{Deserialize, Serialize};

use crate::rows::CARRIERS;
use crate::scale::{DISTRICTS, LINES, Scale};
use crate::text::{NuRand, between, last_name, percent};

/// The five transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum Transaction {
    NewOrder,
    Payment,
    OrderStatus,
    Delivery,
    StockLevel,
}

impl Transaction {
    pub(crate) const ALL: [Transaction; 5] = [
        Transaction::NewOrder,
        Transaction::Payment,
        Transaction::OrderStatus,
        Transaction::Delivery,
        Transaction::StockLevel,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Transaction::NewOrder => "new-order",
            Transaction::Payment => "payment",
            Transaction::OrderStatus => "order-status",
            Transaction::Delivery => "delivery",
            Transaction::StockLevel => "stock-level",
        }
    }

    /// Seconds at the keyboard before it (clause 5.2.5.7).
    pub(crate) const fn keying_s(self) -> f64 {
        match self {
            Transaction::NewOrder => 18.0,
            Transaction::Payment => 3.0,
            _ => 2.0,
        }
    }

    /// Mean seconds of thought behind it.
    pub(crate) const fn think_s(self) -> f64 {
        match self {
            Transaction::NewOrder | Transaction::Payment => 12.0,
            Transaction::OrderStatus => 10.0,
            Transaction::Delivery | Transaction::StockLevel => 5.0,
        }
    }
}

/// How often each transaction is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mix {
    /// 10 : 10 : 1 : 1 : 1, as HammerDB and sysbench-tpcc have it.
    #[default]
    Hammerdb,
    /// 45, 43, 4, 4, 4 per cent: the least that the standard allows beside New-Order.
    Spec,
}

impl Mix {
    /// The names of options.
    pub const NAMES: [(&'static str, Mix); 2] = [("hammerdb", Mix::Hammerdb), ("spec", Mix::Spec)];

    /// Its name.
    pub fn name(self) -> &'static str {
        Mix::NAMES.iter().find(|entry| entry.1 == self).map_or("", |entry| entry.0)
    }

    /// Weights by [`Transaction`].
    pub(crate) const fn weights(self) -> [u64; 5] {
        match self {
            Mix::Hammerdb => [10, 10, 1, 1, 1],
            Mix::Spec => [45, 43, 4, 4, 4],
        }
    }

    pub(crate) fn draw(self, rng: &mut Rng) -> Transaction {
        let weights = self.weights();
        let mut left = rng.below(weights.iter().sum());
        for (transaction, weight) in Transaction::ALL.into_iter().zip(weights) {
            if left < weight {
                return transaction;
            }
            left -= weight;
        }
        Transaction::NewOrder
    }
}

/// Which warehouse a user works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HomeWarehouse {
    /// Each transaction on another one of those dealt out to the user: the whole database is in use.
    #[default]
    All,
    /// One, for the whole run.
    Fixed,
}

/// A line of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Line {
    pub(crate) item: i64,
    pub(crate) supply_w: i64,
    pub(crate) quantity: i64,
}

/// How a customer is looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lookup {
    Id(i64),
    /// By [`Input::last`].
    Name,
}

/// What the next transaction is about. One is drawn over and over, so that nothing is allocated.
#[derive(Debug, Clone)]
pub(crate) struct Input {
    pub(crate) transaction: Transaction,
    pub(crate) w: i64,
    pub(crate) d: i64,
    /// When it happens, microseconds since 1970.
    pub(crate) at_us: i64,
    /// New-Order.
    pub(crate) lines: Vec<Line>,
    /// The last line is of an item that is not there, so that the order is rolled back.
    pub(crate) rolls_back: bool,
    /// Payment, Order-Status, New-Order: the customer.
    pub(crate) c_w: i64,
    pub(crate) c_d: i64,
    pub(crate) lookup: Lookup,
    pub(crate) last: String,
    /// Payment, cents.
    pub(crate) amount: i64,
    /// Delivery.
    pub(crate) carrier: i64,
    /// Stock-Level.
    pub(crate) threshold: i64,
}

impl Input {
    fn new() -> Self {
        Input {
            transaction: Transaction::NewOrder,
            w: 1,
            d: 1,
            at_us: 0,
            lines: Vec::with_capacity(LINES.1 as usize),
            rolls_back: false,
            c_w: 1,
            c_d: 1,
            lookup: Lookup::Id(1),
            last: String::with_capacity(32),
            amount: 0,
            carrier: 1,
            threshold: 10,
        }
    }

    /// Whether the item of the line at this place is to be missing.
    pub(crate) fn is_unused(&self, at: usize) -> bool {
        self.rolls_back && at + 1 == self.lines.len()
    }

    /// The customer's number where it was looked up by that.
    pub(crate) fn customer(&self) -> i64 {
        match self.lookup {
            Lookup::Id(id) => id,
            Lookup::Name => 0,
        }
    }
}

/// The draws of a user.
#[derive(Debug)]
pub(crate) struct Inputs {
    rng: Rng,
    nurand: NuRand,
    scale: Scale,
    warehouses: i64,
    /// Those of this user: the first, the step to the next, and how many.
    own: (i64, i64, u64),
    mix: Mix,
    pub(crate) input: Input,
}

/// Whose draws they are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UserPlace {
    /// From 0.
    pub(crate) user: u32,
    pub(crate) users: u32,
    pub(crate) home: HomeWarehouse,
}

impl Inputs {
    /// `warehouses` is no less than the users.
    pub(crate) fn new(
        mut rng: Rng,
        nurand: NuRand,
        (scale, warehouses): (Scale, u32),
        mix: Mix,
        place: UserPlace,
    ) -> Self {
        let (user, users) = (i64::from(place.user), i64::from(place.users.max(1)));
        let warehouses = i64::from(warehouses);
        let dealt = ((warehouses - user - 1) / users + 1).max(1);
        let own = match place.home {
            HomeWarehouse::All => (user + 1, users, dealt as u64),
            HomeWarehouse::Fixed => (user + 1 + users * rng.below(dealt as u64) as i64, 0, 1),
        };
        Inputs { rng, nurand, scale, warehouses, own, mix, input: Input::new() }
    }

    /// Which transaction comes next.
    pub(crate) fn choose(&mut self) -> Transaction {
        self.input.transaction = self.mix.draw(&mut self.rng);
        self.input.transaction
    }

    /// A think time of a mean, exponential and cut at ten times the mean (clause 5.2.5.4).
    pub(crate) fn think_s(&mut self, mean_s: f64) -> f64 {
        (self.rng.exponential() * mean_s).min(10.0 * mean_s)
    }

    /// Draws what the chosen transaction is about.
    pub(crate) fn draw(&mut self, at_us: i64) {
        let rng = &mut self.rng;
        let (first, step, dealt) = self.own;
        let input = &mut self.input;
        input.at_us = at_us;
        input.w = first + step * rng.below(dealt) as i64;
        input.d = between(rng, 1, DISTRICTS);
        (input.c_w, input.c_d) = (input.w, input.d);
        match input.transaction {
            Transaction::NewOrder => self.new_order(),
            Transaction::Payment => self.payment(),
            Transaction::OrderStatus => self.look_up(),
            Transaction::Delivery => input.carrier = between(rng, 1, CARRIERS),
            Transaction::StockLevel => input.threshold = between(rng, 10, 20),
        }
    }

    /// A warehouse other than `w`, where there is one.
    fn other(rng: &mut Rng, w: i64, warehouses: i64) -> i64 {
        if warehouses < 2 {
            return w;
        }
        let drawn = between(rng, 1, warehouses - 1);
        if drawn >= w { drawn + 1 } else { drawn }
    }

    fn new_order(&mut self) {
        let (rng, input) = (&mut self.rng, &mut self.input);
        input.lookup = Lookup::Id(self.nurand.customer(rng, self.scale.customers));
        input.rolls_back = percent(rng, 1);
        let lines = between(rng, LINES.0, LINES.1);
        input.lines.clear();
        for number in 1..=lines {
            let unused = input.rolls_back && number == lines;
            let item = self.nurand.item(rng, self.scale.items);
            let remote = percent(rng, 1);
            input.lines.push(Line {
                item: if unused { self.scale.items + 1 } else { item },
                supply_w: if remote { Self::other(rng, input.w, self.warehouses) } else { input.w },
                quantity: between(rng, 1, 10),
            });
        }
        // Rows of stock are locked in one order by all users. The unused item stays the last, so that all else is done before it.
        let used = input.lines.len() - usize::from(input.rolls_back);
        input.lines[..used].sort_unstable_by_key(|line| (line.supply_w, line.item));
    }

    fn payment(&mut self) {
        let (rng, input) = (&mut self.rng, &mut self.input);
        if percent(rng, 15) {
            input.c_w = Self::other(rng, input.w, self.warehouses);
            input.c_d = between(rng, 1, DISTRICTS);
        }
        input.amount = between(rng, 100, 500_000);
        self.look_up();
    }

    fn look_up(&mut self) {
        let (rng, input) = (&mut self.rng, &mut self.input);
        if percent(rng, 60) {
            input.lookup = Lookup::Name;
            input.last.clear();
            last_name(&mut input.last, self.nurand.last_name(rng, self.scale.names()));
        } else {
            input.lookup = Lookup::Id(self.nurand.customer(rng, self.scale.customers));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inputs(user: u32, users: u32, warehouses: u32, mix: Mix, home: HomeWarehouse) -> Inputs {
        let mut rng = Rng::new(3);
        let nurand = NuRand::of_run(&mut rng, 100);
        Inputs::new(rng, nurand, (Scale::STANDARD, warehouses), mix, UserPlace { user, users, home })
    }

    #[test]
    fn mixes_have_their_shares() {
        for (mix, new_orders) in [(Mix::Hammerdb, 10.0 / 23.0), (Mix::Spec, 0.45)] {
            let mut drawn = inputs(0, 1, 1, mix, HomeWarehouse::All);
            let n = (0..100_000).filter(|_| drawn.choose() == Transaction::NewOrder).count();
            assert!((n as f64 / 1e5 - new_orders).abs() < 0.008, "{mix:?}: {n}");
        }
    }

    #[test]
    fn warehouses_are_dealt_out() {
        let seen = |user, home| {
            let mut drawn = inputs(user, 3, 8, Mix::Spec, home);
            let mut all: Vec<i64> = (0..500)
                .map(|_| {
                    drawn.choose();
                    drawn.draw(0);
                    drawn.input.w
                })
                .collect();
            all.sort_unstable();
            all.dedup();
            all
        };
        assert_eq!(
            [0, 1, 2].map(|user| seen(user, HomeWarehouse::All)),
            [vec![1, 4, 7], vec![2, 5, 8], vec![3, 6]]
        );
        assert_eq!(seen(1, HomeWarehouse::Fixed).len(), 1);
    }

    #[test]
    fn shares_of_remote_rolled_back_and_by_name_are_those_of_the_standard() {
        let mut drawn = inputs(0, 1, 10, Mix::Spec, HomeWarehouse::All);
        let (mut orders, mut lines, mut remote_lines, mut rolled) = (0.0, 0.0, 0.0, 0.0);
        let (mut payments, mut remote, mut by_name) = (0.0, 0.0, 0.0);
        for _ in 0..200_000 {
            let chosen = drawn.choose();
            drawn.draw(5);
            let input = &drawn.input;
            match chosen {
                Transaction::NewOrder => {
                    orders += 1.0;
                    rolled += f64::from(u8::from(input.rolls_back));
                    lines += input.lines.len() as f64;
                    remote_lines += input.lines.iter().filter(|line| line.supply_w != input.w).count() as f64;
                    assert!((5..=15).contains(&input.lines.len()));
                    assert_eq!(input.lines.iter().any(|line| line.item > 100_000), input.rolls_back);
                }
                Transaction::Payment => {
                    payments += 1.0;
                    remote += f64::from(u8::from(input.c_w != input.w));
                    by_name += f64::from(u8::from(input.lookup == Lookup::Name));
                }
                _ => {}
            }
        }
        let near =
            |share: f64, wanted: f64| assert!((share / wanted - 1.0).abs() < 0.1, "{share} for {wanted}");
        near(rolled / orders, 0.01);
        near(remote_lines / lines, 0.01);
        near(lines / orders, 10.0);
        near(remote / payments, 0.15);
        near(by_name / payments, 0.6);
    }

    #[test]
    fn with_one_warehouse_nothing_is_remote() {
        let mut drawn = inputs(0, 1, 1, Mix::Hammerdb, HomeWarehouse::All);
        for _ in 0..5000 {
            drawn.choose();
            drawn.draw(0);
            assert!(drawn.input.c_w == 1 && drawn.input.lines.iter().all(|line| line.supply_w == 1));
        }
    }
}
