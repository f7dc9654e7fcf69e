//! DeviceClasses that get and lose the name of an extended resource.

use std::fs;

use gpuc_diff::diff::Impact;

use super::diff_of_texts;
use super::plan::{FLUX, assert_order, steps};
use crate::support::repository;

const KEY: &str = ", stack: {extendedResources: true}";

fn input() -> String {
    fs::read_to_string(repository().join("tests/compiler/rich/dra-queues.yaml")).unwrap()
}

const RENEW: &str =
    "kubectl annotate deviceclass gpu.nvidia.com gpuc.dev/renewed=\"$(date +%s)\" --overwrite";

#[test]
fn name_is_added_without_a_rollout_and_restored_after_its_removal() {
    let text = input();
    let without = text.replace(KEY, "");
    assert_ne!(text, without);
    let added = diff_of_texts(&without, &text);
    let class = added
        .changes
        .iter()
        .find(|it| it.kind == "DeviceClass")
        .unwrap();
    assert_eq!(class.impact, Impact::AccessChanged);
    let reason = class.reason.as_deref().unwrap_or_default();
    assert!(reason.contains("running pods keep theirs"), "{class:?}");
    assert_eq!(steps(&added), "");
    let removed = diff_of_texts(&text, &without);
    assert_order(&removed, &["./install.sh", RENEW]);
    let removed = diff_of_texts(&(text + FLUX), &(without + FLUX));
    assert_order(&removed, &["Push or merge", RENEW]);
}

/// The class of a renamed pool is created before the old one is deleted, with which the scheduler forgets the name.
#[test]
fn class_of_a_renamed_pool_keeps_the_name() {
    let text = input();
    let renamed = text.replace("name: train,", "name: learn,");
    let renamed = renamed.replace("pool: train,", "pool: learn,");
    assert_order(
        &diff_of_texts(&text, &renamed),
        &[
            "./install.sh",
            "kubectl delete deviceclass train.gpuc.dev",
            "kubectl annotate deviceclass learn.gpuc.dev",
        ],
    );
}

/// The device plugin is gone when the class takes its name: the scheduler does not use DRA on a node whose plugin
/// advertises the name.
#[test]
fn plugin_leaves_before_the_class_takes_its_name() {
    let dra = "stack: {allocation: dra}";
    let plugin = "stack: {runtimeImage: \"r.example.com/gpuc-runtime:0.1.0\"}";
    let after = input();
    let mut before = after.replace(KEY, "").replace(dra, plugin);
    // Replicas of GPUs have another unit in quotas; no team has a quota of this pool.
    before = before.replace(", sharing: {mps: {replicas: 4}}", "");
    let after = after.replace(", sharing: {mps: {replicas: 4}}", "");
    assert_order(
        &diff_of_texts(&before, &after),
        &[
            "kubectl drain -l 'gpuc.dev/pool=train'",
            "kubectl delete daemonset gpuc-runtime-train",
            "./install.sh",
            "kubectl uncordon -l 'gpuc.dev/pool=train'",
        ],
    );
    assert_order(
        &diff_of_texts(&(before + FLUX), &(after + FLUX)),
        &[
            "kubectl drain -l 'gpuc.dev/pool=train'",
            "Push or merge",
            "kubectl uncordon -l 'gpuc.dev/pool=train'",
        ],
    );
}
