//! The build step of a plan, its base state, and steps that a change does not need.

use std::fs;

use gpuc_diff::diff::{Diff, Impact};

use super::diff_command::{commit, committed_example, edit, git, gpuc, standard_output};
use super::plan::{assert_order, edited, example, steps};

/// Edits that each require ordered steps, on every cloud and with every delivery method.
#[rustfmt::skip] // One edit a line.
const EDITS: &[(&str, &str, &str)] = &[
    ("quickstart", "name: infer", "name: inference"),
    ("quickstart", "model: L4", "model: T4"),
    ("quickstart", "region: us-east-1", "region: us-west-2"),
    ("quickstart", "metadata: {name: quickstart}", "metadata: {name: other}"),
    ("eks-flux", "name: slices", "name: cuts"),
    ("eks-flux", "profile: 3g.20gb, count: 2", "profile: 2g.10gb, count: 3"),
    ("eks-flux", "version: \"1.34\"", "version: \"1.35\""),
    ("eks-karpenter", "autoscaler: karpenter", "autoscaler: clusterAutoscaler"),
    ("gke-service", "version: \"1.34\"", "version: \"1.35\""),
    ("aks-argocd", "version: \"1.34\"", "version: \"1.35\""),
    ("on-prem-dgx", "driverVersion: \"580\"", "driverVersion: \"570\""),
    ("on-prem-dgx", "hosts: [dgx-01, dgx-02]", "hosts: [dgx-01, dgx-03]"),
];

#[test]
fn tree_is_built_once_and_before_its_scripts_run() {
    let from_the_tree = [
        "cloud/apply.sh",
        "./install.sh",
        "cloud/verify.sh",
        "./host-",
        "kubectl uncordon",
        "eksctl delete",
    ];
    for (name, from, to) in EDITS {
        let found = edited(name, from, to);
        let commands = found.rollout.iter().flat_map(|step| &step.commands);
        let commands: Vec<&String> = commands.collect();
        let builds = |command: &&&String| command.starts_with("gpuc build");
        assert_eq!(commands.iter().filter(builds).count(), 1, "{name}: {to}");
        let before: Vec<_> = commands.iter().take_while(|it| !builds(it)).collect();
        for command in from_the_tree {
            let is_run = before.iter().any(|it| it.contains(command));
            assert!(!is_run, "{name}: {to}: {}", steps(&found));
        }
        // GPUs are drained directly before they are repartitioned: before the build with a push, and before the script
        // otherwise.
        let drains = before.iter().any(|it| it.contains("drain -l"));
        assert!(!drains || *name == "eks-flux", "{name}: {}", steps(&found));
    }
}

#[test]
fn build_command_names_the_file_and_folder() {
    let folder = committed_example();
    let folder = folder.path();
    let file = "my teams.gpu-cluster.yaml";
    git(folder, &["mv", "gpu-cluster.yaml", file]);
    git(folder, &["mv", "clusters", "trees"]);
    commit(folder);
    let path = folder.join(file);
    let text = fs::read_to_string(&path).unwrap();
    let machine = text.replace("machine: g6e.xlarge", "machine: g6e.2xlarge");
    fs::write(&path, &machine).unwrap();
    let plan = |arguments: &[&str]| {
        standard_output(&gpuc(folder, &[&["diff", "--plan"], arguments].concat()))
    };
    let found = plan(&[file, "--out", "trees"]);
    let line = "     gpuc build 'my teams.gpu-cluster.yaml' --out trees\n";
    assert!(found.contains(line), "{found}");
    let other = machine.replace("metadata: {name: eks-teams}", "metadata: {name: other}");
    let (head, rest) = other.split_once("    cluster:\n").unwrap();
    let (_, tail) = rest.split_once("autoscaler:").unwrap();
    let existing = format!("{head}    cluster: {{existing: {{name: there}}}}\nautoscaler:{tail}");
    fs::write(&path, existing).unwrap();
    git(folder, &["add", "-A"]);
    commit(folder);
    edit_file(folder, file, "name: other}", "name: another}");
    let found = plan(&[file, "--out", "trees"]);
    let line = "     gpuc build 'my teams.gpu-cluster.yaml' --out trees --prune\n";
    assert!(found.contains(line), "{found}");
}

fn edit_file(folder: &std::path::Path, file: &str, from: &str, to: &str) {
    let path = folder.join(file);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from));
    fs::write(path, text.replacen(from, to, 1)).unwrap();
}

