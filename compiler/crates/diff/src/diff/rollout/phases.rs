//! The order of a rollout: its phases, the assignment of steps to them, and the cases that move a phase.

use super::super::report::Step;
use super::states::Rollout;

/// A phase of a rollout. The variants are in the order in which the phases run; [`Order::position`] lists the
/// exceptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    // Before the build: the cluster and the input become ready for the change.
    /// Changes that the scripts only check and the user makes first, and values that the API server rejects.
    Preconditions,
    /// Removal of pools that block the upgrade to an intermediate version.
    RemovePoolsBeforeUpgrade,
    /// Upgrades of the control plane to each version before the last one.
    IntermediateVersions,
    /// The old GitOps controller stops pruning, so that it keeps the resources when its objects are deleted.
    ReleaseController,
    /// Edits of the input: pools, taints and namespaces that must stay for now, and values that cannot work.
    EditInput,
    /// Drains of removed pools while their components still run: a push prunes these.
    DrainPrunedPools,

    /// The build of the tree, its review and the commit.
    Build,

    // Before anything changes in the cluster: work stops where the change would interrupt it.
    /// Queues stop admitting jobs, users save data that a push deletes, and leave namespaces that a push closes.
    StopAndSave,
    /// Users save the data and the manifests of objects that are deleted and recreated.
    PrepareRecreation,
    /// Deletion of workloads whose nodes are removed.
    DeleteWorkloads,
    /// Drains of nodes that change, shrink or move; [`Phase::Uncordon`] reverts those of nodes that stay.
    DrainNodes,

    // The cloud and the hosts: new capacity.
    /// Removal of pools whose replacement finds no machines, or cannot be in the same cluster, before that.
    RemovePoolsFirst,
    /// The scripts of new and changed hosts, which prepare them for the cluster.
    PrepareHosts,
    /// The scripts of the cloud, which create and change nodes.
    ApplyCloud,

    // Before the deployment: what the new objects would collide with is removed.
    /// Deletion of removed queues before other queues get their quota.
    DeleteQueues,
    /// Deletion of renamed batch workloads, which would do the same work twice.
    DeleteBatchWorkloads,
    /// Removal of old device plugins and driver installers.
    RemoveOldPlugins,
    /// Drains of nodes that the push deletes.
    DrainReturnedPools,
    /// Removal of taints from existing nodes before the device plugin stops tolerating them.
    RemoveTaintsByHand,
    /// The warning that the deployment makes a node provisioner replace nodes.
    AnnounceDrift,

    // The deployment.
    /// A push at which the GitOps controller stops until immutable objects are deleted.
    Push,
    /// Deletion of objects that cannot be changed in place.
    DeleteImmutable,
    /// The deployment: a script, a sync, or the registration with another GitOps controller.
    Deploy,
    /// Users recreate objects that are not part of the tree.
    RestoreObjects,
    /// Nodes deleted by the push are gone, and their machines are free.
    AwaitNodeDeletion,

    // After the deployment: the new state is completed and verified.
    /// Drivers are installed or removed, and device plugins register again.
    ReplaceDrivers,
    /// Deletion of renamed long-running workloads when the new ones are ready.
    DeleteReplacedWorkloads,
    /// The verification of the cluster.
    Verify,
    /// Drained nodes accept pods again.
    Uncordon,
    /// Addition of taints to existing nodes, now that the device plugin tolerates them.
    AddTaintsByHand,
    /// Deletion of nodes that their provisioner cannot replace.
    DeleteDriftedNodes,
    /// A node provisioner has replaced all its nodes.
    AwaitDrift,
    /// Nodes have been upgraded automatically.
    AwaitUpgrades,

    // Cleanup: what the new state has replaced is removed, data last.
    /// References in the input change from an old pool to its replacement.
    MoveReferences,
    /// Removal of old taints that stayed next to the new ones.
    RemoveOldTaints,
    /// Removal of old pools.
    RemovePools,
    /// Removal of hosts from pools that stay.
    RemoveHosts,
    /// Workloads and data leave removed namespaces.
    EmptyNamespaces,
    /// Deletion of removed objects and releases.
    DeleteObjects,
    /// Removal of releases whose CRDs may have other users' objects.
    UninstallReleases,
    /// Deletion of removed cloud resources, when no controller uses them any more.
    DeleteCloudResources,
    /// Deletion of stored data. Optional.
    DeleteData,
    /// Deletion of namespaces with everything in them. Optional.
    DeleteNamespaces,
}

