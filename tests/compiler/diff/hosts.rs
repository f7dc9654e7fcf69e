//! Hosts that move to another pool keep their settings, and are drained before their labels change.

use gpuc_diff::diff::{Diff, Impact};

use super::diff_of_texts;
use super::plan::{FLUX, assert_order, edited, example, steps};

/// The example with its pool renamed.
fn rename_pool(tool: &str) -> Diff {
    let text = example("on-prem-mig") + tool;
    let other = text
        .replace("name: notebooks\n", "name: books\n")
        .replace("pool: notebooks", "pool: books");
    diff_of_texts(&text, &other)
}

/// The impact on a pool, and its reason.
fn impact_and_reason(diff: &Diff, pool: &str) -> (Impact, String) {
    let mut changes = diff.changes.iter();
    let is_it = |name: &String| name == pool;
    let change = changes.find(|it| it.kind == "pool" && it.names.iter().any(is_it));
    let change = change.expect("the pool has a change");
    (change.impact, change.reason.clone().unwrap_or_default())
}

#[test]
fn renamed_pool_keeps_its_hosts() {
    let found = rename_pool("");
    assert_order(
        &found,
        &[
            "gpuc build",
            "Drain a100-01, a100-02 before the move from pool notebooks to pool books",
            "kubectl --context campus drain a100-01 --ignore-daemonsets",
            "kubectl --context campus drain a100-02 --ignore-daemonsets",
            "cloud/host-books.sh",
            "Apply the labels and taints of their pools to the hosts",
            "cloud/apply.sh\n",
            "./install.sh",
            "cloud/verify.sh",
            "kubectl --context campus uncordon a100-01\n",
            "kubectl --context campus uncordon a100-02\n",
        ],
    );
    let steps_text = steps(&found);
    for wrong in ["taint node", "label node", "annotate", "gpuc.dev/pool="] {
        assert!(!steps_text.contains(wrong), "{wrong}\n{steps_text}");
    }
    let (impact, reason) = impact_and_reason(&found, "notebooks");
    assert_eq!(impact, Impact::WorkloadRestarted);
    assert!(
        reason.contains("its hosts move to another pool"),
        "{reason}"
    );
    let (impact, reason) = impact_and_reason(&found, "books");
    assert_eq!(impact, Impact::Added);
    assert!(
        reason.contains("none of them new: a100-01, a100-02 from pool `notebooks`"),
        "{reason}"
    );
    assert!(found.gpus.is_empty());
}

#[test]
fn rename_is_pushed_after_hosts_are_drained() {
    let found = rename_pool(FLUX);
    assert_order(
        &found,
        &[
            "drain a100-01 ",
            "gpuc build",
            "cloud/apply.sh\n",
            "Push or merge",
            "cloud/verify.sh",
            "uncordon a100-01",
        ],
    );
    assert!(
        !steps(&found).contains("leave it in gpu-cluster.yaml"),
        "{}",
        steps(&found)
    );
}

#[test]
fn host_moves_between_pools() {
    let text = example("on-prem-dgx");
    let moved = text
        .replace(
            "hosts: [cpu-01, cpu-02]\n    nodes: {count: 2}",
            "hosts: [cpu-01]\n    nodes: {count: 1}",
        )
        .replace(
            "hosts: [dgx-01, dgx-02]\n    nodes: {count: 2}",
            "hosts: [dgx-01, dgx-02, cpu-02]\n    nodes: {count: 3}",
        );
    let found = diff_of_texts(&text, &moved);
    assert_order(
        &found,
        &[
            "Drain cpu-02 before the move",
            "drain cpu-02 ",
            "cloud/host-dgx.sh to each of cpu-02 ",
            "cloud/apply.sh\n",
            "uncordon cpu-02",
        ],
    );
    assert!(!steps(&found).contains("label node"), "{}", steps(&found));
}

