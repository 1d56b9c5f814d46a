//! A stored run: the report, and what can be done with it; and comparisons.

use assay_report::quick::Reference;
use assay_results::Run;
use assay_results::compare::Comparison;
use assay_results::store::what_remains;
use maud::{Markup, html};

use super::layout::{address, framed, secret};
use crate::app::App;
use crate::index::Stored;

/// What the page shows.
pub(crate) struct RunPage<'a> {
    pub(crate) stored: &'a Stored,
    pub(crate) run: &'a Run,
    pub(crate) references: &'a [Reference],
    /// Tags that other runs have.
    pub(crate) known: &'a [(String, u64)],
}

/// The page.
pub(crate) fn run_page(app: &App, shown: &RunPage<'_>) -> String {
    let report = assay_report::html::page(shown.run, shown.references);
    framed(app, &report, &actions(app, shown))
}

fn actions(app: &App, shown: &RunPage<'_>) -> Markup {
    let stored = shown.stored;
    let at = |what: &str| format!("/runs/{}/{what}", stored.id);
    let remains = format!("it still tells {}", what_remains(shown.run));
    let trend =
        [("plan", stored.name.as_str()), ("host", stored.host.as_str()), ("target", stored.target.as_str())];
    html! {
        aside .actions aria-label="This run" {
            @if shown.run.going { p role="status" .remark { "This run is being recorded: what there is of it so far." } }
            ul .links {
                @if stored.state == "done" { li { a href=(address("/trend", &trend)) { "Trend" } } }
                li { a href=(at("bundle")) download { "Download" } " " a .small href=(at("bundle?without_host=1")) download title=(remains) { "without names of the machine" } }
                li { a href=(at("run.json")) download { "JSON" } }
                @if !app.read_only && stored.state == "done" {
                    li { a href=(address("/start", &[("run", &stored.id)])) { "Run this plan again" } }
                }
            }
            div .tags {
                span .dim { "Tags:" }
                @if stored.tags.is_empty() { span .dim { "none" } }
                @for tag in &stored.tags {
                    a .tag href=(address("/", &[("tag", tag)])) { (tag) }
                    @if !app.read_only {
                        form method="post" action="/tags" {
                            (secret(app))
                            input type="hidden" name="run" value=(stored.id);
                            input type="hidden" name="tag" value=(tag);
                            input type="hidden" name="back" value="run";
                            button .tiny type="submit" name="do" value="remove" aria-label={ "Remove tag " (tag) } { "×" }
                        }
                    }
                }
                @if !app.read_only {
                    form method="post" action="/tags" {
                        (secret(app))
                        input type="hidden" name="run" value=(stored.id);
                        input type="hidden" name="back" value="run";
                        label .unseen for="newtag" { "New tag" }
                        input #newtag name="tag" maxlength="40" size="12" list="known" placeholder="new tag" required;
                        datalist #known { @for (tag, _) in shown.known { option value=(tag) {} } }
                        button .tiny type="submit" name="do" value="add" { "Add" }
                    }
                }
            }
            @if !app.read_only && app.places.baselines.is_some() && stored.state == "done" {
                details {
                    summary { "Save as baseline" }
                    form .fields method="post" action="/baselines" {
                        (secret(app))
                        input type="hidden" name="run" value=(stored.id);
                        label for="baseline" { "Name" }
                        input #baseline name="name" maxlength="64" pattern="[A-Za-z0-9][A-Za-z0-9._\\-]*" required;
                        button type="submit" { "Save" }
                    }
                }
            }
        }
    }
}

/// A comparison.
pub(crate) fn compared(app: &App, found: &Comparison) -> String {
    framed(app, &assay_report::html::comparison(found), &html! {})
}
