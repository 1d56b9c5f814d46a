//! How much of the processing is bound to the address: the number that the published case does not give.

use assay_results::audit::Array;
use assay_workload::pattern::OpKind;

use super::{CorePlacement, Layout, Model, Services};
use crate::service::{Service, Time};

impl Service {
    /// Every time multiplied by `factor`.
    fn scaled(&self, factor: f64) -> Service {
        let times = |time: Time| Time((time.0 as f64 * factor).round() as u64);
        match self {
            Service::Constant(time) => Service::Constant(times(*time)),
            Service::Exponential(time) => Service::Exponential(times(*time)),
            Service::Lognormal { median, sigma } => {
                Service::Lognormal { median: times(*median), sigma: *sigma }
            }
            Service::Uniform { min, max } => Service::Uniform { min: times(*min), max: times(*max) },
            Service::Empirical(points) => {
                Service::Empirical(points.iter().map(|(time, share)| (times(*time), *share)).collect())
            }
        }
    }
}

impl Services {
    /// Each kind's times multiplied by its own factor.
    fn scaled(&self, factor: impl Fn(OpKind) -> f64) -> Services {
        let of = |kind| self.of(kind).scaled(factor(kind));
        Services {
            read: of(OpKind::Read),
            write: Some(of(OpKind::Write)),
            trim: Some(of(OpKind::Trim)),
            flush: of(OpKind::Fsync),
        }
    }
}

impl Model {
    /// What is shown of it.
    pub fn array(&self) -> Array {
        let front_end = &self.front_end;
        Array {
            name: self.name.clone(),
            segment_bytes: front_end.segment.0,
            layout: match front_end.layout {
                Layout::RoundRobin => "dealt out core by core",
                Layout::Alternate => "dealt out controller by controller",
                Layout::Hash => "placed by a hash",
                Layout::Content => "placed by a hash of their data",
            },
            controllers: (0..front_end.cores()).map(|core| front_end.controller_of(core)).collect(),
            cache_bytes: self.cache.as_ref().map(|cache| cache.size.0),
            drives: self.back_end.as_ref().map(|back_end| u32::from(back_end.drives)),
            bound_share: self.bound_share(OpKind::Read),
        }
    }

    /// Mean time that requests of `kind` take on cores: on the one that owns the address, and elsewhere. Nanoseconds.
    fn core_time_ns(&self, kind: OpKind) -> (f64, f64) {
        self.front_end.stages.iter().fold((0.0, 0.0), |(bound, free), stage| {
            let mean = stage.service.of(kind).mean_ns();
            if stage.place == CorePlacement::Bound { (bound + mean, free) } else { (bound, free + mean) }
        })
    }

    /// The share of the time on cores that is bound to the address, 0 to 1, for requests of `kind`; `None` where they
    /// take no time on cores.
    pub fn bound_share(&self, kind: OpKind) -> Option<f64> {
        let (bound, free) = self.core_time_ns(kind);
        (bound + free > 0.0).then(|| bound / (bound + free))
    }

    /// The same array with `share` (above 0, below 1) of the time on cores bound to the address: each kind of request takes as
    /// long as before in total. `None` where the model has no stages of both kinds to shift time between.
    pub fn with_bound_share(&self, share: f64) -> Option<Model> {
        let places = |bound: bool| {
            self.front_end.stages.iter().any(|stage| (stage.place == CorePlacement::Bound) == bound)
        };
        let possible = share > 0.0 && share < 1.0 && places(true) && places(false);
        if !possible {
            return None;
        }
        let mut model = self.clone();
        for stage in &mut model.front_end.stages {
            let is_bound = stage.place == CorePlacement::Bound;
            stage.service = stage.service.scaled(|kind| {
                let (bound, free) = self.core_time_ns(kind);
                let (part, wanted) = if is_bound { (bound, share) } else { (free, 1.0 - share) };
                if part > 0.0 { (bound + free) * wanted / part } else { 1.0 }
            });
        }
        Some(model)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_shifted_and_none_is_lost() {
        let model = Model::shipped("two-brick").unwrap();
        let total = |model: &Model| {
            let (bound, free) = model.core_time_ns(OpKind::Read);
            bound + free
        };
        assert!((model.bound_share(OpKind::Read).unwrap() - 1.0 / 3.0).abs() < 1e-9);
        for share in [0.1, 0.5, 0.9] {
            let shifted = model.with_bound_share(share).unwrap();
            assert!((shifted.bound_share(OpKind::Read).unwrap() - share).abs() < 1e-3);
            assert!((shifted.bound_share(OpKind::Write).unwrap() - share).abs() < 1e-3);
            assert!((total(&shifted) / total(&model) - 1.0).abs() < 1e-3);
            assert!(shifted.check().is_ok());
        }
        assert!(model.with_bound_share(1.0).is_none());
        assert!(Model::shipped("mm1").unwrap().with_bound_share(0.5).is_none());
    }
}
