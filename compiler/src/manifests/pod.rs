//! The pods that objects make, wherever an object holds them.

use crate::node::{Entry, Node, Value};

use super::read::Object;
use super::resources;

/// A pod that an object is or makes.
pub struct Pod<'n> {
    /// The object.
    pub object: &'n Object,
    /// The pod's spec, or what stands for it.
    pub spec: &'n Node,
    /// Its containers; those that run before the others too.
    pub containers: Vec<Container<'n>>,
    /// Whether another object says more of it, so that what is missing may stand there.
    pub is_open: bool,
    /// What says on which nodes it runs where the pod itself does not: the specification of Argo's workflow.
    pub around: Option<&'n Node>,
}

/// A container of a pod.
#[derive(Clone, Copy)]
pub struct Container<'n> {
    /// The whole of it.
    pub node: &'n Node,
    /// Whether it runs to its end before the others start.
    pub is_init: bool,
}

/// Groups whose objects hold values for charts, schemas or configuration, and make no pods of what they hold.
const NO_PODS: &[&str] = &[
    "helm.toolkit.fluxcd.io",
    "kustomize.toolkit.fluxcd.io",
    "source.toolkit.fluxcd.io",
    "apiextensions.k8s.io",
    "admissionregistration.k8s.io",
    "gpuc.dev",
];

/// Kinds whose pods other objects complete: a runtime and the job that uses it.
const OPEN: &[&str] = &[
    "TrainJob",
    "TrainingRuntime",
    "ClusterTrainingRuntime",
    "ServingRuntime",
    "ClusterServingRuntime",
];

/// Argo's kinds of steps, which get tolerations and labels from their workflow.
///
/// Source: argoproj/argo-workflows `pkg/apis/workflow/v1alpha1/workflow_types.go`, `Template` (from memory).
const ARGO: &[&str] = &[
    "Workflow",
    "WorkflowTemplate",
    "ClusterWorkflowTemplate",
    "CronWorkflow",
];

/// The pods of an object.
pub(super) fn pods(object: &Object) -> Vec<Pod<'_>> {
    let mut pods = Vec::new();
    if NO_PODS.iter().any(|group| object.is_of(group)) || object.kind == "Application" {
        return pods;
    }
    if object.kind == "TrainJob" {
        trainer(object, &mut pods);
    }
    walk(object, &object.root, &mut pods);
    pods
}

/// Whether an object changes another one instead of being one: no image says what its containers run.
pub(super) fn is_patch(object: &Object) -> bool {
    let completed = OPEN.contains(&object.kind.as_str()) || object.kind == "InferenceService";
    let lacks_image = |it: &Container<'_>| it.node.get("image").is_none();
    !completed
        && !is_argo(object)
        && pods(object)
            .iter()
            .any(|pod| pod.containers.iter().any(lacks_image))
}

/// The first GPUs that an object asks for outside of its pods, in a place that looks like a container's resources.
pub(super) fn unknown(object: &Object) -> Option<&Entry> {
    let holds_values = NO_PODS.iter().any(|group| object.is_of(group));
    if holds_values || object.kind == "Application" || object.is_of("karpenter.sh") {
        return None;
    }
    let pods = pods(object);
    let containers = pods.iter().flat_map(|pod| &pod.containers);
    let mut known: Vec<_> = containers.map(|container| container.node).collect();
    known.extend(pods.iter().map(|pod| pod.spec));
    asked_outside(&object.root, &known)
}

fn asked_outside<'n>(node: &'n Node, known: &[&'n Node]) -> Option<&'n Entry> {
    if known.iter().any(|known| std::ptr::eq(*known, node)) {
        return None;
    }
    if let Value::Sequence(items) = &node.value {
        return items.iter().find_map(|item| asked_outside(item, known));
    }
    node.entries().iter().find_map(|entry| {
        let lists = ["limits", "requests"].into_iter();
        let lists = lists.filter_map(|list| entry.value.get(list));
        let mut asks = lists.flat_map(Node::entries);
        let gpus = asks.find(|asked| resources::is_gpu(&asked.key));
        let is_resources = entry.key.to_ascii_lowercase().contains("resources");
        let gpus = gpus.filter(|_| is_resources);
        gpus.or_else(|| asked_outside(&entry.value, known))
    })
}

fn is_argo(object: &Object) -> bool {
    object.is_of("argoproj.io") && ARGO.contains(&object.kind.as_str())
}

fn walk<'n>(object: &'n Object, node: &'n Node, pods: &mut Vec<Pod<'n>>) {
    match &node.value {
        Value::Scalar(_) => {}
        Value::Sequence(items) => items.iter().for_each(|item| walk(object, item, pods)),
        Value::Mapping(entries) => {
            if let Some(pod) = pod(object, node) {
                pods.push(pod);
                return;
            }
            for entry in entries {
                walk(object, &entry.value, pods);
            }
        }
    }
}

