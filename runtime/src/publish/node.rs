//! The Node object: labels, a condition, events, and the removal of the startup taint.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Event, Node, NodeCondition, Taint};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use tokio::time::timeout;

/// The field manager of server-side apply.
const MANAGER: &str = "gpuc-runtime";

/// The type of the condition: `True` while every GPU of the node is healthy.
pub const CONDITION: &str = "GPUsHealthy";

/// The namespace of events about cluster-scoped objects.
const EVENTS_NAMESPACE: &str = "default";

/// Maximum number of attempts to remove a taint while other clients change the Node.
const MAX_ATTEMPTS: usize = 5;

/// Timeout of one request to the API server, from the connection to the end of the response. The API server itself
/// ends a request after a minute (`--request-timeout`); a server that is alive answers these small ones in
/// milliseconds.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Timeout of a connection to the API server; shorter than [`REQUEST_TIMEOUT`], so that the error names the cause.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Why a request to the API server failed.
#[derive(Debug)]
pub enum NodeError {
    /// The API server cannot be reached, or it returned an error or an invalid response.
    Failed(Box<kube::Error>),
    /// The response was not complete in time.
    TimedOut(Duration),
}

impl fmt::Display for NodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TimedOut(limit) => write!(f, "the API server does not respond within {limit:?}"),
            Self::Failed(error) => {
                write!(f, "{error}")?;
                // The message of the client is `client error (Connect)`; the sources have the details.
                let mut source = error.source();
                while let Some(cause) = source {
                    write!(f, ": {cause}")?;
                    source = cause.source();
                }
                Ok(())
            }
        }
    }
}

impl Error for NodeError {}

impl NodeError {
    /// Whether another client changed the object meanwhile.
    fn is_conflict(&self) -> bool {
        matches!(self, Self::Failed(error) if matches!(&**error, kube::Error::Api(status) if status.code == 409))
    }
}

impl From<kube::Error> for NodeError {
    fn from(error: kube::Error) -> Self {
        Self::Failed(Box::new(error))
    }
}

/// The client for the daemon's own Node.
#[derive(Clone)]
pub struct NodeClient {
    name: String,
    timeout: Duration,
    nodes: Api<Node>,
    events: Api<Event>,
}

/// The labels and annotations that the daemon applies to the Node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeMetadata {
    /// The labels.
    pub labels: BTreeMap<String, String>,
    /// The annotations.
    pub annotations: BTreeMap<String, String>,
}

/// The health of the node's GPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthReport {
    /// Whether all GPUs are healthy; `None` if it is unknown because driver events are not monitored.
    pub healthy: Option<bool>,
    /// The reason of the condition, in camel case.
    pub reason: &'static str,
    /// The message of the condition.
    pub message: String,
}

impl NodeClient {
    /// Creates the client for the Node with this name.
    pub fn new(client: &Client, name: &str) -> Self {
        Self {
            name: name.to_owned(),
            timeout: REQUEST_TIMEOUT,
            nodes: Api::all(client.clone()),
            events: Api::namespaced(client.clone(), EVENTS_NAMESPACE),
        }
    }

    /// Connects to the API server with the credentials and the address of the pod.
    ///
    /// # Errors
    ///
    /// The process does not run in a pod, or the credentials cannot be read.
    pub fn in_cluster(name: &str) -> Result<Self, String> {
        let config = kube::Config::incluster().map_err(|error| error.to_string())?;
        Self::connect(config, name).map_err(|error| error.to_string())
    }

    /// Connects to an API server. The caller retries failed requests; the client alone would retry 15 times.
    pub(super) fn connect(mut config: kube::Config, name: &str) -> kube::Result<Self> {
        config.connect_timeout = Some(CONNECT_TIMEOUT);
        config.write_timeout = Some(REQUEST_TIMEOUT);
        config.default_retry = false;
        Ok(Self::new(&Client::try_from(config)?, name))
    }

