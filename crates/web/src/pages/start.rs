//! Starting a run: what is wanted, then what it would do, and the consent.

use assay_report::format;
use maud::html;

use super::layout::{Place, page, secret};
use crate::app::App;
use crate::form::REVIEW_FIELD;
use crate::station::{Proposal, SeriesOffer, Wanted};

/// The first step: a series and a directory; or the plan of a stored run, which leads to the second at once.
pub(crate) fn start(
    app: &App,
    offers: &[SeriesOffer],
    entered: (&str, &str, &str),
    refused: Option<&str>,
) -> String {
    let (directory, series, test) = entered;
    let busy = app.now.is_busy();
    let body = html! {
        h1 { "Start a quick series" }
        @if busy { p role="status" .remark { "A run is going: " a href="/live" { "look at it" } ". Another can be started when it has ended." } }
        @if let Some(why) = refused { p role="alert" .remark { (why) } }
        form .fields method="post" action="/start/review" {
            (secret(app))
            label for="directory" { "Directory to measure in" }
            input #directory name="directory" value=(directory) placeholder="/mnt/data" maxlength="4096" required;
            label for="series" { "Series" }
            select #series name="series" {
                @for offer in offers { option value=(offer.id) selected[offer.id == series] { (offer.id) ": " (offer.summary) } }
            }
            label for="test" { "Tests" }
            select #test name="test" {
                option value="" { "all tests of the series" }
                @for offer in offers {
                    optgroup label=(offer.id) { @for name in &offer.tests { option value=(name) selected[name == test] { (name) } } }
                }
            }
            button .main type="submit" { "Review what it would do" }
        }
        p .dim { "Nothing is written before the next page has been confirmed. The plan of a stored run is started from the page of that run." }
    };
    page(app, Place::Start, "Start a run", &body)
}

/// The second step: what would be done, and the button that does it.
pub(crate) fn review(app: &App, wanted: &Wanted, proposal: &Proposal, refused: Option<&str>) -> String {
    let word = app.reviews.show(&app.secrets, wanted, proposal);
    let overwritten: Vec<_> = proposal.targets.iter().filter(|target| target.overwrites.is_some()).collect();
    let body = html! {
        h1 { "Start " (proposal.title) "?" }
        @if let Some(why) = refused { p role="alert" .remark { (why) } }
        p .answer {
            @match &proposal.writes {
                Some(writes) => { strong { (capital(writes)) } ". " }
                None => { "Nothing is written. " }
            }
            @if let Some(seconds) = proposal.expected_s { "It takes about " (format::seconds(seconds)) "." }
        }
        h2 { "Where" }
        ul { @for target in &proposal.targets { li { code { (target.path) } ": " (target.what) } } }
        form .fields method="post" action="/start" {
            (secret(app))
            input type="hidden" name=(REVIEW_FIELD) value=(word);
            @if !overwritten.is_empty() {
                fieldset .danger {
                    legend { "Data will be destroyed" }
                    @for (index, target) in overwritten.iter().enumerate() {
                        p { (target.overwrites.as_deref().unwrap_or_default()) }
                        label for={ "overwrite-" (index) } { "Type " code { (target.path) } " to overwrite it" }
                        input id={ "overwrite-" (index) } name="overwrite" autocomplete="off" required;
                    }
                }
            }
            button .main type="submit" { "Start" }
            a href="/start" { "Back" }
        }
        details { summary { "The plan" } pre tabindex="0" { (proposal.plan) } }
    };
    page(app, Place::Start, "Start a run", &body)
}

fn capital(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().collect::<String>() + letters.as_str())
}
