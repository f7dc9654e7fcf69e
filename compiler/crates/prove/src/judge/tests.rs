use gpuc_model::fabric::{Collective, Fabric};
use proptest::prelude::*;

use super::{Expectation, Floor, judge};
use crate::judgement::{Judgement, Reason};
use crate::testing::{expectation, good_log, ids, judge_log};
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

/// The reasons after all occurrences of a text in a good log are replaced, which must exist.
fn reasons(fabric: Fabric, from: &str, to: &str) -> Judgement {
    let log = good_log(fabric);
    assert!(log.contains(from), "{from}");
    judge_log(fabric, &log.replace(from, to))
}

/// The reasons after the lines with a text are removed from a good log.
fn without(fabric: Fabric, text: &str) -> Judgement {
    let log = good_log(fabric);
    let lines: Vec<&str> = log.lines().filter(|line| !line.contains(text)).collect();
    assert!(lines.len() < log.lines().count(), "{text}");
    judge_log(fabric, &lines.join("\n"))
}

fn warnings(judgement: &Judgement) -> Vec<&'static str> {
    judgement.warnings.iter().map(|it| it.id).collect()
}

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
    assert_eq!(ids(&judgement), ["tcp-fallback", "provider-not-shown"]);
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
fn wrong_sums_are_not_proven() {
    let judgement = reasons(Fabric::Efa, "0.05       0\n", "0.05       7\n");
    assert_eq!(ids(&judgement), ["wrong-results"]);
    assert!(
        judgement.reasons[0]
            .text
            .contains("7 values are wrong at 1 KiB")
    );
    let judgement = reasons(Fabric::Efa, "values : 0 OK", "values : 7 FAILED");
    assert_eq!(ids(&judgement), ["out-of-bounds"]);
    let judgement = reasons(Fabric::Efa, "values : 0 OK", "values : 7 OK");
    assert_eq!(ids(&judgement), ["out-of-bounds"]);
    let judgement = reasons(Fabric::Efa, ": 162.937", ": 162.937 FAILED");
    assert_eq!(ids(&judgement), ["test-failed"]);
    let judgement = reasons(Fabric::Efa, "486.90       0", "486.90     N/A");
    assert!(judgement.is_proven());
    assert_eq!(warnings(&judgement), ["sums-not-verified"]);
}

#[test]
fn the_largest_message_is_compared_with_the_floor() {
    let judgement = reasons(Fabric::Efa, "486.90", "299.99");
    assert_eq!(ids(&judgement), ["below-floor"]);
    assert!(
        judgement.reasons[0]
            .evidence
            .as_ref()
            .unwrap()
            .text
            .starts_with("8589934592")
    );
    assert!(reasons(Fabric::Efa, "486.90", "300.00").is_proven());
    // A smaller message and the average do not count.
    assert!(reasons(Fabric::Efa, "479.12", " 79.12").is_proven());
    assert_eq!(
        ids(&without(Fabric::Efa, "float  sum  -1   16783.")),
        ["sizes-too-small"]
    );
    // The lowest of several measurements counts.
    let log = good_log(Fabric::Efa);
    let row = log.lines().find(|line| line.contains("486.90")).unwrap();
    let twice = log.replace(row, &format!("{row}\n{}", row.replace("486.90", "100.00")));
    assert_eq!(ids(&judge_log(Fabric::Efa, &twice)), ["below-floor"]);
}

#[test]
fn a_floor_is_valid_for_its_collective_only() {
    let judgement = reasons(Fabric::Efa, "all_reduce_perf", "all_gather_perf");
    assert_eq!(ids(&judgement), ["collective-differs"]);
    // Without the name of the test, the ratio of the bandwidths decides: 2 * 7 / 8 with 8 ranks.
    let ratio = |bandwidth: &str| {
        let log =
            good_log(Fabric::Efa).replace("# Collective test starting: all_reduce_perf\n", "");
        ids(&judge_log(
            Fabric::Efa,
            &log.replace("255.91  486.90", bandwidth),
        ))
    };
    assert_eq!(ratio("278.23  486.90"), [] as [&str; 0]);
    assert_eq!(ratio("486.90  486.90"), ["collective-differs"]);
}

#[test]
fn without_a_floor_the_transport_is_proven_and_a_floor_can_be_set() {
    let log = Transcript::parse(&good_log(Fabric::Efa));
    let value = |judgement: &Judgement| {
        let floor = judgement
            .measured
            .iter()
            .find(|it| it.name == "floor")
            .unwrap();
        floor.value.clone()
    };
    let none = Expectation {
        floor: None,
        ..expectation(Fabric::Efa)
    };
    let judgement = judge(&none, &log);
    assert!(judgement.is_proven());
    assert_eq!(value(&judgement), "no sourced floor");
    for (floor, expected) in [
        (486.0, vec![]),
        (487.0, vec!["below-floor"]),
        (f64::NAN, vec!["below-floor"]),
    ] {
        let own = Expectation {
            floor: Some(Floor::of_user(floor)),
            ..expectation(Fabric::Efa)
        };
        assert_eq!(ids(&judge(&own, &log)), expected, "{floor}");
    }
    let floor = Floor {
        collective: Some(Collective::AllGather),
        ..Floor::of_user(1.0)
    };
    let other = Expectation {
        floor: Some(floor),
        ..expectation(Fabric::Efa)
    };
    assert_eq!(ids(&judge(&other, &log)), ["collective-differs"]);
}

