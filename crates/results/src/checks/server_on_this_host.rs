//! `server-on-this-host`: client and server are one machine, so that they share its CPUs, and the server's page cache is in the memory
//! beside Assay.

use super::draft::{Draft, lost_cpu_time, percent};
use super::generator_bound::queued_share;
use super::subject::on_storage;
use crate::run::{Finding, FindingSeverity, Run};

pub(super) const ID: &str = "server-on-this-host";

pub(super) fn check(run: &Run) -> Vec<Finding> {
    // A kind of job knows where its server is.
    let told = run.remarks.iter().filter(|remark| remark.id == ID).map(|remark| {
        Draft::new(ID, FindingSeverity::Warning, remark.text.as_str())
            .bias("transactions per second low by an unknown amount, for the CPU time that Assay takes from the server")
            .advise("run Assay on another host than the server")
    });
    told.chain(exported(run)).collect()
}

/// The server of a network file system.
fn exported(run: &Run) -> Option<Finding> {
    on_storage(run).find_map(|subject| {
        let local = subject.environments().into_iter().find(|target| {
            target.network.as_ref().is_some_and(|network| network.on_this_host == Some(true))
        })?;
        let server = local.network.as_ref().map_or("", |network| network.server.as_str());
        let busy = subject.phase.evidence.cpu_busy_share;
        let busy_words = busy.map_or(String::new(), |share| format!("; all CPUs were {} busy", percent(share)));
        let message = format!("the server of {} ({server}) runs on this host and shares its CPUs and memory{busy_words}", local.path);
        // Of the server's CPU time only what Assay waited for is missing here; what its page cache answered cannot be seen from here.
        let waited = queued_share(&subject).filter(|share| *share > 0.0);
        let low = waited.map_or("IOPS low by an unknown amount".to_owned(), lost_cpu_time);
        let draft = Draft::new(ID, FindingSeverity::Warning, message)
            .bias(format!("{low}, for the CPU time that the server takes; reads high by an unknown amount where its page cache answers"))
            .evidence("at", subject.pointer.as_str())
            .evidence("run_queue_share", waited)
            .evidence("server", server)
            .evidence("cpu_busy_share", busy);
        Some(draft.advise("run Assay on another host than the server"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::tests::{only, silent};
    use crate::environment::NetworkPath;
    use crate::fixture::run;

    #[test]
    fn an_export_of_this_host_is_said_once() {
        let mut run = run();
        run.environment.targets[0].network = Some(NetworkPath {
            server: "127.0.0.1".to_owned(),
            interface: Some("lo".to_owned()),
            bits_per_s: None,
            on_this_host: Some(true),
        });
        let finding = only(ID, &run);
        assert_eq!((finding.severity, finding.effect), (FindingSeverity::Warning, None));
        assert!(
            finding.bias_words().starts_with("IOPS low by an unknown amount"),
            "{}",
            finding.bias_words()
        );
        let evidence = &mut run.phases[0].jobs[0].evidence;
        evidence.run_queue_ns = Some(evidence.measured_ns * u64::from(evidence.threads) / 5);
        assert!(
            only(ID, &run).bias_words().starts_with("IOPS 0-25 % low"),
            "{}",
            only(ID, &run).bias_words()
        );
        assert!(
            finding.message.starts_with("the server of /data (127.0.0.1) runs on this host"),
            "{}",
            finding.message
        );
    }

    #[test]
    fn a_kind_of_job_tells_of_its_server() {
        let mut run = run();
        let text = "the PostgreSQL server runs on this host".to_owned();
        run.remarks = vec![crate::evidence::Remark { phase: Some(0), id: ID.to_owned(), text: text.clone() }];
        assert_eq!(only(ID, &run).message, text);
    }

    #[test]
    fn another_host_and_no_network() {
        let mut run = run();
        silent(ID, &run);
        run.environment.targets[0].network = Some(NetworkPath {
            server: "10.0.0.9".to_owned(),
            on_this_host: Some(false),
            ..NetworkPath::default()
        });
        silent(ID, &run);
    }
}
