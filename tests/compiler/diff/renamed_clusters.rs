//! Renamed clusters: on which clouds the new name means another cluster, and what happens to the existing cluster.

use std::fs;

use gpuc_diff::diff::{Diff, Impact, Status};

use super::diff_command::{commit, committed_example, edit, git, gpuc, standard_output};
use super::diff_of_texts;
use super::plan::{assert_order, edited, example, steps};

/// The differences if an example's cluster is renamed.
fn rename_cluster(example_of: &str, more: &str) -> Diff {
    let text = example(example_of) + more;
    let (head, rest) = text.split_once("\nmetadata:").unwrap();
    let rest = rest.replacen(example_of, "other", 1);
    diff_of_texts(&text, &format!("{head}\nmetadata:{rest}"))
}

fn worst_impact(diff: &Diff, kind: &str, fate: Status) -> Impact {
    let mut changes = diff.changes.iter();
    let found = changes.find(|it| it.kind == kind && it.status == fate);
    found
        .unwrap_or_else(|| panic!("{kind}: {:#?}", diff.changes))
        .impact
}

#[test]
fn managed_cluster_is_recreated_and_the_old_one_stays() {
    for (name, kind) in [
        ("quickstart", "EKS cluster"),
        ("gke-service", "GKE cluster"),
        ("aks-t4", "AKS cluster"),
    ] {
        let found = rename_cluster(name, "");
        assert_eq!(found.former_name.as_deref(), Some(name));
        assert_eq!(found.worst, Some(Impact::Replaced), "{name}");
        assert_eq!(
            worst_impact(&found, "cluster", Status::Kept),
            Impact::Replaced
        );
        assert_eq!(
            worst_impact(&found, kind, Status::Removed),
            Impact::Replaced
        );
        assert_eq!(worst_impact(&found, kind, Status::Added), Impact::Added);
        // The change does not affect the running cluster.
        assert_eq!(
            worst_impact(&found, "ConfigMap", Status::Kept),
            Impact::Added
        );
        assert_order(
            &found,
            &[
                "cannot be renamed: other is a new one",
                "Restore the gpu-cluster.yaml of",
                "write other to other.gpu-cluster.yaml\n",
                "# Build the trees of both clusters, review and commit\n",
                "gpuc build gpu-cluster.yaml other.gpu-cluster.yaml\n",
                "cloud/apply.sh\n",
                "./install.sh",
                "cloud/verify.sh",
                "Move the work",
                "When the old cluster is no longer needed, remove it\n",
                "cloud/teardown.sh --dry-run\n",
                "cloud/teardown.sh\n",
                "Delete the file and the tree of the old cluster",
            ],
        );
        assert!(!steps(&found).contains("--prune"), "{}", steps(&found));
    }
}

#[test]
fn existing_cluster_is_the_same_under_a_new_name() {
    for name in ["eks-existing", "aks-spot", "on-prem-dgx"] {
        let found = rename_cluster(name, "");
        assert_eq!(found.former_name.as_deref(), Some(name));
        assert_eq!(
            worst_impact(&found, "ConfigMap", Status::Kept),
            Impact::MonitoringChanged,
            "{name}"
        );
        assert_order(
            &found,
            &[
                "directory of the tree is now other: the directory",
                "gpuc build --prune",
                "./install.sh",
            ],
        );
        assert!(
            !steps(&found).contains("cannot be renamed"),
            "{}",
            steps(&found)
        );
    }
}

#[test]
fn existing_cluster_with_another_cloud_name_is_another() {
    let found = edited("eks-existing", "name: platform #", "name: other #");
    assert_eq!(found.former_name, None);
    assert_eq!(
        worst_impact(&found, "cluster", Status::Kept),
        Impact::Replaced
    );
    assert_order(
        &found,
        &[
            "The existing cluster cannot be changed like this",
            "write the new cluster to new.gpu-cluster.yaml, with another metadata.name\n",
            "gpuc build gpu-cluster.yaml new.gpu-cluster.yaml\n",
            "Create the resources for the other cluster",
            "remove the resources that gpuc created for it",
        ],
    );
    // Without `existing.name`, the cluster has the name in the file.
    let text = example("eks-existing").replace("name: platform #", "# name: platform #");
    let found = diff_of_texts(&text, &text.replace("name: eks-existing}", "name: other}"));
    assert_eq!(found.worst, Some(Impact::Replaced));
    assert_order(&found, &["cannot be renamed"]);
}

