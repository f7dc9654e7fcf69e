//! Reads a simulated API server, written from the API conventions
//! (kubernetes/community `contributors/devel/sig-architecture/api-conventions.md`, 2026-11-28). It pages lists, and can
//! refuse, fail, hang, expire and truncate.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gpuc_collect::{Collection, Limits, Page, collect};
use gpuc_live::state::{Completeness, KINDS, Kind};
use http::{Request, Response};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};

/// A fault of the server for a path.
#[derive(Clone, Debug)]
enum Fault {
    /// The response has this status.
    Status(u16),
    /// The response has this status for the first requests.
    StatusOnce(u16),
    /// There is no response.
    Hang,
    /// The response ends in the middle.
    Truncated,
    /// The second page has expired.
    Expired,
    /// The second page has expired at the first attempt.
    ExpiredOnce,
}

#[derive(Default)]
struct Server {
    /// The objects of each path, such as `/api/v1/nodes`.
    objects: BTreeMap<String, Vec<Value>>,
    faults: BTreeMap<String, Fault>,
    /// The time of each response.
    delay: Duration,
    /// The version; `v1.36.2` if it is empty.
    version: &'static str,
    requests: Vec<String>,
    running: usize,
    most_running: usize,
}

fn status(code: u16) -> (u16, String) {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code,
        "message": format!("status {code}"), "reason": "Test",
    });
    (code, status.to_string())
}

impl Server {
    fn respond(&mut self, path: &str, query: &str) -> (u16, String) {
        let parameter = |name: &str| {
            let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
        };
        let start: usize = parameter("continue").map_or(0, |it| it.parse().unwrap());
        match self.faults.get(path).cloned() {
            Some(Fault::Status(code)) => return status(code),
            Some(Fault::StatusOnce(code)) => {
                self.faults.remove(path);
                return status(code);
            }
            Some(Fault::Expired) if start > 0 => return status(410),
            Some(Fault::ExpiredOnce) if start > 0 => {
                self.faults.remove(path);
                return status(410);
            }
            _ => {}
        }
        if path == "/version" {
            let version = match self.version {
                "" => "v1.36.2",
                version => version,
            };
            return (200, json!({"gitVersion": version}).to_string());
        }
        if path == "/apis" {
            let group = |name: &str, version: &str| {
                let version =
                    json!({"groupVersion": format!("{name}/{version}"), "version": version});
                json!({"name": name, "versions": [version], "preferredVersion": version})
            };
            let groups = json!({"kind": "APIGroupList", "groups": [
                group("apps", "v1"), group("batch", "v1"), group("kueue.x-k8s.io", "v1beta1"),
            ]});
            return (200, groups.to_string());
        }
        if path.ends_with("/log") {
            return (
                200,
                "password=hunter2\nNo devices found. Waiting indefinitely.\n".to_owned(),
            );
        }
        let Some(all) = self.objects.get(path) else {
            return status(404);
        };
        let limit: usize = parameter("limit").map_or(usize::MAX, |it| it.parse().unwrap());
        let end = all.len().min(start.saturating_add(limit));
        let token = if end < all.len() {
            end.to_string()
        } else {
            String::new()
        };
        let list = json!({
            "kind": "List", "apiVersion": "v1", "metadata": {"continue": token}, "items": all[start..end],
        });
        let mut text = list.to_string();
        if matches!(self.faults.get(path), Some(Fault::Truncated)) {
            text.truncate(text.len() / 2);
        }
        (200, text)
    }
}

fn client(server: Server) -> (Client, Arc<Mutex<Server>>) {
    let server = Arc::new(Mutex::new(server));
    let shared = Arc::clone(&server);
    let service = tower::service_fn(move |request: Request<Body>| {
        let server = Arc::clone(&shared);
        async move {
            let path = request.uri().path().to_owned();
            let query = request.uri().query().unwrap_or_default().to_owned();
            let (hangs, delay) = {
                let mut server = server.lock().unwrap();
                assert_eq!(request.method(), "GET", "nothing is written");
                server.requests.push(path.clone());
                server.running += 1;
                server.most_running = server.most_running.max(server.running);
                let hangs = matches!(server.faults.get(&path), Some(Fault::Hang));
                (hangs, server.delay)
            };
            if hangs {
                std::future::pending::<()>().await;
            }
            tokio::time::sleep(delay.max(Duration::from_millis(1))).await;
            let (code, text) = {
                let mut server = server.lock().unwrap();
                server.running -= 1;
                server.respond(&path, &query)
            };
            let response = Response::builder()
                .status(code)
                .body(Body::from(text.into_bytes()));
            Ok::<_, Infallible>(response.unwrap())
        }
    });
    (Client::new(service, "default"), server)
}

