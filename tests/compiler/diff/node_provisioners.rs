//! Karpenter drains its nodes as soon as their object changes. The plan warns users before.

use gpuc_diff::diff::Diff;
use gpuc_diff::diff::render::{Format, render};

use super::plan::{FLUX, assert_order, edited, example, steps};
use super::{as_diffs, diff_of_texts};

#[test]
fn nodes_removed_by_a_push_are_drained_before() {
    let text = example("eks-karpenter") + FLUX;
    let from = text.find("  # Karpenter counts full GPUs").unwrap();
    let to = text.find("  - name: train\n").unwrap();
    let removed = diff_of_texts(&text, &format!("{}{}", &text[..from], &text[to..]));
    assert_order(
        &removed,
        &[
            "kubectl drain -l 'gpuc.dev/pool=infer'",
            "gpuc build",
            "Push or merge",
            "Check that the nodes of pool infer are gone",
        ],
    );
    let renamed = diff_of_texts(&text, &text.replace("name: batch", "name: bulk"));
    assert_order(
        &renamed,
        &[
            "leave it in gpu-cluster.yaml for now",
            "Push or merge",
            "kubectl drain -l 'gpuc.dev/pool=batch'",
            "Remove it from gpu-cluster.yaml, build, commit and push",
        ],
    );
}

#[test]
fn jobs_wait_for_nodes_that_scripts_create() {
    let to = |text: String| {
        let other = text.replace("autoscaler: karpenter", "autoscaler: clusterAutoscaler");
        diff_of_texts(&text, &other)
    };
    let pushed = to(example("eks-karpenter") + FLUX);
    assert_order(
        &pushed,
        &[
            "gpuc build",
            "start without nodes",
            "cloud/apply.sh\n",
            "Right before the push",
            "kubectl drain -l 'gpuc.dev/pool=batch,karpenter.sh/nodepool'",
            "Push or merge",
        ],
    );
    assert_order(
        &to(example("eks-karpenter")),
        &[
            "./install.sh",
            "Until then both create nodes",
            "kubectl delete nodepools.karpenter.sh batch",
        ],
    );
}

#[test]
fn recreated_nodes_have_a_step() {
    let found = edited("eks-karpenter", "diskGiB: 300", "diskGiB: 500");
    assert_order(
        &found,
        &[
            "gpuc build",
            "Continue when jobs may be interrupted",
            "kubectl get nodes -l 'gpuc.dev/pool=infer'",
            "./install.sh",
            "Wait until Karpenter has replaced every node of pool infer",
        ],
    );
    let found = edited("eks-karpenter", "team: platform", "team: infra");
    assert_order(
        &found,
        &[
            "pools batch, infer, train",
            "-l 'gpuc.dev/pool in (batch,infer,train)'",
            "./install.sh",
        ],
    );
}

#[test]
fn control_plane_is_upgraded_and_not_created() {
    let found = edited("gke-inference-l4", "version: \"1.34\"", "version: \"1.35\"");
    assert_order(&found, &["Upgrade the control plane", "cloud/apply.sh\n"]);
    assert!(
        !steps(&found).contains("new cloud resources"),
        "{}",
        steps(&found)
    );
}

/// The report of a change without ordered steps.
fn render_unordered(diff: Diff) -> [String; 2] {
    assert!(diff.rollout.is_empty(), "{}", steps(&diff));
    let run = as_diffs(diff);
    let text = Format::Text {
        all: false,
        plan: true,
    };
    [text, Format::Plan].map(|format| render(&run, format))
}

#[test]
fn unordered_changes_have_their_commands() {
    let (from, to) = ("runtime:0.1.0", "runtime:0.1.1");
    for text in render_unordered(edited("quickstart", from, to)) {
        for part in [
            "no special steps",
            "`gpuc build`",
            "`cloud/apply.sh`",
            "`./install.sh`",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        assert!(!text.contains("sync"), "{text}");
    }
    let text = example("quickstart") + FLUX;
    for text in render_unordered(diff_of_texts(&text, &text.replace(from, to))) {
        assert!(text.contains("then push and let Flux sync it"), "{text}");
    }
}

#[test]
fn nodes_of_a_full_reservation_are_deleted_first() {
    let (from, to) = ("dedicatedTo: research", "dedicatedTo: vision");
    let found = edited("eks-karpenter", from, to);
    assert_order(
        &found,
        &[
            "only when you delete a node",
            "./install.sh",
            "reservation cr-0123456789abcdef0 has no free machine while all of its 2 machines are in use",
            "kubectl delete nodes -l 'gpuc.dev/pool=train,karpenter.sh/nodepool'",
            "Wait until Karpenter",
        ],
    );
    let text = example("eks-karpenter");
    let large = text.replace("cdef0, count: 2}", "cdef0, count: 3}");
    assert_ne!(text, large);
    let found = diff_of_texts(&large, &large.replace(from, to));
    assert!(!steps(&found).contains("delete nodes"), "{}", steps(&found));
}
