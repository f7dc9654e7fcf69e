//! Lines of logs with a known cause.

use std::sync::LazyLock;

use regex::RegexSet;

use crate::judgement::{Evidence, Reason};

/// A known cause.
struct Cause {
    /// The stable identifier.
    id: &'static str,
    /// Regular expressions of the line, one of which matches.
    patterns: &'static [&'static str],
    /// The cause.
    text: &'static str,
    /// What the user can do.
    help: &'static str,
}

/// The causes, root causes before their consequences.
///
/// Sources: reports of users, collected 2026-11-28 in NVIDIA/aicr ADR-025, aws-samples/aws-do-eks pull request 54,
/// NVIDIA-NeMo/Megatron-Bridge pull request 6019, kubernetes-sigs/dra-driver-nvidia-gpu issue 767,
/// pytorch/pytorch issue 16979; the messages of NVIDIA/nccl 2.30.7 and aws/aws-ofi-nccl. Those marked "from memory" are
/// common knowledge.
static CAUSES: &[Cause] = &[
    Cause {
        id: "efa-provider-missing",
        patterns: &[
            "NET/OFI No eligible providers were found",
            "NET/OFI Unable to find a protocol that worked",
            "NET/OFI Only EFA provider is supported",
        ],
        text: "the EFA plugin found no EFA device in the container",
        help: "request `vpc.amazonaws.com/efa` in the container, as many as the node offers, and use an image with \
libfabric for EFA",
    },
    Cause {
        id: "efa-peer-unreachable",
        patterns: &[
            "Unresponsive receiver",
            "unreachable remote",
            "handshake failed",
        ],
        text: "an EFA device cannot reach the device of another node",
        help: "permit all traffic between the nodes, in and out, in their security group",
    },
    Cause {
        id: "plugin-missing",
        patterns: &[
            "NET/Plugin ?: ?(?:Could not find|No plugin found|Failed to find)",
            "NET/Plugin ?: ?Plugin load .* returned",
            "Failed to find network",
            "network .* not found",
        ],
        text: "NCCL did not load the network plugin",
        help: "use an image that contains the plugin, and add its folder to `LD_LIBRARY_PATH`",
    },
    Cause {
        id: "rdma-device-missing",
        patterns: &["NET/(?:IB|gIB) : No device found"],
        text: "NCCL found no RDMA device in the container",
        help: "request the RDMA resource of the pool in the container, and add the capability `IPC_LOCK`",
    },
    Cause {
        id: "link-local-interface",
        patterns: &[r"NET/Socket : Using.*\]\S+?:169\.254\."],
        text: "NCCL uses a network interface with a link-local address, which reaches no other node",
        help: "set `NCCL_SOCKET_IFNAME=^lo,docker,veth,eni,pod-id-link` in the container",
    },
    Cause {
        id: "imex-not-working",
        patterns: &["MNNVL .*is available but not working"],
        text: "the container has no working IMEX channel",
        help: "request the channel of a ComputeDomain in the pod, and check that the domain is Ready",
    },
    // From memory.
    Cause {
        id: "memory-not-pinned",
        patterns: &[
            r"ibv_(?:reg_mr|create_cq|create_qp)\S* failed",
            "Call to ibv_(?:reg_mr|create_cq|create_qp)",
            "Cannot allocate memory.*ibv",
        ],
        text: "the RDMA device cannot pin memory",
        help: "add the capability `IPC_LOCK` to the container, or raise the node's limit on locked memory",
    },
    // From memory.
    Cause {
        id: "rdma-completion-failed",
        patterns: &[
            "Got completion from peer .* with (?:error|status)",
            "NET/IB ?: ?Got (?:completion|async event)",
            r"ibv_modify_qp\S* failed",
            "Call to ibv_modify_qp",
        ],
        text: "an RDMA connection failed",
        help: "check the cables, the subnet manager or `NCCL_IB_GID_INDEX`, and that all nodes are in the same fabric",
    },
    Cause {
        id: "shared-memory-too-small",
        patterns: &[
            "(?i)Bus error",
            "Error while creating shared memory segment",
            "(?i)No space left on device.*shm",
            "posix_fallocate failed",
        ],
        text: "shared memory in `/dev/shm` is too small",
        help: "mount a volume `emptyDir: {medium: Memory}` at `/dev/shm`",
    },
    // From memory.
    Cause {
        id: "rendezvous-failed",
        patterns: &[
            "client socket has timed out",
            "(?i)temporary failure in name resolution",
            "RendezvousTimeoutError",
        ],
        text: "the pods do not reach each other to start",
        help: "check that all pods run, that the cluster's DNS works, and that network policies permit all ports between them",
    },
    // From memory.
    Cause {
        id: "driver-missing",
        patterns: &["Found no NVIDIA driver", "no NVIDIA GPU device is present"],
        text: "the container has no GPU or no driver",
        help: "run `gpuc doctor` for the cluster",
    },
    // From memory.
    Cause {
        id: "driver-too-old",
        patterns: &[
            "CUDA driver version is insufficient",
            "forward compatibility was attempted on non supported HW",
        ],
        text: "the driver of the node is too old for the CUDA version of the image",
        help: "use an image with an older CUDA version, or a newer driver",
    },
    Cause {
        id: "gpu-error",
        patterns: &[
            "(?i)uncorrectable (?:ECC|NVLink) error",
            "CUDA error: an illegal memory access",
            r"NVRM: Xid|\bXid \(PCI",
        ],
        text: "a GPU reports an error",
        help: "run `gpuc prove --gpu 3` on the pool, and replace the node if it fails",
    },
    // From memory.
    Cause {
        id: "gpu-memory-exhausted",
        patterns: &[
            "CUDA out of memory",
            "out of memory.*cudaMalloc",
            "Failed to CUDA calloc",
        ],
        text: "the memory of a GPU is exhausted",
        help: "stop other processes on the GPUs, or measure smaller messages",
    },
    // From memory.
    Cause {
        id: "peer-not-reached",
        patterns: &[
            "(?i)connection (?:refused|timed out)",
            "(?i)no route to host",
            "socketStartConnect",
            "(?i)could not resolve",
            "Name or service not known",
            "failed to (?:recv|connect).*rendezvous",
        ],
        text: "a process cannot connect to another process",
        help: "check that all pods run, and that network policies permit all ports between them",
    },
    Cause {
        id: "collective-timeout",
        patterns: &[
            "collective operation timeout",
            "DeadlineExceeded",
            r"Timed out after \d+",
        ],
        text: "a collective did not complete in time",
        help: "the first pod that failed, or the rank without messages, is on the slow node",
    },
    Cause {
        id: "process-ended",
        patterns: &[
            "(?i)remote process (?:has )?(?:exited|aborted)",
            "Connection closed by (?:remote )?peer",
            r"signal 9 \(SIGKILL\)",
            "exitcode ?: ?-9",
        ],
        text: "a process ended early",
        help: "read the log of the first pod that failed",
    },
    Cause {
        id: "nccl-error",
        patterns: &[
            "unhandled (?:system|cuda) error",
            "nccl(?:System|UnhandledCuda|Internal|Remote)Error",
        ],
        text: "NCCL stopped with an error",
        help: "the warning of NCCL before it has the details",
    },
];

