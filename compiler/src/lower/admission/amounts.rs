//! More of a resource than a node of any pool has, and several shares of a GPU: the pod waits for ever, or is refused
//! by the node.
//!
//! Containers run at once and add up, with those that start before them and stay. Others that run before them count
//! alone, which is never too much.

use super::cel;
use super::{Demand, Policy};
use crate::check::Checked;
use crate::model::{Pool, Sharing};

/// More than any node has. Kubernetes shortens amounts from a thousand on (`1k`), and no node has as many.
const MANY: u32 = 1_000_000;

/// The containers that run at once.
const AT_ONCE: &str = "(variables.spec.containers + variables.spec.?initContainers.orValue([]).filter(c, \
                       c.?restartPolicy.orValue('') == 'Always'))";

/// How many a pod gets of one pool.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Room {
    per_node: u32,
    /// Whether several give a container no more than one.
    is_shared: bool,
}

/// The policy.
pub(super) fn policy(cluster: &Checked<'_>) -> Policy {
    let mut variables = cel::variables();
    let mut demands = Vec::new();
    for (index, (resource, pools)) in cel::offers(cluster).into_iter().enumerate() {
        let (all, before) = (format!("asked{index}"), format!("askedBefore{index}"));
        let init = "variables.spec.?initContainers.orValue([])";
        variables.push((all.clone(), counts(AT_ONCE, resource)));
        variables.push((before.clone(), counts(init, resource)));
        demands.extend(of_resource(resource, &pools, &all, &before));
    }
    Policy {
        name: "gpuc-gpu-amounts",
        refuses: true,
        spares_daemons: true,
        variables,
        demands,
        why: "a pod runs on one node, and gets what that has",
    }
}

/// How many of a resource each of some containers asks for.
pub(super) fn counts(containers: &str, resource: &str) -> String {
    let name = cel::text(resource);
    format!(
        "{containers}.map(c, string(c.?resources.?limits[?{name}].orValue(\
         c.?resources.?requests[?{name}].orValue(0)))).map(count, \
         count.matches('^[0-9]{{1,6}}$') ? int(count) : {MANY})"
    )
}

fn of_resource(resource: &str, pools: &[(&Pool, u32)], all: &str, before: &str) -> Vec<Demand> {
    let mut rooms: Vec<Room> = Vec::new();
    for &(pool, per_node) in pools {
        let room = Room {
            per_node,
            is_shared: is_shared(pool, resource),
        };
        if !rooms.contains(&room) {
            rooms.push(room);
        }
    }
    let all_shared = rooms.iter().all(|room| room.is_shared);
    let fits = rooms.iter().map(|room| {
        let has = room.per_node;
        let together = format!("variables.{all}.sum() <= {has}");
        if all_shared {
            // That a container gets one is a demand of its own.
            return together;
        }
        let most = if room.is_shared { 1 } else { has };
        format!("{together} && (variables.{all} + variables.{before}).all(count, count <= {most})")
    });
    let fits: Vec<_> = fits.collect();
    let has = pools.iter().map(|(pool, per_node)| {
        let parts = if is_shared(pool, resource) {
            " parts of GPUs, one for a container"
        } else {
            ""
        };
        format!("a node of pool {} has {per_node}{parts}", pool.name)
    });
    let has: Vec<_> = has.collect();
    let mut demands = Vec::new();
    if all_shared {
        demands.push(Demand {
            expression: format!(
                "(variables.{all} + variables.{before}).all(count, count <= 1)"
            ),
            message: format!(
                "asks for several {resource}, which are parts of a GPU: several give no more than one; ask for one"
            ),
            saying: None,
        });
    }
    demands.push(Demand {
        expression: fits.join(" || "),
        message: format!(
            "asks for more {resource} than a node of any pool has: {}; ask for less, and run a pod on each of several \
             nodes",
            cel::words(&has)
        ),
        saying: None,
    });
    demands
}

/// Whether a pool gives out parts of GPUs that containers use in turns, or side by side.
fn is_shared(pool: &Pool, resource: &str) -> bool {
    let sharing = pool.sharing.sure();
    let is_gpu = resource.starts_with("nvidia.com/");
    is_gpu && matches!(sharing, Sharing::TimeSlicing { .. } | Sharing::Mps { .. })
}
