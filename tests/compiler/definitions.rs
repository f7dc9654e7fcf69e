//! Custom resources match the CRDs of their projects: generated objects are valid, and gpuc rejects a patch that makes
//! an object invalid, as the API server does.

use std::collections::BTreeMap;

use gpuc_kubernetes::api_server::{self, Completeness};

use crate::corpus::cases;
use crate::support::compile_text;

/// The findings, as code and message, for a workload with a patch.
fn findings_of(task: &str, patch: &str) -> Vec<String> {
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
    {task}: {{image: 'registry.example.com/m:1.0.0', nodes: 2, gpusPerNode: 1}}
    patch: {patch}
"
    );
    let yaml = yaml.replace("pytorchJob: {", "pytorchJob: {operator: existing, ");
    let outcome = compile_text(&yaml);
    let found = outcome.findings.iter();
    found
        .filter(|found| found.code.id.starts_with("GPUC3"))
        .map(|found| format!("{} {}", found.code.id, found.message))
        .collect()
}

#[test]
fn generated_objects_are_accepted_by_the_api_server() {
    let mut checked: BTreeMap<String, usize> = BTreeMap::new();
    for case in cases() {
        for object in &case.plan().objects {
            let identity = &object.identity;
            let (version, kind) = (identity.api_version.as_str(), identity.kind.as_str());
            let found =
                api_server::validate_object(version, kind, &object.node, Completeness::Complete);
            assert!(found.is_empty(), "{} {kind}: {found:?}", case.name);
            if api_server::is_known_kind(version, kind) {
                *checked.entry(kind.to_owned()).or_default() += 1;
            }
        }
    }
    for kind in [
        "ClusterQueue",
        "CronJob",
        "Job",
        "JobSet",
        "LeaderWorkerSet",
        "LocalQueue",
        "PyTorchJob",
        "ResourceFlavor",
        "TrainJob",
        "TrainingRuntime",
    ] {
        assert!(checked.contains_key(kind), "no {kind} among {checked:?}");
    }
}

/// Findings about a field name the version of the chart that gpuc installs.
#[test]
fn crds_match_the_charts() {
    let mut compared = 0;
    for (_, project) in api_server::custom_groups() {
        let (project, version) = project.rsplit_once(' ').unwrap();
        let chart = match project {
            "JobSet" => "jobset",
            "Kubeflow Trainer" => "kubeflow-trainer",
            "Kueue" => "kueue",
            "LeaderWorkerSet" => "lws",
            // No chart in gpuc installs these CRDs.
            "Training Operator" | "Volcano" => continue,
            other => panic!("{other}"),
        };
        let charts = gpuc_compile::charts::CHARTS.iter();
        let mut versions = charts.filter(|it| it.name == chart).map(|it| it.version);
        assert_eq!(versions.next(), Some(version), "{project}");
        compared += 1;
    }
    assert_eq!(compared, 4);
}

