//! The node's labels, compared with those of GPU Feature Discovery (v0.20.0, run 2026-11).

use std::collections::BTreeMap;

use gpuc_runtime::device::Gpu;
use gpuc_runtime::host::{PciFacts, VgpuHost};
use gpuc_runtime::labels::node_labels;
use gpuc_runtime::nvml::{NvmlError, NvmlErrorKind};
use gpuc_schema::node_config::NodeSharing;
use proptest::prelude::*;

use crate::machines::*;

fn labels_of(machine: &Machine) -> BTreeMap<String, String> {
    node_labels(&machine.state(), None)
}

/// Checks these labels in the domain nvidia.com. Ignores all others.
fn assert_labels(machine: &Machine, expected: &[(&str, &str)]) {
    let found = labels_of(machine);
    for (name, value) in expected {
        let found = found.get(&format!("nvidia.com/{name}"));
        assert_eq!(found.map(String::as_str), Some(*value), "{name}");
    }
}

#[test]
fn full_gpus_have_all_labels() {
    let expected = [
        ("cuda.driver-version.full", "570.86.15"),
        ("cuda.driver-version.major", "570"),
        ("cuda.driver-version.minor", "86"),
        ("cuda.driver-version.revision", "15"),
        ("cuda.driver.major", "570"),
        ("cuda.driver.minor", "86"),
        ("cuda.driver.rev", "15"),
        ("cuda.runtime-version.full", "12.8"),
        ("cuda.runtime-version.major", "12"),
        ("cuda.runtime-version.minor", "8"),
        ("cuda.runtime.major", "12"),
        ("cuda.runtime.minor", "8"),
        ("gpu.compute.major", "9"),
        ("gpu.compute.minor", "0"),
        ("gpu.count", "8"),
        ("gpu.family", "hopper"),
        ("gpu.machine", "p5.48xlarge"),
        ("gpu.memory", "81559"),
        ("gpu.mode", "compute"),
        ("gpu.product", "NVIDIA-H100-80GB-HBM3"),
        ("gpu.replicas", "1"),
        ("gpu.sharing-strategy", "none"),
        ("mig.capable", "true"),
        ("mps.capable", "false"),
        ("vgpu.present", "false"),
    ];
    let expected = expected.map(|(name, value)| (format!("nvidia.com/{name}"), value.to_owned()));
    assert_eq!(labels_of(&machine(&[H100; 8])), BTreeMap::from(expected));
}

#[test]
fn timestamp_is_optional() {
    let labels = node_labels(&machine(&[H100; 8]).state(), Some(1_790_000_000));
    assert_eq!(labels["nvidia.com/gfd.timestamp"], "1790000000");
}

#[test]
fn shared_gpus_have_a_product_or_resource_suffix() {
    let time_slicing = |rename| NodeSharing::TimeSlicing {
        replicas: 4,
        rename,
        refuse_more_than_one: false,
    };
    let shared = machine(&[L4; 4]).with_sharing(time_slicing(false));
    let expected = [
        ("gpu.product", "NVIDIA-L4-SHARED"),
        ("gpu.count", "4"),
        ("gpu.replicas", "4"),
        ("gpu.sharing-strategy", "time-slicing"),
        ("gpu.family", "ada-lovelace"),
        ("mig.capable", "false"),
        ("mps.capable", "false"),
    ];
    assert_labels(&shared, &expected);
    let renamed = machine(&[L4; 4]).with_sharing(time_slicing(true));
    assert_labels(
        &renamed,
        &[("gpu.product", "NVIDIA-L4"), ("gpu.replicas", "4")],
    );
    let mps = NodeSharing::Mps {
        replicas: 8,
        rename: false,
        refuse_more_than_one: true,
        root: "/run/nvidia/mps".to_owned(),
    };
    let expected = [
        ("gpu.product", "NVIDIA-L4-SHARED"),
        ("gpu.sharing-strategy", "mps"),
        ("mps.capable", "true"),
    ];
    assert_labels(&machine(&[L4; 4]).with_sharing(mps), &expected);
}

#[test]
fn uniform_mig_devices_are_labelled_as_gpus() {
    let machine = machine(&[A100; 8]).with_mig_devices("single", 7, &[A100_1G; 7]);
    let expected = [
        ("gpu.product", "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb"),
        ("gpu.count", "56"),
        ("gpu.replicas", "1"),
        ("gpu.sharing-strategy", "none"),
        ("gpu.memory", "4864"),
        ("gpu.multiprocessors", "14"),
        ("gpu.slices.gi", "1"),
        ("gpu.slices.ci", "1"),
        ("gpu.engines.copy", "1"),
        ("gpu.engines.decoder", "0"),
        ("gpu.engines.encoder", "0"),
        ("gpu.engines.jpeg", "0"),
        ("gpu.engines.ofa", "0"),
        ("gpu.family", "ampere"),
        ("gpu.compute.major", "8"),
        ("mig.capable", "true"),
        ("mig.strategy", "single"),
    ];
    assert_labels(&machine, &expected);
}

