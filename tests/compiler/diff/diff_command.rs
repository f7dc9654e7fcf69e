//! The command `gpuc diff`: bases in git and in folders, formats, exit codes.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::support::{SOURCE_DATE_EPOCH, repository};

/// A repository with a built and committed example.
pub(super) fn committed_example() -> TempDir {
    let folder = TempDir::new().unwrap();
    let example = repository().join("examples/eks-teams/gpu-cluster.yaml");
    fs::copy(example, folder.path().join("gpu-cluster.yaml")).unwrap();
    git(folder.path(), &["init", "-q"]);
    assert!(gpuc(folder.path(), &["build", "-q"]).status.success());
    commit(folder.path());
    folder
}

pub(super) fn commit(folder: &Path) {
    git(folder, &["add", "-A"]);
    git(
        folder,
        &[
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@example.com",
            "commit",
            "-qm",
            "a",
        ],
    );
}

pub(super) fn git(folder: &Path, arguments: &[&str]) {
    let status = Command::new("git")
        .current_dir(folder)
        .args(arguments)
        .status();
    assert!(status.unwrap().success());
}

pub(super) fn gpuc(folder: &Path, arguments: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_gpuc");
    Command::new(program)
        .current_dir(folder)
        .args(arguments)
        .env(SOURCE_DATE_EPOCH.0, SOURCE_DATE_EPOCH.1)
        .output()
        .unwrap()
}

pub(super) fn standard_output(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(super) fn edit(folder: &Path, from: &str, to: &str) {
    let path = folder.join("gpu-cluster.yaml");
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from));
    fs::write(path, text.replacen(from, to, 1)).unwrap();
}

#[test]
fn working_tree_is_compared_with_the_commit() {
    let folder = committed_example();
    let same = gpuc(folder.path(), &["diff"]);
    assert!(same.status.success());
    assert!(
        standard_output(&same).starts_with("1 cluster unchanged since HEAD ("),
        "{}",
        standard_output(&same)
    );
    edit(
        folder.path(),
        "nodes: {min: 2, max: 4}",
        "nodes: {min: 2, max: 8}",
    );
    let differs = gpuc(folder.path(), &["diff"]);
    assert!(differs.status.success());
    for text in [
        "capacity-gained         pool train",
        "nodes 2-4 → 2-8",
        "by gpu-cluster.yaml:36:26 nodePools[train].nodes.max",
        "GPUs: h100-sxm5-80gb 16-32 → 16-64",
    ] {
        assert!(
            standard_output(&differs).contains(text),
            "{text}: {}",
            standard_output(&differs)
        );
    }
    assert!(
        !standard_output(&differs).contains('\u{1b}'),
        "color without a terminal"
    );
}

#[test]
fn gate_fails_at_its_impact_or_worse() {
    let folder = committed_example();
    edit(folder.path(), "machine: g6e.xlarge", "machine: g6e.2xlarge");
    let code = |arguments: &[&str]| gpuc(folder.path(), arguments).status.code();
    assert_eq!(code(&["diff"]), Some(0));
    assert_eq!(code(&["diff", "--fail-on", "nodes-recreated"]), Some(1));
    assert_eq!(code(&["diff", "--fail-on", "deleted"]), Some(0));
    let wrong = gpuc(folder.path(), &["diff", "--fail-on", "replace"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("did you mean `replaced`?"));
}

#[test]
fn folder_can_be_a_base() {
    let folder = committed_example();
    let copy = TempDir::new().unwrap();
    fs::copy(
        folder.path().join("gpu-cluster.yaml"),
        copy.path().join("gpu-cluster.yaml"),
    )
    .unwrap();
    edit(
        folder.path(),
        "nodes: {min: 2, max: 4}",
        "nodes: {min: 1, max: 4}",
    );
    let base = copy.path().to_str().unwrap();
    let differs = gpuc(folder.path(), &["diff", "--base", base]);
    assert!(
        standard_output(&differs).contains("capacity-lost"),
        "{}",
        standard_output(&differs)
    );
}

#[test]
fn clusters_are_added_and_removed() {
    let folder = committed_example();
    let text = fs::read_to_string(folder.path().join("gpu-cluster.yaml")).unwrap();
    fs::write(
        folder.path().join("more.gpu-cluster.yaml"),
        text.replace("name: eks-teams", "name: more"),
    )
    .unwrap();
    let added = gpuc(folder.path(), &["diff", "."]);
    assert!(
        standard_output(&added).contains("more, a new cluster"),
        "{}",
        standard_output(&added)
    );
    commit(folder.path());
    fs::remove_file(folder.path().join("more.gpu-cluster.yaml")).unwrap();
    let removed = gpuc(folder.path(), &["diff", "."]);
    assert!(
        standard_output(&removed).contains("more, removed since HEAD"),
        "{}",
        standard_output(&removed)
    );
    let named = gpuc(folder.path(), &["diff", "more.gpu-cluster.yaml"]);
    assert!(
        standard_output(&named).contains("more, removed since HEAD"),
        "{}",
        standard_output(&named)
    );
}

#[test]
fn works_from_any_folder_of_the_repository() {
    let folder = committed_example();
    let below = folder.path().join("below");
    fs::create_dir(&below).unwrap();
    edit(
        folder.path(),
        "nodes: {min: 2, max: 4}",
        "nodes: {min: 2, max: 8}",
    );
    let differs = gpuc(
        &below,
        &["diff", "../gpu-cluster.yaml", "-o", "../clusters"],
    );
    assert!(
        standard_output(&differs).contains("capacity-gained"),
        "{}",
        standard_output(&differs)
    );
    let cluster_file = folder.path().join("gpu-cluster.yaml");
    let elsewhere = gpuc(Path::new("/"), &["diff", cluster_file.to_str().unwrap()]);
    assert!(
        standard_output(&elsewhere).contains("capacity-gained"),
        "{}",
        standard_output(&elsewhere)
    );
}

/// The help about a branch that only the remote repository has works as written.
#[test]
fn branch_of_the_remote_is_fetched_as_the_help_says() {
    let remote = committed_example();
    let clone = TempDir::new().unwrap();
    let (from, to) = (remote.path().to_str().unwrap(), clone.path());
    git(to, &["clone", "-q", from, "."]);
    git(remote.path(), &["branch", "release/next"]);
    let unknown = gpuc(to, &["diff", "--base", "release/next"]);
    let help = String::from_utf8_lossy(&unknown.stderr).into_owned();
    let mut words = help.split('`').skip(1).step_by(2).skip(1);
    let fetch: Vec<_> = words.next().unwrap().split(' ').collect();
    assert_eq!(fetch, ["git", "fetch", "origin", "release/next"], "{help}");
    git(to, &[&fetch[1..], &["-q"]].concat());
    let compared = gpuc(to, &["diff", "--base", words.next().unwrap()]);
    assert_eq!(compared.status.code(), Some(0), "{help}");
}

#[test]
fn missing_base_is_explained() {
    let folder = committed_example();
    let wrong = gpuc(folder.path(), &["diff", "--base", "origin/main"]);
    let stderr = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert_eq!(wrong.status.code(), Some(3));
    assert!(
        stderr.contains("`origin/main` is neither a folder nor a commit")
            && stderr.contains("`git fetch origin main`"),
        "{stderr}"
    );
    let dash = gpuc(folder.path(), &["diff", "--base=--output=x"]);
    assert_eq!(dash.status.code(), Some(3));
    assert!(!folder.path().join("x").exists());
    let outside = TempDir::new().unwrap();
    fs::copy(
        folder.path().join("gpu-cluster.yaml"),
        outside.path().join("gpu-cluster.yaml"),
    )
    .unwrap();
    let wrong = gpuc(outside.path(), &["diff"]);
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("is not in a Git repository"));
}

