//! A simulated kubelet: as much of the device manager as plugins meet.
//!
//! Like the real one (kubernetes/kubernetes pkg/kubelet/cm/devicemanager, read 2026-11-21) it clears its folder of
//! sockets when it starts, dials a plugin before it answers the registration, keeps the latest list, and counts all
//! devices of a resource as unhealthy when its list ends. Its registration server takes any `:authority`, as Go's does.

#![allow(dead_code, unreachable_pub, reason = "each binary uses what it needs")]

pub mod http2;
pub mod pod_resources;

use std::collections::BTreeMap;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
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

/// How long anything may take before a test calls it hanging.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Removes a kubelet's whole folder, as whoever resets a node does.
///
/// A plugin that runs makes a socket that was deleted again at once, so that a folder may be found full once more
/// between the last file and the folder itself.
///
/// # Panics
///
/// Where the folder cannot be removed.
pub fn wipe(folder: &Path) {
    let removed = (0..1000).find_map(|_| match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => None,
        other => Some(other),
    });
    removed.expect("the folder is never empty").unwrap();
}

/// A plugin as the kubelet calls it.
pub type Plugin = DevicePluginClient<Channel>;

/// What a kubelet has seen.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// The number of its life.
    life: u64,
    /// All registrations, with the number of the kubelet's life they came in.
    pub registrations: Vec<(u64, RegisterRequest)>,
    /// What it knows of each resource.
    pub resources: BTreeMap<String, Resource>,
}

/// What a kubelet knows of a resource.
#[derive(Clone, Debug, Default)]
pub struct Resource {
    /// The latest list.
    pub devices: Vec<Device>,
    /// How many lists came in this life.
    pub lists: usize,
    /// How many lists are open.
    pub open: usize,
    /// How many lists ended in this life though the kubelet did not end them.
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
    /// What is known of a resource; nothing where it was never registered.
    pub fn resource(&self, name: &str) -> Resource {
        self.resources.get(name).cloned().unwrap_or_default()
    }

    /// How often a resource was registered in a life.
    pub fn registrations_in(&self, life: u64, resource: &str) -> usize {
        let registrations = self.registrations.iter();
        registrations
            .filter(|(in_life, request)| *in_life == life && request.resource_name == resource)
            .count()
    }
}

/// A simulated kubelet. It stops when it is dropped, and leaves its socket then, as after a crash.
pub struct Kubelet {
    folder: PathBuf,
    /// How often it was started.
    pub life: u64,
    /// What it answers registrations with; `None` is yes.
    pub refuses: Option<String>,
    seen: watch::Sender<Seen>,
    hang_up: Arc<Notify>,
    tasks: JoinSet<()>,
}

impl Kubelet {
    /// A kubelet with this folder, not started.
    pub fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            life: 0,
            refuses: None,
            seen: watch::Sender::new(Seen::default()),
            hang_up: Arc::default(),
            tasks: JoinSet::new(),
        }
    }

    /// Starts, as after a reboot or a restart.
    pub async fn start(&mut self) {
        self.start_with_gap(Duration::ZERO).await;
    }

    /// Starts, and takes its time between bind and listen: its socket is there and refuses.
    pub async fn start_with_gap(&mut self, gap: Duration) {
        fs::create_dir_all(&self.folder).unwrap();
        for entry in fs::read_dir(&self.folder).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_socket() {
                // A plugin may take its own socket away at the same time.
                let _ = fs::remove_file(entry.path());
            }
        }
        self.life += 1;
        self.seen.send_modify(|seen| {
            seen.life = self.life;
            seen.resources.clear();
        });
        let socket = UnixSocket::new_stream().unwrap();
        socket.bind(self.folder.join(KUBELET_SOCKET)).unwrap();
        if !gap.is_zero() {
            tokio::time::sleep(gap).await;
        }
        let listener = socket.listen(16).unwrap();
        let connection = Connection {
            life: self.life,
            folder: self.folder.clone(),
            refuses: self.refuses.clone(),
            seen: self.seen.clone(),
            hang_up: Arc::clone(&self.hang_up),
        };
        self.tasks
            .spawn(async move { accept(&listener, &connection).await });
    }

    /// Stops: all connections are closed, its socket is gone.
    pub async fn stop(&mut self) {
        self.kill().await;
        // Its folder may have been wiped.
        let _ = fs::remove_file(self.folder.join(KUBELET_SOCKET));
    }

    /// Stops and leaves its socket, as after a crash.
    pub async fn kill(&mut self) {
        self.tasks.shutdown().await;
    }

    /// Gives all plugins up and runs on, as after a list that it cannot read.
    pub fn hang_up(&self) {
        self.hang_up.notify_waiters();
    }

    /// Stops and starts.
    pub async fn restart(&mut self) {
        self.stop().await;
        self.start().await;
    }

    /// What it has seen so far.
    pub fn seen(&self) -> Seen {
        self.seen.borrow().clone()
    }

    /// Waits until it has seen that, and answers all it has seen.
    pub async fn until(&self, what: &str, seen: impl FnMut(&Seen) -> bool) -> Seen {
        let mut receiver = self.seen.subscribe();
        let waited = tokio::time::timeout(PATIENCE, receiver.wait_for(seen));
        let Ok(found) = waited.await else {
            panic!("not seen: {what}, but {:#?}", self.seen());
        };
        found.unwrap().clone()
    }

    /// Waits until a resource is registered in this life and its list has come.
    pub async fn met(&self, resource: &str) -> Resource {
        let life = self.life;
        let met = |seen: &Seen| {
            seen.registrations_in(life, resource) > 0 && seen.resource(resource).lists > 0
        };
        self.until(&format!("{resource} in life {life}"), met)
            .await
            .resource(resource)
    }

    /// The plugin that registered last for a resource, to be called.
    pub async fn plugin(&self, resource: &str) -> Plugin {
        let seen = self.seen();
        let mut registrations = seen.registrations.iter().rev();
        let (_, request) = registrations
            .find(|(_, request)| request.resource_name == resource)
            .expect("it is registered");
        dial(&self.folder.join(&request.endpoint)).await.unwrap()
    }
}

/// Calls a plugin, as kubelets since 1.26 do, with `localhost` as authority.
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
    life: u64,
    folder: PathBuf,
    refuses: Option<String>,
    seen: watch::Sender<Seen>,
    hang_up: Arc<Notify>,
}

async fn accept(listener: &UnixListener, connection: &Connection) {
    // What belongs to this life ends with this set.
    let mut tasks = JoinSet::new();
    let (lists, mut new_lists) = tokio::sync::mpsc::unbounded_channel();
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
                    // A plugin that leaves in the middle is its own affair.
                    let _ = http2::serve(stream, register).await;
                });
            }
            Some((resource, plugin)) = new_lists.recv() => {
                let connection = connection.clone();
                tasks.spawn(async move { connection.listen(&resource, plugin).await });
            }
        }
    }
}

impl Connection {
    async fn register(&self, request: &RegisterRequest) -> Result<Plugin, String> {
        if let Some(why) = &self.refuses {
            return Err(why.clone());
        }
        let socket = self.folder.join(&request.endpoint);
        let plugin = dial(&socket).await.map_err(|error| error.to_string())?;
        let registration = (self.life, request.clone());
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
                () = self.hang_up.notified() => break,
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

/// A list that is open; closed when it is dropped.
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
            // What is left of an earlier life ends in silence.
            if seen.life != self.connection.life {
                return false;
            }
            change(seen.resources.entry(self.resource.to_owned()).or_default());
            true
        });
    }

    /// The plugin ended it: none of its devices can be used any more.
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
