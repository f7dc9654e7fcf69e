//! Whether GPUs exchange data over NVLink.

use super::network::fabric_help;
use super::ranks::describe;
use super::{Expectation, Findings, names};
use gpuc_model::fabric::Fabric;

use crate::judgement::Reason;
use crate::transcript::{RankLog, Transcript};

/// Checks the GPUs of one node.
///
/// Connections over PCIe have the same lines as those over NVLink. The graph of NCCL shows the type of the link, or
/// NVLink SHARP is used, which exists only with NVLink.
pub(super) fn check_node(transcript: &Transcript, findings: &mut Findings) -> Option<Reason> {
    let help = fabric_help(Fabric::NvLink);
    let mut logs = transcript.ranks.values();
    if let Some(line) = logs.clone().find_map(|log| log.shm.as_ref()) {
        let text = "GPUs exchange data through the memory of the host, not over NVLink";
        findings
            .reasons
            .push(Reason::new("shm-fallback", text).evidence(line).help(help));
    }
    if let Some(channels) = logs
        .clone()
        .find_map(|log| log.net_channels.values().next())
    {
        let text = "GPUs of the node exchange data over the network, not over NVLink";
        let reason = Reason::new("network-in-node", text).evidence(&channels.evidence);
        findings.reasons.push(reason.help(help));
    }
    let is_slow = |link: &&String| !matches!(link.as_str(), "NVL" | "NVB");
    if let Some(link) = logs.find_map(|log| log.links.iter().find(is_slow)) {
        let text = format!("the slowest link between GPUs is `{link}`, not NVLink");
        findings
            .reasons
            .push(Reason::new("link-slow", text).help(help));
    }
    let is_proven = |log: &RankLog| {
        let has_connection = !log.p2p.is_empty() || log.nvls.is_some();
        let has_link = !log.links.is_empty() || log.nvls.is_some();
        has_connection && has_link
    };
    let silent: Vec<String> = (transcript.numbered_ranks().iter())
        .filter(|(_, (_, log))| !is_proven(log))
        .map(|(rank, (key, _))| describe(*rank, key))
        .collect();
    if !silent.is_empty() {
        let text = format!(
            "the log does not show the connections over NVLink of {}",
            names(&silent)
        );
        let help = "set `NCCL_DEBUG=INFO` and `NCCL_DEBUG_SUBSYS=INIT,NET,ENV,GRAPH`";
        findings
            .reasons
            .push(Reason::new("nvlink-not-shown", text).help(help));
    }
    measure_sharp(transcript, findings);
    None
}

/// Checks the GPUs of several nodes in one NVLink domain. NCCL selects a network too and does not use it.
pub(super) fn check_nodes(
    expected: &Expectation,
    transcript: &Transcript,
    findings: &mut Findings,
) -> Option<Reason> {
    let help = fabric_help(Fabric::Mnnvl);
    let mut logs = transcript.ranks.values();
    let channels = logs.clone().find_map(|log| log.net_channels.iter().next());
    if let Some((network, channels)) = channels {
        let text = format!("GPUs exchange data over the network `{network}`, not over NVLink");
        let reason = Reason::new("mnnvl-fallback", text).evidence(&channels.evidence);
        findings.reasons.push(reason.help(help));
    }
    let cliques = logs.clone().filter_map(|log| log.mnnvl_clique.as_ref());
    let smallest = cliques.min_by_key(|(size, _)| *size);
    if let Some((size, line)) = smallest.filter(|(size, _)| *size < expected.ranks()) {
        let text = format!(
            "an NVLink domain contains {size} of {} GPUs",
            expected.ranks()
        );
        findings
            .reasons
            .push(Reason::new("mnnvl-partial", text).evidence(line).help(help));
    }
    if let Some(line) = logs.find_map(|log| log.shm.as_ref()) {
        let text = "GPUs of a node exchange data through the memory of the host";
        findings
            .warnings
            .push(Reason::new("shm-in-node", text).evidence(line));
    }
    let is_proven = |log: &RankLog| log.mnnvl_clique.is_some() || log.mnnvl_channel.is_some();
    let silent: Vec<String> = (transcript.numbered_ranks().iter())
        .filter(|(_, (_, log))| !is_proven(log))
        .map(|(rank, (key, _))| describe(*rank, key))
        .collect();
    if !silent.is_empty() {
        let text = format!(
            "the log does not show multi-node NVLink for {}",
            names(&silent)
        );
        findings
            .reasons
            .push(Reason::new("mnnvl-not-shown", text).help(help));
    }
    measure_sharp(transcript, findings);
    None
}

fn measure_sharp(transcript: &Transcript, findings: &mut Findings) {
    let ranks = transcript.ranks.values().filter(|log| log.nvls.is_some());
    findings.measure("ranks with NVLink SHARP", ranks.count().to_string());
}
