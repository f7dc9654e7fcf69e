//! Logs for tests, in the formats of NCCL and nccl-tests.

use gpuc_model::fabric::{Collective, Fabric};

use crate::judge::judge;
use crate::judge::{Expectation, Floor, FloorOrigin};
use crate::judgement::Judgement;
use crate::transcript::Transcript;

/// The number of GPUs of each node in the logs.
pub(crate) const GPUS: u32 = 4;

/// The number of nodes in the logs of a fabric.
pub(crate) fn nodes(fabric: Fabric) -> u32 {
    if fabric.connects_nodes() { 2 } else { 1 }
}

/// The expectation that the good log of a fabric meets.
pub(crate) fn expectation(fabric: Fabric) -> Expectation {
    Expectation {
        fabric,
        nodes: nodes(fabric),
        gpus_per_node: GPUS,
        floor: Some(Floor {
            gigabytes_per_second: 300.0,
            min_bytes: 4 << 30,
            collective: Some(Collective::AllReduce),
            origin: FloorOrigin::User,
        }),
        measured_elsewhere: None,
    }
}

/// The name of a fabric's network in NCCL.
fn network(fabric: Fabric) -> &'static str {
    match fabric {
        Fabric::Efa => "AWS Libfabric",
        Fabric::TcpX => "GPUDirectTCPX_v7",
        Fabric::TcpXo => "FasTrak",
        Fabric::Gib => "gIB",
        Fabric::InfiniBand | Fabric::Roce => "IB",
        Fabric::NvLink | Fabric::Mnnvl => "Socket",
    }
}

/// Lines of the network plugin in each process.
fn plugin_lines(fabric: Fabric) -> Vec<String> {
    let devices = |layer: &str| {
        let devices: Vec<String> = (0..GPUS)
            .map(|it| format!("[{it}]mlx5_{it}:1/{layer}"))
            .collect();
        format!(
            "NET/IB : Using {} [RO]; OOB eth0:10.0.0.1<0>",
            devices.join(" ")
        )
    };
    match fabric {
        Fabric::Efa => vec![
            "NET/OFI Initializing aws-ofi-nccl 1.16.3".to_owned(),
            "NET/OFI Selected provider is efa, fabric is efa-direct (found 32 nics)".to_owned(),
        ],
        Fabric::TcpXo => vec!["Initializing network FasTrak, version: 1.0.17".to_owned()],
        Fabric::Gib => vec!["NET/gIB : Initializing gIB v1.1.1".to_owned()],
        Fabric::InfiniBand => vec![devices("IB")],
        Fabric::Roce => vec![devices("RoCE")],
        _ => vec!["NET/Socket : Using [0]eth0:10.0.0.1<0>".to_owned()],
    }
}

