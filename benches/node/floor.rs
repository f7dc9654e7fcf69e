//! A plugin that does as little as one can with the same libraries: it lists simulated devices, answers with one
//! variable, and watches nothing. What the daemon costs beyond this is what it does.

use std::path::Path;
use std::pin::Pin;

use gpuc_runtime::kubelet::KUBELET_SOCKET;
use gpuc_runtime::kubelet::api::v1beta1::device_plugin_server::{DevicePlugin, DevicePluginServer};
use gpuc_runtime::kubelet::api::v1beta1::registration_client::RegistrationClient;
use gpuc_runtime::kubelet::api::v1beta1::{
    AllocateRequest, AllocateResponse, ContainerAllocateResponse,
    ContainerPreferredAllocationResponse, Device, DevicePluginOptions, Empty, ListAndWatchResponse,
    PreStartContainerRequest, PreStartContainerResponse, PreferredAllocationRequest,
    PreferredAllocationResponse, RegisterRequest,
};
use hyper_util::rt::TokioIo;
use tokio::net::{UnixListener, UnixStream};
use tokio_stream::wrappers::UnixListenerStream;
use tokio_stream::{Stream, StreamExt};
use tonic::transport::{Endpoint, Server};
use tonic::{Request, Response, Status};

/// The word that makes this program one.
pub(crate) const COMMAND: &str = "floor";

const ENDPOINT: &str = "floor.sock";

struct MinimalPlugin {
    devices: Vec<Device>,
}

/// Serves so many devices until it is killed.
pub(crate) async fn serve_minimal_plugin(folder: &Path, count: usize) {
    let device = |index| Device {
        id: format!("GPU-00000000-0000-0000-0000-{index:012}"),
        health: "Healthy".to_owned(),
        topology: None,
    };
    let floor = MinimalPlugin {
        devices: (0..count).map(device).collect(),
    };
    let socket = folder.join(ENDPOINT);
    // One that was killed left it.
    let _ = std::fs::remove_file(&socket);
    let listener = UnixListener::bind(socket).unwrap();
    let server = tokio::spawn(async move {
        let incoming = UnixListenerStream::new(listener);
        let server = DevicePluginServer::new(floor);
        Server::builder()
            .serve_with_incoming(server, incoming)
            .await
    });
    let kubelet = folder.join(KUBELET_SOCKET);
    let connect = tower::service_fn(move |_| {
        let kubelet = kubelet.clone();
        async move { std::io::Result::Ok(TokioIo::new(UnixStream::connect(kubelet).await?)) }
    });
    let endpoint = Endpoint::from_static("http://localhost");
    let channel = endpoint.connect_with_connector(connect).await.unwrap();
    let request = RegisterRequest {
        version: "v1beta1".to_owned(),
        endpoint: ENDPOINT.to_owned(),
        resource_name: "nvidia.com/gpu".to_owned(),
        options: None,
    };
    let mut client = RegistrationClient::new(channel);
    client.register(request).await.unwrap();
    drop(client);
    server.await.unwrap().unwrap();
}

#[tonic::async_trait]
impl DevicePlugin for MinimalPlugin {
    type ListAndWatchStream =
        Pin<Box<dyn Stream<Item = Result<ListAndWatchResponse, Status>> + Send>>;

    async fn get_device_plugin_options(
        &self,
        _: Request<Empty>,
    ) -> Result<Response<DevicePluginOptions>, Status> {
        Ok(Response::new(DevicePluginOptions::default()))
    }

    async fn list_and_watch(
        &self,
        _: Request<Empty>,
    ) -> Result<Response<Self::ListAndWatchStream>, Status> {
        let devices = self.devices.clone();
        let first = tokio_stream::once(Ok(ListAndWatchResponse { devices }));
        let lists = first.chain(tokio_stream::pending());
        Ok(Response::new(Box::pin(lists)))
    }

    async fn get_preferred_allocation(
        &self,
        request: Request<PreferredAllocationRequest>,
    ) -> Result<Response<PreferredAllocationResponse>, Status> {
        let requests = request.into_inner().container_requests.into_iter();
        let first = |size| usize::try_from(size).unwrap_or(0);
        let answers = requests.map(|mut it| {
            it.available_device_i_ds.truncate(first(it.allocation_size));
            ContainerPreferredAllocationResponse {
                device_i_ds: it.available_device_i_ds,
            }
        });
        Ok(Response::new(PreferredAllocationResponse {
            container_responses: answers.collect(),
        }))
    }

    async fn allocate(
        &self,
        request: Request<AllocateRequest>,
    ) -> Result<Response<AllocateResponse>, Status> {
        let requests = request.into_inner().container_requests.into_iter();
        let answers = requests.map(|it| ContainerAllocateResponse {
            envs: [(
                "NVIDIA_VISIBLE_DEVICES".to_owned(),
                it.devices_ids.join(","),
            )]
            .into(),
            ..ContainerAllocateResponse::default()
        });
        Ok(Response::new(AllocateResponse {
            container_responses: answers.collect(),
        }))
    }

    async fn pre_start_container(
        &self,
        _: Request<PreStartContainerRequest>,
    ) -> Result<Response<PreStartContainerResponse>, Status> {
        Ok(Response::new(PreStartContainerResponse {}))
    }
}
