//! The reserved capacity of a node, computed from the clouds' documentation and independently of gpuc.
//!
//! <https://cloud.google.com/kubernetes-engine/docs/concepts/plan-node-sizes> (of memory as
//! hatemosphere/gke-node-allocatable-memory-calculator quotes it), and awslabs/amazon-eks-ami
//! `nodeadm/internal/kubelet/config.go`, read 2026-11-22.

/// Millicores that both EKS and GKE reserve: 6 % of the first core, 1 % of the second, 0.5 % of the third and fourth,
/// and 0.25 % of each further core.
pub(super) fn reserved_cores(cores: u128) -> u128 {
    let tenths = (1..=cores).map(|core| match core {
        1 => 600,
        2 => 100,
        3 | 4 => 50,
        _ => 25,
    });
    tenths.sum::<u128>() / 10
}

/// Bytes that EKS reserves on a node with this maximum number of pods, including the kubelet's eviction threshold.
pub(super) fn eks_reserved_memory(pods: u128) -> u128 {
    let mebibytes = 255 + pods * 11 + 100;
    mebibytes * 1024 * 1024
}

/// Bytes that GKE reserves on a node with this memory, including the kubelet's eviction threshold.
pub(super) fn gke_reserved_memory(gib: u128) -> u128 {
    let hundredths_of_mebibytes = (1..=gib).map(|gib| match gib {
        1..=4 => 25_600,
        5..=8 => 20_480,
        9..=16 => 10_240,
        17..=128 => 6_144,
        _ => 2_048,
    });
    let hundredths: u128 = hundredths_of_mebibytes.sum::<u128>() + 10_000;
    hundredths * 1024 * 1024 / 100
}

/// Capacity that user pods do not get, in addition to the reserved cores: millicores for the components that serve the
/// node's GPUs, and bytes for these components and the cloud's reservation. The components are gpuc-runtime, which has
/// a second container for MPS, and on GKE the driver installer.
///
/// The maximum number of pods per node: awslabs/amazon-eks-ami `eni-max-pods.txt` (from memory). For machines without
/// GPUs it is unknown, and at least 4.
pub(super) fn reserved_on_node(
    is_gcp: bool,
    (machine, gib, gpus): (&str, u128, u128),
    is_mps: bool,
) -> (u128, u128) {
    let mebibyte = 1024 * 1024;
    let (mut cpu, mut memory) = match (is_gcp, machine) {
        (true, _) => (0, gke_reserved_memory(gib)),
        (_, "g6.12xlarge") => (0, eks_reserved_memory(234)),
        (_, "p4d.24xlarge") => (0, eks_reserved_memory(737)),
        (_, "m7i.xlarge") => (0, eks_reserved_memory(4)),
        _ => (0, eks_reserved_memory(58)),
    };
    if gpus > 0 {
        let containers = if is_mps { 2 } else { 1 };
        cpu += containers * 100;
        memory += containers * 32 * mebibyte;
    }
    if gpus > 0 && is_gcp {
        cpu += 150;
        memory += 256 * mebibyte;
    }
    (cpu, memory)
}
