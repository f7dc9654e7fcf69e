//! Inventories of H100 GPUs: full GPUs, or seven MIG devices on each GPU.

use std::collections::BTreeMap;
use std::sync::Arc;

use gpuc_runtime::device::{Gpu, Inventory, Topology, advertised_resources};
use gpuc_runtime::host::HostFiles;
use gpuc_runtime::nvml::{
    DriverInfo, Engines, GpuInfo, MigDeviceInfo, MigMode, NvmlError, NvmlErrorKind,
};
use gpuc_runtime::state::State;
use gpuc_schema::node_config::{NodeConfig, NodeSharing};

pub(crate) fn uuid(index: u32) -> String {
    format!("GPU-00000000-0000-0000-0000-{index:012}")
}

/// The MIG device in GPU instance `gi`.
pub(crate) fn mig_device_uuid(index: u32, gi: u32) -> String {
    format!("MIG-00000000-0000-0000-{index:04}-{gi:012}")
}

pub(crate) fn nvml_error(kind: NvmlErrorKind, message: &str) -> NvmlError {
    let message = message.to_owned();
    NvmlError { kind, message }
}

pub(crate) fn lost_gpu_error() -> NvmlError {
    nvml_error(NvmlErrorKind::GpuLost, "nvmlDeviceGetUUID: GPU is lost")
}

/// A GPU, with MIG devices in the GPU instances 7 to 13 if it is partitioned.
pub(crate) fn gpu_info(index: u32, is_partitioned: bool) -> GpuInfo {
    let slices = (7..14).filter(|_| is_partitioned).map(|gi| MigDeviceInfo {
        index: gi - 7,
        uuid: mig_device_uuid(index, gi),
        gi,
        ci: 0,
        profile: "1g.10gb".into(),
        place: Some((gi - 7, 1)),
        memory_mib: 9_856,
        multiprocessors: 16,
        gi_slices: 1,
        ci_slices: 1,
        engines: Engines::default(),
    });
    GpuInfo {
        index,
        uuid: uuid(index),
        minor: index,
        name: "NVIDIA H100 80GB HBM3".into(),
        pci_bus_id: format!("00000000:{:02X}:00.0", 0x19 + index),
        pci_id: 0x2330_10DE,
        memory_bytes: Some(85_520_809_984),
        compute_capability: (9, 0),
        mig: Some(MigMode {
            enabled: is_partitioned,
            pending: is_partitioned,
        }),
        slices: slices.collect(),
        clique: None,
    }
}

pub(crate) fn inventory(count: u32, is_partitioned: bool) -> Inventory {
    let gpu = |index| Gpu::Responding {
        info: gpu_info(index, is_partitioned),
        numa: Some(index / 4),
    };
    Inventory {
        driver: DriverInfo {
            version: "570.86.15".into(),
            cuda: (12, 8),
        },
        gpus: (0..count).map(gpu).collect(),
        topology: Topology::default(),
    }
}

/// The same inventory while a GPU does not respond.
pub(crate) fn with_unresponsive_gpu(inventory: &Inventory, index: u32) -> Inventory {
    let mut inventory = inventory.clone();
    for gpu in &mut inventory.gpus {
        if gpu.index() == index {
            *gpu = Gpu::Unresponsive {
                index,
                last_info: gpu.info().cloned(),
                error: lost_gpu_error(),
            };
        }
    }
    inventory
}

pub(crate) fn time_slicing(replicas: u32) -> NodeSharing {
    NodeSharing::TimeSlicing {
        replicas,
        rename: false,
        refuse_more_than_one: false,
    }
}

pub(crate) fn mig() -> NodeSharing {
    NodeSharing::Mig {
        strategy: gpuc_schema::config::MigStrategy::Single,
        apply: false,
        gpus: Vec::new(),
    }
}

pub(crate) fn state(
    inventory: &Inventory,
    sharing: &NodeSharing,
    unhealthy: BTreeMap<String, String>,
) -> State {
    let config = r#"{
        "apiVersion": "node.gpuc.dev/v1alpha1",
        "kind": "NodeConfig",
        "cluster": "demo",
        "pool": "train",
        "expected": {"model": "h100-80gb", "count": 8},
        "driver": {"hostRoot": "/", "containerRoot": "/driver-root"},
        "devices": "environmentVariable",
        "sharing": "exclusive",
        "resources": {"nvidia.com/gpu": 8}
    }"#;
    let mut config: NodeConfig = serde_json::from_str(config).expect("the configuration is valid");
    config.sharing = sharing.clone();
    State {
        config: Arc::new(config),
        inventory: Arc::new(inventory.clone()),
        files: Arc::new(HostFiles::default()),
        advertised_resources: advertised_resources(inventory, sharing),
        unhealthy,
    }
}
