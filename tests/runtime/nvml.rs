//! The daemon's way to the driver, dlopen and all: through a libnvidia-ml that is a file's word for a machine.

use std::path::Path;
use std::time::{Duration, Instant};

use gpuc_runtime::nvml::{
    Clique, ComputeInstance, Condition, Engines, GpuInfo, GpuInstance, Link, Meet, MigControl,
    MigMode, Nvml, NvmlErrorKind, NvmlEvent, NvmlEventKind, Real, RecoveryAction, Sample,
    SliceInfo, Watch,
};

use crate::fake_driver::FakeDriver;

const H100: &str = "gpus = 8\ngpu.model = h100-sxm5-80gb\n";

fn soon(watch: &mut dyn Watch) -> Option<NvmlEvent> {
    let event = watch.next(Duration::from_secs(5));
    event.expect("a wait that no event ends is no error")
}

#[test]
fn a_whole_gpu_is_read() {
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
    // Some drivers fail where MIG mode is off.
    assert_eq!(driver.calls("nvmlDeviceGetMaxMigDeviceCount"), 0);
}

#[test]
fn what_a_card_does_not_have_is_left_out() {
    let driver = FakeDriver::new(
        "gpus = 1
        gpu.model = l4-24gb
        gpu.memory_mib = shared
        gpu.fabric = 00000000000000000000000000000000 0 2",
    );
    let gpu = driver.open().unwrap().gpu(0).unwrap();
    assert_eq!(gpu.memory_bytes, None);
    assert_eq!(gpu.mig, None);
    assert_eq!(gpu.clique, None, "the fabric manager is not done");
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
    let slice = SliceInfo {
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

/// Only a privileged process may ask where instances lie, and old drivers do not name profiles.
#[test]
fn mig_devices_are_read_with_less() {
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
fn sixteen_gpus_are_read_with_one_initialisation() {
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
    assert_eq!(driver.calls("nvmlShutdown"), 0, "a subscription holds it");
    drop(watch);
    assert_eq!(driver.calls("nvmlEventSetFree"), 1);
    assert_eq!(driver.calls("nvmlShutdown"), 1);
}

#[test]
fn a_lost_gpu_takes_no_other_along() {
    let mut driver = FakeDriver::new(H100);
    let real = driver.open().unwrap();
    assert!(real.gpu(3).is_ok());
    driver.set("gpu.3.lost", "1");
    assert_eq!(real.gpu_count(), Ok(8));
    for index in 0..8 {
        let answers = [
            real.gpu(index).map(|_| ()),
            real.condition(index).map(|_| ()),
            real.sample(index).map(|_| ()),
            real.link(index, (index + 4) % 8).map(|_| ()),
        ];
        for (question, answer) in answers.into_iter().enumerate() {
            if index == 3 || (index == 7 && question == 3) {
                let error = answer.unwrap_err();
                assert_eq!(error.kind, NvmlErrorKind::GpuLost, "{error}");
                assert!(error.message.starts_with("GPU 3: "), "{error}");
            } else {
                assert_eq!(answer, Ok(()), "question {question} to GPU {index}");
            }
        }
    }
    let watch = real.watch().unwrap();
    let unwatched: Vec<_> = watch.unwatched().iter().map(|(gpu, _)| *gpu).collect();
    assert_eq!(unwatched, [3]);
    driver.set("gpu.3.lost", "0");
    assert!(real.gpu(3).is_ok(), "it is back");
}

#[test]
fn one_call_of_one_gpu_can_fail() {
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

#[test]
fn a_driver_that_comes_later_is_met() {
    let mut driver = FakeDriver::new("");
    let error = driver.open().err().expect("no driver is loaded");
    assert_eq!(error.kind, NvmlErrorKind::NoDriver);
    assert!(error.message.contains("libnvidia-ml.so.1"), "{error}");
    assert!(error.message.contains("driver is not loaded"), "{error}");
    driver.set("gpus", "1");
    assert_eq!(driver.open().unwrap().gpu_count(), Ok(1));
}

#[test]
fn a_library_that_is_not_there_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let error = Real::open(folder.path()).err().expect("nothing is there");
    // A machine with NVIDIA's driver has the library where the system looks.
    assert_eq!(error.kind, NvmlErrorKind::NoLibrary);
    let path = folder.path().display().to_string();
    assert!(error.message.contains(&path), "{error}");
    assert!(error.message.contains("libnvidia-ml.so.1"), "{error}");
    assert!(Path::new(&path).exists());
}

#[test]
fn slow_drivers_are_waited_for() {
    let driver = FakeDriver::new("gpus = 1\nlatency_us.nvmlDeviceGetUUID = 60000");
    let real = driver.open().unwrap();
    let start = Instant::now();
    real.gpu(0).unwrap();
    assert!(start.elapsed() >= Duration::from_millis(60));
}

#[test]
fn each_kind_of_event_is_told() {
    let mut driver = FakeDriver::new(H100);
    let real = driver.open().unwrap();
    let mut watch = real.watch().unwrap();
    let xid = |xid, instance| NvmlEventKind::Xid { xid, instance };
    for (text, gpu, kind) in [
        ("3 xid 79", Some(3), xid(79, None)),
        ("0 xid 31 7 0", Some(0), xid(31, Some((7, 0)))),
        ("1 xid 94 13 2", Some(1), xid(94, Some((13, 2)))),
        ("none xid 79", None, xid(79, None)),
        ("2 sbe", Some(2), NvmlEventKind::SingleBitEcc),
        ("2 dbe", Some(2), NvmlEventKind::DoubleBitEcc),
        ("7 mig", Some(7), NvmlEventKind::MigChanged),
        ("6 unavailable", Some(6), NvmlEventKind::Unavailable),
        ("5 recovery", Some(5), NvmlEventKind::RecoveryAction),
    ] {
        driver.event(text);
        assert_eq!(soon(&mut *watch), Some(NvmlEvent { gpu, kind }), "{text}");
    }
    assert_eq!(watch.next(Duration::from_millis(20)), Ok(None));
}

#[test]
fn a_gpu_that_is_gone_is_known_by_its_event() {
    let mut driver = FakeDriver::new(H100);
    let real = driver.open().unwrap();
    let mut watch = real.watch().unwrap();
    driver.set("gpu.3.lost", "1");
    driver.event("3 xid 79");
    assert_eq!(soon(&mut *watch).and_then(|event| event.gpu), Some(3));
}

#[test]
fn a_wait_that_fails_can_be_repeated() {
    let mut driver = FakeDriver::new(H100);
    let real = driver.open().unwrap();
    let mut watch = real.watch().unwrap();
    driver.event("error 999");
    driver.event("4 xid 48");
    let error = watch.next(Duration::from_secs(5)).unwrap_err();
    assert_eq!(error.kind, NvmlErrorKind::Other);
    assert!(error.message.contains("waiting for events"), "{error}");
    assert_eq!(soon(&mut *watch).and_then(|event| event.gpu), Some(4));
}

/// Real cards refuse a registration that names one type they do not have.
#[test]
fn cards_are_asked_for_the_events_they_have() {
    let mut driver = FakeDriver::new(
        "gpus = 3
        gpu.0.event_types = 0x9f
        gpu.1.event_types = 0
        gpu.2.error.nvmlDeviceRegisterEvents = 999",
    );
    let real = driver.open().unwrap();
    let mut watch = real.watch().unwrap();
    let unwatched: Vec<_> = watch.unwatched().to_vec();
    let kinds: Vec<_> = unwatched.iter().map(|(gpu, it)| (*gpu, it.kind)).collect();
    let expected = [(1, NvmlErrorKind::NotSupported), (2, NvmlErrorKind::Other)];
    assert_eq!(kinds, expected);
    driver.event("0 mig");
    driver.event("0 xid 48");
    let told = soon(&mut *watch).map(|event| event.kind);
    let xid = NvmlEventKind::Xid {
        xid: 48,
        instance: None,
    };
    assert_eq!(told, Some(xid), "it was never asked for changes of MIG");
}

#[test]
fn a_gpus_condition_follows_the_driver() {
    let mut driver = FakeDriver::new(H100);
    let real = driver.open().unwrap();
    let well = Condition {
        action: Some(RecoveryAction::Nothing),
        remap_failed: false,
    };
    assert_eq!(real.condition(2), Ok(well));
    for (number, action) in [
        ("1", RecoveryAction::ResetGpu),
        ("2", RecoveryAction::RebootNode),
        ("3", RecoveryAction::DrainPeers),
        ("4", RecoveryAction::DrainAndReset),
        ("5", RecoveryAction::RecoverImex),
        ("6", RecoveryAction::Other(6)),
    ] {
        driver.set("gpu.2.recovery_action", number);
        assert_eq!(real.condition(2).unwrap().action, Some(action));
        assert_eq!(real.condition(1), Ok(well));
    }
    driver.set("gpu.2.recovery_action", "none");
    driver.set("gpu.2.remapped", "1 2 0 1");
    let condition = real.condition(2).unwrap();
    assert_eq!(condition.action, None);
    assert!(condition.remap_failed);
    driver.set("gpu.2.remapped", "none");
    assert!(!real.condition(2).unwrap().remap_failed);
    driver.set("gpu.2.error.nvmlDeviceGetMemoryInfo_v2", "999");
    assert!(real.condition(2).is_err(), "it does not know its memory");
    driver.set("gpu.1.error.nvmlDeviceGetUUID", "999");
    assert!(real.condition(1).is_err(), "it does not know who it is");
    assert_eq!(real.condition(0), Ok(well));
}

#[test]
fn a_sample_holds_what_the_card_says() {
    let mut driver = FakeDriver::new(
        "gpus = 1
        gpu.model = h100-sxm5-80gb
        gpu.temperature = 61
        gpu.memory_temperature = 72
        gpu.power_mw = 412345
        gpu.energy_mj = 987654321012
        gpu.sm_clock = 1980
        gpu.memory_clock = 2619
        gpu.utilization = 97
        gpu.copy_utilization = 41
        gpu.encoder = 3
        gpu.decoder = 4
        gpu.memory_used_mib = 1000
        gpu.memory_reserved_mib = 559
        gpu.replays = 5
        gpu.remapped = 6 7 0 1
        gpu.single_bit = 8
        gpu.double_bit = 9",
    );
    let real = driver.open().unwrap();
    let sample = Sample {
        temperature: Some(61),
        memory_temperature: Some(72),
        power: Some(412.345),
        energy: Some(987_654_321_012),
        sm_clock: Some(1980),
        memory_clock: Some(2619),
        utilization: Some(97),
        copy_utilization: Some(41),
        encoder_utilization: Some(3),
        decoder_utilization: Some(4),
        memory_used: Some(1000),
        memory_free: Some(80_000),
        memory_reserved: Some(559),
        pcie_replays: Some(5),
        correctable_remapped_rows: Some(6),
        uncorrectable_remapped_rows: Some(7),
        remap_failure: Some(true),
        single_bit_errors: Some(8),
        double_bit_errors: Some(9),
        slices: Vec::new(),
    };
    assert_eq!(real.sample(0), Ok(sample));
    for key in [
        "temperature",
        "memory_temperature",
        "power_mw",
        "energy_mj",
        "sm_clock",
        "memory_clock",
        "utilization",
        "encoder",
        "decoder",
        "replays",
        "remapped",
        "single_bit",
        "double_bit",
    ] {
        driver.set(&format!("gpu.{key}"), "none");
    }
    driver.set("gpu.memory_mib", "shared");
    assert_eq!(real.sample(0), Ok(Sample::default()));
}

/// A sensor that fails is one number less; a GPU that goes while it is asked is an error.
#[test]
fn a_sensor_that_fails_takes_no_other_along() {
    let mut driver = FakeDriver::new(H100);
    let real = driver.open().unwrap();
    driver.set("gpu.0.error.nvmlDeviceGetTemperature", "999");
    let sample = real.sample(0).unwrap();
    assert_eq!(sample.temperature, None);
    assert!(sample.power.is_some());
    driver.set("gpu.0.error.nvmlDeviceGetTemperature", "15");
    assert_eq!(real.sample(0).unwrap_err().kind, NvmlErrorKind::GpuLost);
}

#[test]
fn a_sample_holds_the_memory_of_slices() {
    let driver = FakeDriver::new(
        "gpus = 1
        gpu.model = h100-sxm5-80gb
        gpu.mig = on
        gpu.memory_used_mib = 100
        gpu.layout = 3g.40gb@4 1g.10gb@0",
    );
    let real = driver.open().unwrap();
    let slices = real.gpu(0).unwrap().slices;
    let expected = [
        (slices[0].uuid.clone(), 100, 40_348),
        (slices[1].uuid.clone(), 100, 9_884),
    ];
    assert_eq!(real.sample(0).unwrap().slices, expected);
}

#[test]
fn direct_links_are_counted() {
    let mut driver = FakeDriver::new(
        "gpus = 3
        level = 40
        level.0.1 = 10
        gpu.0.links = 1 1 2 off
        gpu.1.links = 0 0 off off
        gpu.2.links = off",
    );
    let real = driver.open().unwrap();
    let link = |meet, nvlinks| Ok(Link { meet, nvlinks });
    for (one, other) in [(0, 1), (1, 0)] {
        assert_eq!(real.link(one, other), link(Meet::Switch, 2));
    }
    // GPU 2 does not see the link that GPU 0 sees.
    for (one, other) in [(0, 2), (2, 0)] {
        assert_eq!(real.link(one, other), link(Meet::Processor, 1));
    }
    assert_eq!(real.link(1, 2), link(Meet::Processor, 0));
    driver.set("gpu.0.links", "1 off off off");
    driver.set("gpu.1.links", "0 off off off");
    assert!(real.gpu(0).is_ok() && real.gpu(1).is_ok());
    assert_eq!(
        real.link(0, 1),
        link(Meet::Switch, 1),
        "read again with the GPU"
    );
}

#[test]
fn links_through_switches_count() {
    let switches = "switch ".repeat(18);
    let mut driver = FakeDriver::new(&format!("{H100}level = 50\ngpu.links = {switches}"));
    driver.set("gpu.6.links", &"switch ".repeat(12));
    let real = driver.open().unwrap();
    let nvlinks = |one, other| real.link(one, other).unwrap().nvlinks;
    assert_eq!(nvlinks(0, 7), 18);
    assert_eq!(nvlinks(6, 0), 12);
    assert_eq!(real.link(0, 1).unwrap().meet, Meet::System);
}

#[test]
fn cards_without_links_meet_somewhere() {
    for (level, meet) in [
        ("0", Meet::Board),
        ("10", Meet::Switch),
        ("20", Meet::Switches),
        ("30", Meet::HostBridge),
        ("40", Meet::Processor),
        ("50", Meet::System),
    ] {
        let driver = FakeDriver::new(&format!("gpus = 2\ngpu.model = l4-24gb\nlevel = {level}"));
        let real = driver.open().unwrap();
        assert_eq!(real.link(0, 1), Ok(Link { meet, nvlinks: 0 }));
    }
}

/// Sixteen GPUs have 120 pairs with 36 links each; asked one by one that would be ten thousand questions.
#[test]
fn links_are_read_once_a_gpu() {
    let switches = "switch ".repeat(18);
    let driver = FakeDriver::new(&format!("gpus = 16\ngpu.links = {switches}"));
    let real = driver.open().unwrap();
    for one in 0..16 {
        for other in one + 1..16 {
            assert_eq!(real.link(one, other).unwrap().nvlinks, 18);
        }
    }
    assert_eq!(driver.calls("nvmlDeviceGetNvLinkState"), 16 * 18);
}

#[test]
fn a_gpu_is_cut_and_made_whole() {
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
        (small.id, small.slices, small.memory_mib, small.most),
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
            place: (0, 4),
            compute: vec![
                ComputeInstance { id: 0, slices: 2 },
                ComputeInstance { id: 1, slices: 1 },
            ],
        },
        GpuInstance {
            id: small,
            profile: "1g.10gb".to_owned(),
            slices: 1,
            place: (6, 1),
            compute: vec![ComputeInstance { id: 0, slices: 1 }],
        },
    ];
    assert_eq!(real.gpu_instances(1).unwrap(), instances);
    assert_eq!(real.gpu(1).unwrap().slices.len(), 3);
    assert_eq!(real.gpu(0).unwrap().slices, []);

    let refused = real.create_gpu_instance(1, "4g.40gb", (4, 4)).unwrap_err();
    assert!(refused.message.starts_with("GPU 1"), "{refused}");
    let unknown = real.create_gpu_instance(1, "1g.5gb", (0, 1)).unwrap_err();
    assert!(
        unknown.message.contains("`1g.5gb`; it has 1g.10gb"),
        "{unknown}"
    );
    let full = real.destroy_gpu_instance(1, small).unwrap_err();
    assert_eq!(full.kind, NvmlErrorKind::InUse);

    // Another process finds the layout; a reboot ends it.
    let again = FakeDriver::open(&driver).unwrap();
    assert_eq!(again.gpu_instances(1).unwrap(), instances);
    driver.set("gpu.1.processes", "2");
    assert_eq!(real.process_count(1), Ok(2));
    let used = real.destroy_compute_instance(1, small, 0).unwrap_err();
    assert_eq!(used.kind, NvmlErrorKind::InUse);
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
fn a_card_that_needs_a_reset_says_so() {
    let driver = FakeDriver::new("gpus = 1\ngpu.model = a100-sxm4-40gb\ngpu.mig_needs_reset = 1");
    let real = driver.open().unwrap();
    let waits = MigMode {
        enabled: false,
        pending: true,
    };
    assert_eq!(real.set_mig_mode(0, true), Ok(waits));
    assert_eq!(real.gpu(0).unwrap().mig, Some(waits));
}

#[test]
fn cutting_takes_rights_and_a_card_that_can_be_cut() {
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

/// All kinds of processes count, the way that a real driver says how many there are.
#[test]
fn every_process_counts() {
    let driver = FakeDriver::new(
        "gpus = 1
        gpu.processes = 2
        gpu.graphics_processes = 1
        gpu.mps_processes = 3",
    );
    assert_eq!(driver.open().unwrap().process_count(0), Ok(6));
}
