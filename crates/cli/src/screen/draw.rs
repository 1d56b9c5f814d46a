//! What the screen shows: a pure function of where the run stands, the time and the size.

use std::time::Duration;

use assay_report::{Style, format, visible};
use assay_results::FindingSeverity;
use assay_results::live::{LivePoint, LiveRun};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style as Look};
use ratatui::symbols::bar;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Gauge, Paragraph, Sparkline, Wrap};

/// Smaller than this there is room for a few lines only.
const COLUMNS_MIN: u16 = 40;
const ROWS_MIN: u16 = 12;
/// Rows of workers at most, where findings want room, too.
const WORKERS_MAX: usize = 16;

/// Bars without characters beyond ASCII.
const ASCII_BARS: bar::Set<'static> = bar::Set {
    full: "#",
    seven_eighths: "#",
    three_quarters: "+",
    five_eighths: "+",
    half: "=",
    three_eighths: "-",
    one_quarter: ":",
    one_eighth: ".",
    empty: " ",
};

/// Looks, or none where colours are not wanted.
#[derive(Clone, Copy)]
struct Looks {
    colour: bool,
    unicode: bool,
}

impl Looks {
    fn of(self, colour: Color) -> Look {
        if self.colour { Look::new().fg(colour) } else { Look::new() }
    }

    fn head(self) -> Look {
        self.of(Color::Yellow).add_modifier(Modifier::BOLD)
    }

    fn dim(self) -> Look {
        Look::new().add_modifier(Modifier::DIM)
    }

    fn warn(self) -> Look {
        self.of(Color::Red).add_modifier(Modifier::BOLD)
    }

    fn dash(self) -> &'static str {
        if self.unicode { "–" } else { "-" }
    }
}

/// Draws all of it.
pub(super) fn draw(frame: &mut Frame<'_>, run: &LiveRun, now: Duration, style: Style) {
    let looks = Looks { colour: style.colour, unicode: style.unicode };
    let area = frame.area();
    if area.width < COLUMNS_MIN || area.height < ROWS_MIN {
        return small(frame, run, now, looks);
    }
    let workers = if run.hosts.len() > 1 { run.hosts.len().min(WORKERS_MAX) as u16 + 2 } else { 0 };
    let workers = workers.min(area.height / 3);
    let charts = if area.height >= 30 { 6 } else { 4 };
    let [head, bar, hung, figures, chart, hosts, rest, foot] = Layout::vertical([
        Constraint::Length(2),
        Constraint::Length(1),
        Constraint::Length(u16::from(run.hung.is_some())),
        Constraint::Length(3),
        Constraint::Length(charts),
        Constraint::Length(workers),
        Constraint::Min(2),
        Constraint::Length(1),
    ])
    .areas(area);
    frame.render_widget(Paragraph::new(heading(run, now, looks)), head);
    progress(frame, bar, run, now, looks);
    if let Some(io) = &run.hung {
        frame.render_widget(
            Paragraph::new(Line::styled(text(&format!("hangs: {io}"), looks), looks.warn())),
            hung,
        );
    }
    frame.render_widget(Paragraph::new(numbers(run, looks)), figures);
    curves(frame, chart, run, looks);
    if workers > 0 {
        frame.render_widget(Paragraph::new(worker_lines(run, usize::from(workers) - 1, looks)), hosts);
    }
    frame.render_widget(Paragraph::new(words(run, looks)).wrap(Wrap { trim: true }), rest);
    let stop = "Ctrl-C stops the run; what was measured is kept";
    frame.render_widget(Paragraph::new(Line::styled(stop, looks.dim())), foot);
}

/// Foreign text: without what moves a cursor, and without what the terminal cannot show.
fn text(words: &str, looks: Looks) -> String {
    let words = visible(words);
    if looks.unicode {
        words.into_owned()
    } else {
        words.chars().map(|c| if c.is_ascii() { c } else { '?' }).collect()
    }
}

