//! `gpuc-runtime mps`, the program with a fake driver and a fake of NVIDIA's control daemon.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use gpuc_schema::node_config::NodeSharing;
use serde_json::json;

use crate::command::{CommandOutput, Node};
use crate::fake_driver::FakeDriver;

/// A fake control daemon: `-f` runs until it receives `quit`; without arguments it forwards one command. It logs its
/// commands next to its pipes.
const CONTROL: &str = r#"#!/bin/sh
pipe=$CUDA_MPS_PIPE_DIRECTORY
if [ "$1" = -f ]; then
  echo "start $CUDA_VISIBLE_DEVICES libraries ${LD_LIBRARY_PATH:-none}" >>"$pipe/commands"
  touch "$pipe/alive"
  while [ -e "$pipe/alive" ]; do sleep 0.01; done
  exit 0
fi
[ -e "$pipe/alive" ] || exit 1
read -r line
case $line in get_*) ;; *) echo "$line" >>"$pipe/commands" ;; esac
case $line in quit) rm "$pipe/alive" ;; esac
"#;

const UUIDS: &str =
    "GPU-00000000-0000-0000-0000-0123456789ab,GPU-00000001-0000-0000-0000-0123456789ab";

/// A node that shares its GPUs, and the folder that the containers and the control daemon share.
struct MpsNode {
    node: Node,
    root: PathBuf,
}

impl MpsNode {
    fn new(driver: &FakeDriver, replicas: u32, refuse_more_than_one: bool) -> Self {
        let node = Node::new(driver.root(), &NodeSharing::Exclusive, &json!({}));
        let root = node.folder().join("mps");
        let sharing = NodeSharing::Mps {
            replicas,
            rename: false,
            refuse_more_than_one,
            root: root.display().to_string(),
        };
        node.write_config(
            driver.root(),
            &sharing,
            &json!({"nvidia.com/gpu": 2 * replicas}),
        );
        Self { node, root }
    }

    fn start(&self, program_in: &Path) -> Running {
        let path = std::env::var("PATH").unwrap();
        let mut command = self.node.command(&["mps"]);
        command.env("PATH", format!("{}:{path}", program_in.display()));
        command.env_remove("LD_LIBRARY_PATH");
        Running(command.stderr(Stdio::null()).spawn().unwrap())
    }

    fn is_ready(&self) -> bool {
        self.served_gpus().is_some()
    }

    fn served_gpus(&self) -> Option<BTreeSet<String>> {
        gpuc_runtime::mps::served_gpus(&self.root, "nvidia.com/gpu")
    }

    fn logged_commands(&self) -> Vec<String> {
        let log = fs::read_to_string(self.root.join("nvidia.com/gpu/pipe/commands"));
        log.unwrap().lines().map(str::to_owned).collect()
    }
}

/// A process that is killed when its test ends.
struct Running(Child);

