//! `gpuc-runtime mig apply`, the program with a fake driver: which GPUs it changes, and which it skips.

use gpuc_runtime::mig::{Outcome, apply as apply_to_gpu};
use gpuc_runtime::nvml::{MigControl, Nvml, NvmlErrorKind};
use gpuc_schema::node_config::{MigGpu, MigSlice, NodeSharing};
use serde_json::json;

use crate::command::{CommandOutput, Node};
use crate::fake_driver::FakeDriver;

const H100: &str = "gpus = 8\ngpu.model = h100-sxm5-80gb\n";

/// MIG devices by profile, first memory slice and number of memory slices.
type Layout = &'static [(&'static str, u8, u8)];

const HALVES: Layout = &[("3g.40gb", 0, 4), ("3g.40gb", 4, 4)];
const UNEVEN: Layout = &[("3g.40gb", 0, 4), ("2g.20gb", 4, 2), ("1g.10gb", 6, 1)];

#[test]
fn gpus_are_partitioned_as_configured() {
    let driver = FakeDriver::new(H100);
    // GPU 6 has a different layout, and GPU 7 is not partitioned.
    let layouts = layouts_with_exceptions(HALVES, &[(6, UNEVEN), (7, &[])]);
    let output = apply(&driver, &layouts);
    assert_eq!(output.code, Some(0), "{}", output.log);
    assert!(
        output
            .log
            .contains("GPU 6: done: create 2g.20gb at memory slice 4"),
        "{}",
        output.log
    );
    for (gpu, layout) in (0..).zip(&layouts) {
        assert_eq!(mig_devices(&driver, gpu), sorted(layout), "GPU {gpu}");
        assert_eq!(
            driver.open().unwrap().gpu(gpu).unwrap().slices.len(),
            layout.len(),
            "a GPU instance has no compute instance"
        );
    }
}

#[test]
fn matching_gpus_in_use_are_unchanged() {
    let mut driver = FakeDriver::new(H100);
    let layouts = layouts_with_exceptions(HALVES, &[]);
    apply(&driver, &layouts);
    driver.set("gpu.processes", "2");
    let before = change_calls(&driver);
    let output = apply(&driver, &layouts);
    assert_eq!(output.code, Some(0), "{}", output.log);
    assert_eq!(change_calls(&driver), before, "{}", output.log);
    assert_eq!(
        output
            .log
            .matches("already has the configured MIG devices")
            .count(),
        8
    );
}

#[test]
fn new_layout_changes_only_differences() {
    let driver = FakeDriver::new(H100);
    apply(&driver, &layouts_with_exceptions(HALVES, &[]));
    let ids = |gpu| -> Vec<u32> {
        let instances = driver.open().unwrap().gpu_instances(gpu).unwrap();
        let first = instances
            .iter()
            .filter(|instance| instance.placement.0 == 0);
        first.map(|instance| instance.id).collect()
    };
    let (kept_ids, before) = (ids(3), change_calls(&driver));
    let output = apply(&driver, &layouts_with_exceptions(HALVES, &[(3, UNEVEN)]));
    assert_eq!(output.code, Some(0), "{}", output.log);
    assert_eq!(mig_devices(&driver, 3), sorted(UNEVEN));
    assert_eq!(
        ids(3),
        kept_ids,
        "the GPU instance in both layouts is not recreated"
    );
    let made_calls: Vec<usize> = change_calls(&driver)
        .iter()
        .zip(&before)
        .map(|(after, before)| after - before)
        .collect();
    // One GPU instance is deleted and two are created, each with its compute instance. MIG mode does not change.
    assert_eq!(made_calls, [0, 2, 1, 2, 1]);
}

#[test]
fn gpu_in_use_is_skipped() {
    let mut driver = FakeDriver::new(H100);
    driver.set("gpu.2.processes", "1");
    let output = apply(&driver, &layouts_with_exceptions(HALVES, &[]));
    assert_eq!(output.code, Some(3), "{}", output.log);
    assert!(
        output
            .log
            .contains("GPU 2 is not changed: 1 process uses it: drain the node first"),
        "{}",
        output.log
    );
    assert_eq!(mig_devices(&driver, 2), []);
    assert_eq!(mig_devices(&driver, 3), sorted(HALVES));
    driver.set("gpu.2.processes", "0");
    assert_eq!(
        apply(&driver, &layouts_with_exceptions(HALVES, &[])).code,
        Some(0)
    );
    assert_eq!(mig_devices(&driver, 2), sorted(HALVES));
}

#[test]
fn pending_reset_has_help() {
    let mut driver = FakeDriver::new(H100);
    driver.set("gpu.mig_needs_reset", "1");
    for _ in 0..2 {
        let output = apply(&driver, &layouts_with_exceptions(HALVES, &[]));
        assert_eq!(output.code, Some(3), "{}", output.log);
        assert!(output.log.contains("reboot the node"), "{}", output.log);
    }
    assert_eq!(driver.calls("nvmlDeviceCreateGpuInstanceWithPlacement"), 0);
}

/// The GPU keeps its mode: enabling it would reset the GPU for nothing.
#[test]
fn unknown_profile_changes_nothing() {
    let driver = FakeDriver::new(H100);
    let layouts = layouts_with_exceptions(HALVES, &[(2, &[("3g.20gb", 0, 4)])]);
    let output = apply(&driver, &layouts);
    assert_eq!(output.code, Some(3), "{}", output.log);
    let message = "GPU 2 is not changed: it has no MIG profile `3g.20gb`: use one of 1g.10gb";
    assert!(output.log.contains(message), "{}", output.log);
    assert_eq!(driver.changed("gpu.2.mig"), None);
    assert_eq!(mig_devices(&driver, 3), sorted(HALVES));
}