#[test]
fn controller_is_detached_before_a_rename() {
    let by = |tool: &str| {
        format!(
            "gitops: {{{tool}: {{repository: \"https://git.example.com/a.git\", branch: main, path: clusters/a}}}}\n"
        )
    };
    let found = rename_cluster("on-prem-dgx", &by("flux"));
    assert_eq!(
        worst_impact(&found, "Kustomization", Status::Removed),
        Impact::WorkloadRestarted
    );
    assert_order(
        &found,
        &[
            "make Flux keep all running resources",
            "gpuc build --prune",
            "apply --server-side --kustomize flux",
        ],
    );
    let found = rename_cluster("on-prem-dgx", &by("argocd"));
    assert_order(
        &found,
        &[
            "make Argo CD keep all running resources",
            "gpuc build --prune",
            "apply --server-side --kustomize argocd",
        ],
    );
    let found = rename_cluster("quickstart", &by("flux"));
    assert_eq!(found.worst, Some(Impact::Replaced));
    assert_order(
        &found,
        &[
            "cannot be renamed",
            "# Build the trees of both clusters, review and commit; push in a later step\n",
            "gpuc build gpu-cluster.yaml other.gpu-cluster.yaml\n",
            "cloud/apply.sh\n",
            "# Push or merge\n",
            "# Register the tree with Flux, in the new cluster",
            "kubectl apply --server-side --kustomize flux\n",
            "# Wait until Flux has synced it\n",
            "cloud/verify.sh",
        ],
    );
    assert_eq!(
        steps(&found).matches("Push or").count(),
        1,
        "{}",
        steps(&found)
    );
    let text = example("on-prem-infiniband") + &by("flux");
    let from = "context: dgx-hall-2";
    assert!(text.contains(from));
    let found = diff_of_texts(&text, &text.replace(from, "context: dgx-hall-3"));
    assert_order(
        &found,
        &[
            "kubectl --context dgx-hall-3 apply --server-side --kustomize flux\n",
            "# Wait until Flux has synced it\nkubectl --context dgx-hall-3 get kustomizations",
        ],
    );
}

const NAME: (&str, &str) = ("metadata: {name: eks-teams}", "metadata: {name: other}");

#[test]
fn single_rename_in_a_file_is_one_cluster() {
    for moved in [false, true] {
        let folder = committed_example();
        let folder = folder.path();
        edit(folder, NAME.0, NAME.1);
        let file = if moved {
            git(folder, &["mv", "gpu-cluster.yaml", "new.gpu-cluster.yaml"]);
            "new.gpu-cluster.yaml"
        } else {
            "gpu-cluster.yaml"
        };
        let found = standard_output(&gpuc(folder, &["diff", file]));
        assert!(
            found.contains("other, formerly eks-teams in HEAD ("),
            "{found}"
        );
        for text in ["a new cluster", "removed since"] {
            assert!(!found.contains(text), "{text}: {found}");
        }
        let comment = standard_output(&gpuc(folder, &["diff", "--format", "markdown", file]));
        assert!(
            comment.contains("#### other (formerly eks-teams): "),
            "{comment}"
        );
    }
}

#[test]
fn build_of_a_renamed_cluster_writes_both_trees() {
    let folder = committed_example();
    let folder = folder.path();
    git(folder, &["mv", "clusters", "all trees"]);
    fs::create_dir(folder.join("fleet")).unwrap();
    git(folder, &["mv", "gpu-cluster.yaml", "fleet"]);
    commit(folder);
    let file = folder.join("fleet/gpu-cluster.yaml");
    let old = fs::read_to_string(&file).unwrap();
    let new = old.replacen(NAME.0, NAME.1, 1);
    fs::write(&file, &new).unwrap();
    let plan = |file: &str| {
        let arguments = ["diff", "--plan", file, "--out", "all trees"];
        standard_output(&gpuc(folder, &arguments))
    };
    let found = plan("fleet/gpu-cluster.yaml");
    assert!(
        found.contains("write other to fleet/other.gpu-cluster.yaml\n"),
        "{found}"
    );
    let command =
        "gpuc build fleet/gpu-cluster.yaml fleet/other.gpu-cluster.yaml --out 'all trees'";
    assert!(found.contains(&format!("     {command}\n")), "{found}");
    // The user follows the first step.
    fs::write(&file, old).unwrap();
    fs::write(folder.join("fleet/other.gpu-cluster.yaml"), &new).unwrap();
    let built = gpuc(
        folder,
        &[
            "build",
            "fleet/gpu-cluster.yaml",
            "fleet/other.gpu-cluster.yaml",
            "--out",
            "all trees",
        ],
    );
    assert!(built.status.success(), "{built:?}");
    for name in ["eks-teams", "other"] {
        let script = folder.join("all trees").join(name).join("cloud/apply.sh");
        assert!(script.exists(), "{name}");
    }
    // The new cluster is already in its own file.
    fs::remove_file(folder.join("fleet/other.gpu-cluster.yaml")).unwrap();
    git(
        folder,
        &["mv", "fleet/gpu-cluster.yaml", "fleet/new.gpu-cluster.yaml"],
    );
    fs::write(folder.join("fleet/new.gpu-cluster.yaml"), new).unwrap();
    let found = plan("fleet/new.gpu-cluster.yaml");
    assert!(found.contains("leave other in its own file\n"), "{found}");
    assert!(
        found.contains("     gpuc build fleet/new.gpu-cluster.yaml --out 'all trees'\n"),
        "{found}"
    );
}

