//! The history of runs.

use assay_report::format;
use maud::{Markup, html};

use super::layout::{Place, address, moment, page, secret, verdict};
use crate::app::{App, Coverage};
use crate::index::{Sought, Stored};
use crate::upload::{FILE_BYTES_MAX, FILE_FIELD};

/// Runs on a page.
pub(crate) const PAGE_RUNS: usize = 50;

/// What the page shows.
pub(crate) struct HistoryPage {
    pub(crate) sought: Sought,
    /// From 0.
    pub(crate) number: usize,
    pub(crate) found: usize,
    pub(crate) runs: Vec<Stored>,
    pub(crate) tags: Vec<(String, u64)>,
    pub(crate) plans: Vec<(String, u64)>,
    pub(crate) coverage: Coverage,
    /// Ids of runs that are being recorded.
    pub(crate) going: Vec<String>,
}

/// The page.
pub(crate) fn history(app: &App, shown: &HistoryPage) -> String {
    let body = html! {
        h1 { "Stored runs" }
        (search(shown))
        @if shown.coverage.all > 0 {
            p role="status" .remark {
                "The index is being made: " (format::count(shown.coverage.done as u64)) " of "
                (format::count(shown.coverage.all as u64)) " runs so far. Load the page again to see more."
            }
        }
        @if let Some(why) = &shown.coverage.problem { p role="alert" .remark { (why) } }
        (summary(shown, !app.read_only))
        @if !shown.runs.is_empty() {
            form #compare method="get" action="/compare" {
                p .bar {
                    button .main type="submit" { "Compare ticked runs" }
                    @if !app.read_only { button type="submit" formaction="/tags" { "Tag ticked runs" } }
                    span .dim #ticked { "Tick two to ten; the oldest is what the others are compared with." }
                }
                (table(shown))
            }
            (pages(shown))
        }
    };
    page(app, Place::History, "Stored runs", &body)
}

fn search(shown: &HistoryPage) -> Markup {
    let sought = &shown.sought;
    let options =
        |name: &str, label: &str, all: &str, chosen: &Option<String>, values: Vec<(String, String)>| {
            html! {
                div {
                    label for=(name) { (label) }
                    select id=(name) name=(name) {
                        option value="" { (all) }
                        @for (value, words) in &values {
                            option value=(value) selected[chosen.as_deref() == Some(value)] { (words) }
                        }
                    }
                }
            }
        };
    let counted = |all: &[(String, u64)]| {
        all.iter().map(|(name, n)| (name.clone(), format!("{name} ({n})"))).collect::<Vec<_>>()
    };
    let verdicts =
        ["valid", "suspect", "invalid", "incomplete"].map(|word| (word.to_owned(), word.to_owned()));
    html! {
        form .search method="get" action="/" role="search" {
            div .wide {
                label for="q" { "Search" }
                input #q type="search" name="q" value=(sought.words) placeholder="id, plan, host, target, tag";
            }
            (options("plan", "Plan", "all plans", &sought.plan, counted(&shown.plans)))
            (options("tag", "Tag", "all tags", &sought.tag, counted(&shown.tags)))
            (options("verdict", "Verdict", "all", &sought.verdict, verdicts.to_vec()))
            button type="submit" { "Show" }
        }
    }
}

fn summary(shown: &HistoryPage, changes: bool) -> Markup {
    let narrowed = shown.sought != Sought::default();
    let from = shown.number * PAGE_RUNS;
    html! {
        p .dim role="status" {
            @if shown.found == 0 && narrowed { "No run matches. " a href="/" { "Show all" } }
            @else if shown.found == 0 { "No runs yet: 'assay quick DIR' makes one, and so does 'Start a run' above." }
            @else {
                (format::count(shown.found as u64)) @if shown.found == 1 { " run" } @else { " runs" }
                @if shown.found > PAGE_RUNS {
                    ", shown: " (from + 1) " to " (from + shown.runs.len())
                }
                @if narrowed { " · " a href="/" { "Show all" } }
            }
            @if changes { " · " a href="/import" { "Import a run" } }
        }
    }
}

fn table(shown: &HistoryPage) -> Markup {
    html! {
        div .scroll tabindex="0" role="region" aria-label="Runs" {
            table .runs {
                thead { tr {
                    th scope="col" { span .unseen { "Compare" } }
                    th scope="col" { "Started (UTC)" }
                    th scope="col" { "Run" }
                    th scope="col" { "Verdict" }
                    th scope="col" { "Where" }
                    th .n scope="col" { "Took" }
                    th scope="col" { "Tags" }
                } }
                tbody { @for one in &shown.runs { (row(one, shown)) } }
            }
        }
    }
}

