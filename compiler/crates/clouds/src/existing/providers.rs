//! The facts about each provider: who installs the driver, who advertises GPUs, and where the kubelet and the container
//! runtime have their files.
//!
//! A fact without a source that was read is "from memory". It is a default only where a wrong value is visible in
//! `verify.sh`; where it is not, `owners_vary` makes the file state it.

use gpuc_schema::config::{Autoscaler, DevicePlugin, DriverOwner, OsFamily, Provider, TaintEffect};

use gpuc_model::SUPPORTED;
use gpuc_model::cloud::{
    ARCHITECTURE, CloudFacts, HOSTNAME, Injection, KUBELET_DIR, NameRule, NodeRepair,
    OPERATING_SYSTEM, OperatorSupport, OsFacts, RuntimeClass, SupportFacts,
};
use gpuc_model::operator::RUNTIME_CLASS;

use crate::names::is_dns_label;

/// The facts about a provider.
#[derive(Debug)]
pub(super) struct ProviderFacts {
    pub(super) provider: Provider,
    pub(super) facts: CloudFacts,
    /// The default device plugin, with the reason, if it is not gpuc's.
    pub(super) default_plugin: Option<(DevicePlugin, &'static str)>,
    /// Whether the driver and the device plugin depend on choices at the creation of the cluster, so that the file must
    /// state them.
    pub(super) owners_vary: bool,
    /// A label with which the provider's own device plugin ignores a node.
    pub(super) plugin_switch: Option<(&'static str, &'static str)>,
    /// The taint of its nodes with GPUs.
    pub(super) gpu_taint: Option<GpuTaint>,
    /// The environment variables with which the GPU Operator's toolkit finds the container runtime.
    pub(super) toolkit: &'static [(&'static str, &'static str)],
    /// Whether the Network Operator can advertise RDMA adapters; otherwise the reason and the help.
    pub(super) rdma: Result<(), (&'static str, &'static str)>,
    /// Whether its pools of nodes are objects that gpuc can write.
    pub(super) writes_node_pools: bool,
    /// Whether its admission rejects gpuc's privileged components, which have no `SecurityContextConstraints`.
    pub(super) restricts_components: bool,
    /// What to configure on the nodes, for the README of the tree.
    pub(super) notes: &'static [&'static str],
}

/// A taint of the provider.
#[derive(Clone, Copy, Debug)]
pub(super) struct GpuTaint {
    pub(super) key: &'static str,
    pub(super) value: &'static str,
    pub(super) effect: TaintEffect,
    pub(super) source: &'static str,
}

/// Nodes whose owner installs the driver and the container toolkit, or whose driver the GPU Operator installs. The
/// operator always deploys its toolkit.
static HOST_NODES: &[OsFacts] = &[OsFacts {
    family: OsFamily::ProviderDefault,
    has_driver: false,
    has_device_plugin: false,
    injection: Injection::Cdi,
    visible_by_mount: false,
    driver_root: "/",
    runtime_class: NVIDIA_CLASS,
    operator_support: OperatorSupport {
        driver: Ok(()),
        toolkit: false,
        runtime_class: RUNTIME_CLASS,
        driver_dir: None,
    },
    kubernetes: SUPPORTED,
    source: "NVIDIA/k8s-device-plugin README.md@1b826acc: without --set-as-default a RuntimeClass nvidia with handler \
             nvidia is required",
}];

/// Nodes on which the provider installs the driver and advertises GPUs; a second device plugin would conflict.
static MANAGED_NODES: &[OsFacts] = &[OsFacts {
    family: OsFamily::ProviderDefault,
    has_driver: true,
    has_device_plugin: true,
    injection: Injection::EnvironmentVariable,
    visible_by_mount: false,
    driver_root: "/",
    runtime_class: None,
    operator_support: OperatorSupport {
        driver: Err("has a driver that the provider installs"),
        toolkit: true,
        runtime_class: RUNTIME_CLASS,
        driver_dir: None,
    },
    kubernetes: SUPPORTED,
    source: "docs.coreweave.com/products/cks (do not install the NVIDIA GPU Operator: CoreWeave manages it), \
             2026-11-29",
}];

