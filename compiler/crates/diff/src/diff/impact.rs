//! Impacts of a change on running workloads, worst first.

use schemars::JsonSchema;
use serde::Serialize;

/// Impact of a change on running workloads, worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Impact {
    /// A cluster, a pool or stored data is removed.
    Deleted,
    /// The cloud cannot change the resource in place: it must be replaced.
    Replaced,
    /// The API server rejects the change, and deployment stops there.
    Refused,
    /// Nodes are drained and recreated.
    NodesRecreated,
    /// GPUs are repartitioned: pods on the old MIG devices must stop first.
    MigReconfigured,
    /// Drivers restart: no pod on the node may use a GPU meanwhile.
    DriverRestarted,
    /// Pods of a workload restart, are evicted or terminate.
    WorkloadRestarted,
    /// The component that advertises GPUs restarts, or advertises other resources.
    DevicePluginRestarted,
    /// Nodes or GPUs are removed.
    CapacityLost,
    /// A quota is reduced.
    QuotaCut,
    /// Access, isolation, admission or taints change.
    AccessChanged,
    /// A supporting service of the GPU stack restarts.
    ServiceRestarted,
    /// Nodes or GPUs are added.
    CapacityGained,
    /// A quota is increased.
    QuotaRaised,
    /// A resource is added; running workloads are unaffected.
    Added,
    /// Only alerts, recording rules or dashboards change.
    MonitoringChanged,
    /// Running workloads are unaffected.
    Nothing,
}

impl Impact {
    /// Every impact, worst first.
    pub const ALL: [Self; 17] = [
        Self::Deleted,
        Self::Replaced,
        Self::Refused,
        Self::NodesRecreated,
        Self::MigReconfigured,
        Self::DriverRestarted,
        Self::WorkloadRestarted,
        Self::DevicePluginRestarted,
        Self::CapacityLost,
        Self::QuotaCut,
        Self::AccessChanged,
        Self::ServiceRestarted,
        Self::CapacityGained,
        Self::QuotaRaised,
        Self::Added,
        Self::MonitoringChanged,
        Self::Nothing,
    ];

    /// The name on the command line and in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Deleted => "deleted",
            Self::Replaced => "replaced",
            Self::Refused => "refused",
            Self::NodesRecreated => "nodes-recreated",
            Self::MigReconfigured => "mig-reconfigured",
            Self::DriverRestarted => "driver-restarted",
            Self::WorkloadRestarted => "workload-restarted",
            Self::DevicePluginRestarted => "device-plugin-restarted",
            Self::CapacityLost => "capacity-lost",
            Self::QuotaCut => "quota-cut",
            Self::AccessChanged => "access-changed",
            Self::ServiceRestarted => "service-restarted",
            Self::CapacityGained => "capacity-gained",
            Self::QuotaRaised => "quota-raised",
            Self::Added => "added",
            Self::MonitoringChanged => "monitoring-changed",
            Self::Nothing => "nothing",
        }
    }

    /// Returns the impact of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|impact| impact.as_str() == name)
    }

    /// Description of the impact for a reviewer.
    pub fn description(self) -> &'static str {
        match self {
            Self::Deleted => "a cluster, a pool or stored data is removed",
            Self::Replaced => "resources must be replaced",
            Self::Refused => "the API server rejects a change, and deployment stops there",
            Self::NodesRecreated => "nodes are drained and recreated",
            Self::MigReconfigured => "GPUs are repartitioned; pods on them must stop first",
            Self::DriverRestarted => "drivers restart; no pod may use a GPU meanwhile",
            Self::WorkloadRestarted => "workload pods restart, are evicted or terminate",
            Self::DevicePluginRestarted => "GPUs are advertised again; running pods are unaffected",
            Self::CapacityLost => "fewer nodes or GPUs",
            Self::QuotaCut => "a quota is reduced",
            Self::AccessChanged => "access, isolation, admission or taints change",
            Self::ServiceRestarted => "a supporting service restarts; jobs keep running",
            Self::CapacityGained => "more nodes or GPUs",
            Self::QuotaRaised => "a quota is increased",
            Self::Added => "resources are added; running workloads unaffected",
            Self::MonitoringChanged => "only alerts, recording rules or dashboards change",
            Self::Nothing => "running workloads unaffected",
        }
    }

    /// Whether running work may be lost.
    pub fn is_disruptive(self) -> bool {
        self <= Self::QuotaCut
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impacts_are_sorted_with_unique_names() {
        assert!(Impact::ALL.is_sorted());
        for impact in Impact::ALL {
            assert_eq!(Impact::from_name(impact.as_str()), Some(impact));
            let json = serde_json::to_value(impact).unwrap();
            assert_eq!(json, impact.as_str());
        }
        assert_eq!(Impact::from_name("gone"), None);
    }
}
