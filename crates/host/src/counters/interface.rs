//! `/sys/class/net/NAME/statistics`.

use assay_results::counters::InterfaceCounters;

use super::source::Source;
use crate::root::HostRoot;

#[derive(Debug)]
pub(super) struct InterfaceSampler {
    name: String,
    received: Source,
    sent: Source,
}

impl InterfaceSampler {
    pub(super) fn new(root: &HostRoot, name: &str) -> Self {
        let counter = |file: &str| Source::new(root, format!("/sys/class/net/{name}/statistics/{file}"));
        Self { name: name.to_owned(), received: counter("rx_bytes"), sent: counter("tx_bytes") }
    }

    pub(super) fn snapshot(&mut self) -> Option<InterfaceCounters> {
        Some(InterfaceCounters {
            name: self.name.clone(),
            received_bytes: self.received.number()?,
            sent_bytes: self.sent.number()?,
        })
    }
}
