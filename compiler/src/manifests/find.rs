//! The pods that objects make, wherever an object holds them.

use crate::node::{Node, Value};

use super::completed;
use super::pod::{Container, Pod};
use super::read::Object;

/// Groups whose objects hold values for charts, patches, schemas or configuration, and make no pods of what they hold.
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

/// Kinds whose pods other objects complete: a runtime and the job that uses it, a program's own settings and the pod
/// that its operator makes of them.
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

/// Argo's kinds of steps, which get tolerations and labels from their workflow.
///
/// Source: argoproj/argo-workflows `pkg/apis/workflow/v1alpha1/workflow_types.go`, `Template` (from memory).
pub(super) const ARGO: &[&str] = &[
    "Workflow",
    "WorkflowTemplate",
    "ClusterWorkflowTemplate",
    "CronWorkflow",
];

/// Where containers stand in a pod or in one of Argo's templates: below these no other pod begins.
const CONTAINERS: &[&str] = &[
    "containers",
    "initContainers",
    "ephemeralContainers",
    "container",
    "script",
    "containerSet",
    "sidecars",
];

/// The parts of `KServe`'s `InferenceService`.
///
/// Source: kserve/kserve `pkg/apis/serving/v1beta1/inference_service.go`, `InferenceServiceSpec` (from memory).
pub(super) const SERVED: &[&str] = &["predictor", "transformer", "explainer"];

/// Whether an object holds parts of other objects and makes no pods of them itself.
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

/// Whether an object changes another one instead of being one: no image says what its containers run.
pub(super) fn is_patch(object: &Object) -> bool {
    let completed = OPEN.contains(&object.kind.as_str()) || object.kind == "InferenceService";
    let lacks_image = |it: &Container<'_>| {
        matches!(it.node.value, Value::Mapping(_)) && it.node.get("image").is_none()
    };
    !completed
        && !is_argo(object)
        && !is_said_whole(object)
        && pods(object)
            .iter()
            .any(|pod| pod.containers.iter().any(lacks_image))
}

/// Whether an object says what no patch of it would: which pods are its own, how often they are started again, or of
/// a pod where it is.
fn is_said_whole(object: &Object) -> bool {
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

/// The pod whose spec a mapping is: it has a list of containers.
fn pod<'n>(object: &'n Object, spec: &'n Node) -> Option<Pod<'n>> {
    let is_open =
        OPEN.contains(&object.kind.as_str()) || is_argo(object) || has_runtime(object, spec);
    let (init, listed) = (list(spec, "initContainers"), list(spec, "containers"));
    // A patch of Argo's may change nothing but what runs before.
    let is_patch = is_argo(object) && !init.is_empty() && !is_step(spec);
    if listed.is_empty() && !is_patch {
        return step(object, spec);
    }
    // Knative and KServe name the container of a service by itself, and Kubernetes refuses one without a name.
    let mut nameless = ["serving.knative.dev", "serving.kserve.io", "apps", "batch"].into_iter();
    let is_own = object.api_version == "v1" && object.kind == "Pod";
    let may_be_nameless = is_own || nameless.any(|group| object.is_of(group));
    if !may_be_nameless && !listed.iter().all(|item| item.get("name").is_some()) {
        return None;
    }
    Some(Pod {
        object,
        spec,
        containers: containers(init, listed),
        is_open,
        around: None,
        placed: None,
    })
}

/// Whether a `ServingRuntime` completes a part of `KServe`'s `InferenceService`.
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

/// What one of Argo's templates runs itself.
const STEPS: &[&str] = &["container", "script", "containerSet"];

fn is_step(template: &Node) -> bool {
    STEPS.iter().any(|key| template.get(key).is_some())
}

/// A step of Argo's: one container, or several of a set, with what runs before them and beside them.
fn step<'n>(object: &'n Object, spec: &'n Node) -> Option<Pod<'n>> {
    if !is_argo(object) || !is_step(spec) {
        return None;
    }
    let of = |key: &str| spec.get(key).filter(|it| !it.entries().is_empty());
    let main = of("container").or_else(|| of("script"));
    let set = of("containerSet").map_or(&[][..], |set| list(set, "containers"));
    let others = main.into_iter().chain(set).chain(list(spec, "sidecars"));
    let containers = containers(list(spec, "initContainers"), others);
    (!containers.is_empty()).then(|| Pod {
        object,
        spec,
        containers,
        is_open: true,
        around: workflow(object, spec),
        placed: None,
    })
}

/// The workflow around one of its templates, where nothing else says which nodes the template's pods run on: no other
/// workflow that takes the template from here, and no patch.
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
    let elsewhere = ["podSpecPatch", "templateDefaults", "workflowTemplateRef"];
    let mut elsewhere = elsewhere.iter();
    let is_whole = !elsewhere.any(|key| spec.get(key).is_some() || template.get(key).is_some());
    is_whole.then_some(spec)
}

/// Trainer's nodes, whose pods a runtime says.
fn trainer<'n>(object: &'n Object, pods: &mut Vec<Pod<'n>>) {
    let spec = object.root.get("spec");
    if let Some(trainer) = spec.and_then(|spec| spec.get("trainer")) {
        pods.push(Pod {
            placed: Some(completed::patch(object).unwrap_or(trainer)),
            ..completed(object, trainer, trainer)
        });
    }
}

/// What `KServe` runs by a name of its own, `model` or a framework's, whose image and more a `ServingRuntime` says.
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

/// Spark's driver and executors, which the operator makes pods of.
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
        around: None,
        placed: Some(spec),
    }
}
