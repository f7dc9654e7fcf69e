//! The steps of changes that require more than a run of the scripts and a sync.

use std::fs;

use gpuc_diff::diff::render::{Format, render};
use gpuc_diff::diff::{Diff, Impact};

use super::{as_diffs, diff_of_texts};
use crate::support::repository;

/// The file of an example, with a Kubernetes version that can be upgraded several times.
pub(super) fn example(name: &str) -> String {
    input(&format!("examples/{name}/gpu-cluster.yaml"))
}

/// A file of the repository, with a Kubernetes version that can be upgraded several times.
pub(super) fn input(path: &str) -> String {
    let text = fs::read_to_string(repository().join(path)).unwrap();
    text.replace("version: \"1.36\"", "version: \"1.34\"")
}

/// The differences caused by one edit of an example.
pub(super) fn edited(name: &str, from: &str, to: &str) -> Diff {
    let text = example(name);
    assert!(text.contains(from), "{from} in {name}");
    diff_of_texts(&text, &text.replacen(from, to, 1))
}

/// The steps, with one line for each description and command.
pub(super) fn steps(diff: &Diff) -> String {
    let mut text = String::new();
    for step in &diff.rollout {
        text += &format!("# {}\n", step.instruction);
        for command in &step.commands {
            text += &format!("{command}\n");
        }
    }
    text
}

/// Asserts that the steps contain these texts in this order.
pub(super) fn assert_order(diff: &Diff, expected: &[&str]) {
    let steps = steps(diff);
    let mut rest = steps.as_str();
    for part in expected {
        let at = rest.find(part);
        let at = at.unwrap_or_else(|| {
            panic!("`{part}` is missing or not after the previous texts:\n{steps}")
        });
        rest = &rest[at + part.len()..];
    }
}

/// The full report of a difference.
fn render_report(diff: &Diff) -> String {
    serde_json::to_string(diff).unwrap()
}

#[test]
fn version_is_upgraded_one_minor_at_a_time() {
    let found = edited("eks-flux", "version: \"1.34\"", "version: \"1.37\"");
    let run = "cloud/apply.sh --allow-disruption";
    assert_order(
        &found,
        &[
            "Set kubernetes.version to 1.35",
            run,
            "Set kubernetes.version to 1.36",
            run,
            "# Set kubernetes.version to 1.37, build, review and commit; push in a later step\ngpuc build\n",
            run,
        ],
    );
    for name in ["eks-training-h100", "aks-argocd", "gke-service"] {
        let found = edited(name, "version: \"1.34\"", "version: \"1.36\"");
        assert_order(
            &found,
            &[
                "Set kubernetes.version to 1.35",
                "# Set kubernetes.version to 1.36, build, review and commit",
            ],
        );
        assert!(
            !steps(&found).contains("Build the tree"),
            "{name}: {}",
            steps(&found)
        );
    }
    let next = edited("eks-flux", "version: \"1.34\"", "version: \"1.35\"");
    assert!(
        !steps(&next).contains("Set kubernetes.version"),
        "{}",
        steps(&next)
    );
}

#[test]
fn other_edits_follow_intermediate_versions() {
    const SET_ASIDE: &str = "set all other edits aside";
    let text = example("eks-training-h100");
    let upgraded = text.replace("version: \"1.34\"", "version: \"1.37\"");
    let alone = diff_of_texts(&text, &upgraded);
    assert!(!steps(&alone).contains(SET_ASIDE), "{}", steps(&alone));
    let replaced = upgraded.replace("machine: m7i.xlarge", "machine: m7i.2xlarge");
    assert_ne!(upgraded, replaced);
    let both = diff_of_texts(&text, &replaced);
    assert_order(
        &both,
        &[
            SET_ASIDE,
            "Set kubernetes.version to 1.35",
            "Set kubernetes.version to 1.36",
            "Then restore the other edits",
            "Pool system cannot be changed in place. In gpu-cluster.yaml restore it",
            "# Set kubernetes.version to 1.37, build",
            "gpuc build",
        ],
    );
    assert_eq!(steps(&both).matches(SET_ASIDE).count(), 1);
}

#[test]
fn irreversible_version_is_not_a_step_of_the_scripts() {
    let found = edited("gke-service", "version: \"1.34\"", "version: \"1.33\"");
    assert_order(
        &found,
        &[
            "cannot be downgraded in place",
            "new cluster with another name",
        ],
    );
    assert!(
        !steps(&found).contains("Every script stops"),
        "{}",
        steps(&found)
    );
}

#[test]
fn automatic_node_upgrades_are_awaited() {
    let found = edited("gke-service", "version: \"1.34\"", "version: \"1.35\"");
    assert_order(
        &found,
        &[
            "gpuc build",
            "cloud/apply.sh\n",
            "Nodes are upgraded automatically",
            "get nodes",
        ],
    );
    assert!(
        !steps(&found).contains("--allow-disruption"),
        "{}",
        steps(&found)
    );
}

