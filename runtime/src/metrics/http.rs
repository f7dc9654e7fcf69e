//! The HTTP server: `/metrics`, `/healthz` and `/readyz`. Nothing that a client does keeps it from answering others.
//!
//! A connection carries one request, may take [`CONNECTION`] in all, and no more than [`CONNECTIONS`] are open; what
//! comes beyond ends the oldest. A queue would keep the kubelet's probes behind clients that say nothing, and the
//! kubelet would end the daemon for it.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::header::{ACCEPT, ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

use super::{Exporter, Later};

/// How many connections are open at a time. Prometheus and the kubelet need three.
pub const CONNECTIONS: usize = 64;

/// How long a client may take to send its request.
pub const HEADER: Duration = Duration::from_secs(5);

/// How long a connection may last.
pub const CONNECTION: Duration = Duration::from_secs(20);

/// How many bytes a request may have before its body; hyper's least.
const HEADER_BYTES: usize = 8 * 1024;

/// How many headers a request may have.
const HEADERS: usize = 64;

/// How long the event loop may take to answer; the kubelet waits a second for a probe unless told otherwise.
const PULSE: Duration = Duration::from_millis(900);

/// Whether the daemon does its work.
pub trait Vitals: Send + Sync {
    /// Comes back when the event loop has answered. It is waited for a moment only.
    fn pulse(&self) -> Later<()>;

    /// Whether the kubelet took what the node offers, and that is something.
    ///
    /// # Errors
    ///
    /// What is missing, in words.
    fn ready(&self) -> Result<(), String>;
}

/// How long clients may take; a test has less time than the world.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// To send a request: [`HEADER`].
    pub header: Duration,
    /// For everything: [`CONNECTION`].
    pub connection: Duration,
    /// How many at a time: [`CONNECTIONS`].
    pub connections: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            header: HEADER,
            connection: CONNECTION,
            connections: CONNECTIONS,
        }
    }
}

/// Answers until the future is dropped.
pub async fn serve(
    listener: TcpListener,
    exporter: Arc<Exporter>,
    vitals: Arc<dyn Vitals>,
    limits: Limits,
) -> Infallible {
    // The oldest first.
    let mut open: VecDeque<AbortHandle> = VecDeque::new();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let served = converse(stream, Arc::clone(&exporter), Arc::clone(&vitals), limits);
                open.retain(|connection| !connection.is_finished());
                if open.len() >= limits.connections
                    && let Some(oldest) = open.pop_front()
                {
                    tracing::debug!("the oldest connection ends: there are too many");
                    oldest.abort();
                }
                open.push_back(tokio::spawn(served).abort_handle());
            }
            // The client has gone, or the process is out of descriptors: others may be served in a moment.
            Err(error) => {
                tracing::warn!(%error, "no connection");
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// One connection.
fn converse(
    stream: TcpStream,
    exporter: Arc<Exporter>,
    vitals: Arc<dyn Vitals>,
    limits: Limits,
) -> impl Future<Output = ()> {
    let answer = service_fn(move |request| {
        let (exporter, vitals) = (Arc::clone(&exporter), Arc::clone(&vitals));
        async move { Ok::<_, Infallible>(respond(&request, &exporter, &*vitals).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header)
        .max_buf_size(HEADER_BYTES)
        .max_headers(HEADERS)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), answer);
    async move {
        match timeout(limits.connection, connection).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(%error, "a client was not understood"),
            Err(_) => tracing::debug!("a client took too long"),
        }
    }
}

async fn respond(
    request: &Request<Incoming>,
    exporter: &Exporter,
    vitals: &dyn Vitals,
) -> Response<String> {
    let path = request.uri().path();
    if !matches!(path, "/metrics" | "/healthz" | "/readyz") {
        let paths = "there is /metrics, /healthz and /readyz\n";
        return plain(StatusCode::NOT_FOUND, paths.to_owned());
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, "only GET\n".to_owned());
        let methods = HeaderValue::from_static("GET, HEAD");
        response.headers_mut().insert(ALLOW, methods);
        return response;
    }
    match path {
        "/metrics" => {
            let accept = request.headers().get(ACCEPT);
            let accept = accept.and_then(|accept| accept.to_str().ok());
            let page = exporter.scrape(accept).await;
            let mut response = plain(StatusCode::OK, page.text);
            let kind = HeaderValue::from_static(page.content_type);
            response.headers_mut().insert(CONTENT_TYPE, kind);
            response
        }
        "/healthz" => match timeout(PULSE, vitals.pulse()).await {
            Ok(()) => plain(StatusCode::OK, "ok\n".to_owned()),
            Err(_) => plain(
                StatusCode::SERVICE_UNAVAILABLE,
                "the event loop does not answer\n".to_owned(),
            ),
        },
        _ => match vitals.ready() {
            Ok(()) => plain(StatusCode::OK, "ok\n".to_owned()),
            Err(missing) => plain(StatusCode::SERVICE_UNAVAILABLE, missing + "\n"),
        },
    }
}

fn plain(status: StatusCode, text: String) -> Response<String> {
    let mut response = Response::new(text);
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}
