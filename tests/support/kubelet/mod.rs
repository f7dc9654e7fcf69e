//! A simulated kubelet: the parts of the device manager that plugins use.
//!
//! Like the real kubelet (kubernetes/kubernetes pkg/kubelet/cm/devicemanager, read 2026-11-21), it deletes the sockets
//! in its folder when it starts, and connects to a plugin before it responds to the registration. It keeps the latest
//! list, and marks all devices of a resource as unhealthy when the list ends. Its registration server accepts any
//! `:authority`.

#![allow(
    dead_code,
    unreachable_pub,
    reason = "not every binary uses every function"
)]

pub mod http2;
pub mod pod_resources;

use std::collections::BTreeMap;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{fs, io};

use gpuc_runtime::kubelet::KUBELET_SOCKET;
use gpuc_runtime::kubelet::api::v1beta1::device_plugin_client::DevicePluginClient;
use gpuc_runtime::kubelet::api::v1beta1::{Device, Empty, RegisterRequest};
use hyper_util::rt::TokioIo;
use tokio::net::{UnixListener, UnixSocket, UnixStream};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tonic::transport::{Channel, Endpoint};

/// Ends a test that hangs. Every operation takes less time.
pub const TIMEOUT: Duration = Duration::from_secs(20);

/// Removes a kubelet's folder, as a reset of the node does.
///
/// A running plugin recreates its socket immediately, so the folder may not be empty when it is removed.
///
/// # Panics
///
/// The folder cannot be removed.
pub fn wipe(folder: &Path) {
    let removed = (0..1000).find_map(|_| match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => None,
        other => Some(other),
    });
    removed.expect("the folder becomes empty").unwrap();
}

/// A client of a plugin.
pub type Plugin = DevicePluginClient<Channel>;

/// The calls that a kubelet has received.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// The number of the current kubelet instance.
    instance: u64,
    /// All registrations, each with the number of the kubelet instance.
    pub registrations: Vec<(u64, RegisterRequest)>,
    /// The state of each resource, by name.
    pub resources: BTreeMap<String, Resource>,
}

/// A kubelet's state of a resource.
#[derive(Clone, Debug, Default)]
pub struct Resource {
    /// The latest list.
    pub devices: Vec<Device>,
    /// The number of lists that this kubelet instance has received.
    pub lists: usize,
    /// The number of open streams of lists.
    pub open: usize,
    /// The number of streams that have ended without a stop of the kubelet.
    pub ended: usize,
}

impl Resource {
    /// The devices that pods can get.
    pub fn healthy(&self) -> Vec<&str> {
        let healthy = self.devices.iter().filter(|it| it.health == "Healthy");
        healthy.map(|it| it.id.as_str()).collect()
    }
}

impl Seen {
    /// The state of a resource, which is empty if the resource was never registered.
    pub fn resource(&self, name: &str) -> Resource {
        self.resources.get(name).cloned().unwrap_or_default()
    }

    /// The number of registrations of a resource with a kubelet instance.
    pub fn registrations_in(&self, instance: u64, resource: &str) -> usize {
        let registrations = self.registrations.iter();
        registrations
            .filter(|(number, request)| *number == instance && request.resource_name == resource)
            .count()
    }
}

/// A simulated kubelet. When it is dropped, it stops and leaves its socket, as after a crash.
pub struct Kubelet {
    folder: PathBuf,
    /// The number of starts.
    pub instance: u64,
    /// The error for registrations. If `None`, the kubelet accepts them.
    pub rejection: Option<String>,
    /// Whether the kubelet accepts registrations and never calls ListAndWatch.
    pub ignores_plugins: Arc<AtomicBool>,
    seen: watch::Sender<Seen>,
    end_lists: Arc<Notify>,
    tasks: JoinSet<()>,
}

impl Kubelet {
    /// Creates a kubelet with this folder. The kubelet is not started.
    pub fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            instance: 0,
            rejection: None,
            ignores_plugins: Arc::default(),
            seen: watch::Sender::new(Seen::default()),
            end_lists: Arc::default(),
            tasks: JoinSet::new(),
        }
    }

    /// Starts the kubelet.
    pub async fn start(&mut self) {
        self.start_with_gap(Duration::ZERO).await;
    }

    /// Starts with a delay between bind and listen. Meanwhile the socket exists and rejects connections.
    pub async fn start_with_gap(&mut self, gap: Duration) {
        fs::create_dir_all(&self.folder).unwrap();
        for entry in fs::read_dir(&self.folder).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_socket() {
                // The plugin can delete its socket at the same time.
                let _ = fs::remove_file(entry.path());
            }
        }
        self.instance += 1;
        self.seen.send_modify(|seen| {
            seen.instance = self.instance;
            seen.resources.clear();
        });
        let socket = UnixSocket::new_stream().unwrap();
        socket.bind(self.folder.join(KUBELET_SOCKET)).unwrap();
        if !gap.is_zero() {
            tokio::time::sleep(gap).await;
        }
        let listener = socket.listen(16).unwrap();
        let connection = Connection {
            instance: self.instance,
            folder: self.folder.clone(),
            rejection: self.rejection.clone(),
            ignores_plugins: Arc::clone(&self.ignores_plugins),
            seen: self.seen.clone(),
            end_lists: Arc::clone(&self.end_lists),
        };
        self.tasks
            .spawn(async move { accept(&listener, &connection).await });
    }

    /// Stops: closes all connections and deletes the socket.
    pub async fn stop(&mut self) {
        self.kill().await;
        // The folder may have been removed.
        let _ = fs::remove_file(self.folder.join(KUBELET_SOCKET));
    }

    /// Stops without deleting the socket, as after a crash.
    pub async fn kill(&mut self) {
        self.tasks.shutdown().await;
    }

    /// Ends all streams of lists and keeps running, as after an invalid list.
    pub fn end_lists(&self) {
        self.end_lists.notify_waiters();
    }

    /// Stops and starts.
    pub async fn restart(&mut self) {
        self.stop().await;
        self.start().await;
    }

    /// The calls so far.
    pub fn seen(&self) -> Seen {
        self.seen.borrow().clone()
    }

    /// Waits until the calls meet a condition. Returns them.
    pub async fn wait_until(&self, what: &str, condition: impl FnMut(&Seen) -> bool) -> Seen {
        let mut receiver = self.seen.subscribe();
        let waited = tokio::time::timeout(TIMEOUT, receiver.wait_for(condition));
        let Ok(seen) = waited.await else {
            panic!("timeout while waiting for {what}: {:#?}", self.seen());
        };
        seen.unwrap().clone()
    }

    /// Waits until a resource is registered with this kubelet instance and its list is received.
    pub async fn wait_for_registration(&self, resource: &str) -> Resource {
        let instance = self.instance;
        let is_registered = |seen: &Seen| {
            seen.registrations_in(instance, resource) > 0 && seen.resource(resource).lists > 0
        };
        self.wait_until(&format!("the registration of {resource}"), is_registered)
            .await
            .resource(resource)
    }

    /// Connects to the plugin that has registered last for a resource.
    pub async fn plugin(&self, resource: &str) -> Plugin {
        let seen = self.seen();
        let mut registrations = seen.registrations.iter().rev();
        let (_, request) = registrations
            .find(|(_, request)| request.resource_name == resource)
            .expect("the resource is registered");
        dial(&self.folder.join(&request.endpoint)).await.unwrap()
    }
}