/// The kind of a workload, its patch, and the expected finding, which is empty if the patch is valid.
const PATCHED: &[(&str, &str, &str)] = &[
    (
        "trainJob",
        "{spec: {foo: 5}}",
        "Kubeflow Trainer 2.3.0 has no field `spec.foo`",
    ),
    (
        "trainJob",
        "{spec: {trainer: {numNode: 2}}}",
        "Kubeflow Trainer 2.3.0 has no field `spec.trainer.numNode`",
    ),
    (
        "trainJob",
        "{spec: {trainer: {numNodes: many}}}",
        "invalid value for `spec.trainer.numNodes`: it is a string, but must be an integer",
    ),
    (
        "trainJob",
        "{spec: {runtimeRef: {name: null}}}",
        "`patch.spec.runtimeRef.name` removes a required field",
    ),
    (
        "jobSet",
        "{spec: {sucessPolicy: {operator: All}}}",
        "JobSet 0.12.0 has no field `spec.sucessPolicy`",
    ),
    (
        "jobSet",
        "{spec: {ttlSecondsAfterFinished: -1}}",
        "`spec.ttlSecondsAfterFinished` is -1, but must be 0 or more",
    ),
    (
        "jobSet",
        "{spec: {failurePolicy: {rules: [{action: FailJob}]}}}",
        "`spec.failurePolicy.rules[0].action` is `FailJob`, but must be `FailJobSet`, `RestartJobSet`, \
             `RestartJobSetAndIgnoreMaxRestarts`, `RestartJob` or `RestartJobAndIgnoreMaxRestarts`",
    ),
    (
        "jobSet",
        "{spec: {failurePolicy: {rules: [{name: a}]}}}",
        "`spec.failurePolicy.rules[0]` has no `action`",
    ),
    (
        "jobSet",
        "{spec: {failurePolicy: {rules: [{action: FailJobSet}]}}}",
        "",
    ),
    (
        "jobSet",
        "{spec: {replicatedJobs: [{name: node, template: {spec: {backoffLimits: 1}}}]}}",
        "Kubernetes has no field `spec.replicatedJobs[0].template.spec.backoffLimits`",
    ),
    (
        "leaderWorkerSet",
        "{spec: {startupPolicy: LeaderFirst}}",
        "`spec.startupPolicy` is `LeaderFirst`, but must be `LeaderCreated` or `LeaderReady`",
    ),
    (
        "leaderWorkerSet",
        "{spec: {startupPolicy: LeaderReady}}",
        "",
    ),
    ("leaderWorkerSet", "{spec: {networkConfig: {}}}", ""),
    (
        "leaderWorkerSet",
        "{spec: {replicas: 'two'}}",
        "invalid value for `spec.replicas`: it is a string, but must be an integer",
    ),
    (
        "pytorchJob",
        "{spec: {runPolicy: {cleanPodPolicy: Run}}}",
        "`spec.runPolicy.cleanPodPolicy` is `Run`, but must be `All`, `Running` or `None`",
    ),
    (
        "pytorchJob",
        "{spec: {pytorchReplicaSpecs: {Worker: {restartPolicy: Sometimes}}}}",
        "`spec.pytorchReplicaSpecs.Worker.restartPolicy` is `Sometimes`, but must be `Always`, `OnFailure`, \
             `Never` or `ExitCode`",
    ),
    (
        "pytorchJob",
        "{spec: {pytorchReplicaSpecs: {Worker: {restartPolicy: ExitCode}}}}",
        "",
    ),
    (
        "trainJob",
        "{spec: {runtimeRef: {kind: TrainingRuntimes}}}",
        "`spec.runtimeRef.kind` is `TrainingRuntimes`, but must be `ClusterTrainingRuntime` or `TrainingRuntime`",
    ),
    (
        "trainJob",
        "{spec: {runtimeRef: {apiGroup: kubeflow.org}}}",
        "`spec.runtimeRef.apiGroup` is `kubeflow.org`, but must be `trainer.kubeflow.org`",
    ),
    (
        "trainJob",
        "{spec: {initializer: {dataset: {storageUri: a/b}}}}",
        "Kubeflow Trainer 2.3.0 rejects `spec.initializer.dataset.storageUri`: storageUri may be empty, or it must be a \
             valid URI (scheme://...)",
    ),
    (
        "trainJob",
        "{spec: {initializer: {dataset: {storageUri: 'hf://a/b'}}}}",
        "",
    ),
    (
        "jobSet",
        "{spec: {startupPolicy: {startupPolicyOrder: InOrder}, replicatedJobs: [{name: node, dependsOn: []}]}}",
        "JobSet 0.12.0 rejects `spec`: StartupPolicy and DependsOn APIs are mutually exclusive",
    ),
    (
        "trainJob",
        "{spec: {managedBy: nobody}}",
        "`spec.managedBy` is `nobody`, but must be `trainer.kubeflow.org/trainjob-controller` or \
             `kueue.x-k8s.io/multikueue`",
    ),
    (
        "jobSet",
        "{spec: {coordinator: {replicatedJob: nodes}}}",
        "`spec.coordinator.replicatedJob` is `nodes`, but the set has no job with this name",
    ),
    ("jobSet", "{spec: {coordinator: {replicatedJob: node}}}", ""),
    (
        "leaderWorkerSet",
        "{spec: {leaderWorkerTemplate: {subGroupPolicy: {subGroupSize: 3}}}}",
        "`spec.leaderWorkerTemplate.subGroupPolicy.subGroupSize` is 3, but neither 2 nor 1 is a multiple of it",
    ),
    (
        "leaderWorkerSet",
        "{spec: {leaderWorkerTemplate: {workerTemplate: {spec: {restartPolicy: Never}}}}}",
        "`spec.leaderWorkerTemplate.workerTemplate.spec.restartPolicy` is `Never`, but must be `Always` in a \
             LeaderWorkerSet",
    ),
    (
        "pytorchJob",
        "{spec: {nprocPerNode: 2}}",
        "invalid value for `spec.nprocPerNode`: it is a number, but must be a string",
    ),
];

