//! Samples and conditions of GPUs.

use gpuc_runtime::nvml::{Condition, Nvml, NvmlErrorKind, RecoveryAction, Sample};

use super::H100;
use crate::fake_driver::FakeDriver;

#[test]
fn condition_follows_the_driver() {
    let mut driver = FakeDriver::new(H100);
    let real = driver.open().unwrap();
    let healthy = Condition {
        action: Some(RecoveryAction::Nothing),
        remap_failed: false,
    };
    assert_eq!(real.condition(2), Ok(healthy));
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
        assert_eq!(real.condition(1), Ok(healthy));
    }
    driver.set("gpu.2.recovery_action", "none");
    driver.set("gpu.2.remapped", "1 2 0 1");
    let condition = real.condition(2).unwrap();
    assert_eq!(condition.action, None);
    assert!(condition.remap_failed);
    driver.set("gpu.2.remapped", "none");
    assert!(!real.condition(2).unwrap().remap_failed);
    driver.set("gpu.2.error.nvmlDeviceGetMemoryInfo_v2", "999");
    assert!(real.condition(2).is_err(), "the memory is unknown");
    driver.set("gpu.1.error.nvmlDeviceGetUUID", "999");
    assert!(real.condition(1).is_err(), "the UUID is unknown");
    assert_eq!(real.condition(0), Ok(healthy));
}

#[test]
fn sample_has_all_sensors() {
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

/// A failed sensor is omitted. A GPU that is lost during the calls is an error.
#[test]
fn failed_sensor_is_left_out() {
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
fn sample_has_mig_device_memory() {
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