/// Connects to a plugin with `localhost` as the authority, like kubelets since 1.26.
pub async fn dial(socket: &Path) -> Result<Plugin, tonic::transport::Error> {
    let socket = socket.to_owned();
    let connect = tower::service_fn(move |_| {
        let socket = socket.clone();
        async move { io::Result::Ok(TokioIo::new(UnixStream::connect(socket).await?)) }
    });
    let endpoint = Endpoint::from_static("http://localhost");
    let channel = endpoint.connect_with_connector(connect).await?;
    Ok(DevicePluginClient::new(channel))
}

#[derive(Clone)]
struct Connection {
    instance: u64,
    folder: PathBuf,
    rejection: Option<String>,
    ignores_plugins: Arc<AtomicBool>,
    seen: watch::Sender<Seen>,
    end_lists: Arc<Notify>,
}

async fn accept(listener: &UnixListener, connection: &Connection) {
    // The tasks of this kubelet instance end when the set is dropped.
    let mut tasks = JoinSet::new();
    let (lists, mut new_lists) = tokio::sync::mpsc::unbounded_channel();
    let mut ignored = Vec::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((stream, _)) = accepted else { return };
                let (connection, lists) = (connection.clone(), lists.clone());
                tasks.spawn(async move {
                    let register = move |request: RegisterRequest| {
                        let (connection, lists) = (connection.clone(), lists.clone());
                        async move {
                            let plugin = connection.register(&request).await?;
                            let known = (request.resource_name, plugin);
                            lists.send(known).map_err(|it| it.to_string())
                        }
                    };
                    // The plugin can disconnect during a call.
                    let _ = http2::serve(stream, register).await;
                });
            }
            Some((resource, plugin)) = new_lists.recv() => {
                if connection.ignores_plugins.load(Ordering::SeqCst) {
                    // The connection stays open.
                    ignored.push(plugin);
                    continue;
                }
                let connection = connection.clone();
                tasks.spawn(async move { connection.listen(&resource, plugin).await });
            }
        }
    }
}

impl Connection {
    async fn register(&self, request: &RegisterRequest) -> Result<Plugin, String> {
        if let Some(error) = &self.rejection {
            return Err(error.clone());
        }
        let socket = self.folder.join(&request.endpoint);
        let plugin = dial(&socket).await.map_err(|error| error.to_string())?;
        let registration = (self.instance, request.clone());
        self.seen
            .send_modify(|seen| seen.registrations.push(registration));
        Ok(plugin)
    }

    async fn listen(&self, resource: &str, mut plugin: Plugin) {
        let open = Open::new(self, resource);
        let Ok(answer) = plugin.list_and_watch(Empty {}).await else {
            return open.ended();
        };
        let mut lists = answer.into_inner();
        loop {
            let list = tokio::select! {
                list = lists.message() => list,
                () = self.end_lists.notified() => break,
            };
            let Ok(Some(list)) = list else { break };
            open.modify(|resource| {
                resource.devices = list.devices;
                resource.lists += 1;
            });
        }
        open.ended();
    }
}

/// An open stream of lists. It is closed when it is dropped.
struct Open<'c> {
    connection: &'c Connection,
    resource: &'c str,
}

impl<'c> Open<'c> {
    fn new(connection: &'c Connection, resource: &'c str) -> Self {
        let open = Self {
            connection,
            resource,
        };
        open.modify(|resource| resource.open += 1);
        open
    }

    fn modify(&self, change: impl FnOnce(&mut Resource)) {
        self.connection.seen.send_if_modified(|seen| {
            // Ignore the streams of earlier kubelet instances.
            if seen.instance != self.connection.instance {
                return false;
            }
            change(seen.resources.entry(self.resource.to_owned()).or_default());
            true
        });
    }

    /// Handles the end of the stream: all devices of the resource become unhealthy.
    fn ended(self) {
        self.modify(|resource| {
            resource.ended += 1;
            for device in &mut resource.devices {
                "Unhealthy".clone_into(&mut device.health);
            }
        });
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.modify(|resource| resource.open -= 1);
    }
}
