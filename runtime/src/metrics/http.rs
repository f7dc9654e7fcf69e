//! The HTTP server of `/metrics`, `/healthz` and `/readyz`. No client can block the others.
//!
//! A connection carries one request and is limited to [`CONNECTION_TIMEOUT`]. At most [`MAX_CONNECTIONS`] are open; a
//! further one closes the oldest. With a queue, the kubelet's probes would wait behind idle clients, and the kubelet
//! would restart the daemon.

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

use super::{BoxedFuture, Exporter};

/// Maximum number of open connections. Prometheus and the kubelet need three.
pub const MAX_CONNECTIONS: usize = 64;

/// Timeout of the request headers.
pub const HEADER_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum duration of a connection.
pub const CONNECTION_TIMEOUT: Duration = Duration::from_secs(20);

/// Maximum size of the request headers in bytes; hyper's minimum.
const MAX_HEADER_BYTES: usize = 8 * 1024;

/// Maximum number of request headers.
const MAX_HEADERS: usize = 64;

/// Timeout of the liveness check; the default timeout of a kubelet probe is one second.
const LIVENESS_TIMEOUT: Duration = Duration::from_millis(900);

/// Liveness and readiness of the daemon.
pub trait Probes: Send + Sync {
    /// Resolves when the event loop has responded. The caller uses a short timeout.
    fn check_liveness(&self) -> BoxedFuture<()>;

    /// Whether all advertised resources are registered with the kubelet, and there is at least one.
    ///
    /// # Errors
    ///
    /// The reason why the daemon is not ready.
    fn check_readiness(&self) -> Result<(), String>;
}

/// The limits of connections; tests use smaller ones.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Timeout of the request headers: [`HEADER_TIMEOUT`].
    pub header: Duration,
    /// Maximum duration of a connection: [`CONNECTION_TIMEOUT`].
    pub connection: Duration,
    /// Maximum number of open connections: [`MAX_CONNECTIONS`].
    pub connections: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            header: HEADER_TIMEOUT,
            connection: CONNECTION_TIMEOUT,
            connections: MAX_CONNECTIONS,
        }
    }
}

/// Serves requests until the future is dropped.
pub async fn serve(
    listener: TcpListener,
    exporter: Arc<Exporter>,
    probes: Arc<dyn Probes>,
    limits: Limits,
) -> Infallible {
    // Oldest first.
    let mut open: VecDeque<AbortHandle> = VecDeque::new();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let served =
                    serve_connection(stream, Arc::clone(&exporter), Arc::clone(&probes), limits);
                open.retain(|connection| !connection.is_finished());
                if open.len() >= limits.connections
                    && let Some(oldest) = open.pop_front()
                {
                    tracing::debug!("too many connections: closing the oldest");
                    oldest.abort();
                }
                open.push_back(tokio::spawn(served).abort_handle());
            }
            // The client disconnected, or the process is out of file descriptors: retry after a pause.
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// Serves one connection.
fn serve_connection(
    stream: TcpStream,
    exporter: Arc<Exporter>,
    probes: Arc<dyn Probes>,
    limits: Limits,
) -> impl Future<Output = ()> {
    let service = service_fn(move |request| {
        let (exporter, probes) = (Arc::clone(&exporter), Arc::clone(&probes));
        async move { Ok::<_, Infallible>(respond(&request, &exporter, &*probes).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header)
        .max_buf_size(MAX_HEADER_BYTES)
        .max_headers(MAX_HEADERS)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service);
    async move {
        match timeout(limits.connection, connection).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(%error, "invalid request"),
            Err(_) => tracing::debug!("a client timed out"),
        }
    }
}

async fn respond(
    request: &Request<Incoming>,
    exporter: &Exporter,
    probes: &dyn Probes,
) -> Response<String> {
    let path = request.uri().path();
    if !matches!(path, "/metrics" | "/healthz" | "/readyz") {
        let paths = "not found: use /metrics, /healthz or /readyz\n";
        return plain_text(StatusCode::NOT_FOUND, paths.to_owned());
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut response = plain_text(
            StatusCode::METHOD_NOT_ALLOWED,
            "method not allowed: use GET\n".to_owned(),
        );
        let methods = HeaderValue::from_static("GET, HEAD");
        response.headers_mut().insert(ALLOW, methods);
        return response;
    }
    match path {
        "/metrics" => {
            let accept = request.headers().get(ACCEPT);
            let accept = accept.and_then(|accept| accept.to_str().ok());
            let page = exporter.scrape(accept).await;
            let mut response = plain_text(StatusCode::OK, page.text);
            let kind = HeaderValue::from_static(page.content_type);
            response.headers_mut().insert(CONTENT_TYPE, kind);
            response
        }
        "/healthz" => match timeout(LIVENESS_TIMEOUT, probes.check_liveness()).await {
            Ok(()) => plain_text(StatusCode::OK, "ok\n".to_owned()),
            Err(_) => plain_text(
                StatusCode::SERVICE_UNAVAILABLE,
                "the event loop is not responding\n".to_owned(),
            ),
        },
        _ => match probes.check_readiness() {
            Ok(()) => plain_text(StatusCode::OK, "ok\n".to_owned()),
            Err(missing) => plain_text(StatusCode::SERVICE_UNAVAILABLE, missing + "\n"),
        },
    }
}

fn plain_text(status: StatusCode, text: String) -> Response<String> {
    let mut response = Response::new(text);
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}
