//! A node with its health state and a simulated clock.

use gpuc_runtime::device::Inventory;
use gpuc_runtime::health::{Health, HealthEvent, Policy, Reaction, WatchReport};
use gpuc_runtime::nvml::{Condition, NvmlError, NvmlEvent, NvmlEventKind, RecoveryAction};
use gpuc_schema::node_config::{HealthPolicy, NodeSharing};

use crate::machine::state;

/// The condition of a healthy GPU.
pub(crate) const HEALTHY: Condition = Condition {
    action: Some(RecoveryAction::Nothing),
    remap_failed: false,
};

/// The condition of a healthy GPU if the driver is too old to report recovery actions.
pub(crate) const NO_ACTION_REPORTED: Condition = Condition {
    action: None,
    remap_failed: false,
};

pub(crate) const SECOND: u64 = 1_000;
pub(crate) const HOUR: u64 = 3_600 * SECOND;

/// A node with its health state and a simulated clock.
pub(crate) struct Node {
    pub(crate) health: Health,
    pub(crate) inventory: Inventory,
    pub(crate) now: u64,
}

impl Node {
    pub(crate) fn new(inventory: Inventory) -> Self {
        Self::with(inventory, &HealthPolicy::default())
    }

    /// Creates a node whose GPUs are discovered and healthy.
    pub(crate) fn with(inventory: Inventory, policy: &HealthPolicy) -> Self {
        let health = Health::new(Policy::new(policy, None, None).0);
        let mut node = Self {
            health,
            inventory,
            now: 5 * HOUR,
        };
        node.apply(&HealthEvent::Scanned);
        node.answer_due_queries(|_| Ok(HEALTHY));
        assert!(node.health.unhealthy().is_empty());
        node
    }

    pub(crate) fn apply(&mut self, event: &HealthEvent) -> Reaction {
        self.health.apply(&self.inventory, event, self.now)
    }

    pub(crate) fn event(&mut self, gpu: Option<u32>, kind: NvmlEventKind) -> Reaction {
        let event = NvmlEvent { gpu, kind };
        self.apply(&HealthEvent::Watch(WatchReport::Event(event)))
    }

    pub(crate) fn xid(&mut self, gpu: u32, xid: u64, instance: Option<(u32, u32)>) -> Reaction {
        self.event(Some(gpu), NvmlEventKind::Xid { xid, instance })
    }

    pub(crate) fn scan(&mut self, inventory: Inventory) -> Reaction {
        self.inventory = inventory;
        self.apply(&HealthEvent::Scanned)
    }

    /// Answers all due queries with this condition. Returns the recovered devices.
    pub(crate) fn answer_due_queries(
        &mut self,
        answer: impl Fn(u32) -> Result<Condition, NvmlError>,
    ) -> Vec<String> {
        let due = self.health.take_due_queries(self.now);
        let recovered = |gpu| {
            let reaction = self
                .health
                .handle_response(&self.inventory, gpu, answer(gpu), self.now);
            reaction.recovered
        };
        due.into_iter().flat_map(recovered).collect()
    }

    pub(crate) fn advance(&mut self, time: u64) {
        self.now += time;
    }

    /// Waits until a query is due. Returns the duration.
    pub(crate) fn advance_to_next_query(&mut self) -> u64 {
        let next = self.health.next_probe().expect("a GPU must be probed");
        let time = next.saturating_sub(self.now);
        self.advance(time);
        time
    }

    pub(crate) fn unhealthy(&self) -> Vec<String> {
        self.health.unhealthy().into_keys().collect()
    }

    /// The number of unhealthy devices in the kubelet's list, and of all devices.
    pub(crate) fn unhealthy_counts(&self, sharing: &NodeSharing) -> (usize, usize) {
        let state = state(&self.inventory, sharing, self.health.unhealthy());
        let shares = state
            .advertised_resources
            .iter()
            .flat_map(|resource| &resource.devices);
        let unhealthy = shares
            .clone()
            .filter(|share| state.unhealthy_reason(share).is_some());
        (unhealthy.count(), shares.count())
    }
}
