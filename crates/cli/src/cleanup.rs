//! `assay cleanup`: removes what Assay made, and nothing else.

use std::path::{Path, PathBuf};

use assay_host::cleanup;
use assay_report::format::plural;
use assay_workload::units::Bytes;
use clap::Args;

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::location::Location;
use crate::remote::{self, RemoteDirectory};

#[derive(Debug, Args)]
pub(crate) struct CleanupArgs {
    /// A directory, a file, or [user@]host[:dir]
    #[arg(default_value = ".", value_name = "WHERE")]
    pub(crate) place: String,
    /// Remove this file, too, although it is not as Assay left it; may be given several times
    ///
    /// A run that was killed while it wrote leaves such files: nothing tells what it wrote from what came into them since.
    #[arg(long, value_name = "FILE")]
    pub(crate) destroy_data: Vec<PathBuf>,
}

pub(crate) fn cleanup(args: &CleanupArgs, context: &Context) -> Result<Outcome, Failure> {
    match Location::parse(&args.place)? {
        Location::Local(place) => here(&place, &args.destroy_data, context),
        Location::Remote { host, .. } if !args.destroy_data.is_empty() => Err(Failure::usage(format!(
            "--destroy-data names files of this machine; run 'assay cleanup' on {host} to remove such files there"
        ))),
        Location::Remote { host, dir } => {
            remote::cleanup(RemoteDirectory { host: &host, dir: &dir }, context)
        }
    }
}

fn here(place: &Path, named: &[PathBuf], context: &Context) -> Result<Outcome, Failure> {
    let shown = place.display();
    // Without a slash at its end, so that it names the link.
    let itself = place.components().as_path();
    if itself.is_symlink() {
        let to = std::fs::read_link(itself).unwrap_or_default();
        return Err(Failure::usage(format!(
            "{shown} is a symbolic link to {}, which is not followed; name the directory itself",
            to.display()
        )));
    }
    let reports = cleanup::at(place, named).map_err(|error| Failure::usage(format!("{shown}: {error}")))?;
    if reports.is_empty() {
        context.out(&format!("nothing to remove: nothing that Assay made in {shown}"));
    }
    let mut left = Vec::new();
    for report in reports {
        let report = match report {
            Ok(report) => report,
            Err(error) => {
                context.say(&error.to_string());
                left.push(error.path().display().to_string());
                continue;
            }
        };
        let (shown, files) = (report.path.display(), report.files);
        let of = if report.removed { "" } else { "from " };
        if files > 0 || report.removed {
            context.out(&format!("removed {of}{shown}: {}, {}", plural(files, "file"), Bytes(report.bytes)));
        } else if report.directories > 0 {
            let directories = report.directories;
            context.out(&format!(
                "removed {of}{shown}: {directories} empty director{}",
                if directories == 1 { "y" } else { "ies" }
            ));
        }
        for (path, why) in &report.kept {
            context.say(&format!("kept {}: {why}", path.display()));
        }
        left.extend((!report.kept.is_empty()).then(|| shown.to_string()));
    }
    match left.as_slice() {
        [] => Ok(Outcome::Done),
        left => Err(Failure::failed(format!("could not remove all of {}", left.join(", ")))),
    }
}
