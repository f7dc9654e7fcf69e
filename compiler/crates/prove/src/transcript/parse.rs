//! Collects the lines of a log.

use std::collections::BTreeMap;

use super::channel::{self, Transport};
use super::message::{self, Message};
use super::{NetChannels, OutOfBounds, Provider, RankLog, Transcript, table};
use crate::causes;
use crate::judgement::Evidence;
use crate::log_line::{self, LogLine};

/// The maximum number of ranks: more than the largest jobs have.
const MAX_RANKS: usize = 32_768;

/// The maximum number of rows, providers of a host, and ends of runs.
const MAX_ROWS: usize = 4_096;

/// The maximum number of different warnings, and of names of a rank or host.
const MAX_NAMES: usize = 64;

/// Reads a log.
pub(super) fn parse(text: &str) -> Transcript {
    let mut transcript = Transcript::default();
    for line in log_line::lines(text) {
        if !line.text.is_empty() {
            transcript.lines += 1;
            read_line(&mut transcript, &line);
        }
    }
    transcript
}

fn read_line(transcript: &mut Transcript, line: &LogLine<'_>) {
    let messages = message::messages(&line.text);
    for message in &messages {
        transcript.messages += 1;
        read_message(transcript, line, message);
    }
    for index in causes::matching(&line.text) {
        transcript
            .causes
            .entry(index)
            .or_insert_with(|| line.evidence());
    }
    if FAILURES.iter().any(|text| line.text.contains(text)) {
        transcript.failure = Some(line.evidence());
    }
    if messages.is_empty() {
        read_output(transcript, line);
    }
}

/// Texts with which `PyTorch` and `torchrun` report a failure.
///
/// Sources, from memory, 2026-11-28: pytorch `torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp`,
/// `torch/distributed/elastic/multiprocessing/errors/__init__.py`, `c10/util/Exception.h`.
const FAILURES: &[&str] = &[
    "ChildFailedError",
    "DistBackendError",
    "DistNetworkError",
    "DistStoreError",
    "OutOfMemoryError",
    "RuntimeError: ",
    "Watchdog caught collective operation timeout",
];

/// Reads a line of the test.
fn read_output(transcript: &mut Transcript, line: &LogLine<'_>) {
    let text = line.text.trim_start();
    if let Some(version) = text.strip_prefix("NCCL version ") {
        set_version(transcript, version);
    } else if let Some(comment) = text.strip_prefix('#') {
        read_comment(transcript, line, comment.trim_start());
    } else if let Some(row) = table::row(text, || line.evidence()) {
        if row.wrong() > 0 {
            push(&mut transcript.wrong_rows, 16, row.clone());
        }
        if !push(&mut transcript.rows, MAX_ROWS, row) {
            transcript.is_incomplete = true;
        }
    }
}

/// Reads a comment of nccl-tests.
fn read_comment(transcript: &mut Transcript, line: &LogLine<'_>, comment: &str) {
    if let Some(test) = comment.strip_prefix("Collective test starting:") {
        transcript.test = Some(test.trim().chars().take(MAX_NAMES).collect());
    } else if let Some(rest) = comment.strip_prefix("Out of bounds values") {
        let mut words = rest.trim_start_matches([' ', ':']).split_ascii_whitespace();
        let count = words.next().and_then(|word| word.parse().ok());
        // A line without its last word is cut.
        if let (Some(count), Some(word @ ("OK" | "FAILED"))) = (count, words.next()) {
            let end = OutOfBounds {
                count,
                is_ok: word == "OK" && count == 0,
                rows: transcript.rows.len(),
                evidence: line.evidence(),
            };
            if !push(&mut transcript.out_of_bounds, MAX_ROWS, end) {
                transcript.is_incomplete = true;
            }
        }
    } else if comment.starts_with("Avg bus bandwidth") && comment.trim_end().ends_with("FAILED") {
        transcript
            .failed_average
            .get_or_insert_with(|| line.evidence());
    }
}

fn set_version(transcript: &mut Transcript, text: &str) {
    let version = text.split_ascii_whitespace().next().unwrap_or_default();
    if transcript.nccl_version.is_none() && version.starts_with(|it: char| it.is_ascii_digit()) {
        transcript.nccl_version = Some(version.chars().take(MAX_NAMES).collect());
    }
}

