//! The HTTP server with valid and invalid clients.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gpuc_runtime::metrics::http::{Limits, Probes, serve};
use gpuc_runtime::metrics::{BoxedFuture, PluginMetrics};
use gpuc_schema::node_config::NodeSharing;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

use crate::exposition::parse;
use crate::machine::{inventory, state};
use crate::metrics::{FakeMeter, exporter};

/// Ends a test that hangs. Every operation here takes less time.
const TEST_TIMEOUT: Duration = Duration::from_secs(10);

struct FakeProbes {
    is_alive: AtomicBool,
    is_ready: AtomicBool,
}

impl Probes for FakeProbes {
    fn check_liveness(&self) -> BoxedFuture<()> {
        if self.is_alive.load(Ordering::SeqCst) {
            Box::pin(std::future::ready(()))
        } else {
            Box::pin(std::future::pending())
        }
    }

    fn check_readiness(&self) -> Result<(), String> {
        if self.is_ready.load(Ordering::SeqCst) {
            Ok(())
        } else {
            Err("nvidia.com/gpu is not registered".into())
        }
    }
}

async fn server() -> (SocketAddr, Arc<FakeProbes>) {
    server_with(Limits {
        header: Duration::from_millis(500),
        connection: Duration::from_secs(2),
        connections: 8,
    })
    .await
}

async fn server_with(limits: Limits) -> (SocketAddr, Arc<FakeProbes>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("the listener is bound");
    let probes = Arc::new(FakeProbes {
        is_alive: true.into(),
        is_ready: true.into(),
    });
    let server_probes = Arc::clone(&probes);
    tokio::spawn(async move {
        let machine = state(
            &inventory(2, false),
            &NodeSharing::Exclusive,
            std::collections::BTreeMap::new(),
        );
        let meter = Arc::new(FakeMeter::default());
        let (exporter, _state) = exporter(machine, Vec::new(), meter, PluginMetrics::default());
        match serve(listener, Arc::new(exporter), server_probes, limits).await {}
    });
    (address, probes)
}