fn heading(run: &LiveRun, now: Duration, looks: Looks) -> Vec<Line<'static>> {
    let (number, of) = run.number;
    let phase = match (number, run.measures) {
        (0, _) => "before the first phase".to_owned(),
        (_, true) => format!("phase {number} of {of}: {}", run.phase),
        (_, false) => format!("phase {number} of {of} (prepares): {}", run.phase),
    };
    vec![
        Line::from(vec![
            Span::styled(text(&run.name, looks), looks.head()),
            Span::styled(format!("  run {}", run.id), looks.dim()),
            Span::styled(format!("  {}", format::seconds(run.elapsed_s(now).floor())), looks.dim()),
        ]),
        Line::from(text(&phase, looks)),
    ]
}

fn progress(frame: &mut Frame<'_>, area: Rect, run: &LiveRun, now: Duration, looks: Looks) {
    let Some((done, left)) = run.progress(now) else { return };
    let done = done.clamp(0.0, 1.0);
    let label = format!("{:.0} %, {} left", (done * 100.0).floor(), format::seconds(left.ceil()));
    let gauge = Gauge::default()
        .ratio(done)
        .label(label)
        .use_unicode(looks.unicode)
        // Without colours the bar is the reverse of the rest.
        .gauge_style(if looks.colour {
            Look::new().fg(Color::Cyan).bg(Color::DarkGray)
        } else {
            Look::new()
        });
    frame.render_widget(gauge, area);
}

/// The figures of the last period in columns.
fn numbers(run: &LiveRun, looks: Looks) -> Vec<Line<'static>> {
    let point = run.newest();
    let of = |value: &dyn Fn(&LivePoint) -> String| point.map_or_else(|| looks.dash().to_owned(), value);
    let time = |ns: Option<u64>| {
        ns.map_or_else(|| looks.dash().to_owned(), |ns| plain(&format::time_ns(ns as f64), looks))
    };
    let all = [
        ("IOPS", of(&|point| format::iops(point.iops))),
        ("bandwidth", of(&|point| format::bandwidth(point.bytes_per_s))),
        ("p50", of(&|point| time(point.p50_ns))),
        ("p99", of(&|point| time(point.p99_ns))),
        ("p99.9", of(&|point| time(point.p99_9_ns))),
        ("errors", of(&|point| format::count(point.errors))),
    ];
    let (mut names, mut values) = (Vec::new(), Vec::new());
    for (name, value) in all {
        let width = value.chars().count().max(name.len()).max(9) + 2;
        names.push(Span::styled(format!("{name:<width$}"), looks.dim()));
        let look = if name == "errors" && point.is_some_and(|point| point.errors > 0) {
            looks.warn()
        } else {
            Look::new().add_modifier(Modifier::BOLD)
        };
        values.push(Span::styled(format!("{value:<width$}"), look));
    }
    vec![Line::default(), Line::from(names), Line::from(values)]
}

/// Units have a sign beyond ASCII.
fn plain(words: &str, looks: Looks) -> String {
    if looks.unicode { words.to_owned() } else { words.replace('µ', "u") }
}

/// The rate and the 99th percentile over time, side by side.
fn curves(frame: &mut Frame<'_>, area: Rect, run: &LiveRun, looks: Looks) {
    let halves: [Rect; 2] =
        Layout::horizontal([Constraint::Fill(1), Constraint::Fill(1)]).spacing(2).areas(area);
    let last = |values: Vec<u64>, room: u16| {
        let from = values.len().saturating_sub(usize::from(room));
        values[from..].to_vec()
    };
    let rates: Vec<u64> = run.points.iter().map(|point| point.iops.max(0.0) as u64).collect();
    let times: Vec<u64> = run.points.iter().map(|point| point.p99_ns.unwrap_or(0)).collect();
    let most = |values: &[u64]| values.iter().copied().max().unwrap_or(0) as f64;
    let (rates, times) = (last(rates, halves[0].width), last(times, halves[1].width));
    let rate_head = format!("IOPS, up to {}", format::iops(most(&rates)));
    let time_head = format!("p99, up to {}", plain(&format::time_ns(most(&times)), looks));
    curve(frame, halves[0], (&rate_head, rates), looks.of(Color::Cyan), looks);
    curve(frame, halves[1], (&time_head, times), looks.of(Color::Magenta), looks);
}

