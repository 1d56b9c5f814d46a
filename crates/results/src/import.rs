//! Results of other tools as a [`Run`](crate::Run).

pub mod fio_bins;
