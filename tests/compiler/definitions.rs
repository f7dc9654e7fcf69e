//! Custom resources against the definitions that their projects publish: gpuc's own pass, and what a patch makes of
//! them is refused where the API server would refuse or drop it.

use std::collections::BTreeMap;

use gpuc::api_server::{self, Extent};

use crate::corpus::cases;
use crate::support::compile_text;

/// What is said, as code and message, of a workload with a patch.
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
fn what_gpuc_writes_is_what_the_api_server_takes() {
    let mut looked: BTreeMap<String, usize> = BTreeMap::new();
    for case in cases() {
        for object in &case.plan().objects {
            let identity = &object.identity;
            let (version, kind) = (identity.api_version.as_str(), identity.kind.as_str());
            let found = api_server::look(version, kind, &object.node, Extent::Whole);
            assert!(found.is_empty(), "{} {kind}: {found:?}", case.name);
            if api_server::knows(version, kind) {
                *looked.entry(kind.to_owned()).or_default() += 1;
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
        assert!(looked.contains_key(kind), "no {kind} among {looked:?}");
    }
}

/// What is said of a field names the version of the chart that gpuc installs.
#[test]
fn definitions_are_those_of_the_charts() {
    let mut compared = 0;
    for (_, project) in api_server::definitions() {
        let (project, version) = project.rsplit_once(' ').unwrap();
        let chart = match project {
            "JobSet" => "jobset",
            "Kubeflow Trainer" => "kubeflow-trainer",
            "Kueue" => "kueue",
            "LeaderWorkerSet" => "lws",
            // No chart of gpuc's brings these.
            "Training Operator" | "Volcano" => continue,
            other => panic!("{other}"),
        };
        let charts = gpuc::chart::CHARTS.iter();
        let mut versions = charts.filter(|it| it.name == chart).map(|it| it.version);
        assert_eq!(versions.next(), Some(version), "{project}");
        compared += 1;
    }
    assert_eq!(compared, 4);
}

/// A kind of workload, a patch of it, and what is said; nothing where it is empty.
const PATCHED: &[(&str, &str, &str)] = &[
    (
        "trainJob",
        "{spec: {foo: 5}}",
        "Kubeflow Trainer 2.3.0 knows no `spec.foo`",
    ),
    (
        "trainJob",
        "{spec: {trainer: {numNode: 2}}}",
        "Kubeflow Trainer 2.3.0 knows no `spec.trainer.numNode`",
    ),
    (
        "trainJob",
        "{spec: {trainer: {numNodes: many}}}",
        "Kubernetes cannot read `spec.trainer.numNodes`: it is text, and must be a whole number",
    ),
    (
        "trainJob",
        "{spec: {runtimeRef: {name: null}}}",
        "`patch.spec.runtimeRef.name` takes away what nothing can be without",
    ),
    (
        "jobSet",
        "{spec: {sucessPolicy: {operator: All}}}",
        "JobSet 0.12.0 knows no `spec.sucessPolicy`",
    ),
    (
        "jobSet",
        "{spec: {ttlSecondsAfterFinished: -1}}",
        "`spec.ttlSecondsAfterFinished` is -1, and has to be 0 or more",
    ),
    (
        "jobSet",
        "{spec: {failurePolicy: {rules: [{action: FailJob}]}}}",
        "`spec.failurePolicy.rules[0].action` is `FailJob`, and has to be `FailJobSet`, `RestartJobSet`, \
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
        "Kubernetes knows no `spec.replicatedJobs[0].template.spec.backoffLimits`",
    ),
    (
        "leaderWorkerSet",
        "{spec: {startupPolicy: LeaderFirst}}",
        "`spec.startupPolicy` is `LeaderFirst`, and has to be `LeaderCreated` or `LeaderReady`",
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
        "Kubernetes cannot read `spec.replicas`: it is text, and must be a whole number",
    ),
    (
        "pytorchJob",
        "{spec: {runPolicy: {cleanPodPolicy: Run}}}",
        "`spec.runPolicy.cleanPodPolicy` is `Run`, and has to be `All`, `Running` or `None`",
    ),
    (
        "pytorchJob",
        "{spec: {pytorchReplicaSpecs: {Worker: {restartPolicy: Sometimes}}}}",
        "`spec.pytorchReplicaSpecs.Worker.restartPolicy` is `Sometimes`, and has to be `Always`, `OnFailure`, \
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
        "`spec.runtimeRef.kind` is `TrainingRuntimes`, and has to be `ClusterTrainingRuntime` or `TrainingRuntime`",
    ),
    (
        "trainJob",
        "{spec: {runtimeRef: {apiGroup: kubeflow.org}}}",
        "`spec.runtimeRef.apiGroup` is `kubeflow.org`, and has to be `trainer.kubeflow.org`",
    ),
    (
        "trainJob",
        "{spec: {initializer: {dataset: {storageUri: a/b}}}}",
        "Kubeflow Trainer 2.3.0 refuses `spec.initializer.dataset.storageUri`: storageUri may be empty, or it must be a \
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
        "JobSet 0.12.0 refuses `spec`: StartupPolicy and DependsOn APIs are mutually exclusive",
    ),
    (
        "trainJob",
        "{spec: {managedBy: nobody}}",
        "`spec.managedBy` is `nobody`, and has to be `trainer.kubeflow.org/trainjob-controller` or \
             `kueue.x-k8s.io/multikueue`",
    ),
    (
        "jobSet",
        "{spec: {coordinator: {replicatedJob: nodes}}}",
        "`spec.coordinator.replicatedJob` is `nodes`, and the set has no job of this name",
    ),
    ("jobSet", "{spec: {coordinator: {replicatedJob: node}}}", ""),
    (
        "leaderWorkerSet",
        "{spec: {leaderWorkerTemplate: {subGroupPolicy: {subGroupSize: 3}}}}",
        "`spec.leaderWorkerTemplate.subGroupPolicy.subGroupSize` is 3, of which neither 2 nor 1 is a multiple",
    ),
    (
        "leaderWorkerSet",
        "{spec: {leaderWorkerTemplate: {workerTemplate: {spec: {restartPolicy: Never}}}}}",
        "`spec.leaderWorkerTemplate.workerTemplate.spec.restartPolicy` is `Never`, and has to be `Always` in a \
             LeaderWorkerSet",
    ),
    (
        "leaderWorkerSet",
        "{spec: {leaderWorkerTemplate: {workerTemplate: {spec: {containers: [{name: main, livenessProbe: {tcpSocket: \
             {port: web}}}]}}}}}",
        "`containers[0].livenessProbe.tcpSocket.port` is `web`, and the container has no port of this name",
    ),
    (
        "pytorchJob",
        "{spec: {nprocPerNode: 2}}",
        "Kubernetes cannot read `spec.nprocPerNode`: it is a number, and must be text",
    ),
];

#[test]
fn patched_custom_resources_are_what_their_definitions_say() {
    for (task, patch, message) in PATCHED {
        let said = found(task, patch);
        let expected = match *message {
            "" => Vec::new(),
            message => vec![format!("GPUC3012 {message}")],
        };
        assert_eq!(said, expected, "{task} {patch}");
    }
}

/// Of two things of one name in a patch the second would be laid over the first.
#[test]
fn patches_name_everything_once() {
    let env = "{spec: {template: {spec: {containers: [{name: main, env: [{name: A, value: a}, {name: A, value: b}]}]}}}}";
    let set = format!("{{spec: {{replicatedJobs: [{{name: node, template: {env}}}]}}}}");
    let way = "patch.spec.replicatedJobs.template.spec.template.spec.containers.env";
    assert_eq!(
        found("jobSet", &set),
        [format!("GPUC3012 `{way}` has `A` twice")]
    );
    let twice = "{spec: {replicatedJobs: [{name: node, replicas: 1}, {name: node, replicas: 2}]}}";
    assert_eq!(
        found("jobSet", twice),
        ["GPUC3012 `patch.spec.replicatedJobs` has `node` twice"]
    );
    let mounts = "containers: [{name: main, volumeMounts: [{name: v, mountPath: /a}, {name: v, mountPath: /b}]}], \
                  volumes: [{name: v}]";
    let mounts = format!(
        "{{spec: {{replicatedJobs: [{{name: node, template: {{spec: {{template: {{spec: {{{mounts}}}}}}}}}}}]}}}}"
    );
    assert!(
        found("jobSet", &mounts).is_empty(),
        "{:?}",
        found("jobSet", &mounts)
    );
}

/// Sets bring volumes by themselves, which a container may mount.
#[test]
fn volumes_that_sets_bring_can_be_mounted() {
    let claim = "{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}";
    let mount = "containers: [{name: main, volumeMounts: [{name: data, mountPath: /data}]}]";
    let set = format!(
        "{{spec: {{volumeClaimPolicies: [{{templates: [{claim}]}}], replicatedJobs: [{{name: node, template: {{spec: \
         {{template: {{spec: {{{mount}}}}}}}}}}}]}}}}"
    );
    assert!(
        found("jobSet", &set).is_empty(),
        "{:?}",
        found("jobSet", &set)
    );
    let none = set.replace("name: data}, spec", "name: other}, spec");
    let message = "the pod has no volume of this name";
    assert!(found("jobSet", &none)[0].contains(message));
    let group = format!(
        "{{spec: {{leaderWorkerTemplate: {{volumeClaimTemplates: [{claim}], workerTemplate: {{spec: {{{mount}}}}}}}}}}}"
    );
    let said = found("leaderWorkerSet", &group);
    assert!(said.is_empty(), "{said:?}");
}