fn row(one: &Stored, shown: &HistoryPage) -> Markup {
    let named = if one.name.is_empty() { "no name" } else { &one.name };
    let done = one.state == "done";
    let going = shown.going.contains(&one.id);
    html! {
        tr {
            td { @if done {
                input type="checkbox" name="run" value=(one.id) aria-label={ "Compare " (named) " " (one.id) };
            } }
            td data-h="Started" { (moment(&one.started)) }
            th scope="row" {
                a href={ "/runs/" (one.id) } { (named) " " span .id { (one.id) } }
                @if done { " " a .small href=(address("/trend", &[("plan", &one.name), ("host", &one.host), ("target", &one.target)]))
                    aria-label={ "Trend of " (named) } { "trend" } }
            }
            td data-h="Verdict" {
                @if going { span .mark .info { "going" } }
                @else if done { (verdict(&one.verdict)) }
                @else { span .mark .incomplete title=(one.state) { @if one.state == "unfinished" { "unfinished" } @else { "unreadable" } } }
            }
            td data-h="Where" { (one.host) @if !one.target.is_empty() { span .path { (one.target) } } }
            td .n data-h="Took" { (one.elapsed_s.map_or(String::new(), format::seconds)) }
            td data-h="Tags" { @for tag in &one.tags { a .tag href=(address("/", &[("tag", tag)])) { (tag) } " " } }
        }
    }
}

fn pages(shown: &HistoryPage) -> Markup {
    let last = shown.found.saturating_sub(1) / PAGE_RUNS;
    let to = |number: usize| {
        let sought = &shown.sought;
        let text = |word: &Option<String>| word.clone().unwrap_or_default();
        let number = if number == 0 { String::new() } else { number.to_string() };
        let pairs = [
            ("q", sought.words.clone()),
            ("plan", text(&sought.plan)),
            ("tag", text(&sought.tag)),
            ("verdict", text(&sought.verdict)),
            ("page", number),
        ];
        let pairs: Vec<(&str, &str)> = pairs.iter().map(|(name, value)| (*name, value.as_str())).collect();
        address("/", &pairs)
    };
    html! {
        @if last > 0 {
            nav .pages aria-label="Pages of the history" {
                @if shown.number > 0 { a href=(to(shown.number - 1)) rel="prev" { "Newer" } }
                span { "Page " (shown.number + 1) " of " (last + 1) }
                @if shown.number < last { a href=(to(shown.number + 1)) rel="next" { "Older" } }
            }
        }
    }
}

/// A file as a stored run.
pub(crate) fn import(app: &App, refused: Option<&str>) -> String {
    let body = html! {
        h1 { "Import a run" }
        @if let Some(why) = refused { p role="alert" .remark { (why) } }
        form .fields method="post" action="/import" enctype="multipart/form-data" {
            (secret(app))
            label for="file" { "File, " (FILE_BYTES_MAX >> 20) " MiB at most" }
            input #file type="file" name=(FILE_FIELD) required;
            button .main type="submit" { "Import" }
        }
        p { "A run that 'assay runs export' wrote or that was downloaded here, a result of fio ("
            code { "--output-format=json+" } "), or the " code { "flatfile.html" } " of vdbench. The same file is the same run: a second time nothing is stored." }
        p { a href="/" { "Back to the history" } }
    };
    page(app, Place::History, "Import a run", &body)
}

/// One tag for several runs.
pub(crate) fn tagging(app: &App, runs: &[Stored], known: &[(String, u64)]) -> String {
    let body = html! {
        h1 { "Tag " (format::plural(runs.len() as u64, "run")) }
        form method="post" action="/tags" {
            (secret(app))
            ul { @for one in runs {
                li {
                    input type="hidden" name="run" value=(one.id);
                    (one.name) " " span .id { (one.id) } ", " (moment(&one.started))
                    @for tag in &one.tags { " " span .tag { (tag) } }
                }
            } }
            div .fields {
                label for="tag" { "Tag" }
                input #tag name="tag" maxlength="40" list="known" required;
                datalist #known { @for (tag, _) in known { option value=(tag) {} } }
                button .main type="submit" name="do" value="add" { "Add" }
                button type="submit" name="do" value="remove" { "Remove" }
            }
        }
        p { a href="/" { "Back to the history" } }
    };
    page(app, Place::History, "Tag runs", &body)
}
