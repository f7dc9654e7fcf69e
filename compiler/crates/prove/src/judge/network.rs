//! Whether the data between nodes passes through the expected network.

use std::collections::{BTreeMap, BTreeSet};

use gpuc_model::fabric::Fabric;
use gpuc_syntax::diag::phrases::pluralize;

use super::ranks::describe;
use super::{Expectation, Findings, names};
use crate::judgement::{Evidence, Reason};
use crate::transcript::{RankKey, RankLog, Transcript};

/// NCCL's name for TCP.
const SOCKET: &str = "Socket";

/// Checks the network. The result is a finding about connections through the memory of the host.
pub(super) fn check(
    expected: &Expectation,
    transcript: &Transcript,
    findings: &mut Findings,
) -> Option<Reason> {
    if !check_selection(expected.fabric, transcript, findings) {
        // Its devices do not matter.
        return None;
    }
    match expected.fabric {
        Fabric::Efa => check_providers(transcript, findings),
        Fabric::InfiniBand => {
            check_link_layers("IB", "RoCE", transcript, findings);
        }
        Fabric::Roce => check_link_layers("RoCE", "IB", transcript, findings),
        _ => {}
    }
    if let Some(line) = transcript.ranks.values().find_map(|log| log.shm.as_ref()) {
        let text = "GPUs of a node exchange data through the memory of the host, not over NVLink";
        let help = "prove the node itself: `gpuc prove POOL --fabric --nodes 1`";
        findings
            .warnings
            .push(Reason::new("shm-in-node", text).evidence(line).help(help));
    }
    check_direct_access(expected.fabric, transcript, findings)
}

/// Whether a name of NCCL is that of a fabric.
///
/// Sources, 2026-11-28: aws/aws-ofi-nccl `src/nccl_ofi_interface_nvidia.cpp`, whose plugin is called `Libfabric` unless
/// `NCCL_NET` has its former name; logs of users with `GPUDirectTCPX_v7`, `FasTrak` and `gIB`, and with `IBext` and
/// `NCCL RDMA Plugin` for NVIDIA's RDMA plugin, which has the same transport as NCCL's `IB`.
fn is_network_of(fabric: Fabric, name: &str) -> bool {
    let starts_with = |prefix: &str| {
        let start = name.get(..prefix.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(prefix))
    };
    let is = |other: &str| name.eq_ignore_ascii_case(other);
    match fabric {
        Fabric::Efa => is("AWS Libfabric") || is("Libfabric"),
        Fabric::TcpX => starts_with("GPUDirectTCPX_v") || is("GPUDirectTCPX"),
        Fabric::TcpXo => is("FasTrak"),
        Fabric::Gib => is("gIB"),
        Fabric::InfiniBand | Fabric::Roce => {
            is("IB") || starts_with("IBext") || starts_with("NCCL RDMA Plugin")
        }
        Fabric::NvLink | Fabric::Mnnvl => false,
    }
}

/// What to check if the fabric is not used.
pub(super) fn fabric_help(fabric: Fabric) -> &'static str {
    match fabric {
        Fabric::Efa => {
            "request `vpc.amazonaws.com/efa` in the container, use an image with aws-ofi-nccl, and permit all traffic \
between the nodes in their security group"
        }
        Fabric::TcpX | Fabric::TcpXo => {
            "add the networks of the pool to the pod, run the receive daemon in it, and mount the plugin's folder"
        }
        Fabric::Gib => {
            "attach the RDMA networks to the pod, mount the plugin's folder, and source `set_nccl_env.sh` in it"
        }
        Fabric::InfiniBand | Fabric::Roce => {
            "request the RDMA resource of the pool in the container, and add the capability `IPC_LOCK`"
        }
        Fabric::NvLink => "check `nvidia-smi nvlink --status` and the fabric manager of the node",
        Fabric::Mnnvl => {
            "request the channel of a ComputeDomain in the pod, and place all pods in one NVLink domain"
        }
    }
}

/// A network of a rank that is not the expected one.
struct Mismatch<'t> {
    network: &'t str,
    key: &'t RankKey,
    evidence: &'t Evidence,
}

