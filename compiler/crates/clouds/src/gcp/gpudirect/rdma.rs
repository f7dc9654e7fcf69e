//! GPUDirect RDMA, from A3 Ultra on: the adapters of a machine are in a VPC network with a RoCE network profile.
//!
//! Sources, read 2026-11-28: Google's guides to custom clusters with A3 Ultra and A4
//! (docs.cloud.google.com/ai-hypercomputer/docs/create/gke-ai-hypercompute-custom, of 2026-04-06) and with A4X Max
//! (.../gke-ai-hypercompute-custom-a4x-max, of 2026-04-06);
//! docs.cloud.google.com/kubernetes-engine/docs/how-to/allocate-network-resources-dra;
//! GoogleCloudPlatform/container-engine-accelerators@992db812 (CEA) `gpudirect-rdma` and `asapd-lite-installer`;
//! GoogleCloudPlatform/cluster-toolkit@10470803 `examples/gke-{a3-ultragpu,a4,a4x,a4x-max-bm}`.

use gpuc_model::cloud::PodClaim;

/// The adapters of the machine types of a family, and their software.
#[derive(Debug)]
pub(in super::super) struct Adapters {
    /// The prefix of the names of its machine types.
    machines: &'static str,
    /// Number of RDMA adapters of a node.
    pub(super) count: usize,
    /// Where pods get NCCL's plugin from.
    pub(super) plugin: Plugin,
    /// Whether pods can use the interfaces through GKE's multi-networking. Otherwise GKE must manage them.
    pub(super) has_multi_networking: bool,
    /// Whether the GPUs of several nodes are connected by NVLink: 18 nodes are a rack.
    pub(in super::super) is_rack: bool,
    /// Whether the nodes are bare metal, for which GKE has neither autoscaling nor shielded nodes.
    pub(in super::super) is_bare_metal: bool,
}

/// The origin of Google's plugin for NCCL, gIB.
#[derive(Debug)]
pub(super) enum Plugin {
    /// A DaemonSet installs it on the nodes from this image.
    Node(&'static str),
    /// The image of the workload contains it.
    WorkloadImage,
}

/// Number of nodes that NVLink connects: 72 GPUs with four on each.
pub(in super::super) const RACK_NODES: u32 = 18;

/// All families.
static FAMILIES: &[Adapters] = &[
    Adapters {
        machines: "a3-ultragpu-",
        ..EIGHT_ADAPTERS
    },
    Adapters {
        machines: "a4-highgpu-",
        ..EIGHT_ADAPTERS
    },
    Adapters {
        machines: "a4x-highgpu-",
        count: 4,
        plugin: Plugin::Node(
            "us-docker.pkg.dev/gce-ai-infra/gpudirect-gib/nccl-plugin-gib-arm64:v1.1.0",
        ),
        has_multi_networking: true,
        is_rack: true,
        is_bare_metal: false,
    },
    Adapters {
        machines: "a4x-maxgpu-",
        count: 8,
        plugin: Plugin::WorkloadImage,
        has_multi_networking: false,
        is_rack: true,
        is_bare_metal: true,
    },
];

/// A3 Ultra and A4.
const EIGHT_ADAPTERS: Adapters = Adapters {
    machines: "",
    count: 8,
    plugin: Plugin::Node("us-docker.pkg.dev/gce-ai-infra/gpudirect-gib/nccl-plugin-gib:v1.1.1"),
    has_multi_networking: true,
    is_rack: false,
    is_bare_metal: false,
};

/// The adapters of a machine type; `None` if it has none.
pub(in super::super) fn machine_adapters(machine: &str) -> Option<&'static Adapters> {
    FAMILIES
        .iter()
        .find(|family| machine.starts_with(family.machines))
}

/// The DeviceClass of RDMA adapters that GKE installs.
const DEVICE_CLASS: &str = "mrdma.google.com";

/// The label of nodes on which GKE's network driver allocates the adapters.
pub(in super::super) const NETWORK_DRIVER_LABEL: &str =
    "cloud.google.com/gke-networking-dra-driver";

/// The label of bare-metal nodes with which GKE's network plugin leaves the adapters to the driver.
pub(in super::super) const UNIFIED_CNI_LABEL: (&str, &str) =
    ("cloud.google.com/gke-dpv2-unified-cni", "cni-migration");

/// The label that GKE sets on nodes whose networks it creates, and that their workloads must select.
pub(in super::super) const PROFILE_LABEL: (&str, &str) =
    ("gke.networks.io/accelerator-network-profile", "auto");

/// Directory of the plugin in containers, and on nodes.
pub(super) const GIB_DIR: &str = "/usr/local/gib";
pub(super) const GIB_NODE_DIR: &str = "/home/kubernetes/bin/gib";

impl Adapters {
    /// Number of networks of a node that pods use through multi-networking: the host's second interface, and the
    /// adapters.
    pub(super) const fn interfaces(&self) -> usize {
        self.count + 1
    }

    /// Environment variables of the main container. The script sets those of NCCL: they differ by machine type and by
    /// release of the plugin.
    pub(super) const fn env(&self) -> &'static [(&'static str, &'static str)] {
        match self.plugin {
            Plugin::Node(_) => &[
                ("LD_LIBRARY_PATH", "/usr/local/nvidia/lib64"),
                ("NCCL_NET", "gIB"),
            ],
            Plugin::WorkloadImage => &[(
                "LD_LIBRARY_PATH",
                "/usr/local/nvidia/lib64:/usr/local/gib/lib64",
            )],
        }
    }

    /// The shell command that sets NCCL's variables before the program of a container starts.
    pub(super) const fn setup(&self) -> &'static str {
        match self.plugin {
            Plugin::Node(_) => ". /usr/local/gib/scripts/set_nccl_env.sh",
            Plugin::WorkloadImage => {
                "if [ -e /usr/local/gib/scripts/set_nccl_env.sh ]; then . /usr/local/gib/scripts/set_nccl_env.sh; fi"
            }
        }
    }

    /// The claim of all adapters of a node, if GKE manages them.
    pub(super) fn claim(&self) -> PodClaim {
        PodClaim {
            name: "rdma",
            device_class: DEVICE_CLASS,
            count: u32::try_from(self.count).unwrap_or(u32::MAX),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::machines::{GpuDirect, MACHINES};
    use super::*;

    #[test]
    fn every_machine_with_rdma_has_adapters() {
        for row in MACHINES {
            let has_rdma = row.gpudirect == Some(GpuDirect::Rdma);
            let adapters = machine_adapters(row.machine.name);
            assert_eq!(adapters.is_some(), has_rdma, "{}", row.machine.name);
        }
    }
}
