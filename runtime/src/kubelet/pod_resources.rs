//! Asks the kubelet which container has which device.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;
use std::{fmt, io};

use tokio::net::UnixStream;
use tokio::time::timeout;

use super::api::v1::pod_resources_lister_client::PodResourcesListerClient;
use super::api::v1::{ListPodResourcesRequest, ListPodResourcesResponse};
use super::channel;

/// Where the kubelet answers, on every distribution that leaves the kubelet's root alone.
pub const SOCKET: &str = "/var/lib/kubelet/pod-resources/kubelet.sock";

/// A kubelet that takes longer is asked again at the next scrape.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// Nodes with hundreds of pods answer with more than gRPC's 4 MiB; the kubelet's own clients allow 16.
const LARGEST_ANSWER: usize = 16 * 1024 * 1024;

/// Devices of one resource that one container has.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PodDevices {
    /// The pod's namespace.
    pub namespace: String,
    /// The pod.
    pub pod: String,
    /// The container.
    pub container: String,
    /// `nvidia.com/gpu`.
    pub resource: String,
    /// As the plugin called them.
    pub device_ids: Vec<String>,
}

/// Why the kubelet did not say.
#[derive(Debug)]
pub enum PodResourcesError {
    /// Its socket cannot be reached.
    Unreachable(io::Error),
    /// It did not answer in time.
    Silent,
    /// It said no.
    Refused(String),
}

impl fmt::Display for PodResourcesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(error) => write!(f, "pod resources: cannot be reached: {error}"),
            Self::Silent => write!(f, "pod resources: no answer in {ANSWER_WITHIN:?}"),
            Self::Refused(why) => write!(f, "pod resources: {why}"),
        }
    }
}

impl std::error::Error for PodResourcesError {}

/// The devices of all containers on the node, each container and resource once, in the order of their names.
pub async fn list(socket: &Path) -> Result<Vec<PodDevices>, PodResourcesError> {
    let asked = timeout(ANSWER_WITHIN, ask(socket)).await;
    asked.unwrap_or(Err(PodResourcesError::Silent)).map(flatten)
}

async fn ask(socket: &Path) -> Result<ListPodResourcesResponse, PodResourcesError> {
    let stream = UnixStream::connect(socket).await;
    let stream = stream.map_err(PodResourcesError::Unreachable)?;
    let channel = channel(stream).await;
    let channel = channel.map_err(|error| PodResourcesError::Refused(error.to_string()))?;
    let mut client =
        PodResourcesListerClient::new(channel).max_decoding_message_size(LARGEST_ANSWER);
    let answer = client.list(ListPodResourcesRequest {}).await;
    answer
        .map(tonic::Response::into_inner)
        .map_err(|status| PodResourcesError::Refused(status.message().to_owned()))
}

/// The kubelet writes one entry for each NUMA node, so a container's devices of one resource come in pieces.
fn flatten(answer: ListPodResourcesResponse) -> Vec<PodDevices> {
    let mut found: BTreeMap<(String, String, String, String), Vec<String>> = BTreeMap::new();
    for pod in answer.pod_resources {
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
    fn pieces_of_one_container_are_put_together() {
        let piece = |id: &str| ContainerDevices {
            resource_name: "nvidia.com/gpu".to_owned(),
            device_ids: vec![id.to_owned()],
        };
        let answer = ListPodResourcesResponse {
            pod_resources: vec![PodResources {
                name: "train-0".to_owned(),
                namespace: "research".to_owned(),
                containers: vec![ContainerResources {
                    name: "torch".to_owned(),
                    devices: vec![piece("GPU-1"), piece("GPU-0")],
                }],
            }],
        };
        let found = flatten(answer);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].device_ids, ["GPU-1", "GPU-0"]);
        assert_eq!(
            (found[0].pod.as_str(), found[0].container.as_str()),
            ("train-0", "torch")
        );
    }
}