/// Nodes whose image may have the driver and the container toolkit.
static IMAGE_NODES: &[OsFacts] = &[OsFacts {
    family: OsFamily::ProviderDefault,
    has_driver: true,
    has_device_plugin: false,
    injection: Injection::Cdi,
    visible_by_mount: false,
    driver_root: "/",
    runtime_class: NVIDIA_CLASS,
    operator_support: OperatorSupport {
        driver: Ok(()),
        toolkit: true,
        runtime_class: RUNTIME_CLASS,
        driver_dir: None,
    },
    kubernetes: SUPPORTED,
    source: "NVIDIA/aicr values-oke.yaml (driver and toolkit of the operator are off), 2026-11-22; the others from \
             memory",
}];

/// Talos: system extensions have the driver and the container toolkit. The file system is read-only, and the NVIDIA
/// runtime is not the default.
static TALOS_NODES: &[OsFacts] = &[OsFacts {
    family: OsFamily::ProviderDefault,
    has_driver: true,
    has_device_plugin: false,
    injection: Injection::EnvironmentVariable,
    visible_by_mount: false,
    driver_root: "/",
    runtime_class: NVIDIA_CLASS,
    operator_support: OperatorSupport {
        driver: Err("has a read-only file system: system extensions install the driver"),
        toolkit: true,
        runtime_class: RUNTIME_CLASS,
        driver_dir: None,
    },
    kubernetes: SUPPORTED,
    source: "docs.siderolabs.com/talos/v1.12 configure-your-talos-cluster/hardware-and-drivers/nvidia-gpu, 2026-11-29",
}];

const NVIDIA_CLASS: Option<RuntimeClass> = Some(RuntimeClass {
    name: RUNTIME_CLASS,
    handler: RUNTIME_CLASS,
});

const OWN_PLUGINS: &[DevicePlugin] = &[
    DevicePlugin::Gpuc,
    DevicePlugin::Nvidia,
    DevicePlugin::Operator,
];

/// Without NVIDIA's chart, whose DaemonSet mounts /var/lib/kubelet/device-plugins.
///
/// Source: NVIDIA/k8s-device-plugin@v0.20.0 deployments/helm/nvidia-device-plugin, daemonset-device-plugin.yml.
const PLUGINS_OF_OTHER_KUBELET_DIR: &[DevicePlugin] = &[DevicePlugin::Gpuc, DevicePlugin::Operator];

const ANY_PLUGIN: &[DevicePlugin] = &[
    DevicePlugin::Cloud,
    DevicePlugin::Gpuc,
    DevicePlugin::Operator,
];

const HOST_OR_OPERATOR: &[DriverOwner] = &[DriverOwner::Preinstalled, DriverOwner::Operator];

const DNS_LABEL: NameRule = NameRule {
    description: "lower-case letters, digits and -, starting and ending with a letter or digit",
    max: 63,
    is_valid: is_dns_label,
    source: "kubernetes.io/docs/concepts/overview/working-with-objects/names: RFC 1123 labels",
};

