//! Events of the driver.

use std::time::Duration;

use gpuc_runtime::nvml::{Nvml, NvmlErrorKind, NvmlEvent, NvmlEventKind, Watch};

use super::H100;
use crate::fake_driver::FakeDriver;

fn next_event(watch: &mut dyn Watch) -> Option<NvmlEvent> {
    let event = watch.next(Duration::from_secs(5));
    event.expect("a wait without an event is not an error")
}

#[test]
fn all_kinds_of_events_are_received() {
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
        assert_eq!(
            next_event(&mut *watch),
            Some(NvmlEvent { gpu, kind }),
            "{text}"
        );
    }
    assert_eq!(watch.next(Duration::from_millis(20)), Ok(None));
}

/// The daemon waits in a separate thread and calls the driver meanwhile.
#[test]
fn event_ends_a_wait() {
    let mut driver = FakeDriver::new(H100);
    let real = driver.open().unwrap();
    let mut watch = real.watch().unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(move || next_event(&mut *watch));
        while driver.calls("nvmlEventSetWait_v2") == 0 {
            assert!(real.gpu(0).is_ok());
        }
        driver.event("0 xid 79");
        assert!(real.gpu(0).is_ok());
        let event = waiting.join().unwrap();
        assert_eq!(event.and_then(|event| event.gpu), Some(0));
    });
}

#[test]
fn event_of_a_lost_gpu_has_its_index() {
    let mut driver = FakeDriver::new(H100);
    let real = driver.open().unwrap();
    let mut watch = real.watch().unwrap();
    driver.set("gpu.3.lost", "1");
    driver.event("3 xid 79");
    assert_eq!(next_event(&mut *watch).and_then(|event| event.gpu), Some(3));
}

#[test]
fn failed_wait_can_be_repeated() {
    let mut driver = FakeDriver::new(H100);
    let real = driver.open().unwrap();
    let mut watch = real.watch().unwrap();
    driver.event("error 999");
    driver.event("4 xid 48");
    let error = watch.next(Duration::from_secs(5)).unwrap_err();
    assert_eq!(error.kind, NvmlErrorKind::Other);
    assert!(error.message.contains("waiting for events"), "{error}");
    assert_eq!(next_event(&mut *watch).and_then(|event| event.gpu), Some(4));
}

/// Real GPUs reject a registration with an unsupported event type.
#[test]
fn only_supported_events_are_registered() {
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
    let received = next_event(&mut *watch).map(|event| event.kind);
    let xid = NvmlEventKind::Xid {
        xid: 48,
        instance: None,
    };
    assert_eq!(received, Some(xid), "MIG changes are not registered");
}
