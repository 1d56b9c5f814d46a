//! Which keywords each kind of definition knows, in the order in which a shortened keyword is matched.

use assay_formats::near::nearest;

use super::general::General;
use super::keyword::{Kind, full_name, names};
use super::{FileSystemDef, FileWorkloadDef, HostDef, RunDef, StorageDef, WorkloadDef};

/// Names of keywords, each with whether it must be written in full.
fn names_of(kind: Kind) -> Vec<(&'static str, bool)> {
    match kind {
        Kind::General => names::<General>(),
        Kind::Host => names::<HostDef>(),
        Kind::ReplayGroup => vec![("rg", true), ("devices", false), ("sd", true)],
        Kind::FileSystem => names::<FileSystemDef>(),
        Kind::Storage => names::<StorageDef>(),
        Kind::Workload => names::<WorkloadDef>(),
        Kind::FileWorkload => names::<FileWorkloadDef>(),
        Kind::Run => names::<RunDef>(),
    }
}

/// What to say about a keyword that `kind` does not know.
pub(crate) fn suggestion(kind: Kind, key: &str) -> String {
    let known =
        |(other, ..): &&(Kind, &str, &str)| *other != kind && full_name(&names_of(*other), key).is_some();
    let elsewhere: Vec<&str> = Kind::ALL.iter().filter(known).map(|(.., name)| *name).collect();
    let order = "definitions must come in the order general, hd, fsd, sd, wd, fwd, rd";
    if !elsewhere.is_empty() {
        return format!("it belongs to: {}; {order}", elsewhere.join(", "));
    }
    match nearest(key, names_of(kind).iter().map(|(name, _)| *name)) {
        Some(name) => format!("did you mean `{name}`?"),
        None => order.to_owned(),
    }
}

#[cfg(test)]
mod tests;
