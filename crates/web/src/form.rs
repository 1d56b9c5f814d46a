//! What a form sends: small, in time, and with the secret that only our own pages have.

use std::time::Duration;

use axum::body::to_bytes;
use axum::extract::Request;
use axum::http::StatusCode;

use crate::app::App;
use crate::secret::same;

/// A form is not larger, bytes.
pub(crate) const FORM_BYTES_MAX: usize = 64 << 10;
/// It has arrived by then.
pub(crate) const FORM_TIME_MAX: Duration = Duration::from_secs(10);
/// Fields of a form at most.
const FIELDS_MAX: usize = 200;
/// The field with the secret.
pub(crate) const SECRET_FIELD: &str = "form";
/// The field with the word of a review.
pub(crate) const REVIEW_FIELD: &str = "review";

/// With a request that a program sent and no page: it has the token instead of the secret of our forms.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OfProgram;

/// What is said of a form without the secret.
pub(crate) const OTHER_START: &str =
    "the page is of another start of the program: load it again, then send it";

/// Whether a form with this secret is of a page of ours.
pub(crate) fn is_own(secret: &str, app: &App) -> bool {
    same(secret, &app.secrets.form())
}

/// The fields of a form, in their order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Form(Vec<(String, String)>);

impl Form {
    /// Reads a form.
    pub(crate) async fn read(request: Request, app: &App) -> Result<Form, (StatusCode, String)> {
        let by_token = request.extensions().get::<OfProgram>().is_some();
        let body = to_bytes(request.into_body(), FORM_BYTES_MAX);
        let read = tokio::time::timeout(FORM_TIME_MAX, body).await;
        let bytes = match read {
            Err(_) => {
                let why = format!("the form did not arrive within {} s", FORM_TIME_MAX.as_secs());
                return Err((StatusCode::REQUEST_TIMEOUT, why));
            }
            Ok(Err(_)) => {
                let why = format!("a form has {} KiB at most", FORM_BYTES_MAX >> 10);
                return Err((StatusCode::PAYLOAD_TOO_LARGE, why));
            }
            Ok(Ok(bytes)) => bytes,
        };
        let fields = form_urlencoded::parse(&bytes).into_owned().take(FIELDS_MAX).collect();
        let form = Form(fields);
        if !by_token && !is_own(form.first(SECRET_FIELD), app) {
            return Err((StatusCode::FORBIDDEN, OTHER_START.to_owned()));
        }
        Ok(form)
    }

    /// The first field of a name; empty where there is none.
    pub(crate) fn first(&self, name: &str) -> &str {
        self.0.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    /// All fields of a name.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}
