//! Allocates devices to a container.
//!
//! The responses are those of NVIDIA/k8s-device-plugin v0.20.0 (commit 1b826acc, `internal/plugin/server.go`, read and
//! measured 2026-11), so that container runtimes and pods work with both.

mod mps;
mod names;
mod nodes;
mod refusal;
mod request;

use std::collections::{BTreeMap, BTreeSet};

use gpuc_schema::node_config::{DeviceInjection, Extra};

pub use nodes::{Node, capability_paths, channel, driver_nodes, host_nodes, part_nodes};
pub use refusal::Refusal;

use crate::device::{Offer, Part};
use crate::host::HostFiles;
use crate::state::State;

/// The response for one container, in terms of the kubelet's API.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Grant {
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
pub fn allocate(state: &State, offer: &Offer, ids: &[String]) -> Result<Grant, Refusal> {
    let shares = request::check(state, offer, ids)?;
    let parts = request::parts(state, offer, &shares)?;
    let mut grant = Grant::default();
    mps::grant(state, offer, &shares, &mut grant);
    match &state.config.devices {
        DeviceInjection::EnvironmentVariable => {
            let uuids: Vec<_> = parts.iter().map(|part| part.uuid()).collect();
            grant.env(VISIBLE_DEVICES, uuids.join(","));
            if has_channel(state) {
                grant.env("NVIDIA_IMEX_CHANNELS", "0");
            }
            pass_nodes(state, &parts, &mut grant)?;
            name_extras(state, &mut grant);
        }
        DeviceInjection::VolumeMounts => {
            grant.env(VISIBLE_DEVICES, MOUNTED_DEVICES);
            for part in &parts {
                grant.name_by_mount(part.uuid());
            }
            if has_channel(state) {
                grant.name_by_mount("imex/0");
            }
            pass_nodes(state, &parts, &mut grant)?;
            name_extras(state, &mut grant);
        }
        DeviceInjection::Cdi { annotations, .. } => {
            let names = names::qualified_names(state, &parts);
            if *annotations {
                grant.annotations = names::annotation(offer, &names);
            } else {
                grant.cdi_devices = names;
            }
        }
        DeviceInjection::DeviceNodes {
            driver_host_path,
            driver_container_path,
        } => {
            grant.pass(&driver_nodes(&state.files, &state.files.control_nodes));
            for part in &parts {
                grant.pass(&part_nodes(&state.files, *part)?);
            }
            for (_, nodes) in extras(state) {
                grant.pass(&nodes);
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
fn pass_nodes(state: &State, parts: &[Part<'_>], grant: &mut Grant) -> Result<(), Refusal> {
    if !state.config.pass_device_nodes {
        return Ok(());
    }
    grant.pass(&driver_nodes(&state.files, &state.files.control_nodes));
    for part in parts {
        grant.pass(&part_nodes(&state.files, *part)?);
    }
    if has_channel(state) {
        grant.pass(&nodes_of(&state.files, Extra::Imex));
    }
    Ok(())
}

/// Sets the variables with which NVIDIA's container runtime injects components.
fn name_extras(state: &State, grant: &mut Grant) {
    for (extra, _) in extras(state) {
        match extra {
            Extra::Gdrcopy => grant.env("NVIDIA_GDRCOPY", "enabled"),
            Extra::Gds => grant.env("NVIDIA_GDS", "enabled"),
            Extra::Mofed => grant.env("NVIDIA_MOFED", "enabled"),
            Extra::Imex => {}
        }
    }
}

/// Returns the configured components that exist on the node, with their device nodes.
fn extras(state: &State) -> Vec<(Extra, Vec<Node>)> {
    let wanted: BTreeSet<_> = state.config.extras.iter().copied().collect();
    let found = wanted
        .into_iter()
        .map(|extra| (extra, nodes_of(&state.files, extra)));
    found.filter(|(_, nodes)| !nodes.is_empty()).collect()
}

fn nodes_of(files: &HostFiles, extra: Extra) -> Vec<Node> {
    match extra {
        Extra::Gdrcopy => driver_nodes(files, &files.gdrcopy_nodes),
        Extra::Gds => host_nodes(&files.gds_nodes),
        Extra::Mofed => host_nodes(&files.mofed_nodes),
        Extra::Imex if files.imex_channels.contains(&0) => driver_nodes(files, &[channel(0)]),
        Extra::Imex => Vec::new(),
    }
}

fn has_channel(state: &State) -> bool {
    extras(state).iter().any(|(extra, _)| *extra == Extra::Imex)
}

impl Grant {
    fn env(&mut self, name: &str, value: impl Into<String>) {
        self.envs.insert(name.to_owned(), value.into());
    }

    /// Passes device nodes under the paths that the driver's libraries use.
    fn pass(&mut self, nodes: &[Node]) {
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
    fn name_by_mount(&mut self, name: &str) {
        self.mounts.push(Mount {
            container_path: format!("{MOUNTED_DEVICES}/{name}"),
            host_path: "/dev/null".to_owned(),
            read_only: false,
        });
    }
}
