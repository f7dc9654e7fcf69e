//! Mermaid's own parser accepts every flowchart.

use std::io::Write;
use std::process::{Command, Stdio};

use gpuc_diff::graph::{self, MAX_MERMAID_LENGTH};

use super::{all_views, huge_view};
use crate::external_data;
use crate::support::repository;

/// A folder with `node_modules` of mermaid and jsdom.
const MERMAID: &str = "GPUC_MERMAID";

#[test]
#[ignore = "needs node, and mermaid and jsdom in the folder GPUC_MERMAID"]
fn charts_are_parsed() {
    let mut charts: Vec<_> = all_views()
        .iter()
        .map(|(name, views)| (name.clone(), graph::mermaid(views, MAX_MERMAID_LENGTH)))
        .collect();
    charts.push(("small".to_owned(), graph::mermaid(&[huge_view(3000)], 700)));
    let wrong = "flowchart LR\n  a[\"one\" two\"]\n".to_owned();
    charts.push(("a mistake that must be found".to_owned(), wrong));
    let texts: Vec<_> = charts.iter().map(|(_, chart)| chart).collect();
    let answers = parse(&serde_json::to_vec(&texts).unwrap());
    assert_eq!(answers.len(), charts.len());
    assert!(
        answers.last().unwrap().is_some(),
        "the invalid chart is accepted"
    );
    for ((name, chart), answer) in charts.iter().zip(&answers).take(charts.len() - 1) {
        assert_eq!(answer, &None, "{name}:\n{chart}");
    }
}

fn parse(input: &[u8]) -> Vec<Option<String>> {
    let folder = external_data::path(MERMAID);
    let mut child = Command::new("node")
        .arg(repository().join("tests/compiler/graphs/parse.mjs"))
        .env(MERMAID, folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // The program reads all input before it prints anything.
    stdin.write_all(input).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}
