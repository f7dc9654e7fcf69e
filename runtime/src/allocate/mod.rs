//! Allocates devices to a container.
//!
//! The responses are those of NVIDIA/k8s-device-plugin v0.20.0 (commit 1b826acc, `internal/plugin/server.go`, read and
//! measured 2026-11), so that container runtimes and pods work with both.

mod error;
mod mps;
mod names;
mod nodes;
mod request;

use std::collections::{BTreeMap, BTreeSet};

use gpuc_schema::node_config::{DeviceInjection, Extra};

pub use error::AllocationError;
pub use nodes::{
    HostDeviceNode, capability_paths, driver_nodes, host_nodes, imex_channel_path, nodes_of_device,
};

use crate::device::{AdvertisedResource, PhysicalDevice};
use crate::host::HostFiles;
use crate::state::State;

/// The response for one container, in terms of the kubelet's API.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ContainerAllocation {
    /// Environment variables.
    pub envs: BTreeMap<String, String>,
    /// Files and directories of the host.
    pub mounts: Vec<Mount>,
    /// Device nodes.
    pub devices: Vec<DeviceNode>,
    /// Annotations of the container, for the container runtime.
    pub annotations: BTreeMap<String, String>,
    /// Qualified names of CDI devices.
    pub cdi_devices: Vec<String>,
}

/// A file or directory of the host.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Mount {
    /// The path in the container.
    pub container_path: String,
    /// The path on the host.
    pub host_path: String,
    /// Whether it is read-only.
    pub read_only: bool,
}

/// A device node.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DeviceNode {
    /// The path in the container.
    pub container_path: String,
    /// The path on the host.
    pub host_path: String,
    /// `rw`, or `rwm`, which also allows creating the node.
    pub permissions: String,
}

/// The variable that NVIDIA's container runtime reads.
const VISIBLE_DEVICES: &str = "NVIDIA_VISIBLE_DEVICES";

/// The directory in which NVIDIA's container runtime reads mounts as device names.
const MOUNTED_DEVICES: &str = "/var/run/nvidia-container-devices";

/// Allocates these devices of a resource to a container. All information comes from the state; the driver is not
/// called.
pub fn allocate(
    state: &State,
    advertised: &AdvertisedResource,
    ids: &[String],
) -> Result<ContainerAllocation, AllocationError> {
    let devices = request::validate_request(state, advertised, ids)?;
    let physical_devices = request::physical_devices(state, advertised, &devices)?;
    let mut grant = ContainerAllocation::default();
    mps::add_mps_settings(state, advertised, &devices, &mut grant);
    match &state.config.devices {
        DeviceInjection::EnvironmentVariable => {
            let uuids: Vec<_> = physical_devices
                .iter()
                .map(|physical_device| physical_device.uuid())
                .collect();
            grant.set_env(VISIBLE_DEVICES, uuids.join(","));
            if has_imex_channel(state) {
                grant.set_env("NVIDIA_IMEX_CHANNELS", "0");
            }
            add_configured_nodes(state, &physical_devices, &mut grant)?;
            set_component_variables(state, &mut grant);
        }
        DeviceInjection::VolumeMounts => {
            grant.set_env(VISIBLE_DEVICES, MOUNTED_DEVICES);
            for physical_device in &physical_devices {
                grant.add_device_mount(physical_device.uuid());
            }
            if has_imex_channel(state) {
                grant.add_device_mount("imex/0");
            }
            add_configured_nodes(state, &physical_devices, &mut grant)?;
            set_component_variables(state, &mut grant);
        }
        DeviceInjection::Cdi { annotations, .. } => {
            let names = names::qualified_names(state, &physical_devices);
            if *annotations {
                grant.annotations = names::cdi_annotation(advertised, &names);
            } else {
                grant.cdi_devices = names;
            }
        }
        DeviceInjection::DeviceNodes {
            driver_host_path,
            driver_container_path,
        } => {
            grant.add_nodes(&driver_nodes(&state.files, &state.files.control_nodes));
            for physical_device in &physical_devices {
                grant.add_nodes(&nodes_of_device(&state.files, *physical_device)?);
            }
            for (_, nodes) in injected_components(state) {
                grant.add_nodes(&nodes);
            }
            // Images for such nodes have the directory in their own PATH and LD_LIBRARY_PATH. Setting the variables
            // here would override the values of an image, so GKE's plugin does not do it either.
            grant.mounts.push(Mount {
                container_path: driver_container_path.clone(),
                host_path: driver_host_path.clone(),
                read_only: true,
            });
        }
    }
    Ok(grant)
}