/// The patterns of all causes, and the index of the cause of each pattern.
struct Patterns {
    set: RegexSet,
    causes: Vec<usize>,
}

static PATTERNS: LazyLock<Option<Patterns>> = LazyLock::new(|| {
    let all = CAUSES.iter().enumerate();
    let all = all.flat_map(|(index, cause)| cause.patterns.iter().map(move |it| (index, it)));
    let (causes, patterns): (Vec<usize>, Vec<&str>) = all.unzip();
    let set = RegexSet::new(patterns).ok()?;
    Some(Patterns { set, causes })
});

/// The indexes of the causes of a line.
pub(crate) fn matching(line: &str) -> Vec<usize> {
    match PATTERNS.as_ref() {
        Some(patterns) if patterns.set.is_match(line) => {
            let matches = patterns.set.matches(line).into_iter();
            matches.map(|index| patterns.causes[index]).collect()
        }
        _ => Vec::new(),
    }
}

/// A cause with its line.
pub(crate) fn reason(index: usize, evidence: &Evidence) -> Option<Reason> {
    let cause = CAUSES.get(index)?;
    Some(
        Reason::new(cause.id, cause.text)
            .evidence(evidence)
            .help(cause.help),
    )
}

#[cfg(test)]
mod tests {
    use super::{CAUSES, PATTERNS, matching};

