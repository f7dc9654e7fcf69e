//! The kubelet's PodResources API with fixed responses.

use std::path::Path;

use gpuc_runtime::kubelet::api::v1::pod_resources_lister_server::{
    PodResourcesLister, PodResourcesListerServer,
};
use gpuc_runtime::kubelet::api::v1::{
    ContainerDevices, ContainerResources, ListPodResourcesRequest, ListPodResourcesResponse,
    PodResources,
};
use tokio::net::UnixListener;
use tokio::task::JoinHandle;
use tokio_stream::wrappers::UnixListenerStream;
use tonic::transport::Server;
use tonic::{Request, Response, Status};

struct Lister(ListPodResourcesResponse);

#[tonic::async_trait]
impl PodResourcesLister for Lister {
    async fn list(
        &self,
        _: Request<ListPodResourcesRequest>,
    ) -> Result<Response<ListPodResourcesResponse>, Status> {
        Ok(Response::new(self.0.clone()))
    }
}

/// A pod with one container and these devices of one resource. Each device has its own entry, as with NUMA nodes.
pub fn pod(name: &str, container: &str, resource: &str, ids: &[&str]) -> PodResources {
    let devices = ids.iter().map(|id| ContainerDevices {
        resource_name: resource.to_owned(),
        device_ids: vec![(*id).to_owned()],
    });
    PodResources {
        name: name.to_owned(),
        namespace: "default".to_owned(),
        containers: vec![ContainerResources {
            name: container.to_owned(),
            devices: devices.collect(),
        }],
    }
}

/// Serves these pods until the task is aborted.
pub fn serve(socket: &Path, pod_resources: Vec<PodResources>) -> JoinHandle<()> {
    let listener = UnixListener::bind(socket).unwrap();
    let lister = Lister(ListPodResourcesResponse { pod_resources });
    let server = PodResourcesListerServer::new(lister);
    let incoming = UnixListenerStream::new(listener);
    tokio::spawn(async move {
        let served = Server::builder().serve_with_incoming(server, incoming);
        served.await.unwrap();
    })
}
