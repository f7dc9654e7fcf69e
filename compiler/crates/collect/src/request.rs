//! Requests with a deadline and few retries.

use std::time::Duration;

use http::Request;
use kube::Client;
use tokio::time::{Instant, sleep, timeout_at};

use crate::Limits;

/// Why a request has no usable response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RequestError {
    /// The API server does not accept the credentials: 401.
    Unauthorized,
    /// The user lacks the right: 403.
    Forbidden,
    /// The server does not know the path: 404.
    NotFound,
    /// The list has expired on the server: 410.
    Expired,
    /// The deadline of the request or of the run is over.
    Timeout,
    /// Another error.
    Other(String),
}

impl RequestError {
    /// The error as text for people.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Unauthorized => {
                "the API server does not accept the credentials of the kubeconfig (401)".to_owned()
            }
            Self::Forbidden => "forbidden".to_owned(),
            Self::NotFound => "not found".to_owned(),
            Self::Expired => "the list expired on the server".to_owned(),
            Self::Timeout => "the API server did not respond in time".to_owned(),
            Self::Other(error) => error.clone(),
        }
    }
}

/// The number of attempts for a request that the server refuses for the moment.
const ATTEMPTS: u32 = 3;

/// The response to a GET request.
pub(crate) async fn get(
    client: &Client,
    path: &str,
    limits: &Limits,
    deadline: Instant,
) -> Result<String, RequestError> {
    let mut attempt = 1;
    loop {
        let own_deadline = deadline.min(Instant::now() + limits.request);
        let request = Request::get(path).body(Vec::new());
        let request = request.map_err(|error| RequestError::Other(error.to_string()))?;
        let error = match timeout_at(own_deadline, client.request_text(request)).await {
            Err(_) => return Err(RequestError::Timeout),
            Ok(Ok(text)) => return Ok(text),
            Ok(Err(error)) => error,
        };
        let (error, can_retry) = classify(&error);
        let wait = Duration::from_millis(500 * u64::from(attempt));
        if !can_retry || attempt == ATTEMPTS || Instant::now() + wait >= deadline {
            return Err(error);
        }
        sleep(wait).await;
        attempt += 1;
    }
}

/// The error, and whether another attempt can succeed.
fn classify(error: &kube::Error) -> (RequestError, bool) {
    match error {
        kube::Error::Api(status) => match status.code {
            401 => (RequestError::Unauthorized, false),
            403 => (RequestError::Forbidden, false),
            404 => (RequestError::NotFound, false),
            410 => (RequestError::Expired, false),
            code => {
                let message = status.message.lines().next().unwrap_or_default();
                let can_retry = matches!(code, 429 | 500 | 502 | 503 | 504);
                (RequestError::Other(format!("{code}: {message}")), can_retry)
            }
        },
        other => (RequestError::Other(root_cause(other)), false),
    }
}

/// The last cause of an error, which is the most specific one.
pub(crate) fn root_cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}
