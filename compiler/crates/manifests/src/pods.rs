//! Finds the pods that objects define, anywhere in an object.

use gpuc_syntax::node::{Node, Value};

use super::object::Object;
use super::operator_pods::{self, INFERENCE_COMPONENTS};
use super::pod::{Container, Pod};

/// API groups whose objects contain chart values, patches, schemas or configuration, and create no pods from them.
const GROUPS_WITHOUT_PODS: &[&str] = &[
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
const PARTIAL_POD_KINDS: &[&str] = &[
    "TrainJob",
    "TrainingRuntime",
    "ClusterTrainingRuntime",
    "ServingRuntime",
    "ClusterServingRuntime",
    "LLMInferenceService",
    "LLMInferenceServiceConfig",
    "SparkApplication",
    "ScheduledSparkApplication",
    // KAITO adds tolerations: kaito-project/kaito `pkg/workspace/inference/template_inference.go` (read 2026-11-28).
    "Workspace",
];

/// Argo kinds with steps, which get tolerations and labels from their workflow.
///
/// Source: argoproj/argo-workflows `pkg/apis/workflow/v1alpha1/workflow_types.go`, `Template` (from memory).
const ARGO_KINDS: &[&str] = &[
    "Workflow",
    "WorkflowTemplate",
    "ClusterWorkflowTemplate",
    "CronWorkflow",
];

/// The keys of containers in a pod or in an Argo template. There is no other pod below them.
const CONTAINER_KEYS: &[&str] = &[
    "containers",
    "initContainers",
    "ephemeralContainers",
    "container",
    "script",
    "containerSet",
    "sidecars",
];

/// Whether an object contains parts of other objects and creates no pods from them.
pub(super) fn creates_no_pods(object: &Object) -> bool {
    let is_application = ["Application", "ApplicationSet"].contains(&object.kind.as_str());
    is_application
        || GROUPS_WITHOUT_PODS
            .iter()
            .any(|group| object.is_in_group(group))
}

/// The pods of an object.
pub(super) fn find_pods(object: &Object) -> Vec<Pod<'_>> {
    let mut pods = Vec::new();
    if creates_no_pods(object) {
        return pods;
    }
    match object.kind.as_str() {
        "TrainJob" => add_trainer_pods(object, &mut pods),
        "InferenceService" => add_inference_pods(object, &mut pods),
        "SparkApplication" | "ScheduledSparkApplication" => {
            add_spark_pods(object, &object.root, &mut pods);
        }
        _ => {}
    }
    collect_pods(object, &object.root, &mut pods);
    pods
}

/// Whether an object is a patch of another one: its containers have no image.
pub(super) fn is_patch(object: &Object) -> bool {
    let completed =
        PARTIAL_POD_KINDS.contains(&object.kind.as_str()) || object.kind == "InferenceService";
    let lacks_image = |it: &Container<'_>| {
        matches!(it.node.value, Value::Mapping(_)) && it.node.get("image").is_none()
    };
    !completed
        && !is_argo(object)
        && !has_complete_fields(object)
        && find_pods(object)
            .iter()
            .any(|pod| pod.containers.iter().any(lacks_image))
}

/// Whether an object has fields that patches do not have: a pod selector, a restart policy, or the namespace of a Pod.
fn has_complete_fields(object: &Object) -> bool {
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
    object.is_in_group("argoproj.io") && ARGO_KINDS.contains(&object.kind.as_str())
}

fn collect_pods<'n>(object: &'n Object, node: &'n Node, pods: &mut Vec<Pod<'n>>) {
    if let Value::Sequence(items) = &node.value {
        for item in items {
            collect_pods(object, item, pods);
        }
        return;
    }
    let pod = pod_from_spec(object, node);
    let is_pod = pod.is_some();
    pods.extend(pod);
    for entry in node.entries() {
        if !is_pod || !CONTAINER_KEYS.contains(&entry.key.as_str()) {
            collect_pods(object, &entry.value, pods);
        }
    }
}

fn items_below<'n>(node: &'n Node, key: &str) -> &'n [Node] {
    node.get(key).map_or(&[], Node::items)
}

/// The pod with this spec, if the mapping is one: it has a list of containers.
fn pod_from_spec<'n>(object: &'n Object, spec: &'n Node) -> Option<Pod<'n>> {
    let is_open = PARTIAL_POD_KINDS.contains(&object.kind.as_str())
        || is_argo(object)
        || is_completed_by_runtime(object, spec);
    let (init, listed) = (
        items_below(spec, "initContainers"),
        items_below(spec, "containers"),
    );
    // A patch in an Argo workflow may contain only init containers.
    let is_patch = is_argo(object) && !init.is_empty() && !is_argo_step(spec);
    if listed.is_empty() && !is_patch {
        return argo_step_pod(object, spec);
    }
    // Knative and KServe set the name of a single container. Kubernetes rejects containers without a name.
    let mut nameless = ["serving.knative.dev", "serving.kserve.io", "apps", "batch"].into_iter();
    let is_pod = object.api_version == "v1" && object.kind == "Pod";
    let may_be_nameless = is_pod || nameless.any(|group| object.is_in_group(group));
    if !may_be_nameless && !listed.iter().all(|item| item.get("name").is_some()) {
        return None;
    }
    Some(Pod {
        object,
        spec,
        containers: containers_from(init, listed),
        is_partial: is_open,
        workflow: None,
        operator_placement: None,
    })
}