fn server() -> Server {
    let node = |index: usize| {
        json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": format!("n{index:03}"), "managedFields": [{"manager": "kubelet"}]},
        })
    };
    let pod = |name: &str, image: &str| {
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "gpu"},
            "spec": {"nodeName": "n000", "containers": [
                {"name": "main", "image": image, "env": [{"name": "PASSWORD", "value": "hunter2"}]},
            ]},
            "status": {"phase": "Running", "containerStatuses": [{"name": "main", "restartCount": 2}]},
        })
    };
    let mut objects: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for info in gpuc_live::state::KINDS {
        let path = match info.group {
            "" => format!("/api/v1/{}", info.plural),
            group => format!("/apis/{group}/v1/{}", info.plural),
        };
        objects.insert(path, Vec::new());
    }
    objects.insert("/api/v1/nodes".to_owned(), (0..250).map(node).collect());
    let pods = vec![
        pod("plugin", "nvcr.io/nvidia/k8s-device-plugin:v0.20.0"),
        pod("web", "nginx"),
    ];
    objects.insert("/api/v1/pods".to_owned(), pods);
    Server {
        objects,
        ..Server::default()
    }
}

const LIMITS: Limits = Limits {
    request: Duration::from_secs(15),
    run: Duration::from_mins(1),
    concurrent: 8,
    page: 100,
    objects: 200_000,
    log_lines: 200,
};

/// Reads a server. Time that only passes while every task waits does not pass in reality.
async fn read(
    server: Server,
    limits: Limits,
) -> (Result<Collection, String>, Vec<Page>, Arc<Mutex<Server>>) {
    let (client, server) = client(server);
    let mut pages = Vec::new();
    let store = |page| {
        pages.push(page);
        Ok(())
    };
    let result = collect(&client, &limits, "2026-11-28T12:00:00Z", "0.1.0", store).await;
    (result, pages, server)
}

fn with_fault(path: &str, fault: Fault) -> Server {
    let mut server = server();
    server.faults.insert(path.to_owned(), fault);
    server
}

#[tokio::test(start_paused = true)]
async fn all_pages_are_read() {
    let (result, pages, server) = read(server(), LIMITS).await;
    let state = result.unwrap().state;
    assert_eq!(state.nodes.items.len(), 250);
    assert_eq!(state.nodes.completeness, Completeness::Complete);
    assert_eq!(state.server_version.as_deref(), Some("v1.36.2"));
    assert_eq!(
        state.completeness(Kind::ClusterPolicy),
        &Completeness::NotServed
    );
    assert_eq!(state.completeness(Kind::DaemonSet), &Completeness::Complete);
    assert!(
        pages
            .iter()
            .any(|page| page.path == "objects/nodes/0003.json")
    );
    assert_eq!(pages.last().unwrap().path, "gpuc-snapshot.json");
    assert!(server.lock().unwrap().most_running <= 8);
}

#[tokio::test(start_paused = true)]
async fn a_snapshot_is_read_as_the_live_state() {
    let (result, pages, _) = read(server(), LIMITS).await;
    let live = result.unwrap().state;
    let files: BTreeMap<_, _> = pages
        .into_iter()
        .map(|page| (page.path, page.bytes))
        .collect();
    let paths: Vec<String> = files.keys().cloned().collect();
    let load = |path: &str| Ok(files[path].clone());
    let (state, problems) = gpuc_live::read::read_files(&paths, &load);
    assert_eq!(problems, []);
    assert_eq!(format!("{live:?}"), format!("{state:?}"));
}

