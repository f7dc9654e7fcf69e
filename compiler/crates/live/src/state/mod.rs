//! The state of a running cluster: the objects that its API server returned, and container logs.
//!
//! A folder of files and a live API server are read into the same [`ClusterState`], so that every check works with
//! both.

mod kinds;
mod listing;
mod log_targets;

use std::collections::BTreeMap;

pub use kinds::{KINDS, Kind, KindInfo};
pub use listing::{Completeness, Listing};
pub use log_targets::{LogTarget, has_workload_logs, log_targets};

use crate::objects::{DaemonSet, Event, Metadata, Node, Object, Pod, Timestamp};

/// The state of a running cluster.
#[derive(Clone, Debug, Default)]
pub struct ClusterState {
    /// The time at which the state was read. [`Self::time`] falls back to the times in the objects.
    pub collected_at: Option<Timestamp>,
    /// The version of the API server, such as `v1.36.2`, if it is known.
    pub server_version: Option<String>,
    /// The nodes.
    pub nodes: Listing<Node>,
    /// The pods.
    pub pods: Listing<Pod>,
    /// The events.
    pub events: Listing<Event>,
    /// The DaemonSets.
    pub daemon_sets: Listing<DaemonSet>,
    /// The objects of all other kinds.
    pub others: BTreeMap<Kind, Listing<Object>>,
    /// The ends of container logs.
    pub logs: Vec<ContainerLog>,
    /// The number of other logs that could not be read.
    pub unread_logs: usize,
    /// The node pools that a cloud describes.
    pub cloud_pools: Vec<CloudPool>,
}

/// A node pool as its cloud describes it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CloudPool {
    /// The name.
    pub name: String,
    /// The name of the resource for messages: `EKS node group`.
    pub title: &'static str,
    /// The state, as the cloud names it: `DEGRADED`.
    pub status: String,
    /// Whether the state is an error.
    pub is_failed: bool,
    /// The problems that the cloud reports.
    pub problems: Vec<CloudProblem>,
}

impl CloudPool {
    /// Whether the cloud reports an error of the pool.
    pub fn has_error(&self) -> bool {
        self.is_failed || !self.problems.is_empty()
    }
}

/// A problem that a cloud reports.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CloudProblem {
    /// The code; empty if there is none.
    pub code: String,
    /// The message; empty if there is none.
    pub message: String,
}

/// The end of the log of a container.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ContainerLog {
    /// The pod's namespace.
    pub namespace: String,
    /// The pod's name.
    pub pod: String,
    /// The container's name.
    pub container: String,
    /// Whether it is the log before the last restart.
    pub is_previous: bool,
    /// The last lines.
    pub text: String,
}

impl ClusterState {
    /// The objects of a kind that has no type of its own; none if the kind was not read.
    pub fn objects(&self, kind: Kind) -> &[Object] {
        self.others.get(&kind).map_or(&[], |it| &it.items)
    }

    /// The object of a kind with this namespace and name.
    pub fn object(&self, kind: Kind, namespace: &str, name: &str) -> Option<&Object> {
        let objects = self.objects(kind);
        let key = |it: &Metadata| (it.namespace.as_str().to_owned(), it.name.clone());
        let wanted = (namespace.to_owned(), name.to_owned());
        let index = objects.binary_search_by(|it| key(&it.metadata).cmp(&wanted));
        index.ok().map(|index| &objects[index])
    }

    /// The node with this name.
    pub fn node(&self, name: &str) -> Option<&Node> {
        let nodes = &self.nodes.items;
        let index = nodes.binary_search_by(|node| node.metadata.name.as_str().cmp(name));
        index.ok().map(|index| &nodes[index])
    }

    /// Whether all objects of a kind are known.
    pub fn completeness(&self, kind: Kind) -> &Completeness {
        static NOT_READ: Completeness = Completeness::NotRead;
        match kind {
            Kind::Node => &self.nodes.completeness,
            Kind::Pod => &self.pods.completeness,
            Kind::Event => &self.events.completeness,
            Kind::DaemonSet => &self.daemon_sets.completeness,
            other => self
                .others
                .get(&other)
                .map_or(&NOT_READ, |it| &it.completeness),
        }
    }

    /// The time of the state: when it was read, or else the latest time in events and in the heartbeats of nodes.
    pub fn time(&self) -> Option<Timestamp> {
        let heartbeats = self.nodes.items.iter().flat_map(|node| {
            let conditions = node.status.conditions.iter();
            conditions.filter_map(|it| it.last_heartbeat_time.max(it.last_transition_time))
        });
        let events = self.events.items.iter().filter_map(Event::last_seen);
        self.collected_at.or_else(|| heartbeats.chain(events).max())
    }

    /// Sorts all lists, so that the order of files and of answers has no influence.
    pub(crate) fn sort(&mut self) {
        fn key(metadata: &Metadata) -> (&str, &str) {
            (&metadata.namespace, &metadata.name)
        }
        self.nodes
            .items
            .sort_by(|a, b| key(&a.metadata).cmp(&key(&b.metadata)));
        self.pods
            .items
            .sort_by(|a, b| key(&a.metadata).cmp(&key(&b.metadata)));
        self.events
            .items
            .sort_by(|a, b| key(&a.metadata).cmp(&key(&b.metadata)));
        self.daemon_sets
            .items
            .sort_by(|a, b| key(&a.metadata).cmp(&key(&b.metadata)));
        self.cloud_pools.sort();
        for listing in self.others.values_mut() {
            listing
                .items
                .sort_by(|a, b| key(&a.metadata).cmp(&key(&b.metadata)));
        }
        self.logs.sort();
    }
}
