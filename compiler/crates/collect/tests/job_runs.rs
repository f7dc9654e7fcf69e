//! Runs Jobs on a simulated API server with a Job controller that succeeds, fails, is slow, hangs or has lost the logs.
//! The states follow <https://kubernetes.io/docs/concepts/workloads/controllers/job/>, 2026-11-28.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gpuc_collect::{JobEnd, JobRequest, JobRun, Limits, run_job};
use http::{Method, Request, Response};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};

const NAMESPACE: &str = "/api/v1/namespaces/prove-gpu";
const JOB: &str = "/apis/batch/v1/namespaces/prove-gpu/jobs/prove";
const PODS: &str = "/api/v1/namespaces/prove-gpu/pods";

const EVENTS: &str = "/api/v1/namespaces/prove-gpu/events";

/// What the server does with a request; the first matching entry counts.
#[derive(Clone, Debug)]
enum Fault {
    Status(u16),
    Once(u16),
    Hang,
    Truncated,
}

struct Server {
    /// The status of the Job by the number of requests for it.
    states: Vec<Value>,
    pods: Vec<Value>,
    events: Vec<Value>,
    log: &'static str,
    faults: Vec<(Method, &'static str, Fault)>,
    exists: bool,
    /// The method and the path of each request.
    requests: Vec<(Method, String)>,
    created: Vec<Value>,
}

fn pod(name: &str, phase: &str) -> Value {
    json!({
        "metadata": {"name": name},
        "spec": {"containers": [{"name": "main"}, {"name": "sidecar"}]},
        "status": {"phase": phase},
    })
}

fn ended(kind: &str, reason: &str) -> Value {
    json!({"conditions": [
        {"type": "SuccessCriteriaMet", "status": "True"},
        {"type": kind, "status": "True", "reason": reason, "message": "see the pods"},
    ]})
}

impl Server {
    fn new(states: Vec<Value>) -> Self {
        Self {
            states,
            pods: vec![pod("b", "Succeeded"), pod("a", "Succeeded")],
            events: Vec::new(),
            log: "one\ntwo\n",
            faults: Vec::new(),
            exists: false,
            requests: Vec::new(),
            created: Vec::new(),
        }
    }

    fn with_fault(mut self, method: Method, path: &'static str, fault: Fault) -> Self {
        self.faults.push((method, path, fault));
        self
    }

    fn fault(&mut self, method: &Method, path: &str) -> Option<Fault> {
        let is_match = |it: &(Method, &str, Fault)| it.0 == *method && path.starts_with(it.1);
        let index = self.faults.iter().position(is_match)?;
        let fault = self.faults[index].2.clone();
        if matches!(fault, Fault::Once(_)) {
            self.faults.remove(index);
        }
        Some(fault)
    }

    fn respond(
        &mut self,
        method: &Method,
        path: &str,
        body: &[u8],
        fault: Option<&Fault>,
    ) -> (u16, String) {
        if let Some(Fault::Status(code) | Fault::Once(code)) = fault {
            return failure(*code);
        }
        let resource = |kind: &str, name: &str, namespaced: bool| json!({"kind": kind, "name": name, "namespaced": namespaced});
        let (code, mut text) = match (method, path) {
            (&Method::GET, "/api/v1") => {
                let list = [resource("Namespace", "namespaces", false)];
                (200, json!({"resources": list}).to_string())
            }
            (&Method::GET, "/apis/batch/v1") => {
                let list = [resource("Job", "jobs", true)];
                (200, json!({"resources": list}).to_string())
            }
            (&Method::GET, NAMESPACE) if !self.exists => failure(404),
            (&Method::GET, JOB) => {
                let state = match self.states.len() {
                    1 => self.states[0].clone(),
                    _ => self.states.remove(0),
                };
                (200, json!({"status": state}).to_string())
            }
            (&Method::GET, PODS) => (200, json!({"items": self.pods}).to_string()),
            (&Method::GET, EVENTS) => (200, json!({"items": self.events}).to_string()),
            (&Method::GET, path) if path.ends_with("/log") => (200, self.log.to_owned()),
            (&Method::PATCH, _) => {
                self.created.push(serde_json::from_slice(body).unwrap());
                (201, String::from_utf8(body.to_vec()).unwrap())
            }
            _ => (200, "{}".to_owned()),
        };
        if matches!(fault, Some(Fault::Truncated)) {
            text.truncate(text.len() / 2);
        }
        (code, text)
    }
}

fn failure(code: u16) -> (u16, String) {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code,
        "message": "the test refuses", "reason": "Test",
    });
    (code, status.to_string())
}

