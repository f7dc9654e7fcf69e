//! Tests of the diagnostics.

use proptest::prelude::*;

use super::{Expectation, Status, judge, reports};
use crate::testing::ids;

/// A document of DCGM 4 with two GPUs.
fn document(memory: [&str; 2], pcie: [&str; 2]) -> String {
    let results = |statuses: [&str; 2]| {
        let one = |gpu: usize| {
            let warnings = match statuses[gpu] {
                "Fail" => {
                    r#", "warnings": [{"error_id": 3, "error_severity": 2, "warning": "row remap"}]"#
                }
                _ => "",
            };
            format!(
                r#"{{"entity_group": "GPU", "entity_group_id": 1, "entity_id": {gpu}, "status": "{}"{warnings}}}"#,
                statuses[gpu]
            )
        };
        let worst = if statuses.contains(&"Fail") {
            "Fail"
        } else {
            statuses[0]
        };
        format!(
            r#"[{}, {}], "test_summary": {{"status": "{worst}"}}"#,
            one(0),
            one(1)
        )
    };
    format!(
        r#"Started host engine version 4.4.2 using port number: 5555
{{
  "DCGM Diagnostic": {{
    "test_categories": [
      {{"category": "Deployment", "tests": [{{"name": "software", "results": {}}}]}},
      {{"category": "Hardware", "tests": [{{"name": "memory", "results": {}}}]}},
      {{"category": "Integration", "tests": [{{"name": "pcie", "results": {}}}]}}
    ]
  }},
  "entity_groups": [{{"entity_group": "GPU", "entity_group_id": 1,
    "entities": [{{"device_id": "2330", "entity_id": 0}}, {{"device_id": "2330", "entity_id": 1}}]}}],
  "metadata": {{"Driver Version Detected": "580.95.05", "version": "4.4.2"}}
}}
"#,
        results(["Pass", "Pass"]),
        results(memory),
        results(pcie)
    )
}

/// A document of DCGM 3 with two GPUs.
const DCGM_3: &str = r#"{
	"DCGM GPU Diagnostic" :
	{
		"Driver Version Detected" : "535.129.03",
		"GPU Device IDs" : [ "2330", "2330" ],
		"test_categories" :
		[
			{
				"category" : "Deployment",
				"tests" :
				[
					{"name" : "Denylist", "results" : [ {"status" : "Pass"} ]},
					null,
					{"name" : "NVML Library", "results" : [ {"gpu_ids" : "0,1", "status" : "PASS"} ]}
				]
			},
			{
				"category" : "Integration",
				"tests" :
				[
					{"name" : "PCIe", "results" : [ {"gpu_id" : "0", "status" : "Pass"}, {"gpu_id" : "1", "status" : "Pass"} ]}
				]
			},
			{
				"category" : "Hardware",
				"tests" :
				[
					{"name" : "GPU Memory", "results" : [ {"gpu_id" : "0", "status" : "Pass"}, {"gpu_id" : "1", "status" : "Pass"} ]}
				]
			}
		],
		"version" : "3.3.1"
	}
}
"#;

/// The table of DCGM 4.
const TABLE: &str = "\
Successfully ran diagnostic for group.
+---------------------------+------------------------------------------------+
| Diagnostic                | Result                                         |
+===========================+================================================+
|-----  Metadata  ----------+------------------------------------------------|
| DCGM Version              | 4.4.2                                          |
| Driver Version Detected   | 580.95.05                                      |
| GPU Device IDs Detected   | 2330, 2330                                     |
|-----  Deployment  --------+------------------------------------------------|
| software                  | Pass                                           |
|                           | GPU0: Pass                                     |
|                           | GPU1: Pass                                     |
+-----  Hardware  ----------+------------------------------------------------+
| memory                    | Pass                                           |
|                           | GPU0: Pass                                     |
|                           | GPU1: Pass                                     |
+-----  Integration  -------+------------------------------------------------+
| pcie                      | Pass                                           |
|                           | GPU0: Pass                                     |
|                           | GPU1: Pass                                     |
+---------------------------+------------------------------------------------+
";

