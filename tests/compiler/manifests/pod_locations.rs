//! Every location where a known kind can request GPUs is checked, or reported as unchecked.

use super::check;

/// A resource that no pool advertises.
const UNKNOWN_RESOURCE: &str = "{limits: {nvidia.com/gpu.type: 1}}";

/// The apiVersion and kind of an object, and its parts with `@` in place of the resources of a container.
const POD_LOCATIONS: &[(&str, &str, &str)] = &[
    ("v1", "Pod", "spec: {containers: [C]}"),
    ("v1", "Pod", "spec: {containers: [N], initContainers: [C]}"),
    ("v1", "PodTemplate", "template: {spec: {containers: [C]}}"),
    (
        "v1",
        "ReplicationController",
        "spec: {template: {spec: {containers: [C]}}}",
    ),
    (
        "apps/v1",
        "Deployment",
        "spec: {template: {spec: {containers: [C]}}}",
    ),
    (
        "apps/v1",
        "DaemonSet",
        "spec: {template: {spec: {containers: [C]}}}",
    ),
    (
        "batch/v1",
        "Job",
        "spec: {template: {spec: {containers: [C]}}}",
    ),
    (
        "batch/v1",
        "CronJob",
        "spec: {jobTemplate: {spec: {template: {spec: {containers: [C]}}}}}",
    ),
    (
        "template.openshift.io/v1",
        "Template",
        "objects: [{kind: Pod, spec: {containers: [C]}}]",
    ),
    (
        "argoproj.io/v1alpha1",
        "Workflow",
        "spec: {templates: [{name: a, container: C}]}",
    ),
    (
        "argoproj.io/v1alpha1",
        "Workflow",
        "spec: {templates: [{name: a, script: C}]}",
    ),
    (
        "argoproj.io/v1alpha1",
        "Workflow",
        "spec: {templates: [{name: a, container: N, initContainers: [C]}]}",
    ),
    (
        "argoproj.io/v1alpha1",
        "Workflow",
        "spec: {templates: [{name: a, container: N, sidecars: [C]}]}",
    ),
    (
        "argoproj.io/v1alpha1",
        "Workflow",
        "spec: {templates: [{name: a, containerSet: {containers: [N, C]}}]}",
    ),
    (
        "argoproj.io/v1alpha1",
        "Workflow",
        "spec: {templates: [{name: a, steps: [[{name: b, inline: {container: C}}]]}]}",
    ),
    (
        "argoproj.io/v1alpha1",
        "Workflow",
        "spec: {templateDefaults: {container: C}}",
    ),
    (
        "argoproj.io/v1alpha1",
        "Workflow",
        "spec: {podSpecPatch: '{containers: [C]}'}",
    ),
    (
        "argoproj.io/v1alpha1",
        "Workflow",
        "spec: {templates: [{name: a, container: N, podSpecPatch: '{containers: [C]}'}]}",
    ),
    (
        "argoproj.io/v1alpha1",
        "Workflow",
        "spec: {podSpecPatch: '{initContainers: [C]}'}",
    ),
    (
        "argoproj.io/v1alpha1",
        "Workflow",
        "spec: {templates: [{name: a, resource: {action: create, manifest: '{apiVersion: v1, kind: Pod, spec: {containers: [C]}}'}}]}",
    ),
    (
        "argoproj.io/v1alpha1",
        "Workflow",
        "spec: {templates: [{name: a, plugin: {x: C}}]}",
    ),
    (
        "argoproj.io/v1alpha1",
        "CronWorkflow",
        "spec: {workflowSpec: {templates: [{name: a, container: C}]}}",
    ),
    (
        "argoproj.io/v1alpha1",
        "ClusterWorkflowTemplate",
        "spec: {templates: [{name: a, sidecars: [C], script: N}]}",
    ),
    (
        "argoproj.io/v1alpha1",
        "Sensor",
        "spec: {triggers: [{template: {k8s: {source: {resource: {spec: {templates: [{container: C}]}}}}}}]}",
    ),
    (
        "argoproj.io/v1alpha1",
        "Rollout",
        "spec: {template: {spec: {containers: [C]}}}",
    ),
    (
        "argoproj.io/v1alpha1",
        "Application",
        "spec: {source: {helm: {valuesObject: {worker: C}}}}",
    ),
    (
        "argoproj.io/v1alpha1",
        "Application",
        "spec: {source: {helm: {values: '{worker: C}'}}}",
    ),
    (
        "argoproj.io/v1alpha1",
        "Application",
        "spec: {sources: [{helm: {values: '{worker: C}'}}]}",
    ),
    (
        "argoproj.io/v1alpha1",
        "Application",
        "spec: {source: {helm: {parameters: [{name: 'resources.limits.nvidia\\.com/gpu', value: '1'}]}}}",
    ),
    (
        "argoproj.io/v1alpha1",
        "ApplicationSet",
        "spec: {template: {spec: {source: {helm: {valuesObject: C}}}}}",
    ),
    (
        "helm.toolkit.fluxcd.io/v2",
        "HelmRelease",
        "spec: {values: {worker: {pods: [C]}}}",
    ),
    (
        "helm.toolkit.fluxcd.io/v2",
        "HelmRelease",
        "spec: {values: {gpus: {nvidia.com/gpu.type: 1}}}",
    ),
    (
        "kustomize.toolkit.fluxcd.io/v1",
        "Kustomization",
        "spec: {patches: [{patch: '{spec: {containers: [C]}}'}]}",
    ),
    (
        "serving.kserve.io/v1beta1",
        "InferenceService",
        "spec: {predictor: {model: M}}",
    ),
    (
        "serving.kserve.io/v1beta1",
        "InferenceService",
        "spec: {predictor: {triton: M}}",
    ),
    (
        "serving.kserve.io/v1beta1",
        "InferenceService",
        "spec: {predictor: {containers: [M]}}",
    ),
    (
        "serving.kserve.io/v1beta1",
        "InferenceService",
        "spec: {predictor: {model: {modelFormat: {name: a}}, workerSpec: {containers: [M]}}}",
    ),
    (
        "serving.kserve.io/v1beta1",
        "InferenceService",
        "spec: {predictor: {model: {}}, transformer: {containers: [M]}}",
    ),
    (
        "serving.kserve.io/v1beta1",
        "InferenceService",
        "spec: {predictor: {model: {}}, explainer: {art: M}}",
    ),
    (
        "serving.kserve.io/v1alpha1",
        "ServingRuntime",
        "spec: {containers: [M]}",
    ),
    (
        "serving.kserve.io/v1alpha1",
        "LLMInferenceService",
        "spec: {template: {containers: [C]}, worker: {containers: [N]}}",
    ),
    (
        "serving.knative.dev/v1",
        "Service",
        "spec: {template: {spec: {containers: [M]}}}",
    ),
    (
        "sparkoperator.k8s.io/v1beta2",
        "SparkApplication",
        "spec: {driver: G}",
    ),
    (
        "sparkoperator.k8s.io/v1beta2",
        "SparkApplication",
        "spec: {driver: {}, executor: G}",
    ),
    (
        "sparkoperator.k8s.io/v1beta2",
        "SparkApplication",
        "spec: {executor: {template: {spec: {containers: [C]}}}}",
    ),
    (
        "sparkoperator.k8s.io/v1beta2",
        "ScheduledSparkApplication",
        "spec: {template: {executor: G}}",
    ),
    (
        "trainer.kubeflow.org/v1alpha1",
        "TrainJob",
        "spec: {trainer: {resourcesPerNode: {limits: {nvidia.com/gpu.type: 1}}}}",
    ),
    (
        "kubeflow.org/v1",
        "PyTorchJob",
        "spec: {pytorchReplicaSpecs: {Worker: {template: {spec: {containers: [C]}}}}}",
    ),
    (
        "kubeflow.org/v2beta1",
        "MPIJob",
        "spec: {mpiReplicaSpecs: {Launcher: {template: {spec: {containers: [C]}}}}}",
    ),
    (
        "kubeflow.org/v1",
        "Notebook",
        "spec: {template: {spec: {containers: [C]}}}",
    ),
    (
        "jobset.x-k8s.io/v1alpha2",
        "JobSet",
        "spec: {replicatedJobs: [{template: {spec: {template: {spec: {containers: [C]}}}}}]}",
    ),
    (
        "leaderworkerset.x-k8s.io/v1",
        "LeaderWorkerSet",
        "spec: {leaderWorkerTemplate: {workerTemplate: {spec: {containers: [C]}}}}",
    ),
    (
        "ray.io/v1",
        "RayService",
        "spec: {rayClusterConfig: {workerGroupSpecs: [{template: {spec: {containers: [C]}}}]}}",
    ),
    (
        "batch.volcano.sh/v1alpha1",
        "Job",
        "spec: {tasks: [{template: {spec: {containers: [C]}}}]}",
    ),
    (
        "workload.codeflare.dev/v1beta2",
        "AppWrapper",
        "spec: {components: [{template: {spec: {containers: [C]}}}]}",
    ),
    (
        "flink.apache.org/v1beta1",
        "FlinkDeployment",
        "spec: {podTemplate: {spec: {containers: [C]}}}",
    ),
    (
        "kubernetes.dask.org/v1",
        "DaskCluster",
        "spec: {worker: {spec: {containers: [C]}}}",
    ),
    (
        "machinelearning.seldon.io/v1",
        "SeldonDeployment",
        "spec: {predictors: [{componentSpecs: [{spec: {containers: [C]}}]}]}",
    ),
    (
        "nvidia.com/v1alpha1",
        "DynamoGraphDeployment",
        "spec: {services: {worker: {resources: {limits: {gpu: '1'}}}}}",
    ),
    ("apps.nvidia.com/v1alpha1", "NIMService", "spec: C"),
    (
        "tekton.dev/v1",
        "Task",
        "spec: {steps: [{name: a, computeResources: {requests: {nvidia.com/gpu.type: 1}}}]}",
    ),
    (
        "actions.github.com/v1alpha1",
        "AutoscalingRunnerSet",
        "spec: {template: {spec: {containers: [C]}}}",
    ),
    (
        "example.com/v1",
        "Anything",
        "spec: {pods: {claims: {nvidia.com/gpu.type: 1}}}",
    ),
];

