//! The order of the steps: dependencies of running workloads exist before the objects that the workloads leave are
//! removed.

use super::diff_of_texts;
use super::plan::{assert_order, edited, example, steps};

/// The example with every occurrence of a name replaced.
fn rename_everywhere(name: &str, from: &str, to: &str) -> gpuc_diff::diff::Diff {
    let text = example(name);
    assert!(text.contains(from), "{from} in {name}");
    diff_of_texts(&text, &text.replace(from, to))
}

#[test]
fn new_pool_serves_before_the_old_one_is_drained() {
    assert_order(
        &edited("quickstart", "name: infer", "name: inference"),
        &[
            "gpuc build",
            "cloud/apply.sh\n",
            "./install.sh",
            "cloud/verify.sh",
            "kubectl drain -l 'gpuc.dev/pool=infer'",
            "eksctl delete nodegroup",
        ],
    );
    let by_karpenter = edited("eks-karpenter", "name: batch", "name: bulk");
    assert_order(
        &by_karpenter,
        &[
            "gpuc build",
            "./install.sh",
            "cloud/verify.sh",
            "When pool batch is no longer needed",
            "kubectl delete nodepools.karpenter.sh batch",
        ],
    );
}

#[test]
fn new_provisioner_serves_before_the_old_one_is_removed() {
    let found = edited(
        "eks-karpenter",
        "autoscaler: karpenter",
        "autoscaler: clusterAutoscaler",
    );
    assert_order(
        &found,
        &[
            "gpuc build",
            "cloud/apply.sh\n",
            "./install.sh",
            "cloud/verify.sh",
            "kubectl delete nodepools.karpenter.sh infer",
        ],
    );
}

#[test]
fn impossible_input_is_corrected_before_the_commit() {
    let found = edited("quickstart", "model: L4", "model: T4");
    assert_order(
        &found,
        &[
            "add a second pool",
            "gpuc build",
            "cloud/apply.sh\n",
            "./install.sh",
            "cloud/verify.sh",
            "kubectl drain",
            "eksctl delete nodegroup",
        ],
    );
    let found = edited("quickstart", "region: us-east-1", "region: us-west-2");
    assert_order(
        &found,
        &[
            "another metadata.name",
            "gpuc build",
            "cloud/apply.sh\n",
            "./install.sh",
            "cloud/verify.sh",
            "cloud/teardown.sh\n",
        ],
    );
}

#[test]
fn gpus_are_free_before_a_push_partitions_them() {
    let found = edited(
        "eks-flux",
        "profile: 3g.20gb, count: 2",
        "profile: 2g.10gb, count: 3",
    );
    assert_order(
        &found,
        &[
            "before you push the change",
            "kubectl drain -l 'gpuc.dev/pool=slices'",
            "gpuc build",
            "Push or merge, and wait until Flux",
            "kustomizations.kustomize.toolkit.fluxcd.io",
            "cloud/verify.sh",
            "kubectl uncordon -l 'gpuc.dev/pool=slices'",
        ],
    );
}

#[test]
fn pool_is_drained_before_a_push_stops_serving_it() {
    let text = example("eks-flux");
    let slices = text.find("  - name: slices\n").unwrap();
    let gitops = text.find("gitops:\n").unwrap();
    let removed = diff_of_texts(&text, &format!("{}{}", &text[..slices], &text[gitops..]));
    assert_order(
        &removed,
        &[
            "kubectl drain -l 'gpuc.dev/pool=slices'",
            "gpuc build",
            "Push or merge",
            "cloud/verify.sh",
            "eksctl delete nodegroup",
        ],
    );
    let steps_text = steps(&removed);
    assert!(
        !steps_text.contains("Create the new cloud resources"),
        "{steps_text}"
    );
    assert_eq!(
        steps_text.matches("kubectl drain").count(),
        1,
        "{steps_text}"
    );
}

#[test]
fn renamed_pool_is_served_until_its_replacement_is() {
    let found = edited("eks-flux", "name: slices", "name: cuts");
    assert_order(
        &found,
        &[
            "leave it in gpu-cluster.yaml for now",
            "gpuc build",
            "cloud/apply.sh",
            "Push or merge, and wait until Flux",
            "cloud/verify.sh",
            "kubectl drain -l 'gpuc.dev/pool=slices'",
            "eksctl delete nodegroup",
        ],
    );
}

#[test]
fn tolerations_precede_no_execute_taints() {
    let pool = "name: infer, ";
    let tainted = "name: infer, taints: [{key: a, effect: NoExecute}], ";
    let found = edited("quickstart", pool, tainted);
    assert_order(
        &found,
        &[
            "gpuc build",
            "./install.sh",
            "apply the taints",
            "cloud/apply.sh\n",
        ],
    );
    let softer = tainted.replace("NoExecute", "NoSchedule");
    let found = edited("quickstart", pool, &softer);
    assert!(!steps(&found).contains("apply the taints"));
}

#[test]
fn hosts_are_prepared_before_they_are_used() {
    let found = edited(
        "on-prem-dgx",
        "driverVersion: \"580\"",
        "driverVersion: \"570\"",
    );
    assert_order(
        &found,
        &[
            "dgx-01, dgx-02",
            "drain \"$node\"",
            "cloud/host-dgx.sh",
            "uncordon",
            "./install.sh",
            "cloud/verify.sh",
        ],
    );
    let found = edited(
        "on-prem-dgx",
        "hosts: [dgx-01, dgx-02]",
        "hosts: [dgx-01, dgx-03]",
    );
    assert_order(
        &found,
        &[
            "gpuc build",
            "cloud/host-dgx.sh to each of dgx-03 ",
            "cloud/apply.sh\n",
            "cloud/verify.sh",
            "drain dgx-02 ",
        ],
    );
}

#[test]
fn externally_managed_control_plane_is_upgraded_first() {
    let found = edited("eks-existing", "version: \"1.34\"", "version: \"1.35\"");
    let steps_text = steps(&found);
    assert!(
        steps_text.starts_with("# gpuc does not manage this cluster itself"),
        "{steps_text}"
    );
    assert_order(
        &found,
        &["from 1.34 to 1.35 first", "gpuc build", "cloud/apply.sh"],
    );
}

#[test]
fn new_path_is_registered_with_the_gitops_controller() {
    let flux = "kubectl apply --server-side --kustomize flux\n";
    let path = rename_everywhere("eks-flux", "path: clusters/eks-flux", "path: prod/eks-flux");
    assert_order(
        &path,
        &[
            "gpuc build",
            "Push the tree",
            "register the new location with Flux",
            flux,
            "Wait until Flux",
        ],
    );
    assert_order(
        &rename_everywhere("eks-flux", "branch: main", "branch: prod"),
        &["gpuc build", flux],
    );
    let argo = "kubectl apply --server-side --kustomize argocd\n";
    let text = example("eks-teams");
    let by = |branch: &str| {
        format!(
            "{text}gitops: {{argocd: {{repository: \"https://git.example.com/a.git\", branch: {branch}, path: clusters/a}}}}\n"
        )
    };
    assert_order(
        &diff_of_texts(&by("main"), &by("prod")),
        &["gpuc build", argo],
    );
}
