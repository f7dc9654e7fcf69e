//! Renamed clusters: on which clouds the new name means another cluster, and the fate of the existing one.

use std::fs;

use gpuc_diff::diff::{ClusterFate, Diff, Impact};

use super::diff_command::{combined_output, commit, committed_example, edit, git, gpuc};
use super::diff_of_texts;
use super::plan::{assert_order, edited, example, steps};

/// The differences if an example's cluster is renamed.
fn rename_cluster(example_of: &str, more: &str) -> Diff {
    let text = example(example_of) + more;
    let (head, rest) = text.split_once("\nmetadata:").unwrap();
    let rest = rest.replacen(example_of, "other", 1);
    diff_of_texts(&text, &format!("{head}\nmetadata:{rest}"))
}

fn worst_impact(diff: &Diff, kind: &str, fate: ClusterFate) -> Impact {
    let mut changes = diff.changes.iter();
    let found = changes.find(|it| it.kind == kind && it.fate == fate);
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
        assert_eq!(found.formerly.as_deref(), Some(name));
        assert_eq!(found.worst, Some(Impact::Replaced), "{name}");
        assert_eq!(
            worst_impact(&found, "cluster", ClusterFate::Kept),
            Impact::Replaced
        );
        assert_eq!(
            worst_impact(&found, kind, ClusterFate::Removed),
            Impact::Replaced
        );
        assert_eq!(
            worst_impact(&found, kind, ClusterFate::Added),
            Impact::Added
        );
        // Nothing that runs hears of it.
        assert_eq!(
            worst_impact(&found, "ConfigMap", ClusterFate::Kept),
            Impact::Added
        );
        assert_order(
            &found,
            &[
                "cannot be renamed: other is a new one",
                "Restore the gpu-cluster.yaml of",
                "gpuc build\n",
                "cloud/apply.sh\n",
                "./install.sh",
                "cloud/verify.sh",
                "Move the work",
                "remove it from its own directory",
                "cloud/teardown.sh\n",
            ],
        );
        assert!(!steps(&found).contains("--prune"), "{}", steps(&found));
    }
}

#[test]
fn existing_cluster_is_the_same_under_a_new_name() {
    for name in ["eks-existing", "aks-spot", "on-prem-dgx"] {
        let found = rename_cluster(name, "");
        assert_eq!(found.formerly.as_deref(), Some(name));
        assert_eq!(
            worst_impact(&found, "ConfigMap", ClusterFate::Kept),
            Impact::WatchedDifferently,
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
    let found = edited(
        "eks-existing",
        "existing: {name: platform}",
        "existing: {name: other}",
    );
    assert_eq!(found.formerly, None);
    assert_eq!(
        worst_impact(&found, "cluster", ClusterFate::Kept),
        Impact::Replaced
    );
    assert_order(
        &found,
        &[
            "The existing cluster cannot be changed like this",
            "Create the resources for the other cluster",
            "remove the resources that gpuc created for it",
        ],
    );
    // Without a name of its own it is called as the file says.
    let text = example("eks-existing").replace("existing: {name: platform}", "existing: {}");
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
        worst_impact(&found, "Kustomization", ClusterFate::Removed),
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
            "gpuc build\n",
            "cloud/apply.sh\n",
            "register the tree with Flux, in the new cluster",
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
        let found = combined_output(&gpuc(folder, &["diff", file]));
        assert!(
            found.contains("other, formerly eks-teams in HEAD ("),
            "{found}"
        );
        for words in ["a new cluster", "removed since"] {
            assert!(!found.contains(words), "{words}: {found}");
        }
        let comment = combined_output(&gpuc(folder, &["diff", "--format", "markdown", file]));
        assert!(
            comment.contains("#### other (formerly eks-teams): "),
            "{comment}"
        );
    }
}

#[test]
fn folder_can_be_a_base_for_a_rename() {
    let folder = committed_example();
    let base = tempfile::TempDir::new().unwrap();
    let file = "gpu-cluster.yaml";
    fs::copy(folder.path().join(file), base.path().join(file)).unwrap();
    edit(folder.path(), NAME.0, NAME.1);
    let base = base.path().to_str().unwrap();
    let found = combined_output(&gpuc(folder.path(), &["diff", "--base", base]));
    assert!(
        found.contains(&format!("other, formerly eks-teams in {base}")),
        "{found}"
    );
}

#[test]
fn two_renames_are_not_guessed() {
    let folder = committed_example();
    let folder = folder.path();
    let path = folder.join("gpu-cluster.yaml");
    let one = fs::read_to_string(&path).unwrap();
    let two = one.replace(NAME.0, "metadata: {name: second}");
    fs::write(&path, format!("{one}---\n{two}")).unwrap();
    commit(folder);
    fs::write(&path, one.replace(NAME.0, NAME.1)).unwrap();
    let found = combined_output(&gpuc(folder, &["diff"]));
    assert!(found.contains("other, a new cluster"), "{found}");
    assert_eq!(found.matches("removed since HEAD").count(), 2, "{found}");
    // One that stays is itself.
    fs::write(&path, format!("{one}---\n{}", one.replace(NAME.0, NAME.1))).unwrap();
    let found = combined_output(&gpuc(folder, &["diff"]));
    assert!(
        found.contains("other, formerly second in HEAD ("),
        "{found}"
    );
}