fn codes(text: &str) -> Vec<String> {
    let (outcome, _) = check("a.yaml", text);
    let found = outcome.findings.iter();
    found.map(|it| it.code.id.to_owned()).collect()
}

fn object(group: &str, kind: &str, rest: &str, ask: &str) -> String {
    let image = "image: \"r.example.com/a:1.0.0\"";
    let parts = rest
        .replace(": C", &format!(": {{name: c, {image}, resources: {ask}}}"))
        .replace("[C]", &format!("[{{name: c, {image}, resources: {ask}}}]"))
        .replace(" C]", &format!(" {{name: c, {image}, resources: {ask}}}]"))
        .replace("[N", &format!("[{{name: n, {image}}}"))
        .replace(": N", &format!(": {{name: n, {image}}}"))
        .replace(": M", &format!(": {{{image}, resources: {ask}}}"))
        .replace("[M]", &format!("[{{{image}, resources: {ask}}}]"))
        .replace(": G", ": {gpu: {name: nvidia.com/gpu.type, quantity: 1}}");
    format!("apiVersion: {group}\nkind: {kind}\nmetadata: {{name: a}}\n{parts}\n")
}

#[test]
fn locations_are_checked_or_reported() {
    for (group, kind, rest) in POD_LOCATIONS {
        let text = object(group, kind, rest, UNKNOWN_RESOURCE);
        let found = codes(&text);
        let is_found = found.iter().any(|it| it == "GPUC4001" || it == "GPUC4023");
        assert!(is_found, "{text}\n{found:?}");
        // A location has one finding of the two, not both.
        let both = ["GPUC4001", "GPUC4023"].map(|code| found.iter().any(|it| it == code));
        assert_ne!(both, [true, true], "{text}");
        let without = object(group, kind, rest, "{limits: {cpu: 1}}");
        let without = without.replace("gpu.type: 1", "gpu.type: 0");
        let without = without.replace("gpu: '1'", "gpu: '0'");
        let without = without.replace("quantity: 1", "quantity: 0");
        let without = without.replace("nvidia\\.com/gpu", "cpu");
        let found = codes(&without);
        assert!(
            !found.iter().any(|it| it == "GPUC4023"),
            "{without}\n{found:?}"
        );
    }
}