/// The table of DCGM 3.
const TABLE_3: &str = "\
+---------------------------+------------------------------------------------+
| Diagnostic                | Result                                         |
+===========================+================================================+
|-----  Metadata  ----------+------------------------------------------------|
| DCGM Version              | 3.3.1                                          |
| GPU Device IDs Detected   | 2330,2330                                      |
|-----  Deployment  --------+------------------------------------------------|
| Denylist                  | Pass                                           |
| Persistence Mode          | Pass                                           |
+-----  Integration  -------+------------------------------------------------+
| PCIe                      | Pass - All                                     |
+-----  Hardware  ----------+------------------------------------------------+
| GPU Memory                | Pass - All                                     |
+-----  Stress  ------------+------------------------------------------------+
| EUD Test                  | Skip - All                                     |
+---------------------------+------------------------------------------------+
";

fn expected(level: u8) -> Expectation {
    Expectation {
        level,
        nodes: 1,
        gpus_per_node: 2,
    }
}

const NONE: [&str; 0] = [];

#[test]
fn all_formats_are_read() {
    for log in [&document(["Pass"; 2], ["Pass"; 2]), DCGM_3, TABLE, TABLE_3] {
        assert_eq!(reports(log).len(), 1, "{log}");
        let judgement = judge(&expected(2), log);
        assert_eq!(ids(&judgement), NONE, "{log}\n{:#?}", judgement.reasons);
        let decorated: Vec<String> = log
            .lines()
            .map(|it| format!("[pod/gpu-0/main] {it}\r\n"))
            .collect();
        assert_eq!(ids(&judge(&expected(2), &decorated.concat())), NONE);
    }
    let report = &reports(TABLE)[0];
    assert_eq!(
        (report.version.as_deref(), report.detected_gpus),
        (Some("4.4.2"), Some(2))
    );
    assert_eq!(report.tests.len(), 3);
    assert!(report.tests.iter().all(|test| test.results.len() == 2));
}

#[test]
fn every_gpu_and_every_status_counts() {
    for (status, id) in [
        ("Fail", "test-failed"),
        ("Skip", "test-skipped"),
        ("Warn", "test-warned"),
        ("Not Run", "test-not-run"),
    ] {
        let judgement = judge(&expected(2), &document(["Pass", status], ["Pass"; 2]));
        assert_eq!(ids(&judgement), [id], "{:?}", judgement.reasons);
        let table = TABLE.replacen(
            "| memory                    | Pass ",
            &format!("| memory                    | {status} "),
            1,
        );
        assert!(!judge(&expected(2), &table).is_proven(), "{status}");
    }
    let judgement = judge(&expected(2), &document(["Pass", "Fail"], ["Pass"; 2]));
    let text = &judgement.reasons[0].text;
    assert_eq!(
        text,
        "the test `memory` failed on GPU 1 of the node: row remap"
    );
    let table = TABLE_3.replace(
        "| PCIe                      | Pass - All ",
        "| PCIe | Pass - GPU: 0 |\n| | Fail - GPU: 1 ",
    );
    let judgement = judge(&expected(2), &table);
    assert_eq!(ids(&judgement), ["test-failed"]);
    assert!(judgement.reasons[0].text.contains("GPU 1"));
}

#[test]
fn a_gpu_of_the_table_that_failed_is_named() {
    let table = TABLE.replacen(
        "|                           | GPU1: Pass ",
        "|                           | GPU1: Fail ",
        2,
    );
    let table = table.replace(
        "| memory                    | Pass ",
        "| memory                    | Fail ",
    );
    let judgement = judge(&expected(2), &table);
    assert!(
        judgement
            .reasons
            .iter()
            .any(|it| it.text.contains("`memory` failed on GPU 1 of")),
        "{:?}",
        judgement.reasons
    );
}

#[test]
fn a_lower_level_does_not_prove_a_higher_one() {
    let log = document(["Pass"; 2], ["Pass"; 2]);
    assert_eq!(ids(&judge(&expected(1), &log)), NONE);
    assert_eq!(ids(&judge(&expected(3), &log)), ["tests-missing"]);
    assert_eq!(
        ids(&judge(&expected(4), &log)),
        ["tests-missing", "tests-missing"]
    );
    let software = log
        .replace("\"memory\"", "\"other\"")
        .replace("\"pcie\"", "\"another\"");
    assert_eq!(
        ids(&judge(&expected(2), &software)),
        ["tests-missing", "tests-missing"]
    );
}