#[test]
fn old_tree_tears_down_the_old_cluster() {
    let folder = committed_example();
    let folder = folder.path();
    let plan = || standard_output(&gpuc(folder, &["diff", "--plan"]));
    let renamed: &[_] = &[NAME];
    let moved: &[_] = &[
        ("region: us-east-1", "region: us-west-2"),
        ("us-east-1a", "us-west-2a"),
    ];
    // The new cluster of the second edit has no other name yet.
    for (edits, run_in) in [(renamed, "clusters/other"), (moved, "clusters/eks-teams")] {
        for (from, to) in edits {
            edit(folder, from, to);
        }
        let found = plan();
        let header = format!("run the commands in `{run_in}`");
        assert!(found.contains(&header), "{found}");
        let mut rest = found.as_str();
        for part in [
            "When the old cluster is no longer needed, remove it with the scripts from its tree at HEAD (",
            "). Run these commands in the current folder\n",
            "     clusters/eks-teams/cloud/teardown.sh --dry-run\n",
            "     clusters/eks-teams/cloud/teardown.sh\n",
        ] {
            let at = rest.find(part);
            let at = at.unwrap_or_else(|| panic!("{part} in\n{found}"));
            rest = &rest[at + part.len()..];
        }
        assert!(!found.contains("     cloud/teardown.sh"), "{found}");
        for (from, to) in edits {
            edit(folder, to, from);
        }
    }
    // Trees that are not committed are not in the base.
    git(folder, &["rm", "-rq", "--cached", "clusters"]);
    let ignored = folder.join(".gitignore");
    fs::write(ignored, "clusters/\n").unwrap();
    commit(folder);
    edit(folder, NAME.0, NAME.1);
    let found = plan();
    assert!(
        found
            .contains("with the scripts from its tree. Run these commands in the current folder\n"),
        "{found}"
    );
}

#[test]
fn folder_can_be_a_base_for_a_rename() {
    let folder = committed_example();
    let base = tempfile::TempDir::new().unwrap();
    let file = "gpu-cluster.yaml";
    fs::copy(folder.path().join(file), base.path().join(file)).unwrap();
    edit(folder.path(), NAME.0, NAME.1);
    let base = base.path().to_str().unwrap();
    let found = standard_output(&gpuc(folder.path(), &["diff", "--base", base]));
    assert!(
        found.contains(&format!("other, formerly eks-teams in {base}")),
        "{found}"
    );
}

#[test]
fn two_renames_are_not_matched() {
    let folder = committed_example();
    let folder = folder.path();
    let path = folder.join("gpu-cluster.yaml");
    let one = fs::read_to_string(&path).unwrap();
    let two = one.replace(NAME.0, "metadata: {name: second}");
    fs::write(&path, format!("{one}---\n{two}")).unwrap();
    commit(folder);
    fs::write(&path, one.replace(NAME.0, NAME.1)).unwrap();
    let found = standard_output(&gpuc(folder, &["diff"]));
    assert!(found.contains("other, a new cluster"), "{found}");
    assert_eq!(found.matches("removed since HEAD").count(), 2, "{found}");
    // A cluster that keeps its name is not renamed.
    fs::write(&path, format!("{one}---\n{}", one.replace(NAME.0, NAME.1))).unwrap();
    let found = standard_output(&gpuc(folder, &["diff"]));
    assert!(
        found.contains("other, formerly second in HEAD ("),
        "{found}"
    );
}