#[test]
fn gpu_counts_and_labels_are_not_requests() {
    for (group, kind, rest) in [
        ("v1", "Node", "status: {capacity: {nvidia.com/gpu: 8}}"),
        (
            "v1",
            "ResourceQuota",
            "spec: {hard: {requests.nvidia.com/gpu: 8}}",
        ),
        (
            "scheduling.volcano.sh/v1beta1",
            "Queue",
            "spec: {capability: {nvidia.com/gpu: 8}}",
        ),
        (
            "scheduling.x-k8s.io/v1alpha1",
            "PodGroup",
            "spec: {minMember: 2, minResources: {nvidia.com/gpu: 8}}",
        ),
        (
            "karpenter.sh/v1",
            "NodePool",
            "spec: {limits: {nvidia.com/gpu: 8}}",
        ),
        (
            "kueue.x-k8s.io/v1beta1",
            "ResourceFlavor",
            "spec: {nodeLabels: {nvidia.com/gpu.count: '8'}}",
        ),
        (
            "example.com/v1",
            "Anything",
            "spec: {nodeSelector: {nvidia.com/gpu.count: '8'}}",
        ),
        (
            "example.com/v1",
            "Anything",
            "status: {used: {nvidia.com/gpu: 8}}",
        ),
        (
            "kyverno.io/v1",
            "ClusterPolicy",
            "spec: {rules: [{mutate: {resources: {limits: {nvidia.com/gpu: 1}}}}]}",
        ),
    ] {
        let text = object(group, kind, rest, "{}");
        assert_eq!(codes(&text), [""; 0], "{text}");
    }
}

