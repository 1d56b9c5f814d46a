//! A simulation: one array, its clock, and the engines that use it.

use std::cell::RefCell;
use std::rc::Rc;

use assay_engine::Clock;

use crate::world::{Volume, World};
use crate::{Model, ModelError, SimClock, SimEngine};
use assay_results::audit::Observations;

/// A target of the simulated array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VolumeId(pub(crate) usize);

/// An engine of a simulation, as its [`crate::Driver`] names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PortId(pub(crate) u16);

/// One array in virtual time.
#[derive(Debug)]
pub struct Simulation {
    world: Rc<RefCell<World>>,
    clock: SimClock,
    volumes: Vec<Volume>,
    row_bytes: u64,
}

impl Simulation {
    /// The array of `model` at time 0; `seed` fixes everything random in it.
    ///
    /// # Errors
    /// [`ModelError::Value`] if the model makes no sense.
    pub fn new(model: &Model, seed: u64) -> Result<Simulation, ModelError> {
        model.check()?;
        let clock = SimClock::default();
        let world = World::new(model, seed, clock.clone());
        let row_bytes = model.front_end.segment.0 * u64::from(model.front_end.cores());
        Ok(Simulation { world: Rc::new(RefCell::new(world)), clock, volumes: Vec::new(), row_bytes })
    }

    /// The time.
    pub fn clock(&self) -> SimClock {
        self.clock.clone()
    }

    /// Adds a target of `size_bytes`. It starts at a segment of the first core.
    pub fn add_volume(&mut self, size_bytes: u64) -> VolumeId {
        let base = self.volumes.last().map_or(0, |last| {
            (last.base + last.size_bytes).div_ceil(self.row_bytes).saturating_mul(self.row_bytes)
        });
        self.volumes.push(Volume { base, size_bytes });
        VolumeId(self.volumes.len() - 1)
    }

    /// An engine for one job thread with at most `slots` outstanding I/Os, whose target i is `volumes[i]`.
    pub fn engine(&self, volumes: &[VolumeId], slots: u32) -> SimEngine {
        let volumes = volumes.iter().map(|id| self.volumes[id.0]).collect();
        let port = self.world.borrow_mut().add_port(volumes, slots);
        SimEngine::new(Rc::clone(&self.world), port, slots)
    }

    /// What cores, links, drives and cache did since the start or the last reset.
    pub fn observe(&self) -> Observations {
        self.world.borrow().observe()
    }

    /// Lets `ns` pass without requests: the array goes on writing dirty pages back.
    pub fn idle(&self, ns: u64) {
        let until = self.clock.now_ns().saturating_add(ns);
        self.world.borrow_mut().run_until(until);
    }

    /// Counts from now on: what ramps up is not part of a measurement.
    pub fn reset_observations(&self) {
        self.world.borrow_mut().reset();
    }

    pub(crate) fn world(&self) -> &Rc<RefCell<World>> {
        &self.world
    }
}
