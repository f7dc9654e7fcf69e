//! The resources that a node advertises, and the devices of each.

use std::collections::BTreeMap;

use gpuc_schema::config::MigStrategy;
use gpuc_schema::node_config::{MigGpu, NodeSharing};

use super::mig::{common_profile, has_gpu_in_mig_mode, is_in_mig_mode, resource_for};
use super::{Gpu, Inventory};

/// The resource name of full GPUs, and of MIG devices with strategy `single`.
pub const GPU: &str = "nvidia.com/gpu";

/// An advertised resource with its devices.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AdvertisedResource {
    /// `nvidia.com/gpu`.
    pub resource: String,
    /// The number of replicas of each GPU or MIG device; 1 without sharing.
    pub replicas: u32,
    /// The devices, by GPU, then MIG device, then replica.
    pub devices: Vec<KubeletDevice>,
}

/// A device that the kubelet allocates: a GPU, a MIG device, or a replica of one.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KubeletDevice {
    /// The kubelet's device ID: the UUID, and for replicas `::` and a number from 0 on.
    pub id: String,
    /// The UUID of the GPU or MIG device.
    #[serde(rename = "part")]
    pub physical_device: String,
    /// The index of the GPU, or of the GPU that the MIG device is on.
    pub gpu: u32,
    /// The GPU's NUMA node.
    pub numa: Option<u32>,
}

impl AdvertisedResource {
    /// Returns the device with this ID.
    pub fn device(&self, id: &str) -> Option<&KubeletDevice> {
        self.devices.iter().find(|device| device.id == id)
    }
}

/// Returns the resources that a node with these GPUs advertises, by name. An unresponsive GPU advertises its last known
/// devices.
///
/// In MIG mode, a GPU advertises its MIG devices, and nothing if there are none. A GPU that must be partitioned but is
/// not is not advertised as a full GPU: pods would get seven times as much as requested and block the change. Under
/// `single`, only MIG devices of one profile are advertised, and no full GPUs.
pub fn advertised_resources(
    inventory: &Inventory,
    sharing: &NodeSharing,
) -> Vec<AdvertisedResource> {
    let (replicas, rename) = match sharing {
        NodeSharing::Exclusive | NodeSharing::Mig { .. } => (1, false),
        NodeSharing::TimeSlicing {
            replicas, rename, ..
        }
        | NodeSharing::Mps {
            replicas, rename, ..
        } => (*replicas, *rename),
    };
    let mut devices_by_resource: BTreeMap<String, Vec<KubeletDevice>> = BTreeMap::new();
    for gpu in &inventory.gpus {
        for (resource, uuid) in advertised_devices(gpu, inventory, sharing) {
            let resource = if rename {
                resource + ".shared"
            } else {
                resource
            };
            let devices = devices_by_resource.entry(resource).or_default();
            devices.extend(replicas_of_device(gpu, &uuid, replicas));
        }
    }
    let to_resource = |(resource, devices)| AdvertisedResource {
        resource,
        replicas,
        devices,
    };
    devices_by_resource.into_iter().map(to_resource).collect()
}

/// Returns the parts of a GPU that are advertised: resource and UUID.
fn advertised_devices(
    gpu: &Gpu,
    inventory: &Inventory,
    sharing: &NodeSharing,
) -> Vec<(String, String)> {
    let full_gpu = || vec![(GPU.to_owned(), gpu.id())];
    let NodeSharing::Mig { strategy, gpus, .. } = sharing else {
        return full_gpu();
    };
    // The MIG configuration of a GPU that never responded is unknown.
    let Some(info) = gpu.info() else {
        return Vec::new();
    };
    if !is_in_mig_mode(info) {
        let must_be_partitioned =
            |wanted: &MigGpu| wanted.index == info.index && !wanted.slices.is_empty();
        let next_to_mig_devices =
            *strategy == MigStrategy::Single && has_gpu_in_mig_mode(inventory);
        return if next_to_mig_devices || gpus.iter().any(must_be_partitioned) {
            Vec::new()
        } else {
            full_gpu()
        };
    }
    let common = common_profile(inventory, sharing);
    info.slices
        .iter()
        .filter(|mig_device| common.is_none_or(|common| common == mig_device.profile))
        .filter_map(|mig_device| {
            Some((
                resource_for(mig_device, *strategy)?,
                mig_device.uuid.clone(),
            ))
        })
        .collect()
}

