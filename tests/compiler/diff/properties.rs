//! Equal inputs have no differences, a diff omits nothing, and its file changes turn the old tree into the new tree.

use std::collections::BTreeMap;
use std::fs;

use gpuc_compile::compile::{Compilation, Options};
use gpuc_compile::lock::LOCK_FILE;
use gpuc_diff::diff::render::{Format, MAX_LENGTH, render, schema};
use gpuc_diff::diff::{Diff, FileChange, Pair, Status, apply_hunks, diff, is_known};
use gpuc_model::plan::Delivery;
use gpuc_model::resolve::Choices;
use gpuc_syntax::diag::Levels;
use gpuc_syntax::source::Sources;

use super::{as_diffs, diff_of_texts};
use crate::corpus::{Case, cases};
use crate::sample;
use crate::support::repository;

fn diff_of(before: Option<&Compilation>, after: Option<&Compilation>) -> Diff {
    let options = Options {
        registry: &gpuc::REGISTRY,
        levels: Levels::default(),
        today: None,
        choices: &|_| Choices::default(),
    };
    let pair = Pair {
        before,
        after,
        committed: None,
        lock: None,
    };
    diff(pair, &options, &Sources::default()).unwrap()
}

fn files(compilation: &Compilation) -> BTreeMap<String, (String, bool)> {
    let (tree, lock) = compilation.output.as_ref().unwrap();
    let files = tree.files();
    let files =
        files.map(|(path, file)| (path.to_owned(), (file.contents.clone(), file.executable)));
    let lock = (LOCK_FILE.to_owned(), (lock.to_json(), false));
    files.chain([lock]).collect()
}

#[test]
fn equal_inputs_have_no_differences() {
    for case in cases() {
        let one = case.compilation();
        let found = diff_of(Some(one), Some(one));
        assert!(found.is_empty() && found.worst.is_none(), "{}", case.name);
    }
}

/// Pairs of consecutive cases of the corpus. They differ more than the two sides of any pull request.
fn neighbouring_cases() -> Vec<[&'static Case; 2]> {
    let cases = cases().iter().filter(|case| !case.name.starts_with("GPUC"));
    let cases: Vec<_> = cases.collect();
    cases.windows(2).map(|pair| [pair[0], pair[1]]).collect()
}

/// One pair for each cloud and delivery method.
#[test]
fn diff_covers_every_changed_line() {
    let name = |[one, other]: &[&Case; 2]| format!("{} to {}", one.name, other.name);
    let kind = |[_, other]: &[&Case; 2]| {
        let delivery = match &other.plan().delivery {
            Delivery::Script => "script",
            Delivery::Gitops { tool, .. } => tool,
        };
        format!("{} {delivery}", other.cluster().cloud.facts().key)
    };
    assert_diffs_are_complete(&sample::one_of_each(neighbouring_cases(), name, kind));
}

#[test]
#[ignore = "exhaustive: minutes; .ci/run runs it"]
fn needs_minutes_diffs_cover_every_changed_line() {
    assert_diffs_are_complete(&neighbouring_cases());
}

fn assert_diffs_are_complete(pairs: &[[&Case; 2]]) {
    assert!(pairs.len() >= 5, "only {} pairs", pairs.len());
    for pair in pairs {
        let (one, other) = (pair[0].compilation(), pair[1].compilation());
        for (before, after) in [
            (Some(one), Some(other)),
            (None, Some(other)),
            (Some(one), None),
        ] {
            let found = diff_of(before, after);
            let name = format!("{} to {}", pair[0].name, pair[1].name);
            let nothing = || BTreeMap::new();
            let mut made = before.map_or_else(nothing, files);
            for file in &found.files {
                assert!(
                    !file.changes.is_empty(),
                    "{name}: no change accounts for {}",
                    file.path
                );
                apply_change(&mut made, file);
            }
            assert!(
                made == after.map_or_else(nothing, files),
                "{name}: the changed files differ from the new tree"
            );
        }
    }
}

fn apply_change(files: &mut BTreeMap<String, (String, bool)>, change: &FileChange) {
    if change.status == Status::Removed {
        files.remove(&change.path);
        return;
    }
    let file = files.entry(change.path.clone()).or_default();
    file.0 = apply_hunks(&file.0, &change.hunks).unwrap();
    file.1 = change.executable.unwrap_or(file.1);
}

