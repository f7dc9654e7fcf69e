//! Pools with existing nodes that another pool replaces: which nodes are drained, and when references to the pool
//! change.

use super::diff_of_texts;
use super::plan::{FLUX, assert_order, edited, example, steps};

const EXISTING: &str = "    existing: {selector: {eks.amazonaws.com/nodegroup: gpu-a}}\n";
const DRAIN_EXISTING_NODES: &str = "kubectl drain -l 'eks.amazonaws.com/nodegroup=gpu-a'";

#[test]
fn existing_nodes_are_drained_by_their_own_labels() {
    let found = edited("eks-existing", EXISTING, "");
    assert_order(
        &found,
        &[
            "add a second pool",
            "cloud/verify.sh",
            DRAIN_EXISTING_NODES,
            "no script deletes them: delete them, or their node group",
            "then remove it from gpu-cluster.yaml",
            "kubectl get nodes -l 'eks.amazonaws.com/nodegroup=gpu-a'",
        ],
    );
    assert!(!steps(&found).contains("pool=gpu-a"), "{}", steps(&found));
}

#[test]
fn renamed_pool_takes_over_existing_nodes() {
    for tool in ["", FLUX] {
        let text = example("eks-existing") + tool;
        let other = text
            .replace(EXISTING, "")
            .replace("name: gpu-a\n", "name: gpu-c\n");
        assert_ne!(text, other);
        let found = diff_of_texts(&text, &other);
        assert_order(
            &found,
            &[
                "cloud/apply.sh\n",
                "cloud/verify.sh",
                DRAIN_EXISTING_NODES,
                "with the tool that created them",
            ],
        );
        let later = steps(&found).contains("leave it in gpu-cluster.yaml for now");
        assert_eq!(later, !tool.is_empty(), "{}", steps(&found));
    }
    // Without a replacement, no step mentions nodes that gpuc did not create.
    let text = example("eks-existing");
    let at = text.find("  - name: gpu-a\n").unwrap();
    let end = text.find("  # A second pool, created by gpuc").unwrap();
    let found = diff_of_texts(&text, &format!("{}{}", &text[..at], &text[end..]));
    assert!(!steps(&found).contains("drain"), "{}", steps(&found));
}

#[test]
fn gpus_of_existing_nodes_are_freed_by_their_labels() {
    let shared =
        "    taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]\n  # A second";
    let mps = format!("    sharing: {{mps: {{replicas: 2, rename: true}}}}\n{shared}");
    let found = edited("eks-existing", shared, &mps);
    assert_order(
        &found,
        &[
            DRAIN_EXISTING_NODES,
            "kubectl uncordon -l 'eks.amazonaws.com/nodegroup=gpu-a'",
        ],
    );
}

#[test]
fn references_to_a_pool_move_before_it_is_drained() {
    let found = edited("eks-queues", "machine: g6.4xlarge", "machine: g6.8xlarge");
    let at = "teams[product].quota.gpus[infer].pool (gpu-cluster.yaml:83:18)";
    assert_order(
        &found,
        &[
            "add a second pool with another name and the new settings. Also give it quotas",
            at,
            "a team's jobs start only on pools that its quota names",
            "cloud/verify.sh",
            "remove the quotas of infer",
            at,
            "gpuc build",
            "./install.sh",
            "kubectl drain -l 'gpuc.dev/pool=infer'",
            "remove it from gpu-cluster.yaml",
        ],
    );
    // A workload keeps running on its pool until the new pool serves.
    let text = example("eks-queues");
    let work = "workloads:\n  - name: ask\n    team: product\n    pool: infer\n    deployment: {gpus: 1, image: \"i:1\", \
                memory: 8Gi, service: {port: 80}}\n";
    let text = text + work;
    let other = text.replace("machine: g6.4xlarge", "machine: g6.8xlarge");
    assert_order(
        &diff_of_texts(&text, &other),
        &[
            "Leave other references to infer unchanged until a step below: workloads[ask].pool (",
            "cloud/verify.sh",
            "replace infer with the new pool in workloads[ask].pool (",
            "gpuc build",
            "kubectl drain -l 'gpuc.dev/pool=infer'",
        ],
    );
    // Without a reference to the pool, no step moves references.
    let found = edited("quickstart", "model: L4", "model: T4");
    assert!(
        !steps(&found).contains("with the new pool in"),
        "{}",
        steps(&found)
    );
}
