//! The properties of GPUs and MIG devices.

use gpuc_runtime::nvml::{Clique, Engines, GpuInfo, MigDeviceInfo, MigMode, Nvml, NvmlErrorKind};

use super::H100;
use crate::fake_driver::FakeDriver;

#[test]
fn full_gpu_is_read() {
    let driver = FakeDriver::new(
        "gpus = 2
        driver = 580.95.05
        cuda = 13000
        gpu.model = h100-sxm5-80gb
        gpu.1.name = NVIDIA H100 80GB HBM3
        gpu.1.uuid = GPU-4cf8db2d-06c0-7d70-1a51-e59b25b2c16c
        gpu.1.minor = 3
        gpu.1.bus = 00000001:1B:00.0
        gpu.1.fabric = 0123456789abcdef00112233445566ff 7 3",
    );
    let real = driver.open().unwrap();
    let versions = real.driver().unwrap();
    assert_eq!(versions.version, "580.95.05");
    assert_eq!(versions.cuda, (13, 0));
    assert_eq!(real.gpu_count(), Ok(2));
    let gpu = GpuInfo {
        index: 1,
        uuid: "GPU-4cf8db2d-06c0-7d70-1a51-e59b25b2c16c".to_owned(),
        minor: 3,
        name: "NVIDIA H100 80GB HBM3".to_owned(),
        pci_bus_id: "00000001:1B:00.0".to_owned(),
        pci_id: 0x2330_10DE,
        memory_bytes: Some(81_559 << 20),
        compute_capability: (9, 0),
        mig: Some(MigMode {
            enabled: false,
            pending: false,
        }),
        slices: Vec::new(),
        clique: Some(Clique {
            cluster: "01234567-89ab-cdef-0011-2233445566ff".to_owned(),
            id: 7,
        }),
    };
    assert_eq!(real.gpu(1), Ok(gpu));
    assert_eq!(real.gpu(0).unwrap().clique, None);
    // Some drivers return an error if MIG mode is off.
    assert_eq!(driver.calls("nvmlDeviceGetMaxMigDeviceCount"), 0);
}

#[test]
fn unsupported_properties_are_left_out() {
    let driver = FakeDriver::new(
        "gpus = 1
        gpu.model = l4-24gb
        gpu.memory_mib = shared
        gpu.fabric = 00000000000000000000000000000000 0 2",
    );
    let gpu = driver.open().unwrap().gpu(0).unwrap();
    assert_eq!(gpu.memory_bytes, None);
    assert_eq!(gpu.mig, None);
    assert_eq!(
        gpu.clique, None,
        "the registration with the fabric is not complete"
    );
    assert_eq!(gpu.compute_capability, (8, 9));
}

#[test]
fn mig_devices_are_read() {
    let driver = FakeDriver::new(
        "gpus = 1
        gpu.model = h100-sxm5-80gb
        gpu.mig = on
        gpu.layout = 1:3g.40gb@4/0=1,2=2 9:1g.10gb+me@0/0=1 8:2g.20gb@2
        gpu.engines = 3 2 0 1 1",
    );
    let real = driver.open().unwrap();
    let gpu = real.gpu(0).unwrap();
    let names: Vec<_> = gpu
        .slices
        .iter()
        .map(|slice| (slice.profile.as_str(), slice.gi, slice.ci, slice.place))
        .collect();
    let expected = [
        ("1c.3g.40gb", 1, 0, Some((4, 4))),
        ("2c.3g.40gb", 1, 2, Some((4, 4))),
        ("1g.10gb+me", 9, 0, Some((0, 1))),
        ("2g.20gb", 8, 0, Some((2, 2))),
    ];
    assert_eq!(names, expected);
    let slice = MigDeviceInfo {
        index: 1,
        uuid: "MIG-00000000-0001-0002-5a5a-0123456789ab".to_owned(),
        gi: 1,
        ci: 2,
        profile: "2c.3g.40gb".to_owned(),
        place: Some((4, 4)),
        memory_mib: 40_448,
        multiprocessors: 32,
        gi_slices: 3,
        ci_slices: 2,
        engines: Engines {
            copy: 3,
            decoder: 2,
            encoder: 0,
            jpeg: 1,
            ofa: 1,
        },
    };
    assert_eq!(gpu.slices[1], slice);
}

