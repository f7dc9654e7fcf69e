//! Workloads of Kueue that have no quota, and why.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::doctor::check::Check;
use crate::doctor::context::Context;
use crate::doctor::finding::{Evidence, Finding};
use crate::objects::{Condition, Object, ObjectRef};
use crate::state::Kind;

/// A Workload without quota that does not get it by waiting.
pub(super) struct BlockedWorkload<'s> {
    workload: &'s Object,
    condition: Condition,
    /// What keeps it from its quota.
    pub(super) obstacle: Obstacle,
}

/// What keeps a Workload from its quota.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Obstacle {
    /// The queue does not exist.
    QueueMissing {
        /// `LocalQueue` or `ClusterQueue`.
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// The ClusterQueue has no quota of a resource.
    NotCovered {
        /// The resource.
        resource: String,
    },
    /// The Workload requests more than the ClusterQueue can ever have.
    TooLarge {
        /// The resource.
        resource: String,
        /// The flavor.
        flavor: String,
        /// The amount that a pod set requests, after that of the pod sets before it: `16`, or `8 + 16`.
        requested: String,
        /// The largest amount, with everything that can be borrowed.
        capacity: String,
    },
    /// The pods do not tolerate a taint of a flavor.
    Taint {
        /// The taint, as `kubectl` writes it.
        taint: String,
        /// The flavor.
        flavor: String,
    },
    /// The node labels of a flavor do not match the pods.
    Affinity {
        /// The flavor.
        flavor: String,
    },
    /// The nodes of a topology do not have enough room for the pods.
    Topology {
        /// The topology.
        topology: String,
        /// The pods that fit.
        fitting: String,
        /// The pods of the pod set.
        total: String,
    },
}

fn pattern(text: &str) -> Option<Regex> {
    Regex::new(text).ok()
}

/// The messages of Kueue, the most important first.
///
/// Source: kubernetes-sigs/kueue v0.19.2 `pkg/scheduler/flavorassigner/flavorassigner.go`,
/// `pkg/cache/scheduler/tas_flavor_snapshot.go`, `pkg/controller/core/workload_controller.go`, 2026-11-28.
static QUEUE: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"\b(LocalQueue|ClusterQueue) (\S+) doesn't exist"));
static NOT_COVERED: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"resource (\S+) unavailable in ClusterQueue"));
static TOPOLOGY: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r#"topology "([^"]+)" (?:doesn't allow to fit any of|allows to fit only (\d+) out of) (\d+)"#,
    )
});
static TOO_LARGE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let flavor = r"insufficient quota for (\S+) in flavor ([^\s,]+), ";
    let amounts = r".*?requests \(([^)]*)\) \+ current podset request \(([^)]*)\) > maximum capacity \(([^)]*)\)";
    pattern(&format!("{flavor}{amounts}"))
});
static TAINT: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"untolerated taint (.+?) in flavor ([^\s,;]+)"));
static AFFINITY: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"flavor (\S+) doesn't match node affinity"));

impl Obstacle {
    /// The obstacle that the condition `QuotaReserved` names; `None` if the Workload only waits.
    fn parse(message: &str) -> Option<Self> {
        if let Some(captures) = capture(&QUEUE, message) {
            let kind = match group(&captures, 1).as_str() {
                "LocalQueue" => "LocalQueue",
                _ => "ClusterQueue",
            };
            let name = group(&captures, 2);
            return Some(Self::QueueMissing { kind, name });
        }
        let mut pod_sets = message.split("couldn't assign flavors to pod set ");
        pod_sets.find_map(Self::of_pod_set)
    }

