//! The formats of a diagnosis, with the example of each check and with text that tries to break a format.

use std::collections::BTreeMap;

use gpuc_syntax::diag::{Severity, split_files};
use gpuc_syntax::source::Sources;

use super::{MAX_LENGTH, diagnostics, json, junit, markdown, text};
use crate::doctor::testing::REGISTRY;
use crate::doctor::{CHECKS, Diagnosis, diagnose};
use crate::read::read_files;
use crate::state::ClusterState;

/// Text that ends lines, tables, code and elements, and moves the cursor of a terminal.
const HOSTILE: &str = "\\e[2J\\r\\n| x `` ``` </failure> & \\\" <!-- \\u0000\\uFFFF";

/// The state and the diagnosis of an example, as YAML or JSON.
fn diagnosis(objects: &str) -> (ClusterState, Diagnosis) {
    let files: BTreeMap<String, String> = (split_files(objects).into_iter())
        .map(|(path, text)| (path.to_owned(), text.to_owned()))
        .collect();
    let paths: Vec<String> = files.keys().cloned().collect();
    let load = |path: &str| Ok(files[path].clone().into_bytes());
    let (state, problems) = read_files(&paths, &load);
    assert_eq!(problems, []);
    let diagnosis = diagnose(&state, None, &REGISTRY);
    (state, diagnosis)
}

/// A node that is not ready, with a message.
fn broken_nodes(count: usize, message: &str) -> String {
    let nodes: Vec<String> = (0..count)
        .map(|index| {
            let metadata = format!("{{name: n{index}, labels: {{nvidia.com/gpu.present: 'true'}}}}");
            let ready = format!("{{type: Ready, status: 'False', message: \"{message} {index}\"}}");
            format!(
                "  - {{apiVersion: v1, kind: Node, metadata: {metadata}, status: {{conditions: [{ready}]}}}}\n"
            )
        })
        .collect();
    let pod = "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: kube-system}}";
    format!(
        "apiVersion: v1\nkind: List\nitems:\n  - {pod}\n{}",
        nodes.concat()
    )
}

#[test]
fn text_of_the_cluster_cannot_break_a_format() {
    let (state, found) = diagnosis(&broken_nodes(2, HOSTILE));
    assert!(!found.causes.is_empty());
    let sources = Sources::default();
    let plain = text(&found, &state, &sources);
    assert!(plain.contains("␛[2J"), "{plain}");
    let is_control = |text: &str| text.chars().any(|it| it.is_control() && it != '\n');
    let comment = markdown(&found, &[], &state, &sources);
    let report = junit(&found, &state, &sources, Severity::Warning);
    for rendered in [&plain, &comment, &report, &json(&found, &[], &sources)] {
        assert!(!is_control(rendered), "{rendered:?}");
    }
    // Each line of the text starts as its format says.
    let starts = [
        "error[",
        "warning[",
        "  --> ",
        "  = ",
        "  explains: ",
        "help: ",
        "next: ",
        "  ",
    ];
    for line in plain.lines().filter(|it| !it.is_empty()) {
        let is_summary =
            line.starts_with("2 nodes, ") || line.ends_with("could not run completely:");
        assert!(
            is_summary || starts.iter().any(|it| line.starts_with(it)),
            "{line}"
        );
    }
    roxmltree::Document::parse(&report).unwrap();
}

#[test]
fn junit_reports_have_a_case_for_each_check() {
    let (state, found) = diagnosis(&broken_nodes(1, "kubelet stopped"));
    let code = &found.causes[0].finding.code;
    assert_eq!(code.severity, Severity::Error);
    let report = junit(&found, &state, &Sources::default(), Severity::Error);
    let document = roxmltree::Document::parse(&report).unwrap();
    let nodes = |name: &str| {
        let all = document.descendants();
        all.filter(|it| it.has_tag_name(name)).collect::<Vec<_>>()
    };
    let cases = nodes("testcase");
    assert_eq!(cases.len(), CHECKS.len());
    let suite = nodes("testsuite")[0];
    let count = |name: &str| suite.attribute(name).unwrap().parse::<usize>().unwrap();
    assert_eq!(count("tests"), CHECKS.len());
    assert_eq!(count("failures"), nodes("failure").len());
    assert_eq!(count("skipped"), nodes("skipped").len());
    assert!(count("skipped") > 0, "the lists of most kinds are missing");
    let failed = nodes("failure")[0];
    let name = failed.parent().unwrap().attribute("name").unwrap();
    assert!(name.starts_with(code.id), "{name}");
    assert!(failed.text().unwrap().contains("kubelet stopped"));
}

#[test]
fn warnings_fail_a_junit_report_only_if_they_fail_the_run() {
    let checks = CHECKS.iter();
    let mut seen = 0;
    for check in checks.filter(|it| it.code.severity == Severity::Warning) {
        let (configuration, objects) = gpuc_syntax::diag::split_objects(check.code.bad).unwrap();
        if !configuration.is_empty() {
            continue;
        }
        seen += 1;
        let (state, found) = diagnosis(objects);
        let failures = |fail_on| {
            let report = junit(&found, &state, &Sources::default(), fail_on);
            report.matches("<failure type=\"warning\"").count()
        };
        assert_eq!(failures(Severity::Error), 0, "{}", check.code.name);
        assert!(failures(Severity::Warning) > 0, "{}", check.code.name);
    }
    assert!(seen > 5, "{seen}");
}

#[test]
fn markdown_has_at_most_the_length_of_a_comment() {
    // Each node has a cause of its own.
    let (state, found) = diagnosis(&broken_nodes(700, &"x".repeat(200)));
    let comment = markdown(&found, &[], &state, &Sources::default());
    assert!(comment.chars().count() <= MAX_LENGTH);
    assert!(
        comment.contains("</details>"),
        "the missing lists are named"
    );
    let (state, found) = diagnosis(&broken_nodes(1, "kubelet stopped"));
    let comment = markdown(&found, &[], &state, &Sources::default());
    assert!(comment.contains("kubelet stopped"), "{comment}");
    assert!(comment.contains("**Help:** "), "{comment}");
}

#[test]
fn every_cause_is_a_diagnostic() {
    let (state, found) = diagnosis(&broken_nodes(3, "kubelet stopped"));
    let diagnostics = diagnostics(&found, &state);
    assert_eq!(diagnostics.len(), found.causes.len());
    assert!(
        diagnostics[0].message.contains("n0, n1, n2"),
        "{}",
        diagnostics[0].message
    );
    assert!(
        diagnostics[0]
            .help
            .as_deref()
            .is_some_and(|it| !it.is_empty())
    );
}
