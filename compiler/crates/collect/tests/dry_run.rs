//! Applies objects to a simulated API server as a dry run. The server answers as documented in
//! <https://kubernetes.io/docs/reference/using-api/server-side-apply/> and kubernetes/community
//! `contributors/devel/sig-architecture/api-conventions.md`, 2026-11-28.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gpuc_collect::{Applier, Conflict, DryRun, Labeled, Limits, Refusal, dry_run, labeled};
use http::{Method, Request, Response};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};

/// How the server answers requests of a method for a path.
#[derive(Clone, Debug)]
enum Fault {
    /// With this status and message.
    Status(u16, &'static str),
    /// Once with this status.
    StatusOnce(u16),
    /// With a status that names a namespace.
    NamespaceNotFound,
    /// Not at all.
    Hang,
    /// With the first half of the object.
    Truncated,
}

#[derive(Default)]
struct Server {
    /// The objects by path.
    objects: BTreeMap<String, Value>,
    /// The manager and the field that conflict with a request without `force`, by path.
    conflicts: BTreeMap<String, (&'static str, &'static str)>,
    faults: BTreeMap<(Method, String), Fault>,
    /// The method, the path and the query of each request.
    requests: Vec<(Method, String, String)>,
}

const PATH: &str = "/apis/apps/v1/namespaces/gpu/daemonsets/runtime";

fn failure(code: u16, message: &str, details: &Value) -> (u16, String) {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code,
        "message": message, "reason": "Test", "details": details,
    });
    (code, status.to_string())
}

impl Server {
    fn respond(&mut self, method: &Method, path: &str, query: &str, body: &[u8]) -> (u16, String) {
        let key = (method.clone(), path.to_owned());
        match self.faults.get(&key).cloned() {
            Some(Fault::Status(code, message)) => return failure(code, message, &Value::Null),
            Some(Fault::StatusOnce(code)) => {
                self.faults.remove(&key);
                return failure(code, "once", &Value::Null);
            }
            Some(Fault::NamespaceNotFound) => {
                let details = json!({"name": "gpu", "kind": "namespaces"});
                return failure(404, "namespaces \"gpu\" not found", &details);
            }
            _ => {}
        }
        let resource = |kind: &str, name: &str, namespaced: bool| json!({"kind": kind, "name": name, "namespaced": namespaced});
        match path {
            "/version" => return (200, json!({"gitVersion": "v1.36.2"}).to_string()),
            "/api/v1" => {
                let list = [
                    resource("ConfigMap", "configmaps", true),
                    resource("Namespace", "namespaces", false),
                ];
                return (200, json!({"resources": list}).to_string());
            }
            "/apis/apps/v1" => {
                let list = [
                    resource("Scale", "deployments/scale", true),
                    resource("DaemonSet", "daemonsets", true),
                ];
                return (200, json!({"resources": list}).to_string());
            }
            "/apis/apps/v1/daemonsets" => {
                let items = [
                    json!({"metadata": {"name": "own"}}),
                    json!({"metadata": {"name": "owned", "ownerReferences": [{}]}}),
                ];
                let list = json!({"items": items, "metadata": {}});
                return (200, list.to_string());
            }
            _ => {}
        }
        if *method == Method::GET {
            return match self.objects.get(path) {
                Some(object) => (200, object.to_string()),
                None => failure(404, "not found", &json!({"kind": "daemonsets"})),
            };
        }
        if let Some((manager, field)) = self.conflicts.get(path)
            && !query.contains("force=true")
        {
            let cause = json!({
                "reason": "FieldManagerConflict",
                "message": format!("conflict with \"{manager}\" using apps/v1"),
                "field": field,
            });
            let message = "Apply failed with 1 conflict";
            return failure(409, message, &json!({"causes": [cause]}));
        }
        let mut text = String::from_utf8(body.to_vec()).unwrap();
        if matches!(self.faults.get(&key), Some(Fault::Truncated)) {
            text.truncate(text.len() / 2);
        }
        (200, text)
    }
}

async fn apply_all(server: Server, objects: &[Value]) -> (Vec<DryRun>, Arc<Mutex<Server>>) {
    let (client, server) = client(server);
    let applier = Applier {
        manager: "kubectl",
        known: &["kubectl", "kustomize-controller"],
        added_metadata: &["kustomize.toolkit.fluxcd.io/"],
    };
    let limits = Limits::default();
    let mut count = 0;
    let result = dry_run(&client, &limits, objects.to_vec(), applier, || count += 1).await;
    assert_eq!(count, objects.len());
    let result = result.unwrap();
    for (method, path, query) in &server.lock().unwrap().requests {
        let is_dry = *method == Method::PATCH && query.contains("dryRun=All");
        assert!(is_dry || *method == Method::GET, "{method} {path}?{query}");
    }
    (result, server)
}