/// A call that returns after the time limit must not be followed by another one.
#[test]
fn stopped_change_makes_no_further_steps() {
    let driver = FakeDriver::new(H100);
    let real = driver.open().unwrap();
    let slices = [MigSlice {
        profile: "3g.40gb".to_owned(),
        start: 0,
        size: 4,
    }];
    let outcome = apply_to_gpu(&real, 0, &slices, false, || {
        driver.changed("gpu.0.mig").is_some()
    });
    let Outcome::Failed {
        completed, error, ..
    } = outcome
    else {
        panic!("{outcome:?}");
    };
    assert_eq!((completed.len(), error.kind), (1, NvmlErrorKind::TimedOut));
    assert_eq!(driver.calls("nvmlDeviceCreateGpuInstanceWithPlacement"), 0);
}

/// The other GPUs are served.
#[test]
fn missing_gpu_is_skipped() {
    let driver = FakeDriver::new("gpus = 7\ngpu.model = h100-sxm5-80gb\n");
    let output = apply(&driver, &layouts_with_exceptions(HALVES, &[]));
    assert_eq!(output.code, Some(0), "{}", output.log);
    let message = "GPU 7 is skipped: the driver lists 7 GPUs, without this one";
    assert!(output.log.contains(message), "{}", output.log);
    assert_eq!(mig_devices(&driver, 6), sorted(HALVES));
}

#[test]
fn lost_gpu_is_skipped() {
    let mut driver = FakeDriver::new(H100);
    driver.set("gpu.5.lost", "1");
    let output = apply(&driver, &layouts_with_exceptions(HALVES, &[]));
    assert_eq!(output.code, Some(0), "{}", output.log);
    assert!(output.log.contains("GPU 5 is lost"), "{}", output.log);
    for gpu in [0, 4, 6, 7] {
        assert_eq!(mig_devices(&driver, gpu), sorted(HALVES), "GPU {gpu}");
    }
}

#[test]
fn reboot_recreates_mig_devices() {
    let driver = FakeDriver::new(H100);
    apply(&driver, &layouts_with_exceptions(HALVES, &[]));
    driver.reboot();
    assert_eq!(mig_devices(&driver, 0), []);
    assert_eq!(
        apply(&driver, &layouts_with_exceptions(HALVES, &[])).code,
        Some(0)
    );
    assert_eq!(mig_devices(&driver, 0), sorted(HALVES));
}

#[test]
fn dry_run_changes_nothing() {
    let driver = FakeDriver::new(H100);
    let node = node(&driver, &layouts_with_exceptions(HALVES, &[]), true);
    let output = node.run(&["mig", "apply", "--dry-run"]);
    assert_eq!(output.code, Some(0), "{}", output.log);
    assert!(
        output
            .log
            .contains("GPU 0: would enable MIG mode (dry run)"),
        "{}",
        output.log
    );
    assert_eq!(change_calls(&driver), [0; 5]);
}

#[test]
fn cloud_partitioned_gpus_are_not_read() {
    let driver = FakeDriver::new(H100);
    let output = node(&driver, &layouts_with_exceptions(HALVES, &[]), false).run(&["mig", "apply"]);
    assert_eq!(output.code, Some(0), "{}", output.log);
    let other = Node::new(driver.root(), &NodeSharing::Exclusive, &json!({}));
    assert_eq!(other.run(&["mig", "apply"]).code, Some(0));
    assert_eq!(driver.all_calls(), 0);
}

/// The number of calls of each function that changes a GPU.
fn change_calls(driver: &FakeDriver) -> [usize; 5] {
    [
        "nvmlDeviceSetMigMode",
        "nvmlDeviceCreateGpuInstanceWithPlacement",
        "nvmlGpuInstanceDestroy",
        "nvmlGpuInstanceCreateComputeInstance",
        "nvmlComputeInstanceDestroy",
    ]
    .map(|function| driver.calls(function))
}

/// The layouts of eight GPUs: `others` for some, `most` for the rest.
fn layouts_with_exceptions(most: Layout, others: &[(usize, Layout)]) -> Vec<Layout> {
    let mut layouts = vec![most; 8];
    for (gpu, layout) in others {
        layouts[*gpu] = layout;
    }
    layouts
}

fn node(driver: &FakeDriver, layouts: &[Layout], apply: bool) -> Node {
    let slices = |layout: &Layout| {
        let slice = |&(profile, start, size): &(&str, u8, u8)| MigSlice {
            profile: profile.to_owned(),
            start,
            size,
        };
        layout.iter().map(slice).collect()
    };
    let gpus = (0..).zip(layouts).map(|(index, layout)| MigGpu {
        index,
        slices: slices(layout),
    });
    let sharing = NodeSharing::Mig {
        strategy: gpuc_schema::config::MigStrategy::Mixed,
        apply,
        gpus: gpus.collect(),
    };
    Node::new(driver.root(), &sharing, &json!({}))
}

fn apply(driver: &FakeDriver, layouts: &[Layout]) -> CommandOutput {
    node(driver, layouts, true).run(&["mig", "apply"])
}

/// The MIG devices of a GPU, as another process sees them.
fn mig_devices(driver: &FakeDriver, gpu: u32) -> Vec<(String, u32, u32)> {
    let instances = driver.open().unwrap().gpu_instances(gpu).unwrap();
    let instances = instances
        .into_iter()
        .map(|it| (it.profile, it.placement.0, it.placement.1));
    let mut devices: Vec<_> = instances.collect();
    devices.sort_by_key(|(_, start, _)| *start);
    devices
}

fn sorted(layout: Layout) -> Vec<(String, u32, u32)> {
    let slices = layout
        .iter()
        .map(|&(profile, start, size)| (profile.to_owned(), start.into(), size.into()));
    slices.collect()
}