#[test]
fn nonuniform_mig_devices_are_invalid_for_single() {
    let invalid = [
        ("gpu.product", "NVIDIA-A100-SXM4-40GB-MIG-INVALID"),
        ("gpu.count", "0"),
        ("gpu.replicas", "0"),
        ("gpu.memory", "0"),
        ("gpu.sharing-strategy", ""),
        ("mig.strategy", "single"),
    ];
    let different = machine(&[A100; 2]).with_mig_devices("single", 1, &[A100_3G, A100_1G]);
    assert_labels(&different, &invalid);
    let mut empty = machine(&[A100; 2]).with_mig_devices("single", 7, &[A100_1G; 7]);
    empty.gpus_mut().last().unwrap().slices.clear();
    assert_labels(&empty, &invalid);
    let mut unpartitioned = machine(&[A100; 2]).with_mig_devices("single", 7, &[A100_1G; 7]);
    let last = unpartitioned.gpus_mut().last().unwrap();
    last.slices.clear();
    last.mig.as_mut().unwrap().enabled = false;
    assert_labels(&unpartitioned, &invalid);
}

#[test]
fn single_strategy_without_mig_mode_labels_full_gpus() {
    let mut machine = machine(&[A100; 2]).with_mig_devices("single", 7, &[]);
    for info in machine.gpus_mut() {
        info.mig.as_mut().unwrap().enabled = false;
    }
    let expected = [
        ("gpu.product", "NVIDIA-A100-SXM4-40GB"),
        ("gpu.count", "2"),
        ("gpu.replicas", "1"),
        ("mig.strategy", "single"),
    ];
    assert_labels(&machine, &expected);
}

#[test]
fn mixed_strategy_labels_each_profile() {
    let profiles = [A100_3G, A100_2G, A100_1G, A100_1G];
    let machine = machine(&[A100; 8]).with_mig_devices("mixed", 1, &profiles);
    let expected = [
        ("gpu.product", "NVIDIA-A100-SXM4-40GB"),
        ("gpu.count", "8"),
        ("gpu.replicas", "0"),
        ("gpu.sharing-strategy", "none"),
        ("gpu.memory", "40960"),
        ("mig.strategy", "mixed"),
        ("mig-1g.5gb.count", "16"),
        ("mig-1g.5gb.product", "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb"),
        ("mig-2g.10gb.count", "8"),
        ("mig-3g.20gb.count", "8"),
        ("mig-3g.20gb.replicas", "1"),
        ("mig-3g.20gb.sharing-strategy", "none"),
        ("mig-3g.20gb.memory", "20096"),
        ("mig-3g.20gb.multiprocessors", "42"),
        ("mig-3g.20gb.slices.gi", "3"),
        ("mig-3g.20gb.slices.ci", "3"),
        ("mig-3g.20gb.engines.copy", "3"),
        ("mig-3g.20gb.engines.decoder", "2"),
        ("mig-3g.20gb.engines.ofa", "0"),
    ];
    assert_labels(&machine, &expected);
}

#[test]
fn plus_is_dropped_from_profiles() {
    let machine =
        machine(&[A100]).with_mig_devices("mixed", 7, &[("1g.5gb+me", 4_864, 14, 1, 1, 1)]);
    let product = "NVIDIA-A100-SXM4-40GB-MIG-1g.5gbme";
    assert_labels(
        &machine,
        &[
            ("mig-1g.5gb.me.product", product),
            ("mig-1g.5gb.me.count", "1"),
        ],
    );
}

#[test]
fn labels_of_several_models_are_stable() {
    let several_models = machine(&[T4, L4, L4]);
    let expected = [
        ("gpu.product", "NVIDIA-L4"),
        ("gpu.count", "2"),
        ("gpu.memory", "23034"),
    ];
    assert_labels(&several_models, &expected);
    let labels = labels_of(&several_models);
    assert_eq!(labels["gpuc.dev/gpu-model.NVIDIA-L4"], "2");
    assert_eq!(labels["gpuc.dev/gpu-model.Tesla-T4"], "1");
    // If the counts are equal, the first model by name is used, in any order of the GPUs.
    for gpus in [[T4, L4], [L4, T4]] {
        assert_labels(
            &machine(&gpus),
            &[("gpu.product", "NVIDIA-L4"), ("gpu.count", "1")],
        );
    }
    let one_model = labels_of(&machine(&[L4; 2]));
    assert!(!one_model.keys().any(|key| key.starts_with("gpuc.dev/")));
}