#[test]
fn a_missing_table_and_a_run_without_end_are_not_proven() {
    let log = good_log(Fabric::Roce);
    let without_rows: Vec<&str> = log.lines().filter(|it| !it.contains("float")).collect();
    assert_eq!(
        ids(&judge_log(Fabric::Roce, &without_rows.join("\n"))),
        ["table-missing"]
    );
    assert_eq!(
        ids(&without(Fabric::Roce, "# Out of bounds")),
        ["run-incomplete"]
    );
    // A second run that did not end.
    let row = log.lines().find(|line| line.contains("479.12")).unwrap();
    let judgement = judge_log(Fabric::Roce, &format!("{log}\n{row}"));
    assert_eq!(ids(&judgement), ["run-incomplete"]);
}

/// The rows of `fabricTest`, whose sums are in place only (gpuc-compile `lower/workloads/programs/fabric_test.py`).
#[test]
fn rows_of_the_workload_are_judged() {
    let log = good_log(Fabric::Efa);
    let (messages, _) = log.split_once("# nThread").unwrap();
    let table = |bandwidth: &str, wrong: &str| {
        format!(
            "{messages}# Collective test starting: all_reduce with torch.distributed
  4294967296   1073741824 float sum -1 N/A N/A N/A N/A 15454.07 277.92 486.36 0
  8589934592   2147483648 float sum -1 N/A N/A N/A N/A 30571.59 280.98 {bandwidth} {wrong}
# Out of bounds values : 0 OK
"
        )
    };
    assert!(judge_log(Fabric::Efa, &table("491.71", "0")).is_proven());
    assert_eq!(
        ids(&judge_log(Fabric::Efa, &table("91.71", "0"))),
        ["below-floor"]
    );
    assert_eq!(
        ids(&judge_log(Fabric::Efa, &table("491.71", "5"))),
        ["wrong-results"]
    );
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
fn cut_logs_are_never_proven_before_the_proof_is_complete() {
    for fabric in Fabric::ALL {
        let log = good_log(*fabric);
        let complete = "# Out of bounds values : 0 OK";
        let end = log.find(complete).unwrap() + complete.len();
        let line_ends = log.match_indices('\n').map(|(at, _)| at);
        let every_seventh_byte = (0..log.len()).step_by(7);
        let last_bytes = end.saturating_sub(40)..end;
        for at in line_ends.chain(every_seventh_byte).chain(last_bytes) {
            let is_proven = judge_log(*fabric, &log[..at]).is_proven();
            assert_eq!(
                is_proven,
                at >= end,
                "{fabric:?}: {:?}",
                &log[at.saturating_sub(60)..at]
            );
        }
    }
}

#[test]
fn no_initialization_and_no_end_can_be_missing() {
    let needed = ["Init COMPLETE", "# Out of bounds", "8589934592    "];
    for fabric in Fabric::ALL {
        let log = good_log(*fabric);
        let lines: Vec<&str> = log.lines().collect();
        for index in 0..lines.len() {
            if !needed.iter().any(|text| lines[index].contains(text))
                || lines[index].contains("maxBytes")
            {
                continue;
            }
            let mut kept = lines.clone();
            kept.remove(index);
            let judgement = judge_log(*fabric, &kept.join("\n"));
            // Without the largest message, the second largest is compared.
            let is_row = lines[index].contains("8589934592");
            assert_eq!(
                judgement.is_proven(),
                is_row,
                "{fabric:?}: {}",
                lines[index]
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn changed_logs_do_not_panic(
        fabric in 0..Fabric::ALL.len(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..5_u8), 0..40),
    ) {
        let fabric = Fabric::ALL[fabric];
        let log = good_log(fabric);
        let mut lines: Vec<String> = log.lines().map(str::to_owned).collect();
        for (a, b, edit) in edits {
            let (a, b) = (a.index(lines.len()), b.index(lines.len()));
            match edit {
                0 => lines.swap(a, b),
                1 if lines.len() > 1 => drop(lines.remove(a)),
                2 => {
                    let half = lines[a].len() / 2;
                    lines[a].truncate(half);
                }
                3 => {
                    let other = lines[b].clone();
                    let half = lines[a].len() / 2;
                    lines[a].insert_str(half, &other);
                }
                _ => lines[a] = lines[a].replace(|it: char| it.is_ascii_digit(), "9"),
            }
        }
        let judgement = judge_log(fabric, &lines.join("\n"));
        prop_assert_eq!(judgement.is_proven(), judgement.reasons.is_empty());
    }

    #[test]
    fn any_text_is_judged(text in "(?s).{0,400}") {
        prop_assert!(!judge_log(Fabric::Efa, &text).is_proven());
    }
}