#[test]
fn every_kind_has_an_impact() {
    let mut unknown = Vec::new();
    for case in cases() {
        for object in &case.plan().objects {
            let identity = &object.identity;
            let group = identity
                .api_version
                .split_once('/')
                .map_or("", |(group, _)| group);
            if !is_known(group, &identity.kind) {
                unknown.push(format!("{group} {} in {}", identity.kind, case.name));
            }
        }
        assert!(matches!(
            case.plan().delivery,
            Delivery::Script | Delivery::Gitops { .. }
        ));
    }
    assert!(unknown.is_empty(), "{unknown:#?}");
}

#[test]
fn json_matches_its_schema() {
    let schema: serde_json::Value = serde_json::from_str(&schema()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let text =
        fs::read_to_string(repository().join("examples/eks-teams/gpu-cluster.yaml")).unwrap();
    let found = as_diffs(diff_of_texts(
        &text,
        &text
            .replace("max: 4}", "max: 8}")
            .replace("replicas: 4", "replicas: 8"),
    ));
    let json: serde_json::Value = serde_json::from_str(&render(&found, Format::Json)).unwrap();
    assert!(json["clusters"][0]["changes"].as_array().unwrap().len() > 3);
    let errors: Vec<_> = validator
        .iter_errors(&json)
        .map(|error| error.to_string())
        .collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

/// A cluster with this number of pools, each with this maximum number of nodes.
fn large_cluster(pools: usize, max_nodes: usize) -> String {
    let mut text = "apiVersion: gpuc.dev/v1alpha1\nkind: GpuCluster\nmetadata: {name: many}\nkubernetes: {version: \
                    \"1.34\"}\ncloud: {gcp: {project: acme-ml, location: us-central1-a, nodeServiceAccount: gke-nodes@acme-ml.iam.gserviceaccount.com, cluster: {existing: {name: a}}}}\n\
                    stack: {driver: preinstalled, devicePlugin: cloud}\nnodePools:\n"
        .to_owned();
    for pool in 0..pools {
        let max_nodes = max_nodes + pool % 7;
        text += &format!(
            "  - {{name: p{pool}, machine: g2-standard-8, nodes: {{min: 0, max: {max_nodes}}}}}\n"
        );
    }
    text
}

#[test]
fn comments_fit_the_limit() {
    assert_comments_fit(&[1, 60, 300]);
}

#[test]
#[ignore = "exhaustive: minutes; .ci/run runs it"]
fn needs_minutes_comment_on_1000_pools_fits() {
    assert_comments_fit(&[1000]);
}

fn assert_comments_fit(counts: &[usize]) {
    for &pools in counts {
        let found = as_diffs(diff_of_texts(
            &large_cluster(pools, 2),
            &large_cluster(pools, 20),
        ));
        assert_eq!(
            found.clusters[0]
                .changes
                .iter()
                .filter(|it| it.kind == "pool")
                .map(|it| it.names.len())
                .sum::<usize>(),
            pools
        );
        let comment = render(&found, Format::Markdown);
        let length = comment.chars().count();
        assert!(
            length <= MAX_LENGTH,
            "{length} characters for {pools} pools"
        );
        assert!(comment.contains("capacity-gained"));
        assert!(comment.contains("```mermaid\nflowchart"), "{comment}");
    }
}

#[test]
fn names_are_escaped_in_all_formats() {
    let text =
        fs::read_to_string(repository().join("examples/gke-service/gpu-cluster.yaml")).unwrap();
    let hostile = "</details><script>|`::error::%0A```";
    let after = text.replace(
        "podPatch: {",
        &format!("podPatch: {{schedulerName: \"{hostile}\", "),
    );
    let found = as_diffs(diff_of_texts(&text, &after));
    for format in [
        Format::Text {
            all: true,
            plan: false,
        },
        Format::Markdown,
        Format::Github,
    ] {
        let output = render(&found, format);
        match format {
            Format::Markdown => {
                let safe = super::comment::check_safe(&output);
                assert!(safe == Ok(()), "{safe:?}: {output}");
            }
            Format::Github => {
                let lines = output.lines();
                assert!(lines.clone().all(|line| line.starts_with("::notice ") || line.starts_with("::warning ")), "{output}");
            }
            _ => {}
        }
    }
}