/// A step with its phase.
pub(super) struct Planned {
    pub(super) phase: Phase,
    pub(super) step: Step,
    /// Whether the change needs an ordered rollout because of this step.
    pub(super) requires_order: bool,
}

impl Phase {
    /// Assigns steps to this phase. Each of them requires an ordered rollout.
    pub(super) fn plan(self, steps: impl IntoIterator<Item = Step>) -> Vec<Planned> {
        self.plan_routine(steps, true)
    }

    /// Assigns steps to this phase that every change has, and that require an ordered rollout only under a condition.
    pub(super) fn plan_routine(
        self,
        steps: impl IntoIterator<Item = Step>,
        requires_order: bool,
    ) -> Vec<Planned> {
        (steps.into_iter())
            .map(|step| Planned {
                phase: self,
                step,
                requires_order,
            })
            .collect()
    }
}

impl Planned {
    /// This step changed by a function; `None` if the function drops it.
    pub(super) fn map_step(self, change: impl FnOnce(Step) -> Option<Step>) -> Option<Self> {
        let step = change(self.step)?;
        Some(Self { step, ..self })
    }
}

/// The conditions that move phases.
pub(super) struct Order {
    is_delivered_by_commit: bool,
    is_cloud_late: bool,
}

impl Order {
    pub(super) fn for_rollout(rollout: &Rollout<'_>) -> Self {
        Self {
            is_delivered_by_commit: rollout.is_delivered_by_commit(),
            is_cloud_late: rollout.is_cloud_late(),
        }
    }

    /// The sort key of a phase: its own position, or the one after another phase.
    pub(super) fn position(&self, phase: Phase) -> (Phase, Option<Phase>) {
        match phase {
            // The push of the commit deploys the tree, so everything that must stop stops before it.
            Phase::StopAndSave
            | Phase::PrepareRecreation
            | Phase::DeleteWorkloads
            | Phase::DrainNodes
                if self.is_delivered_by_commit =>
            {
                (Phase::DrainPrunedPools, Some(phase))
            }
            // The cloud waits for the deployment; `Rollout::is_cloud_late` has the reasons.
            Phase::ApplyCloud if self.is_cloud_late => (Phase::AwaitNodeDeletion, Some(phase)),
            _ => (phase, None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Order, Phase};

    fn are_in_order(order: &Order, phases: &[Phase]) -> bool {
        phases.is_sorted_by_key(|phase| order.position(*phase))
    }

    #[test]
    fn scripts_stop_work_after_the_build() {
        let order = Order {
            is_delivered_by_commit: false,
            is_cloud_late: false,
        };
        assert!(are_in_order(
            &order,
            &[
                Phase::Build,
                Phase::StopAndSave,
                Phase::DrainNodes,
                Phase::ApplyCloud,
                Phase::Deploy,
            ]
        ));
    }

    #[test]
    fn commit_follows_the_stop_of_work() {
        let order = Order {
            is_delivered_by_commit: true,
            is_cloud_late: false,
        };
        assert!(are_in_order(
            &order,
            &[
                Phase::DrainPrunedPools,
                Phase::StopAndSave,
                Phase::PrepareRecreation,
                Phase::DeleteWorkloads,
                Phase::DrainNodes,
                Phase::Build,
                Phase::RemovePoolsFirst,
            ]
        ));
    }

    #[test]
    fn late_cloud_follows_the_deployment() {
        let order = Order {
            is_delivered_by_commit: false,
            is_cloud_late: true,
        };
        assert!(are_in_order(
            &order,
            &[
                Phase::Deploy,
                Phase::AwaitNodeDeletion,
                Phase::ApplyCloud,
                Phase::ReplaceDrivers,
            ]
        ));
    }
}