/// The facts about every provider whose control plane pods reach, with the default folder of the kubelet.
const fn cloud_facts(name: &'static str, os: &'static [OsFacts]) -> CloudFacts {
    CloudFacts {
        key: "existing",
        name,
        autoscalers: &[Autoscaler::None],
        os,
        creates_machines: false,
        kubelet_dir: KUBELET_DIR,
        support: &SupportFacts::NONE,
        regions: &[],
        region_of: |_| None,
        machine_term: "instance type",
        pool_name: DNS_LABEL,
        cluster_name: DNS_LABEL,
        taint_needs_value: None,
        startup_taints_source: None,
        tolerates_requested_resources: false,
        has_compact_placement: false,
        has_alternative_machines: false,
        reserved_prefixes: &[HOSTNAME, ARCHITECTURE, OPERATING_SYSTEM],
        deprecated_labels: &[],
        other_accelerators: &[],
        bare_labels: &[],
        label_prefixes: &[],
        drivers: HOST_OR_OPERATOR,
        has_driver_daemon_set: false,
        driver_keywords: &[],
        plugins: OWN_PLUGINS,
        // kubernetes.io/docs/setup/best-practices/cluster-large, 2026-11: no more than 5000 nodes in a cluster.
        max_nodes: 5000,
        capacity_kinds: &["onDemand"],
        has_managed_control_plane: true,
        announces_node_resources: false,
        storage: None,
        node_repair: NodeRepair::Never,
        node_image: Err("the provider selects the node image"),
        // Source: kubernetes.io/docs/concepts/services-networking/network-policies; the plugins from memory, 2026-11.
        policy_enforcement_check: "the network plugin of the cluster: Calico and Cilium enforce NetworkPolicies, \
                                   Flannel alone does not",
        reserved_resources: None,
    }
}

const fn provider(provider: Provider, facts: CloudFacts) -> ProviderFacts {
    ProviderFacts {
        provider,
        facts,
        default_plugin: None,
        owners_vary: false,
        plugin_switch: None,
        gpu_taint: None,
        toolkit: &[],
        rdma: Ok(()),
        writes_node_pools: false,
        restricts_components: false,
        notes: &[],
    }
}

/// The section without a provider, for lists of clouds.
pub(super) static ANY: ProviderFacts = provider(
    Provider::Kubeadm,
    cloud_facts("an existing Kubernetes cluster", HOST_NODES),
);

/// Rancher's distributions, whose containerd has its own socket. The toolkit finds their configuration by itself.
///
/// Source: rancher/rke2-docs docs/add-ons/gpu_operators.md @09157fbd, read 2026-11-21.
const RANCHER_TOOLKIT: &[(&str, &str)] =
    &[("CONTAINERD_SOCKET", "/run/k3s/containerd/containerd.sock")];

/// Source: NVIDIA/nvidia-container-toolkit#1029 (the installation on k0s), 2025-04-08.
const K0S_TOOLKIT: &[(&str, &str)] = &[
    ("RUNTIME_CONFIG", "/etc/k0s/containerd.d/nvidia.toml"),
    ("RUNTIME_SOCKET", "/run/k0s/containerd.sock"),
    ("RUNTIME_EXECUTABLE_PATH", "/var/lib/k0s/bin/containerd"),
    ("NVIDIA_RUNTIME_NAME", "nvidia"),
];

/// Source: NVIDIA/cloud-native-docs gpu-operator/getting-started.rst @52dcb7b8 (MicroK8s), 2026-08-21.
const MICROK8S_TOOLKIT: &[(&str, &str)] = &[
    (
        "CONTAINERD_CONFIG",
        "/var/snap/microk8s/current/args/containerd-template.toml",
    ),
    (
        "CONTAINERD_SOCKET",
        "/var/snap/microk8s/common/run/containerd.sock",
    ),
    (
        "RUNTIME_CONFIG_SOURCE",
        "file=/var/snap/microk8s/current/args/containerd.toml",
    ),
];

/// The pods of the Network Operator mount the kubelet's default folder.
///
/// Source: Mellanox/network-operator manifests/state-rdma-shared-device-plugin @b06827e0, 2026-08-19 (from memory).
const NO_RDMA_OTHER_KUBELET_DIR: Result<(), (&str, &str)> = Err((
    "the Network Operator's device plugin expects the kubelet in /var/lib/kubelet",
    "remove `rdma`",
));

const PREPARED_HOSTS: &str = "Where the driver is preinstalled, the owner of the hosts installs it and the NVIDIA \
                              Container Toolkit, and configures the runtime nvidia in the container runtime.";

