//! Queries the kubelet for the devices of each container.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;
use std::{fmt, io};

use tokio::net::UnixStream;
use tokio::time::timeout;

use super::api::v1::pod_resources_lister_client::PodResourcesListerClient;
use super::api::v1::{ListPodResourcesRequest, ListPodResourcesResponse};
use super::channel_over;

/// The kubelet's socket, on every distribution that keeps the kubelet's default root directory.
pub const POD_RESOURCES_SOCKET: &str = "/var/lib/kubelet/pod-resources/kubelet.sock";

/// Timeout; a slow kubelet is queried again at the next scrape.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Message size limit: nodes with hundreds of pods respond with more than gRPC's 4 MiB; the kubelet's own clients allow
/// 16.
const MAX_RESPONSE_BYTES: usize = 16 * 1024 * 1024;

/// The devices of one resource that one container has.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PodDevices {
    /// The pod's namespace.
    pub namespace: String,
    /// The pod.
    pub pod: String,
    /// The container.
    pub container: String,
    /// The resource: `nvidia.com/gpu`.
    pub resource: String,
    /// The device IDs, as listed by the plugin.
    pub device_ids: Vec<String>,
}

/// Why the query failed.
#[derive(Debug)]
pub enum PodResourcesError {
    /// The connection failed.
    Unreachable(io::Error),
    /// The kubelet did not respond in time.
    TimedOut,
    /// The kubelet returned an error.
    Rejected(String),
}

impl fmt::Display for PodResourcesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(error) => write!(f, "pod resources: cannot connect: {error}"),
            Self::TimedOut => write!(f, "pod resources: no answer in {RESPONSE_TIMEOUT:?}"),
            Self::Rejected(reason) => write!(f, "pod resources: {reason}"),
        }
    }
}

impl std::error::Error for PodResourcesError {}

/// Lists the devices of all containers on the node, one entry per container and resource, sorted by name.
pub async fn list_pod_devices(socket: &Path) -> Result<Vec<PodDevices>, PodResourcesError> {
    let response = timeout(RESPONSE_TIMEOUT, query(socket)).await;
    response
        .unwrap_or(Err(PodResourcesError::TimedOut))
        .map(flatten)
}

async fn query(socket: &Path) -> Result<ListPodResourcesResponse, PodResourcesError> {
    let stream = UnixStream::connect(socket).await;
    let stream = stream.map_err(PodResourcesError::Unreachable)?;
    let channel = channel_over(stream).await;
    let channel = channel.map_err(|error| PodResourcesError::Rejected(error.to_string()))?;
    let mut client =
        PodResourcesListerClient::new(channel).max_decoding_message_size(MAX_RESPONSE_BYTES);
    let response = client.list(ListPodResourcesRequest {}).await;
    response
        .map(tonic::Response::into_inner)
        .map_err(|status| PodResourcesError::Rejected(status.message().to_owned()))
}

/// The kubelet returns one entry per NUMA node, so a container's devices of one resource can be in several entries.
fn flatten(response: ListPodResourcesResponse) -> Vec<PodDevices> {
    let mut found: BTreeMap<(String, String, String, String), Vec<String>> = BTreeMap::new();
    for pod in response.pod_resources {
        for container in pod.containers {
            for devices in container.devices {
                let key = (
                    pod.namespace.clone(),
                    pod.name.clone(),
                    container.name.clone(),
                    devices.resource_name,
                );
                found.entry(key).or_default().extend(devices.device_ids);
            }
        }
    }
    let found = found.into_iter();
    found
        .map(
            |((namespace, pod, container, resource), device_ids)| PodDevices {
                namespace,
                pod,
                container,
                resource,
                device_ids,
            },
        )
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kubelet::api::v1::{ContainerDevices, ContainerResources, PodResources};

    #[test]
    fn numa_entries_of_a_container_are_merged() {
        let piece = |id: &str| ContainerDevices {
            resource_name: "nvidia.com/gpu".to_owned(),
            device_ids: vec![id.to_owned()],
        };
        let response = ListPodResourcesResponse {
            pod_resources: vec![PodResources {
                name: "train-0".to_owned(),
                namespace: "research".to_owned(),
                containers: vec![ContainerResources {
                    name: "torch".to_owned(),
                    devices: vec![piece("GPU-1"), piece("GPU-0")],
                }],
            }],
        };
        let found = flatten(response);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].device_ids, ["GPU-1", "GPU-0"]);
        assert_eq!(
            (found[0].pod.as_str(), found[0].container.as_str()),
            ("train-0", "torch")
        );
    }
}
