//! The five questions that the kubelet asks about one resource, answered from the state of the moment.

use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::{mpsc, watch};
use tokio_stream::Stream;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status};

use super::{Answers, Refused};
use crate::allocate::Grant;
use crate::device::{Offer, Share};
use crate::kubelet::api::v1beta1::device_plugin_server::DevicePlugin;
use crate::kubelet::api::v1beta1::{
    AllocateRequest, AllocateResponse, CdiDevice, ContainerAllocateResponse,
    ContainerPreferredAllocationResponse, Device, DevicePluginOptions, DeviceSpec, Empty,
    ListAndWatchResponse, Mount, NumaNode, PreStartContainerRequest, PreStartContainerResponse,
    PreferredAllocationRequest, PreferredAllocationResponse, TopologyInfo,
};
use crate::kubelet::register::options;
use crate::state::State;

/// What the kubelet calls a device that can be used.
pub const HEALTHY: &str = "Healthy";

/// What the kubelet calls a device that must not be handed out.
pub const UNHEALTHY: &str = "Unhealthy";

/// A message travels in an HTTP header and ends up in an event of the pod; a request that names thousands of devices
/// must not make it too long for either.
const LONGEST_MESSAGE: usize = 1024;

/// The most containers that one request may ask for. The kubelet asks for one at a time (`endpointImpl.allocate` in
/// kubernetes/kubernetes pkg/kubelet/cm/devicemanager/endpoint.go); hundreds of thousands that say nothing fit into one
/// request, and nobody else would be answered for minutes.
const MOST_CONTAINERS: usize = 64;

/// How a server ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// Not yet.
    No,
    /// The node no longer has the resource.
    ResourceGone,
    /// The daemon leaves.
    Shutdown,
}

/// What answers about one resource.
#[derive(Clone)]
pub(super) struct Service {
    pub(super) resource: Arc<str>,
    pub(super) state: watch::Receiver<Arc<State>>,
    pub(super) answers: Arc<dyn Answers>,
    pub(super) ending: watch::Receiver<Ending>,
    /// How many listen to the list.
    pub(super) listeners: watch::Sender<usize>,
}

/// What is listed of a resource now; nothing where the node does not have it.
pub fn list(state: &State, resource: &str) -> Vec<Device> {
    let shares = state
        .offer(resource)
        .map(|offer| offer.shares.iter())
        .unwrap_or_default();
    shares.map(|share| device(state, share)).collect()
}

