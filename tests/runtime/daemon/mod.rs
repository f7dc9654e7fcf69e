//! The daemon as a process, with a fake driver library, a simulated kubelet and an HTTP client.

mod configuration;
mod driver;
mod health;
mod http;
mod kubelet;
mod mig_devices;
mod needs_time;
mod restarts;
mod signals;

use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use gpuc_runtime::kubelet::api::v1beta1::{
    AllocateRequest, ContainerAllocateRequest, ContainerAllocateResponse,
    ContainerPreferredAllocationRequest, PreferredAllocationRequest,
};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::exposition::{Exposition, parse};
use crate::fake_driver::FakeDriver;
use crate::simulated_kubelet::{Kubelet, Resource, Seen, TIMEOUT};

const GPU: &str = "nvidia.com/gpu";

/// Eight GPUs with short UUIDs.
const H100: &str = "gpus = 8
    gpu.model = h100-sxm5-80gb
    gpu.0.uuid = GPU-0
    gpu.1.uuid = GPU-1
    gpu.2.uuid = GPU-2
    gpu.3.uuid = GPU-3
    gpu.4.uuid = GPU-4
    gpu.5.uuid = GPU-5
    gpu.6.uuid = GPU-6
    gpu.7.uuid = GPU-7";

/// A node with a driver, a kubelet and a daemon.
struct Node {
    driver: FakeDriver,
    kubelet: Kubelet,
    config: Value,
    /// The argument of `--config`, relative to the folder of the configuration.
    config_file: PathBuf,
    address: SocketAddr,
    variables: Vec<(&'static str, &'static str)>,
    /// Further arguments of `serve`.
    arguments: Vec<&'static str>,
    process: Option<Child>,
    folder: tempfile::TempDir,
}

