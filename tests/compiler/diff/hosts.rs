//! Hosts that another pool has: the same machines, which lose nothing and are emptied before their labels change.

use gpuc::diff::{Diff, Impact};

use super::of_texts;
use super::plan::{FLUX, edited, example, in_order, steps};

/// The example with its pool called otherwise.
fn renamed(tool: &str) -> Diff {
    let text = example("on-prem-mig") + tool;
    let other = text
        .replace("name: notebooks\n", "name: books\n")
        .replace("pool: notebooks", "pool: books");
    of_texts(&text, &other)
}

/// Why a pool is said to be as it is.
fn because(diff: &Diff, pool: &str) -> (Impact, String) {
    let mut changes = diff.changes.iter();
    let is_it = |name: &String| name == pool;
    let change = changes.find(|it| it.kind == "pool" && it.names.iter().any(is_it));
    let change = change.expect("the pool differs");
    (change.impact, change.because.clone().unwrap_or_default())
}

#[test]
fn a_pool_that_is_called_otherwise_has_the_hosts_it_had() {
    let found = renamed("");
    in_order(
        &found,
        &[
            "gpuc build",
            "Empty a100-01, a100-02 on the way from pool notebooks to pool books",
            "kubectl --context campus drain a100-01 --ignore-daemonsets",
            "kubectl --context campus drain a100-02 --ignore-daemonsets",
            "cloud/host-books.sh",
            "Let the hosts have the labels and taints of their pools",
            "cloud/apply.sh\n",
            "./install.sh",
            "cloud/verify.sh",
            "kubectl --context campus uncordon a100-01\n",
            "kubectl --context campus uncordon a100-02\n",
        ],
    );
    let said = steps(&found);
    for wrong in ["taint node", "label node", "annotate", "gpuc.dev/pool="] {
        assert!(!said.contains(wrong), "{wrong}\n{said}");
    }
    let (impact, words) = because(&found, "notebooks");
    assert_eq!(impact, Impact::WorkloadRestarted);
    assert!(
        words.contains("the same machines in another pool"),
        "{words}"
    );
    let (impact, words) = because(&found, "books");
    assert_eq!(impact, Impact::Added);
    assert!(
        words.contains("none of them new: a100-01, a100-02 of pool `notebooks`"),
        "{words}"
    );
    assert!(found.gpus.is_empty());
}

#[test]
fn a_tool_hears_of_another_name_when_the_hosts_are_empty() {
    let found = renamed(FLUX);
    in_order(
        &found,
        &[
            "drain a100-01 ",
            "gpuc build",
            "cloud/apply.sh\n",
            "Push, or merge",
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
fn a_host_goes_from_one_pool_to_another() {
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
    let found = of_texts(&text, &moved);
    in_order(
        &found,
        &[
            "Empty cpu-02 on the way",
            "drain cpu-02 ",
            "cloud/host-dgx.sh to each of cpu-02 ",
            "cloud/apply.sh\n",
            "uncordon cpu-02",
        ],
    );
    assert!(!steps(&found).contains("label node"), "{}", steps(&found));
}

#[test]
fn only_hosts_that_nobody_has_any_more_lose_what_gpuc_put_on_them() {
    let name = "on-prem-inference-groups";
    let text = example(name);
    let fewer = text
        .replace("name: h200\n", "name: h200b\n")
        .replace(
            "hosts: [gpu-01, gpu-02, gpu-03, gpu-04]\n    nodes: {count: 4}",
            "hosts: [gpu-01, gpu-02]\n    nodes: {count: 2}",
        )
        .replace("replicas: 2", "replicas: 1");
    let found = of_texts(&text, &fewer);
    in_order(
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
    let (impact, words) = because(&found, "h200");
    assert_eq!(impact, Impact::Deleted);
    assert!(
        words.contains("gpu-01, gpu-02 go to pool `h200b`"),
        "{words}"
    );
    let stays = edited(
        name,
        "hosts: [cpu-01, cpu-02]\n    nodes: {count: 2}",
        "hosts: [cpu-01]\n    nodes: {count: 1}",
    );
    assert!(
        steps(&stays).contains("label node cpu-02"),
        "{}",
        steps(&stays)
    );
}

#[test]
fn hosts_that_stay_have_nothing_to_run_when_others_leave() {
    let (both, one) = (
        "hosts: [dgx-01, dgx-02]\n    nodes: {count: 2}",
        "hosts: [dgx-01]\n    nodes: {count: 1}",
    );
    let found = edited("on-prem-dgx", both, one);
    in_order(&found, &["Host dgx-02 leaves pool dgx"]);
    assert!(!steps(&found).contains("host-dgx.sh"), "{}", steps(&found));
    let text = example("on-prem-dgx");
    let other = text.replace(both, one).replace("\"580\"", "\"570\"");
    in_order(
        &of_texts(&text, &other),
        &["cloud/host-dgx.sh to each of dgx-01 "],
    );
}