fn device(state: &State, share: &Share) -> Device {
    let health = match state.trouble(share) {
        None => HEALTHY,
        Some(_) => UNHEALTHY,
    };
    // A GPU whose node nobody knows fits everywhere; node 0 would be a lie.
    let topology = share.numa.map(|numa| TopologyInfo {
        nodes: vec![NumaNode { id: numa.into() }],
    });
    Device {
        id: share.id.clone(),
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
        Ok(Response::new(options()))
    }

    async fn list_and_watch(
        &self,
        _: Request<Empty>,
    ) -> Result<Response<Self::ListAndWatchStream>, Status> {
        // One list may wait for a slow reader; what changes meanwhile is in the next one.
        let (sender, receiver) = mpsc::channel(1);
        let listener = Listener::new(self);
        tokio::spawn(async move { listener.tell(&sender).await });
        Ok(Response::new(Box::pin(ReceiverStream::new(receiver))))
    }

    async fn get_preferred_allocation(
        &self,
        request: Request<PreferredAllocationRequest>,
    ) -> Result<Response<PreferredAllocationResponse>, Status> {
        let state = self.state();
        let offer = self.offer(&state)?;
        let requests = request.into_inner().container_requests;
        at_most(requests.len())?;
        let requests = requests.into_iter();
        let container_responses = requests
            .map(|request| ContainerPreferredAllocationResponse {
                device_i_ds: self.answers.preferred(
                    &state,
                    offer,
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
        let answer = self.grant(&request.into_inner());
        if let Err(status) = &answer {
            tracing::warn!(
                resource = &*self.resource,
                "an allocation was refused: {}",
                status.message()
            );
        }
        answer.map(Response::new)
    }

    async fn pre_start_container(
        &self,
        _: Request<PreStartContainerRequest>,
    ) -> Result<Response<PreStartContainerResponse>, Status> {
        Ok(Response::new(PreStartContainerResponse {}))
    }
}

impl Service {
    /// The state of the moment; the lock on it is not held.
    fn state(&self) -> Arc<State> {
        Arc::clone(&self.state.borrow())
    }

    fn offer<'s>(&self, state: &'s State) -> Result<&'s Offer, Status> {
        state.offer(&self.resource).ok_or_else(|| {
            Status::failed_precondition(format!("{}: this node no longer has it", self.resource))
        })
    }

    /// All containers of a request get what they need, or none does.
    fn grant(&self, request: &AllocateRequest) -> Result<AllocateResponse, Status> {
        let state = self.state();
        let offer = self.offer(&state)?;
        at_most(request.container_requests.len())?;
        let requests = request.container_requests.iter();
        let container_responses = requests
            .map(|request| self.answers.allocate(&state, offer, &request.devices_ids))
            .map(|grant| grant.map(in_the_kubelets_words).map_err(status))
            .collect::<Result<_, _>>()?;
        Ok(AllocateResponse {
            container_responses,
        })
    }
}

/// Whether so many containers are not too many.
fn at_most(containers: usize) -> Result<(), Status> {
    if containers <= MOST_CONTAINERS {
        return Ok(());
    }
    Err(Status::invalid_argument(format!(
        "{containers} containers in one request, and {MOST_CONTAINERS} at most are answered"
    )))
}

fn in_the_kubelets_words(grant: Grant) -> ContainerAllocateResponse {
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

fn status(refused: Refused) -> Status {
    let (code, mut message) = match refused {
        Refused::Invalid(message) => (tonic::Code::InvalidArgument, message),
        Refused::Unusable(message) => (tonic::Code::FailedPrecondition, message),
    };
    if message.len() > LONGEST_MESSAGE {
        message.truncate(message.floor_char_boundary(LONGEST_MESSAGE));
        message.push('…');
    }
    Status::new(code, message)
}

/// Somebody who listens to the list; counted as long as it lives.
struct Listener {
    resource: Arc<str>,
    state: watch::Receiver<Arc<State>>,
    ending: watch::Receiver<Ending>,
    listeners: watch::Sender<usize>,
}

impl Listener {
    fn new(service: &Service) -> Self {
        service.listeners.send_modify(|listeners| *listeners += 1);
        Self {
            resource: Arc::clone(&service.resource),
            state: service.state.clone(),
            ending: service.ending.clone(),
            listeners: service.listeners.clone(),
        }
    }

    /// Sends the list at once and whenever it is another one, until the reader or the resource is gone.
    async fn tell(mut self, sender: &mpsc::Sender<Result<ListAndWatchResponse, Status>>) {
        let mut told: Option<Vec<Device>> = None;
        loop {
            // First the room, then the list: what is sent is never older than the moment there was room for it.
            let Ok(room) = sender.reserve().await else {
                return;
            };
            let state = Arc::clone(&self.state.borrow_and_update());
            let ending = *self.ending.borrow_and_update();
            let devices = match ending {
                Ending::No => list(&state, &self.resource),
                // The kubelet takes the last list it saw to be true for minutes after the end, so the last word is
                // that there is nothing.
                Ending::ResourceGone => Vec::new(),
                Ending::Shutdown => return,
            };
            if told.as_ref() == Some(&devices) {
                drop(room);
            } else {
                told = Some(devices.clone());
                room.send(Ok(ListAndWatchResponse { devices }));
            }
            if ending == Ending::ResourceGone {
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

impl Drop for Listener {
    fn drop(&mut self) {
        self.listeners.send_modify(|listeners| *listeners -= 1);
    }
}