fn replicas_of_device(gpu: &Gpu, uuid: &str, replicas: u32) -> Vec<KubeletDevice> {
    let numa = match gpu {
        Gpu::Responding { numa, .. } => *numa,
        Gpu::Unresponsive { .. } => None,
    };
    let kubelet_device = |id: String| KubeletDevice {
        id,
        physical_device: uuid.to_owned(),
        gpu: gpu.index(),
        numa,
    };
    if replicas == 1 {
        return vec![kubelet_device(uuid.to_owned())];
    }
    (0..replicas)
        .map(|number| kubelet_device(format!("{uuid}::{number}")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::testing::{inventory, mig, mig_gpu};
    use crate::nvml::{NvmlError, NvmlErrorKind};

    /// Describes each resource by its name and the devices of each GPU: `.` for the full GPU, a digit for a MIG device.
    /// Each appears once per replica.
    fn diagram(inventory: &Inventory, sharing: &NodeSharing) -> Vec<String> {
        advertised_resources(inventory, sharing)
            .iter()
            .map(|resource| {
                let mut line = resource.resource.clone();
                for gpu in &inventory.gpus {
                    let of_gpu = resource.devices.iter().filter(|it| it.gpu == gpu.index());
                    let short_names = of_gpu.map(|device| short_name(gpu, &device.physical_device));
                    line += &format!(" {}", short_names.collect::<String>());
                }
                line
            })
            .collect()
    }

    fn short_name(gpu: &Gpu, uuid: &str) -> String {
        let mig_devices = gpu.info().map(|info| info.slices.as_slice());
        let mig_device = mig_devices
            .unwrap_or_default()
            .iter()
            .find(|mig_device| mig_device.uuid == uuid);
        match mig_device {
            Some(mig_device) => mig_device.index.to_string(),
            None if gpu.id() == uuid => ".".to_owned(),
            None => panic!("{uuid} is no part of GPU {}", gpu.index()),
        }
    }

    fn time_slicing(replicas: u32, rename: bool) -> NodeSharing {
        NodeSharing::TimeSlicing {
            replicas,
            rename,
            refuse_more_than_one: false,
        }
    }

    fn mps(replicas: u32, rename: bool) -> NodeSharing {
        NodeSharing::Mps {
            replicas,
            rename,
            refuse_more_than_one: true,
            root: "/run/nvidia/mps".to_owned(),
        }
    }

    fn make_unresponsive(inventory: &mut Inventory, index: usize, last: bool) {
        let info = inventory.gpus[index].info().cloned();
        inventory.gpus[index] = Gpu::Unresponsive {
            index: inventory.gpus[index].index(),
            last_info: info.filter(|_| last),
            error: NvmlError {
                kind: NvmlErrorKind::GpuLost,
                message: "GPU is lost".to_owned(),
            },
        };
    }

    /// The names, IDs and NUMA nodes are those of NVIDIA/k8s-device-plugin@1b826acc.
    #[test]
    fn full_gpus_have_their_uuids() {
        let machine = inventory("h100x8");
        let advertised = advertised_resources(&machine, &NodeSharing::Exclusive);
        assert_eq!(advertised.len(), 1);
        let gpus = &advertised[0];
        assert_eq!(
            (gpus.resource.as_str(), gpus.replicas),
            ("nvidia.com/gpu", 1)
        );
        for (device, gpu) in gpus.devices.iter().zip(&machine.gpus) {
            assert_eq!(
                (&device.id, &device.physical_device, device.gpu),
                (&gpu.id(), &gpu.id(), gpu.index())
            );
            assert!(device.id.starts_with("GPU-"));
        }
        let numas: Vec<_> = gpus
            .devices
            .iter()
            .filter_map(|device| device.numa)
            .collect();
        assert_eq!(numas, [0, 0, 0, 0, 1, 1, 1, 1]);
        assert_eq!(gpus.device(&gpus.devices[3].id), Some(&gpus.devices[3]));
        assert_eq!(gpus.device("GPU-0"), None);
    }

    #[test]
    fn replicas_are_numbered_from_zero() {
        let machine = inventory("l4x4");
        let advertised = advertised_resources(&machine, &time_slicing(4, false));
        assert_eq!(advertised[0].resource, "nvidia.com/gpu");
        assert_eq!(advertised[0].replicas, 4);
        let ids: Vec<_> = advertised[0]
            .devices
            .iter()
            .map(|device| device.id.as_str())
            .collect();
        assert_eq!(ids.len(), 16);
        let (first, last) = (machine.gpus[0].id(), machine.gpus[3].id());
        assert_eq!(ids[0], format!("{first}::0"));
        assert_eq!(ids[3], format!("{first}::3"));
        assert_eq!(ids[15], format!("{last}::3"));
        assert!(
            advertised[0].devices[4..8]
                .iter()
                .all(|it| it.physical_device == machine.gpus[1].id())
        );
        assert_eq!(advertised[0].devices[15].numa, Some(1));
    }

    #[test]
    fn replicas_are_renamed_if_configured() {
        let machine = inventory("l4x2");
        for sharing in [time_slicing(3, true), mps(3, true)] {
            assert_eq!(
                diagram(&machine, &sharing),
                ["nvidia.com/gpu.shared ... ..."]
            );
        }
        assert_eq!(diagram(&machine, &mps(2, false)), ["nvidia.com/gpu .. .."]);
        let alone = advertised_resources(&machine, &time_slicing(1, true));
        assert_eq!(alone[0].devices[0].id, machine.gpus[0].id());
    }

    #[test]
    fn several_models_share_one_resource() {
        let machine = inventory("t4+l4x2");
        assert_eq!(
            diagram(&machine, &NodeSharing::Exclusive),
            ["nvidia.com/gpu . . ."]
        );
    }

    #[test]
    fn single_strategy_advertises_gpus() {
        let machine = inventory("a100-sxm4-40gbx2:mig=1g.5gb*7");
        let single = mig("single", vec![]);
        assert_eq!(
            diagram(&machine, &single),
            ["nvidia.com/gpu 0123456 0123456"]
        );
        let advertised = advertised_resources(&machine, &single);
        assert!(
            advertised[0]
                .devices
                .iter()
                .all(|device| device.id.starts_with("MIG-"))
        );
        assert_eq!(advertised[0].devices[13].numa, Some(1));
        assert_eq!(
            diagram(&inventory("h100x2"), &single),
            ["nvidia.com/gpu . ."]
        );
    }

    #[test]
    fn mixed_strategy_advertises_profiles() {
        let words = "a100-sxm4-40gb:mig=3g.20gb,2g.10gb,1g.5gb,1g.5gb.me+a100-sxm4-40gb";
        assert_eq!(
            diagram(&inventory(words), &mig("mixed", vec![])),
            [
                "nvidia.com/gpu  .",
                "nvidia.com/mig-1g.5gb 1 ",
                "nvidia.com/mig-1g.5gb.me 2 ",
                "nvidia.com/mig-2g.10gb 0 ",
                "nvidia.com/mig-3g.20gb 3 ",
            ],
        );
    }

    /// The same as NVIDIA's strategy `none`.
    #[test]
    fn unconfigured_mig_devices_are_ignored() {
        let machine = inventory("h100:mig=1g.10gb*7+h100");
        assert_eq!(
            diagram(&machine, &NodeSharing::Exclusive),
            ["nvidia.com/gpu . ."]
        );
    }

    #[test]
    fn single_strategy_advertises_one_profile() {
        let machine = inventory("h100:mig=1g.10gb*7+h100+h100:mig=3g.40gb+h100:mig");
        assert_eq!(
            diagram(&machine, &mig("single", vec![])),
            ["nvidia.com/gpu 0123456   "]
        );
        let wanted = vec![mig_gpu(2, &[("3g.40gb", 0, 4)])];
        assert_eq!(
            diagram(&machine, &mig("single", wanted)),
            ["nvidia.com/gpu   0 "]
        );
    }

    #[test]
    fn unpartitioned_gpu_is_not_advertised() {
        let wanted = || vec![mig_gpu(0, &[("7g.80gb", 0, 8)]), mig_gpu(1, &[])];
        let machine = inventory("h100x2");
        for strategy in ["single", "mixed"] {
            assert_eq!(
                diagram(&machine, &mig(strategy, wanted())),
                ["nvidia.com/gpu  ."]
            );
        }
        let uncut = inventory("h100:mig+h100");
        assert_eq!(
            diagram(&uncut, &mig("mixed", wanted())),
            ["nvidia.com/gpu  ."]
        );
    }

    #[test]
    fn unresponsive_gpu_stays_advertised() {
        let mut machine = inventory("h100x2:mig=1g.10gb*7");
        let (single, mixed) = (mig("single", vec![]), mig("mixed", vec![]));
        let ids = |machine: &Inventory| -> Vec<String> {
            let advertised = advertised_resources(machine, &single);
            advertised[0]
                .devices
                .iter()
                .map(|device| device.id.clone())
                .collect()
        };
        let before = ids(&machine);
        make_unresponsive(&mut machine, 1, true);
        assert_eq!(ids(&machine), before);
        make_unresponsive(&mut machine, 1, false);
        assert_eq!(diagram(&machine, &single), ["nvidia.com/gpu 0123456 "]);
        assert_eq!(
            diagram(&machine, &mixed),
            ["nvidia.com/mig-1g.10gb 0123456 "]
        );

        let mut unpartitioned = inventory("l4x2");
        make_unresponsive(&mut unpartitioned, 0, false);
        let advertised = advertised_resources(&unpartitioned, &time_slicing(2, false));
        let ids: Vec<_> = advertised[0]
            .devices
            .iter()
            .map(|device| device.id.as_str())
            .collect();
        assert_eq!(ids[..2], ["gpu-0-unresponsive::0", "gpu-0-unresponsive::1"]);
        assert_eq!(advertised[0].devices[0].numa, None);
    }
}