/// Checks the network that each rank selected, and the networks of its connections. Returns whether a rank uses the
/// fabric, or may use it.
fn check_selection(fabric: Fabric, transcript: &Transcript, findings: &mut Findings) -> bool {
    let mut mismatches: Vec<Mismatch<'_>> = Vec::new();
    let mut used: BTreeMap<&str, usize> = BTreeMap::new();
    for (key, log) in &transcript.ranks {
        for (network, evidence) in networks(log) {
            *used.entry(network).or_default() += 1;
            let is_known = mismatches.last().is_some_and(|it| it.key == key);
            if !is_network_of(fabric, network) && !is_known {
                mismatches.push(Mismatch {
                    network,
                    key,
                    evidence,
                });
            }
        }
    }
    let counted = used
        .iter()
        .map(|(network, ranks)| format!("{network} ({})", pluralize(*ranks, "rank")));
    let counted: Vec<String> = counted.collect();
    if !counted.is_empty() {
        findings.measure("network", names(&counted));
    }
    let uses_fabric = |log: &RankLog| networks(log).any(|(name, _)| is_network_of(fabric, name));
    let proven = transcript.ranks.values().any(uses_fabric);
    findings
        .reasons
        .extend(mismatch_reason(fabric, &mismatches, proven));
    let silent: Vec<String> = (transcript.numbered_ranks().iter())
        .filter(|(_, (_, log))| networks(log).next().is_none())
        .map(|(rank, (key, _))| describe(*rank, key))
        .collect();
    if !silent.is_empty() {
        let text = format!("the log does not show the network of {}", names(&silent));
        let help = "set `NCCL_DEBUG=INFO` and `NCCL_DEBUG_SUBSYS=INIT,NET,ENV,GRAPH`, and pass the logs of all pods";
        findings
            .reasons
            .push(Reason::new("network-not-shown", text).help(help));
    }
    proven || mismatches.is_empty()
}

/// The networks that a rank selected, and those of its connections.
fn networks(log: &RankLog) -> impl Iterator<Item = (&str, &Evidence)> {
    let selected = log
        .networks
        .iter()
        .map(|(name, line)| (name.as_str(), line));
    let channels = log.net_channels.iter();
    let channels = channels
        .filter(|(name, _)| !log.networks.contains_key(*name))
        .map(|(name, it)| (name.as_str(), &it.evidence));
    selected.chain(channels)
}

