//! The impacts in a report: texts, numbers of affected nodes, and the order of clusters.

use gpuc_compile::compile::Compilation;
use gpuc_diff::diff::{Change, Diff, Impact, Pair, Status, diff};

use super::diff_command::{commit, committed_example, gpuc, standard_output};
use super::plan::{assert_order, edited, example};
use super::{compile_versions, diff_of_texts, options};

fn find_change<'d>(diff: &'d Diff, kind: &str, name: &str) -> &'d Change {
    let mut changes = diff.changes.iter();
    let is_it = |it: &&Change| it.kind == kind && it.names.iter().any(|of| of.contains(name));
    let found = changes.find(is_it);
    found.unwrap_or_else(|| panic!("{kind} {name}: {:#?}", diff.changes))
}

fn reason_for<'d>(diff: &'d Diff, kind: &str, name: &str) -> &'d str {
    find_change(diff, kind, name)
        .reason
        .as_deref()
        .unwrap_or_default()
}

/// The differences if an example is added or removed as a cluster.
fn added_or_removed(name: &str, is_new: bool) -> Diff {
    let text = example(name);
    let sides = compile_versions(&text, &text).unwrap();
    let one: Option<&Compilation> = Some(&sides.after);
    let pair = Pair {
        before: one.filter(|_| !is_new),
        after: one.filter(|_| is_new),
        committed: None,
        lock: None,
    };
    diff(pair, &options(), &sides.sources).unwrap()
}

#[test]
fn new_cluster_disrupts_nothing() {
    for name in ["gke-training-a3", "eks-queues", "eks-flux", "on-prem-mig"] {
        let found = added_or_removed(name, true);
        let worst = found.worst.unwrap();
        assert!(
            worst >= Impact::CapacityGained,
            "{name}: {}",
            worst.as_str()
        );
        assert!(
            found.changes.iter().all(|it| !it.causes.is_empty()),
            "{name}"
        );
        let cause = &found.changes[0].causes[0];
        assert_eq!(cause.path, "metadata.name");
        assert_eq!(cause.file.as_deref(), Some("gpu-cluster.yaml"));
        assert!(!cause.in_base);
    }
}

#[test]
fn removed_cluster_is_counted_and_its_objects_stay() {
    let found = added_or_removed("gke-training-a3", false);
    let cluster = find_change(&found, "cluster", "itself");
    assert_eq!(cluster.nodes.unwrap().max, 6);
    assert!(cluster.causes[0].in_base);
    let installer = find_change(&found, "DaemonSet", "nvidia-driver-installer");
    assert_eq!(installer.impact, Impact::Nothing);
    let first = reason_for(&found, "GKE cluster's first pool", "default-pool");
    assert!(!first.contains("bill"), "{first}");
}

#[test]
fn unmanaged_setting_has_no_cost() {
    let found = edited("eks-teams", "    network: isolated\n", "");
    let network = reason_for(&found, "EKS network plugin", "vpc-cni");
    assert_eq!(network, "no script manages it any more");
    let found = edited(
        "aks-mig-a100",
        "  classes: [{name: datasets, volumes: {files: {type: blob-nfs}}}]\n",
        "  classes: []\n",
    );
    let driver = reason_for(&found, "AKS cluster", "aks-mig-a100");
    assert!(
        driver.contains("stays as it is until you change it"),
        "{driver}"
    );
    let found = edited(
        "eks-karpenter",
        "autoscaler: karpenter",
        "autoscaler: clusterAutoscaler",
    );
    let nodes = reason_for(&found, "Karpenter nodes", "");
    assert!(!nodes.contains("bill"), "{nodes}");
}

#[test]
fn cluster_stays_if_externally_managed() {
    let found = edited(
        "quickstart",
        "cluster: {create: {}}",
        "cluster: {existing: {}}",
    );
    let removed = reason_for(&found, "EKS cluster", "quickstart");
    assert!(removed.starts_with("nothing is deleted"), "{removed}");
    let text = example("quickstart");
    let there = text.replace("cluster: {create: {}}", "cluster: {existing: {}}");
    let found = diff_of_texts(&there, &text);
    let added = reason_for(&found, "EKS cluster", "quickstart");
    assert!(added.starts_with("it exists"), "{added}");
}

#[test]
fn possible_renames_are_uncertain() {
    for (name, from, to) in [
        ("on-prem-dgx", "context: dgx-lab", "context: dgx-hall"),
        (
            "aks-argocd",
            "    cluster: aks-argocd",
            "    cluster: other",
        ),
    ] {
        let found = edited(name, from, to);
        let reason = reason_for(&found, "cluster", "itself");
        assert!(
            reason.contains("unless it is the same one under another name"),
            "{reason}"
        );
    }
    let found = edited(
        "aks-spot",
        "resourceGroup: ml-batch",
        "resourceGroup: other",
    );
    assert!(!reason_for(&found, "cluster", "itself").contains("unless"));
}

