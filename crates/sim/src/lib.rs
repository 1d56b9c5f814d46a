//! A deterministic array model behind the engine seam, in virtual time.
//!
//! A [`Model`] says what an array is made of; a [`Simulation`] runs it: engines made by [`Simulation::engine`] implement
//! [`assay_engine::Engine`], [`SimClock`] implements [`assay_engine::Clock`], and a [`Driver`] steps any number of job
//! loops from one event heap. Nothing here blocks, sleeps or reads a real clock; everything random derives from one seed,
//! so that a run is replayed by its model, its plan and its seed. This crate knows nothing of files' formats, of how
//! results are stored or shown, and does no I/O: buffers are never touched.

pub mod audit;
mod clock;
mod draw;
mod driver;
mod engine;
mod events;
#[doc(hidden)]
pub mod model;
mod normal;
pub mod phase;
pub mod service;
mod simulation;
mod volumes;
mod world;

pub use clock::SimClock;
pub use driver::{Driver, DriverError, Pending, Stepper};
pub use engine::SimEngine;
pub use model::{Model, ModelError};
pub use phase::{PlanSimulation, SimError, SimOptions};
pub use service::Service;
pub use simulation::{PortId, Simulation, VolumeId};
pub use volumes::{SimMachine, Volumes};

#[cfg(test)]
mod testing;
#[cfg(test)]
mod theory;
