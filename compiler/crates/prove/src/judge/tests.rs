//! Tests of the transport.

use gpuc_model::fabric::Fabric;

use super::{Expectation, judge};
use crate::judgement::{Judgement, Reason};
use crate::testing::{expectation, good_log, ids, judge_log, reasons, warnings, without};
use crate::transcript::Transcript;

/// The fabrics with a network plugin.
const NETWORKS: [Fabric; 6] = [
    Fabric::Efa,
    Fabric::TcpX,
    Fabric::TcpXo,
    Fabric::Gib,
    Fabric::InfiniBand,
    Fabric::Roce,
];

fn reason<'j>(judgement: &'j Judgement, id: &str) -> &'j Reason {
    let found = judgement.reasons.iter().find(|it| it.id == id);
    found.unwrap_or_else(|| panic!("{id}: {:?}", judgement.reasons))
}

#[test]
fn good_logs_of_every_fabric_are_proven() {
    for fabric in Fabric::ALL {
        let judgement = judge_log(*fabric, &good_log(*fabric));
        assert!(
            judgement.is_proven(),
            "{fabric:?}: {:#?}",
            judgement.reasons
        );
        assert_eq!(warnings(&judgement), [] as [&str; 0], "{fabric:?}");
    }
}

#[test]
fn prefixes_of_kubectl_and_terminals_change_nothing() {
    for fabric in Fabric::ALL {
        let decorated: Vec<String> = good_log(*fabric)
            .lines()
            .map(|line| format!("[pod/fabric-0-x7/main] 2026-11-28T10:00:00.000000001Z \u{1b}[2m{line}\u{1b}[0m\r\n"))
            .collect();
        assert!(
            judge_log(*fabric, &decorated.concat()).is_proven(),
            "{fabric:?}"
        );
    }
}

#[test]
fn the_log_of_a_fabric_does_not_prove_another_one() {
    for fabric in Fabric::ALL {
        for other in Fabric::ALL.iter().filter(|it| *it != fabric) {
            let judgement = judge_log(*fabric, &good_log(*other));
            assert!(!judgement.is_proven(), "{other:?} proves {fabric:?}");
        }
    }
}

#[test]
fn a_tcp_fallback_is_not_proven() {
    for fabric in NETWORKS {
        // The good log of NVLink between nodes selects TCP as its network.
        let log = good_log(Fabric::Mnnvl)
            .replace("via P2P/MNNVL", "[send] via NET/Socket/0")
            .replace("nNodes 1 localRanks 8", "nNodes 2 localRanks 4");
        let judgement = judge_log(fabric, &log);
        let reason = reason(&judgement, "tcp-fallback");
        let evidence = reason.evidence.as_ref().unwrap();
        assert!(
            evidence.text.ends_with("NCCL INFO Using network Socket"),
            "{evidence:?}"
        );
        assert_eq!(
            log.lines().nth(usize::try_from(evidence.line).unwrap() - 1),
            Some(evidence.text.as_str())
        );
        assert!(!reason.help.is_empty());
    }
}

#[test]
fn the_cause_of_a_fallback_is_shown() {
    let log = good_log(Fabric::Efa)
        .replace(
            "NET/OFI Selected provider is efa, fabric is efa-direct (found 32 nics)",
            "NET/OFI No eligible providers were found",
        )
        .replace("AWS Libfabric", "Socket");
    let judgement = judge_log(Fabric::Efa, &log);
    // What follows from the wrong network is not reported.
    assert_eq!(ids(&judgement), ["tcp-fallback"]);
    assert_eq!(judgement.causes[0].id, "efa-provider-missing");
    assert!(judgement.causes[0].evidence.is_some());
}

#[test]
fn one_rank_with_another_network_is_named() {
    let log = good_log(Fabric::Efa);
    let line = "fabric-1:102:202 [2] NCCL INFO Using network AWS Libfabric";
    let judgement = judge_log(
        Fabric::Efa,
        &log.replace(line, &line.replace("AWS Libfabric", "Socket")),
    );
    assert_eq!(ids(&judgement), ["networks-differ"]);
    assert!(
        judgement.reasons[0]
            .text
            .contains("1 rank on `fabric-1` uses TCP"),
        "{:?}",
        judgement.reasons
    );
}

