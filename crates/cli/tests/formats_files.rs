//! Workload files through the whole program: what it says of bad ones, and what it makes of good ones.

#[path = "formats_files/audit.rs"]
mod audit;
#[path = "../../../xtask/support/bounded.rs"]
mod bounded;
#[path = "formats_files/convert.rs"]
mod convert;
#[path = "formats_files/corpus.rs"]
mod corpus;
#[path = "formats_files/explain.rs"]
mod explain;
#[path = "formats_files/foreign.rs"]
mod foreign;
#[path = "formats_files/language.rs"]
mod language;
#[path = "formats_files/messages.rs"]
mod messages;
#[path = "formats_files/native_corpus.rs"]
mod native_corpus;
#[path = "formats_files/new.rs"]
mod new;
#[path = "commands/schema.rs"]
mod schema;
#[path = "formats_files/shares.rs"]
mod shares;
#[path = "../../../xtask/support/skip.rs"]
mod skip;
#[path = "formats_support/mod.rs"]
mod support;
#[path = "formats_files/terms.rs"]
mod terms;