fn client(server: Server) -> (Client, Arc<Mutex<Server>>) {
    let server = Arc::new(Mutex::new(server));
    let shared = Arc::clone(&server);
    let service = tower::service_fn(move |request: Request<Body>| {
        let server = Arc::clone(&shared);
        async move {
            let (parts, body) = request.into_parts();
            let body = body.collect_bytes().await.unwrap();
            let path = parts.uri.path().to_owned();
            let query = parts.uri.query().unwrap_or_default().to_owned();
            let hangs = {
                let mut server = server.lock().unwrap();
                let request = (parts.method.clone(), path.clone(), query.clone());
                server.requests.push(request);
                let fault = server.faults.get(&(parts.method.clone(), path.clone()));
                matches!(fault, Some(Fault::Hang))
            };
            if hangs {
                std::future::pending::<()>().await;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
            let mut server = server.lock().unwrap();
            let (code, text) = server.respond(&parts.method, &path, &query, &body);
            let response = Response::builder().status(code);
            Ok::<_, Infallible>(response.body(Body::from(text.into_bytes())).unwrap())
        }
    });
    (Client::new(service, "default"), server)
}

fn daemon_set() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet",
        "metadata": {"name": "runtime", "namespace": "gpu", "labels": {"a": "b"}},
        "spec": {"minReadySeconds": 1},
    })
}

/// The object in the cluster, applied by a manager.
fn live(manager: &str) -> Value {
    let mut live = daemon_set();
    live["metadata"]["labels"]["kustomize.toolkit.fluxcd.io/name"] = "gpu".into();
    live["metadata"]["labels"]["team"] = "x".into();
    live["metadata"]["managedFields"] = json!([
        {"manager": "kube-controller-manager", "operation": "Update", "subresource": "status"},
        {"manager": manager, "operation": "Apply", "time": "2026-11-28T12:00:00Z"},
    ]);
    live
}

fn with_object(manager: &str) -> Server {
    Server {
        objects: [(PATH.to_owned(), live(manager))].into(),
        ..Server::default()
    }
}

fn with_fault(method: Method, fault: Fault) -> Server {
    let mut server = with_object("kubectl");
    server.faults.insert((method, PATH.to_owned()), fault);
    server
}

#[tokio::test(start_paused = true)]
async fn objects_are_applied_by_the_manager_that_applied_them_before() {
    for (manager, expected) in [
        ("kustomize-controller", "kustomize-controller"),
        ("kubectl", "kubectl"),
        ("someone", "kubectl"),
    ] {
        let (answers, server) = apply_all(with_object(manager), &[daemon_set()]).await;
        assert_eq!(answers[0].manager, expected);
        let requests = server.lock().unwrap().requests.clone();
        let (_, path, query) = requests.last().unwrap();
        assert_eq!(path, PATH);
        assert!(
            query.contains(&format!("fieldManager={expected}&")),
            "{query}"
        );
        assert!(!query.contains("force"), "{query}");
    }
}

#[tokio::test(start_paused = true)]
async fn labels_of_gitops_controllers_are_kept_and_those_of_others_are_not_applied() {
    let (answers, _) = apply_all(with_object("kubectl"), &[daemon_set()]).await;
    let predicted = answers[0].predicted.clone().unwrap();
    let expected = json!({"a": "b", "kustomize.toolkit.fluxcd.io/name": "gpu"});
    assert_eq!(predicted["metadata"]["labels"], expected);
    assert_eq!(answers[0].live, Some(live("kubectl")));
}

#[tokio::test(start_paused = true)]
async fn a_missing_object_is_predicted() {
    let (answers, _) = apply_all(Server::default(), &[daemon_set()]).await;
    assert_eq!(answers[0].live, None);
    assert_eq!(answers[0].predicted, Ok(daemon_set()));
}

#[tokio::test(start_paused = true)]
async fn conflicts_are_named_and_overridden_in_the_prediction() {
    let mut server = with_object("kubectl");
    let conflict = ("kubectl-edit", ".spec.minReadySeconds");
    server.conflicts.insert(PATH.to_owned(), conflict);
    let (answers, _) = apply_all(server, &[daemon_set()]).await;
    let expected = Conflict {
        field: ".spec.minReadySeconds".to_owned(),
        manager: "kubectl-edit".to_owned(),
    };
    assert_eq!(answers[0].conflicts, [expected]);
    assert!(answers[0].predicted.is_ok());
}

