//! Whether all expected processes took part.

use std::collections::{BTreeMap, BTreeSet};

use gpuc_model::fabric::Fabric;
use gpuc_syntax::diag::phrases::pluralize;

use super::{Expectation, Findings, names};
use crate::judgement::Reason;
use crate::transcript::{RankKey, Transcript};

const LOGS_HELP: &str = "pass the complete logs of all pods of one run";

pub(super) fn check(expected: &Expectation, transcript: &Transcript, findings: &mut Findings) {
    let numbered = transcript.numbered_ranks();
    let mut hosts: BTreeMap<&str, u32> = BTreeMap::new();
    for (key, _) in numbered.values() {
        *hosts.entry(&key.host).or_default() += 1;
    }
    let on_hosts = format!(
        "{} on {}",
        pluralize(numbered.len(), "rank"),
        pluralize(hosts.len(), "host")
    );
    findings.measure("ranks", on_hosts);
    let reasons = &mut findings.reasons;
    let present = numbered.range(..expected.ranks()).count();
    let missing = (expected.ranks() as usize).saturating_sub(present);
    if missing > 0 {
        let gaps = (0..expected.ranks()).filter(|rank| !numbered.contains_key(rank));
        let gaps: Vec<String> = gaps
            .take(missing.min(5))
            .map(|rank| rank.to_string())
            .collect();
        let text = format!(
            "the log contains {present} of {} ranks; missing: {}{}",
            expected.ranks(),
            gaps.join(", "),
            if missing > gaps.len() { ", …" } else { "" },
        );
        reasons.push(Reason::new("ranks-missing", text).help(LOGS_HELP));
    }
    reasons.extend(unexpected_ranks(expected, transcript));
    reasons.extend(several_runs(transcript));
    if hosts.len() < expected.nodes as usize {
        let text = format!(
            "the ranks run on {}, not on {}",
            pluralize(hosts.len(), "host"),
            pluralize(expected.nodes, "host")
        );
        reasons.push(Reason::new("hosts-missing", text).help(LOGS_HELP));
    }
    let uneven = hosts
        .iter()
        .find(|(_, ranks)| **ranks != expected.gpus_per_node);
    if let Some((host, ranks)) = uneven.filter(|_| missing == 0) {
        let text = format!(
            "host `{host}` has {}, not {}",
            pluralize(*ranks, "rank"),
            expected.gpus_per_node
        );
        reasons.push(Reason::new("ranks-uneven", text).help("run one process for each GPU"));
    }
    reasons.extend(fewer_nodes(expected, transcript));
    let waiting: Vec<String> = (numbered.iter())
        .filter(|(_, (_, log))| !log.is_initialized)
        .map(|(rank, (key, _))| describe(*rank, key))
        .collect();
    if !waiting.is_empty() {
        let text = format!("the initialization is not complete: {}", names(&waiting));
        let help =
            "check that all pods run, and that network policies permit all ports between them";
        reasons.push(Reason::new("initialization-incomplete", text).help(help));
    }
}

/// Ranks of another run, or of a run of another size.
fn unexpected_ranks(expected: &Expectation, transcript: &Transcript) -> Option<Reason> {
    let numbered = transcript.ranks.values().filter(|log| log.rank.is_some());
    let sizes: Vec<u32> = numbered.map(|log| log.ranks).collect();
    let other = sizes.iter().find(|size| **size != expected.ranks());
    let text = if let Some(size) = other {
        format!(
            "the run has {}, not {}",
            pluralize(*size, "rank"),
            expected.ranks()
        )
    } else if sizes.len() > expected.ranks() as usize {
        format!(
            "the log has {} processes, not {}: it is that of several runs",
            sizes.len(),
            expected.ranks()
        )
    } else {
        return None;
    };
    Some(Reason::new("ranks-unexpected", text).help(LOGS_HELP))
}

/// Communicators of all ranks of several runs: their ranks did not exchange data.
fn several_runs(transcript: &Transcript) -> Option<Reason> {
    let ranks = transcript.ranks.values().filter(|log| log.rank.is_some());
    let all: BTreeSet<&str> = ranks
        .flat_map(|log| log.communicators.iter().map(String::as_str))
        .collect();
    let text = format!(
        "the log has {} communicators of all ranks: it is that of several runs",
        all.len()
    );
    (all.len() > 1).then(|| Reason::new("several-runs", text).help("pass the log of one run"))
}

/// Nodes that NCCL counts; GPUs with multi-node NVLink are one node for it.
fn fewer_nodes(expected: &Expectation, transcript: &Transcript) -> Option<Reason> {
    if expected.fabric == Fabric::Mnnvl {
        return None;
    }
    let nodes = transcript.ranks.values().filter_map(|log| log.nodes);
    let other = nodes.into_iter().find(|nodes| *nodes != expected.nodes)?;
    let text = format!(
        "NCCL counts {}, not {}",
        pluralize(other, "node"),
        expected.nodes
    );
    let help = "place one pod on each node, with an anti-affinity by host";
    Some(Reason::new("nodes-unexpected", text).help(help))
}

/// A rank with its host: `rank 3 on pod-1`.
pub(super) fn describe(rank: u32, key: &RankKey) -> String {
    format!("rank {rank} on `{}`", key.host)
}