/// Reads a message of NCCL.
fn read_message(transcript: &mut Transcript, line: &LogLine<'_>, message: &Message<'_>) {
    let text = message.text.trim();
    if message.is_warning {
        transcript.warning_count += 1;
        let known = transcript.warnings.iter().any(|it| it.text.ends_with(text));
        if !known && !text.is_empty() {
            push(&mut transcript.warnings, MAX_NAMES, line.evidence());
        }
    }
    if let Some(version) = text.strip_prefix("NCCL version ") {
        set_version(transcript, version);
    } else if let Some(network) = text.strip_prefix("Using network ") {
        with_rank(transcript, message, |rank| {
            insert_name(&mut rank.networks, network, line);
        });
    } else if text.starts_with("Channel ") || text.starts_with("Ring ") {
        if let Some(transport) = channel::transport(text) {
            with_rank(transcript, message, |rank| {
                add_channel(rank, transport, line);
            });
        }
    } else if text.starts_with("NET/") {
        read_network(transcript, line, message, text);
    } else if text.starts_with("MNNVL 1 ") {
        if let Some(size) = number_after(text, "cliqueSize") {
            with_rank(transcript, message, |rank| {
                rank.mnnvl_clique
                    .get_or_insert_with(|| (size, line.evidence()));
            });
        }
    } else if text.starts_with("NVLS comm 0x") {
        with_rank(transcript, message, |rank| {
            rank.nvls.get_or_insert_with(|| line.evidence());
        });
    } else if text.starts_with("Pattern ") {
        read_graph(transcript, message, text);
    } else if text.contains("comm 0x") {
        read_communicator(transcript, message, text);
    }
}

/// Reads a message of a network plugin.
fn read_network(
    transcript: &mut Transcript,
    line: &LogLine<'_>,
    message: &Message<'_>,
    text: &str,
) {
    let host = || message.key().map(|key| key.host);
    if let Some(devices) = text.strip_prefix("NET/IB : Using ") {
        let Some(host) = host() else { return };
        if transcript.link_layers.len() >= MAX_RANKS {
            transcript.is_incomplete = true;
            return;
        }
        let layers = transcript.link_layers.entry(host).or_default();
        // `[0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.1<0>`
        for device in devices.split_ascii_whitespace() {
            if let Some(layer) = device.split('/').nth(1) {
                insert_name(layers, layer, line);
            }
        }
    } else if text.starts_with("NET/OFI Selected ") {
        let rest = text.get("NET/OFI Selected provider is ".len()..);
        let (Some(host), Some(rest)) = (host(), rest) else {
            return;
        };
        if transcript.providers.len() >= MAX_RANKS {
            transcript.is_incomplete = true;
            return;
        }
        let name = rest.split([',', ' ', '*']).next().unwrap_or_default();
        let provider = Provider {
            name: name.chars().take(MAX_NAMES).collect(),
            nics: number_after(rest, "(found"),
            evidence: line.evidence(),
        };
        let providers = transcript.providers.entry(host).or_default();
        let is_known = |it: &Provider| (&it.name, it.nics) == (&provider.name, provider.nics);
        if !providers.iter().any(is_known) {
            push(providers, MAX_NAMES, provider);
        }
    } else if text.contains("GPU Direct RDMA Disabled") && !text.starts_with("NET/Socket") {
        with_rank(transcript, message, |rank| {
            rank.gdr_disabled.get_or_insert_with(|| line.evidence());
        });
    }
}

/// Reads the graph of rings: `Pattern 4, crossNic 0, nChannels 12, bw 30.0/30.0, type NVL/PIX, sameChannels 1`.
///
/// Patterns: NVIDIA/nccl `src/include/graph.h`, `NCCL_TOPO_PATTERN_RING` is 4 (from memory).
fn read_graph(transcript: &mut Transcript, message: &Message<'_>, text: &str) {
    let is_used = number_after(text, "nChannels").is_some_and(|channels| channels > 0);
    if !text.starts_with("Pattern 4,") || !is_used {
        return;
    }
    let Some((_, links)) = text.split_once("type ") else {
        return;
    };
    let Some((link, _)) = links.split_once('/') else {
        return;
    };
    let link: String = link.chars().take(8).collect();
    with_rank(transcript, message, |rank| {
        if rank.links.len() < MAX_NAMES {
            rank.links.insert(link);
        }
    });
}

