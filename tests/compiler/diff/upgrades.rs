//! Changes caused by a newer gpuc, chart or image, separate from the user's changes.

use std::collections::BTreeMap;
use std::fs;

use gpuc_compile::lock::Lock;
use gpuc_diff::diff::render::{Format, render};
use gpuc_diff::diff::{Committed, Diff, Impact, Pair, diff};

use super::{as_diffs, compile_versions, options};
use crate::support::repository;

/// The differences from an example's tree as an old version of gpuc wrote it. `change` modifies the files and the lock.
fn diff_from_older_gpuc(change: impl Fn(&mut BTreeMap<String, String>, &mut Lock)) -> Diff {
    let text = fs::read_to_string(repository().join("examples/eks-flux/gpu-cluster.yaml")).unwrap();
    let sides = compile_versions(
        &text,
        &text.replace(
            "p4d.24xlarge # 8 x A100 40GB\n    nodes: {count: 1}",
            "p4d.24xlarge\n    nodes: {count: 3}",
        ),
    )
    .unwrap_or_else(|findings| panic!("{findings}"));
    let (tree, lock) = sides.before.output.as_ref().unwrap();
    let files = tree
        .files()
        .map(|(path, file)| (path.to_owned(), file.contents.clone()));
    let (mut files, mut lock) = (files.collect(), lock.clone());
    change(&mut files, &mut lock);
    for (path, contents) in &files {
        lock.files.insert(
            path.clone(),
            gpuc_compile::lock::digest(contents.as_bytes()),
        );
    }
    let committed = Committed {
        lock_text: lock.to_json(),
        lock,
        files,
        built_from: None,
    };
    let pair = Pair {
        before: Some(&sides.before),
        after: Some(&sides.after),
        committed: Some(&committed),
        lock: None,
    };
    diff(pair, &options(), &sides.sources).unwrap()
}

#[test]
fn current_tree_needs_no_upgrade() {
    let found = diff_from_older_gpuc(|_, _| {});
    assert!(found.upgrades.is_empty() && found.upgraded.is_empty());
    assert!(!found.changes.is_empty());
}

#[test]
fn older_chart_is_separate_from_user_changes() {
    let found = diff_from_older_gpuc(|files, lock| {
        lock.gpuc = "0.0.9".to_owned();
        for pin in lock.pins.charts.values_mut() {
            pin.version = "0.17.0".to_owned();
        }
        for text in files.values_mut() {
            *text = text.replace("version: \"0.20.0\"", "version: \"0.17.0\"");
        }
    });
    assert!(
        found
            .upgraded
            .iter()
            .any(|moved| moved.starts_with("gpuc 0.0.9 → ")),
        "{:?}",
        found.upgraded
    );
    assert!(
        found
            .upgraded
            .iter()
            .any(|moved| moved.contains(" 0.17.0 → ")),
        "{:?}",
        found.upgraded
    );
    let release = found
        .upgrades
        .iter()
        .find(|change| change.kind == "Helm release")
        .unwrap();
    assert_eq!(release.impact, Impact::DevicePluginRestarted);
    assert!(
        found
            .changes
            .iter()
            .all(|change| change.kind != "Helm release")
    );
    for file in &found.files {
        assert!(
            !file.changes.is_empty(),
            "no change accounts for {}",
            file.path
        );
    }
    let output = render(
        &as_diffs(found),
        Format::Text {
            all: false,
            plan: false,
        },
    );
    assert!(
        output.contains("Not caused by an edit of the input"),
        "{output}"
    );
}

#[test]
fn object_of_older_gpuc_is_named() {
    let found = diff_from_older_gpuc(|files, _| {
        let path = files
            .keys()
            .find(|path| path.contains("clusterrole-"))
            .unwrap()
            .clone();
        let text = files[&path].replace("nodes", "pods");
        files.insert(path, text);
    });
    let roles: Vec<_> = found
        .upgrades
        .iter()
        .filter(|change| change.kind == "ClusterRole")
        .collect();
    assert_eq!(roles.len(), 1);
    assert_eq!(roles[0].impact, Impact::AccessChanged);
}
