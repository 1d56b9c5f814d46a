//! The repaired workload: made, audited again, and written in the language it came in.

use std::path::Path;

use assay_results::audit::{Audit, sentences};
use assay_sim::Model;
use assay_sim::audit::{AuditOptions, Hotbands, audit, repair};

use super::source::Source;
use super::{Repaired, Subject};
use crate::context::Context;
use crate::failure::Failure;
use crate::input;
use crate::languages::{self, Format};
use crate::output::Outputs;

/// The repair of what `audit` found; `None` where nothing was changed.
pub(super) fn repaired(
    source: &Source,
    model: &Model,
    found: &Audit,
    options: &AuditOptions,
) -> Result<Option<Repaired>, Failure> {
    // Only Assay's own language can say that the units of a hotband are corrected.
    let hotbands = if source.format == Format::Native { Hotbands::Corrected } else { Hotbands::Staggered };
    let mut workload = source.workload.clone();
    let changes = repair(&mut workload, &source.plan, found, model, hotbands);
    if changes.is_empty() {
        return Ok(None);
    }
    let source = source.with(workload)?;
    let audit = audit(&source.plan, model, options);
    Ok(Some(Repaired { source, changes, audit }))
}

/// Writes it, its changes as comments at its head.
pub(super) fn write(
    subject: &Subject,
    path: &Path,
    outputs: &Outputs,
    context: &Context,
) -> Result<(), Failure> {
    let Some(repaired) = &subject.repaired else {
        context.say("there is nothing to repair; no file is written");
        return Ok(());
    };
    let format = subject.source.format;
    let (text, lost) = languages::write(&repaired.source.workload, format);
    let mark = languages::comment_mark(format);
    let mut head =
        format!("{mark} {}, repaired for the array {}\n", one_line(&subject.source.name), subject.model.name);
    for change in sentences(&repaired.changes) {
        head.push_str(&format!("{mark} {}\n", one_line(&change)));
    }
    input::say_all(&lost, false, context)?;
    outputs.write("--fix", path, &format!("{head}{text}"))?;
    context.say(&format!("the repaired workload is in {}", path.display()));
    Ok(())
}

fn one_line(text: &str) -> String {
    text.replace(|c: char| c.is_control(), " ")
}
