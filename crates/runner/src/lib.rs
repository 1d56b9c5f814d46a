//! A plan carried out on this machine, as a library: what `assay run`, a worker, the page and a test all call.
//!
//! A [`Request`] says what is wanted, a [`Site`] where it happens; [`plan`] resolves it, [`carry_out`] does it and keeps the
//! result. Nothing here prints, parses arguments or ends the process; several requests may be carried out side by side in one
//! process, each with a stop flag of its own.

mod aliases;
mod bound;
mod carry_out;
mod clocks;
mod commands;
mod consent;
mod data_journal;
mod error;
mod executor;
mod files;
pub mod fio;
mod hold;
mod idle_windows;
mod inventory;
mod layout;
mod limits;
mod native;
pub mod observe;
mod parents;
mod part;
mod part_journal;
mod period;
mod phase_thread;
mod prefill;
pub mod probe;
mod readonly;
mod recording;
mod recover;
mod request;
mod seed;
pub mod self_cost;
mod simulated;
mod space;
mod start;
mod trace;

pub use bound::bound_points;
pub use carry_out::{Done, carry_out, environment_of, plan};
pub use consent::{check_consent, check_hosts, claim, overwrites};
pub use error::{ProbeProblem, RunError, TargetProblem};
pub use files::make_files;
pub use hold::{Permits, hold};
pub use idle_windows::expected_s as idle_windows_s;
pub use inventory::{bytes_of, holds_fio_header, look_at};
pub use limits::{check_descriptors, check_memory};
pub use part::ThisHost;
pub use period::period;
pub use prefill::{Filled, bytes_in, fill};
pub use readonly::{Change, check_readonly};
pub use recording::{Finished, Place, record, record_at};
pub use recover::{Crashed, Proof, Recovery, recover_data};
pub use request::{Kinds, Observer, Request, Site, Watch, Work};
pub use seed::{random_seed, random_u64};
pub use simulated::{SIMULATED, Simulated, marked, remark, simulate};
pub use space::{Shortage, check_space};
pub use start::Start;
pub use trace::{trace_bytes_max, write_trace};