/// The driver reports placements to privileged processes only. Old drivers report no profiles.
#[test]
fn mig_devices_are_read_without_attributes() {
    let driver = FakeDriver::new(
        "gpus = 1
        gpu.model = a100-sxm4-40gb
        gpu.mig = on
        gpu.layout = 3g.20gb@4 1g.5gb@0
        gpu.slice_name = none
        error.nvmlDeviceGetGpuInstanceById = 4",
    );
    let slices = driver.open().unwrap().gpu(0).unwrap().slices;
    let profiles: Vec<_> = slices.iter().map(|slice| slice.profile.as_str()).collect();
    assert_eq!(profiles, ["3g.20gb", "1g.5gb"]);
    assert_eq!(slices[0].place, None);
}

#[test]
fn concurrently_removed_mig_device_is_skipped() {
    let mut driver = FakeDriver::new(
        "gpus = 1
        gpu.model = h100-sxm5-80gb
        gpu.mig = on
        gpu.layout = 3g.40gb@4",
    );
    let real = driver.open().unwrap();
    assert_eq!(real.gpu(0).unwrap().slices.len(), 1);
    driver.set("error.nvmlDeviceGetAttributes_v2", "6");
    assert_eq!(real.gpu(0).unwrap().slices, []);
    driver.set("error.nvmlDeviceGetAttributes_v2", "4");
    assert_eq!(real.gpu(0).unwrap_err().kind, NvmlErrorKind::NoPermission);
}

#[test]
fn lost_gpu_does_not_affect_others() {
    let mut driver = FakeDriver::new(H100);
    let real = driver.open().unwrap();
    assert!(real.gpu(3).is_ok());
    driver.set("gpu.3.lost", "1");
    assert_eq!(real.gpu_count(), Ok(8));
    for index in 0..8 {
        let results = [
            real.gpu(index).map(|_| ()),
            real.condition(index).map(|_| ()),
            real.sample(index).map(|_| ()),
            real.link(index, (index + 4) % 8).map(|_| ()),
        ];
        for (call, result) in results.into_iter().enumerate() {
            if index == 3 || (index == 7 && call == 3) {
                let error = result.unwrap_err();
                assert_eq!(error.kind, NvmlErrorKind::GpuLost, "{error}");
                assert!(error.message.starts_with("GPU 3: "), "{error}");
            } else {
                assert_eq!(result, Ok(()), "call {call} of GPU {index}");
            }
        }
    }
    let watch = real.watch().unwrap();
    let unwatched: Vec<_> = watch.unwatched().iter().map(|(gpu, _)| *gpu).collect();
    assert_eq!(unwatched, [3]);
    driver.set("gpu.3.lost", "0");
    assert!(real.gpu(3).is_ok(), "the GPU responds again");
}

#[test]
fn failed_call_affects_one_gpu() {
    let mut driver = FakeDriver::new(H100);
    let real = driver.open().unwrap();
    for (number, kind) in [
        (3, NvmlErrorKind::NotSupported),
        (4, NvmlErrorKind::NoPermission),
        (15, NvmlErrorKind::GpuLost),
        (17, NvmlErrorKind::NoPermission),
        (19, NvmlErrorKind::InUse),
        (25, NvmlErrorKind::NotSupported),
        (999, NvmlErrorKind::Other),
    ] {
        driver.set("gpu.5.error.nvmlDeviceGetUUID", &number.to_string());
        let error = real.gpu(5).unwrap_err();
        assert_eq!(error.kind, kind, "{number}: {error}");
        assert!(real.gpu(4).is_ok());
    }
}
