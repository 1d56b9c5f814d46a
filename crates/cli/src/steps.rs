//! Curves, searches, rounds and repetitions asked for on the command line: the phases of a workload multiplied.

use assay_conduct::multiply::Multiply;
use assay_workload::steps::FindRate;
use clap::Args;

/// What multiplies the measuring phases of a plan.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct StepArgs {
    /// Measure the maximum rate, then these percentages of it
    #[arg(long, value_name = "PERCENTS", value_delimiter = ',', conflicts_with_all = ["find_rate", "until_steady"])]
    pub(crate) curve: Vec<f64>,
    /// Find the highest rate that meets a latency target: 'p99<5ms', 'p99.9<800us', 'mean<1ms'; takes up to 37 windows, each as long as the phase
    #[arg(long, value_name = "GOAL", conflicts_with = "until_steady")]
    pub(crate) find_rate: Option<FindRate>,
    /// Repeat each measuring phase until it is steady by SNIA's rule (5 rounds, range 20 %, slope 10 %; at most 25 rounds)
    #[arg(long)]
    pub(crate) until_steady: bool,
    /// With --repeat: run the measuring phases of each pass in random order (from the seed)
    #[arg(long)]
    pub(crate) shuffle: bool,
}

impl StepArgs {
    /// What becomes of each measuring phase.
    pub(crate) fn multiply(&self) -> Option<Multiply> {
        if self.until_steady {
            return Some(Multiply::UntilSteady);
        }
        let curve = (!self.curve.is_empty()).then(|| Multiply::Curve(self.curve.clone()));
        self.find_rate.map(Multiply::Find).or(curve)
    }
}