/// Whether a `ServingRuntime` completes a component of an `InferenceService` of `KServe`.
fn is_completed_by_runtime(object: &Object, spec: &Node) -> bool {
    let predictor = || object.root.get("spec")?.get("predictor");
    let is_workers = |predictor: &Node| {
        let workers = predictor.get("workerSpec");
        workers.is_some_and(|it| std::ptr::eq(it, spec))
    };
    object.kind == "InferenceService"
        && (spec.get("model").is_some() || predictor().is_some_and(is_workers))
}

fn containers_from<'n>(
    init: &'n [Node],
    others: impl IntoIterator<Item = &'n Node>,
) -> Vec<Container<'n>> {
    let container = |is_init| move |node| Container { node, is_init };
    let others = others.into_iter().map(container(false));
    init.iter().map(container(true)).chain(others).collect()
}

/// The keys of containers that an Argo template runs.
const ARGO_STEP_KEYS: &[&str] = &["container", "script", "containerSet"];

fn is_argo_step(template: &Node) -> bool {
    ARGO_STEP_KEYS.iter().any(|key| template.get(key).is_some())
}

/// An Argo step: one container, or a container set, with init containers and sidecars.
fn argo_step_pod<'n>(object: &'n Object, spec: &'n Node) -> Option<Pod<'n>> {
    if !is_argo(object) || !is_argo_step(spec) {
        return None;
    }
    let mapping = |key: &str| spec.get(key).filter(|it| !it.entries().is_empty());
    let main = mapping("container").or_else(|| mapping("script"));
    let set = mapping("containerSet").map_or(&[][..], |set| items_below(set, "containers"));
    let others = main
        .into_iter()
        .chain(set)
        .chain(items_below(spec, "sidecars"));
    let containers = containers_from(items_below(spec, "initContainers"), others);
    (!containers.is_empty()).then(|| Pod {
        object,
        spec,
        containers,
        is_partial: true,
        workflow: enclosing_workflow(object, spec),
        operator_placement: None,
    })
}

/// The specification of the enclosing workflow, if it determines the nodes of the template's pods: no other workflow
/// uses the template, and there is no patch.
///
/// Source: argoproj/argo-workflows `workflow/controller/workflowpod.go`, `addSchedulingConstraints`: a template's own
/// node selector, affinity and tolerations take the place of the workflow's, each as a whole (from memory).
fn enclosing_workflow<'n>(object: &'n Object, template: &'n Node) -> Option<&'n Node> {
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
fn add_trainer_pods<'n>(object: &'n Object, pods: &mut Vec<Pod<'n>>) {
    let spec = object.root.get("spec");
    if let Some(trainer) = spec.and_then(|spec| spec.get("trainer")) {
        pods.push(Pod {
            operator_placement: Some(operator_pods::node_pod_patch(object).unwrap_or(trainer)),
            ..operator_pod(object, trainer, trainer)
        });
    }
}

/// Adds the servers of `KServe`, under `model` or the name of a framework, which a `ServingRuntime` completes.
fn add_inference_pods<'n>(object: &'n Object, pods: &mut Vec<Pod<'n>>) {
    let spec = object.root.get("spec");
    for component in INFERENCE_COMPONENTS.iter().filter_map(|key| spec?.get(key)) {
        let is_server = |key: &str, node: &Node| {
            key == "model" || (node.get("resources").is_some() && node.get("containers").is_none())
        };
        let servers = component.entries().iter();
        let servers = servers.filter(|entry| is_server(&entry.key, &entry.value));
        pods.extend(servers.map(|entry| operator_pod(object, component, &entry.value)));
    }
}

/// Adds the driver and executors of Spark, for which the operator creates pods.
///
/// Source: kubeflow/spark-operator `api/v1beta2/sparkapplication_types.go`, `SparkPodSpec` and `GPUSpec` (read on
/// 2026-11-22).
fn add_spark_pods<'n>(object: &'n Object, node: &'n Node, pods: &mut Vec<Pod<'n>>) {
    for entry in node.entries() {
        let is_role = ["driver", "executor"].contains(&entry.key.as_str());
        let is_sized = || {
            let mut keys = ["resources", "cores", "coreRequest", "memory"].iter();
            keys.any(|key| entry.value.get(key).is_some())
        };
        if is_role && is_sized() {
            pods.push(operator_pod(object, &entry.value, &entry.value));
        } else if ["spec", "template"].contains(&entry.key.as_str()) {
            add_spark_pods(object, &entry.value, pods);
        }
    }
}

fn operator_pod<'n>(object: &'n Object, spec: &'n Node, container: &'n Node) -> Pod<'n> {
    Pod {
        object,
        spec,
        containers: containers_from(&[], [container]),
        is_partial: true,
        workflow: None,
        operator_placement: Some(spec),
    }
}
