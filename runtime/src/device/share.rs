//! The resources that a node advertises, and the devices of each.

use std::collections::BTreeMap;

use gpuc_schema::config::MigStrategy;
use gpuc_schema::node_config::{MigGpu, NodeSharing};

use super::mig::{any_in_mig_mode, in_mig_mode, resource_of, usual_profile};
use super::{Gpu, Inventory};

/// The resource name of full GPUs, and of MIG devices with strategy `single`.
pub const GPU: &str = "nvidia.com/gpu";

/// An advertised resource with its devices.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Offer {
    /// `nvidia.com/gpu`.
    pub resource: String,
    /// The number of replicas of each GPU or MIG device; 1 without sharing.
    pub replicas: u32,
    /// The devices, by GPU, then MIG device, then replica.
    pub shares: Vec<Share>,
}

/// A device that the kubelet allocates: a GPU, a MIG device, or a replica of one.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Share {
    /// The kubelet's device ID: the UUID, and for replicas `::` and a number from 0 on.
    pub id: String,
    /// The UUID of the GPU or MIG device.
    pub part: String,
    /// The index of the GPU, or of the GPU that the MIG device is on.
    pub gpu: u32,
    /// The GPU's NUMA node.
    pub numa: Option<u32>,
}

impl Offer {
    /// Returns the device with this ID.
    pub fn share(&self, id: &str) -> Option<&Share> {
        self.shares.iter().find(|share| share.id == id)
    }
}

/// Returns the resources that a node with these GPUs advertises, by name. A silent GPU advertises its last known
/// devices.
///
/// In MIG mode, a GPU advertises its MIG devices, and nothing if there are none. A GPU that must be partitioned but is
/// not is not advertised as a full GPU: pods would get seven times as much as requested and block the change. Under
/// `single`, only MIG devices of one profile are advertised, and no full GPUs.
pub fn offers(inventory: &Inventory, sharing: &NodeSharing) -> Vec<Offer> {
    let (replicas, rename) = match sharing {
        NodeSharing::Exclusive | NodeSharing::Mig { .. } => (1, false),
        NodeSharing::TimeSlicing {
            replicas, rename, ..
        }
        | NodeSharing::Mps {
            replicas, rename, ..
        } => (*replicas, *rename),
    };
    let mut offers: BTreeMap<String, Vec<Share>> = BTreeMap::new();
    for gpu in &inventory.gpus {
        for (resource, part) in parts(gpu, inventory, sharing) {
            let resource = if rename {
                resource + ".shared"
            } else {
                resource
            };
            let shares = offers.entry(resource).or_default();
            shares.extend(devices_of(gpu, &part, replicas));
        }
    }
    let offer = |(resource, shares)| Offer {
        resource,
        replicas,
        shares,
    };
    offers.into_iter().map(offer).collect()
}

/// Returns the parts of a GPU that are advertised: resource and UUID.
fn parts(gpu: &Gpu, inventory: &Inventory, sharing: &NodeSharing) -> Vec<(String, String)> {
    let whole = || vec![(GPU.to_owned(), gpu.id())];
    let NodeSharing::Mig { strategy, gpus, .. } = sharing else {
        return whole();
    };
    // The MIG configuration of a GPU that never responded is unknown.
    let Some(info) = gpu.info() else {
        return Vec::new();
    };
    if !in_mig_mode(info) {
        let must_be_partitioned =
            |wish: &MigGpu| wish.index == info.index && !wish.slices.is_empty();
        let next_to_mig_devices = *strategy == MigStrategy::Single && any_in_mig_mode(inventory);
        return if next_to_mig_devices || gpus.iter().any(must_be_partitioned) {
            Vec::new()
        } else {
            whole()
        };
    }
    let usual = usual_profile(inventory, sharing);
    info.slices
        .iter()
        .filter(|slice| usual.is_none_or(|usual| usual == slice.profile))
        .filter_map(|slice| Some((resource_of(slice, *strategy)?, slice.uuid.clone())))
        .collect()
}

