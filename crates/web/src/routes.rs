//! Which address is answered by what.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use assay_results::compare::{self, CompareOptions, Side};
use assay_results::store::{self, StoreError};
use assay_results::{Run, baseline};
use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Path, Query, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Response, Sse, sse};
use axum::routing::{get, post};
use futures_util::{Stream, StreamExt as _, stream};

use crate::app::App;
use crate::form::{Form, REVIEW_FIELD};
use crate::guard::{self, redirect, welcome};
use crate::index::{IndexError, Setting, Sought, Stored};
use crate::pages::{self, HistoryPage, RunPage};
use crate::station::{Proposal, StationError, Wanted, WantedPlan};
use crate::{metrics, trend, upload};

/// Runs that are compared at once.
const COMPARED_MAX: usize = 10;
/// Earlier runs that show what runs differ by.
const EARLIER_MAX: usize = 40;
/// Runs that are tagged at once.
const TAGGED_MAX: usize = 100;
/// A line of nothing keeps a stream of events open.
const KEEP_ALIVE: Duration = Duration::from_secs(10);
/// Changes of the live page are sent so often at most.
const LIVE_EVERY: Duration = Duration::from_millis(250);

/// All addresses.
pub(crate) fn router(app: Arc<App>) -> Router {
    let guarded = axum::middleware::from_fn_with_state(Arc::clone(&app), guard::guard);
    Router::new()
        .route("/", get(history))
        .route("/runs/{id}", get(run))
        .route("/runs/{id}/bundle", get(bundle))
        .route("/runs/{id}/run.json", get(run_json))
        .route("/compare", get(compared))
        .route("/tags", get(tagging).post(tag))
        .route("/trend", get(trend_of))
        .route("/baselines", get(baselines).post(save_baseline))
        .route("/import", get(importing).post(import).layer(DefaultBodyLimit::max(upload::UPLOAD_BYTES_MAX)))
        .route("/start", get(start).post(begin))
        .route("/start/review", post(review))
        .route("/live", get(live))
        .route("/live/events", get(live_events))
        .route("/live/stop", post(stop))
        .route("/metrics", get(openmetrics))
        .route("/login", get(login).post(enter))
        .route("/assets/report.css", get(async || asset("text/css; charset=utf-8", pages::report_style())))
        .route("/assets/serve.css", get(async || asset("text/css; charset=utf-8", pages::STYLE)))
        .route("/assets/serve.js", get(async || asset("text/javascript; charset=utf-8", pages::SCRIPT)))
        .route("/favicon.ico", get(async || StatusCode::NO_CONTENT))
        .fallback(nowhere)
        .layer(guarded)
        .with_state(app)
}

/// Why a request has no other answer.
struct Refusal(StatusCode, String);

impl Refusal {
    fn not_found(id: &str) -> Self {
        let shown: String = id.chars().take(64).collect();
        Refusal(StatusCode::NOT_FOUND, format!("there is no run '{shown}'"))
    }

    fn bad(why: impl ToString) -> Self {
        Refusal(StatusCode::BAD_REQUEST, why.to_string())
    }
}

impl From<(StatusCode, String)> for Refusal {
    fn from((status, why): (StatusCode, String)) -> Self {
        Refusal(status, why)
    }
}

impl From<IndexError> for Refusal {
    fn from(error: IndexError) -> Self {
        Refusal(StatusCode::INTERNAL_SERVER_ERROR, error.to_string())
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Tag(why) => Refusal::bad(why),
            error => Refusal(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
        }
    }
}

