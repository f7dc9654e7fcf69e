//! Tests of the fake driver.

use super::*;
use crate::nvml::{CommonAncestor, NvmlEventKind, RecoveryAction};
use gpuc_schema::gpu::{MODELS, product};

fn machine(words: &str) -> Fake {
    Fake::from_description(words).expect(words)
}

fn next(watch: &mut Box<dyn Watch>) -> Option<NvmlEvent> {
    watch.next(Duration::ZERO).expect("the wait does not fail")
}

#[test]
fn machine_has_the_described_gpus() {
    let fake = machine("h100x2+t4");
    assert_eq!(fake.gpu_count(), Ok(3));
    let h100 = fake.gpu(1).expect("the GPU responds");
    assert_eq!(h100.name, "NVIDIA H100 80GB HBM3");
    assert_eq!((h100.pci_id, h100.minor), (0x2330_10DE, 1));
    assert_eq!(h100.memory_bytes, Some(81_559 << 20));
    assert_eq!(h100.compute_capability, (9, 0));
    assert_eq!(h100.pci_bus_id, "00000000:3B:00.0");
    let t4 = fake.gpu(2).expect("the GPU responds");
    assert_eq!(t4.name, "Tesla T4");
    assert_eq!(t4.mig, None);
    assert!(fake.gpu(3).is_err());
    assert_ne!(h100.uuid, fake.gpu(0).expect("the GPU responds").uuid);
    assert_eq!(
        h100.uuid.len(),
        "GPU-4cf8db2d-06c0-7d70-1a51-e59b25b2c16c".len()
    );
}

#[test]
fn driver_names_become_products() {
    for model in MODELS {
        let info = machine(model.key).gpu(0).expect(model.key);
        assert_eq!(product::from_driver_name(&info.name), model.products[0]);
    }
    for (key, name) in [
        ("a100-sxm4-40gb", "NVIDIA A100-SXM4-40GB"),
        ("a100-pcie-80gb", "NVIDIA A100 80GB PCIe"),
        ("v100-sxm2-32gb", "Tesla V100-SXM2-32GB"),
    ] {
        assert_eq!(machine(key).gpu(0).expect(key).name, name);
    }
}

#[test]
fn driver_supports_all_gpus() {
    let driver = |words| machine(words).driver().expect("there is one");
    assert_eq!(driver("h100").cuda.0, 13);
    // CUDA 13 dropped Volta and Pascal.
    assert_eq!(driver("p100+l4").cuda, (12, 9));
    assert_eq!(driver("p100+l4").version, "575.57.08");
}

#[test]
fn two_machines_have_different_gpus() {
    let uuid = |name| {
        let fake = Fake::from_description_with_name("h100:mig=7g.80gb", name).expect("a machine");
        let info = fake.gpu(0).expect("the GPU responds");
        (info.uuid, info.slices[0].uuid.clone())
    };
    assert_eq!(uuid("one"), uuid("one"));
    assert_ne!(uuid("one").0, uuid("other").0);
    assert_ne!(uuid("one").1, uuid("other").1);
}

/// Numbers of instances as in NVIDIA's MIG User Guide r580 for an A100.
#[test]
fn mig_devices_match_the_driver() {
    let fake = machine("a100-sxm4-40gb:mig=3g.20gb,2g.10gb,1g.5gb*2");
    let info = fake.gpu(0).expect("the GPU responds");
    assert!(info.mig.is_some_and(|mode| mode.enabled));
    let found: Vec<_> = info
        .slices
        .iter()
        .map(|mig_device| {
            (
                mig_device.profile.as_str(),
                mig_device.gi,
                mig_device.multiprocessors,
            )
        })
        .collect();
    let mut sorted = found.clone();
    sorted.sort_by_key(|(_, gi, _)| *gi);
    assert_eq!(
        sorted,
        [
            ("3g.20gb", 1, 42),
            ("2g.10gb", 3, 28),
            ("1g.5gb", 7, 14),
            ("1g.5gb", 8, 14)
        ],
    );
    let indexes: Vec<_> = info
        .slices
        .iter()
        .map(|mig_device| mig_device.index)
        .collect();
    assert_eq!(indexes, [0, 1, 2, 3]);
    assert!(info.slices.is_sorted_by_key(|mig_device| mig_device.place));

    let sevenths = machine("h100:mig=1g.10gb*7")
        .gpu(0)
        .expect("the GPU responds");
    let ids: Vec<_> = sevenths.slices.iter().map(|slice| slice.gi).collect();
    assert_eq!(ids, [7, 8, 9, 10, 11, 12, 13]);
}

