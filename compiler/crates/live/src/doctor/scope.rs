//! The part of a cluster that a user is interested in.

use std::collections::BTreeSet;

use gpuc_syntax::diag::phrases;

use super::context::Context;
use super::{Cause, Diagnosis};
use crate::objects::ObjectRef;

/// The part of a cluster that a user is interested in.
#[derive(Clone, Debug)]
pub enum Scope {
    /// A node and its pods.
    Node(String),
    /// The nodes of a pool, and their pods.
    Pool(String),
    /// A pod, and its node.
    Pod(ObjectRef),
}

impl Scope {
    /// The objects of the scope.
    ///
    /// # Errors
    ///
    /// If the state contains no such node, pool or pod: a text for people.
    pub fn objects(&self, ctx: &Context<'_>) -> Result<BTreeSet<ObjectRef>, String> {
        let nodes: Vec<&str> = match self {
            Self::Node(name) => {
                let names = ctx.nodes.iter().map(super::NodeFacts::name);
                let found = names.clone().find(|it| it == name);
                vec![found.ok_or_else(|| unknown("node", name, names))?]
            }
            Self::Pool(name) => {
                let is_in_pool = |node: &&super::NodeFacts<'_>| node.pool_name == Some(name);
                let nodes = ctx.nodes.iter().filter(is_in_pool);
                let nodes: Vec<_> = nodes.map(super::NodeFacts::name).collect();
                if nodes.is_empty() {
                    let pools = ctx.nodes.iter().filter_map(|node| node.pool_name);
                    return Err(unknown("pool", name, pools));
                }
                nodes
            }
            Self::Pod(pod) => {
                let pods = &ctx.state.pods.items;
                let found = pods
                    .iter()
                    .find(|it| ObjectRef::of_kind("Pod", &it.metadata) == *pod);
                let names: Vec<String> = (pods.iter())
                    .map(|it| ObjectRef::of_kind("Pod", &it.metadata).full_name())
                    .collect();
                let names = names.iter().map(String::as_str);
                let found = found.ok_or_else(|| unknown("pod", &pod.full_name(), names))?;
                let node = ObjectRef::node(&found.spec.node_name);
                return Ok(BTreeSet::from([pod.clone(), node]));
            }
        };
        let pods = nodes.iter().flat_map(|node| ctx.pods_on(node));
        let pods = pods.map(|pod| ObjectRef::of_kind("Pod", &pod.metadata));
        Ok(nodes
            .iter()
            .map(|node| ObjectRef::node(node))
            .chain(pods)
            .collect())
    }
}

/// The text about an object that does not exist.
fn unknown<'n>(kind: &str, name: &str, known: impl Iterator<Item = &'n str>) -> String {
    let near = phrases::closest_match(name, known);
    let help = near.map_or_else(String::new, |near| {
        format!("\nhelp: did you mean `{near}`?")
    });
    format!("the cluster has no {kind} `{name}`{help}")
}

impl Diagnosis {
    /// Keeps the causes that concern some of these objects.
    pub fn retain(&mut self, objects: &BTreeSet<ObjectRef>) {
        let concerns = |cause: &Cause| {
            let findings = std::iter::once(&cause.finding).chain(&cause.consequences);
            let mut subjects = findings.flat_map(|finding| &finding.subjects);
            subjects.any(|subject| objects.contains(subject))
        };
        self.causes.retain(concerns);
    }
}