fn devices_of(gpu: &Gpu, part: &str, replicas: u32) -> Vec<Share> {
    let numa = match gpu {
        Gpu::Known { numa, .. } => *numa,
        Gpu::Silent { .. } => None,
    };
    let share = |id: String| Share {
        id,
        part: part.to_owned(),
        gpu: gpu.index(),
        numa,
    };
    if replicas == 1 {
        return vec![share(part.to_owned())];
    }
    (0..replicas)
        .map(|number| share(format!("{part}::{number}")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::testing::{inventory, mig, mig_gpu};
    use crate::nvml::{NvmlError, NvmlErrorKind};

    /// Draws the advertised resources: the name, then for each GPU its parts (`.` the full GPU, digits its MIG
    /// devices), once per replica.
    fn drawn(inventory: &Inventory, sharing: &NodeSharing) -> Vec<String> {
        offers(inventory, sharing)
            .iter()
            .map(|offer| {
                let mut line = offer.resource.clone();
                for gpu in &inventory.gpus {
                    let of_gpu = offer.shares.iter().filter(|it| it.gpu == gpu.index());
                    let parts = of_gpu.map(|share| part(gpu, &share.part));
                    line += &format!(" {}", parts.collect::<String>());
                }
                line
            })
            .collect()
    }

    fn part(gpu: &Gpu, uuid: &str) -> String {
        let slices = gpu.info().map(|info| info.slices.as_slice());
        let slice = slices
            .unwrap_or_default()
            .iter()
            .find(|slice| slice.uuid == uuid);
        match slice {
            Some(slice) => slice.index.to_string(),
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

    fn silence(inventory: &mut Inventory, index: usize, last: bool) {
        let info = inventory.gpus[index].info().cloned();
        inventory.gpus[index] = Gpu::Silent {
            index: inventory.gpus[index].index(),
            last: info.filter(|_| last),
            error: NvmlError {
                kind: NvmlErrorKind::GpuLost,
                message: "GPU is lost".to_owned(),
            },
        };
    }

    /// The names, identifiers and NUMA nodes of NVIDIA/k8s-device-plugin@1b826acc.
    #[test]
    fn whole_gpus_go_by_their_uuids() {
        let machine = inventory("h100x8");
        let offered = offers(&machine, &NodeSharing::Exclusive);
        assert_eq!(offered.len(), 1);
        let gpus = &offered[0];
        assert_eq!(
            (gpus.resource.as_str(), gpus.replicas),
            ("nvidia.com/gpu", 1)
        );
        for (share, gpu) in gpus.shares.iter().zip(&machine.gpus) {
            assert_eq!(
                (&share.id, &share.part, share.gpu),
                (&gpu.id(), &gpu.id(), gpu.index())
            );
            assert!(share.id.starts_with("GPU-"));
        }
        let numas: Vec<_> = gpus.shares.iter().filter_map(|share| share.numa).collect();
        assert_eq!(numas, [0, 0, 0, 0, 1, 1, 1, 1]);
        assert_eq!(gpus.share(&gpus.shares[3].id), Some(&gpus.shares[3]));
        assert_eq!(gpus.share("GPU-0"), None);
    }

    #[test]
    fn replicas_are_numbered_from_zero() {
        let machine = inventory("l4x4");
        let offered = offers(&machine, &time_slicing(4, false));
        assert_eq!(offered[0].resource, "nvidia.com/gpu");
        assert_eq!(offered[0].replicas, 4);
        let ids: Vec<_> = offered[0]
            .shares
            .iter()
            .map(|share| share.id.as_str())
            .collect();
        assert_eq!(ids.len(), 16);
        let (first, last) = (machine.gpus[0].id(), machine.gpus[3].id());
        assert_eq!(ids[0], format!("{first}::0"));
        assert_eq!(ids[3], format!("{first}::3"));
        assert_eq!(ids[15], format!("{last}::3"));
        assert!(
            offered[0].shares[4..8]
                .iter()
                .all(|it| it.part == machine.gpus[1].id())
        );
        assert_eq!(offered[0].shares[15].numa, Some(1));
    }

    #[test]
    fn shares_are_renamed_where_that_is_wanted() {
        let machine = inventory("l4x2");
        for sharing in [time_slicing(3, true), mps(3, true)] {
            assert_eq!(drawn(&machine, &sharing), ["nvidia.com/gpu.shared ... ..."]);
        }
        assert_eq!(drawn(&machine, &mps(2, false)), ["nvidia.com/gpu .. .."]);
        let alone = offers(&machine, &time_slicing(1, true));
        assert_eq!(alone[0].shares[0].id, machine.gpus[0].id());
    }

    #[test]
    fn cards_of_several_models_go_by_one_name() {
        let machine = inventory("t4+l4x2");
        assert_eq!(
            drawn(&machine, &NodeSharing::Exclusive),
            ["nvidia.com/gpu . . ."]
        );
    }

    #[test]
    fn slices_of_a_node_that_is_cut_evenly_are_gpus() {
        let machine = inventory("a100-sxm4-40gbx2:mig=1g.5gb*7");
        let single = mig("single", vec![]);
        assert_eq!(drawn(&machine, &single), ["nvidia.com/gpu 0123456 0123456"]);
        let offered = offers(&machine, &single);
        assert!(
            offered[0]
                .shares
                .iter()
                .all(|share| share.id.starts_with("MIG-"))
        );
        assert_eq!(offered[0].shares[13].numa, Some(1));
        assert_eq!(drawn(&inventory("h100x2"), &single), ["nvidia.com/gpu . ."]);
    }

    #[test]
    fn each_profile_has_its_name() {
        let words = "a100-sxm4-40gb:mig=3g.20gb,2g.10gb,1g.5gb,1g.5gb.me+a100-sxm4-40gb";
        assert_eq!(
            drawn(&inventory(words), &mig("mixed", vec![])),
            [
                "nvidia.com/gpu  .",
                "nvidia.com/mig-1g.5gb 1 ",
                "nvidia.com/mig-1g.5gb.me 2 ",
                "nvidia.com/mig-2g.10gb 0 ",
                "nvidia.com/mig-3g.20gb 3 ",
            ],
        );
    }

    /// NVIDIA's strategy `none`: MIG mode is ignored.
    #[test]
    fn without_mig_in_the_configuration_gpus_are_whole() {
        let machine = inventory("h100:mig=1g.10gb*7+h100");
        assert_eq!(
            drawn(&machine, &NodeSharing::Exclusive),
            ["nvidia.com/gpu . ."]
        );
    }

    #[test]
    fn single_offers_what_is_alike_and_nothing_beside_it() {
        let machine = inventory("h100:mig=1g.10gb*7+h100+h100:mig=3g.40gb+h100:mig");
        assert_eq!(
            drawn(&machine, &mig("single", vec![])),
            ["nvidia.com/gpu 0123456   "]
        );
        let wanted = vec![mig_gpu(2, &[("3g.40gb", 0, 4)])];
        assert_eq!(
            drawn(&machine, &mig("single", wanted)),
            ["nvidia.com/gpu   0 "]
        );
    }

    #[test]
    fn a_gpu_that_is_to_be_cut_is_not_offered_whole() {
        let wanted = || vec![mig_gpu(0, &[("7g.80gb", 0, 8)]), mig_gpu(1, &[])];
        let machine = inventory("h100x2");
        for strategy in ["single", "mixed"] {
            assert_eq!(
                drawn(&machine, &mig(strategy, wanted())),
                ["nvidia.com/gpu  ."]
            );
        }
        let uncut = inventory("h100:mig+h100");
        assert_eq!(
            drawn(&uncut, &mig("mixed", wanted())),
            ["nvidia.com/gpu  ."]
        );
    }

    #[test]
    fn a_silent_gpu_offers_what_it_did() {
        let mut machine = inventory("h100x2:mig=1g.10gb*7");
        let (single, mixed) = (mig("single", vec![]), mig("mixed", vec![]));
        let ids = |machine: &Inventory| -> Vec<String> {
            let offered = offers(machine, &single);
            offered[0]
                .shares
                .iter()
                .map(|share| share.id.clone())
                .collect()
        };
        let before = ids(&machine);
        silence(&mut machine, 1, true);
        assert_eq!(ids(&machine), before);
        silence(&mut machine, 1, false);
        assert_eq!(drawn(&machine, &single), ["nvidia.com/gpu 0123456 "]);
        assert_eq!(drawn(&machine, &mixed), ["nvidia.com/mig-1g.10gb 0123456 "]);

        let mut whole = inventory("l4x2");
        silence(&mut whole, 0, false);
        let offered = offers(&whole, &time_slicing(2, false));
        let ids: Vec<_> = offered[0]
            .shares
            .iter()
            .map(|share| share.id.as_str())
            .collect();
        assert_eq!(ids[..2], ["gpu-0-silent::0", "gpu-0-silent::1"]);
        assert_eq!(offered[0].shares[0].numa, None);
    }
}
