//! Opening and initialising the library.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use gpuc_runtime::nvml::{Nvml, NvmlErrorKind, Real};

use crate::fake_driver::FakeDriver;

#[test]
fn library_is_initialised_once() {
    let driver = FakeDriver::new("gpus = 16\ngpu.model = h100-sxm5-80gb");
    let real = driver.open().unwrap();
    let gpus: Vec<_> = (0..16).map(|index| real.gpu(index).unwrap()).collect();
    let mut uuids: Vec<_> = gpus.iter().map(|gpu| &gpu.uuid).collect();
    uuids.dedup();
    assert_eq!(uuids.len(), 16);
    let watch = real.watch().unwrap();
    assert_eq!(watch.unwatched(), []);
    assert_eq!(driver.calls("nvmlInit_v2"), 1);
    drop(real);
    assert_eq!(
        driver.calls("nvmlShutdown"),
        0,
        "the subscription uses the library"
    );
    drop(watch);
    assert_eq!(driver.calls("nvmlEventSetFree"), 1);
    assert_eq!(driver.calls("nvmlShutdown"), 1);
}

#[test]
fn late_driver_is_opened() {
    let mut driver = FakeDriver::new("");
    let error = driver.open().err().expect("no driver is loaded");
    assert_eq!(error.kind, NvmlErrorKind::NoDriver);
    assert!(error.message.contains("libnvidia-ml.so.1"), "{error}");
    assert!(error.message.contains("driver is not loaded"), "{error}");
    driver.set("gpus", "1");
    assert_eq!(driver.open().unwrap().gpu_count(), Ok(1));
}

#[test]
fn missing_library_path_is_in_the_error() {
    let folder = tempfile::tempdir().unwrap();
    let error = Real::open(folder.path())
        .err()
        .expect("the folder is empty");
    assert_eq!(error.kind, NvmlErrorKind::NoLibrary);
    let path = folder.path().display().to_string();
    assert!(error.message.contains(&path), "{error}");
    assert!(error.message.contains("libnvidia-ml.so.1"), "{error}");
    assert!(Path::new(&path).exists());
}

/// The test runs itself as a child process with the state file in its environment.
#[test]
fn environment_selects_the_state_file() {
    const ROOT: &str = "GPUC_TEST_DRIVER_ROOT";
    if let Some(root) = std::env::var_os(ROOT) {
        let real = Real::open(Path::new(&root)).unwrap();
        assert_eq!(real.gpu_count(), Ok(3));
        return;
    }
    let driver = FakeDriver::new("gpus = 8");
    let state_file = driver.root().join("other.state");
    std::fs::write(&state_file, "gpus = 3 # not eight").unwrap();
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "nvml::open::environment_selects_the_state_file"])
        .env("GPUC_FAKE_NVML", &state_file)
        .env(ROOT, driver.root())
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success(), "{output}");
    assert!(output.contains("1 passed"), "{output}");
}

#[test]
fn tegra_boards_are_unsupported() {
    for (name, is_supported) in [
        ("Orin (nvgpu)", false),
        ("NVIDIA Thor", false),
        ("NVIDIA L4", true),
    ] {
        let driver = FakeDriver::new(&format!("gpus = 1\ngpu.name = {name}"));
        let opened = driver.open();
        let kind = opened.as_ref().err().map(|error| error.kind);
        assert_eq!(kind, (!is_supported).then_some(NvmlErrorKind::Unsupported));
        assert_eq!(driver.calls("nvmlShutdown"), usize::from(!is_supported));
    }
}

#[test]
fn slow_driver_delays_calls() {
    let driver = FakeDriver::new("gpus = 1\nlatency_us.nvmlDeviceGetUUID = 60000");
    let real = driver.open().unwrap();
    let start = Instant::now();
    real.gpu(0).unwrap();
    assert!(start.elapsed() >= Duration::from_millis(60));
}
