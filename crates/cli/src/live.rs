//! Progress on stderr: one live line on a terminal, a line every ten seconds elsewhere.

mod periods;

use std::fmt::Display;
use std::io::{self, IsTerminal as _};
use std::time::{Duration, Instant};

use assay_host::HostRoot;
use assay_host::guard::describe_content;
use assay_report::terminal::{Progress, progress_line, writes_ahead};
use assay_report::{Style, visible};
use assay_results::{HostEvent, Interval, RunEvent};
use assay_runner::{Observer, SIMULATED, idle_windows_s};
use assay_workload::Plan;
use assay_workload::target::TargetKind;

use crate::context::{Context, to_stderr};
use crate::failure::Failure;
use crate::input;

use self::periods::Periods;

/// How often a line is printed where there is no terminal.
const PLAIN_EVERY: Duration = Duration::from_secs(10);
/// How often the live line is drawn at most.
const LIVE_EVERY: Duration = Duration::from_millis(150);
/// The same of what comes before a run.
const STAGE_EVERY: Duration = Duration::from_millis(400);
/// What a phase without a time limit is taken to need, for the estimate of what is left.
const UNKNOWN_PHASE_S: f64 = 8.0;

/// Says how far something is that comes before a run: on a terminal one line, which is left as it is.
pub(crate) fn stages(context: &Context) -> impl FnMut(&dyn Display) + use<> {
    let (every, before, behind) =
        if context.live { (STAGE_EVERY, "\r\x1b[2K", "") } else { (PLAIN_EVERY, "", "\n") };
    let (quiet, mut said) = (context.quiet, Instant::now());
    move |stage| {
        if !quiet && said.elapsed() >= every {
            said = Instant::now();
            to_stderr(format_args!("{before}{stage}{behind}"));
        }
    }
}

/// Where a run stands, drawn as its events come.
#[derive(Debug)]
pub(crate) struct Live {
    style: Style,
    terminal: bool,
    quiet: bool,
    /// Show a whole screen while the run goes on.
    wants_screen: bool,
    #[cfg(feature = "tui")]
    screen: Option<crate::screen::Screen>,
    /// Say ahead what is going to be written.
    announces: bool,
    /// Ask before what is on devices of this machine is overwritten.
    asks: Option<HostRoot>,
    progress: Progress,
    periods: Periods,
    names: Vec<String>,
    /// Expected seconds of each phase; none before the run has started.
    expected_s: Vec<f64>,
    phase: usize,
    phase_started: Instant,
    drawn: Instant,
    printed: Instant,
    /// Files that were laid out and named, and further ones.
    laid_out: (usize, usize),
}

/// Files laid out that are named; of a fleet there are hundreds.
const LAID_OUT_NAMED: usize = 4;

impl Live {
    pub(crate) fn new(context: &Context) -> Self {
        Live {
            style: context.error_style,
            terminal: context.live,
            quiet: context.quiet,
            wants_screen: false,
            #[cfg(feature = "tui")]
            screen: None,
            announces: false,
            asks: None,
            progress: Progress::default(),
            periods: Periods::default(),
            names: Vec::new(),
            expected_s: Vec::new(),
            phase: 0,
            phase_started: Instant::now(),
            drawn: Instant::now() - LIVE_EVERY,
            printed: Instant::now(),
            laid_out: (0, 0),
        }
    }

    /// One that also says ahead what is going to be written.
    pub(crate) fn announcing(context: &Context) -> Self {
        Live { announces: true, ..Live::new(context) }
    }

    /// A whole screen instead of the line, where stderr is a terminal.
    ///
    /// # Errors
    /// [`Failure::Usage`] where this build has none.
    pub(crate) fn on_screen(self, wanted: bool) -> Result<Self, Failure> {
        if wanted && !cfg!(feature = "tui") {
            return Err(Failure::usage(
                "this build has no --live; build one with cargo build --release --features tui",
            ));
        }
        Ok(Live { wants_screen: wanted && self.terminal && !self.quiet, ..self })
    }

    /// Whether the screen takes the event: the line has nothing to show then.
    #[cfg(feature = "tui")]
    fn on_the_screen(&mut self, event: &RunEvent) -> bool {
        if matches!(event, RunEvent::RunStarted { .. }) && self.wants_screen {
            self.clear();
            self.screen = crate::screen::Screen::open(self.style);
        }
        let Some(screen) = &mut self.screen else { return false };
        screen.hear(event);
        if matches!(event, RunEvent::RunFinished { .. }) {
            self.screen = None;
        }
        true
    }

    #[cfg(not(feature = "tui"))]
    fn on_the_screen(&mut self, _: &RunEvent) -> bool {
        self.wants_screen
    }

    /// Asks on a terminal before devices of `host` that carry something are overwritten.
    pub(crate) fn asking(self, host: &HostRoot) -> Self {
        let terminal = io::stdin().is_terminal() && io::stderr().is_terminal();
        Live { asks: terminal.then(|| host.clone()), ..self }
    }

