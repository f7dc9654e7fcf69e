//! The bandwidth of GPUDirect between Compute Engine machines.
//!
//! Facts about running clusters, collected 2026-11-28. NVIDIA/aicr compares the largest message of its run, 16 GiB; the
//! smallest message here is the smallest one for which a figure exists, or 8 GiB, from which p5.48xlarge has its full
//! bandwidth.

use gpuc_model::fabric::{BandwidthFloor, Collective, Fabric, GIB};

/// Bus bandwidth with two nodes and all of their GPUs.
pub(super) static FLOORS: &[BandwidthFloor] = &[
    BandwidthFloor {
        machine: "a3-highgpu-8g",
        fabric: Fabric::TcpX,
        collective: Collective::AllGather,
        nodes: 2,
        gpus_per_node: 8,
        min_bytes: GIB,
        gigabytes_per_second: None,
        measured: Some("71 GB/s with all_gather at 512 MiB"),
        source: "GoogleCloudPlatform/cluster-toolkit@10470803, test plan of A3 High",
    },
    BandwidthFloor {
        machine: "a3-megagpu-8g",
        fabric: Fabric::TcpXo,
        collective: Collective::AllReduce,
        nodes: 2,
        gpus_per_node: 8,
        min_bytes: 8 * GIB,
        gigabytes_per_second: Some(300.0),
        measured: Some("328 GB/s"),
        source: "NVIDIA/aicr, tests of GKE with H100, 2026-11-28; \
measured: NVIDIA/NVSentinel pull request 837, 2026-02",
    },
    BandwidthFloor {
        machine: "a3-ultragpu-8g",
        fabric: Fabric::Gib,
        collective: Collective::AllGather,
        nodes: 2,
        gpus_per_node: 8,
        min_bytes: 8 * GIB,
        gigabytes_per_second: None,
        measured: Some("329 to 336 GB/s with all_gather at 8 GiB"),
        source: "GoogleCloudPlatform/cluster-toolkit@10470803, README of A3 Ultra with flex-start",
    },
];
