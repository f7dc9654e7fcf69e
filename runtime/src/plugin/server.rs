//! The gRPC service of one resource, answered from the current state.

use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::{mpsc, watch};
use tokio_stream::Stream;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status};

use super::connection::ConnectionUsage;
use super::{AllocationHandler, AllocationRejection};
use crate::allocate::ContainerAllocation;
use crate::device::{AdvertisedResource, KubeletDevice};
use crate::kubelet::api::v1beta1::device_plugin_server::DevicePlugin;
use crate::kubelet::api::v1beta1::{
    AllocateRequest, AllocateResponse, CdiDevice, ContainerAllocateResponse,
    ContainerPreferredAllocationResponse, Device, DevicePluginOptions, DeviceSpec, Empty,
    ListAndWatchResponse, Mount, NumaNode, PreStartContainerRequest, PreStartContainerResponse,
    PreferredAllocationRequest, PreferredAllocationResponse, TopologyInfo,
};
use crate::kubelet::register::plugin_options;
use crate::state::State;

/// The kubelet's name of a usable device.
pub const HEALTHY: &str = "Healthy";

/// The kubelet's name of a device that must not be allocated.
pub const UNHEALTHY: &str = "Unhealthy";

/// Maximum length of an error message. It is sent in an HTTP header and appears in an event of the pod, so that it must
/// stay short even for a request with thousands of devices.
const MAX_MESSAGE_BYTES: usize = 1024;

/// Maximum number of containers per request. The kubelet sends one at a time (`endpointImpl.allocate` in
/// kubernetes/kubernetes pkg/kubelet/cm/devicemanager/endpoint.go). A request can hold hundreds of thousands of empty
/// ones, which would block other requests for minutes.
const MAX_CONTAINERS: usize = 64;

/// Whether and how a server ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StopSignal {
    /// It keeps running.
    KeepRunning,
    /// The node no longer advertises the resource.
    ResourceRemoved,
    /// The daemon shuts down.
    DaemonShutdown,
}

/// The service of one resource.
#[derive(Clone)]
pub(super) struct Service {
    pub(super) resource: Arc<str>,
    pub(super) state: watch::Receiver<Arc<State>>,
    pub(super) handler: Arc<dyn AllocationHandler>,
    pub(super) stop_signal: watch::Receiver<StopSignal>,
    /// The number of connected ListAndWatch clients.
    pub(super) clients: watch::Sender<usize>,
}

/// Returns the device list of a resource; empty if the node does not advertise it.
pub fn device_list(state: &State, resource: &str) -> Vec<Device> {
    let devices = state
        .advertised_resource(resource)
        .map(|resource| resource.devices.iter())
        .unwrap_or_default();
    devices
        .map(|device| to_kubelet_api(state, device))
        .collect()
}

fn to_kubelet_api(state: &State, device: &KubeletDevice) -> Device {
    let health = match state.unhealthy_reason(device) {
        None => HEALTHY,
        Some(_) => UNHEALTHY,
    };
    // Without a known NUMA node, no topology hint is sent: node 0 would be wrong.
    let topology = device.numa.map(|numa| TopologyInfo {
        nodes: vec![NumaNode { id: numa.into() }],
    });
    Device {
        id: device.id.clone(),
        health: health.to_owned(),
        topology,
    }
}

#[tonic::async_trait]
impl DevicePlugin for Service {
    type ListAndWatchStream =
        Pin<Box<dyn Stream<Item = Result<ListAndWatchResponse, Status>> + Send>>;

    async fn get_device_plugin_options(
        &self,
        _: Request<Empty>,
    ) -> Result<Response<DevicePluginOptions>, Status> {
        Ok(Response::new(plugin_options()))
    }

    async fn list_and_watch(
        &self,
        request: Request<Empty>,
    ) -> Result<Response<Self::ListAndWatchStream>, Status> {
        let usage = request.extensions().get::<ConnectionUsage>();
        let open_list = usage.map(ConnectionUsage::watch);
        // At most one list waits for a slow reader; later changes are in the next one.
        let (sender, receiver) = mpsc::channel(1);
        let listener = ListClient::new(self);
        tokio::spawn(async move {
            listener.send_lists(&sender).await;
            drop(open_list);
        });
        Ok(Response::new(Box::pin(ReceiverStream::new(receiver))))
    }

    async fn get_preferred_allocation(
        &self,
        request: Request<PreferredAllocationRequest>,
    ) -> Result<Response<PreferredAllocationResponse>, Status> {
        let state = self.state();
        let advertised = self.advertised_resource(&state)?;
        let requests = request.into_inner().container_requests;
        check_container_count(requests.len())?;
        let requests = requests.into_iter();
        let container_responses = requests
            .map(|request| ContainerPreferredAllocationResponse {
                device_i_ds: self.handler.preferred_devices(
                    &state,
                    advertised,
                    &request.available_device_i_ds,
                    &request.must_include_device_i_ds,
                    usize::try_from(request.allocation_size).unwrap_or(0),
                ),
            })
            .collect();
        Ok(Response::new(PreferredAllocationResponse {
            container_responses,
        }))
    }