#[test]
fn skipped_tests_that_the_level_does_not_require_are_warnings() {
    let judgement = judge(&expected(2), TABLE_3);
    assert_eq!(judgement.warnings[0].id, "test-skipped");
    assert!(judgement.warnings[0].text.contains("EUD Test"));
}

#[test]
fn missing_gpus_and_nodes_are_not_proven() {
    let larger = Expectation {
        gpus_per_node: 8,
        ..expected(2)
    };
    for log in [&document(["Pass"; 2], ["Pass"; 2]), DCGM_3, TABLE, TABLE_3] {
        let judgement = judge(&larger, log);
        assert!(
            ids(&judgement).contains(&"gpus-missing"),
            "{:?}",
            judgement.reasons
        );
        let more = Expectation {
            nodes: 2,
            ..expected(2)
        };
        assert_eq!(ids(&judge(&more, log)), ["nodes-missing"]);
        assert_eq!(ids(&judge(&more, &log.repeat(2))), ["pods-not-distinct"]);
    }
}

#[test]
fn errors_of_the_whole_run_are_not_proven() {
    let log = r#"{"DCGM Diagnostic": {"runtime_error": "unsupported GPU 0"}, "metadata": {"version": "4.2.3"}}"#;
    let judgement = judge(&expected(1), log);
    assert_eq!(ids(&judgement), ["diagnostics-stopped", "tests-missing"]);
    for (log, id) in [
        ("", "empty-log"),
        (
            "Error: unable to establish a connection to the specified host: localhost",
            "diagnostics-missing",
        ),
    ] {
        assert_eq!(ids(&judge(&expected(1), log)), [id]);
    }
}

#[test]
fn cut_results_are_not_proven() {
    for log in [&document(["Pass"; 2], ["Pass"; 2]), DCGM_3, TABLE, TABLE_3] {
        let end = log.trim_end().len();
        for at in 0..end {
            if !log.is_char_boundary(at) {
                continue;
            }
            assert!(
                !judge(&expected(2), &log[..at]).is_proven(),
                "{}",
                &log[..at]
            );
        }
    }
}

#[test]
fn a_summary_that_is_worse_than_its_results_counts() {
    let log = document(["Pass"; 2], ["Pass"; 2]);
    let log = log.replacen(
        r#""test_summary": {"status": "Pass"}"#,
        r#""test_summary": {"status": "Fail"}"#,
        1,
    );
    assert_eq!(ids(&judge(&expected(2), &log)), ["test-failed"]);
    assert!(
        reports(&log)[0].tests[0]
            .results
            .iter()
            .any(|it| it.status == Status::Fail)
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_text_is_judged(text in "(?s)[\\{\\}\\[\\]\":|+\\- a-zA-Z0-9\n]{0,300}") {
        prop_assert!(!judge(&expected(1), &text).is_proven());
    }
}

#[test]
fn results_of_one_pod_do_not_prove_several_nodes() {
    let result = document(["Pass"; 2], ["Pass"; 2]);
    let prefixed = |pod: &str| -> String {
        let lines = result
            .lines()
            .map(|line| format!("[pod/{pod}/main] {line}"));
        lines.collect::<Vec<_>>().join("\n") + "\n"
    };
    let two = Expectation {
        nodes: 2,
        ..expected(2)
    };
    let same = prefixed("a").repeat(2);
    assert_eq!(ids(&judge(&two, &same)), ["pods-not-distinct"]);
    let distinct = prefixed("a") + &prefixed("b");
    assert_eq!(ids(&judge(&two, &distinct)), NONE);
}

#[test]
fn tests_of_a_level_that_did_not_run_are_warnings() {
    let log = document(["Pass"; 2], ["Pass"; 2]).replace("\"pcie\"", "\"diagnostic\"");
    let judgement = judge(&expected(3), &log);
    let warnings: Vec<&str> = judgement
        .warnings
        .iter()
        .map(|it| it.text.as_str())
        .collect();
    for test in ["memory bandwidth", "targeted power", "targeted stress"] {
        assert!(warnings.iter().any(|it| it.contains(test)), "{warnings:?}");
    }
}
