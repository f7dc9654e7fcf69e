//! Compares the log of an all-reduce with the fabric and the bandwidth that are expected.
//!
//! - `ranks` checks that all processes took part;
//! - `network` and `nvlink` check the transport, from NCCL's own lines;
//! - `results` checks the sums and the bandwidth.
//!
//! Connections through the memory of the host (no GPUDirect RDMA) are a warning if the bandwidth reaches its floor:
//! some GPUs have no GPUDirect RDMA, and the floor shows whether it matters. Without a floor nothing excludes that
//! they are slow, so they are not proven.

mod network;
mod nvlink;
#[cfg(test)]
mod pools;
mod ranks;
#[cfg(test)]
mod result_tests;
mod results;
#[cfg(test)]
mod tests;

use gpuc_model::fabric::{self, BandwidthFloor, Collective, Fabric, NoFabric};
use gpuc_model::{Cluster, Pool};
use gpuc_syntax::diag::phrases::pluralize;

use crate::causes;
use crate::judgement::{Judgement, Measured, Reason};
use crate::transcript::Transcript;

/// The expected result of an all-reduce.
#[derive(Clone, Debug)]
pub struct Expectation {
    /// The fabric.
    pub fabric: Fabric,
    /// The number of nodes.
    pub nodes: u32,
    /// The number of GPUs of each node.
    pub gpus_per_node: u32,
    /// The lowest accepted bandwidth; without it, only the transport is judged.
    pub floor: Option<Floor>,
    /// The bandwidth that was measured elsewhere, for comparison.
    pub measured_elsewhere: Option<&'static str>,
}

/// The lowest accepted bus bandwidth.
#[derive(Clone, Copy, Debug)]
pub struct Floor {
    /// The bus bandwidth in GB/s.
    pub gigabytes_per_second: f64,
    /// The smallest message in bytes for which it is valid.
    pub min_bytes: u64,
    /// The collective for which it is valid; `None` for all.
    pub collective: Option<Collective>,
    /// The origin.
    pub origin: FloorOrigin,
}

/// The origin of a floor.
#[derive(Clone, Copy, Debug)]
pub enum FloorOrigin {
    /// A row of the facts about machines.
    Facts(&'static BandwidthFloor),
    /// The user.
    User,
}

impl Floor {
    /// A floor of the user, for the largest message of a run.
    pub fn of_user(gigabytes_per_second: f64) -> Self {
        Self {
            gigabytes_per_second,
            min_bytes: 0,
            collective: None,
            origin: FloorOrigin::User,
        }
    }

    /// The floor of a row, if it has one.
    fn of_facts(row: &'static BandwidthFloor) -> Option<Self> {
        Some(Self {
            gigabytes_per_second: row.gigabytes_per_second?,
            min_bytes: row.min_bytes,
            collective: Some(row.collective),
            origin: FloorOrigin::Facts(row),
        })
    }
}

impl Expectation {
    /// The expectation for a number of nodes of a pool whose pods use all GPUs.
    ///
    /// `min_bus_bandwidth` in GB/s replaces the floor of the facts.
    ///
    /// # Errors
    ///
    /// The pool has no fabric, with the reason.
    pub fn for_pool(
        cluster: &Cluster,
        pool: &Pool,
        nodes: u32,
        min_bus_bandwidth: Option<f64>,
    ) -> Result<Self, NoFabric> {
        let fabric = fabric::pool_fabric(cluster, pool, nodes)?;
        let row = fabric::pool_bandwidth(cluster, pool, fabric, nodes);
        let gpus = pool.gpus.get().and_then(Option::as_ref);
        Ok(Self {
            fabric,
            nodes,
            gpus_per_node: gpus.map_or(0, |gpus| gpus.per_node),
            floor: match min_bus_bandwidth {
                Some(floor) => Some(Floor::of_user(floor)),
                None => row.and_then(Floor::of_facts),
            },
            measured_elsewhere: row.and_then(|row| row.measured),
        })
    }

    /// The number of ranks.
    pub fn ranks(&self) -> u32 {
        self.nodes.saturating_mul(self.gpus_per_node)
    }