/// The log of a run in which everything works.
pub(crate) fn good_log(fabric: Fabric) -> String {
    let mut lines = vec!["NCCL version 2.27.7+cuda12.8".to_owned()];
    let ranks = nodes(fabric) * GPUS;
    // The processes write at the same time.
    let mut write = |message: &dyn Fn(u32, u32, u32) -> Vec<String>| {
        for rank in 0..ranks {
            let (node, gpu) = (rank / GPUS, rank % GPUS);
            for text in message(rank, node, gpu) {
                lines.push(format!(
                    "fabric-{node}:{}:{} [{gpu}] NCCL INFO {text}",
                    100 + gpu,
                    200 + gpu
                ));
            }
        }
    };
    let start = |rank: u32, gpu: u32| {
        format!(
            "ncclCommInitRank comm 0x55{rank}0 rank {rank} nranks {ranks} cudaDev {gpu} nvmlDev {gpu} \
busId {gpu}000 commId 0xef"
        )
    };
    write(&|_, _, _| {
        let env = "NCCL_DEBUG_SUBSYS set by environment to INIT,NET,ENV,GRAPH".to_owned();
        [vec![env], plugin_lines(fabric)].concat()
    });
    write(&|rank, _, gpu| {
        vec![
            format!("Using network {}", network(fabric)),
            format!("{} - Init START", start(rank, gpu)),
        ]
    });
    write(&|rank, _, gpu| {
        let mut lines = Vec::new();
        if fabric == Fabric::Mnnvl {
            lines.push(format!(
                "MNNVL 1 cliqueId 7ffe cliqueSize {ranks} cliqueRank {rank} "
            ));
        }
        let ring =
            "Pattern 4, crossNic 0, nChannels 12, bw 30.0/30.0, type NVL/PIX, sameChannels 1";
        lines.push(ring.to_owned());
        let (nodes, is_mnnvl) = match fabric {
            Fabric::Mnnvl => (1, 1),
            _ => (nodes(fabric), 0),
        };
        lines.push(format!(
            "comm 0x55{rank}0 rank {rank} nRanks {ranks} nNodes {nodes} localRanks {} localRank {gpu} MNNVL {is_mnnvl}",
            ranks / nodes
        ));
        lines
    });
    write(&|rank, _, gpu| {
        let next = (rank + 1) % ranks;
        let peer = format!("Channel 00/0 : {rank}[{gpu}] -> {next}[{}]", next % GPUS);
        let is_inside = rank / GPUS == next / GPUS;
        let mut lines = match (fabric, is_inside) {
            (Fabric::Mnnvl, false) => vec![format!("{peer} via P2P/MNNVL")],
            (_, true) => vec![format!("{peer} via P2P/CUMEM")],
            (_, false) => vec![format!(
                "{peer} [send] via NET/{}/{gpu}/GDRDMA",
                network(fabric)
            )],
        };
        if fabric == Fabric::NvLink {
            lines.push(format!(
                "NVLS comm 0x55{rank}0 headRank {gpu} nHeads 8 buffSize 1048576"
            ));
        }
        lines.push(format!("{} - Init COMPLETE", start(rank, gpu)));
        lines
    });
    lines.extend(table(&["479.12", "486.90"]));
    lines.join("\n")
}

/// The table of a run with these bus bandwidths from 4 GiB on.
fn table(bandwidths: &[&str]) -> Vec<String> {
    let mut lines: Vec<String> = [
        "# nThread 1 nGpus 1 minBytes 1024 maxBytes 8589934592 step: 2(factor) warmup iters: 5 iters: 20",
        "# Collective test starting: all_reduce_perf",
        "#  size  count  type  redop  root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong",
        "#   (B)  (elements)                   (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)",
        "   1024    256  float    sum    -1    38.01    0.03    0.05       0    37.77    0.03    0.05       0",
    ]
    .map(str::to_owned)
    .to_vec();
    for (index, bandwidth) in bandwidths.iter().enumerate() {
        let bytes = (4_u64 << 30) << index;
        lines.push(format!(
            "{bytes:12} {:13}  float  sum  -1   16783.  255.91  {bandwidth}       0   16783.  255.9  {bandwidth}  0",
            bytes / 4
        ));
    }
    lines.push("# Out of bounds values : 0 OK".to_owned());
    lines.push("# Avg bus bandwidth    : 162.937".to_owned());
    lines.push("#".to_owned());
    lines
}

/// The judgement of a log of a fabric.
pub(crate) fn judge_log(fabric: Fabric, log: &str) -> Judgement {
    judge(&expectation(fabric), &Transcript::parse(log))
}

/// The identifiers of the reasons.
pub(crate) fn ids(judgement: &Judgement) -> Vec<&'static str> {
    judgement.reasons.iter().map(|it| it.id).collect()
}

/// The reasons after all occurrences of a text in a good log are replaced, which must exist.
pub(crate) fn reasons(fabric: Fabric, from: &str, to: &str) -> Judgement {
    let log = good_log(fabric);
    assert!(log.contains(from), "{from}");
    judge_log(fabric, &log.replace(from, to))
}

/// The reasons after the lines with a text are removed from a good log.
pub(crate) fn without(fabric: Fabric, text: &str) -> Judgement {
    let log = good_log(fabric);
    let lines: Vec<&str> = log.lines().filter(|line| !line.contains(text)).collect();
    assert!(lines.len() < log.lines().count(), "{text}");
    judge_log(fabric, &lines.join("\n"))
}

/// The identifiers of the warnings.
pub(crate) fn warnings(judgement: &Judgement) -> Vec<&'static str> {
    judgement.warnings.iter().map(|it| it.id).collect()
}