#[tokio::test(start_paused = true)]
async fn snapshots_have_no_secrets_and_equal_bytes() {
    let (_, first, server) = read(server(), LIMITS).await;
    let (_, second, _) = read(self::server(), LIMITS).await;
    let content = |pages: &[Page]| -> Vec<(String, String)> {
        let texts = pages.iter().map(|page| {
            (
                page.path.clone(),
                String::from_utf8(page.bytes.clone()).unwrap(),
            )
        });
        texts.collect()
    };
    assert_eq!(content(&first), content(&second));
    for (path, text) in content(&first) {
        assert!(
            !text.contains("hunter2") && !text.contains("managedFields"),
            "{path}: {text}"
        );
    }
    let requests = server.lock().unwrap().requests.clone();
    assert!(!requests.iter().any(|path| path.contains("secrets")));
}

#[tokio::test(start_paused = true)]
async fn only_logs_of_the_gpu_stack_are_read() {
    let (result, _, _) = read(server(), LIMITS).await;
    let logs = result.unwrap().state.logs;
    let names: Vec<_> = logs
        .iter()
        .map(|log| (log.pod.as_str(), log.is_previous))
        .collect();
    assert_eq!(names, [("plugin", false), ("plugin", true)]);
    assert!(logs[0].text.contains("No devices found"));
}

#[tokio::test(start_paused = true)]
async fn logs_that_cannot_be_read_are_counted() {
    let path = "/api/v1/namespaces/gpu/pods/plugin/log";
    for (code, unread) in [(403, 2), (503, 2), (404, 0), (400, 0)] {
        let (result, ..) = read(with_fault(path, Fault::Status(code)), LIMITS).await;
        let state = result.unwrap().state;
        assert_eq!((state.logs.len(), state.unread_logs), (0, unread), "{code}");
    }
    let (result, ..) = read(with_fault(path, Fault::Hang), LIMITS).await;
    assert_eq!(result.unwrap().state.unread_logs, 2);
}

#[tokio::test(start_paused = true)]
async fn refused_lists_are_forbidden() {
    let (result, ..) = read(with_fault("/api/v1/pods", Fault::Status(403)), LIMITS).await;
    let state = result.unwrap().state;
    assert_eq!(state.pods.completeness, Completeness::Forbidden);
    assert_eq!(state.nodes.completeness, Completeness::Complete);
    let (result, ..) = read(with_fault("/version", Fault::Status(401)), LIMITS).await;
    assert!(
        result
            .unwrap_err()
            .contains("does not accept the credentials")
    );
}

#[tokio::test(start_paused = true)]
async fn transient_errors_are_retried() {
    for code in [429, 500, 503] {
        let (result, ..) = read(with_fault("/api/v1/pods", Fault::StatusOnce(code)), LIMITS).await;
        assert_eq!(
            result.unwrap().state.pods.completeness,
            Completeness::Complete
        );
        let (result, ..) = read(with_fault("/api/v1/pods", Fault::Status(code)), LIMITS).await;
        let error = format!("{code}: status {code}");
        assert_eq!(
            result.unwrap().state.pods.completeness,
            Completeness::Failed { error }
        );
    }
}

#[tokio::test(start_paused = true)]
async fn requests_that_hang_end_at_their_deadline() {
    let start = tokio::time::Instant::now();
    let (result, ..) = read(with_fault("/api/v1/pods", Fault::Hang), LIMITS).await;
    let state = result.unwrap().state;
    let error = "the API server did not respond in time".to_owned();
    assert_eq!(state.pods.completeness, Completeness::Failed { error });
    assert_eq!(state.nodes.completeness, Completeness::Complete);
    assert!(
        start.elapsed() < Duration::from_mins(1),
        "{:?}",
        start.elapsed()
    );
}