#[test]
fn base_with_errors_is_shown_with_its_location() {
    let folder = committed_example();
    edit(folder.path(), "machine: g6e.xlarge", "machine: g6e.xlarg");
    commit(folder.path());
    edit(folder.path(), "machine: g6e.xlarg ", "machine: g6e.xlarge ");
    let wrong = gpuc(folder.path(), &["diff"]);
    let stderr = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert_eq!(wrong.status.code(), Some(2));
    assert!(
        stderr.contains("--> HEAD:gpu-cluster.yaml:54:14") && stderr.contains("the base HEAD ("),
        "{stderr}"
    );
}

#[test]
fn annotations_are_at_the_changed_lines() {
    let folder = committed_example();
    edit(folder.path(), "machine: g6e.xlarge", "machine: g6e.2xlarge");
    let github = standard_output(&gpuc(folder.path(), &["diff", "--format", "github"]));
    assert!(
        github.starts_with("::warning file=gpu-cluster.yaml,line=54,title=eks-teams%3A "),
        "{github}"
    );
}

#[test]
fn steps_are_printed_with_their_commands() {
    let folder = committed_example();
    edit(folder.path(), "machine: g6e.xlarge", "machine: g6e.2xlarge");
    let plan = standard_output(&gpuc(folder.path(), &["diff", "--plan"]));
    let at = |text: &str| plan.find(text).unwrap_or_else(|| panic!("{text}: {plan}"));
    assert!(at("add a second pool") < at("cloud/apply.sh\n"));
    assert!(at("cloud/apply.sh\n") < at("kubectl drain"));
    assert!(at("kubectl drain") < at("eksctl delete nodegroup --cluster=eks-teams --name=spot"));
}

#[test]
fn missing_path_does_not_pass_the_gate() {
    let folder = committed_example();
    let wrong = gpuc(
        folder.path(),
        &["diff", "gpu-clusters.yaml", "--fail-on", "deleted"],
    );
    assert_eq!(wrong.status.code(), Some(2));
    let why = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(why.contains("gpu-clusters.yaml does not exist"), "{why}");
    let empty = TempDir::new().unwrap();
    let base = empty.path().to_str().unwrap();
    let wrong = gpuc(folder.path(), &["diff", "--base", base]);
    assert_eq!(wrong.status.code(), Some(2));
    fs::remove_file(folder.path().join("gpu-cluster.yaml")).unwrap();
    let missing = gpuc(folder.path(), &["diff", "--fail-on", "deleted"]);
    assert_eq!(
        missing.status.code(),
        Some(1),
        "{}",
        String::from_utf8_lossy(&missing.stderr)
    );
    let plan = standard_output(&gpuc(folder.path(), &["diff", "--plan"]));
    assert!(
        plan.contains("cloud/teardown.sh") && !plan.contains("cloud/apply.sh"),
        "{plan}"
    );
}

#[test]
fn edited_tree_is_reported() {
    let folder = committed_example();
    let path =
        "clusters/eks-teams/manifests/gpuc-runtime/gpuc-system/configmap-gpuc-runtime-infer.yaml";
    let path = folder.path().join(path);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("\"replicas\": 4", "\"replicas\": 5")).unwrap();
    commit(folder.path());
    let differs = standard_output(&gpuc(folder.path(), &["diff"]));
    assert!(
        differs.contains("files of the committed tree were edited by hand"),
        "{differs}"
    );
    assert!(
        differs.contains("sharing.timeSlicing.replicas 5 → 4"),
        "{differs}"
    );
}