/// Runs a Job. Returns the result, the reported states, and the server.
async fn run(server: Server, keep: bool) -> (Result<JobRun, String>, Vec<String>, Server) {
    let server = Arc::new(Mutex::new(server));
    let shared = Arc::clone(&server);
    let service = tower::service_fn(move |request: Request<Body>| {
        let server = Arc::clone(&shared);
        async move {
            let (parts, body) = request.into_parts();
            let body = body.collect_bytes().await.unwrap();
            let path = parts.uri.path().to_owned();
            if path.ends_with("/log") {
                // 64 MiB of each container.
                let query = parts.uri.query().unwrap_or_default();
                assert_eq!(query, "container=main&limitBytes=67108864");
            }
            let fault = {
                let mut server = server.lock().unwrap();
                server.requests.push((parts.method.clone(), path.clone()));
                server.fault(&parts.method, &path)
            };
            if matches!(fault, Some(Fault::Hang)) {
                std::future::pending::<()>().await;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
            let mut server = server.lock().unwrap();
            let (code, text) = server.respond(&parts.method, &path, &body, fault.as_ref());
            let response = Response::builder().status(code);
            Ok::<_, Infallible>(response.body(Body::from(text.into_bytes())).unwrap())
        }
    });
    let client = Client::new(service, "default");
    let request = JobRequest {
        namespace: "prove-gpu".to_owned(),
        objects: vec![
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "prove-gpu"}}),
            json!({"apiVersion": "batch/v1", "kind": "Job",
                "metadata": {"name": "prove", "namespace": "prove-gpu"}}),
        ],
        manager: "gpuc",
        timeout: Duration::from_mins(10),
        keep,
    };
    let mut states = Vec::new();
    let progress = |state: &str| states.push(state.to_owned());
    let result = run_job(&client, &Limits::default(), &request, progress).await;
    let server = std::mem::replace(&mut *server.lock().unwrap(), Server::new(Vec::new()));
    (result, states, server)
}

fn is_deleted(server: &Server) -> bool {
    server
        .requests
        .contains(&(Method::DELETE, NAMESPACE.to_owned()))
}

#[tokio::test(start_paused = true)]
async fn refused_pods_are_explained() {
    let mut server = Server::new(vec![json!({})]);
    server.pods.clear();
    server.events = vec![
        json!({"reason": "FailedCreate", "message": "webhook denied", "lastTimestamp": "2026-11-28T12:00:00Z"}),
        json!({"reason": "FailedCreate", "message": "exceeded quota", "lastTimestamp": "2026-11-28T11:00:00Z"}),
        json!({"reason": "Other", "message": "x", "lastTimestamp": "2026-11-28T13:00:00Z"}),
    ];
    let (result, states, _) = run(server, false).await;
    let expected = "no pods yet (webhook denied)";
    assert_eq!(states, [expected]);
    assert_eq!(result.unwrap().end, JobEnd::TimedOut(expected.to_owned()));
}

const LOG: &str = "[pod/a/main] one\n[pod/a/main] two\n[pod/b/main] one\n[pod/b/main] two\n";

#[tokio::test(start_paused = true)]
async fn logs_of_all_pods_are_read_and_the_namespace_is_deleted() {
    let states = vec![
        json!({}),
        json!({}),
        ended("Complete", "CompletionsReached"),
    ];
    let (result, states, server) = run(Server::new(states), false).await;
    let run = result.unwrap();
    assert_eq!(run.end, JobEnd::Complete);
    assert_eq!(run.log, LOG);
    assert_eq!(run.warnings, [] as [&str; 0]);
    assert_eq!(states, ["2 Succeeded"]);
    assert_eq!(server.created[0]["kind"], "Namespace");
    assert_eq!(
        server.requests.last().unwrap(),
        &(Method::DELETE, NAMESPACE.to_owned())
    );
}

#[tokio::test(start_paused = true)]
async fn a_failed_job_has_a_reason_and_logs() {
    let states = vec![ended("Failed", "FailedIndexes")];
    let (result, _, server) = run(Server::new(states), false).await;
    let run = result.unwrap();
    assert_eq!(
        run.end,
        JobEnd::Failed("FailedIndexes: see the pods".to_owned())
    );
    assert_eq!(run.log, LOG);
    assert!(is_deleted(&server));
}