#[test]
fn patched_custom_resources_match_their_crds() {
    for (task, patch, message) in PATCHED {
        let findings = findings_of(task, patch);
        let expected = match *message {
            "" => Vec::new(),
            message => vec![format!("GPUC3012 {message}")],
        };
        assert_eq!(findings, expected, "{task} {patch}");
    }
}

/// Of two list items with the same name in a patch, the second would overwrite the first.
#[test]
fn patches_have_no_duplicate_names() {
    let env = "{spec: {template: {spec: {containers: [{name: main, env: [{name: A, value: a}, {name: A, value: b}]}]}}}}";
    let set = format!("{{spec: {{replicatedJobs: [{{name: node, template: {env}}}]}}}}");
    let way = "patch.spec.replicatedJobs.template.spec.template.spec.containers.env";
    assert_eq!(
        findings_of("jobSet", &set),
        [format!("GPUC3012 `{way}` has `A` twice")]
    );
    let twice = "{spec: {replicatedJobs: [{name: node, replicas: 1}, {name: node, replicas: 2}]}}";
    assert_eq!(
        findings_of("jobSet", twice),
        ["GPUC3012 `patch.spec.replicatedJobs` has `node` twice"]
    );
    let mounts = "containers: [{name: main, volumeMounts: [{name: v, mountPath: /a}, {name: v, mountPath: /b}]}], \
                  volumes: [{name: v}]";
    let mounts = format!(
        "{{spec: {{replicatedJobs: [{{name: node, template: {{spec: {{template: {{spec: {{{mounts}}}}}}}}}}}]}}}}"
    );
    assert!(
        findings_of("jobSet", &mounts).is_empty(),
        "{:?}",
        findings_of("jobSet", &mounts)
    );
}

/// A container can mount the volumes that a StatefulSet creates.
#[test]
fn volume_claim_templates_can_be_mounted() {
    let claim = "{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}";
    let mount = "containers: [{name: main, volumeMounts: [{name: data, mountPath: /data}]}]";
    let set = format!(
        "{{spec: {{volumeClaimPolicies: [{{templates: [{claim}]}}], replicatedJobs: [{{name: node, template: {{spec: \
         {{template: {{spec: {{{mount}}}}}}}}}}}]}}}}"
    );
    assert!(
        findings_of("jobSet", &set).is_empty(),
        "{:?}",
        findings_of("jobSet", &set)
    );
    let none = set.replace("name: data}, spec", "name: other}, spec");
    let message = "the pod has no volume with this name";
    assert!(findings_of("jobSet", &none)[0].contains(message));
    let group = format!(
        "{{spec: {{leaderWorkerTemplate: {{volumeClaimTemplates: [{claim}], workerTemplate: {{spec: {{{mount}}}}}}}}}}}"
    );
    let findings = findings_of("leaderWorkerSet", &group);
    assert!(findings.is_empty(), "{findings:?}");
}