    #[test]
    fn patterns_are_valid_and_identifiers_differ() {
        assert!(PATTERNS.is_some());
        let mut ids: Vec<_> = CAUSES.iter().map(|it| it.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), CAUSES.len());
    }

    #[test]
    fn known_lines_have_their_cause() {
        for (line, id) in [
            (
                "n:1:2 [0] NCCL INFO NET/OFI No eligible providers were found",
                "efa-provider-missing",
            ),
            (
                "n:1:2 [0] f:46 NCCL WARN NET/OFI Request completed with error (Unresponsive receiver",
                "efa-peer-unreachable",
            ),
            (
                "n:1:2 [0] NCCL INFO NET/Plugin: Could not find: libnccl-net.so.",
                "plugin-missing",
            ),
            (
                "n:1:2 [0] NCCL INFO NET/IB : No device found.",
                "rdma-device-missing",
            ),
            (
                "n:1:2 [0] NCCL INFO NET/Socket : Using [0]pod-id-link0:169.254.1.1<0>",
                "link-local-interface",
            ),
            (
                "n:1:2 [0] NCCL WARN MNNVL (cliqueSize 8) is available but not working on this system.",
                "imex-not-working",
            ),
            (
                "n:1:2 [0] NCCL WARN Call to ibv_reg_mr failed with error Cannot allocate memory",
                "memory-not-pinned",
            ),
            (
                "n:1:2 [0] NCCL WARN NET/IB: Got completion from peer 10.0.0.2<3> with status=12",
                "rdma-completion-failed",
            ),
            ("Bus error (core dumped)", "shared-memory-too-small"),
            (
                "RuntimeError: CUDA driver version is insufficient for CUDA runtime version",
                "driver-too-old",
            ),
            (
                "CUDA error: uncorrectable ECC error encountered",
                "gpu-error",
            ),
            (
                "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 8.00 GiB",
                "gpu-memory-exhausted",
            ),
            (
                "n:1:2 [0] NCCL WARN socketStartConnect: Connect to 10.0.0.2<1> failed : Connection refused",
                "peer-not-reached",
            ),
            (
                "[rank3]: Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1)",
                "collective-timeout",
            ),
            (
                "n:1:2 [0] NCCL WARN NET/IB : remote process exited or there was a network error",
                "process-ended",
            ),
            (
                "torch.distributed.DistBackendError: NCCL error: unhandled system error",
                "nccl-error",
            ),
        ] {
            let ids: Vec<_> = matching(line)
                .iter()
                .map(|index| CAUSES[*index].id)
                .collect();
            assert!(ids.contains(&id), "{line}: {ids:?}");
        }
        for line in [
            "n:1:2 [0] NCCL INFO Using network IB",
            "n:1:2 [0] NCCL INFO NET/OFI Selected provider is efa, fabric is efa (found 32 nics)",
            "  1048576  262144  float  sum  -1  105.9  9.90  17.33  0  105.7  9.92  17.37  0",
            "n:1:2 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.1<0>",
        ] {
            assert!(matching(line).is_empty(), "{line}");
        }
    }
}