/// Passes the device nodes as well, if configured.
fn add_configured_nodes(
    state: &State,
    physical_devices: &[PhysicalDevice<'_>],
    grant: &mut ContainerAllocation,
) -> Result<(), AllocationError> {
    if !state.config.pass_device_nodes {
        return Ok(());
    }
    grant.add_nodes(&driver_nodes(&state.files, &state.files.control_nodes));
    for physical_device in physical_devices {
        grant.add_nodes(&nodes_of_device(&state.files, *physical_device)?);
    }
    if has_imex_channel(state) {
        grant.add_nodes(&component_nodes(&state.files, Extra::Imex));
    }
    Ok(())
}

/// Sets the variables with which NVIDIA's container runtime injects components.
fn set_component_variables(state: &State, grant: &mut ContainerAllocation) {
    for (extra, _) in injected_components(state) {
        match extra {
            Extra::Gdrcopy => grant.set_env("NVIDIA_GDRCOPY", "enabled"),
            Extra::Gds => grant.set_env("NVIDIA_GDS", "enabled"),
            Extra::Mofed => grant.set_env("NVIDIA_MOFED", "enabled"),
            Extra::Imex => {}
        }
    }
}

/// Returns the configured components that exist on the node, with their device nodes.
fn injected_components(state: &State) -> Vec<(Extra, Vec<HostDeviceNode>)> {
    let wanted: BTreeSet<_> = state.config.extras.iter().copied().collect();
    let found = wanted
        .into_iter()
        .map(|extra| (extra, component_nodes(&state.files, extra)));
    found.filter(|(_, nodes)| !nodes.is_empty()).collect()
}

fn component_nodes(files: &HostFiles, extra: Extra) -> Vec<HostDeviceNode> {
    match extra {
        Extra::Gdrcopy => driver_nodes(files, &files.gdrcopy_nodes),
        Extra::Gds => host_nodes(&files.gds_nodes),
        Extra::Mofed => host_nodes(&files.mofed_nodes),
        Extra::Imex if files.imex_channels.contains(&0) => {
            driver_nodes(files, &[imex_channel_path(0)])
        }
        Extra::Imex => Vec::new(),
    }
}

fn has_imex_channel(state: &State) -> bool {
    injected_components(state)
        .iter()
        .any(|(extra, _)| *extra == Extra::Imex)
}

impl ContainerAllocation {
    fn set_env(&mut self, name: &str, value: impl Into<String>) {
        self.envs.insert(name.to_owned(), value.into());
    }

    /// Passes device nodes under the paths that the driver's libraries use.
    fn add_nodes(&mut self, nodes: &[HostDeviceNode]) {
        for node in nodes {
            let node = DeviceNode {
                container_path: node.path.clone(),
                host_path: node.host_path.clone(),
                permissions: "rw".to_owned(),
            };
            if !self.devices.contains(&node) {
                self.devices.push(node);
            }
        }
    }

    /// Names a device by a mount of `/dev/null`.
    fn add_device_mount(&mut self, name: &str) {
        self.mounts.push(Mount {
            container_path: format!("{MOUNTED_DEVICES}/{name}"),
            host_path: "/dev/null".to_owned(),
            read_only: false,
        });
    }
}
