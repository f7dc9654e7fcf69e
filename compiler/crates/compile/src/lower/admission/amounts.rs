//! Policy against requests for more of a resource than a node of any pool has, and for several replicas of a GPU. Such
//! a pod stays pending indefinitely, or the kubelet rejects it.
//!
//! Containers run concurrently, so their requests add up, together with those of sidecars. Other init containers count
//! separately, which never overestimates.

use gpuc_model::check::Checked;
use gpuc_model::{Pool, Sharing};

use super::{Denies, Policy, Validation, cel};

/// More than any node has. Kubernetes abbreviates amounts from a thousand on (`1k`), and no node has as many.
const MAX_AMOUNT: u32 = 1_000_000;

/// The containers that run concurrently.
const CONCURRENT_CONTAINERS: &str = "(variables.spec.containers + variables.spec.?initContainers.orValue([]).filter(c, \
                       c.?restartPolicy.orValue('') == 'Always'))";

/// The amount that a node of a pool has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct NodeAmount {
    pub(super) per_node: u32,
    /// Whether several replicas give a container no more than one.
    pub(super) is_shared: bool,
}

impl NodeAmount {
    /// The amount of a resource on each node of a pool.
    pub(super) fn new(pool: &Pool, resource: &str, per_node: u32) -> Self {
        Self {
            per_node,
            is_shared: is_shared(pool, resource),
        }
    }

    /// The CEL expression for whether a node has the requested amounts.
    pub(super) fn fits(self, requested: &RequestedVariables) -> String {
        let RequestedVariables { all, before } = requested;
        let per_node = self.per_node;
        let max = if self.is_shared { 1 } else { per_node };
        format!(
            "variables.{all}.sum() <= {per_node} && (variables.{all} + variables.{before}).all(count, count <= {max})"
        )
    }
}

/// The names of the variables with the requested amounts of a resource.
pub(super) struct RequestedVariables {
    /// Of each container that runs concurrently.
    all: String,
    /// Of each init container.
    before: String,
}

impl RequestedVariables {
    /// The variables of the resource with this number.
    pub(super) fn new(index: usize) -> Self {
        Self {
            all: format!("asked{index}"),
            before: format!("askedBefore{index}"),
        }
    }

    /// The names and expressions of the variables.
    pub(super) fn definitions(&self, resource: &str) -> [(String, String); 2] {
        let init = "variables.spec.?initContainers.orValue([])";
        [
            (
                self.all.clone(),
                requested_amounts(CONCURRENT_CONTAINERS, resource),
            ),
            (self.before.clone(), requested_amounts(init, resource)),
        ]
    }
}

/// The policy.
pub(super) fn policy(cluster: &Checked<'_>) -> Policy {
    let mut variables = cel::variables();
    let mut validations = Vec::new();
    for (index, (resource, pools)) in cel::pools_by_resource(cluster).into_iter().enumerate() {
        let requested = RequestedVariables::new(index);
        variables.extend(requested.definitions(&resource));
        validations.extend(validations_for(&resource, &pools, &requested));
    }
    Policy {
        name: "gpuc-gpu-amounts",
        denies: Denies::IfEnforced,
        exempts_daemon_sets: false,
        checks_running_pods: false,
        variables,
        validations,
        reason: "a pod runs on one node and is limited to its resources",
    }
}

/// The requested amount of a resource of each container in a list.
///
/// `dyn` makes cel-go choose the overload of `string` by the value: without it, the type of the default alone decides,
/// and `string` fails on every amount, which is text in a pod
/// (<https://github.com/google/cel-spec/blob/master/doc/langdef.md#gradual-type-checking>, 2026-11-25).
pub(super) fn requested_amounts(containers: &str, resource: &str) -> String {
    let name = cel::string_literal(resource);
    format!(
        "{containers}.map(c, string(dyn(c.?resources.?limits[?{name}].orValue(\
         c.?resources.?requests[?{name}].orValue(0))))).map(count, \
         count.matches('^[0-9]{{1,6}}$') ? int(count) : {MAX_AMOUNT})"
    )
}

fn validations_for(
    resource: &str,
    pools: &[(&Pool, u32)],
    requested: &RequestedVariables,
) -> Vec<Validation> {
    let RequestedVariables { all, before } = requested;
    let mut amounts: Vec<NodeAmount> = Vec::new();
    for &(pool, per_node) in pools {
        let amount = NodeAmount::new(pool, resource, per_node);
        if !amounts.contains(&amount) {
            amounts.push(amount);
        }
    }
    let all_shared = amounts.iter().all(|amount| amount.is_shared);
    let fits = amounts.iter().map(|amount| {
        if all_shared {
            // The limit of one per container is a validation of its own.
            return format!("variables.{all}.sum() <= {}", amount.per_node);
        }
        amount.fits(requested)
    });
    let fits: Vec<_> = fits.collect();
    let notes = pools.iter().map(|(pool, per_node)| {
        let note = if is_shared(pool, resource) {
            " replicas of GPUs, one per container"
        } else {
            ""
        };
        format!("a node of pool {} has {per_node}{note}", pool.name)
    });
    let notes: Vec<_> = notes.collect();
    let mut validations = Vec::new();
    if all_shared {
        validations.push(Validation {
            expression: format!(
                "(variables.{all} + variables.{before}).all(count, count <= 1)"
            ),
            message: format!(
                "requests several {resource}, which are replicas of a shared GPU: several give no more than one; \
                 request one"
            ),
            message_expression: None,
        });
    }
    validations.push(Validation {
        expression: fits.join(" || "),
        message: format!(
            "requests more {resource} than a node of any pool has: {}; request fewer, and run one pod on each of \
             several nodes",
            cel::conjunction(&notes)
        ),
        message_expression: None,
    });
    validations
}

/// Whether a pool advertises replicas of GPUs, by time-slicing or MPS.
fn is_shared(pool: &Pool, resource: &str) -> bool {
    let sharing = pool.sharing.expect_resolved();
    let is_gpu = resource.starts_with("nvidia.com/");
    is_gpu && matches!(sharing, Sharing::TimeSlicing { .. } | Sharing::Mps { .. })
}
