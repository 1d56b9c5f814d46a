//! The live line.

use assay_results::{HostEvent, RunEvent};

use crate::format;
use crate::text::{Style, Tone, width};

/// Where a run stands.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Progress {
    /// The phase's name.
    pub phase: String,
    /// Its number from 1, and how many there are.
    pub number: (usize, usize),
    /// How much of the whole run is done, 0 to 1; `None`: not known.
    pub done: Option<f64>,
    /// Operations per second in the last second; `None`: nothing yet.
    pub iops: Option<f64>,
    /// 99th percentile of completion latency in the last second, nanoseconds.
    pub p99_ns: Option<u64>,
    /// Seconds left of the whole run; `None`: not known.
    pub left_s: Option<f64>,
    /// An I/O that hangs, in short.
    pub hung: Option<String>,
}

impl Progress {
    /// Takes note of what an event says of I/Os that hang.
    pub fn hear(&mut self, event: &RunEvent) {
        match event {
            RunEvent::Host { event: HostEvent::Hung { io, .. }, .. } => {
                self.hung = io.as_ref().map(|io| io.in_short());
            }
            RunEvent::PhaseStarted { .. } | RunEvent::PhaseFinished { .. } => self.hung = None,
            _ => {}
        }
    }
}

/// One line, no wider than the style: what gives way first is the phase's name.
pub fn progress_line(progress: &Progress, style: &Style) -> String {
    let (number, of) = progress.number;
    let mut facts = Vec::new();
    if of > 0 {
        facts.push((Tone::Dim, format!("{number}/{of}")));
    }
    if let Some(done) = progress.done.filter(|done| done.is_finite()) {
        facts.push((Tone::Strong, format!("{:>3.0} %", (done.clamp(0.0, 1.0) * 100.0).floor())));
    }
    if let Some(hung) = &progress.hung {
        facts.push((Tone::Warn, hung.clone()));
    }
    if let Some(iops) = progress.iops {
        facts.push((Tone::Accent, format!("{} IOPS", format::iops(iops))));
    }
    if let Some(p99) = progress.p99_ns {
        facts.push((Tone::Plain, format!("p99 {}", format::time_ns(p99 as f64))));
    }
    if let Some(left) = progress.left_s {
        facts.push((Tone::Dim, format!("{} left", format::seconds(left))));
    }
    let mut facts: Vec<(Tone, String)> =
        facts.into_iter().map(|(tone, text)| (tone, style.fit(&text).into_owned())).collect();
    let mut used: usize = facts.iter().map(|(_, text)| width(text) + 2).sum();
    // Absurd values may be wider than any line.
    while used >= style.columns()
        && let Some((_, text)) = facts.pop()
    {
        used -= width(&text) + 2;
    }
    let phase = style.fit(&progress.phase);
    let mut line = cut(&phase, style.columns().saturating_sub(used), style.unicode);
    for (tone, text) in &facts {
        if !line.is_empty() {
            line.push_str("  ");
        }
        line.push_str(&style.paint(*tone, text));
    }
    line
}

/// The start of `text` in at most `room` columns, with a mark where something is missing.
fn cut(text: &str, room: usize, unicode: bool) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    let mark = if unicode { "…" } else { "..." };
    let mut kept = String::new();
    for c in text.chars() {
        let mut longer = kept.clone();
        longer.push(c);
        if width(&longer) + width(mark) > room {
            break;
        }
        kept = longer;
    }
    if kept.is_empty() { String::new() } else { kept.trim_end().to_owned() + mark }
}

#[cfg(test)]
mod tests {
    use assay_results::event::HungIo;
    use assay_workload::units::Nanos;

    use super::*;

    fn progress() -> Progress {
        Progress {
            phase: "16 files, 16 threads each, rnd 16k writes, posixaio".to_owned(),
            number: (12, 26),
            done: Some(0.4399),
            iops: Some(19_640.4),
            p99_ns: Some(2_345_678),
            left_s: Some(84.2),
            hung: None,
        }
    }

    #[test]
    fn a_line_says_where_it_stands() {
        let line = progress_line(&progress(), &Style::plain(120));
        assert_eq!(
            line,
            "16 files, 16 threads each, rnd 16k writes, posixaio  12/26   43 %  19,640 IOPS  p99 2.35 ms  1 min 24 s left"
        );
    }

    #[test]
    fn the_name_gives_way() {
        for columns in [60, 80, 100] {
            let line = progress_line(&progress(), &Style::plain(columns));
            assert!(width(&line) <= columns, "{line}");
            assert!(line.contains('…') && line.contains("p99 2.35 ms"), "{line}");
        }
    }

    #[test]
    fn an_io_that_hangs_comes_before_the_figures() {
        let io = HungIo {
            job: "j".to_owned(),
            operation: "read".into(),
            target: "/mnt/data".to_owned(),
            offset_bytes: Some(8192),
            len_bytes: 4096,
            since: Nanos(1_200_000_000),
            outstanding_for: Nanos(12_400_000_000),
        };
        let mut progress = Progress { phase: "p".to_owned(), ..progress() };
        progress.hear(&HostEvent::Hung { phase: 0, io: Some(Box::new(io)) }.into());
        let line = progress_line(&progress, &Style::plain(80));
        assert_eq!(line, "p  12/26   43 %  read of 4 KiB at offset 8192 of data hangs for 12 s");
        progress.hear(&HostEvent::Hung { phase: 0, io: None }.into());
        assert!(!progress_line(&progress, &Style::plain(80)).contains("hangs"));
    }

    #[test]
    fn what_is_not_known_is_not_there() {
        let line =
            progress_line(&Progress { phase: "fill".to_owned(), ..Progress::default() }, &Style::plain(80));
        assert_eq!(line, "fill");
    }
}
