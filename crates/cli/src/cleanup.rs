//! `assay cleanup`: removes what Assay made, and nothing else.

use std::path::Path;

use assay_host::cleanup;
use assay_host::workdir::is_assay_dir;
use assay_workload::units::Bytes;
use clap::Args;

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::location::Location;
use crate::remote::{self, RemoteDirectory};

#[derive(Debug, Args)]
pub(crate) struct CleanupArgs {
    /// A directory, or [user@]host[:dir]
    #[arg(default_value = ".", value_name = "WHERE")]
    pub(crate) place: String,
}

pub(crate) fn cleanup(args: &CleanupArgs, context: &Context) -> Result<Outcome, Failure> {
    match Location::parse(&args.place)? {
        Location::Local(place) => here(&place, context),
        Location::Remote { host, dir } => {
            remote::cleanup(RemoteDirectory { host: &host, dir: &dir }, context)
        }
    }
}

fn here(place: &Path, context: &Context) -> Result<Outcome, Failure> {
    let shown = place.display();
    if !place.is_dir() {
        return Err(Failure::usage(format!("{shown} is not a directory")));
    }
    // Without a slash at its end, so that it names the link.
    let itself = place.components().as_path();
    if itself.is_symlink() {
        let to = std::fs::read_link(itself).unwrap_or_default();
        return Err(Failure::usage(format!(
            "{shown} is a symbolic link to {}, which is not followed; name the directory itself",
            to.display()
        )));
    }
    let found = if is_assay_dir(place) {
        vec![place.to_owned()]
    } else {
        cleanup::find(place).map_err(|error| Failure::failed(format!("{shown}: {error}")))?
    };
    if found.is_empty() {
        context.out(&format!("nothing to remove: no directory that Assay made in {shown}"));
        return Ok(Outcome::Done);
    }
    let mut left = Vec::new();
    for directory in found {
        let report = match cleanup::remove(&directory) {
            Ok(report) => report,
            // The others are still looked at.
            Err(error) => {
                context.say(&error.to_string());
                left.push(directory.display().to_string());
                continue;
            }
        };
        let (shown, files) = (directory.display(), report.files);
        let of = if report.removed { "" } else { "from " };
        context.out(&format!("removed {of}{shown}: {files} files, {}", Bytes(report.bytes)));
        for (path, why) in &report.kept {
            context.say(&format!("kept {}: {why}", path.display()));
        }
        if !report.removed {
            left.push(shown.to_string());
        }
    }
    match left.as_slice() {
        [] => Ok(Outcome::Done),
        left => Err(Failure::failed(format!("could not remove all of {}", left.join(", ")))),
    }
}
