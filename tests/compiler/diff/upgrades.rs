//! What moves because gpuc, a chart or an image moved, apart from what the user changed.

use std::collections::BTreeMap;
use std::fs;

use gpuc::diff::render::{Format, render};
use gpuc::diff::{Committed, Diff, Impact, Pair, diff};
use gpuc::lock::Lock;

use super::{options, run, sides};
use crate::support::repository;

/// The tree of an example as a gpuc of long ago wrote it: `change` is made in its files and in its lock.
fn since(change: impl Fn(&mut BTreeMap<String, String>, &mut Lock)) -> Diff {
    let text = fs::read_to_string(repository().join("examples/eks-flux/gpu-cluster.yaml")).unwrap();
    let sides = sides(
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
        lock.files
            .insert(path.clone(), gpuc::lock::digest(contents.as_bytes()));
    }
    let committed = Committed {
        lock_text: lock.to_json(),
        lock,
        files,
        made_of: None,
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
fn a_tree_of_this_gpuc_has_nothing_to_upgrade() {
    let found = since(|_, _| {});
    assert!(found.upgrades.is_empty() && found.upgraded.is_empty());
    assert!(!found.changes.is_empty());
}

#[test]
fn an_older_chart_is_told_apart_from_what_the_user_changed() {
    let found = since(|files, lock| {
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
    assert_eq!(release.impact, Impact::PluginRestarted);
    assert!(
        found
            .changes
            .iter()
            .all(|change| change.kind != "Helm release")
    );
    for file in &found.files {
        assert!(
            !file.changes.is_empty(),
            "nothing accounts for {}",
            file.path
        );
    }
    let said = render(
        &run(found),
        Format::Text {
            all: false,
            plan: false,
        },
    );
    assert!(said.contains("because this moved"), "{said}");
}

#[test]
fn an_object_that_an_older_gpuc_wrote_otherwise_is_named() {
    let found = since(|files, _| {
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