    fn of_pod_set(text: &str) -> Option<Self> {
        // Another flavor has the quota, but other Workloads use it.
        if text.contains("insufficient unused quota") {
            return None;
        }
        if let Some(captures) = capture(&NOT_COVERED, text) {
            let resource = group(&captures, 1);
            return Some(Self::NotCovered { resource });
        }
        if let Some(captures) = capture(&TOPOLOGY, text) {
            let fitting = match group(&captures, 2) {
                none if none.is_empty() => "0".to_owned(),
                fitting => fitting,
            };
            return Some(Self::Topology {
                topology: group(&captures, 1),
                fitting,
                total: group(&captures, 3),
            });
        }
        if let Some(captures) = capture(&TOO_LARGE, text) {
            return Some(Self::TooLarge {
                resource: group(&captures, 1),
                flavor: group(&captures, 2),
                requested: match (group(&captures, 3).as_str(), group(&captures, 4)) {
                    ("0" | "", current) => current,
                    (previous, current) => format!("{previous} + {current}"),
                },
                capacity: group(&captures, 5),
            });
        }
        if let Some(captures) = capture(&TAINT, text) {
            return Some(Self::Taint {
                taint: taint_text(&group(&captures, 1)),
                flavor: group(&captures, 2),
            });
        }
        let captures = capture(&AFFINITY, text)?;
        let flavor = group(&captures, 1);
        Some(Self::Affinity { flavor })
    }
}

/// A taint that Go printed, `{key value effect <nil>}`, as `kubectl` writes it: `key=value:effect`.
fn taint_text(printed: &str) -> String {
    let parts = printed.trim_start_matches('{').trim_end_matches('}');
    let parts: Vec<&str> = parts.split(' ').collect();
    match parts[..] {
        [key, "", effect, ..] => format!("{key}:{effect}"),
        [key, value, effect, ..] => format!("{key}={value}:{effect}"),
        _ => printed.to_owned(),
    }
}

fn capture<'t>(pattern: &LazyLock<Option<Regex>>, text: &'t str) -> Option<Captures<'t>> {
    pattern.as_ref()?.captures(text)
}

fn group(captures: &Captures<'_>, index: usize) -> String {
    captures
        .get(index)
        .map_or(String::new(), |it| it.as_str().to_owned())
}

/// The seconds in which Kueue considers a new Workload, and a queue is created with it.
const START_SECONDS: u64 = 120;

/// The Workloads without quota that do not get it by waiting.
pub(super) fn blocked_workloads<'s>(
    ctx: &Context<'s>,
) -> impl Iterator<Item = BlockedWorkload<'s>> {
    let workloads = ctx.state.objects(Kind::Workload).iter();
    workloads.filter_map(|workload| {
        let is_true = |kind| workload.condition(kind).is_some_and(|it| it.is_true());
        let is_inactive =
            workload.get("/spec/active") == false || workload.metadata.deletion_timestamp.is_some();
        let is_new = ctx
            .age(workload.metadata.creation_timestamp)
            .is_some_and(|seconds| seconds < START_SECONDS);
        if is_inactive || is_new || is_true("Finished") || is_true("Admitted") {
            return None;
        }
        let condition = workload.condition("QuotaReserved")?;
        if !condition.is_false() {
            return None;
        }
        let obstacle = Obstacle::parse(&condition.message)?;
        Some(BlockedWorkload {
            workload,
            condition,
            obstacle,
        })
    })
}

