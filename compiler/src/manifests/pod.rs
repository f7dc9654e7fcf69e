//! A pod that an object is or makes, and its containers.

use crate::node::{Entry, Node};

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
    /// What says so for a pod that an operator makes of its own kind: a patch of a TrainJob's runtime, a part of
    /// `KServe`'s, a role of Spark's.
    pub placed: Option<&'n Node>,
}

/// A container of a pod.
#[derive(Clone, Copy)]
pub struct Container<'n> {
    /// The whole of it.
    pub node: &'n Node,
    /// Whether it runs to its end before the others start.
    pub is_init: bool,
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

    /// What says on which nodes it runs.
    pub fn nodes(&self) -> &'n Node {
        self.placed.unwrap_or(self.spec)
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
