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

/// The objects of the corrected example of a check.
fn objects_without_fault(name: &str) -> String {
    let codes = gpuc::doctor_codes();
    let code = codes.iter().find(|code| code.name == name).unwrap();
    let good = code.good();
    let (_, objects) = gpuc_syntax::diag::split_objects(&good).unwrap();
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
fn standard_input_is_refused_with_a_hint() {
    let place = Workspace::empty();
    for command in ["doctor", "import"] {
        let result = place.run(&[command, "--from", "-"]).expect_code(2);
        let error =
            "error: `--from` reads a folder or a file, not the standard input\nhelp: write a file";
        assert!(result.stderr.starts_with(error), "{}", result.stderr);
    }
}

#[test]
fn broken_files_are_named_with_their_line() {
    let place = Workspace::empty();
    place.write(
        "case/objects.yaml",
        &(objects_without_fault("device-plugin-not-scheduled") + SYSTEM_POD),
    );
    place.write(
        "case/events.json",
        "{\"kind\": \"EventList\",\n\"items\": [{\n",
    );
    let result = place.run(&["doctor", "--from", "case"]).expect_code(0);
    let warning = "warning: events.json: line 3: the JSON text ends early, as if the file were not copied completely\n";
    assert!(result.stderr.contains(warning), "{}", result.stderr);
}

#[test]
fn suggested_commands_are_about_the_same_folder() {
    let place = Workspace::empty();
    place.write(
        "case 1/objects.yaml",
        &(objects("pod-toleration-missing") + SYSTEM_POD),
    );
    let result = place.run(&["doctor", "--from", "case 1"]).expect_code(1);
    let next = "next: gpuc doctor --from 'case 1' --pod ml/train-0\n";
    assert!(result.stdout.contains(next), "{}", result.stdout);
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
        result.stdout.contains("pods: not read"),
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
        result.stderr.contains("help: write a file per kind"),
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
            result.stderr.contains(
                "error: cannot read the cluster of the context `a` (http://127.0.0.1:9): "
            ),
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
    let result = place.run(&["snapshot", "-o", "kubeconfig"]).expect_code(2);
    assert!(
        result.stderr.contains("`kubeconfig` exists already"),
        "{}",
        result.stderr
    );
}

/// The cluster of docs/doctor.md: three nodes with a taint that the device plugin does not tolerate, and two pods that
/// wait for them.
fn documented_cluster() -> String {
    let node = |name: &str, group: &str, machine: &str, taints: &str| {
        format!(
            "- apiVersion: v1\n  kind: Node\n  metadata:\n    name: {name}\n    labels: {{eks.amazonaws.com/nodegroup: \
             {group}, node.kubernetes.io/instance-type: {machine}}}\n  spec: {{taints: [{taints}]}}\n  status:\n    \
             capacity: {{cpu: \"192\", pods: \"110\"}}\n    allocatable: {{cpu: \"192\", pods: \"110\"}}\n    \
             conditions: [{{type: Ready, status: \"True\"}}]\n"
        )
    };
    let pod = |name: &str| {
        format!(
            "- apiVersion: v1\n  kind: Pod\n  metadata: {{name: {name}, namespace: ml}}\n  spec:\n    tolerations: \
             [{{key: nvidia.com/gpu, operator: Exists}}]\n    containers: [{{name: main, image: \"train:1\", \
             resources: {{limits: {{nvidia.com/gpu: \"1\"}}}}}}]\n  status: {{phase: Pending}}\n"
        )
    };
    let taint = r#"{key: nvidia.com/gpu, value: "true", effect: NoSchedule}"#;
    let mut list = "apiVersion: v1\nkind: List\nitems:\n".to_owned();
    for index in 11..=13 {
        list += &node(&format!("ip-10-0-1-{index}"), "h100", "p5.48xlarge", taint);
    }
    for index in 21..=22 {
        list += &node(&format!("ip-10-0-1-{index}"), "system", "m7i.xlarge", "");
    }
    list += "- apiVersion: apps/v1\n  kind: DaemonSet\n  metadata: {name: nvidia-device-plugin, namespace: \
             kube-system}\n  spec:\n    template:\n      spec:\n        tolerations: [{key: nvidia.com/gpu, operator: \
             Equal, value: present, effect: NoSchedule}]\n        nodeSelector: {eks.amazonaws.com/nodegroup: h100}\n        \
             containers: [{name: plugin, image: \"nvcr.io/nvidia/k8s-device-plugin:v0.20.0\"}]\n  status: \
             {desiredNumberScheduled: 0}\n";
    list += &pod("train-0");
    list += &pod("train-1");
    list + "- {apiVersion: v1, kind: Pod, metadata: {name: dns, namespace: kube-system}}\n"
}

#[test]
fn the_documented_output_is_current() {
    let place = Workspace::empty();
    place.write("case-17/objects.yaml", &documented_cluster());
    let page =
        std::fs::read_to_string(crate::support::repository().join("docs/doctor.md")).unwrap();
    for (command, code) in [
        ("doctor --from case-17", 1),
        ("doctor --from case-17 --pod ml/train-0", 1),
    ] {
        let arguments: Vec<_> = command.split(' ').collect();
        let result = place.run(&arguments).expect_code(code);
        let shown = result.stdout.trim_end();
        // The page leaves out what follows the steps of a pod.
        let shown = match shown.split_once("\n\n") {
            Some((steps, _)) if command.contains("--pod") => steps,
            _ => shown,
        };
        let block = format!("$ gpuc {command}\n{shown}\n");
        assert!(
            page.contains(&block),
            "docs/doctor.md must contain\n{block}"
        );
    }
}

#[test]
fn formats_for_programs_and_people_have_the_same_causes() {
    let place = Workspace::with(super::GOOD);
    let objects = objects("device-plugin-not-scheduled") + SYSTEM_POD;
    place.write("case/objects.yaml", &objects);
    let run = |format: &str| {
        let arguments = ["doctor", "--from", "case", "--format", format];
        place.run(&arguments).expect_code(1).stdout
    };
    let sarif: serde_json::Value = serde_json::from_str(&run("sarif")).unwrap();
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    for result in results {
        assert!(result["locations"][0].is_object(), "{result:#}");
    }
    let rules: Vec<_> = results.iter().map(|it| it["ruleId"].clone()).collect();
    // The pool of the file has no nodes.
    assert_eq!(rules, ["GPUC7102", "GPUC7302"]);
    let rules = &sarif["runs"][0]["tool"]["driver"]["rules"];
    assert_eq!(rules[0]["properties"]["tags"][0], "running cluster");
    let markdown = run("markdown");
    assert!(
        markdown.contains("GPUC7302 `device-plugin-not-scheduled`"),
        "{markdown}"
    );
    let junit = run("junit");
    assert!(junit.contains("<failure type=\"error\""), "{junit}");
}

#[test]
fn watch_prints_what_changes() {
    use std::io::BufRead;
    let place = Workspace::empty();
    let fault = objects("device-plugin-not-scheduled") + SYSTEM_POD;
    let healthy = objects_without_fault("device-plugin-not-scheduled") + SYSTEM_POD;
    place.write("case/objects.yaml", &fault);
    let arguments = [
        "doctor",
        "--from",
        "case",
        "--watch",
        "--interval=1",
        "--format=json",
    ];
    let mut child = place
        .command(&arguments)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let lines = std::io::BufReader::new(child.stdout.take().unwrap()).lines();
    let mut events =
        lines.map(|line| -> serde_json::Value { serde_json::from_str(&line.unwrap()).unwrap() });
    let mut next = || {
        let event = events.next().unwrap();
        let name = event["event"].as_str().unwrap().to_owned();
        (name, event["cause"]["code"].as_str().unwrap().to_owned())
    };
    let named = |event: &str| (event.to_owned(), "GPUC7302".to_owned());
    assert_eq!(next(), named("appeared"));
    // A folder that cannot be read resolves nothing.
    place.write("case/objects.yaml", "kind: [");
    std::thread::sleep(std::time::Duration::from_millis(1500));
    place.write("case/objects.yaml", &healthy);
    assert_eq!(next(), named("resolved"));
    place.write("case/objects.yaml", &fault);
    assert_eq!(next(), named("appeared"));
    child.kill().unwrap();
    child.wait().unwrap();
    let result = place.run(&["doctor", "--from", "case", "--watch", "--format", "sarif"]);
    let result = result.expect_code(2);
    assert!(
        result.stderr.contains("`--watch` prints text or JSON"),
        "{}",
        result.stderr
    );
}