fn mismatch_reason(fabric: Fabric, mismatches: &[Mismatch<'_>], is_mixed: bool) -> Option<Reason> {
    let first = mismatches.first()?;
    let network = match first.network {
        SOCKET => "TCP (`Socket`)".to_owned(),
        name => format!("`{name}`"),
    };
    let title = fabric.title();
    let reason = if is_mixed {
        let hosts: BTreeSet<&str> = mismatches.iter().map(|it| it.key.host.as_str()).collect();
        let hosts: Vec<String> = hosts.iter().map(|host| format!("`{host}`")).collect();
        let text = format!(
            "{} on {} {} {network} instead of {title}, which other ranks use",
            pluralize(mismatches.len(), "rank"),
            names(&hosts),
            if mismatches.len() == 1 { "uses" } else { "use" },
        );
        Reason::new("networks-differ", text)
    } else if first.network == SOCKET {
        Reason::new(
            "tcp-fallback",
            format!("NCCL uses {network} instead of {title}"),
        )
    } else {
        Reason::new(
            "wrong-network",
            format!("NCCL uses {network} instead of {title}"),
        )
    };
    Some(reason.evidence(first.evidence).help(fabric_help(fabric)))
}

/// Checks the provider of libfabric on each host.
fn check_providers(transcript: &Transcript, findings: &mut Findings) {
    let mut silent: Vec<String> = Vec::new();
    let mut nics: BTreeMap<u32, &Evidence> = BTreeMap::new();
    for host in transcript.hosts() {
        let Some(providers) = transcript.providers.get(host) else {
            silent.push(format!("`{host}`"));
            continue;
        };
        if let Some(other) = providers
            .iter()
            .find(|it| !it.name.eq_ignore_ascii_case("efa"))
        {
            let text = format!(
                "the EFA plugin on `{host}` uses the provider `{}`, not `efa`",
                other.name
            );
            let reason = Reason::new("provider-wrong", text).evidence(&other.evidence);
            findings.reasons.push(reason.help(fabric_help(Fabric::Efa)));
        }
        nics.extend(
            providers
                .iter()
                .filter_map(|it| Some((it.nics?, &it.evidence))),
        );
    }
    if !silent.is_empty() {
        let text = format!(
            "the log does not show the provider of the EFA plugin on {}",
            names(&silent)
        );
        let help = "the line is `NET/OFI Selected provider is efa`; set `NCCL_DEBUG_SUBSYS=INIT,NET,ENV,GRAPH`";
        findings
            .reasons
            .push(Reason::new("provider-not-shown", text).help(help));
    }
    let counts: Vec<String> = nics.keys().map(ToString::to_string).collect();
    if !counts.is_empty() {
        findings.measure("network interfaces of a node", counts.join(" or "));
    }
    if let ([_, _, ..], Some(fewest)) = (counts.as_slice(), nics.values().next()) {
        let text = format!(
            "hosts have different numbers of EFA interfaces: {}",
            counts.join(", ")
        );
        findings
            .warnings
            .push(Reason::new("nics-differ", text).evidence(*fewest));
    }
}

/// Checks the link layer of the RDMA devices on each host.
fn check_link_layers(
    expected: &str,
    other: &str,
    transcript: &Transcript,
    findings: &mut Findings,
) {
    let mut silent: Vec<String> = Vec::new();
    for host in transcript.hosts() {
        let layers = transcript.link_layers.get(host);
        let layers = layers.filter(|layers| !layers.is_empty());
        let Some(layers) = layers else {
            silent.push(format!("`{host}`"));
            continue;
        };
        let has = |name: &str| {
            layers
                .iter()
                .find(|(layer, _)| layer.eq_ignore_ascii_case(name))
        };
        match (has(expected), has(other)) {
            (Some(_), None) => {}
            (Some(_), Some((_, line))) => {
                let text =
                    format!("the RDMA devices of `{host}` have different link layers: IB and RoCE");
                let help = "select the devices with `NCCL_IB_HCA`";
                findings.warnings.push(
                    Reason::new("link-layers-differ", text)
                        .evidence(line)
                        .help(help),
                );
            }
            (None, _) => {
                let found = layers.keys().next().map_or("", String::as_str);
                let line = layers.values().next();
                let text = format!("the RDMA devices of `{host}` use {found}, not {expected}");
                let reason = Reason::new("link-layer-wrong", text).evidence(line);
                let help = "correct `network.rdma` of the pool, or the devices that it selects";
                findings.reasons.push(reason.help(help));
            }
        }
    }
    if !silent.is_empty() {
        let text = format!(
            "the log does not show the RDMA devices of {}",
            names(&silent)
        );
        let help = "the line is `NET/IB : Using`; set `NCCL_DEBUG_SUBSYS=INIT,NET,ENV,GRAPH`";
        findings
            .reasons
            .push(Reason::new("link-layer-not-shown", text).help(help));
    }
}

/// Checks that network devices access the memory of GPUs.
fn check_direct_access(
    fabric: Fabric,
    transcript: &Transcript,
    findings: &mut Findings,
) -> Option<Reason> {
    let ranks = transcript.ranks.values();
    let channels = || ranks.clone().flat_map(|log| log.net_channels.values());
    let direct: u64 = channels().map(|it| it.direct).sum();
    let bounced: u64 = channels().map(|it| it.bounced).sum();
    if direct + bounced == 0 {
        // Some versions of NCCL print no connections.
        let disabled = ranks.clone().find_map(|log| log.gdr_disabled.as_ref());
        let Some(line) = disabled else {
            let text =
                "the log does not show whether the network devices access the memory of the GPUs";
            findings
                .warnings
                .push(Reason::new("gpudirect-not-shown", text));
            return None;
        };
        return Some(bounce(fabric, "GPUDirect RDMA is disabled", line));
    }
    findings.measure(
        "connections with GPUDirect RDMA",
        format!("{direct} of {}", direct + bounced),
    );
    let line = channels()
        .find(|it| it.bounced > 0)
        .map(|it| &it.evidence)?;
    let text = format!(
        "{bounced} of {} connections have no GPUDirect RDMA",
        direct + bounced
    );
    Some(bounce(fabric, &text, line))
}

fn bounce(fabric: Fabric, text: &str, line: &Evidence) -> Reason {
    let text = format!("{text}: data passes through the memory of the host");
    let help = match fabric {
        Fabric::Efa => {
            "use a machine type with GPUDirect RDMA, and an image with a current aws-ofi-nccl"
        }
        Fabric::TcpX | Fabric::TcpXo | Fabric::Gib => {
            "use the versions of the plugin and of its daemon that Google documents for the machine type"
        }
        _ => "load `nvidia-peermem`, or use a driver and a kernel with DMA-BUF",
    };
    let help = format!(
        "{help}; for GPUs without GPUDirect RDMA, pass the floor that they reach: `--min-bus-bandwidth`"
    );
    Reason::new("host-bounce", text).evidence(line).help(help)
}
