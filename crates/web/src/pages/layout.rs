//! What all pages share: head, navigation, errors.

use axum::http::StatusCode;
use axum::response::Html;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use assay_report::text::visible_lines;

use crate::app::App;
use crate::form::SECRET_FIELD;

/// Rules beside those of reports.
pub(crate) const STYLE: &str = include_str!("../../assets/serve.css");
/// What makes pages better where scripts run.
pub(crate) const SCRIPT: &str = include_str!("../../assets/serve.js");

/// What a page is about, for the navigation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    History,
    Trend,
    Baselines,
    Start,
    Live,
    Elsewhere,
}

/// A whole page.
pub(crate) fn page(app: &App, place: Place, title: &str, body: &Markup) -> String {
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head { (head()) title { (title) " – Assay" } link rel="stylesheet" href="/assets/report.css"; }
            body {
                (navigation(app, place))
                main #main { (body) }
                // Drawings that stay as they are can be zoomed, as in reports.
                @if place == Place::Trend { @for script in assay_report::html::scripts() { script { (PreEscaped(script)) } } }
            }
        }
    };
    visible_lines(&markup.into_string(), false).replace('\t', " ")
}

/// What every page has in its head, those of reports too.
pub(crate) fn head() -> Markup {
    html! {
        meta charset="utf-8";
        meta name="viewport" content="width=device-width, initial-scale=1";
        meta name="color-scheme" content="light dark";
        link rel="stylesheet" href="/assets/serve.css";
        script defer src="/assets/serve.js" {}
    }
}

/// The way to the other pages.
pub(crate) fn navigation(app: &App, place: Place) -> Markup {
    let busy = app.now.is_busy();
    let link = |to: &str, of: Place, name: &str| {
        html! { a href=(to) aria-current=[(place == of).then_some("page")] { (name) } }
    };
    html! {
        nav .site aria-label="Pages" {
            a .skip href="#main" { "To the content" }
            span .brand { "Assay" }
            (link("/", Place::History, "History"))
            (link("/trend", Place::Trend, "Trends"))
            (link("/baselines", Place::Baselines, "Baselines"))
            @if !app.read_only { (link("/start", Place::Start, "Start a run")) }
            (link("/live", Place::Live, if busy { "Live: a run is going" } else { "Live" }))
            @if app.read_only { span .dim { "read only" } }
        }
    }
}

/// The secret in each form.
pub(crate) fn secret(app: &App) -> Markup {
    html! { input type="hidden" name=(SECRET_FIELD) value=(app.secrets.form()); }
}

/// A page that says what is wrong.
pub(crate) fn error(app: &App, status: StatusCode, why: &str) -> (StatusCode, Html<String>) {
    let title = status.canonical_reason().unwrap_or("Error");
    let body = html! {
        h1 { (title) }
        p role="alert" { (why) }
        p { a href="/" { "Back to the history" } }
    };
    (status, Html(page(app, Place::Elsewhere, title, &body)))
}

/// Asks for the token.
pub(crate) fn login(app: &App, wrong: bool) -> String {
    let body = html! {
        h1 { "Token needed" }
        p { "'assay serve' printed it when it was started, in a link that lets in." }
        @if app.look_without_token { p { "Starting, stopping and changing runs needs it. " a href="/" { "Looking" } " does not." } }
        @if wrong { p role="alert" .remark { "That is not the token." } }
        form .fields method="post" action="/login" {
            (secret(app))
            label for="token" { "Token" }
            input #token type="password" name="token" autocomplete="off" required;
            button .main type="submit" { "Enter" }
        }
    };
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head { (head()) title { "Token needed – Assay" } link rel="stylesheet" href="/assets/report.css"; }
            body { main #main { (body) } }
        }
    };
    markup.into_string()
}

/// A page of `report` with our navigation in front of it, and `more` behind that.
pub(crate) fn framed(app: &App, report: &str, more: &Markup) -> String {
    let links = html! {
        link rel="stylesheet" href="/assets/serve.css";
        script defer src="/assets/serve.js" {}
    };
    let front = html! { (navigation(app, Place::Elsewhere)) (more) };
    // Text of a page is escaped: these tags are the page's own.
    let page = report.replacen("</head>", &format!("{}</head>", links.into_string()), 1);
    let page = page.replacen("<main>", "<main id=\"main\">", 1);
    page.replacen("<body>", &format!("<body>{}", visible_lines(&front.into_string(), false)), 1)
}

/// The style sheet of reports, for pages of ours.
pub(crate) fn report_style() -> &'static str {
    assay_report::html::STYLE
}

/// A moment, short: `2026-11-24 16:59`.
pub(crate) fn moment(started: &str) -> String {
    let whole: String = started.chars().take(16).collect();
    whole.replace('T', " ")
}

/// A verdict as a mark.
pub(crate) fn verdict(word: &str) -> Markup {
    let class = match word {
        "valid" | "suspect" | "invalid" | "incomplete" => word,
        _ => "info",
    };
    html! { span .mark .(class) { (if word.is_empty() { "no result" } else { word }) } }
}

/// What a query or a form says, for another address.
pub(crate) fn address(path: &str, pairs: &[(&str, &str)]) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    pairs.iter().filter(|(_, value)| !value.is_empty()).for_each(|(name, value)| {
        query.append_pair(name, value);
    });
    let query = query.finish();
    if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") }
}
