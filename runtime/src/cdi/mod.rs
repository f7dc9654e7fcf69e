//! Specs of the Container Device Interface (CDI) for container runtimes.
//!
//! Contents follow the spec that NVIDIA/k8s-device-plugin v0.20.0 writes (measured 2026-11) and `pkg/nvcdi` of
//! NVIDIA/nvidia-container-toolkit (read 2026-11): names, nodes, mount options, the variable and the hooks.

mod driver;
mod spec;

use std::path::Path;

use gpuc_schema::node_config::NodeConfig;

pub use spec::{ContainerEdits, Device, DeviceNode, Hook, Mount, Spec};

use crate::allocate::{
    HostDeviceNode, driver_nodes, host_nodes, imex_channel_path, nodes_of_device,
};
use crate::device::{Gpu, Inventory, PhysicalDevice};
use crate::driver_files::DriverFiles;
use crate::host::HostFiles;

/// The vendor of the devices. It is NVIDIA's name, since pods and rules of operators use it.
pub const VENDOR: &str = "k8s.device-plugin.nvidia.com";

/// The device that includes all devices of its class.
pub const ALL_DEVICES: &str = "all";

/// The classes of devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// GPUs and MIG devices, by UUID.
    Gpu,
    /// IMEX channels, by number.
    ImexChannel,
    /// GDRCopy.
    Gdrcopy,
    /// GPUDirect Storage.
    Gds,
    /// Mellanox network adapters.
    Mofed,
}

impl Class {
    /// Every class.
    pub const ALL: [Self; 5] = [
        Self::Gpu,
        Self::ImexChannel,
        Self::Gdrcopy,
        Self::Gds,
        Self::Mofed,
    ];

    /// The class part of a qualified device name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gpu => "gpu",
            Self::ImexChannel => "imex-channel",
            Self::Gdrcopy => "gdrcopy",
            Self::Gds => "gds",
            Self::Mofed => "mofed",
        }
    }

    /// `k8s.device-plugin.nvidia.com/gpu`.
    pub fn kind(self) -> String {
        format!("{VENDOR}/{}", self.name())
    }

    /// The file name of its spec.
    pub fn file_name(self) -> String {
        format!("{VENDOR}-{}.json", self.name())
    }
}

/// Returns the qualified name of a device: `k8s.device-plugin.nvidia.com/gpu=GPU-4cf8db2d-06c0-7d70-1a51-e59b25b2c16c`.
pub fn qualified_name(class: Class, device: &str) -> String {
    format!("{}={device}", class.kind())
}

/// Returns the specs of a node, one for each class with devices. MIG devices without known capabilities and GPUs that
/// never responded are left out.
pub fn specs(
    config: &NodeConfig,
    inventory: &Inventory,
    files: &HostFiles,
    driver: &DriverFiles,
) -> Vec<(Class, Spec)> {
    let host_root = Path::new(&config.driver.host_root);
    let everything = |nodes: Vec<HostDeviceNode>| vec![Device::new(ALL_DEVICES, &nodes)];
    let devices = |class: Class| match class {
        Class::Gpu => gpu_devices(inventory, files),
        Class::ImexChannel => imex_channel_devices(files),
        Class::Gdrcopy => everything(driver_nodes(files, &files.gdrcopy_nodes)),
        Class::Gds => {
            let mut devices = everything(host_nodes(&files.gds_nodes));
            for device in &mut devices {
                device.container_edits.mounts = driver::storage_mounts(host_root, driver);
            }
            devices
        }
        Class::Mofed => everything(host_nodes(&files.mofed_nodes)),
    };
    let spec = |class: Class| {
        let mut devices = devices(class);
        devices.retain(|device| !device.container_edits.device_nodes.is_empty());
        if devices.is_empty() {
            return None;
        }
        let edits = match class {
            Class::Gpu => {
                let version = &inventory.driver.version;
                common_edits(files, host_root, driver, version)
            }
            _ => ContainerEdits::default(),
        };
        Some((class, Spec::new(class.kind(), devices, edits)))
    };
    Class::ALL.into_iter().filter_map(spec).collect()
}

/// Returns full GPUs and MIG devices, in the order of the driver.
fn gpu_devices(inventory: &Inventory, files: &HostFiles) -> Vec<Device> {
    let physical_devices = inventory.gpus.iter().filter_map(Gpu::info).flat_map(|gpu| {
        let mig_devices = gpu
            .slices
            .iter()
            .map(move |mig_device| PhysicalDevice::MigDevice(gpu, mig_device));
        std::iter::once(PhysicalDevice::FullGpu(gpu)).chain(mig_devices)
    });
    let device = |physical_device: PhysicalDevice<'_>| {
        let nodes = nodes_of_device(files, physical_device).ok()?;
        Some(Device::new(physical_device.uuid(), &nodes))
    };
    physical_devices.filter_map(device).collect()
}

fn imex_channel_devices(files: &HostFiles) -> Vec<Device> {
    let device = |number: &u32| {
        let nodes = driver_nodes(files, &[imex_channel_path(*number)]);
        Device::new(&number.to_string(), &nodes)
    };
    files.imex_channels.iter().map(device).collect()
}

/// Returns the edits for every container with a GPU.
fn common_edits(
    files: &HostFiles,
    host_root: &Path,
    driver: &DriverFiles,
    version: &str,
) -> ContainerEdits {
    let control_nodes = driver_nodes(files, &files.control_nodes);
    ContainerEdits {
        // Tells NVIDIA's container runtime, if it is the default runtime, to inject nothing.
        env: vec!["NVIDIA_VISIBLE_DEVICES=void".to_owned()],
        device_nodes: control_nodes.iter().map(Into::into).collect(),
        mounts: driver::driver_mounts(host_root, driver),
        hooks: driver::driver_hooks(host_root, driver, version),
    }
}