fn curve(frame: &mut Frame<'_>, area: Rect, (head, values): (&str, Vec<u64>), look: Look, looks: Looks) {
    let [top, body] = Layout::vertical([Constraint::Length(1), Constraint::Min(1)]).areas(area);
    frame.render_widget(Paragraph::new(Line::styled(head.to_owned(), looks.dim())), top);
    let bars = if looks.unicode { bar::NINE_LEVELS } else { ASCII_BARS };
    frame.render_widget(Sparkline::default().data(values).bar_set(bars).style(look), body);
}

/// The workers: those that are lost first, then the slowest.
fn worker_lines(run: &LiveRun, room: usize, looks: Looks) -> Vec<Line<'static>> {
    let mut hosts: Vec<_> = run.hosts.values().collect();
    hosts.sort_by(|a, b| {
        let rate = |iops: Option<f64>| iops.unwrap_or(f64::MAX);
        b.lost.is_some().cmp(&a.lost.is_some()).then(rate(a.iops).total_cmp(&rate(b.iops)))
    });
    let lost = hosts.iter().filter(|host| host.lost.is_some()).count();
    let mut lines = vec![Line::from(vec![
        Span::styled(format!("{} workers", hosts.len()), looks.head()),
        Span::styled(
            if lost > 0 { format!(", {lost} lost") } else { ", the slowest first".to_owned() },
            looks.dim(),
        ),
    ])];
    let shown = if hosts.len() > room.saturating_sub(1) { room.saturating_sub(2) } else { hosts.len() };
    for host in hosts.iter().take(shown) {
        let name = format!("{:<24}", text(&host.name, looks));
        lines.push(match &host.lost {
            Some(why) => Line::from(vec![
                Span::raw(name),
                Span::styled(format!("lost: {}", text(why, looks)), looks.warn()),
            ]),
            None => {
                let rate = host.iops.map_or_else(|| looks.dash().to_owned(), format::iops);
                let p99 = host
                    .p99_ns
                    .map_or_else(|| looks.dash().to_owned(), |ns| plain(&format::time_ns(ns as f64), looks));
                Line::from(format!("{name}{rate:>12} IOPS  p99 {p99}"))
            }
        });
    }
    if shown < hosts.len() {
        lines.push(Line::styled(format!("and {} more", hosts.len() - shown), looks.dim()));
    }
    lines
}

/// Findings, then what the run says.
fn words(run: &LiveRun, looks: Looks) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    if run.findings.is_empty() {
        lines.push(Line::styled("No findings in the phases that have ended", looks.dim()));
    } else {
        lines.push(Line::styled(format!("Findings: {}", run.findings.len()), looks.head()));
    }
    for finding in &run.findings {
        let look =
            if finding.severity == FindingSeverity::Invalid { looks.warn() } else { looks.of(Color::Yellow) };
        lines.push(Line::from(vec![
            Span::styled(format!("{}  ", finding.id), look),
            Span::raw(text(&finding.message, looks)),
            Span::styled(format!("  ({})", text(&finding.phase, looks)), looks.dim()),
        ]));
    }
    lines.extend(run.notes.iter().rev().map(|note| Line::styled(text(note, looks), looks.dim())));
    lines
}

/// Where there is hardly any room: where it stands, how fast, and what hangs.
fn small(frame: &mut Frame<'_>, run: &LiveRun, now: Duration, looks: Looks) {
    let (number, of) = run.number;
    let mut lines = vec![Line::from(match run.progress(now) {
        Some((done, left)) => {
            format!("{number}/{of}  {:.0} %  {} left", (done * 100.0).floor(), format::seconds(left.ceil()))
        }
        None => text(&run.name, looks),
    })];
    if let Some(io) = &run.hung {
        lines.push(Line::styled(text(&format!("hangs: {io}"), looks), looks.warn()));
    }
    if let Some(point) = run.newest() {
        let p99 = point
            .p99_ns
            .map_or(String::new(), |ns| format!("  p99 {}", plain(&format::time_ns(ns as f64), looks)));
        lines.push(Line::from(format!("{} IOPS{p99}", format::iops(point.iops))));
    }
    lines.push(Line::from(text(&run.phase, looks)));
    frame.render_widget(Paragraph::new(lines), frame.area());
}