impl From<StationError> for Refusal {
    fn from(error: StationError) -> Self {
        let status = match error {
            StationError::Refused(_) => StatusCode::BAD_REQUEST,
            StationError::Failed(_) | StationError::Stopped => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Refusal(status, error.to_string())
    }
}

/// Work that may block goes on a thread for such; what it refuses is a page.
async fn answer<T: IntoResponse + Send + 'static>(
    app: Arc<App>,
    work: impl FnOnce(&Arc<App>) -> Result<T, Refusal> + Send + 'static,
) -> Response {
    let own = Arc::clone(&app);
    let done = tokio::task::spawn_blocking(move || work(&own)).await;
    match done {
        Ok(Ok(answer)) => answer.into_response(),
        Ok(Err(Refusal(status, why))) => pages::error(&app, status, &why).into_response(),
        Err(_) => {
            let why = "an error of the program; please report it";
            pages::error(&app, StatusCode::INTERNAL_SERVER_ERROR, why).into_response()
        }
    }
}

type Pairs = Query<Vec<(String, String)>>;

/// The first value of a name in a query; empty where there is none.
fn first<'a>(pairs: &'a [(String, String)], name: &str) -> &'a str {
    pairs.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
}

fn some(word: &str) -> Option<String> {
    (!word.is_empty()).then(|| word.to_owned())
}

fn asset(kind: &'static str, text: &'static str) -> Response {
    let headers = [(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "no-cache")];
    (headers, text).into_response()
}

async fn nowhere(State(app): State<Arc<App>>) -> Response {
    pages::error(&app, StatusCode::NOT_FOUND, "there is no such page").into_response()
}

async fn history(State(app): State<Arc<App>>, Query(pairs): Pairs) -> Response {
    answer(app, move |app| {
        let coverage = app.refresh();
        let sought = Sought {
            words: first(&pairs, "q").chars().take(200).collect(),
            tag: some(first(&pairs, "tag")),
            verdict: some(first(&pairs, "verdict")),
            plan: some(first(&pairs, "plan")),
        };
        let number: usize = first(&pairs, "page").parse().unwrap_or(0).min(1_000_000);
        let from = number * pages::PAGE_RUNS;
        let (found, runs) = app.index(|index| index.find(&sought, from, pages::PAGE_RUNS))?;
        let (tags, plans) = app.index(|index| Ok((index.tags()?, index.plans()?)))?;
        let unfinished = runs.iter().filter(|run| run.state == "unfinished");
        let going = unfinished
            .filter(|run| {
                app.directory(run).is_ok_and(|one| matches!(one.lock(), Err(StoreError::Running(_))))
            })
            .map(|run| run.id.clone())
            .collect();
        let shown = HistoryPage { sought, number, found, runs, tags, plans, coverage, going };
        Ok(Html(pages::history(app, &shown)))
    })
    .await
}

/// The stored run with an id.
fn known(app: &Arc<App>, id: &str) -> Result<Stored, Refusal> {
    app.stored(id)?.ok_or_else(|| Refusal::not_found(id))
}

async fn run(State(app): State<Arc<App>>, Path(id): Path<String>) -> Response {
    answer(app, move |app| {
        let stored = known(app, &id)?;
        let run = app.load(&stored)?;
        let references = app.station.references(&run);
        let tags = app.index(|index| index.tags())?;
        let shown = RunPage { stored: &stored, run: &run, references: &references, known: &tags };
        Ok(Html(pages::run_page(app, &shown)))
    })
    .await
}

/// A file to be kept; its name is made of an id, which has no characters that matter in a header.
fn download(name: &str, kind: &'static str, content: impl Into<Body>) -> Response {
    let disposition = HeaderValue::from_str(&format!("attachment; filename=\"{name}\""));
    let disposition = disposition.unwrap_or(HeaderValue::from_static("attachment"));
    let kind = HeaderValue::from_static(kind);
    ([(header::CONTENT_TYPE, kind), (header::CONTENT_DISPOSITION, disposition)], content.into())
        .into_response()
}

async fn bundle(State(app): State<Arc<App>>, Path(id): Path<String>, Query(pairs): Pairs) -> Response {
    answer(app, move |app| {
        let stored = known(app, &id)?;
        let without_host = first(&pairs, "without_host") == "1";
        let bytes = app.station.bundle(&stored.dir, without_host)?;
        Ok(download(&format!("assay-run-{}.tar", stored.id), "application/x-tar", bytes))
    })
    .await
}

