//! Tests of the results, and of logs that are cut or changed.

use gpuc_model::fabric::{Collective, Fabric};
use proptest::prelude::*;

use super::{Expectation, Floor, judge};
use crate::judgement::Judgement;
use crate::testing::{expectation, good_log, ids, judge_log, reasons, warnings, without};
use crate::transcript::Transcript;

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
    assert_eq!(value(&judgement), "unknown");
    assert_eq!(warnings(&judgement), ["floor-unknown"]);
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
