//! A pool in whose place another one comes: whose nodes are emptied, and what names it meanwhile.

use super::of_texts;
use super::plan::{FLUX, edited, example, in_order, steps};

const EXISTING: &str = "    existing: {selector: {eks.amazonaws.com/nodegroup: gpu-a}}\n";
const THEIRS: &str = "kubectl drain -l 'eks.amazonaws.com/nodegroup=gpu-a'";

#[test]
fn nodes_of_others_are_emptied_by_their_own_labels() {
    let found = edited("eks-existing", EXISTING, "");
    in_order(
        &found,
        &[
            "add a pool beside it",
            "cloud/verify.sh",
            THEIRS,
            "no script deletes them: whoever made them",
            "then take it out of gpu-cluster.yaml",
            "kubectl get nodes -l 'eks.amazonaws.com/nodegroup=gpu-a'",
        ],
    );
    assert!(!steps(&found).contains("pool=gpu-a"), "{}", steps(&found));
}

#[test]
fn nodes_of_others_make_way_for_a_pool_of_another_name() {
    for tool in ["", FLUX] {
        let text = example("eks-existing") + tool;
        let other = text
            .replace(EXISTING, "")
            .replace("name: gpu-a\n", "name: gpu-c\n");
        assert_ne!(text, other);
        let found = of_texts(&text, &other);
        in_order(
            &found,
            &[
                "cloud/apply.sh\n",
                "cloud/verify.sh",
                THEIRS,
                "whoever made them",
            ],
        );
        let later = steps(&found).contains("leave it in gpu-cluster.yaml for now");
        assert_eq!(later, !tool.is_empty(), "{}", steps(&found));
    }
    // Where nothing takes their place, nothing is said of nodes that gpuc never made.
    let text = example("eks-existing");
    let at = text.find("  - name: gpu-a\n").unwrap();
    let end = text.find("  # A second pool beside it").unwrap();
    let found = of_texts(&text, &format!("{}{}", &text[..at], &text[end..]));
    assert!(!steps(&found).contains("drain"), "{}", steps(&found));
}

#[test]
fn gpus_of_nodes_of_others_are_freed_by_their_own_labels() {
    let shared =
        "    taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]\n  # A second";
    let mps = format!("    sharing: {{mps: {{replicas: 2, rename: true}}}}\n{shared}");
    let found = edited("eks-existing", shared, &mps);
    in_order(
        &found,
        &[
            THEIRS,
            "kubectl uncordon -l 'eks.amazonaws.com/nodegroup=gpu-a'",
        ],
    );
}

#[test]
fn what_names_a_pool_moves_before_it_is_emptied() {
    let found = edited("eks-queues", "machine: g6.4xlarge", "machine: g6.8xlarge");
    let at = "teams[product].quota.gpus[infer].pool (gpu-cluster.yaml:78:18)";
    in_order(
        &found,
        &[
            "add a pool beside it, under another name, as it shall be. Give it quotas as well",
            at,
            "jobs of a team start on no pool that its quota does not name",
            "cloud/verify.sh",
            "take the quotas of infer out",
            at,
            "gpuc build",
            "./install.sh",
            "kubectl drain -l 'gpuc.dev/pool=infer'",
            "take it out of gpu-cluster.yaml",
        ],
    );
    // A workload on a pool goes on there until the new one serves.
    let text = example("eks-queues");
    let work = "workloads:\n  - name: ask\n    team: product\n    pool: infer\n    deployment: {gpus: 1, image: \"i:1\", \
                memory: 8Gi, service: {port: 80}}\n";
    let text = text + work;
    let other = text.replace("machine: g6.4xlarge", "machine: g6.8xlarge");
    in_order(
        &of_texts(&text, &other),
        &[
            "What else names infer does so until a step below: workloads[ask].pool (",
            "cloud/verify.sh",
            "write the new pool in place of infer in workloads[ask].pool (",
            "gpuc build",
            "kubectl drain -l 'gpuc.dev/pool=infer'",
        ],
    );
    // What nothing names moves nowhere.
    let found = edited("quickstart", "model: L4", "model: T4");
    assert!(!steps(&found).contains("in place of"), "{}", steps(&found));
}
