//! Requests with a deadline and few retries.

use std::time::Duration;

use http::Request;
use kube::Client;
use kube::core::Status;
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

/// Why a request failed.
pub(crate) enum Failure {
    /// The server refuses the request.
    Status(Box<Status>),
    /// The deadline of the request or of the run is over.
    Timeout,
    /// The connection failed.
    Connection(String),
}

impl Failure {
    /// The error as text for people.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Status(status) => {
                let message = status.message.lines().next().unwrap_or_default();
                format!("{}: {message}", status.code)
            }
            Self::Timeout => RequestError::Timeout.text(),
            Self::Connection(error) => error.clone(),
        }
    }
}

impl From<Failure> for RequestError {
    fn from(failure: Failure) -> Self {
        match &failure {
            Failure::Timeout => Self::Timeout,
            Failure::Connection(_) => Self::Other(failure.text()),
            Failure::Status(status) => match status.code {
                401 => Self::Unauthorized,
                403 => Self::Forbidden,
                404 => Self::NotFound,
                410 => Self::Expired,
                _ => Self::Other(failure.text()),
            },
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
    let request = || Request::get(path).body(Vec::new());
    Ok(send(client, request, limits, deadline).await?)
}

/// The response to a request. A request that the server refuses for the moment is repeated.
pub(crate) async fn send(
    client: &Client,
    request: impl Fn() -> http::Result<Request<Vec<u8>>>,
    limits: &Limits,
    deadline: Instant,
) -> Result<String, Failure> {
    let mut attempt = 1;
    loop {
        let own_deadline = deadline.min(Instant::now() + limits.request);
        let request = request().map_err(|error| Failure::Connection(error.to_string()))?;
        let failure = match timeout_at(own_deadline, client.request_text(request)).await {
            Err(_) => return Err(Failure::Timeout),
            Ok(Ok(text)) => return Ok(text),
            Ok(Err(kube::Error::Api(status))) => Failure::Status(status),
            Ok(Err(other)) => Failure::Connection(root_cause(&other)),
        };
        let can_retry = match &failure {
            Failure::Status(status) => matches!(status.code, 429 | 500 | 502 | 503 | 504),
            Failure::Timeout | Failure::Connection(_) => false,
        };
        let wait = Duration::from_millis(500 * u64::from(attempt));
        if !can_retry || attempt == ATTEMPTS || Instant::now() + wait >= deadline {
            return Err(failure);
        }
        sleep(wait).await;
        attempt += 1;
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

/// Escapes a value in a URL.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                escaped.push(char::from(byte));
            }
            other => escaped.push_str(&format!("%{other:02X}")),
        }
    }
    escaped
}