#[tokio::test(start_paused = true)]
async fn a_server_that_hangs_everywhere_ends_the_run() {
    let start = tokio::time::Instant::now();
    let mut server = server();
    for path in server.objects.keys().cloned().collect::<Vec<_>>() {
        server.faults.insert(path, Fault::Hang);
    }
    let (result, ..) = read(server, LIMITS).await;
    let state = result.unwrap().state;
    assert!(matches!(
        state.nodes.completeness,
        Completeness::Failed { .. }
    ));
    assert!(
        start.elapsed() <= Duration::from_secs(61),
        "{:?}",
        start.elapsed()
    );
    let (result, ..) = read(with_fault("/version", Fault::Hang), LIMITS).await;
    assert_eq!(
        result.unwrap_err(),
        "the API server did not respond in time"
    );
}

#[tokio::test(start_paused = true)]
async fn a_slow_server_ends_the_run_with_what_was_read() {
    for (seconds, is_complete) in [(1, true), (14, false), (16, false)] {
        let start = tokio::time::Instant::now();
        let slow = Server {
            delay: Duration::from_secs(seconds),
            ..server()
        };
        let (result, ..) = read(slow, LIMITS).await;
        let complete = result.is_ok_and(|it| {
            let kinds = KINDS.iter().map(|info| it.state.completeness(info.kind));
            let failed = |it: &Completeness| matches!(it, Completeness::Failed { .. });
            !kinds.into_iter().any(failed)
        });
        assert_eq!(complete, is_complete, "{seconds} s");
        assert!(
            start.elapsed() <= Duration::from_secs(61),
            "{seconds} s: {:?}",
            start.elapsed()
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_newer_server_with_new_fields_is_read() {
    let mut newer = server();
    newer.version = "v1.38.0-alpha.1+abc";
    for object in newer.objects.values_mut().flatten() {
        object["metadata"]["newField"] = json!({"a": [1]});
        object["newSection"] = json!([{"b": null}]);
        object["status"]["newState"] = json!("x");
    }
    let (result, ..) = read(newer, LIMITS).await;
    let state = result.unwrap().state;
    assert_eq!(state.server_version.as_deref(), Some("v1.38.0-alpha.1+abc"));
    let (expected, ..) = read(server(), LIMITS).await;
    let expected = expected.unwrap().state;
    assert_eq!(state.nodes.items.len(), expected.nodes.items.len());
    assert_eq!(state.pods.items.len(), expected.pods.items.len());
    assert_eq!(state.nodes.completeness, Completeness::Complete);
}

#[tokio::test(start_paused = true)]
async fn expired_lists_start_once_more() {
    let (result, ..) = read(with_fault("/api/v1/nodes", Fault::ExpiredOnce), LIMITS).await;
    let nodes = result.unwrap().state.nodes;
    assert_eq!(
        (nodes.items.len(), nodes.completeness),
        (250, Completeness::Complete)
    );
    let (result, ..) = read(with_fault("/api/v1/nodes", Fault::Expired), LIMITS).await;
    let nodes = result.unwrap().state.nodes;
    let reason = "the list expired on the server".to_owned();
    assert_eq!(
        (nodes.items.len(), nodes.completeness),
        (100, Completeness::Truncated { reason })
    );
}

#[tokio::test(start_paused = true)]
async fn truncated_responses_are_no_empty_lists() {
    let (result, ..) = read(with_fault("/api/v1/pods", Fault::Truncated), LIMITS).await;
    let error = "the response is not complete JSON".to_owned();
    assert_eq!(
        result.unwrap().state.pods.completeness,
        Completeness::Failed { error }
    );
}

#[tokio::test(start_paused = true)]
async fn lists_are_bounded() {
    let limits = Limits {
        objects: 150,
        ..LIMITS
    };
    let (result, ..) = read(server(), limits).await;
    let reason = "only the first 200 objects were read".to_owned();
    assert_eq!(
        result.unwrap().state.nodes.completeness,
        Completeness::Truncated { reason }
    );
}

#[tokio::test(start_paused = true)]
async fn without_the_list_of_groups_only_the_core_group_is_known() {
    let (result, ..) = read(with_fault("/apis", Fault::Status(403)), LIMITS).await;
    let state = result.unwrap().state;
    assert_eq!(state.daemon_sets.completeness, Completeness::Forbidden);
    assert_eq!(state.nodes.completeness, Completeness::Complete);
}
