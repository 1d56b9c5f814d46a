//! The program as people use it: what it does with the real system, what it prints, what it leaves behind.

#[path = "../../../../xtask/support/bounded.rs"]
mod bounded;
#[path = "../../../../xtask/support/browser.rs"]
mod browser;
#[path = "../../../../xtask/support/skip.rs"]
mod skip;

mod against;
#[cfg(feature = "attach")]
mod attach;
mod bad_input;
mod claims;
mod compare;
mod consent;
mod control;
mod crash;
mod cut_short;
mod doctor;
mod drop_in;
mod executed;
mod fio_words;
mod fleet;
mod grid;
mod help;
mod journals;
#[cfg(feature = "kube")]
mod kube;
mod lies;
mod limits;
mod looks;
#[cfg(feature = "mail")]
mod mail;
mod matrix;
mod mounts;
#[cfg(feature = "oltp")]
mod oltp;
mod outputs;
mod pages;
mod places;
mod plan_is_run;
mod remote;
mod room;
mod samples;
mod schema;
#[cfg(feature = "tui")]
mod screen;
#[cfg(feature = "web")]
mod serve;
mod sixty_ways;
mod slurm;
mod space;
mod sshd;
mod stall;
mod stopping;
mod stored;
mod truths;
mod vdbench_words;
#[cfg(feature = "vm")]
mod vm;
mod watching;
mod world;
