//! Whether others disturbed a step that later steps depend on, by the checks that judge the whole run.

use assay_results::build::RunBuilder;
use assay_results::environment::Environment;
use assay_results::search::disturbance;
use assay_results::{HostEvent, RunEvent};
use assay_workload::Plan;
use assay_workload::steps::Until;

use crate::conductor::HostInfo;

/// The events of one phase; nothing where it is not asked what others did.
pub(crate) struct Watch(Option<RunBuilder>);

impl Watch {
    /// Watches steps of a search: one that was disturbed leads it to another answer.
    pub(crate) fn of(
        plan: &Plan,
        phase: usize,
        environment: Option<&Environment>,
        hosts: &[HostInfo],
    ) -> Watch {
        let search = plan.phases[phase].step.is_some_and(|step| matches!(step.until, Until::Rate(_)));
        Watch(environment.filter(|_| search).map(|environment| {
            let mut builder = RunBuilder::new();
            builder.feed(&RunEvent::RunStarted {
                id: String::new(),
                started: String::new(),
                plan: Box::new(plan.clone()),
                environment: Box::new(environment.clone()),
                version: String::new(),
                commit: None,
            });
            for host in hosts {
                let environment = Box::new(host.environment.clone());
                builder.feed(&HostEvent::Environment { name: host.name.clone(), environment }.of(host.id));
            }
            builder
        }))
    }

    pub(crate) fn feed(&mut self, event: &RunEvent) {
        if let Some(builder) = &mut self.0 {
            builder.feed(event);
        }
    }

    /// What others did; `None`: nothing that was seen.
    pub(crate) fn disturbance(self) -> Option<String> {
        let run = self.0?.finish().ok()?;
        disturbance(&run.findings).map(str::to_owned)
    }
}