    /// The judged property.
    fn subject(&self) -> String {
        let gpus = pluralize(self.gpus_per_node, "GPU");
        if self.fabric.connects_nodes() {
            let nodes = pluralize(self.nodes, "node");
            format!("{} between {nodes} with {gpus} each", self.fabric.title())
        } else {
            format!("{} between {gpus} of a node", self.fabric.title())
        }
    }
}

/// The parts of a judgement, while it is made.
#[derive(Default)]
struct Findings {
    reasons: Vec<Reason>,
    warnings: Vec<Reason>,
    measured: Vec<Measured>,
}

impl Findings {
    fn measure(&mut self, name: &'static str, value: impl Into<String>) {
        let value = value.into();
        self.measured.push(Measured { name, value });
    }
}

/// Judges a log.
pub fn judge(expected: &Expectation, transcript: &Transcript) -> Judgement {
    let mut findings = Findings::default();
    if let Some(reason) = unrelated(transcript) {
        let mut judgement = Judgement::new(expected.subject(), vec![reason]);
        judgement.causes = known_causes(transcript);
        return judgement;
    }
    if transcript.is_incomplete {
        let text = "the log has more ranks or results than gpuc reads";
        let reason = Reason::new("log-too-large", text).help("pass the log of one run");
        findings.reasons.push(reason);
    }
    if let Some(line) = &transcript.failure {
        let reason = Reason::new("program-failed", "the program failed").evidence(line);
        let help = "read the messages before this line";
        findings.reasons.push(reason.help(help));
    }
    if let Some(version) = &transcript.nccl_version {
        findings.measure("NCCL", version.clone());
    }
    ranks::check(expected, transcript, &mut findings);
    let bounce = match expected.fabric {
        Fabric::NvLink => nvlink::check_node(transcript, &mut findings),
        Fabric::Mnnvl => nvlink::check_nodes(expected, transcript, &mut findings),
        _ => network::check(expected, transcript, &mut findings),
    };
    let reaches_floor = results::check(expected, transcript, &mut findings);
    match bounce {
        Some(bounce) if reaches_floor => findings.warnings.push(bounce),
        Some(bounce) => findings.reasons.push(bounce),
        None => {}
    }
    if let Some(first) = transcript.warnings.first() {
        let text = format!(
            "NCCL printed {}",
            pluralize(transcript.warning_count, "warning")
        );
        findings
            .warnings
            .push(Reason::new("nccl-warnings", text).evidence(first));
    }
    let Findings {
        reasons,
        warnings,
        measured,
    } = findings;
    let mut judgement = Judgement::new(expected.subject(), reasons);
    if !judgement.is_proven() {
        judgement.causes = known_causes(transcript);
    }
    judgement.warnings = warnings;
    judgement.measured = measured;
    judgement
}

/// The known causes of failures in a log.
fn known_causes(transcript: &Transcript) -> Vec<Reason> {
    let causes = transcript.causes.iter();
    causes
        .filter_map(|(index, line)| causes::reason(*index, line))
        .collect()
}

/// Why a log is not that of an all-reduce with NCCL's messages.
fn unrelated(transcript: &Transcript) -> Option<Reason> {
    if let Some(line) = transcript
        .failure
        .as_ref()
        .filter(|_| transcript.messages == 0)
    {
        let reason = Reason::new("program-failed", "the program failed before it used NCCL");
        let help =
            "correct what the line names: pods that do not reach each other, GPUs or their memory";
        return Some(reason.evidence(line).help(help));
    }
    let help = "set `NCCL_DEBUG=INFO` and `NCCL_DEBUG_SUBSYS=INIT,NET,ENV,GRAPH`, and pass the logs of all pods";
    let (id, text) = match (transcript.lines, transcript.messages, transcript.rows.len()) {
        (0, _, _) => ("empty-log", "the log is empty"),
        (_, 0, 0) => ("not-nccl", "the log is not that of a program with NCCL"),
        (_, 0, _) => (
            "no-nccl-messages",
            "the log has results, but no messages of NCCL",
        ),
        _ => return None,
    };
    Some(Reason::new(id, text).help(help))
}

/// At most five names, and how many more there are.
fn names<T: AsRef<str>>(names: &[T]) -> String {
    const SHOWN: usize = 5;
    let shown: Vec<&str> = names.iter().take(SHOWN).map(AsRef::as_ref).collect();
    match names.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{}, and {more} more", shown.join(", ")),
    }
}