#[test]
fn affected_nodes_are_counted() {
    let found = edited("eks-existing", "nodegroup: gpu-a", "nodegroup: gpu-x");
    let set = find_change(&found, "DaemonSet", "gpuc-runtime-gpu-a");
    assert_eq!(set.nodes.unwrap().max, 2);
    assert!(reason_for(&found, "DaemonSet", "gpuc-runtime-gpu-a").contains("stop on nodes"));
    let found = edited(
        "aks-operator-mig",
        "{gpus: \"1\", layout: [{profile: 3g.40gb, count: 2}]}",
        "{gpus: \"1\", layout: [{profile: 2g.20gb, count: 3}]}",
    );
    let release = find_change(&found, "Helm release", "gpu-operator");
    assert_eq!(release.impact, Impact::MigReconfigured);
    assert_eq!(release.nodes.unwrap().max, 2);
}

#[test]
fn remaining_access_is_listed_first() {
    let found = edited(
        "eks-teams",
        "user: ada@acme.dev, role: admin",
        "user: ada@acme.dev, role: view",
    );
    let first = &found.changes[0];
    assert_eq!(first.status, Status::Removed);
    assert_eq!(first.kind, "RoleBinding");
    let reason = first.reason.as_deref().unwrap_or_default();
    assert!(reason.starts_with("the removed access remains"), "{reason}");
}

#[test]
fn removed_hub_loses_its_database() {
    let tool = "gitops:\n  flux: {repository: \"https://git.example.com/a.git\", branch: main, path: clusters/a}\n";
    let text = example("on-prem-mig") + tool;
    let without = |text: &str| {
        let (head, _) = text.split_once("notebooks:\n  jupyterHub:").unwrap();
        format!("{head}{tool}")
    };
    let found = diff_of_texts(&text, &without(&text));
    assert_eq!(found.worst, Some(Impact::Deleted));
    assert!(reason_for(&found, "Helm release", "jupyterhub").contains("database"));
    let outside = text.replace("      hub:\n", "      hub:\n        db: {type: postgres}\n");
    let found = diff_of_texts(&outside, &without(&outside));
    assert_eq!(found.worst, Some(Impact::ServiceRestarted));
}

#[test]
fn replaced_gitops_controller_disrupts_nothing() {
    let text = example("eks-flux");
    let (head, rest) = text.split_once("  flux:\n").unwrap();
    let end = rest.find("\n\n").unwrap_or(rest.len());
    let lines = rest[..end]
        .lines()
        .take_while(|line| line.starts_with("    "))
        .count();
    let kept: Vec<&str> = rest.lines().skip(lines).collect();
    let argocd = "  argocd: {repository: \"ssh://git@git.example.com/acme/gitops.git\", branch: main, path: \
                  clusters/eks-flux}\n";
    let found = diff_of_texts(&text, &format!("{head}{argocd}{}\n", kept.join("\n")));
    for change in &found.changes {
        if change.status == Status::Added {
            assert!(
                change.impact >= Impact::Added,
                "{} {:?}",
                change.kind,
                change.names
            );
        }
    }
    let release = find_change(&found, "Helm release", "nvidia-device-plugin-infer");
    assert_eq!(release.impact, Impact::WorkloadRestarted);
    let reason = release.reason.as_deref().unwrap_or_default();
    assert!(
        reason.starts_with("Flux deletes the resources it deployed"),
        "{reason}"
    );
}

#[test]
fn worst_cluster_is_first() {
    let folder = committed_example();
    let path = folder.path();
    let text = std::fs::read_to_string(path.join("gpu-cluster.yaml")).unwrap();
    let named = |name: &str| text.replace("name: eks-teams", &format!("name: {name}"));
    std::fs::write(path.join("z.gpu-cluster.yaml"), named("z")).unwrap();
    commit(path);
    std::fs::remove_file(path.join("z.gpu-cluster.yaml")).unwrap();
    std::fs::write(path.join("a.gpu-cluster.yaml"), named("a")).unwrap();
    let output = standard_output(&gpuc(path, &["diff", "."]));
    let at = |text: &str| {
        output
            .find(text)
            .unwrap_or_else(|| panic!("{text}: {output}"))
    };
    assert!(
        at("z, removed since HEAD") < at("a, a new cluster"),
        "{output}"
    );
    assert!(output.contains("by a.gpu-cluster.yaml:5:"), "{output}");
}

#[test]
fn ineffective_edit_is_not_a_cause() {
    let text = example("gke-inference-l4");
    let after = text
        .replace(
            "zones: [us-central1-a, us-central1-b] # not",
            "zones: [us-central1-a] # not",
        )
        .replace("{timeSlicing: {replicas: 4}}", "{mps: {replicas: 4}}");
    let found = diff_of_texts(&text, &after);
    let shares = |change: &&Change| change.fields.iter().any(|field| field.path == "sharing");
    let sharing = found.changes.iter().find(shares).unwrap();
    let causes: Vec<&str> = sharing.causes.iter().map(|it| it.path.as_str()).collect();
    assert!(
        causes.iter().all(|path| path.contains(".sharing")),
        "{causes:?}"
    );
    assert_eq!(causes.len(), 2, "{causes:?}");
}

#[test]
fn shrunk_claim_is_reverted_first() {
    let found = edited("eks-training-job", "sizeGiB: 2000", "sizeGiB: 1000");
    assert_order(
        &found,
        &["A PersistentVolumeClaim cannot shrink", "gpuc build"],
    );
}
