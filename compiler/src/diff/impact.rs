//! What a change does to what runs, worst first.

use schemars::JsonSchema;
use serde::Serialize;

/// What a change does to what runs, worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Impact {
    /// A cluster, a pool or stored data leaves.
    Deleted,
    /// A cloud cannot change it: it has to be deleted and made again.
    Replaced,
    /// The API server refuses it, and what comes after it is not brought.
    Refused,
    /// Nodes are drained and made again.
    NodesRecreated,
    /// GPUs are cut anew: what runs on the old slices must leave.
    SlicesRecut,
    /// Drivers are restarted: nothing on the node may use a GPU meanwhile.
    DriverRestarted,
    /// Pods of a workload are restarted, evicted, or end.
    WorkloadRestarted,
    /// Whatever advertises GPUs is restarted or advertises something else.
    PluginRestarted,
    /// There are fewer nodes or GPUs.
    CapacityLost,
    /// Somebody may use less.
    QuotaCut,
    /// What is allowed changes: access, isolation, admission, taints.
    AccessChanged,
    /// A part of the stack around the GPUs is restarted.
    ServiceRestarted,
    /// There are more nodes or GPUs.
    CapacityGained,
    /// Somebody may use more.
    QuotaRaised,
    /// Something is new and touches nothing that runs.
    Added,
    /// Alerts, records or dashboards.
    WatchedDifferently,
    /// Nothing that runs is touched.
    Nothing,
}

impl Impact {
    /// Every impact, worst first.
    pub const ALL: [Self; 17] = [
        Self::Deleted,
        Self::Replaced,
        Self::Refused,
        Self::NodesRecreated,
        Self::SlicesRecut,
        Self::DriverRestarted,
        Self::WorkloadRestarted,
        Self::PluginRestarted,
        Self::CapacityLost,
        Self::QuotaCut,
        Self::AccessChanged,
        Self::ServiceRestarted,
        Self::CapacityGained,
        Self::QuotaRaised,
        Self::Added,
        Self::WatchedDifferently,
        Self::Nothing,
    ];

    /// Its name on the command line and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Deleted => "deleted",
            Self::Replaced => "replaced",
            Self::Refused => "refused",
            Self::NodesRecreated => "nodes-recreated",
            Self::SlicesRecut => "slices-recut",
            Self::DriverRestarted => "driver-restarted",
            Self::WorkloadRestarted => "workload-restarted",
            Self::PluginRestarted => "plugin-restarted",
            Self::CapacityLost => "capacity-lost",
            Self::QuotaCut => "quota-cut",
            Self::AccessChanged => "access-changed",
            Self::ServiceRestarted => "service-restarted",
            Self::CapacityGained => "capacity-gained",
            Self::QuotaRaised => "quota-raised",
            Self::Added => "added",
            Self::WatchedDifferently => "watched-differently",
            Self::Nothing => "nothing",
        }
    }

    /// The impact of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|impact| impact.name() == name)
    }

    /// What it means for whoever reviews it.
    pub fn means(self) -> &'static str {
        match self {
            Self::Deleted => "a cluster, a pool or stored data leaves",
            Self::Replaced => "something has to be deleted and made again",
            Self::Refused => "the API server refuses something, and bringing the tree stops there",
            Self::NodesRecreated => "nodes are drained and made again",
            Self::SlicesRecut => "GPUs are cut anew, and what runs on them must leave",
            Self::DriverRestarted => "drivers restart, and nothing may use a GPU meanwhile",
            Self::WorkloadRestarted => "pods of a workload restart, are evicted or end",
            Self::PluginRestarted => "GPUs are advertised anew; what runs goes on",
            Self::CapacityLost => "there are fewer nodes or GPUs",
            Self::QuotaCut => "somebody may use less",
            Self::AccessChanged => "what is allowed changes",
            Self::ServiceRestarted => "a part of the stack restarts; jobs go on",
            Self::CapacityGained => "there are more nodes or GPUs",
            Self::QuotaRaised => "somebody may use more",
            Self::Added => "something is new, and nothing that runs is touched",
            Self::WatchedDifferently => "only alerts, records or dashboards change",
            Self::Nothing => "nothing that runs is touched",
        }
    }

    /// Whether running work may be lost by it.
    pub fn disrupts(self) -> bool {
        self <= Self::QuotaCut
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_listed_worst_first_and_have_one_name_each() {
        assert!(Impact::ALL.is_sorted());
        for impact in Impact::ALL {
            assert_eq!(Impact::named(impact.name()), Some(impact));
            let json = serde_json::to_value(impact).unwrap();
            assert_eq!(json, impact.name());
        }
        assert_eq!(Impact::named("gone"), None);
    }
}