#[test]
fn the_proof_line_must_exist_for_every_rank() {
    for fabric in NETWORKS {
        for gpu in 0..4 {
            let line = format!(
                ":{}:{} [{gpu}] NCCL INFO Using network",
                100 + gpu,
                200 + gpu
            );
            let log = good_log(fabric);
            let mut is_first = true;
            let kept: Vec<&str> = log
                .lines()
                .filter(|it| !(it.contains(&line) && std::mem::take(&mut is_first)))
                .collect();
            let judgement = judge_log(fabric, &kept.join("\n"));
            // The connection of the last rank of a node shows its network too.
            let expected = if gpu == 3 {
                vec![]
            } else {
                vec!["network-not-shown"]
            };
            assert_eq!(ids(&judgement), expected, "{fabric:?} {gpu}");
        }
    }
}

#[test]
fn connections_prove_the_network_of_their_rank() {
    // NCCL 2.27 prints no connections, so either line suffices.
    let judgement = without(Fabric::Efa, "via NET/");
    assert_eq!(ids(&judgement), [] as [&str; 0]);
    assert_eq!(warnings(&judgement), ["gpudirect-not-shown"]);
    let judgement = reasons(
        Fabric::Efa,
        "[send] via NET/AWS Libfabric",
        "[send] via NET/Socket",
    );
    assert_eq!(ids(&judgement), ["networks-differ"]);
}

#[test]
fn the_provider_of_efa_is_required_on_every_host() {
    assert_eq!(
        ids(&without(Fabric::Efa, "Selected provider")),
        ["provider-not-shown"]
    );
    let judgement = reasons(
        Fabric::Efa,
        "provider is efa, fabric is efa-direct",
        "provider is tcp;ofi_rxm, fabric is IP",
    );
    assert_eq!(ids(&judgement), ["provider-wrong", "provider-wrong"]);
    // The format of old plugins.
    let judgement = reasons(
        Fabric::Efa,
        "Selected provider is efa, fabric is efa-direct (found 32 nics)",
        "Selected Provider is efa",
    );
    assert!(judgement.is_proven(), "{:?}", judgement.reasons);
    let log = good_log(Fabric::Efa);
    let (first, second) = log.split_at(log.find("fabric-1:").unwrap());
    let judgement = judge_log(
        Fabric::Efa,
        &format!("{first}{}", second.replace("found 32", "found 31")),
    );
    assert!(judgement.is_proven());
    assert_eq!(warnings(&judgement), ["nics-differ"]);
}

#[test]
fn the_newer_name_of_the_efa_plugin_is_accepted() {
    assert!(reasons(Fabric::Efa, "AWS Libfabric", "Libfabric").is_proven());
    assert_eq!(
        ids(&reasons(Fabric::Efa, "AWS Libfabric", "Libfabric2")),
        ["wrong-network"]
    );
}

#[test]
fn the_link_layer_is_required_on_every_host() {
    for (fabric, layer, other) in [
        (Fabric::InfiniBand, ":1/IB", ":1/RoCE"),
        (Fabric::Roce, ":1/RoCE", ":1/IB"),
    ] {
        assert_eq!(
            ids(&reasons(fabric, layer, other)),
            ["link-layer-wrong", "link-layer-wrong"]
        );
        assert_eq!(
            ids(&without(fabric, "NET/IB : Using")),
            ["link-layer-not-shown"]
        );
        let judgement = reasons(
            fabric,
            "[0]mlx5_0:1",
            "[8]mlx5_8:1/IB [9]mlx5_9:1/RoCE [0]mlx5_0:1",
        );
        assert!(judgement.is_proven());
        assert_eq!(
            warnings(&judgement),
            ["link-layers-differ", "link-layers-differ"]
        );
    }
}

#[test]
fn host_bounce_is_a_warning_only_if_the_floor_is_reached() {
    for fabric in NETWORKS {
        let log = good_log(fabric).replace("/GDRDMA", "");
        let judgement = judge_log(fabric, &log);
        assert!(judgement.is_proven(), "{:?}", judgement.reasons);
        assert_eq!(warnings(&judgement), ["host-bounce"]);
        let without_floor = Expectation {
            floor: None,
            ..expectation(fabric)
        };
        assert_eq!(
            ids(&judge(&without_floor, &Transcript::parse(&log))),
            ["host-bounce"]
        );
        let slow = log.replace("479.12", " 29.12").replace("486.90", " 36.90");
        assert_eq!(
            ids(&judge_log(fabric, &slow)),
            ["below-floor", "host-bounce"]
        );
    }
}

