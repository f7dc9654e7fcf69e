//! Finds the pods that objects define, anywhere in an object.

use gpuc_syntax::node::{Node, Value};

use super::operator_pods;
use super::pod::{Container, Pod};
use super::read::Object;

/// API groups whose objects contain chart values, patches, schemas or configuration, and create no pods from them.
const NO_PODS: &[&str] = &[
    "helm.toolkit.fluxcd.io",
    "kustomize.toolkit.fluxcd.io",
    "source.toolkit.fluxcd.io",
    "apiextensions.k8s.io",
    "admissionregistration.k8s.io",
    "kyverno.io",
    "policies.kyverno.io",
    "gpuc.dev",
];

/// Kinds with partial pods: a runtime and the job that uses it, or the settings from which an operator creates a pod.
const OPEN: &[&str] = &[
    "TrainJob",
    "TrainingRuntime",
    "ClusterTrainingRuntime",
    "ServingRuntime",
    "ClusterServingRuntime",
    "LLMInferenceService",
    "LLMInferenceServiceConfig",
    "SparkApplication",
    "ScheduledSparkApplication",
];

/// Argo kinds with steps, which get tolerations and labels from their workflow.
///
/// Source: argoproj/argo-workflows `pkg/apis/workflow/v1alpha1/workflow_types.go`, `Template` (from memory).
const ARGO: &[&str] = &[
    "Workflow",
    "WorkflowTemplate",
    "ClusterWorkflowTemplate",
    "CronWorkflow",
];

/// The keys of containers in a pod or in an Argo template. There is no other pod below them.
const CONTAINERS: &[&str] = &[
    "containers",
    "initContainers",
    "ephemeralContainers",
    "container",
    "script",
    "containerSet",
    "sidecars",
];

/// The components of an `InferenceService` of `KServe`.
///
/// Source: kserve/kserve `pkg/apis/serving/v1beta1/inference_service.go`, `InferenceServiceSpec` (from memory).
pub(super) const SERVED: &[&str] = &["predictor", "transformer", "explainer"];

/// Whether an object contains parts of other objects and creates no pods from them.
pub(super) fn holds_values(object: &Object) -> bool {
    let is_application = ["Application", "ApplicationSet"].contains(&object.kind.as_str());
    is_application || NO_PODS.iter().any(|group| object.is_of(group))
}

/// The pods of an object.
pub(super) fn pods(object: &Object) -> Vec<Pod<'_>> {
    let mut pods = Vec::new();
    if holds_values(object) {
        return pods;
    }
    match object.kind.as_str() {
        "TrainJob" => trainer(object, &mut pods),
        "InferenceService" => served(object, &mut pods),
        "SparkApplication" | "ScheduledSparkApplication" => spark(object, &object.root, &mut pods),
        _ => {}
    }
    walk(object, &object.root, &mut pods);
    pods
}

/// Whether an object is a patch of another one: its containers have no image.
pub(super) fn is_patch(object: &Object) -> bool {
    let completed = OPEN.contains(&object.kind.as_str()) || object.kind == "InferenceService";
    let lacks_image = |it: &Container<'_>| {
        matches!(it.node.value, Value::Mapping(_)) && it.node.get("image").is_none()
    };
    !completed
        && !is_argo(object)
        && !is_complete(object)
        && pods(object)
            .iter()
            .any(|pod| pod.containers.iter().any(lacks_image))
}

/// Whether an object has fields that patches do not have: a pod selector, a restart policy, or the namespace of a Pod.
fn is_complete(object: &Object) -> bool {
    let spec = object.root.get("spec");
    let at = |path: &[&str]| {
        let mut path = path.iter();
        path.try_fold(spec?, |node, key| node.get(key))
    };
    let is_named = object.name.is_some();
    is_named
        && match object.kind.as_str() {
            "Pod" => object.namespace.is_some(),
            "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet" => {
                at(&["selector"]).is_some() && at(&["template", "metadata", "labels"]).is_some()
            }
            "Job" => at(&["template", "spec", "restartPolicy"]).is_some(),
            _ => false,
        }
}

fn is_argo(object: &Object) -> bool {
    object.is_of("argoproj.io") && ARGO.contains(&object.kind.as_str())
}

fn walk<'n>(object: &'n Object, node: &'n Node, pods: &mut Vec<Pod<'n>>) {
    if let Value::Sequence(items) = &node.value {
        for item in items {
            walk(object, item, pods);
        }
        return;
    }
    let pod = pod(object, node);
    let is_pod = pod.is_some();
    pods.extend(pod);
    for entry in node.entries() {
        if !is_pod || !CONTAINERS.contains(&entry.key.as_str()) {
            walk(object, &entry.value, pods);
        }
    }
}

fn list<'n>(node: &'n Node, key: &str) -> &'n [Node] {
    node.get(key).map_or(&[], Node::items)
}

/// The pod with this spec, if the mapping is one: it has a list of containers.
fn pod<'n>(object: &'n Object, spec: &'n Node) -> Option<Pod<'n>> {
    let is_open =
        OPEN.contains(&object.kind.as_str()) || is_argo(object) || has_runtime(object, spec);
    let (init, listed) = (list(spec, "initContainers"), list(spec, "containers"));
    // A patch in an Argo workflow may contain only init containers.
    let is_patch = is_argo(object) && !init.is_empty() && !is_step(spec);
    if listed.is_empty() && !is_patch {
        return step(object, spec);
    }
    // Knative and KServe set the name of a single container. Kubernetes rejects containers without a name.
    let mut nameless = ["serving.knative.dev", "serving.kserve.io", "apps", "batch"].into_iter();
    let is_pod = object.api_version == "v1" && object.kind == "Pod";
    let may_be_nameless = is_pod || nameless.any(|group| object.is_of(group));
    if !may_be_nameless && !listed.iter().all(|item| item.get("name").is_some()) {
        return None;
    }
    Some(Pod {
        object,
        spec,
        containers: containers(init, listed),
        is_open,
        workflow: None,
        placed: None,
    })
}

