//! `gpuc doctor` and `gpuc snapshot` as users run them.

use super::{CliResult, Workspace};

/// The objects of the example of a check.
fn objects(name: &str) -> String {
    let codes = gpuc::doctor_codes();
    let code = codes.iter().find(|code| code.name == name).unwrap();
    let (configuration, objects) = gpuc_syntax::diag::split_objects(code.bad).unwrap();
    assert_eq!(configuration, "");
    objects.to_owned()
}

/// A pod of the namespace `kube-system`: without it, the list of pods is not complete.
const SYSTEM_POD: &str =
    "  - {apiVersion: v1, kind: Pod, metadata: {name: dns, namespace: kube-system}}\n";

#[test]
fn faults_have_the_exit_code_1() {
    let place = Workspace::empty();
    place.write(
        "case/objects.yaml",
        &(objects("device-plugin-not-scheduled") + SYSTEM_POD),
    );
    let result = place.run(&["doctor", "--from", "case"]).expect_code(1);
    assert!(
        result
            .stdout
            .starts_with("error[GPUC7302 device-plugin-not-scheduled]: "),
        "{}",
        result.stdout
    );
    let result = place
        .run(&["doctor", "--from", "case", "--format", "json"])
        .expect_code(1);
    let value: serde_json::Value = serde_json::from_str(&result.stdout).unwrap();
    assert_eq!(value["causes"][0]["code"], "GPUC7302");
    assert_eq!(value["causes"][0]["objects"][0]["name"], "gpu-1");
    assert_eq!(value["causes"][0]["explains"][0]["code"], "GPUC7301");
    assert_eq!(value["totals"]["gpuNodes"], 1);
}

#[test]
fn missing_lists_are_reported() {
    let place = Workspace::empty();
    place.write(
        "case/nodes.json",
        r#"{"kind": "NodeList", "apiVersion": "v1", "items": [
            {"metadata": {"name": "a"}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}]}"#,
    );
    let result = place.run(&["doctor", "--from", "case"]).expect_code(0);
    assert!(
        result
            .stdout
            .contains("no problems found in what could be read"),
        "{}",
        result.stdout
    );
    assert!(
        result.stdout.contains("pods: not part of the snapshot"),
        "{}",
        result.stdout
    );
    place
        .run(&["doctor", "--from", "case", "--strict"])
        .expect_code(3);
}

#[test]
fn files_with_errors_make_their_kind_incomplete() {
    let place = Workspace::empty();
    place.write(
        "case/objects.yaml",
        &(objects("gpus-unhealthy") + SYSTEM_POD),
    );
    place.write(
        "case/daemonsets.json",
        r#"{"kind": "DaemonSetList", "apiVersion": "apps/v1", "items": [{"#,
    );
    let result = place.run(&["doctor", "--from", "case"]).expect_code(1);
    assert!(
        result.stderr.contains("warning: daemonsets.json: "),
        "{}",
        result.stderr
    );
    assert!(
        result
            .stdout
            .contains("daemonsets.apps: not readable: daemonsets.json"),
        "{}",
        result.stdout
    );
}

#[test]
fn folders_without_objects_are_errors() {
    let place = Workspace::empty();
    place.write("case/readme.txt", "nothing here");
    let result = place.run(&["doctor", "--from", "case"]).expect_code(3);
    assert!(
        result.stderr.contains("contains no nodes and no pods"),
        "{}",
        result.stderr
    );
    assert!(
        result.stderr.contains("help: write them with `kubectl get"),
        "{}",
        result.stderr
    );
    let result = place.run(&["doctor", "--from", "missing"]).expect_code(3);
    assert!(
        result.stderr.contains("cannot read `missing`"),
        "{}",
        result.stderr
    );
}

#[test]
fn the_scope_selects_causes() {
    let place = Workspace::empty();
    place.write(
        "case/objects.yaml",
        &(objects("gpus-unhealthy") + SYSTEM_POD),
    );
    let run = |arguments: &[&str]| place.run(&[&["doctor", "--from", "case"], arguments].concat());
    let result = run(&["--node", "gpu-1"]).expect_code(1);
    assert!(result.stdout.contains("GPUC7401"), "{}", result.stdout);
    let result = run(&["--node", "gpu-2"]).expect_code(2);
    assert!(
        result
            .stderr
            .contains("the cluster has no node `gpu-2`\nhelp: did you mean `gpu-1`?"),
        "{}",
        result.stderr
    );
    let result = run(&["--pod", "kube-system/dns"]).expect_code(0);
    assert!(
        result
            .stdout
            .starts_with("requested stopped the pod requests no GPU"),
        "{}",
        result.stdout
    );
    run(&["--pod", "kube-system/dns", "--node", "gpu-1"]).expect_code(2);
}

#[test]
fn the_role_is_printed_without_a_cluster() {
    let result = Workspace::empty()
        .run(&["doctor", "--print-role"])
        .expect_code(0);
    assert!(
        result
            .stdout
            .starts_with("apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\n")
    );
}

#[test]
fn clusters_that_cannot_be_reached_are_errors() {
    let place = Workspace::empty();
    place.write(
        "kubeconfig",
        "apiVersion: v1\nkind: Config\ncurrent-context: a\n\
         clusters: [{name: a, cluster: {server: \"http://127.0.0.1:9\"}}]\n\
         contexts: [{name: a, context: {cluster: a, user: a}}]\nusers: [{name: a, user: {}}]\n",
    );
    for arguments in [&["doctor"][..], &["snapshot", "-o", "case"]] {
        let mut command = place.command(arguments);
        command.env("KUBECONFIG", place.path("kubeconfig"));
        let result = CliResult::from_output(command.output().unwrap()).expect_code(3);
        assert!(
            result.stderr.contains("error: cannot read the cluster: "),
            "{}",
            result.stderr
        );
        assert!(
            result.stderr.contains("`kubectl get nodes` must work"),
            "{}",
            result.stderr
        );
    }
    assert!(!place.path("case").exists() && !place.path("case.partial").exists());
}