#[test]
fn only_unassigned_hosts_are_cleaned_up() {
    let name = "on-prem-inference-groups";
    let text = example(name);
    let fewer = text
        .replace("name: h200\n", "name: h200b\n")
        .replace(
            "hosts: [gpu-01, gpu-02, gpu-03, gpu-04]\n    nodes: {count: 4}",
            "hosts: [gpu-01, gpu-02]\n    nodes: {count: 2}",
        )
        .replace("replicas: 2", "replicas: 1");
    let found = diff_of_texts(&text, &fewer);
    assert_order(
        &found,
        &[
            "drain gpu-01 ",
            "cloud/apply.sh\n",
            "drain -l 'gpuc.dev/pool=h200'",
            "label node gpu-03 ",
            "label node gpu-04 ",
        ],
    );
    assert!(
        !steps(&found).contains("label node gpu-01"),
        "{}",
        steps(&found)
    );
    let (impact, reason) = impact_and_reason(&found, "h200");
    assert_eq!(impact, Impact::Deleted);
    assert!(
        reason.contains("gpu-01, gpu-02 move to pool `h200b`"),
        "{reason}"
    );
    let kept = edited(
        name,
        "hosts: [cpu-01, cpu-02]\n    nodes: {count: 2}",
        "hosts: [cpu-01]\n    nodes: {count: 1}",
    );
    assert!(
        steps(&kept).contains("label node cpu-02"),
        "{}",
        steps(&kept)
    );
}

#[test]
fn remaining_hosts_are_unaffected_by_removals() {
    let (both, one) = (
        "hosts: [dgx-01, dgx-02]\n    nodes: {count: 2}",
        "hosts: [dgx-01]\n    nodes: {count: 1}",
    );
    let found = edited("on-prem-dgx", both, one);
    assert_order(&found, &["Host dgx-02 is removed from pool dgx"]);
    assert!(!steps(&found).contains("host-dgx.sh"), "{}", steps(&found));
    let text = example("on-prem-dgx");
    let other = text.replace(both, one).replace("\"580\"", "\"570\"");
    assert_order(
        &diff_of_texts(&text, &other),
        &["Run these commands for each of dgx-01, with its name"],
    );
}

/// One node after the other, with the commands of the script's own messages; the pool is not drained as a whole.
#[test]
fn driver_changes_node_by_node() {
    let found = edited("on-prem-dgx", "\"580\"", "\"570\"");
    assert_order(
        &found,
        &[
            "gpuc build",
            "Change the driver of pool dgx on one node at a time. Run these commands for each of dgx-01, dgx-02,",
            "node=dgx-01\n",
            "kubectl --context dgx-lab drain \"$node\" --ignore-daemonsets --delete-emptydir-data\n",
            "scp cloud/host-dgx.sh \"$node\":\n",
            "ssh -t \"$node\" sudo bash host-dgx.sh --allow-disruption\n",
            "ssh -t \"$node\" sudo reboot\n",
            "while ssh -t \"$node\" sudo bash host-dgx.sh; [ $? = 255 ]; do sleep 20; done\n",
            "kubectl --context dgx-lab uncordon \"$node\"\n",
            "./install.sh",
            "cloud/verify.sh",
        ],
    );
    let steps_text = steps(&found);
    assert!(!steps_text.contains("drain -l"), "{steps_text}");
    assert!(!steps_text.contains("Copy cloud/host"), "{steps_text}");
}

/// New hosts have no node to drain, and a pool that is drained anyway has no pods left.
#[test]
fn only_serving_nodes_are_drained_for_the_driver() {
    let text = example("on-prem-dgx");
    let other = text.replace("\"580\"", "\"570\"").replace(
        "hosts: [dgx-01, dgx-02]\n    nodes: {count: 2}",
        "hosts: [dgx-01, dgx-02, dgx-03]\n    nodes: {count: 3}",
    );
    assert_order(
        &diff_of_texts(&text, &other),
        &[
            "Run these commands for each of dgx-01, dgx-02,",
            "Copy cloud/host-dgx.sh to each of dgx-03 and run it there",
            "sudo bash host-dgx.sh\n",
        ],
    );
    let text =
        example("on-prem-mig").replace("runtimeImage:", "driverVersion: \"580\", runtimeImage:");
    let other = text
        .replace("\"580\"", "\"570\"")
        .replace("1g.10gb, count: 7", "2g.20gb, count: 3");
    let found = diff_of_texts(&text, &other);
    assert_order(
        &found,
        &[
            "drain -l 'gpuc.dev/pool=notebooks'",
            "Copy cloud/host-notebooks.sh to each of a100-01, a100-02 ",
            "sudo bash host-notebooks.sh --allow-disruption\n",
            "uncordon -l 'gpuc.dev/pool=notebooks'",
        ],
    );
    assert!(!steps(&found).contains("node=a100-01"), "{}", steps(&found));
}