    async fn allocate(
        &self,
        request: Request<AllocateRequest>,
    ) -> Result<Response<AllocateResponse>, Status> {
        let result = self.allocate_all(&request.into_inner());
        if let Err(status) = &result {
            tracing::warn!(
                resource = &*self.resource,
                "allocation refused: {}",
                status.message()
            );
        }
        result.map(Response::new)
    }

    async fn pre_start_container(
        &self,
        _: Request<PreStartContainerRequest>,
    ) -> Result<Response<PreStartContainerResponse>, Status> {
        Ok(Response::new(PreStartContainerResponse {}))
    }
}

impl Service {
    /// Returns the current state without holding its lock.
    fn state(&self) -> Arc<State> {
        Arc::clone(&self.state.borrow())
    }

    fn advertised_resource<'s>(&self, state: &'s State) -> Result<&'s AdvertisedResource, Status> {
        state.advertised_resource(&self.resource).ok_or_else(|| {
            Status::failed_precondition(format!(
                "{}: this node no longer advertises this resource",
                self.resource
            ))
        })
    }

    /// Allocates the devices of all containers of a request, or of none.
    fn allocate_all(&self, request: &AllocateRequest) -> Result<AllocateResponse, Status> {
        let state = self.state();
        let advertised = self.advertised_resource(&state)?;
        check_container_count(request.container_requests.len())?;
        let requests = request.container_requests.iter();
        let container_responses = requests
            .map(|request| {
                self.handler
                    .allocate(&state, advertised, &request.devices_ids)
            })
            .map(|grant| grant.map(to_container_response).map_err(to_status))
            .collect::<Result<_, _>>()?;
        Ok(AllocateResponse {
            container_responses,
        })
    }
}

/// Checks the number of containers.
fn check_container_count(containers: usize) -> Result<(), Status> {
    if containers <= MAX_CONTAINERS {
        return Ok(());
    }
    Err(Status::invalid_argument(format!(
        "{containers} containers in one request: at most {MAX_CONTAINERS} are allowed"
    )))
}

fn to_container_response(grant: ContainerAllocation) -> ContainerAllocateResponse {
    let mounts = grant.mounts.into_iter().map(|mount| Mount {
        container_path: mount.container_path,
        host_path: mount.host_path,
        read_only: mount.read_only,
    });
    let devices = grant.devices.into_iter().map(|node| DeviceSpec {
        container_path: node.container_path,
        host_path: node.host_path,
        permissions: node.permissions,
    });
    let cdi_devices = grant.cdi_devices.into_iter();
    ContainerAllocateResponse {
        envs: grant.envs,
        mounts: mounts.collect(),
        devices: devices.collect(),
        annotations: grant.annotations,
        cdi_devices: cdi_devices.map(|name| CdiDevice { name }).collect(),
    }
}

fn to_status(refused: AllocationRejection) -> Status {
    let (code, mut message) = match refused {
        AllocationRejection::Invalid(message) => (tonic::Code::InvalidArgument, message),
        AllocationRejection::Unusable(message) => (tonic::Code::FailedPrecondition, message),
    };
    if message.len() > MAX_MESSAGE_BYTES {
        message.truncate(message.floor_char_boundary(MAX_MESSAGE_BYTES));
        message.push('…');
    }
    Status::new(code, message)
}

/// A ListAndWatch client; counted while it is connected.
struct ListClient {
    resource: Arc<str>,
    state: watch::Receiver<Arc<State>>,
    ending: watch::Receiver<StopSignal>,
    listeners: watch::Sender<usize>,
}

impl ListClient {
    fn new(service: &Service) -> Self {
        service.clients.send_modify(|listeners| *listeners += 1);
        Self {
            resource: Arc::clone(&service.resource),
            state: service.state.clone(),
            ending: service.stop_signal.clone(),
            listeners: service.clients.clone(),
        }
    }

    /// Sends the list at once and after each change, until the client or the resource is gone.
    async fn send_lists(mut self, sender: &mpsc::Sender<Result<ListAndWatchResponse, Status>>) {
        let mut sent: Option<Vec<Device>> = None;
        loop {
            // Reserve capacity first, then read the state: the list is never older than the reservation.
            let Ok(permit) = sender.reserve().await else {
                return;
            };
            let state = Arc::clone(&self.state.borrow_and_update());
            let ending = *self.ending.borrow_and_update();
            let devices = match ending {
                StopSignal::KeepRunning => device_list(&state, &self.resource),
                // The kubelet keeps the last list for minutes after the end, so that the last list must be empty.
                StopSignal::ResourceRemoved => Vec::new(),
                StopSignal::DaemonShutdown => return,
            };
            if sent.as_ref() == Some(&devices) {
                drop(permit);
            } else {
                sent = Some(devices.clone());
                permit.send(Ok(ListAndWatchResponse { devices }));
            }
            if ending == StopSignal::ResourceRemoved {
                return;
            }
            tokio::select! {
                changed = self.state.changed() => if changed.is_err() { return },
                changed = self.ending.changed() => if changed.is_err() { return },
                () = sender.closed() => return,
            }
        }
    }
}

impl Drop for ListClient {
    fn drop(&mut self) {
        self.listeners.send_modify(|listeners| *listeners -= 1);
    }
}