/// Whether a `ServingRuntime` completes a component of an `InferenceService` of `KServe`.
fn has_runtime(object: &Object, spec: &Node) -> bool {
    let predictor = || object.root.get("spec")?.get("predictor");
    let is_workers = |predictor: &Node| {
        let workers = predictor.get("workerSpec");
        workers.is_some_and(|it| std::ptr::eq(it, spec))
    };
    object.kind == "InferenceService"
        && (spec.get("model").is_some() || predictor().is_some_and(is_workers))
}

fn containers<'n>(
    init: &'n [Node],
    others: impl IntoIterator<Item = &'n Node>,
) -> Vec<Container<'n>> {
    let container = |is_init| move |node| Container { node, is_init };
    let others = others.into_iter().map(container(false));
    init.iter().map(container(true)).chain(others).collect()
}

/// The keys of containers that an Argo template runs.
const STEPS: &[&str] = &["container", "script", "containerSet"];

fn is_step(template: &Node) -> bool {
    STEPS.iter().any(|key| template.get(key).is_some())
}

/// An Argo step: one container, or a container set, with init containers and sidecars.
fn step<'n>(object: &'n Object, spec: &'n Node) -> Option<Pod<'n>> {
    if !is_argo(object) || !is_step(spec) {
        return None;
    }
    let mapping = |key: &str| spec.get(key).filter(|it| !it.entries().is_empty());
    let main = mapping("container").or_else(|| mapping("script"));
    let set = mapping("containerSet").map_or(&[][..], |set| list(set, "containers"));
    let others = main.into_iter().chain(set).chain(list(spec, "sidecars"));
    let containers = containers(list(spec, "initContainers"), others);
    (!containers.is_empty()).then(|| Pod {
        object,
        spec,
        containers,
        is_open: true,
        workflow: workflow(object, spec),
        placed: None,
    })
}

/// The specification of the enclosing workflow, if it determines the nodes of the template's pods: no other workflow
/// uses the template, and there is no patch.
///
/// Source: argoproj/argo-workflows `workflow/controller/workflowpod.go`, `addSchedulingConstraints`: a template's own
/// node selector, affinity and tolerations take the place of the workflow's, each as a whole (from memory).
fn workflow<'n>(object: &'n Object, template: &'n Node) -> Option<&'n Node> {
    let spec = object.root.get("spec")?;
    let spec = match object.kind.as_str() {
        "Workflow" => spec,
        "CronWorkflow" => spec.get("workflowSpec")?,
        _ => return None,
    };
    let changes = ["podSpecPatch", "templateDefaults", "workflowTemplateRef"];
    let mut changes = changes.iter();
    let is_changed = changes.any(|key| spec.get(key).is_some() || template.get(key).is_some());
    (!is_changed).then_some(spec)
}

/// Adds the nodes of a TrainJob, whose pods a runtime completes.
fn trainer<'n>(object: &'n Object, pods: &mut Vec<Pod<'n>>) {
    let spec = object.root.get("spec");
    if let Some(trainer) = spec.and_then(|spec| spec.get("trainer")) {
        pods.push(Pod {
            placed: Some(operator_pods::patch(object).unwrap_or(trainer)),
            ..completed(object, trainer, trainer)
        });
    }
}

/// Adds the servers of `KServe`, under `model` or the name of a framework, which a `ServingRuntime` completes.
fn served<'n>(object: &'n Object, pods: &mut Vec<Pod<'n>>) {
    let spec = object.root.get("spec");
    for part in SERVED.iter().filter_map(|key| spec?.get(key)) {
        let is_server = |key: &str, node: &Node| {
            key == "model" || (node.get("resources").is_some() && node.get("containers").is_none())
        };
        let servers = part.entries().iter();
        let servers = servers.filter(|entry| is_server(&entry.key, &entry.value));
        pods.extend(servers.map(|entry| completed(object, part, &entry.value)));
    }
}

/// Adds the driver and executors of Spark, for which the operator creates pods.
///
/// Source: kubeflow/spark-operator `api/v1beta2/sparkapplication_types.go`, `SparkPodSpec` and `GPUSpec` (read on
/// 2026-11-22).
fn spark<'n>(object: &'n Object, node: &'n Node, pods: &mut Vec<Pod<'n>>) {
    for entry in node.entries() {
        let is_role = ["driver", "executor"].contains(&entry.key.as_str());
        let is_sized = || {
            let mut keys = ["resources", "cores", "coreRequest", "memory"].iter();
            keys.any(|key| entry.value.get(key).is_some())
        };
        if is_role && is_sized() {
            pods.push(completed(object, &entry.value, &entry.value));
        } else if ["spec", "template"].contains(&entry.key.as_str()) {
            spark(object, &entry.value, pods);
        }
    }
}

fn completed<'n>(object: &'n Object, spec: &'n Node, container: &'n Node) -> Pod<'n> {
    Pod {
        object,
        spec,
        containers: containers(&[], [container]),
        is_open: true,
        workflow: None,
        placed: Some(spec),
    }
}
