//! What users lay over workloads: what no longer is one is refused, at the line that did it.

use crate::support::compile_text;

/// What is said, as code and message, of one workload on two nodes with two GPUs each.
fn found(task: &str, patch: &str) -> Vec<String> {
    let yaml = format!(
        "apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {{name: demo}}
kubernetes: {{version: \"1.34\"}}
cloud: {{onPrem: {{context: demo}}}}
stack: {{runtimeImage: \"registry.example.com/gpuc-runtime:0.1.0\"}}
nodePools:
  - name: gpu
    gpu: {{model: A30, perNode: 2}}
    hosts: [gpu-1, gpu-2]
    nodes: {{count: 2}}
workloads:
  - name: w
    {task}
    {patch}
"
    );
    let outcome = compile_text(&yaml);
    let found = outcome.findings.iter();
    found
        .filter(|found| found.code.id.starts_with("GPUC3"))
        .map(|found| format!("{} {}", found.code.id, found.message))
        .collect()
}

const JOB: &str = "job: {image: 'registry.example.com/m:1.0.0'}";
const SERVICE: &str = "deployment: {image: 'registry.example.com/m:1.0.0'}";
const CRON: &str = "cronJob: {image: 'registry.example.com/m:1.0.0', schedule: '@daily'}";
const TORCH: &str = "pytorchJob: {image: 'registry.example.com/m:1.0.0', operator: existing, nodes: 2, gpusPerNode: 1}";
const TRAIN: &str = "trainJob: {image: 'registry.example.com/m:1.0.0', nodes: 2, gpusPerNode: 1}";
const SET: &str = "jobSet: {image: 'registry.example.com/m:1.0.0', nodes: 2, gpusPerNode: 1}";
const LWS: &str =
    "leaderWorkerSet: {image: 'registry.example.com/m:1.0.0', nodes: 2, gpusPerNode: 1}";

#[track_caller]
fn check(task: &str, patch: &str, expected: &[&str]) {
    assert_eq!(found(task, patch), expected, "{task} {patch}");
}

#[test]
fn patches_have_the_shape_of_what_they_are_laid_over() {
    let gone = |path: &str| format!("GPUC3012 `{path}` takes away what nothing can be without");
    let shape =
        |path: &str, is: &str, must: &str| format!("GPUC3012 `{path}` is {is}, and must be {must}");
    check(JOB, "patch: x", &[&shape("patch", "text", "a mapping")]);
    check(
        JOB,
        "podPatch: [x]",
        &[&shape("podPatch", "a list", "a mapping")],
    );
    check(
        JOB,
        "patch: {spec: [a]}",
        &[&shape("patch.spec", "a list", "a mapping")],
    );
    check(JOB, "patch: {metadata: null}", &[&gone("patch.metadata")]);
    check(JOB, "patch: {spec: null}", &[&gone("patch.spec")]);
    check(
        SERVICE,
        "patch: {spec: {template: null}}",
        &[&gone("patch.spec.template")],
    );
    check(
        CRON,
        "patch: {spec: {jobTemplate: {spec: null}}}",
        &[&gone("patch.spec.jobTemplate.spec")],
    );
    check(
        JOB,
        "podPatch: {containers: null}",
        &[&gone("podPatch.containers")],
    );
    check(
        JOB,
        "podPatch: {containers: x}",
        &[&shape("podPatch.containers", "text", "a list")],
    );
    let empty = "GPUC3012 `podPatch.containers` is empty, and a pod has a container";
    check(JOB, "podPatch: {containers: []}", &[empty]);
    let item = shape("podPatch.containers", "text", "a mapping");
    check(JOB, "podPatch: {containers: [x]}", &[&item]);
    check(
        JOB,
        "podPatch: {containers: [{image: 'a:1'}]}",
        &["GPUC3012 a container has no name"],
    );
    check(
        JOB,
        "podPatch: {containers: [{name: side}]}",
        &["GPUC3012 container `side` has no image"],
    );
    check(
        JOB,
        "podPatch: {containers: [{name: side, image: 'registry.example.com/s:1.0.0'}]}",
        &[],
    );
    check(
        SET,
        "patch: {spec: {replicatedJobs: [{replicas: 2}]}}",
        &["GPUC3012 nothing is left of a pod of the JobSet"],
    );
}

#[test]
fn containers_have_the_names_of_their_kinds() {
    let patch = "podPatch: {containers: [{name: main, workingDir: /a}]}";
    check(JOB, patch, &[]);
    check(
        TORCH,
        patch,
        &["GPUC3012 no container of the PyTorchJob is called `main`"],
    );
    check(
        TRAIN,
        patch,
        &["GPUC3012 no container of the TrainingRuntime is called `main`"],
    );
    check(
        TORCH,
        "podPatch: {containers: [{name: pytorch, workingDir: /a}]}",
        &[],
    );
    check(
        TRAIN,
        "podPatch: {containers: [{name: node, workingDir: /a}]}",
        &[],
    );
}

#[test]
fn kubernetes_knows_every_field() {
    let unknown = |path: &str| format!("GPUC3012 Kubernetes knows no `{path}`");
    check(TRAIN, "podPatch: {foo: bar}", &[&unknown("foo")]);
    check(
        JOB,
        "podPatch: {foo: bar}",
        &[&unknown("spec.template.spec.foo")],
    );
    check(
        LWS,
        "podPatch: {containers: [{name: main, comand: [a]}]}",
        &[&unknown("containers[0].comand")],
    );
    check(
        CRON,
        "patch: {spec: {suspended: true}}",
        &[&unknown("spec.suspended")],
    );
    check(CRON, "patch: {spec: {suspend: true}}", &[]);
    let wrong = found(JOB, "patch: {spec: {completions: many}}");
    assert!(
        wrong[0].starts_with("GPUC3012 Kubernetes cannot read `spec.completions`: "),
        "{wrong:?}"
    );
    check(
        JOB,
        "podPatch: {containers: [{name: main, resources: {limits: {cpu: 2}}}]}",
        &[],
    );
    check(JOB, "podPatch: {hostnameOverride: a}", &[]);
}

#[test]
fn selectors_select_their_pods() {
    let labels = "patch: {spec: {template: {metadata: {labels: {gpuc.dev/workload: other}}}}}";
    let message = "GPUC3012 `spec.selector` does not select the pods of its own template, by `gpuc.dev/workload`";
    check(SERVICE, labels, &[message]);
    check(
        SERVICE,
        "patch: {spec: {selector: {matchLabels: {gpuc.dev/workload: other}}}}",
        &[message],
    );
    check(
        SERVICE,
        "patch: {spec: {template: {metadata: {labels: {tier: gold}}}}}",
        &[],
    );
}

#[test]
fn requests_are_limits() {
    let job = "job: {image: 'registry.example.com/m:1.0.0', gpus: 1}";
    for limit in ["'2'", "null"] {
        let patch = format!(
            "podPatch: {{containers: [{{name: main, resources: {{limits: {{nvidia.com/gpu: {limit}}}}}}}]}}"
        );
        let found = found(job, &patch);
        assert!(
            found.iter().any(|it| it.starts_with("GPUC3013 ")),
            "{found:?}"
        );
    }
}

#[test]
fn counts_fit_the_nodes() {
    let nowhere = "GPUC3011 with its patch, no pool holds workload `w`";
    for (task, patch) in [
        (
            SET,
            "patch: {spec: {replicatedJobs: [{name: node, replicas: 2}]}}",
        ),
        (TRAIN, "patch: {spec: {trainer: {numNodes: 3}}}"),
        (
            TORCH,
            "patch: {spec: {pytorchReplicaSpecs: {Worker: {replicas: 2}}}}",
        ),
        (LWS, "patch: {spec: {leaderWorkerTemplate: {size: 3}}}"),
    ] {
        check(task, patch, &[nowhere]);
    }
    check(TRAIN, "patch: {spec: {trainer: {numNodes: 2}}}", &[]);
}