#[test]
fn links_match_the_boards() {
    let h100 = machine("h100x8");
    assert_eq!(h100.link(0, 7).map(|link| link.nvlinks), Ok(18));
    assert_eq!(
        h100.link(0, 7).map(|link| link.meet),
        Ok(CommonAncestor::System)
    );
    let v100 = machine("v100-sxm2-16gbx8");
    assert_eq!(v100.link(0, 3).map(|link| link.nvlinks), Ok(2));
    assert_eq!(v100.link(0, 7).map(|link| link.nvlinks), Ok(0));
    let l4 = machine("l4x4");
    let meet = |one, other| l4.link(one, other).map(|link| (link.meet, link.nvlinks));
    assert_eq!(meet(0, 1), Ok((CommonAncestor::HostBridge, 0)));
    assert_eq!(meet(1, 2), Ok((CommonAncestor::System, 0)));
    let mixed = machine("h100x2+h200x2");
    assert_eq!(mixed.link(1, 2).map(|link| link.nvlinks), Ok(0));
}

#[test]
fn lost_gpu_does_not_affect_others() {
    let fake = machine("h100x2");
    fake.control().lose(1);
    let lost = fake.gpu(1).expect_err("the GPU is lost");
    assert_eq!(lost.kind, NvmlErrorKind::GpuLost);
    assert_eq!(lost.to_string(), "GPU 1: GPU is lost");
    assert!(fake.link(0, 1).is_err() && fake.link(1, 0).is_err());
    assert!(fake.condition(1).is_err() && fake.sample(1).is_err());
    assert!(fake.gpu(0).is_ok());
    assert_eq!(fake.gpu_count(), Ok(2));
    let watch = fake.watch().expect("the others are watched");
    assert_eq!(watch.unwatched(), [(1, lost)]);
    fake.control().bring_back(1);
    assert!(fake.gpu(1).is_ok());
}

#[test]
fn subscriptions_receive_their_events() {
    let fake = machine("h100x2:mig=1g.10gb*7");
    let control = fake.control();
    control.send_xid(0, 79, None);
    control.refuse_watch(1, Some(NvmlErrorKind::NotSupported));
    let mut deaf = fake.watch().expect("a subscription");
    control.refuse_watch(1, None);
    let mut watch = fake.watch().expect("a subscription");
    assert_eq!(
        next(&mut watch),
        None,
        "events before the subscription are not received"
    );
    control.send_xid(1, 31, Some((7, 0)));
    let xid = NvmlEvent {
        gpu: Some(1),
        kind: NvmlEventKind::Xid {
            xid: 31,
            instance: Some((7, 0)),
        },
    };
    assert_eq!(next(&mut watch), Some(xid));
    assert_eq!(next(&mut watch), None);
    assert_eq!(next(&mut deaf), None);
    control.send(None, NvmlEventKind::Unavailable);
    assert_eq!(next(&mut deaf).map(|event| event.gpu), Some(None));
    control.fail_wait(NvmlErrorKind::Other);
    assert_eq!(next(&mut watch).map(|event| event.gpu), Some(None));
    assert!(watch.next(Duration::ZERO).is_err());
    assert_eq!(next(&mut watch), None, "only one wait fails");
    assert_eq!(control.subscription_count(), 2);
    drop((watch, deaf));
    assert_eq!(control.subscription_count(), 0);
}

#[test]
fn event_ends_a_wait() {
    let fake = machine("l4");
    let mut watch = fake.watch().expect("a subscription");
    let control = fake.control();
    let speaker = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(20));
        control.send_double_bit_error(0);
    });
    let start = Instant::now();
    let event = watch.next(Duration::from_secs(30)).expect("no error");
    assert_eq!(
        event.map(|event| event.kind),
        Some(NvmlEventKind::DoubleBitEcc)
    );
    assert!(start.elapsed() < Duration::from_secs(20));
    speaker.join().expect("the speaker ends");
    let sample = fake.sample(0).expect("a sample");
    assert_eq!(sample.double_bit_errors, Some(1));
}

