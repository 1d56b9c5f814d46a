//! What one host of a run measured, as a run of its own.

use std::path::Path;

use super::StoreError;
use super::journal::{JournalContent, feed_series};
use crate::build::RunBuilder;
use crate::event::{HostEvent, HostId, RunEvent};
use crate::run::Run;

/// The run of one host, made of journal and series: with its part of the plan, its environment and its figures alone. Writes nothing.
///
/// # Errors
/// When journal or series cannot be read, or when the journal lacks its beginning.
pub fn run_of_host(dir: &Path, host: HostId) -> Result<Run, StoreError> {
    let journal = JournalContent::read(dir)?;
    let is_of = |event: &HostEvent| matches!(event, HostEvent::Environment { .. });
    let own = journal.events.iter().find_map(|event| match event {
        RunEvent::Host { host: of, event: HostEvent::Environment { environment, .. } } if *of == host => {
            Some(environment.clone())
        }
        _ => None,
    });
    let mut builder = RunBuilder::new();
    let mut rest = Vec::new();
    for event in journal.events {
        match event {
            RunEvent::RunStarted { id, started, plan, environment, version, commit } => {
                let plan = Box::new(if plan.hosts.is_empty() { *plan } else { plan.for_host(host) });
                let environment = own.clone().unwrap_or(environment);
                builder.feed(&RunEvent::RunStarted { id, started, plan, environment, version, commit });
            }
            // What it became of all hosts says little of one; its figures do not depend on it.
            RunEvent::PhaseResolved { .. } => {}
            RunEvent::Host { host: of, event } if of == host && !is_of(&event) => {
                rest.push(event.of(HostId::FIRST))
            }
            RunEvent::Host { .. } => {}
            other => rest.push(other),
        }
    }
    feed_series(dir, &mut builder, &mut |of| (of == host).then_some(HostId::FIRST))?;
    rest.iter().for_each(|event| builder.feed(event));
    builder.finish().map_err(|source| StoreError::Unrecoverable { path: dir.to_owned(), source })
}
