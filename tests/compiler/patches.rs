//! Patches of workloads: an invalid result is reported at the line in the patch that causes it.

use crate::support::compile_text;

/// The findings, as code and message, for a workload on two nodes with two GPUs each.
fn findings_for_patch(task: &str, patch: &str) -> Vec<String> {
    let yaml = format!(
        "apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {{name: demo}}
kubernetes: {{version: \"1.36\"}}
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
const JOB_SET: &str = "jobSet: {image: 'registry.example.com/m:1.0.0', nodes: 2, gpusPerNode: 1}";
const LWS: &str =
    "leaderWorkerSet: {image: 'registry.example.com/m:1.0.0', nodes: 2, gpusPerNode: 1}";

#[track_caller]
fn assert_findings(task: &str, patch: &str, expected: &[&str]) {
    assert_eq!(findings_for_patch(task, patch), expected, "{task} {patch}");
}

#[test]
fn patches_have_the_shape_of_their_target() {
    let removed = |path: &str| format!("GPUC3012 `{path}` removes a required field");
    let shape =
        |path: &str, is: &str, must: &str| format!("GPUC3012 `{path}` is {is}, but must be {must}");
    assert_findings(JOB, "patch: x", &[&shape("patch", "text", "a mapping")]);
    assert_findings(
        JOB,
        "podPatch: [x]",
        &[&shape("podPatch", "a list", "a mapping")],
    );
    assert_findings(
        JOB,
        "patch: {spec: [a]}",
        &[&shape("patch.spec", "a list", "a mapping")],
    );
    assert_findings(
        JOB,
        "patch: {metadata: null}",
        &[&removed("patch.metadata")],
    );
    assert_findings(JOB, "patch: {spec: null}", &[&removed("patch.spec")]);
    assert_findings(
        SERVICE,
        "patch: {spec: {template: null}}",
        &[&removed("patch.spec.template")],
    );
    assert_findings(
        CRON,
        "patch: {spec: {jobTemplate: {spec: null}}}",
        &[&removed("patch.spec.jobTemplate.spec")],
    );
    assert_findings(
        JOB,
        "podPatch: {containers: null}",
        &[&removed("podPatch.containers")],
    );
    assert_findings(
        JOB,
        "podPatch: {containers: x}",
        &[&shape("podPatch.containers", "text", "a list")],
    );
    let empty = "GPUC3012 `podPatch.containers` is empty, but a pod must have a container";
    assert_findings(JOB, "podPatch: {containers: []}", &[empty]);
    let item = shape("podPatch.containers", "text", "a mapping");
    assert_findings(JOB, "podPatch: {containers: [x]}", &[&item]);
    assert_findings(
        JOB,
        "podPatch: {containers: [{image: 'a:1'}]}",
        &["GPUC3012 a container has no name"],
    );
    assert_findings(
        JOB,
        "podPatch: {containers: [{name: side}]}",
        &["GPUC3012 container `side` has no image"],
    );
    assert_findings(
        JOB,
        "podPatch: {containers: [{name: side, image: 'registry.example.com/s:1.0.0'}]}",
        &[],
    );
    assert_findings(
        JOB_SET,
        "patch: {spec: {replicatedJobs: [{replicas: 2}]}}",
        &["GPUC3012 the patch removes a pod of the JobSet"],
    );
}

#[test]
fn containers_have_the_names_of_their_kinds() {
    let patch = "podPatch: {containers: [{name: main, workingDir: /a}]}";
    assert_findings(JOB, patch, &[]);
    assert_findings(
        TORCH,
        patch,
        &["GPUC3012 the PyTorchJob has no container `main`"],
    );
    assert_findings(
        TRAIN,
        patch,
        &["GPUC3012 the TrainingRuntime has no container `main`"],
    );
    assert_findings(
        TORCH,
        "podPatch: {containers: [{name: pytorch, workingDir: /a}]}",
        &[],
    );
    assert_findings(
        TRAIN,
        "podPatch: {containers: [{name: node, workingDir: /a}]}",
        &[],
    );
}

#[test]
fn fields_are_known_to_kubernetes() {
    let unknown = |path: &str| format!("GPUC3012 Kubernetes has no field `{path}`");
    let runtime = "spec.template.spec.replicatedJobs[0].template.spec.template.spec";
    let of_runtime = unknown(&format!("{runtime}.foo"));
    assert_findings(TRAIN, "podPatch: {foo: bar}", &[&of_runtime]);
    assert_findings(
        JOB,
        "podPatch: {foo: bar}",
        &[&unknown("spec.template.spec.foo")],
    );
    assert_findings(
        LWS,
        "podPatch: {containers: [{name: main, comand: [a]}]}",
        &[&unknown(
            "spec.leaderWorkerTemplate.leaderTemplate.spec.containers[0].comand",
        )],
    );
    assert_findings(
        CRON,
        "patch: {spec: {suspended: true}}",
        &[&unknown("spec.suspended")],
    );
    assert_findings(CRON, "patch: {spec: {suspend: true}}", &[]);
    let wrong = findings_for_patch(JOB, "patch: {spec: {completions: many}}");
    assert!(
        wrong[0].starts_with("GPUC3012 invalid value for `spec.completions`: "),
        "{wrong:?}"
    );
    assert_findings(
        JOB,
        "podPatch: {containers: [{name: main, resources: {limits: {cpu: 2}}}]}",
        &[],
    );
    assert_findings(JOB, "podPatch: {hostnameOverride: a}", &[]);
}

#[test]
fn selectors_select_their_pods() {
    let labels = "patch: {spec: {template: {metadata: {labels: {gpuc.dev/workload: other}}}}}";
    let message = "GPUC3012 `spec.selector` does not match the labels of its own pod template: `gpuc.dev/workload`";
    assert_findings(SERVICE, labels, &[message]);
    assert_findings(
        SERVICE,
        "patch: {spec: {selector: {matchLabels: {gpuc.dev/workload: other}}}}",
        &[message],
    );
    assert_findings(
        SERVICE,
        "patch: {spec: {template: {metadata: {labels: {tier: gold}}}}}",
        &[],
    );
}

#[test]
fn requests_equal_limits() {
    let job = "job: {image: 'registry.example.com/m:1.0.0', gpus: 1}";
    for limit in ["'2'", "null"] {
        let patch = format!(
            "podPatch: {{containers: [{{name: main, resources: {{limits: {{nvidia.com/gpu: {limit}}}}}}}]}}"
        );
        let found = findings_for_patch(job, &patch);
        assert!(
            found.iter().any(|it| it.starts_with("GPUC3013 ")),
            "{found:?}"
        );
    }
}

#[test]
fn counts_fit_the_nodes() {
    let does_not_fit = "GPUC3011 with its patch, workload `w` fits no pool";
    for (task, patch) in [
        (
            JOB_SET,
            "patch: {spec: {replicatedJobs: [{name: node, replicas: 2}]}}",
        ),
        (TRAIN, "patch: {spec: {trainer: {numNodes: 3}}}"),
        (
            TORCH,
            "patch: {spec: {pytorchReplicaSpecs: {Worker: {replicas: 2}}}}",
        ),
        (LWS, "patch: {spec: {leaderWorkerTemplate: {size: 3}}}"),
    ] {
        assert_findings(task, patch, &[does_not_fit]);
    }
    assert_findings(TRAIN, "patch: {spec: {trainer: {numNodes: 2}}}", &[]);
}

#[test]
fn counts_are_consistent() {
    let min = |name: &str, is: &str, min: u32| {
        format!("GPUC3012 `{name}` is {is}, but must be {min} or more")
    };
    for (task, patch, expected) in [
        (JOB, "{spec: {parallelism: 0}}", None),
        (
            JOB,
            "{spec: {parallelism: -1}}",
            Some(min("spec.parallelism", "-1", 0)),
        ),
        (
            JOB,
            "{spec: {completions: -2}}",
            Some(min("spec.completions", "-2", 0)),
        ),
        (SERVICE, "{spec: {replicas: 0}}", None),
        (
            SERVICE,
            "{spec: {replicas: -1}}",
            Some(min("spec.replicas", "-1", 0)),
        ),
        (
            CRON,
            "{spec: {jobTemplate: {spec: {parallelism: -1}}}}",
            Some(min("spec.jobTemplate.spec.parallelism", "-1", 0)),
        ),
        (TRAIN, "{spec: {trainer: {numNodes: 1}}}", None),
        (
            TRAIN,
            "{spec: {trainer: {numNodes: 0}}}",
            Some(min("numNodes", "0", 1)),
        ),
        (
            TRAIN,
            "{spec: {trainer: {numNodes: -3}}}",
            Some(min("numNodes", "-3", 1)),
        ),
        (
            TRAIN,
            "{spec: {trainer: {numNodes: many}}}",
            Some(
                "GPUC3012 invalid value for `spec.trainer.numNodes`: it is a string, but must be an integer"
                    .to_owned(),
            ),
        ),
        (
            TORCH,
            "{spec: {pytorchReplicaSpecs: {Master: {replicas: 0}}}}",
            Some("GPUC3012 `spec.pytorchReplicaSpecs.Master.replicas` must be 1".to_owned()),
        ),
        (
            LWS,
            "{spec: {leaderWorkerTemplate: {size: 0}}}",
            Some(min("spec.leaderWorkerTemplate.size", "0", 1)),
        ),
        (
            JOB_SET,
            "{spec: {replicatedJobs: [{name: node, replicas: -1}]}}",
            Some(min("replicas", "-1", 0)),
        ),
    ] {
        let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
        assert_findings(task, &format!("patch: {patch}"), &expected);
    }
}

#[test]
fn patched_replicas_fit_the_nodes() {
    let service = "deployment: {image: 'registry.example.com/m:1.0.0', gpus: 1}";
    assert_findings(service, "patch: {spec: {replicas: 4}}", &[]);
    let over = "GPUC3011 the services on pool `gpu` need 5 of `nvidia.com/gpu` at once, but its maximum of 2 nodes has 4";
    assert_findings(service, "patch: {spec: {replicas: 5}}", &[over]);
    let two = "statefulSet: {image: 'registry.example.com/m:1.0.0', gpus: 2}";
    assert_findings(two, "patch: {spec: {replicas: 2}}", &[]);
    let over = "GPUC3011 the services on pool `gpu` need 6 of `nvidia.com/gpu` at once, but its maximum of 2 nodes has 4";
    assert_findings(two, "patch: {spec: {replicas: 3}}", &[over]);
    assert_findings(LWS, "patch: {spec: {replicas: 2}}", &[]);
    assert_findings(LWS, "patch: {spec: {replicas: 3}}", &[over]);
    // All services on a pool are counted together.
    let other = "\n  - name: v\n    deployment: {image: 'registry.example.com/m:1.0.0', gpus: 2}";
    let patch = |count: u32| format!("patch: {{spec: {{replicas: {count}}}}}{other}");
    let over = "GPUC3011 the services on pool `gpu` need 5 of `nvidia.com/gpu` at once, but its maximum of 2 nodes has 4";
    assert_findings(service, &patch(2), &[]);
    assert_findings(service, &patch(3), &[over]);
    // The pods of one job run on separate nodes.
    let does_not_fit = "GPUC3011 with its patch, workload `w` fits no pool";
    for (task, patch) in [
        (TRAIN, "{spec: {trainer: {numNodes: 3}}}"),
        (
            TORCH,
            "{spec: {pytorchReplicaSpecs: {Worker: {replicas: 2}}}}",
        ),
        (
            JOB_SET,
            "{spec: {replicatedJobs: [{name: node, replicas: 2}]}}",
        ),
        (
            JOB_SET,
            "{spec: {replicatedJobs: [{name: node, template: {spec: {parallelism: 3, completions: 3}}}]}}",
        ),
        (LWS, "{spec: {leaderWorkerTemplate: {size: 3}}}"),
    ] {
        assert_findings(task, &format!("patch: {patch}"), &[does_not_fit]);
    }
}

#[test]
fn patched_replicas_fit_the_quota() {
    let check = |task: &str, patch: &str, expected: &[&str]| {
        let team = "team: t\n    ";
        let teams = "teams: [{name: t, quota: {gpus: [{pool: gpu, guaranteed: 2}]}}]";
        let findings = findings_for_patch(
            &format!("{team}{task}"),
            &format!("patch: {patch}\n{teams}"),
        );
        assert_eq!(findings, expected, "{task} {patch}");
    };
    let over = |count: u32| {
        format!(
            "GPUC3013 workload `w` needs {count} of `nvidia.com/gpu` at once, but the team's limit is 2"
        )
    };
    let one = |kind: &str, keys: &str| {
        format!("{kind}: {{image: 'registry.example.com/m:1.0.0', {keys}}}")
    };
    check(
        &one("cronJob", "gpus: 1, schedule: '@daily'"),
        "{spec: {jobTemplate: {spec: {parallelism: 2}}}}",
        &[],
    );
    check(
        &one("cronJob", "gpus: 1, schedule: '@daily'"),
        "{spec: {jobTemplate: {spec: {parallelism: 3}}}}",
        &[&over(3)],
    );
    check(
        &one("trainJob", "nodes: 1, gpusPerNode: 2"),
        "{spec: {trainer: {numNodes: 2}}}",
        &[&over(4)],
    );
    check(
        &one("leaderWorkerSet", "nodes: 1, gpusPerNode: 2"),
        "{spec: {replicas: 2}}",
        &[
            "GPUC3013 with its patch, LeaderWorkerSet w exceeds the quota of its team: \
             2 pods with 2 each need 4 of `nvidia.com/gpu`",
        ],
    );
    check(
        &one("jobSet", "nodes: 1, gpusPerNode: 2"),
        "{spec: {replicatedJobs: [{name: node, replicas: 2}]}}",
        &[&over(4)],
    );
    // A Job creates no more pods than it has completions left.
    check(
        &one("job", "gpus: 1"),
        "{spec: {parallelism: 9, completions: 2}}",
        &[],
    );
    check(
        &one("job", "gpus: 1"),
        "{spec: {parallelism: 9, completions: 3}}",
        &[&over(3)],
    );
}

#[test]
fn variables_have_one_value() {
    let twice = "GPUC3012 variable `A` has both a `value` and a `valueFrom`";
    let task = "job: {image: 'registry.example.com/m:1.0.0', env: {A: b}}";
    let env = |entry: &str| {
        format!("podPatch: {{containers: [{{name: main, env: [{{name: A, {entry}}}]}}]}}")
    };
    let from = "valueFrom: {fieldRef: {fieldPath: metadata.name}}";
    assert_findings(task, &env(from), &[twice]);
    assert_findings(task, &env(&format!("value: null, {from}")), &[]);
    assert_findings(task, &env("value: c"), &[]);
    assert_findings(JOB, &env(&format!("value: c, {from}")), &[twice]);
    assert_findings(JOB, &env(&format!("value: '', {from}")), &[]);
}

#[test]
fn misspelled_container_names_are_suggested() {
    let removed = "GPUC3012 the Job has no container `Main`";
    assert_findings(
        JOB,
        "podPatch: {containers: [{name: Main, tty: true}]}",
        &[removed],
    );
    assert_findings(
        JOB,
        "podPatch: {containers: [{name: sidecar, tty: true}]}",
        &["GPUC3012 container `sidecar` has no image"],
    );
}

#[test]
fn patched_objects_are_validated() {
    let refused = |path: &str, rest: &str| format!("GPUC3012 `{path}` {rest}");
    for (task, patch, expected) in [
        (
            CRON,
            "{spec: {concurrencyPolicy: allow}}",
            refused(
                "spec.concurrencyPolicy",
                "is `allow`, but must be `Allow`, `Forbid` or `Replace`",
            ),
        ),
        (
            CRON,
            "{spec: {schedule: often}}",
            "GPUC3012 `spec.schedule`: invalid schedule `often`".to_owned(),
        ),
        (
            SERVICE,
            "{spec: {strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 0%}}}}",
            refused(
                "spec.strategy.rollingUpdate.maxUnavailable",
                "and `maxSurge` are both 0, so no pod can be replaced",
            ),
        ),
        (
            SERVICE,
            "{spec: {template: {spec: {restartPolicy: Never}}}}",
            refused(
                "spec.template.spec.restartPolicy",
                "is `Never`, but must be `Always` in a Deployment",
            ),
        ),
        (
            JOB,
            "{metadata: {labels: {'a b': c}}}",
            refused("a b", "of `metadata.labels` is not a valid label key"),
        ),
        (
            JOB,
            "{spec: {backoffLimit: -1}}",
            refused("spec.backoffLimit", "is -1, but must be 0 or more"),
        ),
        (
            TORCH,
            "{spec: {pytorchReplicaSpecs: {Worker: {template: {spec: {dnsPolicy: Nope}}}}}}",
            refused(
                "spec.pytorchReplicaSpecs.Worker.template.spec.dnsPolicy",
                "is `Nope`, but must be `ClusterFirst`, `ClusterFirstWithHostNet`, `Default` or `None`",
            ),
        ),
    ] {
        assert_findings(task, &format!("patch: {patch}"), &[&expected]);
    }
}

#[test]
fn priority_classes_are_those_of_the_file() {
    let list = "podPatch: {priorityClassName: prodd}\npriorities: [{name: prod, value: 1}]";
    assert_findings(JOB, list, &["GPUC3014 unknown PriorityClass `prodd`"]);
    assert_findings(JOB, &list.replace("prodd}", "prod}"), &[]);
    assert_findings(JOB, &list.replace("prodd}", "system-node-critical}"), &[]);
    assert_findings(JOB, "podPatch: {priorityClassName: prodd}", &[]);
}