#[test]
fn clique_is_set_if_unique() {
    let machine = machine(&[GB200; 4]).with_clique(7);
    let clique = "3c5f9f3a-9b0a-4b8e-8f0c-1d2e3f405162.7";
    assert_labels(
        &machine,
        &[("gpu.clique", clique), ("gpu.family", "blackwell")],
    );
    let mut incomplete = machine;
    incomplete.gpus_mut().last().unwrap().clique = None;
    assert!(!labels_of(&incomplete).contains_key("nvidia.com/gpu.clique"));
}

#[test]
fn mode_follows_the_pci_class() {
    let mut machine = machine(&[T4; 2]);
    let mut mode = |classes: [Option<u16>; 2]| {
        let pci = machine.files.pci.values_mut().zip(classes);
        pci.for_each(|(facts, class)| facts.class = class);
        labels_of(&machine)["nvidia.com/gpu.mode"].clone()
    };
    assert_eq!(mode([Some(0x0302); 2]), "compute");
    assert_eq!(mode([Some(0x0300); 2]), "graphics");
    assert_eq!(mode([Some(0x0300), Some(0x0302)]), "unknown");
    assert_eq!(mode([Some(0x0302), None]), "unknown");
}

#[test]
fn vgpu_host_driver_is_labelled() {
    let mut machine = machine(&[T4]);
    let host = VgpuHost {
        version: "535.54".to_owned(),
        branch: "r536_22".to_owned(),
    };
    let facts = PciFacts {
        class: Some(0x0300),
        vgpu: Some(host),
    };
    machine
        .files
        .pci
        .values_mut()
        .for_each(|entry| *entry = facts.clone());
    let expected = [
        ("vgpu.present", "true"),
        ("vgpu.host-driver-version", "535.54"),
        ("vgpu.host-driver-branch", "r536_22"),
    ];
    assert_labels(&machine, &expected);
}

#[test]
fn unresponsive_gpu_keeps_labels() {
    let error = NvmlError {
        kind: NvmlErrorKind::GpuLost,
        message: "GPU is lost".to_owned(),
    };
    let healthy = machine(&[H100; 8]);
    let mut lost = machine(&[H100; 8]);
    lost.inventory.gpus[3] = Gpu::Unresponsive {
        index: 3,
        last_info: healthy.inventory.gpus[3].info().cloned(),
        error: error.clone(),
    };
    assert_eq!(labels_of(&lost), labels_of(&healthy));
    // Without previous information, the GPU is not counted. All other labels are the same.
    lost.inventory.gpus[3] = Gpu::Unresponsive {
        index: 3,
        last_info: None,
        error,
    };
    let mut expected = labels_of(&healthy);
    expected.insert("nvidia.com/gpu.count".to_owned(), "7".to_owned());
    assert_eq!(labels_of(&lost), expected);
}

#[test]
fn node_without_gpus_has_machine_label() {
    let mut machine = machine(&[]);
    machine.files.machine = None;
    let labels = labels_of(&machine);
    assert_eq!(labels["nvidia.com/gpu.machine"], "unknown");
    assert!(!labels.contains_key("nvidia.com/gpu.count"));
}

#[test]
fn two_part_driver_version_has_no_revision() {
    let mut machine = machine(&[T4]);
    machine.inventory.driver.version = "550.54".to_owned();
    assert_labels(
        &machine,
        &[
            ("cuda.driver.rev", ""),
            ("cuda.driver-version.full", "550.54"),
        ],
    );
}

/// Returns whether the API server accepts a label.
fn is_label(key: &str, value: &str) -> bool {
    let valid = |text: &str| {
        let end = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
        let inside = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        text.len() <= 63
            && end(text.chars().next())
            && end(text.chars().last())
            && text.chars().all(inside)
    };
    let (_, name) = key.split_once('/').unwrap();
    valid(name) && (value.is_empty() || valid(value))
}

/// Any text, or a text that is close to a valid label value.
fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![any::<String>(), "[-a-zA-Z0-9._ ]{0,90}"]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// The API server rejects all labels if one of them is invalid.
    #[test]
    fn any_driver_text_gives_valid_labels(
        names in prop::collection::vec(any_text(), 1..4),
        version in any_text(),
        text in any_text(),
        mixed in any::<bool>(),
    ) {
        let strategy = if mixed { "mixed" } else { "single" };
        let mut machine = machine(&[A100; 3]).with_mig_devices(strategy, 1, &[A100_3G, A100_1G]);
        for (info, name) in machine.gpus_mut().zip(&names) {
            info.name.clone_from(name);
        }
        machine.inventory.driver.version = version;
        machine.files.machine = Some(text);
        for (key, value) in labels_of(&machine) {
            prop_assert!(is_label(&key, &value), "{key} = {value}");
        }
    }
}
