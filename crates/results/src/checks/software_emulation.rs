//! `software-emulation`: a virtual machine whose processor is emulated. What is measured there is the emulator.

use super::draft::Draft;
use crate::run::{Finding, FindingSeverity, Run};

pub(super) const ID: &str = "software-emulation";

/// How QEMU's emulated processors call themselves (target/i386/cpu.c: the model `max` without an accelerator).
const MODEL: &str = "QEMU TCG CPU";

pub(super) fn check(run: &Run) -> Vec<Finding> {
    let model = |machine: &crate::environment::Machine| machine.cpu.model.clone();
    let models = run.environments().filter_map(|environment| model(&environment.machine));
    let emulated: Vec<String> = models.filter(|model| model.starts_with(MODEL)).collect();
    let Some(model) = emulated.first() else { return Vec::new() };
    let hosts = emulated.len();
    let message = format!(
        "the CPU of {hosts} of {} hosts is emulated in software ({model})",
        run.environments().count()
    );
    let draft = Draft::new(ID, FindingSeverity::Invalid, message)
        .bias("all figures are those of the emulator, not of the storage")
        .evidence("model", model.as_str())
        .evidence("hosts", hosts as u64);
    vec![draft.advise("use a hypervisor with hardware virtualisation (KVM)")]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::tests::{only, silent};
    use crate::fixture::run;

    #[test]
    fn an_emulated_processor_and_a_real_one() {
        let mut run = run();
        silent(ID, &run);
        run.environment.machine.cpu.model = Some("QEMU TCG CPU version 2.5+".to_owned());
        let found = only(ID, &run);
        assert_eq!(found.severity, FindingSeverity::Invalid);
        assert!(found.message.contains("1 of 1 hosts"), "{}", found.message);
    }
}