    /// Sets another timeout than [`REQUEST_TIMEOUT`].
    #[cfg(test)]
    pub(super) fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// Waits for a response, at most for the timeout. An abandoned request closes its connection (HTTP/1.1), so that
    /// the next one opens another.
    async fn limit<T>(
        &self,
        response: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, NodeError> {
        match timeout(self.timeout, response).await {
            Ok(response) => Ok(response?),
            Err(_) => Err(NodeError::TimedOut(self.timeout)),
        }
    }

    /// Applies the labels and annotations. Those that the daemon applied before and that are no longer included are
    /// removed. Labels and annotations of other field managers are kept, but the daemon's take precedence.
    pub async fn apply_metadata(&self, metadata: &NodeMetadata) -> Result<(), NodeError> {
        let NodeMetadata {
            labels,
            annotations,
        } = metadata;
        let patch = json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": self.name, "labels": labels, "annotations": annotations},
        });
        let parameters = PatchParams::apply(MANAGER).force();
        let patch = Patch::Apply(&patch);
        self.limit(self.nodes.patch(&self.name, &parameters, &patch))
            .await?;
        Ok(())
    }

    /// Updates the condition. The time of the last transition changes only if the status does.
    pub async fn update_condition(&self, health_report: &HealthReport) -> Result<(), NodeError> {
        let status = match health_report.healthy {
            Some(true) => "True",
            Some(false) => "False",
            None => "Unknown",
        };
        let node = self.limit(self.nodes.get_status(&self.name)).await?;
        let conditions = node
            .status
            .and_then(|status| status.conditions)
            .unwrap_or_default();
        let before = conditions
            .into_iter()
            .find(|condition| condition.type_ == CONDITION);
        let now = Time(Timestamp::now());
        let since = before.filter(|before| before.status == status);
        let condition = NodeCondition {
            type_: CONDITION.to_owned(),
            status: status.to_owned(),
            reason: Some(health_report.reason.to_owned()),
            message: Some(health_report.message.clone()),
            last_heartbeat_time: Some(now.clone()),
            last_transition_time: since
                .and_then(|before| before.last_transition_time)
                .or(Some(now)),
        };
        let patch = json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": self.name},
            "status": {"conditions": [condition]},
        });
        let parameters = PatchParams::apply(MANAGER).force();
        let patch = Patch::Apply(&patch);
        self.limit(self.nodes.patch_status(&self.name, &parameters, &patch))
            .await?;
        Ok(())
    }

    /// Creates an event about the node.
    pub async fn create_event(
        &self,
        warning: bool,
        reason: &str,
        message: &str,
    ) -> Result<(), NodeError> {
        let now = Timestamp::now();
        let kind = if warning { "Warning" } else { "Normal" };
        let event = json!({
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {
                "namespace": EVENTS_NAMESPACE,
                "name": format!("{}.{:x}", self.name, now.as_nanosecond()),
            },
            // Like the kubelet, this uses the node's name as the UID; `kubectl describe node` searches for it.
            "involvedObject": {"apiVersion": "v1", "kind": "Node", "name": self.name, "uid": self.name},
            "type": kind,
            "reason": reason,
            "message": message,
            "source": {"component": MANAGER, "host": self.name},
            "reportingComponent": MANAGER,
            "reportingInstance": self.name,
            "firstTimestamp": now.to_string(),
            "lastTimestamp": now.to_string(),
            "count": 1,
        });
        let event: Event = serde_json::from_value(event).map_err(kube::Error::SerdeError)?;
        self.limit(self.events.create(&PostParams::default(), &event))
            .await?;
        Ok(())
    }

    /// Removes the taints with this key. Returns whether there was one.
    pub async fn remove_taint(&self, key: &str) -> Result<bool, NodeError> {
        for tried in 1.. {
            let node = self.limit(self.nodes.get(&self.name)).await?;
            let version = node.resource_version();
            let taints = node.spec.and_then(|spec| spec.taints).unwrap_or_default();
            let (matching, remaining): (Vec<Taint>, Vec<Taint>) =
                taints.into_iter().partition(|taint| taint.key == key);
            if matching.is_empty() {
                return Ok(false);
            }
            // The version makes the patch fail if another client changed the taints meanwhile.
            let patch = json!({
                "metadata": {"resourceVersion": version},
                "spec": {"taints": remaining},
            });
            let (parameters, patch) = (PatchParams::default(), Patch::Merge(&patch));
            match self
                .limit(self.nodes.patch(&self.name, &parameters, &patch))
                .await
            {
                Err(error) if error.is_conflict() && tried < MAX_ATTEMPTS => {}
                result => return result.map(|_| true),
            }
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::super::api_server::{NODE, ServerState, start_server};
    use super::*;

    fn labels(labels: &[(&str, &str)]) -> BTreeMap<String, String> {
        let owned = |&(key, value): &(&str, &str)| (key.to_owned(), value.to_owned());
        labels.iter().map(owned).collect()
    }

    #[tokio::test]
    async fn only_own_labels_change() {
        let (client, known) = start_server(ServerState {
            labels: labels(&[("zone", "a"), ("nvidia.com/gpu.count", "7")]),
            ..ServerState::default()
        });
        let node = NodeClient::new(&client, NODE);
        let metadata = |pairs: &[(&str, &str)]| NodeMetadata {
            labels: labels(pairs),
            ..NodeMetadata::default()
        };
        let first = metadata(&[
            ("nvidia.com/gpu.count", "8"),
            ("nvidia.com/mig.strategy", "single"),
        ]);
        node.apply_metadata(&first).await.unwrap();
        node.apply_metadata(&metadata(&[("nvidia.com/gpu.count", "4")]))
            .await
            .unwrap();
        let expected = labels(&[("zone", "a"), ("nvidia.com/gpu.count", "4")]);
        assert_eq!(known.lock().unwrap().labels, expected);
    }

    #[tokio::test]
    async fn condition_keeps_its_transition_time() {
        let (client, known) = start_server(ServerState::default());
        let node = NodeClient::new(&client, NODE);
        let condition = || {
            let known = known.lock().unwrap();
            assert_eq!(known.conditions.len(), 1);
            known.conditions[0].clone()
        };
        let unhealthy = |message: &str| HealthReport {
            healthy: Some(false),
            reason: "GPUUnhealthy",
            message: message.to_owned(),
        };
        node.update_condition(&unhealthy("GPU 3: XID 79"))
            .await
            .unwrap();
        let first = condition();
        assert_eq!(
            (&first["type"], &first["status"]),
            (&json!(CONDITION), &json!("False"))
        );
        let long_ago = json!("2026-01-01T00:00:00Z");
        known.lock().unwrap().conditions[0]["lastTransitionTime"] = long_ago.clone();
        node.update_condition(&unhealthy("GPU 3 and 4: XID 79"))
            .await
            .unwrap();
        assert_eq!(condition()["lastTransitionTime"], long_ago);
        assert_eq!(condition()["message"], "GPU 3 and 4: XID 79");
        let healthy = HealthReport {
            healthy: Some(true),
            reason: "GPUsHealthy",
            message: "all 8 GPUs are healthy".to_owned(),
        };
        node.update_condition(&healthy).await.unwrap();
        assert_eq!(condition()["status"], "True");
        assert_ne!(condition()["lastTransitionTime"], long_ago);
    }

    #[tokio::test]
    async fn taint_is_removed_despite_conflicts() {
        let taint = |key: &str| json!({"key": key, "effect": "NoSchedule"});
        let (client, known) = start_server(ServerState {
            taints: vec![taint("gpuc.dev/starting"), taint("nvidia.com/gpu")],
            conflicts: 2,
            ..ServerState::default()
        });
        let node = NodeClient::new(&client, NODE);
        assert!(node.remove_taint("gpuc.dev/starting").await.unwrap());
        assert_eq!(known.lock().unwrap().taints, [taint("nvidia.com/gpu")]);
        let before = known.lock().unwrap().requests.len();
        assert!(!node.remove_taint("gpuc.dev/starting").await.unwrap());
        assert_eq!(
            known.lock().unwrap().requests.len(),
            before + 1,
            "no taint to remove, so no write"
        );
    }

    #[tokio::test]
    async fn event_refers_to_the_node() {
        let (client, known) = start_server(ServerState::default());
        let node = NodeClient::new(&client, NODE);
        node.create_event(true, "GPUUnhealthy", "GPU 3: XID 79")
            .await
            .unwrap();
        let known = known.lock().unwrap();
        let event = &known.events[0];
        assert_eq!(event["involvedObject"]["name"], NODE);
        assert_eq!(
            (&event["type"], &event["reason"]),
            (&json!("Warning"), &json!("GPUUnhealthy"))
        );
    }

    #[tokio::test]
    async fn permanent_conflict_is_an_error() {
        let (client, _known) = start_server(ServerState {
            taints: vec![json!({"key": "gpuc.dev/starting", "effect": "NoSchedule"})],
            conflicts: usize::MAX,
            ..ServerState::default()
        });
        let node = NodeClient::new(&client, NODE);
        let error = node.remove_taint("gpuc.dev/starting").await.unwrap_err();
        assert!(error.is_conflict(), "{error}");
    }
}
