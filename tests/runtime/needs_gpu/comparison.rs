//! Comparison of the daemon's output with the machine and with `nvidia-smi`.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::smi;
use crate::exposition::Exposition;

/// Every file of the spec exists on this machine, and the CUDA library and the GPUs are among them.
pub(super) fn assert_spec_exists(spec: &Value) {
    let devices = spec["devices"].as_array().unwrap();
    assert!(!devices.is_empty());
    let mut paths = Vec::new();
    for item in devices.iter().chain([spec]) {
        let edits = &item["containerEdits"];
        for (list, key) in [("deviceNodes", "path"), ("mounts", "hostPath")] {
            for entry in edits[list].as_array().into_iter().flatten() {
                let path = entry["hostPath"].as_str().or(entry[key].as_str()).unwrap();
                assert!(Path::new(path).exists(), "{path}");
                paths.push(path.to_owned());
            }
        }
    }
    for name in [
        "/libcuda.so.",
        "/libnvidia-ml.so.",
        "/dev/nvidiactl",
        "/dev/nvidia-uvm",
    ] {
        assert!(
            paths.iter().any(|path| path.contains(name)),
            "{name}: {paths:#?}"
        );
    }
}

pub(super) fn assert_labels(text: &str) {
    let labels: BTreeMap<&str, &str> = text
        .lines()
        .filter_map(|line| line.split_once('='))
        .collect();
    let gpus = smi("name,memory.total,driver_version,compute_cap");
    let count = gpus.len().to_string();
    let [name, memory, driver, capability] = &gpus[0][..] else {
        unreachable!("four values are queried")
    };
    let name = name.replace(' ', "-");
    let capability = capability.split_once('.').unwrap();
    for (key, value) in [
        ("gpu.product", name.as_str()),
        ("gpu.count", &count),
        ("gpu.memory", memory),
        ("cuda.driver-version.full", driver),
        ("gpu.compute.major", capability.0),
        ("gpu.compute.minor", capability.1),
    ] {
        let key = format!("nvidia.com/{key}");
        assert_eq!(labels.get(key.as_str()), Some(&value), "{key}: {text}");
    }
}

/// Compares the metrics with `nvidia-smi`. Values that change all the time can differ a little.
pub(super) fn assert_metrics(metrics: &Exposition) {
    let fields = [
        ("memory.used", "FB_USED", 64.0),
        ("memory.free", "FB_FREE", 64.0),
        ("memory.reserved", "FB_RESERVED", 1.0),
        ("temperature.gpu", "GPU_TEMP", 5.0),
        ("temperature.memory", "MEMORY_TEMP", 5.0),
        ("power.draw", "POWER_USAGE", 40.0),
        ("clocks.sm", "SM_CLOCK", 400.0),
        ("clocks.mem", "MEM_CLOCK", 200.0),
        ("utilization.gpu", "GPU_UTIL", 10.0),
        (
            "ecc.errors.corrected.aggregate.total",
            "ECC_SBE_AGG_TOTAL",
            0.0,
        ),
        (
            "ecc.errors.uncorrected.aggregate.total",
            "ECC_DBE_AGG_TOTAL",
            0.0,
        ),
    ];
    let mut differences = String::new();
    for (query, metric, tolerance) in fields {
        for gpu in smi(&format!("uuid,{query}")) {
            let name = format!("DCGM_FI_DEV_{metric}");
            let found = metrics.values_with_labels(&name, &[("UUID", &gpu[0])]);
            let expected: Option<f64> = gpu[1].parse().ok();
            let agrees = match (&found[..], expected) {
                ([found], Some(expected)) => (found - expected).abs() <= tolerance,
                ([], None) => true,
                _ => false,
            };
            if !agrees {
                differences += &format!("{name} is {found:?}, nvidia-smi reports {}\n", gpu[1]);
            }
        }
    }
    assert!(differences.is_empty(), "{differences}");
}
