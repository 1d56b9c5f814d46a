//! Stored runs and a live run as pages over HTTP: `assay serve`.
//!
//! Pages are made by the server and work without scripts. Nothing here measures: what carries runs out is a [`Station`] that
//! the program hands in. What a client sends is an id, a word or a number, never a path that is opened; `guard` refuses requests of
//! other hosts' pages before anything looks at them.

mod app;
mod form;
mod guard;
mod hosts;
mod index;
mod metrics;
mod now;
mod pages;
mod review;
mod routes;
mod secret;
mod server;
mod station;
mod trend;
mod upload;

pub use index::{Index, IndexError, Sought, Stored};
pub use secret::{TOKEN_CHARS_MIN, Token};
pub use server::{Listening, ServeError, Settings};
pub use station::{
    Imported, Places, Proposal, ProposedTarget, SeriesOffer, Station, StationError, Told, Wanted, WantedPlan,
};
