//! Nodes of Karpenter's, which it drains as soon as it is told: people are told before.

use gpuc::diff::Diff;
use gpuc::diff::render::{Format, render};

use super::plan::{FLUX, edited, example, in_order, steps};
use super::{of_texts, run};

#[test]
fn nodes_that_leave_by_a_push_are_empty_before() {
    let text = example("eks-karpenter") + FLUX;
    let from = text.find("  # Karpenter knows GPUs").unwrap();
    let to = text.find("  - name: train\n").unwrap();
    let gone = of_texts(&text, &format!("{}{}", &text[..from], &text[to..]));
    in_order(
        &gone,
        &[
            "kubectl drain -l 'gpuc.dev/pool=infer'",
            "gpuc build",
            "Push, or merge",
            "Look that the nodes of pool infer are gone",
        ],
    );
    let renamed = of_texts(&text, &text.replace("name: batch", "name: bulk"));
    in_order(
        &renamed,
        &[
            "leave it in gpu-cluster.yaml for now",
            "Push, or merge",
            "kubectl drain -l 'gpuc.dev/pool=batch'",
            "Take it out of gpu-cluster.yaml, build, commit and push",
        ],
    );
}

#[test]
fn nodes_that_scripts_make_instead_are_awaited_by_the_jobs_of_the_old() {
    let to = |text: String| {
        let other = text.replace("autoscaler: karpenter", "autoscaler: clusterAutoscaler");
        of_texts(&text, &other)
    };
    let pushed = to(example("eks-karpenter") + FLUX);
    in_order(
        &pushed,
        &[
            "gpuc build",
            "it begins without nodes",
            "cloud/apply.sh\n",
            "Right before the push",
            "kubectl drain -l 'gpuc.dev/pool=batch,karpenter.sh/nodepool'",
            "Push, or merge",
        ],
    );
    in_order(
        &to(example("eks-karpenter")),
        &[
            "./install.sh",
            "Until then both make nodes",
            "kubectl delete nodepools.karpenter.sh batch",
        ],
    );
}

#[test]
fn nodes_that_are_made_again_have_their_step() {
    let found = edited("eks-karpenter", "diskGiB: 300", "diskGiB: 500");
    in_order(
        &found,
        &[
            "gpuc build",
            "Go on when jobs may be interrupted",
            "kubectl get nodes -l 'gpuc.dev/pool=infer'",
            "./install.sh",
            "Look until Karpenter has made every node of pool infer again",
        ],
    );
    let found = edited("eks-karpenter", "team: platform", "team: infra");
    in_order(
        &found,
        &[
            "pools batch, infer, train",
            "-l 'gpuc.dev/pool in (batch,infer,train)'",
            "./install.sh",
        ],
    );
}

#[test]
fn a_control_plane_is_raised_and_not_made() {
    let found = edited("gke-inference-l4", "version: \"1.34\"", "version: \"1.35\"");
    in_order(
        &found,
        &["Let the cloud raise the control plane", "cloud/apply.sh\n"],
    );
    assert!(
        !steps(&found).contains("what is new in the cloud"),
        "{}",
        steps(&found)
    );
}

/// What is said of a difference that takes no order.
fn unordered(diff: Diff) -> [String; 2] {
    assert!(diff.rollout.is_empty(), "{}", steps(&diff));
    let run = run(diff);
    let text = Format::Text {
        all: false,
        plan: true,
    };
    [text, Format::Plan].map(|format| render(&run, format))
}

#[test]
fn what_takes_no_order_is_told_with_its_commands() {
    let (from, to) = ("runtime:0.1.0", "runtime:0.1.1");
    for text in unordered(edited("quickstart", from, to)) {
        for part in [
            "no order to keep",
            "`gpuc build`",
            "`cloud/apply.sh`",
            "`./install.sh`",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        assert!(!text.contains("sync"), "{text}");
    }
    let text = example("quickstart") + FLUX;
    for text in unordered(of_texts(&text, &text.replace(from, to))) {
        assert!(text.contains("then push, and let Flux bring it"), "{text}");
    }
}

#[test]
fn nodes_of_a_full_reservation_are_deleted_for_others_to_come() {
    let (from, to) = ("dedicatedTo: research", "dedicatedTo: vision");
    let found = edited("eks-karpenter", from, to);
    in_order(
        &found,
        &[
            "only when you delete a node",
            "./install.sh",
            "reservation cr-0123456789abcdef0 has no machine for that while all of its 2 are in use",
            "kubectl delete nodes -l 'gpuc.dev/pool=train,karpenter.sh/nodepool'",
            "Look until Karpenter",
        ],
    );
    let text = example("eks-karpenter");
    let large = text.replace("cdef0, count: 2}", "cdef0, count: 3}");
    assert_ne!(text, large);
    let found = of_texts(&large, &large.replace(from, to));
    assert!(!steps(&found).contains("delete nodes"), "{}", steps(&found));
}
