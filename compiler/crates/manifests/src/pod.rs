//! A pod that an object defines, and its containers.

use gpuc_schema::Span;
use gpuc_syntax::node::{Entry, Node};

use super::object::Object;
use super::resources;

/// A pod that an object defines.
pub struct Pod<'n> {
    /// The object.
    pub object: &'n Object,
    /// The spec of the pod, or the mapping that stands for it.
    pub spec: &'n Node,
    /// Its containers, including init containers.
    pub containers: Vec<Container<'n>>,
    /// Whether the pod is partial: another object may add the missing fields.
    pub is_partial: bool,
    /// The specification of the enclosing Argo workflow, whose node selection applies if the pod has none.
    pub workflow: Option<&'n Node>,
    /// The mapping with the node selection of a pod that an operator creates: a patch of a TrainJob's runtime, a
    /// component of `KServe`, a role of Spark.
    pub operator_placement: Option<&'n Node>,
}

/// A container of a pod.
#[derive(Clone, Copy)]
pub struct Container<'n> {
    /// The container's mapping.
    pub node: &'n Node,
    /// Whether it is an init container.
    pub is_init: bool,
}

impl<'n> Pod<'n> {
    /// Whether it belongs to a DaemonSet.
    pub fn is_of_daemon_set(&self) -> bool {
        self.object.kind == "DaemonSet"
    }

    /// The containers that request GPUs in their resources.
    pub fn gpu_containers(&self) -> impl Iterator<Item = &Container<'n>> {
        self.containers
            .iter()
            .filter(|it| it.gpu_request().is_some())
    }

    /// The mapping with the node selection.
    pub fn placement(&self) -> &'n Node {
        self.operator_placement.unwrap_or(self.spec)
    }

    /// Whether it requests GPUs, in its resources or through a claim.
    pub fn requests_gpus(&self) -> bool {
        let claims = self.spec.get("resourceClaims");
        self.gpu_containers().next().is_some() || claims.is_some_and(|it| !it.items().is_empty())
    }

    /// The paths of `hostPath` volumes.
    pub fn host_paths(&self) -> impl Iterator<Item = (&'n Node, &'n str)> {
        let volumes = self.spec.get("volumes").map_or(&[][..], Node::items);
        volumes.iter().filter_map(|volume| {
            let path = volume.get("hostPath")?.get("path")?;
            Some((path, path.text()?))
        })
    }

    /// Its title in messages: `Deployment trainer`.
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

    /// Its resources: under `resources`, or `resourcesPerNode` of a TrainJob.
    pub fn resources(&self) -> Option<&'n Entry> {
        let own = self.node.entry("resources");
        own.or_else(|| self.node.entry("resourcesPerNode"))
    }

    /// The entries of `limits` or `requests`.
    pub fn resource_list(&self, list: &str) -> &'n [Entry] {
        let resources = self.resources().map(|entry| &entry.value);
        resources
            .and_then(|it| it.get(list))
            .map_or(&[], Node::entries)
    }

    /// The requested resources, each name once: the limit if there is one, else the request.
    pub fn requested_resources(&self) -> impl Iterator<Item = &'n Entry> {
        let (limits, requests) = (self.resource_list("limits"), self.resource_list("requests"));
        let is_new = |entry: &&Entry| limits.iter().all(|limit| limit.key != entry.key);
        limits.iter().chain(requests.iter().filter(is_new))
    }

    /// The first requested GPU resource, unless the quantity is zero.
    pub fn gpu_request(&self) -> Option<&'n Entry> {
        let mut requests = self.requested_resources();
        requests.find(|entry| {
            resources::is_gpu_name(&entry.key) && entry.value.text().is_none_or(|text| text != "0")
        })
    }

    /// Its image.
    pub fn image(&self) -> Option<&'n Node> {
        self.node
            .get("image")
            .filter(|image| image.text().is_some())
    }

    /// The value of `securityContext.privileged`, if it is `true`.
    pub fn privileged_field(&self) -> Option<&'n Node> {
        let context = self.node.get("securityContext")?;
        let privileged = context.get("privileged")?;
        (privileged.text() == Some("true")).then_some(privileged)
    }

    /// An environment variable of the container. Variables of `envFrom` and of the image are not known.
    pub fn variable(&self, name: &str) -> Option<Variable<'n>> {
        let env = self.node.get("env").map_or(&[][..], Node::items);
        let named = |it: &&Node| it.get("name").and_then(Node::text) == Some(name);
        let node = env.iter().find(named)?;
        Some(Variable { node })
    }
}

/// An environment variable of a container.
pub struct Variable<'n> {
    node: &'n Node,
}

impl<'n> Variable<'n> {
    /// The literal value, which is empty if the variable has none. `None` if the value comes from another object or a
    /// field of the pod.
    pub fn value(&self) -> Option<&'n str> {
        if self.node.get("valueFrom").is_some() {
            return None;
        }
        Some(
            self.node
                .get("value")
                .and_then(Node::text)
                .unwrap_or_default(),
        )
    }

    /// The value or its source, in backticks, for a message.
    pub fn description(&self) -> String {
        self.value().map_or_else(
            || "a value of `valueFrom`".to_owned(),
            |value| format!("`{value}`"),
        )
    }

    /// The place of the value.
    pub fn span(&self) -> Span {
        let value = self
            .node
            .get("value")
            .or_else(|| self.node.get("valueFrom"));
        value.unwrap_or(self.node).span()
    }
}

/// Whether a pod is created from the template below a node.
pub(super) fn is_created_from(node: &Node, pod: &Pod<'_>) -> bool {
    let spec = node.get("template").and_then(|it| it.get("spec"));
    spec.is_some_and(|it| std::ptr::eq(it, pod.spec))
}