impl Node {
    /// Creates a node with these GPUs. The kubelet and the daemon are not started.
    fn new(gpus: &str) -> Self {
        // Each node has its own address, so that no other test uses its port.
        static NODES: AtomicU8 = AtomicU8::new(2);
        let [.., high, low] = std::process::id().to_be_bytes();
        let ip = Ipv4Addr::new(127, high, low, NODES.fetch_add(1, Ordering::SeqCst));
        let listener = std::net::TcpListener::bind((ip, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let driver = FakeDriver::new(gpus);
        let folder = tempfile::tempdir().unwrap();
        for name in ["device-plugins", "dev", "proc", "sys", "etc", "state"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let config = json!({
            "apiVersion": "node.gpuc.dev/v1alpha1",
            "kind": "NodeConfig",
            "cluster": "demo",
            "pool": "train",
            "expected": {"model": "h100-sxm5-80gb", "count": 8},
            "driver": {"hostRoot": "/", "containerRoot": driver.root()},
            "devices": "environmentVariable",
            "sharing": "exclusive",
            "resources": {"nvidia.com/gpu": 8},
            "health": {"watch": true, "quietSeconds": 1},
            "metrics": {"port": address.port(), "gpus": true},
        });
        let node = Self {
            kubelet: Kubelet::new(&folder.path().join("device-plugins")),
            driver,
            config,
            config_file: folder.path().join("etc/node.json"),
            address,
            variables: Vec::new(),
            arguments: Vec::new(),
            process: None,
            folder,
        };
        node.configure();
        node
    }

    /// Creates a node with a running kubelet and a ready daemon.
    async fn running(gpus: &str) -> Self {
        let mut node = Self::new(gpus);
        node.start_all().await;
        node
    }

    /// Starts the kubelet and the daemon, and waits until the daemon is ready.
    async fn start_all(&mut self) {
        self.kubelet.start().await;
        self.start();
        self.wait_until_ready().await;
    }

    /// Replaces the file with the configuration atomically.
    fn configure(&self) {
        self.configure_with(&self.config.to_string());
    }

    fn configure_with(&self, text: &str) {
        fs::write(self.path("etc/new"), text).unwrap();
        fs::rename(self.path("etc/new"), self.path("etc/node.json")).unwrap();
    }

    fn start(&mut self) {
        let log = File::options()
            .append(true)
            .create(true)
            .open(self.path("log"));
        self.start_with_log(log.unwrap().into());
    }

    fn start_with_log(&mut self, log: Stdio) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gpuc-runtime"));
        command
            .arg("serve")
            .args(["--listen", &self.address.ip().to_string()])
            .arg("--config")
            .arg(&self.config_file)
            .current_dir(self.path("etc"))
            .arg("--device-plugins")
            .arg(self.path("device-plugins"))
            .arg("--pod-resources")
            .arg(self.path("pod-resources.sock"))
            .arg("--state")
            .arg(self.path("state"))
            .args(&self.arguments)
            .env_clear()
            .envs(self.variables.iter().copied())
            .stderr(log);
        for root in ["dev", "proc", "sys"] {
            command.arg(format!("--{root}")).arg(self.path(root));
        }
        self.process = Some(command.spawn().unwrap());
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn log(&self) -> String {
        fs::read_to_string(self.path("log")).unwrap_or_default()
    }

    fn id(&self) -> u32 {
        self.process.as_ref().expect("the daemon is started").id()
    }

    /// Sends the signal with this name.
    fn signal(&self, name: &str) {
        let id = self.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &id]).status();
        assert!(sent.unwrap().success(), "{name}");
    }

    /// Waits until the daemon exits.
    async fn wait_for_exit(&mut self) -> ExitStatus {
        let start = Instant::now();
        loop {
            let process = self.process.as_mut().expect("the daemon is started");
            if let Some(status) = process.try_wait().unwrap() {
                return status;
            }
            assert!(start.elapsed() < TIMEOUT, "the daemon does not exit");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    fn is_alive(&mut self) -> bool {
        let process = self.process.as_mut().expect("the daemon is started");
        process.try_wait().unwrap().is_none()
    }

    /// Sends a GET request. Returns the status and the body, or `None` if the server does not respond.
    async fn get(&self, path: &str) -> Option<(u16, String)> {
        get(self.address, path).await
    }

    async fn metrics(&self) -> Exposition {
        let (status, text) = self.get("/metrics").await.expect("the server responds");
        assert_eq!(status, 200, "{text}");
        parse(&text, false)
    }

    /// Waits for a response with this status and text.
    async fn wait_for_response(&self, path: &str, status: u16, text: &str) {
        let start = Instant::now();
        loop {
            let answer = self.get(path).await;
            if answer
                .as_ref()
                .is_some_and(|it| it.0 == status && it.1.contains(text))
            {
                return;
            }
            assert!(
                start.elapsed() < TIMEOUT,
                "{path}: {answer:?}, not {status} {text}"
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn wait_until_ready(&self) {
        self.wait_for_response("/readyz", 200, "ok").await;
    }

    /// Waits until the condition is true.
    async fn wait_until(&self, what: &str, mut condition: impl FnMut(&Self) -> bool) {
        let start = Instant::now();
        while !condition(self) {
            assert!(
                start.elapsed() < TIMEOUT,
                "timeout while waiting for {what}"
            );
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    async fn wait_for_log(&self, text: &str) {
        self.wait_until(text, |node| node.log().contains(text))
            .await;
    }

    /// Waits until the kubelet has this number of devices of a resource, and this number of healthy ones.
    async fn wait_for_devices(&self, resource: &str, devices: usize, healthy: usize) -> Resource {
        let what = format!("{devices} of {resource}, {healthy} of them healthy");
        let seen = |seen: &Seen| {
            let resource = seen.resource(resource);
            (resource.devices.len(), resource.healthy().len()) == (devices, healthy)
        };
        self.kubelet
            .wait_until(&what, seen)
            .await
            .resource(resource)
    }

    /// Calls Allocate for one container with these devices.
    async fn allocate(
        &self,
        resource: &str,
        ids: &[&str],
    ) -> Result<ContainerAllocateResponse, tonic::Status> {
        let request = AllocateRequest {
            container_requests: vec![ContainerAllocateRequest {
                devices_ids: to_strings(ids),
            }],
        };
        let mut plugin = self.kubelet.plugin(resource).await;
        let answer = plugin.allocate(request).await?;
        Ok(answer.into_inner().container_responses.remove(0))
    }

    /// Calls GetPreferredAllocation for one container.
    async fn prefer(&self, resource: &str, available: &[&str], size: usize) -> Vec<String> {
        let request = PreferredAllocationRequest {
            container_requests: vec![ContainerPreferredAllocationRequest {
                available_device_i_ds: to_strings(available),
                must_include_device_i_ds: Vec::new(),
                allocation_size: i32::try_from(size).unwrap(),
            }],
        };
        let mut plugin = self.kubelet.plugin(resource).await;
        let answer = plugin.get_preferred_allocation(request).await.unwrap();
        answer
            .into_inner()
            .container_responses
            .remove(0)
            .device_i_ds
    }

    /// The number of driver calls, except waits for events, which begin every five seconds.
    fn calls(&self) -> usize {
        self.driver.all_calls() - self.driver.calls("nvmlEventSetWait_v2")
    }

    /// Waits until the daemon receives the driver's events.
    async fn wait_until_monitoring(&self) {
        let waits = |node: &Self| node.driver.calls("nvmlEventSetWait_v2") > 0;
        self.wait_until("a wait for events", waits).await;
    }
}

/// Sends a GET request. Returns the status and the body, or `None` if the server does not respond.
pub(crate) async fn get(address: SocketAddr, path: &str) -> Option<(u16, String)> {
    let request = async {
        let mut stream = TcpStream::connect(address).await.ok()?;
        let request = format!("GET {path} HTTP/1.1\r\nHost: daemon\r\n\r\n");
        stream.write_all(request.as_bytes()).await.ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.ok()?;
        let (head, text) = answer.split_once("\r\n\r\n")?;
        let status = head.split(' ').nth(1)?.parse().ok()?;
        Some((status, text.to_owned()))
    };
    let answer = tokio::time::timeout(TIMEOUT, request).await;
    answer.expect("the request does not hang")
}

impl Drop for Node {
    #[expect(clippy::print_stderr, reason = "a failed test shows the daemon's log")]
    fn drop(&mut self) {
        if let Some(process) = &mut self.process {
            // The daemon can have exited already.
            let _ = process.kill();
            let _ = process.wait();
        }
        if std::thread::panicking() {
            eprintln!("the daemon's log:\n{}", self.log());
        }
    }
}

fn to_strings(ids: &[&str]) -> Vec<String> {
    ids.iter().map(|id| (*id).to_owned()).collect()
}

/// Waits long enough for the daemon to react, in tests that expect no effect.
async fn settle() {
    tokio::time::sleep(Duration::from_millis(300)).await;
}
