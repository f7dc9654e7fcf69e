//! A fake Kubernetes API server with the features that the daemon uses: one Node and its events, server-side apply with
//! field managers, and merge patches with optimistic locking. It can have faults.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Body as HttpBody, Bytes, Frame};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tonic::codegen::http::{Method, Request, Response};

/// The node's name.
pub(crate) const NODE: &str = "node-1";

/// A fault of the server.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    /// The request is accepted and never answered.
    Hang,
    /// The response starts, and its body never ends.
    HangInBody,
    /// The response comes after this time.
    Late(Duration),
    /// The response is not JSON.
    Garbage,
    /// The response ends in the middle.
    Truncated,
    /// The response has this status code and reason.
    Refused(u16, &'static str),
}

/// The state of the server.
#[derive(Debug, Default)]
pub(crate) struct ServerState {
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) annotations: BTreeMap<String, String>,
    /// The labels that server-side apply has set, by field manager.
    pub(crate) owned: BTreeMap<String, Vec<String>>,
    pub(crate) conditions: Vec<Value>,
    pub(crate) taints: Vec<Value>,
    pub(crate) events: Vec<Value>,
    /// The resource version of the node.
    pub(crate) version: u64,
    /// Number of patches that fail with a conflict.
    pub(crate) conflicts: usize,
    /// Faults by the beginning of the method and the path: `POST`, `PATCH /api/v1/nodes/node-1/status`. The longest
    /// match counts.
    pub(crate) faults: BTreeMap<&'static str, Fault>,
    /// Every request: method and path.
    pub(crate) requests: Vec<String>,
}

/// A server, and a client of it.
pub(crate) fn start_server(known: ServerState) -> (Client, Arc<Mutex<ServerState>>) {
    let known = Arc::new(Mutex::new(known));
    let shared = Arc::clone(&known);
    let service = tower::service_fn(move |request: Request<Body>| {
        let known = Arc::clone(&shared);
        async move {
            let (head, body) = request.into_parts();
            let bytes = body.collect_bytes().await.unwrap();
            let sent: Value = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
            let kind = head.headers.get("content-type");
            let kind = kind.map_or("", |kind| kind.to_str().unwrap()).to_owned();
            let request = format!("{} {}", head.method, head.uri.path());
            let fault = {
                let mut known = known.lock().unwrap();
                known.requests.push(request.clone());
                known.fault(&request)
            };
            match fault {
                Some(Fault::Hang) => std::future::pending().await,
                Some(Fault::Late(delay)) => tokio::time::sleep(delay).await,
                _ => {}
            }
            let respond = || {
                let mut known = known.lock().unwrap();
                known.respond(&head.method, head.uri.path(), &kind, &sent)
            };
            let (code, answer) = match fault {
                Some(Fault::Refused(code, reason)) => refuse(code, reason),
                _ => respond(),
            };
            let answer = answer.to_string().into_bytes();
            let is_endless = matches!(fault, Some(Fault::HangInBody));
            let sent = match fault {
                Some(Fault::Garbage) => b"<html>502</html>".to_vec(),
                Some(Fault::Truncated) => answer[..answer.len() / 2].to_vec(),
                _ => answer,
            };
            let body = ResponseBody {
                sent: Some(sent.into()),
                is_endless,
            };
            let response = Response::builder()
                .status(code)
                .header("content-type", "application/json");
            Ok::<_, Infallible>(response.body(body).unwrap())
        }
    });
    (Client::new(service, "default"), known)
}

/// The body of a response, which may never end.
struct ResponseBody {
    sent: Option<Bytes>,
    is_endless: bool,
}

impl HttpBody for ResponseBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.sent.take() {
            Some(sent) => Poll::Ready(Some(Ok(Frame::data(sent)))),
            None if self.is_endless => Poll::Pending,
            None => Poll::Ready(None),
        }
    }
}

fn refuse(code: u16, reason: &str) -> (u16, Value) {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": reason, "reason": reason, "code": code,
    });
    (code, status)
}

impl ServerState {
    fn fault(&self, request: &str) -> Option<Fault> {
        let matching = self
            .faults
            .iter()
            .filter(|(prefix, _)| request.starts_with(**prefix));
        let longest = matching.max_by_key(|(prefix, _)| prefix.len());
        longest.map(|(_, fault)| fault.clone())
    }

    fn node_object(&self) -> Value {
        json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": NODE, "labels": self.labels, "resourceVersion": self.version.to_string()},
            "spec": {"taints": self.taints},
            "status": {"conditions": self.conditions},
        })
    }

    fn respond(&mut self, method: &Method, path: &str, kind: &str, sent: &Value) -> (u16, Value) {
        let node = format!("/api/v1/nodes/{NODE}");
        let status = format!("{node}/status");
        match (method.as_str(), kind) {
            ("GET", _) if path == node || path == status => (200, self.node_object()),
            ("POST", _) if path == "/api/v1/namespaces/default/events" => {
                self.events.push(sent.clone());
                (201, sent.clone())
            }
            ("PATCH", "application/apply-patch+yaml") if path == node => {
                let labels = sent["metadata"]["labels"]
                    .as_object()
                    .cloned()
                    .unwrap_or_default();
                let before = self.owned.remove("gpuc-runtime").unwrap_or_default();
                for key in before.iter().filter(|key| !labels.contains_key(*key)) {
                    self.labels.remove(key);
                }
                for (key, value) in &labels {
                    self.labels
                        .insert(key.clone(), value.as_str().unwrap().to_owned());
                }
                let annotations = sent["metadata"]["annotations"].as_object().cloned();
                for (key, value) in annotations.into_iter().flatten() {
                    self.annotations
                        .insert(key, value.as_str().unwrap().to_owned());
                }
                self.owned
                    .insert("gpuc-runtime".to_owned(), labels.keys().cloned().collect());
                self.version += 1;
                (200, self.node_object())
            }
            ("PATCH", "application/apply-patch+yaml") if path == status => {
                for condition in sent["status"]["conditions"].as_array().unwrap() {
                    self.conditions
                        .retain(|other| other["type"] != condition["type"]);
                    self.conditions.push(condition.clone());
                }
                self.version += 1;
                (200, self.node_object())
            }
            ("PATCH", "application/merge-patch+json") if path == node => {
                let version = &sent["metadata"]["resourceVersion"];
                if self.conflicts > 0 {
                    self.conflicts -= 1;
                    self.version += 1;
                }
                if *version != json!(self.version.to_string()) {
                    return refuse(409, "Conflict");
                }
                self.taints = sent["spec"]["taints"].as_array().unwrap().clone();
                self.version += 1;
                (200, self.node_object())
            }
            _ => refuse(404, "NotFound"),
        }
    }
}
