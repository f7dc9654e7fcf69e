//! The bandwidth of EFA and of multi-node NVLink between EC2 instances.
//!
//! Facts about running clusters, collected 2026-11-28. NVIDIA/aicr compares the largest message of its run, 16 GiB; the
//! smallest message here is the smallest one for which a figure exists, or 8 GiB, from which p5.48xlarge has its full
//! bandwidth.

use gpuc_model::fabric::{BandwidthFloor, Collective, Fabric, GIB};

/// Bus bandwidth with two nodes and all of their GPUs.
pub(super) static FLOORS: &[BandwidthFloor] = &[
    BandwidthFloor {
        machine: "p5.48xlarge",
        fabric: Fabric::Efa,
        collective: Collective::AllReduce,
        nodes: 2,
        gpus_per_node: 8,
        min_bytes: 4 * GIB,
        gigabytes_per_second: Some(300.0),
        measured: Some("479 to 487 GB/s at 8 to 16 GiB, 335 GB/s at 4 GiB"),
        source: "NVIDIA/aicr, tests of EKS with H100, 2026-11-28; \
measured: aws-samples/awsome-distributed-training@7217859f README",
    },
    BandwidthFloor {
        machine: "p5en.48xlarge",
        fabric: Fabric::Efa,
        collective: Collective::AllReduce,
        nodes: 2,
        gpus_per_node: 8,
        min_bytes: 8 * GIB,
        gigabytes_per_second: Some(300.0),
        measured: None,
        source: "NVIDIA/aicr, tests of EKS with H200, which use the floor of p5.48xlarge, 2026-11-28",
    },
    BandwidthFloor {
        machine: "p4de.24xlarge",
        fabric: Fabric::Efa,
        collective: Collective::AllReduce,
        nodes: 2,
        gpus_per_node: 8,
        min_bytes: 2 * GIB,
        gigabytes_per_second: None,
        measured: Some("78 GB/s at 2 GiB"),
        source: "aws-samples/awsome-distributed-training@7217859f README",
    },
    BandwidthFloor {
        machine: "p6e-gb200.36xlarge",
        fabric: Fabric::Efa,
        collective: Collective::AllReduce,
        nodes: 2,
        gpus_per_node: 4,
        min_bytes: 8 * GIB,
        gigabytes_per_second: Some(40.0),
        measured: None,
        source: "NVIDIA/aicr, tests of EKS with GB200, 2026-11-28",
    },
    BandwidthFloor {
        machine: "p6e-gb200.36xlarge",
        fabric: Fabric::Mnnvl,
        collective: Collective::AllReduce,
        nodes: 2,
        gpus_per_node: 4,
        min_bytes: 8 * GIB,
        gigabytes_per_second: Some(500.0),
        measured: Some("617 GB/s"),
        source: "NVIDIA/aicr, tests of EKS with GB200, 2026-11-28; \
measured: NVIDIA/NVSentinel pull request 837, 2026-02",
    },
];