#[tokio::test(start_paused = true)]
async fn a_job_that_never_ends_times_out_with_what_it_waits_for() {
    let mut server = Server::new(vec![
        json!({"conditions": [{"type": "Complete", "status": "False"}]}),
    ]);
    server.pods = vec![
        json!({
            "metadata": {"name": "a"},
            "spec": {"containers": [{"name": "main"}]},
            "status": {"phase": "Pending", "conditions": [
                {"type": "Ready", "status": "False", "message": "not this one"},
                {"type": "PodScheduled", "status": "False", "message": "0/5 nodes are available"},
            ]},
        }),
        json!({
            "metadata": {"name": "b"},
            "spec": {"containers": [{"name": "main"}]},
            "status": {"phase": "Pending", "containerStatuses": [
                {"state": {"waiting": {"reason": "ContainerCreating"}}},
            ]},
        }),
    ];
    let (result, states, server) = run(server, false).await;
    let expected = "2 Pending (0/5 nodes are available)";
    assert_eq!(result.unwrap().end, JobEnd::TimedOut(expected.to_owned()));
    assert_eq!(states, [expected]);
    assert!(is_deleted(&server));
}

#[tokio::test(start_paused = true)]
async fn an_image_that_cannot_be_pulled_is_reported() {
    let mut server = Server::new(vec![json!({})]);
    server.pods[1]["status"] = json!({"phase": "Pending", "containerStatuses": [
        {"state": {"waiting": {"reason": "ImagePullBackOff", "message": "Back-off pulling image"}}},
    ]});
    let (_, states, _) = run(server, false).await;
    assert_eq!(
        states,
        ["1 Pending, 1 Succeeded (ImagePullBackOff Back-off pulling image)"]
    );
}

#[tokio::test(start_paused = true)]
async fn an_existing_namespace_is_not_touched() {
    let mut server = Server::new(vec![json!({})]);
    server.exists = true;
    let (result, _, server) = run(server, false).await;
    let error = result.unwrap_err();
    assert!(
        error.contains("kubectl delete namespace prove-gpu"),
        "{error}"
    );
    assert!(server.created.is_empty());
    assert!(!is_deleted(&server));
}

#[tokio::test(start_paused = true)]
async fn a_kept_namespace_is_not_deleted() {
    let states = vec![ended("Complete", "")];
    let (result, _, server) = run(Server::new(states), true).await;
    assert_eq!(result.unwrap().end, JobEnd::Complete);
    assert!(!is_deleted(&server));
}

#[tokio::test(start_paused = true)]
async fn an_object_that_cannot_be_created_is_named_and_the_namespace_is_deleted() {
    for (code, path) in [(403, JOB), (422, JOB), (404, "/apis/batch/v1")] {
        let method = if path == JOB {
            Method::PATCH
        } else {
            Method::GET
        };
        let server = Server::new(vec![json!({})]).with_fault(method, path, Fault::Status(code));
        let (result, _, server) = run(server, false).await;
        let error = result.unwrap_err();
        assert!(
            error.starts_with("Job prove cannot be created: "),
            "{error}"
        );
        let is_explained = match code {
            404 => error.ends_with("the API server does not serve the kind"),
            _ => error.contains("the test refuses"),
        };
        assert!(is_explained, "{error}");
        assert!(is_deleted(&server), "{code}");
    }
}

#[tokio::test(start_paused = true)]
async fn short_outages_do_not_end_a_run_and_long_ones_do() {
    let done = || vec![json!({}), ended("Complete", "")];
    for fault in [Fault::Once(500), Fault::Once(429), Fault::Once(410)] {
        let server = Server::new(done()).with_fault(Method::GET, JOB, fault.clone());
        let (result, _, _) = run(server, false).await;
        assert_eq!(result.unwrap().log, LOG, "{fault:?}");
    }
    for fault in [Fault::Status(500), Fault::Hang, Fault::Truncated] {
        let server = Server::new(done()).with_fault(Method::GET, JOB, fault.clone());
        let (result, _, server) = run(server, false).await;
        let error = result.unwrap_err();
        assert!(
            error.starts_with("the state of the Job cannot be read"),
            "{error}"
        );
        assert!(is_deleted(&server), "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn missing_logs_and_failed_deletions_are_warnings() {
    let done = vec![ended("Complete", "")];
    let server = Server::new(done.clone())
        .with_fault(
            Method::GET,
            "/api/v1/namespaces/prove-gpu/pods/a/log",
            Fault::Status(404),
        )
        .with_fault(Method::DELETE, NAMESPACE, Fault::Status(403));
    let (result, _, _) = run(server, false).await;
    let run_without_log = result.unwrap();
    assert_eq!(run_without_log.log, "[pod/b/main] one\n[pod/b/main] two\n");
    let warnings = run_without_log.warnings.join("\n");
    assert!(
        warnings.contains("the log of pod a cannot be read: not found"),
        "{warnings}"
    );
    assert!(
        warnings.contains("run `kubectl delete namespace prove-gpu`"),
        "{warnings}"
    );
    // The namespace is gone already.
    let server = Server::new(done).with_fault(Method::DELETE, NAMESPACE, Fault::Status(404));
    let (result, _, _) = run(server, false).await;
    assert_eq!(result.unwrap().warnings, [] as [&str; 0]);
}
