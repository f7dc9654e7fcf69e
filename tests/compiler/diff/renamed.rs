//! A cluster of another name: on which clouds it is another cluster then, and what becomes of the one that is there.

use std::fs;

use gpuc::diff::{ClusterFate, Diff, Impact};

use super::command::{commit, committed, edit, git, gpuc, said};
use super::of_texts;
use super::plan::{edited, example, in_order, steps};

/// What differs when an example's cluster gets another name.
fn renamed(example_of: &str, more: &str) -> Diff {
    let text = example(example_of) + more;
    let (head, rest) = text.split_once("\nmetadata:").unwrap();
    let rest = rest.replacen(example_of, "other", 1);
    of_texts(&text, &format!("{head}\nmetadata:{rest}"))
}

fn impact(diff: &Diff, kind: &str, fate: ClusterFate) -> Impact {
    let mut changes = diff.changes.iter();
    let found = changes.find(|it| it.kind == kind && it.fate == fate);
    found
        .unwrap_or_else(|| panic!("{kind}: {:#?}", diff.changes))
        .impact
}

#[test]
fn a_cluster_that_gpuc_makes_is_made_anew_and_the_old_one_stays() {
    for (name, kind) in [
        ("quickstart", "EKS cluster"),
        ("gke-service", "GKE cluster"),
        ("aks-t4", "AKS cluster"),
    ] {
        let found = renamed(name, "");
        assert_eq!(found.formerly.as_deref(), Some(name));
        assert_eq!(found.worst, Some(Impact::Replaced), "{name}");
        assert_eq!(
            impact(&found, "cluster", ClusterFate::Kept),
            Impact::Replaced
        );
        assert_eq!(impact(&found, kind, ClusterFate::Removed), Impact::Replaced);
        assert_eq!(impact(&found, kind, ClusterFate::Added), Impact::Added);
        // Nothing that runs hears of it.
        assert_eq!(
            impact(&found, "ConfigMap", ClusterFate::Kept),
            Impact::Added
        );
        in_order(
            &found,
            &[
                "cannot be renamed: other is another one",
                "Leave the gpu-cluster.yaml of",
                "gpuc build\n",
                "cloud/apply.sh\n",
                "./install.sh",
                "cloud/verify.sh",
                "Move the work",
                "remove it from its own folder",
                "cloud/teardown.sh\n",
            ],
        );
        assert!(!steps(&found).contains("--prune"), "{}", steps(&found));
    }
}

#[test]
fn a_cluster_that_somebody_else_made_is_the_same_under_another_name_in_the_file() {
    for name in ["eks-existing", "aks-spot", "on-prem-dgx"] {
        let found = renamed(name, "");
        assert_eq!(found.formerly.as_deref(), Some(name));
        assert_eq!(
            impact(&found, "ConfigMap", ClusterFate::Kept),
            Impact::WatchedDifferently,
            "{name}"
        );
        in_order(
            &found,
            &[
                "another folder now, other: that of",
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
fn a_cluster_of_another_name_in_the_cloud_is_another_one() {
    let found = edited(
        "eks-existing",
        "existing: {name: platform}",
        "existing: {name: other}",
    );
    assert_eq!(found.formerly, None);
    assert_eq!(
        impact(&found, "cluster", ClusterFate::Kept),
        Impact::Replaced
    );
    in_order(
        &found,
        &[
            "The cluster that is there cannot become this",
            "Make what the other cluster needs",
            "remove what gpuc made for it",
        ],
    );
    // Without a name of its own it is called as the file says.
    let text = example("eks-existing").replace("existing: {name: platform}", "existing: {}");
    let found = of_texts(&text, &text.replace("name: eks-existing}", "name: other}"));
    assert_eq!(found.worst, Some(Impact::Replaced));
    in_order(&found, &["cannot be renamed"]);
}

#[test]
fn a_tool_leaves_what_it_brought_before_it_hears_another_name() {
    let by = |tool: &str| {
        format!(
            "gitops: {{{tool}: {{repository: \"https://git.example.com/a.git\", branch: main, path: clusters/a}}}}\n"
        )
    };
    let found = renamed("on-prem-dgx", &by("flux"));
    assert_eq!(
        impact(&found, "Kustomization", ClusterFate::Removed),
        Impact::WorkloadRestarted
    );
    in_order(
        &found,
        &[
            "make Flux leave all that runs",
            "gpuc build --prune",
            "apply --server-side --kustomize flux",
        ],
    );
    let found = renamed("on-prem-dgx", &by("argocd"));
    in_order(
        &found,
        &[
            "make Argo CD leave all that runs",
            "gpuc build --prune",
            "apply --server-side --kustomize argocd",
        ],
    );
    let found = renamed("quickstart", &by("flux"));
    assert_eq!(found.worst, Some(Impact::Replaced));
    in_order(
        &found,
        &[
            "cannot be renamed",
            "gpuc build\n",
            "cloud/apply.sh\n",
            "tell Flux of it, in the new cluster",
        ],
    );
}

const NAME: (&str, &str) = ("metadata: {name: eks-teams}", "metadata: {name: other}");

#[test]
fn one_name_that_left_a_file_and_one_that_came_are_one_cluster() {
    for moved in [false, true] {
        let folder = committed();
        let folder = folder.path();
        edit(folder, NAME.0, NAME.1);
        let file = if moved {
            git(folder, &["mv", "gpu-cluster.yaml", "new.gpu-cluster.yaml"]);
            "new.gpu-cluster.yaml"
        } else {
            "gpu-cluster.yaml"
        };
        let found = said(&gpuc(folder, &["diff", file]));
        assert!(found.contains("other, eks-teams in HEAD ("), "{found}");
        for words in ["a new cluster", "gone since"] {
            assert!(!found.contains(words), "{words}: {found}");
        }
        let comment = said(&gpuc(folder, &["diff", "--format", "markdown", file]));
        assert!(
            comment.contains("#### other (was eks-teams): "),
            "{comment}"
        );
    }
}

#[test]
fn a_folder_is_a_base_for_another_name_too() {
    let folder = committed();
    let base = tempfile::TempDir::new().unwrap();
    let file = "gpu-cluster.yaml";
    fs::copy(folder.path().join(file), base.path().join(file)).unwrap();
    edit(folder.path(), NAME.0, NAME.1);
    let base = base.path().to_str().unwrap();
    let found = said(&gpuc(folder.path(), &["diff", "--base", base]));
    assert!(
        found.contains(&format!("other, eks-teams in {base}")),
        "{found}"
    );
}

#[test]
fn two_names_that_left_a_file_are_guessed_at_by_nobody() {
    let folder = committed();
    let folder = folder.path();
    let path = folder.join("gpu-cluster.yaml");
    let one = fs::read_to_string(&path).unwrap();
    let two = one.replace(NAME.0, "metadata: {name: second}");
    fs::write(&path, format!("{one}---\n{two}")).unwrap();
    commit(folder);
    fs::write(&path, one.replace(NAME.0, NAME.1)).unwrap();
    let found = said(&gpuc(folder, &["diff"]));
    assert!(found.contains("other, a new cluster"), "{found}");
    assert_eq!(found.matches("gone since HEAD").count(), 2, "{found}");
    // One that stays is itself.
    fs::write(&path, format!("{one}---\n{}", one.replace(NAME.0, NAME.1))).unwrap();
    let found = said(&gpuc(folder, &["diff"]));
    assert!(found.contains("other, second in HEAD ("), "{found}");
}