const VARYING_OWNERS: &str = "Who installs the driver and who advertises the GPUs was chosen when the cluster was \
                              created. If the file says otherwise, two components advertise the GPUs, or none does.";

/// Every provider, in the order of the schema.
pub(super) static ROWS: [ProviderFacts; 12] = [
    // Sources: docs.coreweave.com/products/cks/reference/node-pool and .../cks (the managed GPU Operator, rdma/ib),
    // 2026-11-29.
    ProviderFacts {
        default_plugin: Some((
            DevicePlugin::Cloud,
            "CoreWeave's GPU Operator advertises the GPUs",
        )),
        rdma: Err((
            "CoreWeave advertises its InfiniBand adapters itself, as `rdma/ib`",
            "remove `rdma`, and request `rdma/ib: 1` in the `podPatch` of workloads",
        )),
        writes_node_pools: true,
        notes: &[
            "CoreWeave installs the driver, and its own GPU Operator advertises the GPUs: do not install another one.",
        ],
        ..provider(
            Provider::Coreweave,
            CloudFacts {
                drivers: &[DriverOwner::Preinstalled],
                plugins: &[DevicePlugin::Cloud],
                machine_term: "CoreWeave instance type",
                ..cloud_facts("CoreWeave Kubernetes Service", MANAGED_NODES)
            },
        )
    },
    // The node group's `drivers_preset` installs the driver and the device plugin; without it, neither exists.
    // Source: docs.nebius.com/kubernetes/gpu (install drivers and other components), 2026-11-22.
    ProviderFacts {
        owners_vary: true,
        notes: &[VARYING_OWNERS],
        ..provider(
            Provider::Nebius,
            CloudFacts {
                plugins: ANY_PLUGIN,
                ..cloud_facts("Nebius Managed Service for Kubernetes", IMAGE_NODES)
            },
        )
    },
    // Sources: NVIDIA/aicr values-oke.yaml, 2026-11-22; the add-on, its label and the taint from memory.
    ProviderFacts {
        default_plugin: Some((
            DevicePlugin::Cloud,
            "the add-on NvidiaGpuPlugin of OKE advertises the GPUs",
        )),
        // Source: NVIDIA/aicr docs (per-node label of OKE), 2026-11-29.
        plugin_switch: Some(("oci.oraclecloud.com/disable-gpu-device-plugin", "true")),
        gpu_taint: Some(GpuTaint {
            key: "nvidia.com/gpu",
            value: "present",
            effect: TaintEffect::NoSchedule,
            source: "the taint of OKE's nodes with GPUs, from memory, 2026-11-22",
        }),
        rdma: Err((
            "OKE's cluster networks reach pods through the network of the host",
            "remove `rdma`, and set `hostNetwork: true` in the `podPatch` of workloads",
        )),
        notes: &[
            "The node image of OKE has the driver and the NVIDIA Container Toolkit, with CRI-O.",
        ],
        ..provider(
            Provider::Oci,
            CloudFacts {
                drivers: &[DriverOwner::Preinstalled],
                plugins: &[DevicePlugin::Cloud, DevicePlugin::Operator],
                ..cloud_facts("Oracle Kubernetes Engine", IMAGE_NODES)
            },
        )
    },
    // All from memory, 2026-11-22.
    ProviderFacts {
        owners_vary: true,
        notes: &[VARYING_OWNERS],
        ..provider(
            Provider::Lambda,
            CloudFacts {
                plugins: ANY_PLUGIN,
                ..cloud_facts("Lambda Kubernetes", IMAGE_NODES)
            },
        )
    },
    // Add-ons chosen at the creation: GPU Operator, Network Operator.
    // Source: docs.crusoecloud.com, managed Kubernetes add-ons, 2026-11-22.
    ProviderFacts {
        owners_vary: true,
        notes: &[VARYING_OWNERS],
        ..provider(
            Provider::Crusoe,
            CloudFacts {
                plugins: ANY_PLUGIN,
                ..cloud_facts("Crusoe Managed Kubernetes", IMAGE_NODES)
            },
        )
    },
    ProviderFacts {
        toolkit: RANCHER_TOOLKIT,
        notes: &[PREPARED_HOSTS],
        ..provider(Provider::Rke2, cloud_facts("RKE2", HOST_NODES))
    },
    ProviderFacts {
        toolkit: RANCHER_TOOLKIT,
        notes: &[PREPARED_HOSTS],
        ..provider(Provider::K3s, cloud_facts("K3s", HOST_NODES))
    },
    // The folder of the kubelet: hetznercloud/csi-driver docs/kubernetes (custom kubelet folders), 2026-11-29.
    ProviderFacts {
        toolkit: K0S_TOOLKIT,
        rdma: NO_RDMA_OTHER_KUBELET_DIR,
        notes: &[PREPARED_HOSTS],
        ..provider(
            Provider::K0s,
            CloudFacts {
                kubelet_dir: "/var/lib/k0s/kubelet",
                plugins: PLUGINS_OF_OTHER_KUBELET_DIR,
                ..cloud_facts("k0s", HOST_NODES)
            },
        )
    },
    // The folder of the kubelet: the same source.
    ProviderFacts {
        toolkit: MICROK8S_TOOLKIT,
        rdma: NO_RDMA_OTHER_KUBELET_DIR,
        notes: &[PREPARED_HOSTS],
        ..provider(
            Provider::Microk8s,
            CloudFacts {
                kubelet_dir: "/var/snap/microk8s/common/var/lib/kubelet",
                plugins: PLUGINS_OF_OTHER_KUBELET_DIR,
                ..cloud_facts("MicroK8s", HOST_NODES)
            },
        )
    },
    // Sources: docs.siderolabs.com/talos/v1.12 nvidia-gpu, 2026-11-29; NVIDIA/aicr talos-integration.md, 2026-11-22.
    ProviderFacts {
        default_plugin: Some((
            DevicePlugin::Nvidia,
            "NVIDIA's device plugin finds Talos' driver through the NVIDIA runtime",
        )),
        notes: &[
            "The machine configuration of Talos has the system extensions for the driver and \
             nvidia-container-toolkit, the kernel modules nvidia, nvidia_uvm, nvidia_drm and nvidia_modeset, and the \
             sysctl net.core.bpf_jit_harden: 1.",
        ],
        ..provider(
            Provider::Talos,
            CloudFacts {
                drivers: &[DriverOwner::Preinstalled],
                plugins: &[DevicePlugin::Nvidia, DevicePlugin::Operator],
                ..cloud_facts("Talos Linux", TALOS_NODES)
            },
        )
    },
    // The GPU Operator of OperatorHub installs the driver and advertises the GPUs, with its own
    // SecurityContextConstraints. Source: docs.nvidia.com/datacenter/cloud-native/openshift, from memory, 2026-11-22.
    ProviderFacts {
        default_plugin: Some((
            DevicePlugin::Cloud,
            "the GPU Operator of OperatorHub advertises the GPUs",
        )),
        rdma: Err((
            "OpenShift's SR-IOV Network Operator advertises RDMA adapters",
            "remove `rdma`, and request its resource in the `podPatch` of workloads",
        )),
        restricts_components: true,
        notes: &[
            "Node Feature Discovery and the NVIDIA GPU Operator of OperatorHub install the driver and advertise the \
             GPUs: install both before this tree.",
        ],
        ..provider(
            Provider::Openshift,
            CloudFacts {
                drivers: &[DriverOwner::Preinstalled],
                plugins: &[DevicePlugin::Cloud],
                ..cloud_facts("OpenShift", MANAGED_NODES)
            },
        )
    },
    ProviderFacts {
        notes: &[PREPARED_HOSTS],
        ..provider(
            Provider::Kubeadm,
            CloudFacts {
                has_managed_control_plane: false,
                ..cloud_facts("an existing kubeadm cluster", HOST_NODES)
            },
        )
    },
];