async fn write(stream: &TcpStream, mut bytes: &[u8]) -> std::io::Result<()> {
    while !bytes.is_empty() {
        stream.writable().await?;
        match stream.try_write(bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Reads until the server closes the connection.
async fn read_to_end(stream: &TcpStream) -> String {
    let mut all = Vec::new();
    let reading = async {
        loop {
            let mut part = [0; 4096];
            if stream.readable().await.is_err() {
                return;
            }
            match stream.try_read(&mut part) {
                Ok(0) => return,
                Ok(count) => all.extend_from_slice(&part[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(_) => return,
            }
        }
    };
    timeout(TEST_TIMEOUT, reading)
        .await
        .expect("the server closes the connection");
    String::from_utf8_lossy(&all).into_owned()
}

async fn send_request(address: SocketAddr, request: &[u8]) -> String {
    let stream = TcpStream::connect(address)
        .await
        .expect("the server listens");
    // The server can reject a request and close the connection before it has read all of it.
    drop(write(&stream, request).await);
    read_to_end(&stream).await
}

/// Sends a GET request. Returns the status, the headers in lower case, and the body.
async fn get(address: SocketAddr, path: &str) -> (u16, String, String) {
    let request = format!("GET {path} HTTP/1.1\r\nHost: node\r\n\r\n");
    split_response(&send_request(address, request.as_bytes()).await)
}

fn split_response(answer: &str) -> (u16, String, String) {
    let (head, body) = answer
        .split_once("\r\n\r\n")
        .expect("an empty line ends the headers");
    let status = head.split(' ').nth(1).expect("the response has a status");
    let status = status.parse().expect("the status is a number");
    (status, head.to_lowercase(), body.to_owned())
}

#[tokio::test]
async fn accept_header_selects_the_format() {
    let (address, _) = server().await;
    let (status, head, body) = get(address, "/metrics").await;
    assert_eq!(status, 200);
    assert!(head.contains("content-type: text/plain; version=0.0.4; charset=utf-8"));
    let page = parse(&body, false);
    assert_eq!(page.all_series("DCGM_FI_DEV_GPU_TEMP").len(), 2);
    let request =
        "GET /metrics?x=1 HTTP/1.1\r\nHost: node\r\nAccept: application/openmetrics-text\r\n\r\n";
    let (status, head, body) = split_response(&send_request(address, request.as_bytes()).await);
    assert_eq!(status, 200);
    assert!(head.contains("content-type: application/openmetrics-text; version=1.0.0"));
    parse(&body, true);
}

#[tokio::test]
async fn blocked_event_loop_fails_liveness() {
    let (address, probes) = server().await;
    assert_eq!(get(address, "/healthz").await.0, 200);
    probes.is_alive.store(false, Ordering::SeqCst);
    assert_eq!(get(address, "/healthz").await.0, 503);
    assert_eq!(get(address, "/metrics").await.0, 200);
}

#[tokio::test]
async fn unready_node_returns_its_reason() {
    let (address, probes) = server().await;
    assert_eq!(get(address, "/readyz").await.0, 200);
    probes.is_ready.store(false, Ordering::SeqCst);
    let (status, _, body) = get(address, "/readyz").await;
    assert_eq!(status, 503);
    assert_eq!(body, "nvidia.com/gpu is not registered\n");
}

#[tokio::test]
async fn unknown_paths_and_methods_are_rejected() {
    let (address, _) = server().await;
    for path in ["/", "/metrics/", "/../etc/passwd", "/metric"] {
        assert_eq!(get(address, path).await.0, 404, "{path}");
    }
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "BREW"] {
        let request = format!("{method} /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
        let (status, head, _) = split_response(&send_request(address, request.as_bytes()).await);
        assert_eq!(status, 405, "{method}");
        assert!(head.contains("allow: get, head"), "{head}");
    }
    let head = send_request(address, b"HEAD /metrics HTTP/1.1\r\nHost: a\r\n\r\n").await;
    let (status, _, body) = split_response(&head);
    assert_eq!((status, body.as_str()), (200, ""));
}

#[tokio::test]
async fn invalid_http_does_not_affect_others() {
    let (address, _) = server().await;
    let long_header = format!(
        "GET /metrics HTTP/1.1\r\nx: {}\r\n\r\n",
        "a".repeat(1 << 20)
    );
    let many_headers = format!("GET /metrics HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(1_000));
    let long_path = format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(1 << 20));
    let requests: [&[u8]; 8] = [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\r\n\r\n\r\n",
        b"GET /metrics\r\n\r\n",
        b"GET /metrics HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
        long_header.as_bytes(),
        many_headers.as_bytes(),
        long_path.as_bytes(),
    ];
    for request in requests {
        let answer = send_request(address, request).await;
        let is_rejected = answer.is_empty() || answer.starts_with("HTTP/1.1 4");
        assert!(is_rejected, "{:?}: {answer}", &request[..10]);
        assert_eq!(get(address, "/healthz").await.0, 200);
    }
}

/// Each of the two limits ends a connection that the other does not end.
#[tokio::test]
async fn incomplete_request_times_out() {
    let (short, long) = (Duration::from_millis(300), Duration::from_mins(1));
    for (header, connection) in [(short, long), (long, short)] {
        let limits = Limits {
            header,
            connection,
            connections: 8,
        };
        let (address, _) = server_with(limits).await;
        let stream = TcpStream::connect(address)
            .await
            .expect("the server listens");
        let start = Instant::now();
        while start.elapsed() < TEST_TIMEOUT {
            let sent = write(&stream, b"GET /metrics").await;
            if sent.is_err() || stream.try_read(&mut [0]).is_ok() {
                break;
            }
            sleep(Duration::from_millis(50)).await;
        }
        assert!(
            start.elapsed() < TEST_TIMEOUT,
            "{limits:?}: the connection is still open"
        );
    }
}

/// The kubelet's probe has a timeout of one second. Idle clients must not make the kubelet restart the daemon.
#[tokio::test]
async fn idle_clients_do_not_delay_probes() {
    let (address, _) = server_with(Limits {
        header: Duration::from_mins(1),
        connection: Duration::from_mins(1),
        connections: 8,
    })
    .await;
    let mut idle = Vec::new();
    for _ in 0..40 {
        idle.push(
            TcpStream::connect(address)
                .await
                .expect("the server listens"),
        );
    }
    let served = timeout(TEST_TIMEOUT, get(address, "/healthz")).await;
    assert_eq!(served.expect("the probe does not wait").0, 200);
    drop(idle);
}

/// The server accepts eight connections at a time, and closes one without a request after half a second.
#[tokio::test]
async fn connections_are_limited() {
    let (address, _) = server().await;
    let mut idle = Vec::new();
    for _ in 0..40 {
        idle.push(
            TcpStream::connect(address)
                .await
                .expect("the server listens"),
        );
    }
    let served = timeout(TEST_TIMEOUT, get(address, "/healthz")).await;
    assert_eq!(
        served
            .expect("the probe is served when idle connections are closed")
            .0,
        200
    );
    drop(idle);
}