async fn run_json(State(app): State<Arc<App>>, Path(id): Path<String>) -> Response {
    answer(app, move |app| {
        let stored = known(app, &id)?;
        let run = app.load(&stored)?;
        let text = serde_json::to_string_pretty(&run).map_err(Refusal::bad)?;
        Ok(download(&format!("assay-run-{}.json", stored.id), "application/json", text))
    })
    .await
}

async fn compared(State(app): State<Arc<App>>, Query(pairs): Pairs) -> Response {
    answer(app, move |app| {
        let mut ids: Vec<&str> =
            pairs.iter().filter(|(name, _)| name == "run").map(|(_, id)| id.as_str()).collect();
        ids.dedup();
        if !(2..=COMPARED_MAX).contains(&ids.len()) {
            let why = format!("tick 2 to {COMPARED_MAX} runs in the history; {} were", ids.len());
            return Err(Refusal::bad(why));
        }
        let mut stored = ids.iter().map(|id| known(app, id)).collect::<Result<Vec<_>, _>>()?;
        // The oldest is what the others are compared with.
        stored.sort_by(|a, b| a.started.cmp(&b.started));
        let runs = stored.iter().map(|one| app.load(one)).collect::<Result<Vec<Run>, _>>()?;
        let names: Vec<String> = stored.iter().map(|one| format!("{} {}", one.name, one.id)).collect();
        let mut sides: Vec<Side<'_>> =
            names.iter().zip(&runs).map(|(name, run)| Side::new(name, vec![run])).collect();
        let options = CompareOptions::default();
        let earlier = match compare::wants_history(&sides, &options.margins) {
            true => earlier(app, &runs)?,
            false => Vec::new(),
        };
        for side in &mut sides {
            side.history = earlier.iter().filter(|run| compare::alike(side.runs[0], run)).collect();
        }
        let found = compare::compare(&sides, &options).map_err(Refusal::bad)?;
        Ok(Html(pages::compared(app, &found)))
    })
    .await
}