#[test]
fn disabled_gpudirect_is_a_host_bounce_without_connections() {
    let log = good_log(Fabric::InfiniBand);
    let lines: Vec<String> = log
        .lines()
        .filter(|line| !line.contains("via NET/"))
        .map(|line| {
            line.replace(
                "Pattern 4",
                "NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'",
            )
        })
        .collect();
    let judgement = judge_log(Fabric::InfiniBand, &lines.join("\n"));
    assert_eq!(warnings(&judgement), ["host-bounce"]);
}

#[test]
fn missing_pods_and_ranks_are_not_proven() {
    for fabric in NETWORKS {
        let judgement = without(fabric, "fabric-1:");
        assert_eq!(
            ids(&judgement),
            ["ranks-missing", "hosts-missing"],
            "{fabric:?}"
        );
        assert!(
            judgement.reasons[0]
                .text
                .contains("4 of 8 ranks; missing: 4, 5, 6, 7")
        );
        let judgement = without(fabric, "fabric-1:102:");
        assert_eq!(ids(&judgement), ["ranks-missing"]);
    }
    let judgement = reasons(Fabric::Efa, "fabric-1:", "fabric-0:");
    assert!(ids(&judgement).contains(&"hosts-missing"));
    let judgement = reasons(Fabric::Efa, "nNodes 2", "nNodes 1");
    assert_eq!(ids(&judgement), ["nodes-unexpected"]);
    let judgement = without(Fabric::Efa, "Init COMPLETE");
    assert_eq!(ids(&judgement), ["initialization-incomplete"]);
}

#[test]
fn runs_of_another_size_and_several_runs_are_not_proven() {
    let larger = Expectation {
        nodes: 4,
        ..expectation(Fabric::Efa)
    };
    let judgement = judge(&larger, &Transcript::parse(&good_log(Fabric::Efa)));
    assert_eq!(
        ids(&judgement),
        [
            "ranks-missing",
            "ranks-unexpected",
            "hosts-missing",
            "nodes-unexpected"
        ]
    );
    let smaller = Expectation {
        gpus_per_node: 2,
        ..expectation(Fabric::Efa)
    };
    let judgement = judge(&smaller, &Transcript::parse(&good_log(Fabric::Efa)));
    assert_eq!(ids(&judgement), ["ranks-unexpected", "ranks-uneven"]);
    let twice = format!(
        "{0}\n{1}",
        good_log(Fabric::Efa),
        good_log(Fabric::Efa).replace(":10", ":30")
    );
    assert_eq!(ids(&judge_log(Fabric::Efa, &twice)), ["ranks-unexpected"]);
    let huge = Expectation {
        nodes: u32::MAX,
        ..expectation(Fabric::Efa)
    };
    assert!(!judge(&huge, &Transcript::parse(&good_log(Fabric::Efa))).is_proven());
}

#[test]
fn shared_memory_between_gpus_is_not_nvlink() {
    let judgement = reasons(Fabric::NvLink, "via P2P/CUMEM", "via SHM/direct/direct");
    assert_eq!(ids(&judgement), ["shm-fallback"]);
    let judgement = reasons(Fabric::NvLink, "via P2P/CUMEM", "[send] via NET/Socket/0");
    assert_eq!(ids(&judgement), ["network-in-node"]);
    let judgement = reasons(Fabric::NvLink, "type NVL/PIX", "type PHB/PIX");
    assert_eq!(ids(&judgement), ["link-slow"]);
    let judgement = without(Fabric::NvLink, "NVLS comm");
    assert!(judgement.is_proven(), "{:?}", judgement.reasons);
    // Connections over PCIe have the same lines: the graph or NVLink SHARP is needed.
    let log = good_log(Fabric::NvLink);
    let lines: Vec<&str> = log
        .lines()
        .filter(|it| !it.contains("NVLS comm") && !it.contains("Pattern"))
        .collect();
    assert_eq!(
        ids(&judge_log(Fabric::NvLink, &lines.join("\n"))),
        ["nvlink-not-shown"]
    );
    let judgement = reasons(Fabric::Efa, "via P2P/CUMEM", "via SHM/direct/direct");
    assert!(judgement.is_proven());
    assert_eq!(warnings(&judgement), ["shm-in-node"]);
}