#[test]
fn steps_start_from_the_last_build() {
    let folder = committed_example();
    let folder = folder.path();
    // A merged change that was never built: a different machine, which requires a second pool next to the old one.
    edit(folder, "machine: g6e.xlarge", "machine: g6e.2xlarge");
    commit(folder);
    // The current change alone requires no order.
    edit(folder, "nodes: {min: 2, max: 4}", "nodes: {min: 2, max: 8}");
    let plan = standard_output(&gpuc(folder, &["diff", "--plan"]));
    for text in [
        "(These steps start from the last build, of the input in ",
        "Pool spot cannot be changed in place",
        "eksctl delete nodegroup --cluster=eks-teams --name=spot",
    ] {
        assert!(plan.contains(text), "{text}: {plan}");
    }
    // After a build, there is no earlier change.
    edit(folder, "nodes: {min: 2, max: 8}", "nodes: {min: 2, max: 4}");
    assert!(gpuc(folder, &["build", "-q"]).status.success());
    commit(folder);
    edit(folder, "nodes: {min: 2, max: 4}", "nodes: {min: 2, max: 8}");
    let plan = standard_output(&gpuc(folder, &["diff", "--plan"]));
    assert!(plan.contains("no special steps"), "{plan}");
}

/// The worst impact of a pool's change.
fn pool_impact(found: &Diff) -> Impact {
    let mut pools = found.changes.iter().filter(|it| it.kind == "pool");
    pools.next().unwrap().impact
}

#[test]
fn node_counts_under_karpenter_are_set_by_scripts() {
    let range = "nodes: {min: 0, max: 8}";
    let found = edited("eks-karpenter", range, "nodes: {count: 8}");
    assert_eq!(pool_impact(&found), Impact::Replaced);
    assert_order(
        &found,
        &[
            "gpuc build",
            "cloud/apply.sh\n",
            "./install.sh",
            "cloud/verify.sh",
            "kubectl delete nodepools.karpenter.sh infer",
            "kubectl delete ec2nodeclasses.karpenter.k8s.aws infer",
        ],
    );
    // Karpenter and its other pools are kept.
    for text in [
        "helm uninstall",
        "delete-stack",
        "karpenter.sh batch",
        "second pool",
    ] {
        assert!(!steps(&found).contains(text), "{text}: {}", steps(&found));
    }
    // For a node group from the scripts, only the number of nodes changes.
    let found = edited("eks-karpenter", "nodes: {count: 2}", "nodes: {count: 3}");
    assert_eq!(pool_impact(&found), Impact::CapacityGained);
    assert_eq!(steps(&found), "");
    let found = edited("eks-karpenter", "nodes: {count: 2}", "nodes: {count: 1}");
    assert_eq!(pool_impact(&found), Impact::WorkloadRestarted);
}

#[test]
fn unchanged_scripts_are_not_run() {
    let mig_edit = ("profile: 3g.20gb, count: 2", "profile: 2g.10gb, count: 3");
    let found = edited("eks-flux", mig_edit.0, mig_edit.1);
    assert!(
        !steps(&found).contains("cloud/apply.sh"),
        "{}",
        steps(&found)
    );
    assert_order(
        &found,
        &["kubectl drain", "Push or merge", "cloud/verify.sh"],
    );
    // A script that differs only in the name of the input file is not run either.
    let folder = committed_example();
    let folder = folder.path();
    let file = folder.join("gpu-cluster.yaml");
    fs::write(&file, example("eks-flux")).unwrap();
    assert!(gpuc(folder, &["build", "-q"]).status.success());
    commit(folder);
    edit(folder, mig_edit.0, mig_edit.1);
    let new = "new.gpu-cluster.yaml";
    git(folder, &["mv", "gpu-cluster.yaml", new]);
    let plan = standard_output(&gpuc(folder, &["diff", "--plan", new]));
    assert!(plan.contains("drain -l 'gpuc.dev/pool=slices'"), "{plan}");
    assert!(!plan.contains("cloud/apply.sh"), "{plan}");
    // A change that the scripts apply runs them.
    edit_file(folder, new, "nodes: {count: 1}", "nodes: {count: 2}");
    let plan = standard_output(&gpuc(folder, &["diff", "--plan", new]));
    assert!(plan.contains("cloud/apply.sh\n"), "{plan}");
}
