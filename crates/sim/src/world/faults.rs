//! Faults as the running simulation asks for them.

use crate::model::{Fault, Model, Span};

/// When something takes longer, and how many times as long.
#[derive(Debug, Clone, Default)]
pub(crate) struct Slowdown(Vec<(Span, f64)>);

impl Slowdown {
    /// The faults that `choose` gives a factor for.
    pub(crate) fn new(model: &Model, choose: impl Fn(&Fault) -> Option<f64>) -> Slowdown {
        let spans =
            model.faults.iter().filter_map(|fault| choose(fault).map(|factor| (fault.during(), factor)));
        Slowdown(spans.collect())
    }

    /// How long something takes now that takes `service_ns` without faults.
    #[inline]
    pub(crate) fn stretch(&self, now_ns: u64, service_ns: u64) -> u64 {
        if self.0.is_empty() {
            return service_ns;
        }
        let factors = self.0.iter().filter(|(span, _)| span.holds(now_ns)).map(|(_, factor)| factor);
        (service_ns as f64 * factors.product::<f64>()) as u64
    }
}

/// When something is gone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outage(Vec<Span>);

impl Outage {
    /// The faults that `choose` takes.
    pub(crate) fn new(model: &Model, choose: impl Fn(&Fault) -> bool) -> Outage {
        Outage(model.faults.iter().filter(|fault| choose(fault)).map(Fault::during).collect())
    }

    /// The span that holds `now_ns`.
    #[inline]
    pub(crate) fn at(&self, now_ns: u64) -> Option<&Span> {
        self.0.iter().find(|span| span.holds(now_ns))
    }

    /// Whether it never is.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
