//! The bandwidth of InfiniBand between virtual machines of Azure.
//!
//! Facts about running clusters, collected 2026-11-28. NVIDIA/aicr compares the largest message of its run, 16 GiB; the
//! smallest message here is the smallest one for which a figure exists, or 8 GiB, from which p5.48xlarge has its full
//! bandwidth.

use gpuc_model::fabric::{BandwidthFloor, Collective, Fabric, GIB};

/// Bus bandwidth with two nodes and all of their GPUs.
pub(super) static FLOORS: &[BandwidthFloor] = &[
    BandwidthFloor {
        machine: "Standard_ND96asr_v4",
        fabric: Fabric::InfiniBand,
        collective: Collective::AllReduce,
        nodes: 2,
        gpus_per_node: 8,
        min_bytes: 8 * GIB,
        gigabytes_per_second: None,
        measured: Some("165 GB/s"),
        source: "NVIDIA/NVSentinel pull request 837, 2026-02",
    },
    BandwidthFloor {
        machine: "Standard_ND96isr_H100_v5",
        fabric: Fabric::InfiniBand,
        collective: Collective::AllReduce,
        nodes: 2,
        gpus_per_node: 8,
        min_bytes: 8 * GIB,
        gigabytes_per_second: Some(150.0),
        measured: Some("157 GB/s without tuning, of about 400 GB/s line rate"),
        source: "NVIDIA/aicr, tests of AKS with H100, 2026-07",
    },
];