#[test]
fn removed_host_loses_labels_and_taints_of_gpuc() {
    let name = "on-prem-infiniband";
    let found = edited(
        name,
        "hosts: [dgx-01, dgx-02]\n    nodes: {count: 2}",
        "hosts: [dgx-01]\n    nodes: {count: 1}",
    );
    assert_order(
        &found,
        &[
            "kubectl --context dgx-hall-2 drain dgx-02 ",
            "kubectl --context dgx-hall-2 taint node dgx-02 nvidia.com/gpu:NoSchedule-\n",
            "kubectl --context dgx-hall-2 label node dgx-02 gpuc.dev/pool-\n",
            "annotate node dgx-02 gpuc.dev/labels- gpuc.dev/taints-\n",
        ],
    );
    assert!(!steps(&found).contains("node dgx-01"), "{}", steps(&found));
}

#[test]
fn on_premises_hosts_have_no_cost() {
    let name = "on-prem-infiniband";
    let text = example(name);
    let head = "  - name: head\n    hosts: [head-01]\n    nodes: {count: 1}\n";
    let dgx = text.find("  - name: dgx\n").unwrap();
    let without = text[..dgx].to_owned();
    for found in [
        diff_of_texts(&text, &without),
        edited(name, "name: dgx\n", "name: dgy\n"),
        edited(name, "context: dgx-hall-2", "context: dgx-hall-3"),
        edited(name, head, &head.replace("head-01", "head-02")),
    ] {
        assert!(
            !render_report(&found).contains("bill"),
            "{}",
            render_report(&found)
        );
    }
    assert_order(
        &diff_of_texts(&text, &without),
        &[
            "kubectl --context dgx-hall-2 drain -l",
            "label node dgx-01",
            "label node dgx-02",
        ],
    );
}

const TO: &str = "autoscaler: karpenter";
const FROM: &str = "autoscaler: clusterAutoscaler";

#[test]
fn karpenter_takes_over_a_pool_from_scripts() {
    let found = edited("eks-scale-0-5", FROM, TO);
    assert_order(
        &found,
        &[
            "gpuc build",
            "./install.sh",
            "kubectl wait --for=condition=Ready nodepools.karpenter.sh/gpu-nodes",
            "kubectl drain -l 'gpuc.dev/pool=gpu-nodes,!karpenter.sh/nodepool'",
            "eksctl delete nodegroup --cluster=my-cluster --name=gpu-nodes",
            "helm uninstall cluster-autoscaler",
            "eksctl delete podidentityassociation --cluster=my-cluster",
        ],
    );
    assert!(
        !steps(&found).contains("add a second pool"),
        "{}",
        steps(&found)
    );
}

#[test]
fn scripts_take_over_pools_from_karpenter() {
    let found = edited("eks-karpenter", TO, FROM);
    assert_order(
        &found,
        &[
            "cloud/apply.sh\n",
            "./install.sh",
            "kubectl delete nodepools.karpenter.sh infer",
            "kubectl delete ec2nodeclasses.karpenter.k8s.aws infer",
            "helm uninstall karpenter",
            "aws cloudformation delete-stack",
        ],
    );
    assert!(
        !steps(&found).contains("add a second pool"),
        "{}",
        steps(&found)
    );
}

/// The example with Karpenter, deployed by Flux.
fn karpenter_with_flux() -> String {
    let text = example("eks-karpenter");
    text + "gitops: {flux: {repository: \"https://git.example.com/a.git\", branch: main, path: clusters/a}}\n"
}

#[test]
fn karpenter_pool_is_deleted_with_its_object() {
    let without_batch = |text: &str| {
        let batch = text.find("  - name: batch\n").unwrap();
        let next = text.find("  # Karpenter counts full GPUs").unwrap();
        diff_of_texts(text, &format!("{}{}", &text[..batch], &text[next..]))
    };
    let by_hand = without_batch(&example("eks-karpenter"));
    assert_order(
        &by_hand,
        &[
            "kubectl delete nodepools.karpenter.sh batch",
            "ec2nodeclasses.karpenter.k8s.aws batch",
        ],
    );
    assert!(
        render_report(&by_hand).contains("keeps creating nodes"),
        "{}",
        render_report(&by_hand)
    );
    let pruned = without_batch(&karpenter_with_flux());
    assert!(
        !steps(&pruned).contains("kubectl delete"),
        "{}",
        steps(&pruned)
    );
    assert!(
        render_report(&pruned).contains("as soon as Flux has pruned"),
        "{}",
        render_report(&pruned)
    );
    assert!(
        !steps(&by_hand).contains("kubectl drain"),
        "{}",
        steps(&by_hand)
    );
    for found in [by_hand, pruned] {
        assert_eq!(found.worst, Some(Impact::Deleted));
    }
}

pub(super) const FLUX: &str = "gitops: {flux: {repository: \"https://git.example.com/a.git\", branch: main, path: clusters/a}}\n";
const ARGO: &str = "gitops: {argocd: {repository: \"https://git.example.com/a.git\", branch: main, path: clusters/a}}\n";

