//! Changed taints: the components that serve GPUs tolerate the taints of nodes before, during and after the change.

use super::diff_of_texts;
use super::plan::{FLUX, assert_order, edited, example, steps};

#[test]
fn old_taint_stays_until_nodes_have_the_new_one() {
    let found = edited(
        "aks-mig-a100",
        "value: gpu, effect: NoSchedule",
        "value: gpu, effect: NoExecute",
    );
    assert_order(
        &found,
        &[
            "sku=gpu:NoSchedule to sku=gpu:NoExecute at the same time",
            "keep the old taints next to the new ones",
            "gpuc build",
            "./install.sh",
            "apply the taints",
            "cloud/apply.sh\n",
            "cloud/verify.sh",
            "Remove sku=gpu:NoSchedule of pool slices from gpu-cluster.yaml",
            "gpuc build",
            "cloud/apply.sh\n",
            "./install.sh",
            "cloud/verify.sh",
        ],
    );
    assert!(
        !steps(&found).contains("kubectl drain"),
        "{}",
        steps(&found)
    );
}

#[test]
fn incompatible_taint_is_added_to_empty_nodes() {
    let found = edited(
        "aks-mig-a100",
        "{key: sku, value: gpu,",
        "{key: sku, value: other,",
    );
    assert_order(
        &found,
        &[
            "gpuc build",
            "a taint has another value, and a node cannot have both",
            "Drain all of its nodes at once",
            "kubectl drain -l 'gpuc.dev/pool=slices'",
            "cloud/apply.sh\n",
            "./install.sh",
            "kubectl uncordon -l 'gpuc.dev/pool=slices'",
        ],
    );
    assert_eq!(
        found.worst,
        Some(gpuc_diff::diff::Impact::WorkloadRestarted)
    );
    assert!(
        !steps(&found).contains("next to the new ones"),
        "{}",
        steps(&found)
    );
}

#[test]
fn nodes_are_drained_if_a_toleration_restarts_their_driver() {
    let found = edited(
        "eks-operator-h100",
        "value: \"true\", effect: NoSchedule",
        "value: \"true\", effect: NoExecute",
    );
    assert_order(
        &found,
        &[
            "kubectl drain -l 'gpuc.dev/pool=train'",
            "./install.sh",
            "apply the taints",
            "cloud/apply.sh\n",
            "kubectl uncordon -l 'gpuc.dev/pool=train'",
        ],
    );
    assert!(
        !steps(&found).contains("next to the new ones"),
        "{}",
        steps(&found)
    );
}

#[test]
fn taint_is_removed_before_its_toleration() {
    let off = "kubectl taint nodes -l gpuc.dev/pool=train gpuc.dev/dedicated-to:NoSchedule-\n";
    let text = example("eks-karpenter");
    let open = text.replace("    dedicatedTo: research\n", "");
    assert_order(
        &diff_of_texts(&text, &open),
        &[
            "gpuc build",
            &off.replace("gpuc.dev/pool=train", "'gpuc.dev/pool=train'"),
            "./install.sh",
        ],
    );
    assert_order(
        &diff_of_texts(&format!("{text}{FLUX}"), &format!("{open}{FLUX}")),
        &["gpuc build", "kubectl taint nodes", "Push or merge"],
    );
    let tainted = ", taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]";
    let text =
        example("quickstart").replace("name: infer", &format!("name: infer{tainted}")) + FLUX;
    assert_order(
        &diff_of_texts(&text, &text.replace(tainted, "")),
        &["gpuc build", "cloud/apply.sh\n", "Push or merge"],
    );
}

#[test]
fn taints_of_existing_nodes_are_changed_manually() {
    let taint = "    taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]\n";
    let text = example("eks-existing");
    let open = text.replacen(taint, "", 1);
    let nodes = "kubectl taint nodes -l 'eks.amazonaws.com/nodegroup=gpu-a'";
    assert_order(
        &diff_of_texts(&text, &open),
        &[
            "gpuc build",
            &format!("{nodes} nvidia.com/gpu:NoSchedule-\n"),
            "./install.sh",
        ],
    );
    assert_order(
        &diff_of_texts(&open, &text),
        &[
            "./install.sh",
            &format!("{nodes} 'nvidia.com/gpu=present:NoSchedule'\n"),
        ],
    );
}