impl Running {
    fn terminate(&mut self) -> Option<i32> {
        let id = self.0.id().to_string();
        Command::new("kill").args(["-TERM", &id]).status().unwrap();
        wait_until(|| self.0.try_wait().unwrap().is_some());
        self.0.wait().unwrap().code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn limits_precede_readiness() {
    let driver = driver();
    let shared = MpsNode::new(&driver, 4, true);
    install_program(&shared.node.folder().join("bin"));
    let mut running = shared.start(&shared.node.folder().join("bin"));
    wait_until(|| shared.is_ready());
    let commands = [
        format!("start {UUIDS} libraries none"),
        // A quarter of the 81,559 MiB of an H100, rounded down.
        "set_default_device_pinned_mem_limit 0 20389M".to_owned(),
        "set_default_device_pinned_mem_limit 1 20389M".to_owned(),
        "set_default_active_thread_percentage 25".to_owned(),
    ];
    assert_eq!(shared.logged_commands(), commands);
    // EXCLUSIVE_PROCESS is 3 in nvml.h.
    assert_eq!(driver.changed("gpu.0.compute_mode").as_deref(), Some("3"));
    assert_eq!(driver.changed("gpu.1.compute_mode").as_deref(), Some("3"));
    let shm = fs::metadata(shared.root.join("shm")).unwrap();
    assert_eq!(
        shm.permissions().mode() & 0o7777,
        0o1777,
        "clients that are not root create files there"
    );

    assert_eq!(running.terminate(), Some(0));
    assert!(!shared.is_ready());
    assert_eq!(
        shared.logged_commands().last().map(String::as_str),
        Some("quit")
    );
    assert_eq!(driver.changed("gpu.0.compute_mode").as_deref(), Some("0"));
    assert_eq!(driver.changed("gpu.1.compute_mode").as_deref(), Some("0"));
}

/// A client's limit cannot exceed the control daemon's, so the control daemon has none here.
#[test]
fn several_replicas_have_no_daemon_limits() {
    let driver = driver();
    let shared = MpsNode::new(&driver, 4, false);
    install_program(&shared.node.folder().join("bin"));
    let _running = shared.start(&shared.node.folder().join("bin"));
    wait_until(|| shared.is_ready());
    assert_eq!(
        shared.logged_commands(),
        [format!("start {UUIDS} libraries none")]
    );
}

/// On GKE, the driver's folder has the program, and no libraries except the driver's. Programs would load a C library
/// in that folder instead of their own.
#[test]
fn only_driver_libraries_are_added() {
    for (file, only_driver) in [
        ("lib64/libnvidia-ml.so.1", true),
        ("lib64/libc.so.6", false),
    ] {
        let driver = driver();
        let shared = MpsNode::new(&driver, 4, true);
        install_program(&driver.root().join("bin"));
        let lib64 = driver.root().join("lib64");
        fs::create_dir_all(&lib64).unwrap();
        fs::write(lib64.join("libcuda.so.1"), "").unwrap();
        fs::write(driver.root().join(file), "").unwrap();
        let _running = shared.start(shared.node.folder());
        wait_until(|| shared.is_ready());
        let expected = if only_driver {
            lib64.display().to_string()
        } else {
            "none".to_owned()
        };
        assert_eq!(
            shared.logged_commands()[0],
            format!("start {UUIDS} libraries {expected}")
        );
    }
}

#[test]
fn lost_gpu_is_skipped() {
    let mut driver = driver();
    driver.set("gpu.0.lost", "1");
    let shared = MpsNode::new(&driver, 2, true);
    install_program(&shared.node.folder().join("bin"));
    let _running = shared.start(&shared.node.folder().join("bin"));
    wait_until(|| shared.is_ready());
    let commands = shared.logged_commands();
    assert!(
        commands[0].starts_with("start GPU-00000001-"),
        "{commands:?}"
    );
    assert!(!commands[0].contains("GPU-00000000-"), "{commands:?}");
    assert_eq!(shared.served_gpus().unwrap().len(), 1);
}

/// The others are shared, and none stays in exclusive-process mode after the end.
#[test]
fn gpu_without_exclusive_mode_is_skipped() {
    let mut driver = driver();
    driver.set("gpu.1.error.nvmlDeviceSetComputeMode", "999");
    let shared = MpsNode::new(&driver, 2, true);
    install_program(&shared.node.folder().join("bin"));
    let mut running = shared.start(&shared.node.folder().join("bin"));
    wait_until(|| shared.is_ready());
    let served = shared.served_gpus().unwrap();
    assert!(
        served.iter().all(|uuid| uuid.starts_with("GPU-00000000-")),
        "{served:?}"
    );
    assert_eq!(running.terminate(), Some(0));
    assert_eq!(driver.changed("gpu.0.compute_mode").as_deref(), Some("0"));
}

/// The pod can end before the control daemon starts.
#[test]
fn signal_during_the_start_resets_the_gpus() {
    let mut driver = driver();
    driver.set("latency_us.nvmlDeviceSetComputeMode", "400000");
    let shared = MpsNode::new(&driver, 2, true);
    install_program(&shared.node.folder().join("bin"));
    let mut running = shared.start(&shared.node.folder().join("bin"));
    wait_until(|| driver.calls("nvmlDeviceSetComputeMode") == 1);
    assert_eq!(running.terminate(), Some(0));
    assert!(!shared.is_ready());
    assert_eq!(driver.changed("gpu.0.compute_mode").as_deref(), Some("0"));
    assert_ne!(driver.changed("gpu.1.compute_mode").as_deref(), Some("3"));
}

/// The GPUs are reset at the same time: one that hangs does not delay the others, and the grace period is 10 s.
#[test]
fn slow_driver_does_not_delay_the_end() {
    let mut driver = FakeDriver::new("gpus = 8\ngpu.model = h100-sxm5-80gb");
    let shared = MpsNode::new(&driver, 2, true);
    install_program(&shared.node.folder().join("bin"));
    let mut running = shared.start(&shared.node.folder().join("bin"));
    wait_until(|| shared.is_ready());
    driver.set("latency_us.nvmlDeviceSetComputeMode", "1000000");
    assert_eq!(running.terminate(), Some(0));
    for gpu in 0..8 {
        let mode = driver.changed(&format!("gpu.{gpu}.compute_mode"));
        assert_eq!(mode.as_deref(), Some("0"), "GPU {gpu}");
    }
}

/// A killed container leaves its readiness file.
#[test]
fn killed_process_is_not_ready() {
    let driver = driver();
    let shared = MpsNode::new(&driver, 2, true);
    install_program(&shared.node.folder().join("bin"));
    let mut running = shared.start(&shared.node.folder().join("bin"));
    wait_until(|| shared.is_ready());
    running.0.kill().unwrap();
    running.0.wait().unwrap();
    let folder = shared.root.join("nvidia.com/gpu");
    assert!(folder.join("ready").exists());
    assert!(!shared.is_ready());
    // Ends the control daemon.
    fs::remove_file(folder.join("pipe/alive")).unwrap();
    // A process that fails before the control daemon starts removes the file.
    let output = shared.node.run(&["mps"]);
    assert_eq!(output.code, Some(1), "{}", output.log);
    assert!(!folder.join("ready").exists());
}

#[test]
fn failure_leaves_no_gpu_in_exclusive_mode() {
    let mut driver = driver();
    driver.set("error.nvmlDeviceSetComputeMode", "999");
    let shared = MpsNode::new(&driver, 2, true);
    let output = shared.node.run(&["mps"]);
    assert_eq!(output.code, Some(1), "{}", output.log);
    let message = "none of the GPUs can be shared with MPS";
    assert!(output.log.contains(message), "{}", output.log);
    driver.unset("error.nvmlDeviceSetComputeMode");

    // The control daemon's program is missing.
    let mut command = shared.node.command(&["mps"]);
    let output: CommandOutput = command.env("PATH", "").output().unwrap().into();
    assert_eq!(output.code, Some(1), "{}", output.log);
    assert!(
        output.log.contains("nvidia-cuda-mps-control"),
        "{}",
        output.log
    );
    for gpu in ["gpu.0", "gpu.1"] {
        let mode = driver.changed(&format!("{gpu}.compute_mode"));
        assert_eq!(mode.as_deref(), Some("0"), "{gpu}");
    }
}

#[test]
fn node_without_mps_is_an_error() {
    let driver = driver();
    let node = Node::new(driver.root(), &NodeSharing::Exclusive, &json!({}));
    let output = node.run(&["mps"]);
    assert_eq!(output.code, Some(1));
    assert!(
        output.log.contains("does not share its GPUs with MPS"),
        "{}",
        output.log
    );
    assert_eq!(driver.all_calls(), 0);
}

/// `mps` would change the driver's GPUs instead of the simulated ones.
#[test]
fn simulated_gpus_are_rejected() {
    let driver = driver();
    let shared = MpsNode::new(&driver, 2, true);
    let output = shared.node.run(&["mps", "--fake", "l4x2"]);
    assert_eq!(output.code, Some(2), "{}", output.log);
    let message = "unexpected argument '--fake'";
    assert!(output.log.contains(message), "{}", output.log);
    assert_eq!(driver.all_calls(), 0);
}

#[test]
fn too_many_clients_are_rejected() {
    let driver = driver();
    let output = MpsNode::new(&driver, 49, true).node.run(&["mps"]);
    assert_eq!(output.code, Some(1));
    assert!(
        output.log.contains("at most 48 MPS clients"),
        "{}",
        output.log
    );
    assert_eq!(driver.calls("nvmlDeviceSetComputeMode"), 0);
}

fn driver() -> FakeDriver {
    FakeDriver::new("gpus = 2\ngpu.model = h100-sxm5-80gb\ngpu.memory_mib = 81559")
}

fn install_program(folder: &Path) {
    let program = folder.join("nvidia-cuda-mps-control");
    fs::create_dir_all(folder).unwrap();
    fs::write(&program, CONTROL).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
}

fn wait_until(mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(30), "timeout");
        std::thread::sleep(Duration::from_millis(5));
    }
}
