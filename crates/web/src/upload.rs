//! A file that a form sends: limited in size and time, one at a time, and read only behind the secret of our own pages.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::multipart::{Field, Multipart, MultipartError};
use axum::extract::{FromRequest as _, Request};
use axum::http::StatusCode;

use crate::app::App;
use crate::form::{OfProgram, SECRET_FIELD, is_own};

/// A file is not larger, bytes; `assay import` takes larger ones.
pub(crate) const FILE_BYTES_MAX: usize = 64 << 20;
/// The request with a file: its other fields and what stands between them are small.
pub(crate) const UPLOAD_BYTES_MAX: usize = FILE_BYTES_MAX + (64 << 10);
/// It has arrived by then.
const UPLOAD_TIME_MAX: Duration = Duration::from_secs(120);
/// The field with the file.
pub(crate) const FILE_FIELD: &str = "file";
/// The secret is not longer, bytes.
const SECRET_BYTES_MAX: usize = 256;

type Refused = (StatusCode, String);

/// Reads the file of a form whose first field is the secret; a program that sends the token may leave it out.
pub(crate) async fn read(request: Request, app: &Arc<App>) -> Result<Vec<u8>, Refused> {
    let read = tokio::time::timeout(UPLOAD_TIME_MAX, read_parts(request, app)).await;
    read.unwrap_or_else(|_| {
        let why = format!("the file did not arrive within {} s", UPLOAD_TIME_MAX.as_secs());
        Err((StatusCode::REQUEST_TIMEOUT, why))
    })
}

async fn read_parts(request: Request, app: &Arc<App>) -> Result<Vec<u8>, Refused> {
    let by_token = request.extensions().get::<OfProgram>().is_some();
    let mut parts = Multipart::from_request(request, app)
        .await
        .map_err(|why| (StatusCode::BAD_REQUEST, why.body_text()))?;
    if !by_token {
        let secret = next(&mut parts, SECRET_FIELD).await?;
        let secret = content(secret, SECRET_BYTES_MAX).await?;
        if !std::str::from_utf8(&secret).is_ok_and(|word| is_own(word, app)) {
            return Err((StatusCode::FORBIDDEN, crate::form::OTHER_START.to_owned()));
        }
    }
    // Two at once would take twice the memory.
    let _one = app.uploads.try_acquire().map_err(|_| {
        (StatusCode::TOO_MANY_REQUESTS, "another file is being imported; try again later".to_owned())
    })?;
    let file = next(&mut parts, FILE_FIELD).await?;
    content(file, FILE_BYTES_MAX).await
}

/// The next field, which must have this name.
async fn next<'a>(parts: &'a mut Multipart, name: &str) -> Result<Field<'a>, Refused> {
    let field = parts.next_field().await.map_err(|error| broken(&error))?;
    field.filter(|field| field.name() == Some(name)).ok_or_else(|| {
        (StatusCode::BAD_REQUEST, format!("the form has no field '{name}' where it is expected"))
    })
}

async fn content(mut field: Field<'_>, bytes_max: usize) -> Result<Vec<u8>, Refused> {
    let mut bytes = Vec::new();
    while let Some(chunk) = field.chunk().await.map_err(|error| broken(&error))? {
        if bytes.len() + chunk.len() > bytes_max {
            return Err(too_large());
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

fn too_large() -> Refused {
    let why = format!(
        "the file is larger than {} MiB; 'assay import FILE' on this machine takes larger ones",
        FILE_BYTES_MAX >> 20
    );
    (StatusCode::PAYLOAD_TOO_LARGE, why)
}

fn broken(error: &MultipartError) -> Refused {
    match error.status() {
        StatusCode::PAYLOAD_TOO_LARGE => too_large(),
        status => (status, format!("the form cannot be read: {}", error.body_text())),
    }
}