#[tokio::test(start_paused = true)]
async fn refusals_are_told_apart() {
    let rejected = |code: u16, message: &str| Refusal::Rejected(format!("{code}: {message}"));
    let unanswered = |text: &str| Refusal::NotAnswered(text.to_owned());
    let cases = [
        (
            Fault::Status(403, "User \"x\" cannot patch resource \"daemonsets\""),
            Refusal::Forbidden("patch"),
        ),
        (
            Fault::Status(403, "ValidatingAdmissionPolicy 'p' denied request: no"),
            rejected(403, "ValidatingAdmissionPolicy 'p' denied request: no"),
        ),
        (
            Fault::Status(422, "spec.selector: field is immutable"),
            rejected(422, "spec.selector: field is immutable"),
        ),
        (
            Fault::Status(409, "the object has been modified"),
            rejected(409, "the object has been modified"),
        ),
        (
            Fault::Status(400, "admission webhook \"w\" does not support dry run"),
            unanswered("400: admission webhook \"w\" does not support dry run"),
        ),
        (Fault::Status(503, "later"), unanswered("503: later")),
        (Fault::NamespaceNotFound, Refusal::NamespaceNotFound),
        (
            Fault::Hang,
            unanswered("the API server did not respond in time"),
        ),
        (
            Fault::Truncated,
            unanswered("the response is not complete JSON"),
        ),
    ];
    for (fault, expected) in cases {
        let server = with_fault(Method::PATCH, fault.clone());
        let (answers, _) = apply_all(server, &[daemon_set()]).await;
        assert_eq!(answers[0].predicted, Err(expected), "{fault:?}");
        assert!(answers[0].live.is_some(), "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn objects_that_cannot_be_read_are_not_applied() {
    let cases = [
        (Fault::Status(403, "no"), Refusal::Forbidden("get")),
        (
            Fault::Hang,
            Refusal::NotAnswered("the API server did not respond in time".to_owned()),
        ),
    ];
    for (fault, expected) in cases {
        let server = with_fault(Method::GET, fault);
        let (answers, server) = apply_all(server, &[daemon_set()]).await;
        assert_eq!(answers[0].predicted, Err(expected));
        let requests = server.lock().unwrap().requests.clone();
        assert!(requests.iter().all(|(method, ..)| *method == Method::GET));
    }
}

#[tokio::test(start_paused = true)]
async fn transient_errors_are_retried() {
    let server = with_fault(Method::PATCH, Fault::StatusOnce(503));
    let (answers, _) = apply_all(server, &[daemon_set()]).await;
    assert!(answers[0].predicted.is_ok());
}

#[tokio::test(start_paused = true)]
async fn answers_have_the_order_of_the_objects() {
    let named = |index: usize| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("c{index}")}});
    let mut objects: Vec<Value> = (0..50).map(named).collect();
    objects.push(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}));
    objects.push(json!({"apiVersion": "x/v1", "kind": "Y", "metadata": {"name": "y"}}));
    let role = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a:b/c"}});
    objects.push(role.clone());
    let (answers, server) = apply_all(Server::default(), &objects).await;
    for (object, answer) in objects.iter().zip(&answers).take(50) {
        assert_eq!(answer.predicted.as_ref(), Ok(object));
    }
    assert_eq!(answers[50].predicted, Err(Refusal::KindNotServed));
    assert_eq!(answers[51].predicted, Err(Refusal::KindNotServed));
    assert_eq!(answers[52].predicted, Ok(role));
    let requests = server.lock().unwrap().requests.clone();
    let paths: Vec<&str> = requests.iter().map(|(_, path, _)| path.as_str()).collect();
    assert!(paths.contains(&"/api/v1/namespaces/default/configmaps/c0"));
    assert!(paths.contains(&"/api/v1/namespaces/a%3Ab%2Fc"), "{paths:?}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_answer_is_an_error() {
    let mut server = Server::default();
    let key = (Method::GET, "/version".to_owned());
    server.faults.insert(key, Fault::Hang);
    let (client, _) = client(server);
    let applier = Applier {
        manager: "kubectl",
        known: &[],
        added_metadata: &[],
    };
    let limits = Limits::default();
    let result = dry_run(&client, &limits, vec![daemon_set()], applier, || {}).await;
    assert_eq!(
        result.unwrap_err(),
        "the API server did not respond in time"
    );
}

#[tokio::test(start_paused = true)]
async fn labeled_objects_have_a_kind_and_no_owner() {
    let (client, server) = client(Server::default());
    let kinds = [
        daemon_set(),
        json!({"apiVersion": "v1", "kind": "ConfigMap"}),
    ];
    let found = labeled(&client, &Limits::default(), &kinds, "a/b=c").await;
    let own = json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "own"}});
    let expected = Labeled {
        objects: vec![own],
        // The simulated server has no such list.
        unread: vec![(
            "ConfigMap".to_owned(),
            Refusal::NotAnswered("not found".to_owned()),
        )],
    };
    assert_eq!(found, expected);
    let requests = server.lock().unwrap().requests.clone();
    let list = requests
        .iter()
        .find(|(_, path, _)| path == "/apis/apps/v1/daemonsets");
    assert_eq!(list.unwrap().2, "labelSelector=a%2Fb%3Dc&limit=500");
}
