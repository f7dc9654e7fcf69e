//! Creation and deletion of MIG devices.

use gpuc_runtime::nvml::{ComputeInstance, GpuInstance, MigControl, MigMode, Nvml, NvmlErrorKind};

use super::H100;
use crate::fake_driver::FakeDriver;

#[test]
fn gpu_is_partitioned_and_restored() {
    let mut driver = FakeDriver::new(H100);
    let real = driver.open().unwrap();
    let on = MigMode {
        enabled: true,
        pending: true,
    };
    assert_eq!(real.gpu_instances(1), Ok(Vec::new()));
    assert_eq!(real.set_mig_mode(1, true), Ok(on));
    let profiles = real.mig_profiles(1).unwrap();
    let small = profiles.iter().find(|it| it.name == "1g.10gb").unwrap();
    assert_eq!(
        (
            small.id,
            small.slices,
            small.memory_mib,
            small.max_instances
        ),
        (19, 1, 9_984, 7)
    );
    let large = real.create_gpu_instance(1, "3g.40gb", (0, 4)).unwrap();
    let small = real.create_gpu_instance(1, "1g.10gb", (6, 1)).unwrap();
    assert_eq!(real.create_compute_instance(1, large, 2), Ok(0));
    assert_eq!(real.create_compute_instance(1, large, 1), Ok(1));
    assert_eq!(real.create_compute_instance(1, small, 1), Ok(0));
    let instances = [
        GpuInstance {
            id: large,
            profile: "3g.40gb".to_owned(),
            slices: 3,
            placement: (0, 4),
            compute: vec![
                ComputeInstance { id: 0, slices: 2 },
                ComputeInstance { id: 1, slices: 1 },
            ],
        },
        GpuInstance {
            id: small,
            profile: "1g.10gb".to_owned(),
            slices: 1,
            placement: (6, 1),
            compute: vec![ComputeInstance { id: 0, slices: 1 }],
        },
    ];
    assert_eq!(real.gpu_instances(1).unwrap(), instances);
    assert_eq!(real.gpu(1).unwrap().slices.len(), 3);
    assert_eq!(real.gpu(0).unwrap().slices, []);

    let overlap = real.create_gpu_instance(1, "4g.40gb", (4, 4)).unwrap_err();
    assert!(overlap.message.starts_with("GPU 1"), "{overlap}");
    let unknown = real.create_gpu_instance(1, "1g.5gb", (0, 1)).unwrap_err();
    assert!(
        unknown.message.contains("`1g.5gb`; available: 1g.10gb"),
        "{unknown}"
    );
    let not_empty = real.destroy_gpu_instance(1, small).unwrap_err();
    assert_eq!(not_empty.kind, NvmlErrorKind::InUse);

    // Another process sees the same instances. A reboot deletes them.
    let other_process = FakeDriver::open(&driver).unwrap();
    assert_eq!(other_process.gpu_instances(1).unwrap(), instances);
    driver.set("gpu.1.processes", "2");
    assert_eq!(real.process_count(1), Ok(2));
    let in_use = real.destroy_compute_instance(1, small, 0).unwrap_err();
    assert_eq!(in_use.kind, NvmlErrorKind::InUse);
    driver.set("gpu.1.processes", "0");
    real.destroy_compute_instance(1, small, 0).unwrap();
    real.destroy_gpu_instance(1, small).unwrap();
    for ci in [0, 1] {
        real.destroy_compute_instance(1, large, ci).unwrap();
    }
    real.destroy_gpu_instance(1, large).unwrap();
    assert_eq!(real.gpu_instances(1), Ok(Vec::new()));
    let off = MigMode {
        enabled: false,
        pending: false,
    };
    assert_eq!(real.set_mig_mode(1, false), Ok(off));
    real.set_mig_mode(1, true).unwrap();
    driver.reboot();
    assert_eq!(real.gpu(1).unwrap().mig, Some(off));
}

#[test]
fn pending_reset_is_reported() {
    let driver = FakeDriver::new("gpus = 1\ngpu.model = a100-sxm4-40gb\ngpu.mig_needs_reset = 1");
    let real = driver.open().unwrap();
    let pending = MigMode {
        enabled: false,
        pending: true,
    };
    assert_eq!(real.set_mig_mode(0, true), Ok(pending));
    assert_eq!(real.gpu(0).unwrap().mig, Some(pending));
}

#[test]
fn partitioning_requires_permission_and_support() {
    let driver = FakeDriver::new(
        "gpus = 2
        gpu.0.model = t4-16gb
        gpu.1.model = h100-sxm5-80gb
        gpu.1.error.nvmlDeviceSetMigMode = 4",
    );
    let real = driver.open().unwrap();
    let kind = |gpu| real.set_mig_mode(gpu, true).unwrap_err().kind;
    assert_eq!(kind(0), NvmlErrorKind::NotSupported);
    assert_eq!(kind(1), NvmlErrorKind::NoPermission);
}

/// The driver lists compute, graphics and MPS processes separately.
#[test]
fn all_processes_are_counted() {
    let driver = FakeDriver::new(
        "gpus = 1
        gpu.processes = 2
        gpu.graphics_processes = 1
        gpu.mps_processes = 3",
    );
    assert_eq!(driver.open().unwrap().process_count(0), Ok(6));
}