/// The newest finished runs of the same plans; what cannot be read is left out.
fn earlier(app: &Arc<App>, runs: &[Run]) -> Result<Vec<Run>, Refusal> {
    let mut names: Vec<&str> = runs.iter().map(|run| run.plan.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let mut found = Vec::new();
    for name in names {
        let sought = Sought { plan: Some(name.to_owned()), ..Sought::default() };
        let (_, stored) = app.index(|index| index.find(&sought, 0, EARLIER_MAX))?;
        found.extend(stored.iter().filter_map(|one| app.directory(one).ok()?.read_run().ok()));
    }
    found.sort_by(|a: &Run, b: &Run| b.started.cmp(&a.started));
    found.truncate(EARLIER_MAX);
    Ok(found)
}

async fn tagging(State(app): State<Arc<App>>, Query(pairs): Pairs) -> Response {
    answer(app, move |app| {
        let ids = pairs.iter().filter(|(name, _)| name == "run").take(TAGGED_MAX);
        let runs = ids.map(|(_, id)| known(app, id)).collect::<Result<Vec<_>, _>>()?;
        if runs.is_empty() {
            return Err(Refusal::bad("tick runs in the history first"));
        }
        let tags = app.index(|index| index.tags())?;
        Ok(Html(pages::tagging(app, &runs, &tags)))
    })
    .await
}

async fn tag(State(app): State<Arc<App>>, request: Request) -> Response {
    let form = match Form::read(request, &app).await {
        Ok(form) => form,
        Err((status, why)) => return pages::error(&app, status, &why).into_response(),
    };
    answer(app, move |app| {
        let tag = store::tag_of(form.first("tag")).map_err(Refusal::bad)?;
        let remove = form.first("do") != "add";
        let mut last = String::new();
        for id in form.all("run").take(TAGGED_MAX) {
            let stored = known(app, id)?;
            let directory = app.directory(&stored)?;
            let tags = store::change_tags(&directory, std::slice::from_ref(&tag), remove)?;
            app.index(|index| index.set_tags(&stored.dir, &tags))?;
            last.clone_from(&stored.id);
        }
        app.is_stale();
        let back = form.first("back") == "run" && !last.is_empty();
        Ok(redirect(&if back { format!("/runs/{last}") } else { pages::address("/", &[("tag", &tag)]) }))
    })
    .await
}

async fn trend_of(State(app): State<Arc<App>>, Query(pairs): Pairs) -> Response {
    answer(app, move |app| {
        app.refresh();
        let plans = app.index(|index| index.plans())?;
        let plan = some(first(&pairs, "plan")).or_else(|| plans.first().map(|(name, _)| name.clone()));
        let settings: Vec<Setting> = match &plan {
            Some(plan) => app.index(|index| index.settings_of(plan))?,
            None => Vec::new(),
        };
        let wanted =
            |one: &&Setting| one.host == first(&pairs, "host") && one.target == first(&pairs, "target");
        let setting = settings.iter().find(wanted).or(settings.first());
        let Some((plan, setting)) = plan.as_deref().zip(setting) else {
            return Ok(Html(pages::trend(app, &plans, None, (&[], &[]))));
        };
        let (trends, newest) = app.index(|index| {
            let sought = Sought { plan: Some(plan.to_owned()), ..Sought::default() };
            Ok((trend::trends(index, plan, setting)?, index.find(&sought, 0, 1)?.1))
        })?;
        let series = newest.first().map(|one| one.series.clone()).filter(|series| !series.is_empty());
        let of_series = all_baselines(app).into_iter().filter(|one| series.is_some() && one.series == series);
        let of_series: Vec<_> = of_series.collect();
        Ok(Html(pages::trend(app, &plans, Some((plan, &settings, setting)), (&trends, &of_series))))
    })
    .await
}

/// The baselines there are; without a directory the built-in ones.
fn all_baselines(app: &App) -> Vec<baseline::Baseline> {
    let saved = app.places.baselines.as_deref().and_then(|directory| baseline::list(directory).ok());
    saved.unwrap_or_else(baseline::builtins)
}

async fn baselines(State(app): State<Arc<App>>) -> Response {
    answer(app, |app| Ok(Html(pages::baselines(app, &all_baselines(app), None)))).await
}

async fn save_baseline(State(app): State<Arc<App>>, request: Request) -> Response {
    let form = match Form::read(request, &app).await {
        Ok(form) => form,
        Err((status, why)) => return pages::error(&app, status, &why).into_response(),
    };
    answer(app, move |app| {
        let directory =
            app.places.baselines.clone().ok_or_else(|| Refusal::bad("nowhere to keep baselines"))?;
        let run = app.load(&known(app, form.first("run"))?)?;
        if let Some(why) = baseline::unfit(&run) {
            let how = format!("{why}; 'assay baseline save NAME {} --anyway' keeps it as a baseline", run.id);
            return Err(Refusal::bad(how));
        }
        let made = baseline::Baseline::of_run(form.first("name"), &run);
        baseline::save(&directory, &made, false).map_err(Refusal::bad)?;
        let said = format!("run {} saved as baseline '{}'", run.id, made.name);
        Ok(Html(pages::baselines(app, &all_baselines(app), Some(&said))))
    })
    .await
}

async fn importing(State(app): State<Arc<App>>) -> Response {
    if app.read_only {
        let why = "assay serve was started with --read-only: nothing is imported here";
        return pages::error(&app, StatusCode::FORBIDDEN, why).into_response();
    }
    Html(pages::import(&app, None)).into_response()
}

/// Stores the run of a file that was sent.
async fn import(State(app): State<Arc<App>>, request: Request) -> Response {
    if app.now.is_busy() {
        let why = "a run is going, and storing another would disturb it: try again when it has ended";
        return pages::error(&app, StatusCode::CONFLICT, why).into_response();
    }
    let content = match upload::read(request, &app).await {
        Ok(content) => content,
        Err((status, why)) => return (status, Html(pages::import(&app, Some(&why)))).into_response(),
    };
    answer(app, move |app| match app.station.import(&content) {
        Ok(imported) => {
            let there = app.stored_just_now(&imported.run)?.is_some();
            Ok(redirect(&if there { format!("/runs/{}", imported.run) } else { "/".to_owned() }))
        }
        Err(StationError::Refused(why)) => {
            Ok((StatusCode::BAD_REQUEST, Html(pages::import(app, Some(&why)))).into_response())
        }
        Err(error) => Err(error.into()),
    })
    .await
}

/// What a form or a query asks to run.
fn wanted(app: &Arc<App>, of: impl Fn(&str) -> String) -> Result<Wanted, Refusal> {
    let id = of("run");
    if id.is_empty() {
        let (directory, series, test) = (of("directory"), of("series"), some(&of("test")));
        return Ok(Wanted::Quick { directory, series, test });
    }
    let stored = known(app, &id)?;
    let run = app.directory(&stored)?.read_run()?;
    Ok(Wanted::Plan(WantedPlan { run: run.id, plan: Box::new(run.plan) }))
}

async fn start(State(app): State<Arc<App>>, Query(pairs): Pairs) -> Response {
    answer(app, move |app| {
        if app.read_only {
            let why = "assay serve was started with --read-only: nothing is started here";
            return Err(Refusal(StatusCode::FORBIDDEN, why.to_owned()));
        }
        if first(&pairs, "run").is_empty() {
            return Ok(Html(pages::start(app, &app.station.series(), ("", "", ""), None)));
        }
        let wanted =
            wanted(app, |name| if name == "run" { first(&pairs, name).to_owned() } else { String::new() })?;
        let proposal = app.station.propose(&wanted)?;
        Ok(Html(pages::review(app, &wanted, &proposal, None)))
    })
    .await
}

async fn review(State(app): State<Arc<App>>, request: Request) -> Response {
    let form = match Form::read(request, &app).await {
        Ok(form) => form,
        Err((status, why)) => return pages::error(&app, status, &why).into_response(),
    };
    answer(app, move |app| {
        let wanted = wanted(app, |name| form.first(name).to_owned())?;
        match app.station.propose(&wanted) {
            Ok(proposal) => Ok((StatusCode::OK, Html(pages::review(app, &wanted, &proposal, None)))),
            Err(error) => {
                let entered = (form.first("directory"), form.first("series"), form.first("test"));
                let page = pages::start(app, &app.station.series(), entered, Some(&error.to_string()));
                Ok((StatusCode::BAD_REQUEST, Html(page)))
            }
        }
    })
    .await
}

/// Starts what was reviewed, and nothing else. What it would do is found out again: it may have changed since.
async fn begin(State(app): State<Arc<App>>, request: Request) -> Response {
    let form = match Form::read(request, &app).await {
        Ok(form) => form,
        Err((status, why)) => return pages::error(&app, status, &why).into_response(),
    };
    answer(app, move |app| {
        let Some(review) = app.reviews.take(form.first(REVIEW_FIELD)) else {
            let why = "nothing was started: what it would do was not shown, or was started already; review it again";
            return Err(Refusal(StatusCode::CONFLICT, why.to_owned()));
        };
        let proposal = app.station.propose(&review.wanted)?;
        if !review.shows(&proposal) {
            let why = "nothing was started: what it would do has changed since it was shown; this is what it would do now";
            let page = pages::review(app, &review.wanted, &proposal, Some(why));
            return Ok((StatusCode::CONFLICT, Html(page)).into_response());
        }
        let wanted = review.wanted;
        let typed: Vec<String> = form.all("overwrite").map(|word| word.trim().to_owned()).collect();
        if let Some(why) = not_named(&proposal, &typed) {
            let page = pages::review(app, &wanted, &proposal, Some(&why));
            return Ok((StatusCode::BAD_REQUEST, Html(page)).into_response());
        }
        let overwritten = proposal.targets.iter().filter(|target| target.overwrites.is_some());
        let overwritten = overwritten.map(|target| target.path.clone()).collect();
        let station = Arc::clone(&app.station);
        app.is_stale();
        match app.now.start(station, proposal.title.clone(), wanted, overwritten) {
            Ok(()) => Ok(redirect("/live")),
            Err(busy) => Err(Refusal(StatusCode::CONFLICT, busy)),
        }
    })
    .await
}

/// Why the consent does not cover what would be overwritten: each target by its own name, in order.
fn not_named(proposal: &Proposal, typed: &[String]) -> Option<String> {
    let mut overwritten = proposal.targets.iter().filter(|target| target.overwrites.is_some()).enumerate();
    overwritten.find(|(index, target)| typed.get(*index) != Some(&target.path)).map(|(_, target)| {
        format!("{} was not started: type its path as it stands below to overwrite it", target.path)
    })
}

async fn live(State(app): State<Arc<App>>) -> Html<String> {
    Html(pages::live(&app))
}

/// The live page's changing part each time it changes, until the run has ended.
async fn live_events(State(app): State<Arc<App>>) -> Response {
    let Ok(permit) = Arc::clone(&app.streams).try_acquire_owned() else {
        let why = "too many pages watch the run";
        return pages::error(&app, StatusCode::TOO_MANY_REQUESTS, why).into_response();
    };
    let events = events(app).map(move |event| {
        let _held = &permit;
        event
    });
    let keep_alive = sse::KeepAlive::new().interval(KEEP_ALIVE);
    Sse::new(events).keep_alive(keep_alive).into_response()
}

fn events(app: Arc<App>) -> impl Stream<Item = Result<sse::Event, Infallible>> + Send {
    let changes = app.now.changes();
    stream::unfold(Some((app, changes, true)), async |state| {
        let (app, mut changes, at_once) = state?;
        if !at_once {
            changes.changed().await.ok()?;
            // Many changes come at once: the last of them is shown.
            tokio::time::sleep(LIVE_EVERY).await;
        }
        changes.borrow_and_update();
        let going = app.now.is_busy();
        let part = pages::live_part(&app);
        let event = sse::Event::default().event(if going { "state" } else { "end" }).data(part);
        Some((Ok(event), going.then_some((app, changes, false))))
    })
}

async fn stop(State(app): State<Arc<App>>, request: Request) -> Response {
    if let Err((status, why)) = Form::read(request, &app).await {
        return pages::error(&app, status, &why).into_response();
    }
    app.now.stop();
    redirect("/live")
}

async fn openmetrics(State(app): State<Arc<App>>) -> Response {
    answer(app, |app| {
        app.refresh();
        let newest = app.index(|index| index.newest_of_plans(metrics::PLANS_MAX))?;
        let runs: Vec<Run> =
            newest.iter().filter_map(|one| app.directory(one).ok()?.read_run().ok()).collect();
        let text = metrics::document(&runs, &app.now);
        Ok(([(header::CONTENT_TYPE, metrics::MEDIA_TYPE)], text))
    })
    .await
}

async fn login(State(app): State<Arc<App>>) -> Response {
    if app.token.is_none() {
        return redirect("/");
    }
    Html(pages::login(&app, false)).into_response()
}

async fn enter(State(app): State<Arc<App>>, request: Request) -> Response {
    let form = match Form::read(request, &app).await {
        Ok(form) => form,
        Err((status, why)) => return pages::error(&app, status, &why).into_response(),
    };
    match &app.token {
        Some(token) if !token.is(form.first("token").trim()) => {
            tokio::time::sleep(Duration::from_millis(300)).await;
            (StatusCode::UNAUTHORIZED, Html(pages::login(&app, true))).into_response()
        }
        _ => welcome(&app, "/"),
    }
}