#[test]
fn embedded_texts_are_checked_at_their_lines() {
    let workflow = |template: &str| {
        format!(
            "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {{name: a}}\nspec:\n  templates:\n  - name: a\n{template}"
        )
    };
    let found = |text: &str| -> Vec<(usize, String)> {
        let (outcome, _) = check("a.yaml", text);
        super::actual_findings(&outcome).into_iter().collect()
    };
    let block = workflow(
        "    resource:\n      action: create\n      manifest: |\n        apiVersion: v1\n        kind: Pod\n        \
         metadata: {name: b}\n        spec:\n          containers:\n          - name: b\n            image: r.example.com/a:1\n            \
         resources: {limits: {nvidia.com/gpu.type: 1}}\n",
    );
    assert_eq!(found(&block), [(17, "GPUC4001".to_owned())]);
    let patch = workflow(
        "    container: {image: r.example.com/a:1}\n    podSpecPatch: |\n      containers:\n      \
                          - name: main\n        resources: {limits: {nvidia.com/gpu: 64}}\n",
    );
    assert_eq!(found(&patch), [(11, "GPUC4008".to_owned())]);
    // Text with placeholders is not YAML before they are filled in.
    let filled = workflow(
        "    container: {image: r.example.com/a:1}\n    podSpecPatch: |\n      {{=toJson(x)}}: {\n      \
                           nvidia.com/gpu: 64\n",
    );
    assert_eq!(found(&filled), [(9, "GPUC4023".to_owned())]);
}
