//! The GPUs of a node as plain values, without driver handles.

mod advertised;
mod discover;
mod expected;
mod mig;
#[cfg(test)]
pub(crate) mod testing;
mod topology;

pub use advertised::{AdvertisedResource, GPU, KubeletDevice, advertised_resources};
pub use discover::{discover, discover_without_links};
pub use expected::{HardwareDifference, find_model, hardware_differences};
pub use mig::{
    MigDifference, MigProblem, common_profile, mig_differences, mig_problems, resource_for,
};
pub use topology::Topology;

use std::collections::BTreeMap;

use gpuc_schema::node_config::{NodeConfig, NodeSharing};

use crate::nvml::{DriverInfo, GpuInfo, MigDeviceInfo, NvmlError};

/// The GPUs of a node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inventory {
    /// The driver.
    pub driver: DriverInfo,
    /// The GPUs, by index.
    pub gpus: Vec<Gpu>,
    /// The links between them.
    pub topology: Topology,
}

/// A GPU, or the last known identity of one that does not respond.
#[derive(Clone, Debug, PartialEq)]
pub enum Gpu {
    /// It responds.
    Responding {
        /// Its properties.
        info: GpuInfo,
        /// Its NUMA node, if known.
        numa: Option<u32>,
    },
    /// It does not respond. It stays in the list under its last known identity, so that the others keep working and the
    /// failure is visible.
    Unresponsive {
        /// The driver's index.
        index: u32,
        /// Its last known properties.
        last_info: Option<GpuInfo>,
        /// The error.
        error: NvmlError,
    },
}

/// A full GPU or a MIG device: the unit of health and of allocation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PhysicalDevice<'i> {
    /// A full GPU.
    FullGpu(&'i GpuInfo),
    /// A MIG device.
    MigDevice(&'i GpuInfo, &'i MigDeviceInfo),
}

impl Gpu {
    /// The driver's index.
    pub fn index(&self) -> u32 {
        match self {
            Self::Responding { info, .. } => info.index,
            Self::Unresponsive { index, .. } => *index,
        }
    }

    /// Its properties, or the last known ones.
    pub fn info(&self) -> Option<&GpuInfo> {
        match self {
            Self::Responding { info, .. } => Some(info),
            Self::Unresponsive {
                last_info: last, ..
            } => last.as_ref(),
        }
    }

    /// Its UUID. A GPU that never responded has none and is identified by its index.
    pub fn id(&self) -> String {
        match self.info() {
            Some(info) => info.uuid.clone(),
            None => format!("gpu-{}-unresponsive", self.index()),
        }
    }
}

impl Inventory {
    /// Returns the GPU with this index.
    pub fn gpu(&self, index: u32) -> Option<&Gpu> {
        self.gpus.iter().find(|gpu| gpu.index() == index)
    }

    /// Returns the GPU or MIG device with this UUID.
    pub fn physical_device(&self, uuid: &str) -> Option<PhysicalDevice<'_>> {
        self.gpus.iter().filter_map(Gpu::info).find_map(|info| {
            if info.uuid == uuid {
                return Some(PhysicalDevice::FullGpu(info));
            }
            let mig_device = info
                .slices
                .iter()
                .find(|mig_device| mig_device.uuid == uuid);
            mig_device.map(|mig_device| PhysicalDevice::MigDevice(info, mig_device))
        })
    }
}

impl<'i> PhysicalDevice<'i> {
    /// Its UUID.
    pub fn uuid(self) -> &'i str {
        match self {
            Self::FullGpu(info) => &info.uuid,
            Self::MigDevice(_, mig_device) => &mig_device.uuid,
        }
    }

    /// The GPU, or the GPU that the MIG device is on.
    pub fn gpu(self) -> &'i GpuInfo {
        match self {
            Self::FullGpu(info) | Self::MigDevice(info, _) => info,
        }
    }
}

/// Returns the GPUs that respond but cannot be used as full GPUs, by UUID, and why.
pub fn unusable_gpus(inventory: &Inventory, sharing: &NodeSharing) -> BTreeMap<String, String> {
    let problems = mig_problems(inventory, sharing);
    let unusable = problems.iter().filter_map(|problem| match problem {
        MigProblem::InMigMode { gpu } => Some((inventory.gpu(*gpu)?.id(), problem.to_string())),
        _ => None,
    });
    unusable.collect()
}

/// Describes all differences between a node and its configuration.
pub fn differences(inventory: &Inventory, config: &NodeConfig) -> Vec<String> {
    let hardware = hardware_differences(inventory, &config.expected);
    let problems = mig_problems(inventory, &config.sharing);
    let mut differences: Vec<String> = hardware.iter().map(ToString::to_string).collect();
    differences.extend(problems.iter().map(ToString::to_string));
    if let NodeSharing::Mig { gpus, .. } = &config.sharing {
        let layout = mig_differences(inventory, gpus);
        differences.extend(layout.iter().map(ToString::to_string));
    }
    differences
}
