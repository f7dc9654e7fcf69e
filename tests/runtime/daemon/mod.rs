//! The daemon as a process: the program itself, a driver's library that it loads, a kubelet, and HTTP.

mod configuration;
mod driver;
mod health;
mod http;
mod kubelet;
mod mig_devices;
mod needs_time;
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
use crate::simulated_kubelet::{Kubelet, PATIENCE, Resource, Seen};

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

/// A node with a daemon on it, or one to be started.
struct Node {
    driver: FakeDriver,
    kubelet: Kubelet,
    config: Value,
    /// The configuration's file, as the command line calls it from the folder that it is in.
    config_file: PathBuf,
    address: SocketAddr,
    variables: Vec<(&'static str, &'static str)>,
    process: Option<Child>,
    folder: tempfile::TempDir,
}

impl Node {
    /// A node with such GPUs. Kubelet and daemon are not started.
    fn new(gpus: &str) -> Self {
        // An address of its own: no other test takes its port.
        static NODES: AtomicU8 = AtomicU8::new(2);
        let [.., high, low] = std::process::id().to_be_bytes();
        let ip = Ipv4Addr::new(127, high, low, NODES.fetch_add(1, Ordering::SeqCst));
        let listener = std::net::TcpListener::bind((ip, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let driver = FakeDriver::new(gpus);
        let folder = tempfile::tempdir().unwrap();
        for below in ["device-plugins", "dev", "proc", "sys", "etc"] {
            fs::create_dir(folder.path().join(below)).unwrap();
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
            process: None,
            folder,
        };
        node.configure();
        node
    }

    /// A node whose kubelet has met the daemon.
    async fn running(gpus: &str) -> Self {
        let mut node = Self::new(gpus);
        node.start_all().await;
        node
    }

    /// Starts both, and waits until the daemon says that it serves.
    async fn start_all(&mut self) {
        self.kubelet.start().await;
        self.start();
        self.wait_until_ready().await;
    }

    /// Writes the configuration, whole at once.
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
            .env_clear()
            .envs(self.variables.iter().copied())
            .stderr(log);
        for root in ["dev", "proc", "sys"] {
            command.arg(format!("--{root}")).arg(self.path(root));
        }
        self.process = Some(command.spawn().unwrap());
    }

    fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    fn log(&self) -> String {
        fs::read_to_string(self.path("log")).unwrap_or_default()
    }

    fn id(&self) -> u32 {
        self.process.as_ref().expect("it was started").id()
    }

    /// Sends a signal, by its name.
    fn signal(&self, name: &str) {
        let id = self.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &id]).status();
        assert!(sent.unwrap().success(), "{name}");
    }

    /// Waits until the process has ended.
    async fn wait_for_exit(&mut self) -> ExitStatus {
        let begin = Instant::now();
        loop {
            let process = self.process.as_mut().expect("it was started");
            if let Some(status) = process.try_wait().unwrap() {
                return status;
            }
            assert!(begin.elapsed() < PATIENCE, "it does not end");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    fn is_alive(&mut self) -> bool {
        let process = self.process.as_mut().expect("it was started");
        process.try_wait().unwrap().is_none()
    }

    /// Status and body of a path over HTTP; `None` while the server does not respond.
    async fn get(&self, path: &str) -> Option<(u16, String)> {
        let asked = async {
            let mut stream = TcpStream::connect(self.address).await.ok()?;
            let request = format!("GET {path} HTTP/1.1\r\nHost: daemon\r\n\r\n");
            stream.write_all(request.as_bytes()).await.ok()?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.ok()?;
            let (head, text) = answer.split_once("\r\n\r\n")?;
            let status = head.split(' ').nth(1)?.parse().ok()?;
            Some((status, text.to_owned()))
        };
        let answer = tokio::time::timeout(PATIENCE, asked).await;
        answer.expect("an answer, or none")
    }

    async fn metrics(&self) -> Exposition {
        let (status, text) = self.get("/metrics").await.expect("it answers");
        assert_eq!(status, 200, "{text}");
        parse(&text, false)
    }

    /// Waits until a path is answered so.
    async fn wait_for_response(&self, path: &str, status: u16, word: &str) {
        let begin = Instant::now();
        loop {
            let answer = self.get(path).await;
            if answer
                .as_ref()
                .is_some_and(|it| it.0 == status && it.1.contains(word))
            {
                return;
            }
            assert!(
                begin.elapsed() < PATIENCE,
                "{path}: {answer:?}, not {status} {word}"
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn wait_until_ready(&self) {
        self.wait_for_response("/readyz", 200, "ok").await;
    }

    /// Waits until something is so.
    async fn wait_until(&self, what: &str, mut is_so: impl FnMut(&Self) -> bool) {
        let begin = Instant::now();
        while !is_so(self) {
            assert!(begin.elapsed() < PATIENCE, "not seen: {what}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    async fn wait_for_log(&self, word: &str) {
        self.wait_until(word, |node| node.log().contains(word))
            .await;
    }

    /// Waits until the kubelet sees so many devices of a resource, so many of them healthy.
    async fn wait_for_devices(&self, resource: &str, devices: usize, healthy: usize) -> Resource {
        let what = format!("{devices} of {resource}, {healthy} of them healthy");
        let seen = |seen: &Seen| {
            let resource = seen.resource(resource);
            (resource.devices.len(), resource.healthy().len()) == (devices, healthy)
        };
        self.kubelet.until(&what, seen).await.resource(resource)
    }

    /// What a container gets that is given these, or why it gets nothing.
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

    /// Which of these are the best ones to take.
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

    /// Calls of the driver, but for the waits for events, of which one begins every five seconds.
    fn calls(&self) -> usize {
        self.driver.all_calls() - self.driver.calls("nvmlEventSetWait_v2")
    }

    /// Waits until the daemon has listened to the driver: what happens from now on is heard.
    async fn wait_until_monitoring(&self) {
        let waits = |node: &Self| node.driver.calls("nvmlEventSetWait_v2") > 0;
        self.wait_until("a wait for events", waits).await;
    }
}

impl Drop for Node {
    #[expect(
        clippy::print_stderr,
        reason = "a test that fails shows what the daemon said"
    )]
    fn drop(&mut self) {
        if let Some(process) = &mut self.process {
            // It may have ended by itself.
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

/// Long enough for the daemon to have reacted, where nothing is to be seen.
async fn settle() {
    tokio::time::sleep(Duration::from_millis(300)).await;
}