    /// Whether what is on the devices of the plan may go; without a terminal the options have said so.
    fn agreed(&self, plan: &Plan) -> bool {
        let Some(host) = &self.asks else { return true };
        plan.targets.iter().filter(|target| target.kind == TargetKind::BlockDevice).all(|target| {
            let Some(content) = describe_content(host, target.path.as_ref()) else { return true };
            let question = "All of it will be destroyed. Type the path of the device to go on: ";
            to_stderr(format_args!("{}\n{question}", visible(&content)));
            let mut answer = String::new();
            io::stdin().read_line(&mut answer).is_ok() && answer.trim() == target.path
        })
    }

    fn start(&mut self, plan: &Plan) {
        let expected = plan.phases.iter().map(|phase| phase.expected_time());
        self.expected_s =
            expected.map(|time| time.map_or(UNKNOWN_PHASE_S, |time| time.as_secs_f64() + 0.05)).collect();
        if let Some(first) = self.expected_s.first_mut() {
            *first += idle_windows_s(plan);
        }
        self.names = plan.phases.iter().map(|phase| phase.name.clone()).collect();
        self.progress.number.1 = plan.phases.len();
    }

    /// Says how many files were laid out besides those that were named.
    fn say_laid_out(&mut self) {
        if let (_, more @ 1..) = std::mem::take(&mut self.laid_out) {
            self.say(&format!("laid out {more} more files"));
        }
    }

    /// Takes note of an event, and draws if it is time.
    fn take(&mut self, event: &RunEvent) {
        if self.on_the_screen(event) {
            return;
        }
        self.progress.hear(event);
        let is_layout = |event: &HostEvent| matches!(event, HostEvent::Note { id, .. } if id == "layout");
        match event {
            RunEvent::Host { event, .. } if is_layout(event) && self.laid_out.0 >= LAID_OUT_NAMED => {
                self.laid_out.1 += 1;
                return;
            }
            RunEvent::Host { event, .. } if is_layout(event) => self.laid_out.0 += 1,
            _ => self.say_laid_out(),
        }
        match event {
            RunEvent::RunStarted { plan, .. } => self.start(plan),
            RunEvent::PhaseStarted { phase, .. } => {
                self.phase = *phase as usize;
                self.phase_started = Instant::now();
                self.progress.phase = self.names[self.phase].clone();
                self.progress.number.0 = self.phase + 1;
            }
            RunEvent::Host { host, event: HostEvent::Interval(interval) } => {
                let progress = &mut self.progress;
                self.periods.hear(*host, interval, |period, iops| show(progress, period, iops));
            }
            RunEvent::Host { host, event: HostEvent::Environment { .. } } => {
                self.periods.announce(*host);
            }
            // The commands say it: once however many runs they simulate, and however quiet they are.
            RunEvent::Host { event: HostEvent::Note { id, .. }, .. }
                if id == SIMULATED || id == input::LOST => {}
            RunEvent::Host { event: HostEvent::Note { text, .. }, .. } => self.say(text),
            RunEvent::RunFinished { .. } => {
                self.clear();
                return;
            }
            _ => {}
        }
        self.draw();
    }

    /// A line that stays, and must be seen.
    pub(crate) fn warn(&mut self, text: &str) {
        self.clear();
        to_stderr(format_args!("{}\n", visible(text)));
    }

    /// A line that stays.
    fn say(&mut self, text: &str) {
        if !self.quiet {
            self.clear();
            to_stderr(format_args!("{}\n", visible(text)));
        }
    }

    fn estimate(&mut self) {
        let in_phase = self.phase_started.elapsed().as_secs_f64().min(self.expected_s[self.phase]);
        let before: f64 = self.expected_s[..self.phase].iter().sum();
        let total: f64 = self.expected_s.iter().sum();
        self.progress.done = Some((before + in_phase) / total.max(1e-9));
        self.progress.left_s = Some((total - before - in_phase).max(0.0));
    }

    fn draw(&mut self) {
        if self.quiet || self.expected_s.is_empty() {
            return;
        }
        if self.terminal && self.drawn.elapsed() >= LIVE_EVERY {
            self.estimate();
            to_stderr(format_args!("\r\x1b[2K{}", progress_line(&self.progress, &self.style)));
            self.drawn = Instant::now();
        } else if !self.terminal && self.printed.elapsed() >= PLAIN_EVERY {
            self.estimate();
            to_stderr(format_args!("{}\n", progress_line(&self.progress, &self.style)));
            self.printed = Instant::now();
        }
    }

    fn clear(&mut self) {
        if self.terminal && !self.quiet {
            to_stderr(format_args!("\r\x1b[2K"));
        }
    }
}

/// Puts a period in the line; what is too short is no rate.
fn show(progress: &mut Progress, period: &Interval, iops: f64) {
    let data = period.counts.data();
    let seconds = period.key.length_ns as f64 / 1e9;
    if seconds > 0.05 {
        progress.iops = Some(iops);
        progress.p99_ns = data.completion.quantile_ns(0.99);
    }
}

impl Observer for Live {
    fn event(&mut self, event: &RunEvent) {
        self.take(event);
    }

    fn before_writing(&mut self, plan: &Plan) -> bool {
        if let Some(words) = writes_ahead(plan).filter(|_| self.announces) {
            self.say(&words);
        }
        self.agreed(plan)
    }
}