/// Reads a message about a communicator, which contains the number of the rank:
/// `ncclCommInitRank comm 0x1 rank 0 nranks 16 cudaDev 0 … - Init COMPLETE` or
/// `comm 0x1 rank 0 nRanks 16 nNodes 2 localRanks 8 localRank 0 MNNVL 0`.
fn read_communicator(transcript: &mut Transcript, message: &Message<'_>, text: &str) {
    let ranks = number_after(text, "nranks").or_else(|| number_after(text, "nRanks"));
    let (Some(rank), Some(ranks)) = (number_after(text, "rank"), ranks) else {
        return;
    };
    let nodes = number_after(text, "nNodes");
    let mut words = text.split_ascii_whitespace();
    let communicator = words.find(|it| *it == "commId").and_then(|_| words.next());
    let is_complete = text.ends_with("Init COMPLETE");
    with_rank(transcript, message, |log| {
        if ranks >= log.ranks {
            log.rank = Some(rank);
            log.nodes = nodes.or(log.nodes.filter(|_| ranks == log.ranks));
            if ranks > log.ranks {
                log.communicators.clear();
            }
            log.ranks = ranks;
            if log.communicators.len() < MAX_NAMES {
                log.communicators.extend(communicator.map(str::to_owned));
            }
        }
        log.is_initialized |= is_complete;
    });
}

/// The number after a word.
fn number_after(text: &str, word: &str) -> Option<u32> {
    let mut words = text.split_ascii_whitespace();
    words.find(|it| *it == word)?;
    words.next()?.trim_end_matches([',', ')']).parse().ok()
}

/// Changes the log of the rank that wrote a message.
fn with_rank(
    transcript: &mut Transcript,
    message: &Message<'_>,
    change: impl FnOnce(&mut RankLog),
) {
    let Some(key) = message.key() else { return };
    if transcript.ranks.len() >= MAX_RANKS && !transcript.ranks.contains_key(&key) {
        transcript.is_incomplete = true;
        return;
    }
    change(transcript.ranks.entry(key).or_default());
}

fn add_channel(rank: &mut RankLog, transport: Transport<'_>, line: &LogLine<'_>) {
    match transport {
        Transport::Net { network, is_direct } => add_net_channel(rank, network, is_direct, line),
        Transport::P2p(method) => insert_name(&mut rank.p2p, method, line),
        Transport::Mnnvl => {
            rank.mnnvl_channel.get_or_insert_with(|| line.evidence());
        }
        Transport::Shm => {
            rank.shm.get_or_insert_with(|| line.evidence());
        }
    }
}

fn add_net_channel(rank: &mut RankLog, network: &str, is_direct: bool, line: &LogLine<'_>) {
    if let Some(channels) = rank.net_channels.get_mut(network) {
        if is_direct {
            channels.direct += 1;
        } else {
            if channels.bounced == 0 {
                channels.evidence = line.evidence();
            }
            channels.bounced += 1;
        }
    } else if rank.net_channels.len() < MAX_NAMES {
        let channels = NetChannels {
            direct: u64::from(is_direct),
            bounced: u64::from(!is_direct),
            evidence: line.evidence(),
        };
        rank.net_channels.insert(network.to_owned(), channels);
    }
}

/// Adds a name with its first line.
fn insert_name(names: &mut BTreeMap<String, Evidence>, name: &str, line: &LogLine<'_>) {
    let name = name.trim();
    if names.len() < MAX_NAMES && !names.contains_key(name) {
        names.insert(name.to_owned(), line.evidence());
    }
}

/// Adds an element unless there are too many.
fn push<T>(list: &mut Vec<T>, max: usize, element: T) -> bool {
    let has_room = list.len() < max;
    if has_room {
        list.push(element);
    }
    has_room
}