#[test]
fn gpu_is_partitioned_at_run_time() {
    let fake = machine("h100x2");
    let mut watch = fake.watch().expect("a subscription");
    let control = fake.control();
    control
        .partition(1, "3g.40gb,1g.10gb")
        .expect("the profiles fit");
    assert_eq!(
        next(&mut watch).map(|event| event.kind),
        Some(NvmlEventKind::MigChanged)
    );
    let before = fake.gpu(1).expect("the GPU responds").slices;
    assert_eq!(before.len(), 2);
    let refused = control
        .partition(1, "7g.80gb*2")
        .expect_err("the profiles do not fit");
    assert!(refused.to_string().contains("2 x 7g.80gb"), "{refused}");
    assert_eq!(fake.gpu(1).expect("the GPU responds").slices, before);
    control.partition(1, "3g.40gb").expect("the profiles fit");
    assert_eq!(
        fake.gpu(1).expect("the GPU responds").slices[0].uuid,
        before[0].uuid
    );
    control.disable_mig(1);
    let whole = fake.gpu(1).expect("the GPU responds");
    assert!(whole.slices.is_empty() && !whole.mig.is_some_and(|mode| mode.enabled));
}

#[test]
fn driver_can_be_missing() {
    let fake = machine("h100x2");
    let control = fake.control();
    control.fail_all(Some(NvmlErrorKind::NoDriver));
    assert_eq!(
        fake.driver().map_err(|error| error.kind),
        Err(NvmlErrorKind::NoDriver)
    );
    assert!(fake.gpu_count().is_err() && fake.watch().is_err());
    control.fail_all(None);
    assert!(fake.driver().is_ok());
    control.refuse_watches(Some(NvmlErrorKind::NoPermission));
    assert!(fake.watch().is_err());
}

#[test]
fn calls_are_counted_and_delayed() {
    let fake = machine("h100x2");
    let control = fake.control();
    let _ = (fake.gpu(0), fake.gpu(1), fake.gpu_count());
    assert_eq!(
        (control.call_count_for("gpu"), control.call_count()),
        (2, 3)
    );
    control.set_latency(Duration::from_millis(5));
    let start = Instant::now();
    let _ = fake.gpu(0);
    assert!(start.elapsed() >= Duration::from_millis(5));
}

#[test]
fn conditions_are_as_set() {
    let fake = machine("h100x1");
    let mut watch = fake.watch().expect("a subscription");
    let healthy = fake.condition(0).expect("the GPU responds");
    assert_eq!(
        (healthy.action, healthy.remap_failed),
        (Some(RecoveryAction::Nothing), false)
    );
    fake.control()
        .request_recovery(0, Some(RecoveryAction::ResetGpu));
    fake.control().set_remap_failed(0, true);
    let faulty = fake.condition(0).expect("the GPU responds");
    assert_eq!(
        (faulty.action, faulty.remap_failed),
        (Some(RecoveryAction::ResetGpu), true)
    );
    assert_eq!(
        next(&mut watch).map(|event| event.kind),
        Some(NvmlEventKind::RecoveryAction)
    );
    assert_eq!(
        fake.sample(0).map(|sample| sample.remap_failure),
        Ok(Some(true))
    );
}

#[test]
fn samples_are_plausible() {
    let fake = machine("h100:mig=1g.10gb*7+l4");
    let mut energy = 0;
    for _ in 0..50 {
        for index in 0..2 {
            let total = fake.gpu(index).expect("the GPU responds").memory_bytes;
            let sample = fake.sample(index).expect("a sample");
            let parts = [
                sample.memory_used,
                sample.memory_free,
                sample.memory_reserved,
            ];
            let sum: u64 = parts.into_iter().flatten().sum();
            assert_eq!(Some(sum << 20), total);
            assert!(sample.utilization.is_none_or(|percent| percent <= 100));
            assert_eq!(sample.utilization.is_none(), index == 0);
            assert_eq!(sample.slices.len(), if index == 0 { 7 } else { 0 });
        }
        let now = fake
            .sample(0)
            .expect("a sample")
            .energy
            .expect("the GPU reports its energy");
        assert!(now > energy);
        energy = now;
    }
}
