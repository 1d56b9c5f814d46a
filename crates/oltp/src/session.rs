//! What carries transactions out: a connection to a database, with its statements prepared.

use crate::error::{Class, Error};
use crate::inputs::{Input, Transaction};
use crate::scale::DISTRICTS;

/// What the database answered to a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Reply {
    /// It was rolled back, as it was to be.
    pub(crate) rolled_back: bool,
    /// New-Order: its number. Stock-Level: items below the threshold.
    pub(crate) number: i64,
    /// Payment and Order-Status: the customer.
    pub(crate) customer: i64,
    /// Delivery: the orders, by district; 0: there was none.
    pub(crate) delivered: [i64; DISTRICTS as usize],
    /// How long the commit took, nanoseconds; 0: it is not known apart.
    pub(crate) commit_ns: u64,
}

/// A connection with prepared statements.
pub(crate) trait Session {
    /// Carries a transaction out. When it returns, the commit was acknowledged.
    ///
    /// # Errors
    /// [`Error`]; no transaction is open then, unless the connection was lost.
    fn perform(&mut self, input: &Input) -> Result<Reply, Error>;
}

/// The customer, order or item that a transaction is about is not in the database.
pub(crate) fn nothing(what: &str) -> Error {
    Error::Statement {
        code: "no row".to_owned(),
        message: format!("{what} was not found: the database is damaged, as 'assay oltp check' tells"),
        class: Class::Failed,
    }
}

/// What a payment leaves in `c_data` of a customer with bad credit (clause 2.5.2.2), cut to its 500 characters.
pub(crate) fn bad_credit_data(text: &mut String, input: &Input, customer: i64, old: &str) {
    use std::fmt::Write as _;
    text.clear();
    let _ = write!(
        text,
        "{customer} {} {} {} {} {}.{:02} | {old}",
        input.c_d,
        input.c_w,
        input.d,
        input.w,
        input.amount / 100,
        input.amount % 100
    );
    let mut end = text.len().min(500);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
}

/// `s_quantity` behind an order (clause 2.4.2.2).
pub(crate) fn quantity_left(quantity: i64, ordered: i64) -> i64 {
    if quantity >= ordered + 10 { quantity - ordered } else { quantity - ordered + 91 }
}

/// Which of several customers with one name is meant, first names in order: the middle one, rounded up (clause 2.5.2.2). From 0.
pub(crate) fn middle(customers: usize) -> usize {
    customers.saturating_sub(1) / 2
}

/// What is counted of a reply: see [`crate::kind::OPERATIONS`].
pub(crate) fn operation(transaction: Transaction, reply: &Reply) -> usize {
    if reply.rolled_back { Transaction::ALL.len() } else { transaction as usize }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_customer_and_the_quantity() {
        assert_eq!([1, 2, 3, 4, 5].map(middle), [0, 0, 1, 1, 2]);
        assert_eq!(quantity_left(20, 10), 10);
        assert_eq!(quantity_left(19, 10), 100);
    }
}