/// The differences if another GitOps controller deploys an example.
fn change_controller(before: &str, after: &str) -> Diff {
    let text = example("eks-teams");
    diff_of_texts(&format!("{text}{before}"), &format!("{text}{after}"))
}

#[test]
fn old_controller_is_detached_before_the_new_one() {
    let suspend = "kubectl patch --kustomize \"$folder\" --type merge --patch '{\"spec\": {\"suspend\": true}}'";
    let leave = "kubectl patch --kustomize argocd/apps --type merge --patch '{\"metadata\": {\"finalizers\": null}}'";
    let register = |folder| format!("kubectl apply --server-side --kustomize {folder}");
    let (flux, argo) = (register("flux"), register("argocd"));
    let delete_secret = "kubectl delete secret --namespace ";
    assert_order(
        &change_controller(FLUX, ARGO),
        &[suspend, "gpuc build", &argo, delete_secret],
    );
    assert_order(
        &change_controller(ARGO, FLUX),
        &[leave, "gpuc build", &flux],
    );
    assert_order(
        &change_controller(FLUX, ""),
        &[suspend, "gpuc build", "./install.sh\n"],
    );
    assert_order(
        &change_controller(ARGO, ""),
        &[leave, "gpuc build", "./install.sh --take-ownership\n"],
    );
    assert_order(&change_controller("", FLUX), &["gpuc build", &flux]);
    assert_order(
        &change_controller("", ARGO),
        &["gpuc build", &argo, delete_secret],
    );
    assert!(!steps(&change_controller("", FLUX)).contains("suspend"));
    assert!(!steps(&change_controller(ARGO, FLUX)).contains(delete_secret));
}

#[test]
fn tree_without_objects_is_not_deployed() {
    let text = example("quickstart");
    let infer = text.find("  - {name: infer, ").unwrap();
    let without = text[..infer].to_owned();
    let found = diff_of_texts(&text, &without);
    assert_order(
        &found,
        &[
            "gpuc build",
            "cloud/verify.sh",
            "eksctl delete nodegroup",
            "kubectl delete",
        ],
    );
    assert!(!steps(&found).contains("./install.sh"), "{}", steps(&found));
    // Intermediate versions, and changes that need no particular order, have nothing to deploy either.
    let upgraded = without.replace("version: \"1.34\"", "version: \"1.36\"");
    let found = diff_of_texts(&without, &upgraded);
    assert_order(&found, &["Set kubernetes.version to 1.35"]);
    assert!(!steps(&found).contains("./install.sh"), "{}", steps(&found));
    let larger = without.replace("nodes: {count: 2}", "nodes: {count: 3}");
    assert_ne!(without, larger);
    let found = as_diffs(diff_of_texts(&without, &larger));
    let format = Format::Text {
        all: false,
        plan: true,
    };
    let plan = render(&found, format);
    assert!(
        plan.contains("needs no special steps")
            && plan.contains("commit, then run `cloud/apply.sh`"),
        "{plan}"
    );
    assert!(!plan.contains("install.sh"), "{plan}");
}

/// No script of such a tree creates or changes resources.
#[test]
fn plans_of_existing_clusters_name_no_missing_script() {
    let text = example("existing-rke2");
    let fewer = text.replace("nodes: {count: 3}", "nodes: {count: 2}");
    assert_ne!(text, fewer);
    let found = as_diffs(diff_of_texts(&text, &fewer));
    let format = Format::Text {
        all: false,
        plan: true,
    };
    let plan = render(&found, format);
    assert!(!plan.contains("apply.sh"), "{plan}");
    assert!(plan.contains("commit, then run `./install.sh`"), "{plan}");
}

#[test]
fn unpruned_objects_are_kept_and_have_a_delete_command() {
    let text = example("gke-service");
    let job = text.find("  - name: reindex\n").unwrap();
    let end = text[job + 3..]
        .find("\n  - name: ")
        .map_or(text.len(), |at| job + 3 + at + 1);
    let without = format!("{}{}", &text[..job], &text[end..]);
    let kept = diff_of_texts(&text, &without);
    let job_of = |found: &Diff| {
        found
            .changes
            .iter()
            .find(|it| it.kind == "CronJob")
            .unwrap()
            .clone()
    };
    assert_eq!(job_of(&kept).impact, Impact::Nothing);
    let reason = job_of(&kept).reason.unwrap();
    assert!(
        reason.contains("it stays until `kubectl delete cronjob`"),
        "{reason}"
    );
    assert_order(&kept, &["kubectl delete cronjob reindex --namespace "]);
    let pruned = diff_of_texts(&format!("{text}{FLUX}"), &format!("{without}{FLUX}"));
    assert_eq!(job_of(&pruned).impact, Impact::WorkloadRestarted);
    assert!(
        !steps(&pruned).contains("kubectl delete"),
        "{}",
        steps(&pruned)
    );
}