#[test]
fn multi_node_nvlink_must_contain_all_gpus() {
    assert_eq!(
        ids(&reasons(Fabric::Mnnvl, "cliqueSize 8", "cliqueSize 4")),
        ["mnnvl-partial"]
    );
    assert_eq!(
        ids(&reasons(
            Fabric::Mnnvl,
            "via P2P/MNNVL",
            "[send] via NET/Socket/0"
        )),
        ["mnnvl-fallback"]
    );
    let judgement = without(Fabric::Mnnvl, "MNNVL 1 cliqueId");
    assert_eq!(ids(&judgement), ["mnnvl-not-shown"]);
    let judgement = without(
        Fabric::Mnnvl,
        "fabric-1:100:200 [0] NCCL INFO MNNVL 1 cliqueId",
    );
    assert_eq!(ids(&judgement), ["mnnvl-not-shown"]);
    assert!(judgement.reasons[0].text.contains("rank 4 on `fabric-1`"));
}

#[test]
fn empty_logs_and_logs_of_other_programs_are_not_proven() {
    for (log, id) in [
        ("", "empty-log"),
        ("\n\r\n", "empty-log"),
        ("Starting web server\nlistening on :8080", "not-nccl"),
        ("\u{0}\u{fffd}\u{1b}[[[", "not-nccl"),
    ] {
        for fabric in Fabric::ALL {
            assert_eq!(ids(&judge_log(*fabric, log)), [id], "{log:?}");
        }
    }
    let log = good_log(Fabric::Efa);
    let table: Vec<&str> = log.lines().filter(|line| !line.contains("NCCL")).collect();
    assert_eq!(
        ids(&judge_log(Fabric::Efa, &table.join("\n"))),
        ["no-nccl-messages"]
    );
}

#[test]
fn warnings_of_nccl_are_counted() {
    let warn =
        "fabric-0:100:200 [0] enqueue.cc:1 NCCL WARN Call to bind failed : Address already in use";
    let log = format!("{warn}\n{warn}\n{}", good_log(Fabric::Efa));
    let judgement = judge_log(Fabric::Efa, &log);
    assert!(judgement.is_proven());
    assert_eq!(judgement.warnings[0].text, "NCCL printed 2 warnings");
}

#[test]
fn halves_of_two_runs_prove_nothing() {
    let log = good_log(Fabric::Efa);
    let other: Vec<String> = (log.lines())
        .map(|line| {
            let is_second = line.starts_with("fabric-1:");
            if is_second {
                line.replace("commId 0xef", "commId 0xab")
            } else {
                line.to_owned()
            }
        })
        .collect();
    assert_eq!(
        ids(&judge_log(Fabric::Efa, &other.join("\n"))),
        ["several-runs"]
    );
    let twice = format!("{log}\n{}", log.replace("commId 0xef", "commId 0xab"));
    assert!(ids(&judge_log(Fabric::Efa, &twice)).contains(&"several-runs"));
}

#[test]
fn a_program_that_fails_proves_nothing() {
    let failure =
        "[rank9]:[E1128] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1)";
    for after in [
        failure,
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
    ] {
        let log = format!("{}\n{after}", good_log(Fabric::Efa));
        let judgement = judge_log(Fabric::Efa, &log);
        assert_eq!(ids(&judgement), ["program-failed"]);
        assert_eq!(
            judgement.reasons[0].evidence.as_ref().unwrap().text,
            after.trim()
        );
    }
    let rendezvous = "torch.distributed.DistNetworkError: The client socket has timed out after 900000ms while \
                      trying to connect to (gpuc-prove-0.gpuc-prove, 29400).";
    let judgement = judge_log(Fabric::Efa, rendezvous);
    assert_eq!(ids(&judgement), ["program-failed"]);
    assert!(judgement.reasons[0].text.contains("before it used NCCL"));
}