/// The pod whose spec a mapping is: it has a list of containers.
fn pod<'n>(object: &'n Object, spec: &'n Node) -> Option<Pod<'n>> {
    let is_open = OPEN.contains(&object.kind.as_str()) || is_argo(object);
    let listed = spec.get("containers").map_or(&[][..], Node::items);
    if listed.is_empty() {
        return model(object, spec).or_else(|| step(object, spec));
    }
    // Knative names the container of a service by itself.
    let may_be_nameless = object.is_of("serving.knative.dev");
    if !may_be_nameless && !listed.iter().all(|item| item.get("name").is_some()) {
        return None;
    }
    let init = spec.get("initContainers").map_or(&[][..], Node::items);
    let containers = [(init, true), (listed, false)].into_iter();
    let containers = containers
        .flat_map(|(nodes, is_init)| nodes.iter().map(move |node| Container { node, is_init }));
    Some(Pod {
        object,
        spec,
        containers: containers.collect(),
        is_open,
        around: None,
    })
}

/// The model server of `KServe`, whose image and more a `ServingRuntime` says.
fn model<'n>(object: &'n Object, spec: &'n Node) -> Option<Pod<'n>> {
    let model = (object.kind == "InferenceService").then(|| spec.get("model"))?;
    let model = model.filter(|model| model.get("modelFormat").is_some())?;
    Some(completed(object, spec, model))
}

/// A step of Argo's with one container.
fn step<'n>(object: &'n Object, spec: &'n Node) -> Option<Pod<'n>> {
    let of = |key: &str| spec.get(key).filter(|it| !it.entries().is_empty());
    let container = of("container").or_else(|| of("script"));
    let container = container.filter(|_| is_argo(object))?;
    Some(Pod {
        around: workflow(object, spec),
        ..completed(object, spec, container)
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
        pods.push(completed(object, trainer, trainer));
    }
}

fn completed<'n>(object: &'n Object, spec: &'n Node, container: &'n Node) -> Pod<'n> {
    Pod {
        object,
        spec,
        containers: vec![Container {
            node: container,
            is_init: false,
        }],
        is_open: true,
        around: None,
    }
}

impl<'n> Pod<'n> {
    /// Whether it runs on every node, as what serves nodes does.
    pub fn is_of_nodes(&self) -> bool {
        self.object.kind == "DaemonSet"
    }

    /// The containers that ask for GPUs in their resources.
    pub fn with_gpus(&self) -> impl Iterator<Item = &Container<'n>> {
        self.containers.iter().filter(|it| it.gpus().is_some())
    }

    /// Whether it asks for GPUs, in its resources or by a claim.
    pub fn asks_for_gpus(&self) -> bool {
        let claims = self.spec.get("resourceClaims");
        self.with_gpus().next().is_some() || claims.is_some_and(|it| !it.items().is_empty())
    }

    /// The volumes that are paths on the host, each with its path.
    pub fn host_paths(&self) -> impl Iterator<Item = (&'n Node, &'n str)> {
        let volumes = self.spec.get("volumes").map_or(&[][..], Node::items);
        volumes.iter().filter_map(|volume| {
            let path = volume.get("hostPath")?.get("path")?;
            Some((path, path.text()?))
        })
    }

    /// What it is called in messages: `Deployment trainer`.
    pub fn title(&self) -> String {
        self.object.title()
    }
}

impl<'n> Container<'n> {
    /// Its name, for messages.
    pub fn name(&self) -> &'n str {
        let name = self.node.get("name").and_then(Node::text);
        name.unwrap_or_else(|| match self.node.get("numNodes") {
            Some(_) => "trainer",
            None => "main",
        })
    }

    /// What its resources are called and say: under `resources`, or where a TrainJob has them.
    pub fn resources(&self) -> Option<&'n Entry> {
        let own = self.node.entry("resources");
        own.or_else(|| self.node.entry("resourcesPerNode"))
    }

    /// What it asks for: `limits` or `requests`.
    pub fn list(&self, list: &str) -> &'n [Entry] {
        let resources = self.resources().map(|entry| &entry.value);
        resources
            .and_then(|it| it.get(list))
            .map_or(&[], Node::entries)
    }

    /// What it asks for, each name once: as a limit where there is one, else as a request.
    pub fn asks(&self) -> impl Iterator<Item = &'n Entry> {
        let (limits, requests) = (self.list("limits"), self.list("requests"));
        let is_new = |entry: &&Entry| limits.iter().all(|limit| limit.key != entry.key);
        limits.iter().chain(requests.iter().filter(is_new))
    }

    /// The first of its GPUs that it asks for, and that it asks for some of.
    pub fn gpus(&self) -> Option<&'n Entry> {
        let mut asks = self.asks();
        asks.find(|entry| {
            resources::is_gpu(&entry.key) && entry.value.text().is_none_or(|text| text != "0")
        })
    }

    /// Its image.
    pub fn image(&self) -> Option<&'n Node> {
        self.node
            .get("image")
            .filter(|image| image.text().is_some())
    }

    /// Whether its security context says so of it.
    pub fn is_privileged(&self) -> Option<&'n Node> {
        let context = self.node.get("securityContext")?;
        let privileged = context.get("privileged")?;
        (privileged.text() == Some("true")).then_some(privileged)
    }

    /// The value of an environment variable that is written as such.
    pub fn env(&self, name: &str) -> Option<&'n Node> {
        let env = self.node.get("env").map_or(&[][..], Node::items);
        let named = |it: &&Node| it.get("name").and_then(Node::text) == Some(name);
        env.iter().find(named)?.get("value")
    }
}
