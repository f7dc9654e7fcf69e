//! The program with the driver of a real GPU. Each figure is compared with that of `nvidia-smi`.
//!
//! `GPUC_DRIVER_ROOT` is the driver's root folder, `/` by default. The GPUs must be idle and not partitioned. With
//! `GPUC_GPU_REPORT`, a folder, each test also writes what it observed.

mod comparison;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use gpuc_runtime::kubelet::api::v1beta1::{AllocateRequest, ContainerAllocateRequest};
use gpuc_schema::gpu::{GpuModel, MODELS};
use serde_json::{Value, json};

use crate::daemon::get;
use crate::exposition::{Exposition, parse};
use crate::simulated_kubelet::Kubelet;

use comparison::{assert_labels, assert_metrics, assert_spec_exists};

const GPU: &str = "nvidia.com/gpu";

/// The daemon, a simulated kubelet and the real driver.
struct Node {
    folder: tempfile::TempDir,
    address: SocketAddr,
    kubelet: Kubelet,
    config: Value,
    process: Option<Child>,
}

impl Node {
    fn new() -> Self {
        static NODES: AtomicU8 = AtomicU8::new(2);
        let ip = Ipv4Addr::new(127, 200, 0, NODES.fetch_add(1, Ordering::SeqCst));
        let address = TcpListener::bind((ip, 0)).unwrap().local_addr().unwrap();
        let folder = tempfile::tempdir().unwrap();
        for name in ["device-plugins", "cdi", "features"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let count = smi("index").len();
        let config = json!({
            "apiVersion": "node.gpuc.dev/v1alpha1",
            "kind": "NodeConfig",
            "cluster": "demo",
            "pool": "train",
            "expected": {"model": model().key, "count": count},
            "driver": {"hostRoot": driver_root(), "containerRoot": driver_root()},
            "devices": {"cdi": {"specDir": folder.path().join("cdi")}},
            "sharing": "exclusive",
            "resources": {"nvidia.com/gpu": count},
            "health": {"watch": true, "quietSeconds": 5},
            "labels": {"featureFile": {"path": folder.path().join("features/gpuc")}},
            "metrics": {"port": address.port(), "gpus": true},
        });
        let kubelet = Kubelet::new(&folder.path().join("device-plugins"));
        let node = Self {
            folder,
            address,
            kubelet,
            config,
            process: None,
        };
        node.configure();
        node
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn configure(&self) {
        fs::write(self.path("node.json"), self.config.to_string()).unwrap();
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gpuc-runtime"));
        command
            .args(arguments)
            .arg("--config")
            .arg(self.path("node.json"));
        command
    }

    /// Starts the daemon and waits until it is ready. Returns the time until the kubelet had the devices.
    async fn start(&mut self) -> Duration {
        self.kubelet.start().await;
        let start = Instant::now();
        let mut command = self.command(&["serve", "--listen", &self.address.ip().to_string()]);
        command
            .arg("--device-plugins")
            .arg(self.path("device-plugins"))
            .arg("--pod-resources")
            .arg(self.path("pod-resources.sock"))
            .env("GPUC_LOG", "info,gpuc_runtime=debug")
            .stderr(Stdio::from(File::create(self.path("log")).unwrap()));
        self.process = Some(command.spawn().unwrap());
        self.kubelet.wait_for_registration(GPU).await;
        let duration = start.elapsed();
        let ready = async || {
            get(self.address, "/readyz")
                .await
                .is_some_and(|it| it.0 == 200)
        };
        while !ready().await {
            assert!(start.elapsed().as_secs() < 60, "{}", self.log());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        duration
    }

    fn log(&self) -> String {
        fs::read_to_string(self.path("log")).unwrap_or_default()
    }

    async fn metrics_text(&self) -> String {
        get(self.address, "/metrics").await.unwrap().1
    }

    async fn metrics(&self) -> Exposition {
        parse(&self.metrics_text().await, false)
    }

    /// The daemon's resident memory in KiB, its CPU time in seconds, and its threads.
    fn usage(&self) -> (u64, f64, u64) {
        let id = self.process.as_ref().unwrap().id();
        let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap();
        let field = |name: &str| -> u64 {
            let line = status.lines().find(|line| line.starts_with(name)).unwrap();
            line.split_whitespace().nth(1).unwrap().parse().unwrap()
        };
        let times = fs::read_to_string(format!("/proc/{id}/stat")).unwrap();
        let times: Vec<&str> = times.rsplit(')').next().unwrap().split(' ').collect();
        let ticks: f64 = times[12].parse::<f64>().unwrap() + times[13].parse::<f64>().unwrap();
        (field("VmRSS"), ticks / 100.0, field("Threads"))
    }
}

impl Drop for Node {
    #[expect(clippy::print_stderr, reason = "a failed test shows the daemon's log")]
    fn drop(&mut self) {
        if let Some(process) = &mut self.process {
            let _ = process.kill();
            let _ = process.wait();
        }
        if std::thread::panicking() {
            eprintln!("the daemon's log:\n{}", self.log());
        }
    }
}

fn driver_root() -> String {
    std::env::var("GPUC_DRIVER_ROOT").unwrap_or_else(|_| "/".to_owned())
}

/// The values of a query of `nvidia-smi`, one for each GPU.
fn smi(fields: &str) -> Vec<Vec<String>> {
    let output = Command::new("nvidia-smi")
        .arg(format!("--query-gpu={fields}"))
        .arg("--format=csv,noheader,nounits")
        .output()
        .expect("nvidia-smi is installed");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    let values = |line: &str| line.split(',').map(|it| it.trim().to_owned()).collect();
    text.lines().map(values).collect()
}

/// The model of the first GPU in gpuc's catalog, by its product name.
fn model() -> &'static GpuModel {
    let name = smi("name")[0][0].replace(' ', "-");
    let found = MODELS
        .iter()
        .find(|it| it.products.contains(&name.as_str()));
    found.unwrap_or_else(|| panic!("{name} is not in the catalog"))
}

/// Runs `nvidia-smi mig` for the first GPU.
fn smi_mig(option: &str) -> String {
    let output = Command::new("nvidia-smi")
        .args(["mig", option, "-i", "0"])
        .output();
    String::from_utf8(output.unwrap().stdout).unwrap()
}

fn report(name: &str, text: &str) {
    if let Ok(folder) = std::env::var("GPUC_GPU_REPORT") {
        fs::write(Path::new(&folder).join(name), text).unwrap();
    }
}

/// Runs a Python program with `CuPy`.
fn python(program: &str) -> Child {
    Command::new("python3")
        .args(["-c", program])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("Python is installed")
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn inspect_agrees_with_nvidia_smi() {
    let node = Node::new();
    let text = node.command(&["inspect"]).output().unwrap();
    let output = node
        .command(&["inspect", "--format=json"])
        .output()
        .unwrap();
    let text = [text.stdout, text.stderr].concat();
    report("inspect.txt", &String::from_utf8_lossy(&text));
    report("inspect.json", &String::from_utf8_lossy(&output.stdout));
    let found: Value = serde_json::from_slice(&output.stdout).expect("inspect prints JSON");
    let fields = "index,uuid,name,pci.bus_id,memory.total,driver_version,compute_cap";
    let expected = smi(fields);
    assert_eq!(found["gpus"].as_array().unwrap().len(), expected.len());
    for (gpu, expected) in found["gpus"].as_array().unwrap().iter().zip(&expected) {
        let gpu = &gpu["gpu"];
        let text = |key: &str| gpu[key].as_str().unwrap().to_owned();
        let memory = gpu["memoryBytes"].as_u64().unwrap() >> 20;
        let capability = &gpu["computeCapability"];
        let values = vec![
            gpu["index"].to_string(),
            text("uuid"),
            text("name"),
            text("pciBusId"),
            memory.to_string(),
            found["driver"]["version"].as_str().unwrap().to_owned(),
            format!("{}.{}", capability[0], capability[1]),
        ];
        assert_eq!(&values, expected, "{fields}");
    }
    assert_eq!(output.status.code(), Some(0), "{found:#}");
}

/// The driver's MIG profiles and placements are those of the catalog: names, ids, memory, counts and starts.
#[test]
#[ignore = "needs an NVIDIA GPU with MIG"]
fn catalog_has_the_mig_profiles_of_the_driver() {
    let (profiles, placements) = (smi_mig("-lgip"), smi_mig("-lgipp"));
    report("mig-profiles.txt", &format!("{profiles}\n{placements}"));
    // `|   0  MIG 1g.18gb         19     7/7        16.00      No     16     1     0   |`
    let mut found = BTreeMap::new();
    for line in profiles.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let ["|", _, "MIG", name, id, instances, memory, ..] = words[..] {
            let max = instances.split_once('/').unwrap().1;
            found.insert(
                id.parse::<u32>().unwrap(),
                (
                    name,
                    max.parse::<u32>().unwrap(),
                    memory.parse::<f64>().unwrap(),
                    Vec::new(),
                    0,
                ),
            );
        }
    }
    // `GPU  0 Profile ID 19 Placements: {0,1,2,3,4,5,6}:1`
    for line in placements.lines() {
        let Some((_, rest)) = line.split_once("Profile ID") else {
            continue;
        };
        let id: u32 = rest.split_whitespace().next().unwrap().parse().unwrap();
        let (starts, size) = rest.split_once('{').unwrap().1.split_once("}:").unwrap();
        let profile = found.get_mut(&id).unwrap();
        profile.3 = starts
            .split(',')
            .map(|start| start.parse::<u8>().unwrap())
            .collect();
        profile.4 = size.trim().parse::<u8>().unwrap();
    }
    let mig = model().mig.expect("the catalog knows that the GPU has MIG");
    let expected: BTreeMap<_, _> = mig
        .profiles
        .iter()
        .map(|it| {
            // nvidia-smi prints two digits and cuts off the rest.
            let memory = (f64::from(it.memory_mib) / 1024.0 * 100.0).floor() / 100.0;
            let placements = (it.starts.to_vec(), it.memory_slices);
            (
                it.smi_id,
                (
                    it.name,
                    it.max_instances,
                    memory,
                    placements.0,
                    placements.1,
                ),
            )
        })
        .collect();
    assert_eq!(found, expected, "{profiles}\n{placements}");
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn dry_run_of_mig_devices_changes_nothing() {
    let mut node = Node::new();
    let before = smi("mig.mode.current,mig.mode.pending");
    let smallest = model().mig.unwrap().profiles[0].name;
    let slices = [json!({"profile": smallest, "start": 0, "size": 1})];
    node.config["sharing"] = json!({"mig": {"strategy": "mixed", "apply": true, "gpus": [{"index": 0, "slices": slices}]}});
    let resource = format!("nvidia.com/mig-{smallest}");
    node.config["resources"] = json!({resource: 1});
    node.configure();
    let output = node
        .command(&["mig", "apply", "--dry-run"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    report(
        "mig.txt",
        &format!("{text}\nexit code {:?}", output.status.code()),
    );
    assert_eq!(smi("mig.mode.current,mig.mode.pending"), before);
    assert_eq!(output.status.code(), Some(0), "{text}");
}

/// The daemon registers, and the CDI specs, the labels and the metrics describe the machine.
#[tokio::test]
#[ignore = "needs an NVIDIA GPU"]
async fn daemon_serves_the_gpus_of_the_machine() {
    let mut node = Node::new();
    let registered = node.start().await;
    let ids: Vec<String> = smi("uuid").concat();
    let resource = node.kubelet.wait_for_registration(GPU).await;
    assert_eq!(resource.healthy(), ids, "{}", node.log());
    let mut durations = Vec::new();
    let mut plugin = node.kubelet.plugin(GPU).await;
    for _ in 0..1000 {
        let request = AllocateRequest {
            container_requests: vec![ContainerAllocateRequest {
                devices_ids: ids.clone(),
            }],
        };
        let start = Instant::now();
        let response = plugin.allocate(request).await.unwrap().into_inner();
        durations.push(start.elapsed().as_micros());
        assert_eq!(response.container_responses.len(), 1);
    }
    durations.sort_unstable();

    let spec = node.path("cdi/k8s.device-plugin.nvidia.com-gpu.json");
    let spec = fs::read_to_string(spec).expect("the daemon writes a CDI spec");
    report("cdi.json", &spec);
    let labels = fs::read_to_string(node.path("features/gpuc")).unwrap();
    report("labels.txt", &labels);
    tokio::time::sleep(Duration::from_secs(20)).await;
    let text = node.metrics_text().await;
    report("metrics.txt", &text);
    let (memory, cpu, threads) = node.usage();
    tokio::time::sleep(Duration::from_secs(20)).await;
    let idle = node.usage().1 - cpu;
    report("log.txt", &node.log());
    report(
        "figures.txt",
        &format!(
            "registered after {registered:?}\nAllocate: p50 {} us, p99 {} us\nmemory {memory} KiB, {threads} threads\n\
             CPU {cpu} s in the first 20 s, {idle} s in the next 20 s\n",
            durations[500], durations[990]
        ),
    );
    assert_spec_exists(&serde_json::from_str(&spec).unwrap());
    assert_labels(&labels);
    assert_metrics(&parse(&text, false));
    assert!(!node.log().contains("ERROR"), "{}", node.log());
}

/// A program reads an invalid address: the driver reports an Xid of the application, which says nothing about the GPU.
#[tokio::test]
#[ignore = "needs an NVIDIA GPU and CuPy"]
async fn application_error_leaves_the_gpu_healthy() {
    let mut node = Node::new();
    node.start().await;
    let program = python(
        "import cupy
kernel = cupy.RawKernel('extern \"C\" __global__ void f(int *p) { p[1l << 40] = 1; }', 'f')
kernel((1,), (1,), (cupy.zeros(1, dtype=cupy.int32),))
cupy.cuda.Device().synchronize()",
    );
    let output = program.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let start = Instant::now();
    let uuid = &smi("uuid")[0][0];
    let labels = [("gpu", uuid.as_str()), ("xid", "31")];
    let mut seen = Vec::new();
    while seen.is_empty() && start.elapsed().as_secs() < 15 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let metrics = node.metrics().await;
        seen = metrics.values_with_labels("gpuc_xid_errors_total", &labels);
    }
    let elapsed = start.elapsed();
    tokio::time::sleep(Duration::from_secs(2)).await;
    report(
        "xid.txt",
        &format!(
            "{errors}\n{seen:?} after {elapsed:?}\n{}\n{}",
            node.metrics_text().await,
            node.log()
        ),
    );
    assert_eq!(seen, [1.0], "{errors}\n{}", node.log());
    let resource = node.kubelet.seen().resource(GPU);
    assert_eq!(resource.healthy().len(), resource.devices.len());
}

/// While a program computes and after it is killed, the GPU stays healthy, and the metrics show the use.
#[tokio::test]
#[ignore = "needs an NVIDIA GPU and CuPy"]
async fn busy_gpu_is_measured() {
    let mut node = Node::new();
    node.start().await;
    let idle = node.metrics().await;
    let mut program = python(
        "import cupy, time
a = cupy.random.random((16384, 16384), dtype=cupy.float32)
end = time.time() + 60
while time.time() < end:
    b = a @ a
    cupy.cuda.Device().synchronize()",
    );
    tokio::time::sleep(Duration::from_secs(25)).await;
    let text = node.metrics_text().await;
    let expected = smi("memory.used,utilization.gpu,power.draw,temperature.gpu,clocks.sm");
    let cpu = node.usage();
    program.kill().unwrap();
    program.wait().unwrap();
    tokio::time::sleep(Duration::from_secs(20)).await;
    let after = node.metrics().await;
    report(
        "busy.txt",
        &format!("nvidia-smi: {expected:?}\n{cpu:?}\n{text}\n{}", node.log()),
    );
    let busy = parse(&text, false);
    let used = |metrics: &Exposition| metrics.all_series("DCGM_FI_DEV_FB_USED")[0].1;
    assert!(used(&busy) > used(&idle) + 1024.0, "{text}");
    assert!(used(&after) < used(&idle) + 64.0);
    assert!(
        busy.all_series("DCGM_FI_DEV_GPU_UTIL")[0].1 >= 90.0,
        "{text}"
    );
    let resource = node.kubelet.seen().resource(GPU);
    assert_eq!(resource.healthy().len(), resource.devices.len());
}
