//! The log of an all-reduce over several processes, with `NCCL_DEBUG=INFO` and
//! `NCCL_DEBUG_SUBSYS=INIT,NET,ENV,GRAPH`.
//!
//! - `message` finds the messages of NCCL in a line;
//! - `channel` reads the connections between ranks;
//! - `table` reads the results of nccl-tests;
//! - `parse` collects all of them.
//!
//! Formats: NVIDIA/nccl 2.30.7 @5067397c `src/init.cc`, `src/transport/{net,net_ib,net_socket,p2p,shm,nvls}.cc`,
//! `src/mnnvl.cc`, `src/graph/search.cc`; NVIDIA/nccl-tests @01d67614 `src/common.cu`; aws/aws-ofi-nccl, 2026-11-28.

mod channel;
mod message;
mod parse;
mod table;

use std::collections::{BTreeMap, BTreeSet};

use crate::judgement::Evidence;
pub use table::{Columns, Row};

/// What a log says.
#[derive(Clone, Debug, Default)]
pub struct Transcript {
    /// The number of lines that are not empty.
    pub lines: u64,
    /// The number of messages of NCCL.
    pub messages: u64,
    /// The version of NCCL: `2.27.7+cuda12.8`.
    pub nccl_version: Option<String>,
    /// The processes and their GPUs, each of which is a rank.
    pub ranks: BTreeMap<RankKey, RankLog>,
    /// The network provider of the EFA plugin on each host.
    pub providers: BTreeMap<String, Vec<Provider>>,
    /// The link layers of RDMA devices on each host: `IB` and `RoCE`.
    pub link_layers: BTreeMap<String, BTreeMap<String, Evidence>>,
    /// Distinct warnings of NCCL, in order.
    pub warnings: Vec<Evidence>,
    /// The number of warnings of NCCL.
    pub warning_count: u64,
    /// The last line in which the program reports a failure.
    pub failure: Option<Evidence>,
    /// Lines that have a known cause, by the index of the cause.
    pub causes: BTreeMap<usize, Evidence>,
    /// The name of the test in the log: `all_reduce_perf`.
    pub test: Option<String>,
    /// The rows of results, in order.
    pub rows: Vec<Row>,
    /// The rows with wrong results, at most 16 of them.
    pub wrong_rows: Vec<Row>,
    /// The number of out-of-bounds values at the end of each run.
    pub out_of_bounds: Vec<OutOfBounds>,
    /// The average bus bandwidth that nccl-tests compares, if it failed.
    pub failed_average: Option<Evidence>,
    /// Whether a limit of this type was reached, so that a part of the log is not contained.
    pub is_incomplete: bool,
}

/// A rank: a GPU of a process.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RankKey {
    /// The host name; in Kubernetes, the name of the pod.
    pub host: String,
    /// The process.
    pub pid: u64,
    /// The CUDA device of the process.
    pub device: u32,
}

/// The messages of a rank.
#[derive(Clone, Debug, Default)]
pub struct RankLog {
    /// Its number in the largest communicator.
    pub rank: Option<u32>,
    /// The number of ranks of the largest communicator.
    pub ranks: u32,
    /// The number of nodes of the largest communicator, if NCCL prints it.
    pub nodes: Option<u32>,
    /// The identifiers of the largest communicators: `0xef`. Ranks that exchange data share one.
    pub communicators: BTreeSet<String>,
    /// Whether the initialization of a communicator is complete.
    pub is_initialized: bool,
    /// The networks that NCCL selected.
    pub networks: BTreeMap<String, Evidence>,
    /// Its connections over networks, by the name of the network.
    pub net_channels: BTreeMap<String, NetChannels>,
    /// Its connections over NVLink or PCIe to GPUs of the same node: `CUMEM`, `IPC`, `direct pointer`.
    pub p2p: BTreeMap<String, Evidence>,
    /// A connection over NVLink to a GPU of another node.
    pub mnnvl_channel: Option<Evidence>,
    /// A connection through the memory of the host.
    pub shm: Option<Evidence>,
    /// The size of its NVLink domain, if NCCL enabled multi-node NVLink.
    pub mnnvl_clique: Option<(u32, Evidence)>,
    /// Whether it uses NVLink SHARP.
    pub nvls: Option<Evidence>,
    /// The types of links between the GPUs of the node in the graph: `NVL`, `PHB`.
    pub links: BTreeSet<String>,
    /// The subsystem lines that show no GPUDirect RDMA.
    pub gdr_disabled: Option<Evidence>,
}

/// The connections of a rank over a network.
#[derive(Clone, Debug)]
pub struct NetChannels {
    /// The number of connections with GPUDirect RDMA.
    pub direct: u64,
    /// The number of connections through the memory of the host.
    pub bounced: u64,
    /// The first connection through the memory of the host, otherwise the first one.
    pub evidence: Evidence,
}

/// The network provider that the EFA plugin selected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provider {
    /// The provider of libfabric: `efa`.
    pub name: String,
    /// The number of network interfaces, if it is printed.
    pub nics: Option<u32>,
    /// The line.
    pub evidence: Evidence,
}

/// The line `# Out of bounds values : 0 OK`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutOfBounds {
    /// The number of values.
    pub count: u64,
    /// Whether nccl-tests accepts it.
    pub is_ok: bool,
    /// The number of rows that precede it.
    pub rows: usize,
    /// The line.
    pub evidence: Evidence,
}

impl Transcript {
    /// Reads a log. Time and memory are linear in its length, and the result is limited in size.
    pub fn parse(text: &str) -> Self {
        parse::parse(text)
    }

    /// The host names of the ranks.
    pub fn hosts(&self) -> BTreeSet<&str> {
        self.ranks.keys().map(|key| key.host.as_str()).collect()
    }

    /// The ranks whose number is known, by number. A number that occurs twice has its first rank.
    pub fn numbered_ranks(&self) -> BTreeMap<u32, (&RankKey, &RankLog)> {
        let mut numbered = BTreeMap::new();
        for (key, log) in &self.ranks {
            if let Some(rank) = log.rank {
                numbered.entry(rank).or_insert((key, log));
            }
        }
        numbered
    }
}
