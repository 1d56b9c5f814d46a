//! Who may ask for what: looked at before anything else of a request.
//!
//! Pages of others can make a browser send requests to us. A name that an attacker made lead to this machine is no name of ours (`Host`);
//! a form of another site says so (`Origin`, `Sec-Fetch-Site`), and does not know our secret. A program that is no browser says
//! neither, and has the token in a header that no page of another site can set: a browser asks first, and is never answered.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use crate::app::App;
use crate::form::OfProgram;
use crate::pages;
use crate::secret::{Token, same};

/// What a browser says of where a request comes from.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// A wrong token is answered so late.
const WRONG_TOKEN_WAIT: Duration = Duration::from_millis(300);

/// Refuses what is not ours to answer, and puts the headers on every answer.
pub(crate) async fn guard(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response {
    let answer = match refusal(&app, &request) {
        Some(refused) => refused.into_response(&app).await,
        None => {
            if is_of_a_program(&app, request.headers()) {
                request.extensions_mut().insert(OfProgram);
            }
            next.run(request).await
        }
    };
    with_headers(answer, &app)
}

/// Whether a request is of a program: the right token in its own header, and nothing that a browser says of where a form is from.
fn is_of_a_program(app: &App, headers: &HeaderMap) -> bool {
    let knows = || app.token.as_ref().and_then(|token| bearer(headers, token));
    !is_of_a_page(headers) && knows() == Some(true)
}

/// Whether a browser sent it: one says with each form where it is from.
fn is_of_a_page(headers: &HeaderMap) -> bool {
    headers.contains_key(header::ORIGIN) || headers.contains_key(FETCH_SITE)
}

/// Why a request is not answered.
enum Refused {
    With(StatusCode, &'static str),
    /// The token is wrong.
    Token,
    /// The token that came along is right: it is kept in a cookie, and goes out of the address.
    Welcome(String),
    /// Somebody is to say the token.
    Login,
}

impl Refused {
    async fn into_response(self, app: &App) -> Response {
        match self {
            Refused::With(status, why) => pages::error(app, status, why).into_response(),
            Refused::Welcome(to) => welcome(app, &to),
            Refused::Login => redirect("/login"),
            Refused::Token => {
                tokio::time::sleep(WRONG_TOKEN_WAIT).await;
                pages::error(app, StatusCode::UNAUTHORIZED, "the token is wrong or missing").into_response()
            }
        }
    }
}

/// Lets somebody in: a cookie instead of the token.
pub(crate) fn welcome(app: &App, to: &str) -> Response {
    let cookie = format!("{}={}; Path=/; HttpOnly; SameSite=Strict", app.cookie, app.secrets.session());
    let mut answer = redirect(to);
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        answer.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    answer
}

/// Leads to another page of ours.
pub(crate) fn redirect(to: &str) -> Response {
    let to = HeaderValue::from_str(to).unwrap_or(HeaderValue::from_static("/"));
    (StatusCode::SEE_OTHER, [(header::LOCATION, to)], Body::empty()).into_response()
}

fn refusal(app: &App, request: &Request) -> Option<Refused> {
    let headers = request.headers();
    let mut hosts = headers.get_all(header::HOST).iter();
    let host = hosts.next().and_then(|host| host.to_str().ok()).filter(|host| app.guard.has(host));
    let (Some(host), None) = (host, hosts.next()) else {
        let why =
            "the Host header names another host; use the address that assay serve printed, or --host-name";
        return Some(Refused::With(StatusCode::MISDIRECTED_REQUEST, why));
    };
    let path = request.uri().path();
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    if !reads {
        if *request.method() != Method::POST {
            return Some(Refused::With(StatusCode::METHOD_NOT_ALLOWED, "pages are read, or forms are sent"));
        }
        if !is_from_here(headers, host) && !is_of_a_program(app, headers) {
            return Some(not_from_here(headers));
        }
    }
    let open = path == "/login" || path.starts_with("/assets/");
    if let Some(token) = app.token.as_ref().filter(|_| !open) {
        match credentials(app, headers, token) {
            Some(true) => {}
            Some(false) => return Some(Refused::Token),
            None => match given(request) {
                Some(word) if reads && token.is(&word) => return Some(Refused::Welcome(path.to_owned())),
                Some(_) => return Some(Refused::Token),
                None if app.look_without_token && reads && !leads_to_change(path) => {}
                None if wants_page(headers) => return Some(Refused::Login),
                None => return Some(Refused::Token),
            },
        }
    }
    if !reads && app.read_only && path != "/login" {
        let why = "assay serve was started with --read-only: nothing is started, stopped or changed here";
        return Some(Refused::With(StatusCode::FORBIDDEN, why));
    }
    None
}

/// What is said of a request that changes something and comes neither from a page of ours nor with the token.
fn not_from_here(headers: &HeaderMap) -> Refused {
    if is_of_a_page(headers) {
        return Refused::With(StatusCode::FORBIDDEN, "the request comes from a page of another site");
    }
    if headers.contains_key(header::AUTHORIZATION) {
        return Refused::Token;
    }
    let why = "the request comes from no page of this server; a program sends the token as 'Authorization: Bearer TOKEN'";
    Refused::With(StatusCode::FORBIDDEN, why)
}

/// Whether a page is a step of what starts or stores something. That of a run's plan looks at its targets.
fn leads_to_change(path: &str) -> bool {
    path == "/import" || path == "/start" || path.starts_with("/start/")
}

/// Whether a request that changes something comes from a page of ours.
fn is_from_here(headers: &HeaderMap, host: &str) -> bool {
    let text = |name: HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    let origin = text(header::ORIGIN);
    let site = text(FETCH_SITE);
    let same_origin = origin.map(|origin| {
        let rest = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        rest.is_some_and(|rest| rest.eq_ignore_ascii_case(host))
    });
    // A browser sends at least one of them with each form.
    match (same_origin, site) {
        (Some(same), Some(site)) => same && site == "same-origin",
        (Some(same), None) => same,
        (None, Some(site)) => site == "same-origin",
        (None, None) => false,
    }
}

/// Whether the token in the header is right; `None`: there is none.
fn bearer(headers: &HeaderMap, token: &Token) -> Option<bool> {
    let given = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    Some(given.strip_prefix("Bearer ").is_some_and(|word| token.is(word.trim())))
}

/// Whether a cookie or a header lets somebody in; `None`: there is neither.
fn credentials(app: &App, headers: &HeaderMap, token: &Token) -> Option<bool> {
    if let Some(is_right) = bearer(headers, token) {
        return Some(is_right);
    }
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut own = cookies.flat_map(|line| line.split(';')).filter_map(|cookie| {
        let (name, value) = cookie.trim().split_once('=')?;
        (name == app.cookie).then_some(value)
    });
    // A cookie of an earlier start is none.
    own.any(|value| same(value, &app.secrets.session())).then_some(true)
}

/// The token in the address.
fn given(request: &Request) -> Option<String> {
    let query = request.uri().query()?;
    form_urlencoded::parse(query.as_bytes())
        .find(|(name, _)| name == "token")
        .map(|(_, word)| word.into_owned())
}

/// Whether a person looks, who can type a token.
fn wants_page(headers: &HeaderMap) -> bool {
    let accepts = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    accepts.is_some_and(|accepts| accepts.contains("text/html"))
}

fn with_headers(mut answer: Response, app: &App) -> Response {
    let headers = answer.headers_mut();
    let mut set = |name: &'static str, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    };
    set("content-security-policy", &app.policy);
    set("x-content-type-options", "nosniff");
    set("x-frame-options", "DENY");
    set("referrer-policy", "same-origin");
    set("cross-origin-resource-policy", "same-origin");
    set("cross-origin-opener-policy", "same-origin");
    if !headers.contains_key(header::CACHE_CONTROL) {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_other_sites_are_told_by_their_headers() {
        let of = |pairs: &[(&'static str, &'static str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                headers.insert(*name, HeaderValue::from_static(value));
            }
            is_from_here(&headers, "127.0.0.1:8477")
        };
        assert!(of(&[("origin", "http://127.0.0.1:8477"), ("sec-fetch-site", "same-origin")]));
        assert!(of(&[("origin", "http://127.0.0.1:8477")]));
        assert!(!of(&[]));
        assert!(!of(&[("origin", "null")]));
        assert!(!of(&[("origin", "http://127.0.0.1:80")]));
        assert!(!of(&[("origin", "http://evil.example")]));
        assert!(!of(&[("origin", "http://127.0.0.1:8477"), ("sec-fetch-site", "cross-site")]));
        assert!(!of(&[("sec-fetch-site", "same-site")]));
    }
}