impl BlockedWorkload<'_> {
    /// The namespace.
    pub(super) fn namespace(&self) -> &str {
        &self.workload.metadata.namespace
    }

    /// The name of its ClusterQueue, if it is known.
    pub(super) fn cluster_queue(&self, ctx: &Context<'_>) -> Option<ObjectRef> {
        let queue = self.workload.text("/spec/queueName");
        let queue = ctx
            .state
            .object(Kind::LocalQueue, self.namespace(), queue)?;
        let name = queue.text("/spec/clusterQueue");
        Some(ObjectRef::new("ClusterQueue", "", name))
    }

    /// A finding about the Workload, with Kueue's message. The ClusterQueue explains it.
    pub(super) fn report(
        &self,
        check: &'static Check,
        ctx: &Context<'_>,
        message: impl Into<String>,
    ) -> Finding {
        let object = ObjectRef::of_kind("Workload", &self.workload.metadata);
        let causes: Vec<ObjectRef> = self.cluster_queue(ctx).into_iter().collect();
        Finding::new(&check.code, object.clone(), message)
            .evidence(Evidence::Field {
                path: "status.conditions[QuotaReserved].message".to_owned(),
                value: self.condition.message.clone(),
                object,
            })
            .depends_on(causes)
            .command(format!(
                "kubectl describe workloads.kueue.x-k8s.io --namespace {} {}",
                self.namespace(),
                self.workload.metadata.name
            ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(message: &str) -> Option<Obstacle> {
        Obstacle::parse(message)
    }

    #[test]
    fn messages_of_kueue_are_parsed() {
        let prefix = "couldn't assign flavors to pod set main: ";
        assert_eq!(
            parse(&format!(
                "{prefix}insufficient quota for nvidia.com/gpu in flavor h100, previously considered podsets requests \
                 (0) + current podset request (16) > maximum capacity (8)"
            )),
            Some(Obstacle::TooLarge {
                resource: "nvidia.com/gpu".to_owned(),
                flavor: "h100".to_owned(),
                requested: "16".to_owned(),
                capacity: "8".to_owned(),
            })
        );
        assert_eq!(
            parse(&format!(
                "{prefix}untolerated taint {{nvidia.com/gpu present NoSchedule <nil>}} in flavor h100"
            )),
            Some(Obstacle::Taint {
                taint: "nvidia.com/gpu=present:NoSchedule".to_owned(),
                flavor: "h100".to_owned(),
            })
        );
        assert_eq!(
            parse(&format!("{prefix}flavor h100 doesn't match node affinity")),
            Some(Obstacle::Affinity {
                flavor: "h100".to_owned()
            })
        );
        assert_eq!(
            parse(&format!(
                "{prefix}resource nvidia.com/gpu unavailable in ClusterQueue"
            )),
            Some(Obstacle::NotCovered {
                resource: "nvidia.com/gpu".to_owned()
            })
        );
        let topology = |fitting: &str| Obstacle::Topology {
            topology: "racks".to_owned(),
            fitting: fitting.to_owned(),
            total: "4".to_owned(),
        };
        assert_eq!(
            parse(&format!(
                "{prefix}topology \"racks\" allows to fit only 3 out of 4 pod(s). Total nodes: 4; excluded: taint: 1"
            )),
            Some(topology("3"))
        );
        assert_eq!(
            parse(&format!(
                "{prefix}topology \"racks\" doesn't allow to fit any of 4 pod(s)"
            )),
            Some(topology("0"))
        );
        assert_eq!(
            parse("LocalQueue team doesn't exist"),
            Some(Obstacle::QueueMissing {
                kind: "LocalQueue",
                name: "team".to_owned()
            })
        );
    }

    #[test]
    fn workloads_that_wait_have_no_obstacle() {
        for message in [
            "",
            "The workload is waiting",
            "couldn't assign flavors to pod set main: insufficient unused quota for nvidia.com/gpu in flavor a, 4 more \
             needed",
            "couldn't assign flavors to pod set main: untolerated taint {a} in flavor b, insufficient unused quota for \
             nvidia.com/gpu in flavor a, 4 more needed",
            "LocalQueue team is inactive",
        ] {
            assert_eq!(parse(message), None, "{message}");
        }
        // One pod set waits, but the other one never fits.
        let message = "couldn't assign flavors to pod set a: insufficient unused quota for cpu in flavor f, 4 more \
                       needed; couldn't assign flavors to pod set b: flavor f doesn't match node affinity";
        assert!(matches!(parse(message), Some(Obstacle::Affinity { .. })));
    }

    #[test]
    fn pod_sets_count_together() {
        let message = "couldn't assign flavors to pod set b: insufficient quota for nvidia.com/gpu in flavor f, \
                       previously considered podsets requests (8) + current podset request (4) > maximum capacity (8)";
        let obstacle = parse(message);
        assert!(
            matches!(&obstacle, Some(Obstacle::TooLarge { requested, .. }) if requested == "8 + 4"),
            "{obstacle:?}"
        );
    }

    #[test]
    fn taints_are_written_as_kubectl_does() {
        for (printed, expected) in [
            ("{a b NoSchedule <nil>}", "a=b:NoSchedule"),
            ("{a  NoExecute <nil>}", "a:NoExecute"),
            ("a=b:NoSchedule", "a=b:NoSchedule"),
            ("", ""),
        ] {
            assert_eq!(taint_text(printed), expected);
        }
    }
}
