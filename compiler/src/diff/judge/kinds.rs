//! What becomes of Kubernetes objects, kind by kind.

use gpuc_schema::config::Quantity;
use serde_json::Value as Json;

use super::super::deltas::{Delta, Fate};
use super::super::impact::Impact;
use super::super::parts::{Key, Part};
use super::{Setting, Verdict};
use Impact::{
    AccessChanged, Added, Deleted, NodesRecreated, Nothing, PluginRestarted, QuotaCut, QuotaRaised,
    ServiceRestarted, WatchedDifferently, WorkloadRestarted,
};

/// A kind.
struct Kind {
    /// The API group; empty for Kubernetes' core.
    group: &'static str,
    name: &'static str,
    /// What a new one does.
    came: Impact,
    /// What it does when one leaves.
    went: Impact,
    /// What a change does, unless a row says otherwise.
    changed: Impact,
    /// What the fields below a key do. The longest key that fits counts.
    rows: &'static [Row],
    /// Fields that the API server does not let anybody change, and where that stands.
    fixed: &'static [(&'static str, &'static str)],
}

/// What a field does.
enum Row {
    /// This.
    Is(&'static str, Impact, &'static str),
    /// What its pods are for says what a restart of them does.
    Restarts(&'static str),
    /// A number of pods.
    Pods(&'static str),
    /// A number of what somebody may use.
    Quota(&'static str),
    /// The limits of a pool whose nodes come and go.
    Capacity(&'static str),
}

impl Row {
    fn key(&self) -> &'static str {
        match self {
            Self::Is(key, ..)
            | Self::Restarts(key)
            | Self::Pods(key)
            | Self::Quota(key)
            | Self::Capacity(key) => key,
        }
    }
}

const CORE: &str = "kubernetes/kubernetes pkg/apis, Validate…Update of the kind (from memory)";
const KUEUE: &str = "kueue 0.19 CRDs, x-kubernetes-validations with oldSelf, read 2026-11-22";
const JOBSET: &str = "jobset CRD, x-kubernetes-validations with oldSelf, read 2026-11-22; replicatedJobs: its webhook (from memory)";
const TRAINER: &str =
    "kubeflow trainer CRD, x-kubernetes-validations with oldSelf, read 2026-11-22";
const OPERATOR: &str =
    "gpu-operator CRD of NVIDIADriver, x-kubernetes-validations with oldSelf, read 2026-11-22";

const fn kind(group: &'static str, name: &'static str, changed: Impact) -> Kind {
    Kind {
        group,
        name,
        came: Added,
        went: changed,
        changed,
        rows: &[],
        fixed: &[],
    }
}

const fn rules(group: &'static str, name: &'static str) -> Kind {
    Kind {
        came: AccessChanged,
        ..kind(group, name, AccessChanged)
    }
}

const RBAC: &str = "rbac.authorization.k8s.io";
const QUEUES: &str = "kueue.x-k8s.io";
const NEXT_RUN: &str = "from its next run on";

/// Every kind that gpuc makes, by group and name.
const KINDS: &[Kind] = &[
    kind("", "ConfigMap", ServiceRestarted),
    Kind {
        rows: &[Row::Is("status", Nothing, "")],
        went: Nothing,
        ..kind("", "Namespace", AccessChanged)
    },
    Kind {
        went: Deleted,
        rows: &[Row::Is(
            "spec.resources.requests.storage",
            Nothing,
            "the volume grows, where its class lets it",
        )],
        fixed: &[("spec", CORE)],
        ..kind("", "PersistentVolumeClaim", Nothing)
    },
    Kind {
        fixed: &[("spec.csi", CORE)],
        ..kind("", "PersistentVolume", AccessChanged)
    },
    Kind {
        went: WorkloadRestarted,
        fixed: &[("spec", CORE)],
        ..kind("", "Pod", Nothing)
    },
    Kind {
        came: QuotaCut,
        went: QuotaRaised,
        rows: &[Row::Quota("spec.hard")],
        ..kind("", "ResourceQuota", AccessChanged)
    },
    rules("", "LimitRange"),
    Kind {
        fixed: &[("spec.clusterIP", CORE)],
        ..kind("", "Service", AccessChanged)
    },
    rules("", "ServiceAccount"),
    rules("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
    rules(
        "admissionregistration.k8s.io",
        "ValidatingAdmissionPolicyBinding",
    ),
    Kind {
        went: ServiceRestarted,
        rows: &[Row::Restarts("spec.template")],
        fixed: &[("spec.selector", CORE)],
        ..kind("apps", "DaemonSet", Nothing)
    },
    Kind {
        went: WorkloadRestarted,
        rows: &[Row::Restarts("spec.template"), Row::Pods("spec.replicas")],
        fixed: &[("spec.selector", CORE)],
        ..kind("apps", "Deployment", Nothing)
    },
    Kind {
        went: WorkloadRestarted,
        rows: &[Row::Restarts("spec.template"), Row::Pods("spec.replicas")],
        fixed: &[
            ("spec.selector", CORE),
            ("spec.serviceName", CORE),
            ("spec.podManagementPolicy", CORE),
            ("spec.volumeClaimTemplates", CORE),
        ],
        ..kind("apps", "StatefulSet", Nothing)
    },
    kind("autoscaling", "HorizontalPodAutoscaler", Nothing),
    Kind {
        went: WorkloadRestarted,
        rows: &[Row::Is("spec", Nothing, NEXT_RUN)],
        ..kind("batch", "CronJob", Nothing)
    },
    Kind {
        went: WorkloadRestarted,
        fixed: &[
            ("spec.template", CORE),
            ("spec.selector", CORE),
            ("spec.completionMode", CORE),
            ("spec.completions", CORE),
            ("spec.podFailurePolicy", CORE),
        ],
        rows: &[Row::Pods("spec.parallelism")],
        ..kind("batch", "Job", Nothing)
    },
    Kind {
        rows: &[Row::Is(
            "spec",
            NodesRecreated,
            "nodes that differ from it are drained and replaced one by one",
        )],
        ..kind("karpenter.k8s.aws", "EC2NodeClass", Nothing)
    },
    Kind {
        went: NodesRecreated,
        rows: &[
            Row::Is(
                "spec.template",
                NodesRecreated,
                "nodes that differ from it are drained and replaced one by one",
            ),
            Row::Capacity("spec.limits"),
            Row::Capacity("spec.replicas"),
        ],
        ..kind("karpenter.sh", "NodePool", Nothing)
    },
    Kind {
        went: WorkloadRestarted,
        rows: &[Row::Is(
            "spec",
            WorkloadRestarted,
            "pods that run stay as they are; delete the job to run the new one",
        )],
        ..kind("kubeflow.org", "PyTorchJob", Nothing)
    },
    Kind {
        went: WorkloadRestarted,
        fixed: &[
            ("spec.failurePolicy", JOBSET),
            ("spec.network", JOBSET),
            ("spec.startupPolicy", JOBSET),
            ("spec.successPolicy", JOBSET),
            ("spec.replicatedJobs", JOBSET),
        ],
        ..kind("jobset.x-k8s.io", "JobSet", Nothing)
    },
    Kind {
        went: QuotaCut,
        rows: &[
            Row::Quota("spec.resourceGroups"),
            Row::Quota("spec.fairSharing"),
        ],
        ..kind(QUEUES, "ClusterQueue", AccessChanged)
    },
    Kind {
        went: QuotaCut,
        rows: &[
            Row::Quota("spec.resourceGroups"),
            Row::Quota("spec.fairSharing"),
        ],
        ..kind(QUEUES, "Cohort", AccessChanged)
    },
    Kind {
        fixed: &[("spec.clusterQueue", KUEUE)],
        ..kind(QUEUES, "LocalQueue", AccessChanged)
    },
    Kind {
        rows: &[],
        // Without a topology its labels and tolerations may change; with one they may not.
        fixed: &[("spec.topologyName", KUEUE)],
        ..kind(QUEUES, "ResourceFlavor", AccessChanged)
    },
    Kind {
        fixed: &[("spec.levels", KUEUE)],
        ..kind(QUEUES, "Topology", AccessChanged)
    },
    Kind {
        rows: &[Row::Is("description", Nothing, "")],
        ..kind(QUEUES, "WorkloadPriorityClass", AccessChanged)
    },
    Kind {
        went: WorkloadRestarted,
        rows: &[
            Row::Pods("spec.replicas"),
            Row::Is(
                "spec.leaderWorkerTemplate",
                WorkloadRestarted,
                "its groups are replaced one after another",
            ),
        ],
        ..kind("leaderworkerset.x-k8s.io", "LeaderWorkerSet", Nothing)
    },
    kind("mellanox.com", "NicClusterPolicy", ServiceRestarted),
    kind("mellanox.com", "NicNodePolicy", ServiceRestarted),
    kind("monitoring.coreos.com", "PodMonitor", WatchedDifferently),
    kind(
        "monitoring.coreos.com",
        "PrometheusRule",
        WatchedDifferently,
    ),
    kind(
        "monitoring.coreos.com",
        "ServiceMonitor",
        WatchedDifferently,
    ),
    rules("networking.k8s.io", "NetworkPolicy"),
    Kind {
        fixed: &[("handler", CORE)],
        ..kind("node.k8s.io", "RuntimeClass", AccessChanged)
    },
    kind("nfd.k8s-sigs.io", "NodeFeatureRule", ServiceRestarted),
    Kind {
        went: Impact::DriverRestarted,
        fixed: &[
            ("spec.driverType", OPERATOR),
            ("spec.usePrecompiled", OPERATOR),
        ],
        ..kind("nvidia.com", "NVIDIADriver", Impact::DriverRestarted)
    },
    kind("policy", "PodDisruptionBudget", Nothing),
    rules(RBAC, "ClusterRole"),
    Kind {
        fixed: &[("roleRef", CORE)],
        ..rules(RBAC, "ClusterRoleBinding")
    },
    rules(RBAC, "Role"),
    Kind {
        fixed: &[("roleRef", CORE)],
        ..rules(RBAC, "RoleBinding")
    },
    Kind {
        rows: &[Row::Is(
            "spec",
            AccessChanged,
            "for claims that are not allocated yet",
        )],
        ..kind("resource.k8s.io", "DeviceClass", AccessChanged)
    },
    Kind {
        fixed: &[("spec", CORE)],
        ..kind("resource.k8s.io", "ResourceClaimTemplate", Nothing)
    },
    Kind {
        fixed: &[("value", CORE), ("preemptionPolicy", CORE)],
        ..kind("scheduling.k8s.io", "PriorityClass", Nothing)
    },
    Kind {
        fixed: &[
            ("provisioner", CORE),
            ("parameters", CORE),
            ("reclaimPolicy", CORE),
            ("volumeBindingMode", CORE),
        ],
        ..kind("storage.k8s.io", "StorageClass", Nothing)
    },
    Kind {
        went: WorkloadRestarted,
        fixed: &[
            ("spec.activeDeadlineSeconds", TRAINER),
            ("spec.initializer", TRAINER),
            ("spec.managedBy", TRAINER),
            ("spec.runtimeRef", TRAINER),
            ("spec.trainer", TRAINER),
        ],
        ..kind("trainer.kubeflow.org", "TrainJob", Nothing)
    },
    Kind {
        rows: &[Row::Is("spec", Nothing, "for jobs that start from now on")],
        ..kind("trainer.kubeflow.org", "TrainingRuntime", Nothing)
    },
    Kind {
        rows: &[Row::Is("spec", Nothing, "for jobs that start from now on")],
        ..kind("trainer.kubeflow.org", "ClusterTrainingRuntime", Nothing)
    },
];

/// Whether it is known what becomes of a kind.
pub fn is_known(group: &str, kind: &str) -> bool {
    find(group, kind).is_some()
}

fn find(group: &str, name: &str) -> Option<&'static Kind> {
    KINDS
        .iter()
        .find(|kind| kind.group == group && kind.name == name)
}

pub(super) fn judge(setting: &Setting<'_>, delta: &Delta) -> Verdict {
    let Key::Object {
        group, kind: name, ..
    } = &delta.key
    else {
        return Verdict::plain(Nothing);
    };
    let part = setting.part(&delta.key);
    if let Some(verdict) = part.and_then(|part| by_use(name, part, delta)) {
        return verdict;
    }
    let Some(kind) = find(group, name) else {
        return Verdict::because(
            ServiceRestarted,
            "gpuc does not know what becomes of this kind",
        );
    };
    match delta.fate() {
        // In a namespace that is new there is nothing yet to be kept from anything.
        Fate::Came if is_in_new_namespace(setting, &delta.key) => Verdict::plain(Added),
        Fate::Came => Verdict::plain(kind.came),
        Fate::Went => went(setting, kind, part),
        Fate::Stayed => stayed(kind, part, delta),
    }
}

fn is_in_new_namespace(setting: &Setting<'_>, key: &Key) -> bool {
    let Key::Object {
        namespace: Some(namespace),
        ..
    } = key
    else {
        return false;
    };
    let namespace = Key::Object {
        group: String::new(),
        kind: "Namespace".to_owned(),
        namespace: None,
        name: namespace.clone(),
    };
    setting.after.parts.contains_key(&namespace) && !setting.before.parts.contains_key(&namespace)
}

/// Objects whose use says more than their kind.
fn by_use(kind: &str, part: &Part, delta: &Delta) -> Option<Verdict> {
    let is_dashboard = || part.leaves.keys().any(|path| path.contains("grafana"));
    match (kind, part.component.as_str()) {
        ("ConfigMap", "monitoring") => Some(Verdict::plain(WatchedDifferently)),
        ("ConfigMap", _) if is_dashboard() => Some(Verdict::plain(WatchedDifferently)),
        ("ConfigMap", "gpuc-runtime") if delta.fate() == Fate::Stayed => Some(Verdict::because(
            PluginRestarted,
            "gpuc-runtime reads it while it runs, and advertises what it says then",
        )),
        (_, "nvidia-driver-installer") => Some(Verdict::plain(Impact::DriverRestarted)),
        _ => None,
    }
}

fn went(setting: &Setting<'_>, kind: &Kind, part: Option<&Part>) -> Verdict {
    match kind.name {
        "Namespace" => Verdict::because(
            Nothing,
            "nothing removes a namespace: with it would go all that is in it",
        ),
        "PersistentVolumeClaim" => Verdict::because(
            Deleted,
            "with the claim goes its data, unless its class retains it",
        ),
        _ if !setting.prunes => Verdict::because(
            kind.went,
            "install.sh removes nothing: it stays until `kubectl delete`",
        ),
        "DaemonSet" | "Deployment" => Verdict::plain(restart(part).0),
        _ => Verdict::plain(kind.went),
    }
}

fn stayed(kind: &Kind, part: Option<&Part>, delta: &Delta) -> Verdict {
    let path = delta.path.as_deref().unwrap_or_default();
    let fits = |key: &str| {
        let rest = path.strip_prefix(key);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    let row = kind.rows.iter().filter(|row| fits(row.key()));
    let row = row.max_by_key(|row| row.key().len());
    let fixed = kind.fixed.iter().find(|(key, _)| fits(key));
    if let (Some((key, source)), None) = (fixed, row) {
        return Verdict::fact(
            kind.went,
            format!(
                "`{key}` cannot be changed: delete the {} for the new one to be made",
                kind.name
            ),
            source,
        );
    }
    match row {
        Some(Row::Is(_, impact, words)) if words.is_empty() => Verdict::plain(*impact),
        Some(Row::Is(_, impact, words)) => Verdict::because(*impact, *words),
        Some(Row::Restarts(_)) => {
            let (impact, words) = restart(part);
            Verdict::because(impact, words)
        }
        Some(Row::Pods(_)) => match less(&delta.from, &delta.to) {
            true => Verdict::because(WorkloadRestarted, "pods are taken away"),
            false => Verdict::because(Added, "pods are added"),
        },
        Some(Row::Quota(_)) => Verdict::plain(if less(&delta.from, &delta.to) {
            QuotaCut
        } else {
            QuotaRaised
        }),
        Some(Row::Capacity(_)) => Verdict::plain(super::resized(delta)),
        // Labels and notes of the object itself.
        None if path.starts_with("metadata.") && !is_read(kind) => Verdict::plain(Nothing),
        None => Verdict::plain(kind.changed),
    }
}

/// Whether others pick such objects by their labels: Pod Security by a namespace's, a Prometheus by those of what it
/// watches.
fn is_read(kind: &Kind) -> bool {
    kind.name == "Namespace" || kind.changed == WatchedDifferently
}

/// What a restart of an object's pods means, by what they are for.
fn restart(part: Option<&Part>) -> (Impact, &'static str) {
    match part.map(|part| part.component.as_str()) {
        Some("gpuc-runtime" | "nvidia-device-plugin") => (
            PluginRestarted,
            "its pods are replaced node by node; containers keep their GPUs",
        ),
        Some("nvidia-driver-installer" | "nvidia-drivers") => (
            Impact::DriverRestarted,
            "drivers are installed anew, node by node",
        ),
        Some("workloads") => (WorkloadRestarted, "its pods are replaced one after another"),
        _ => (ServiceRestarted, "its pods are replaced"),
    }
}

/// Whether a quantity is smaller than before, or was none and is one.
fn less(from: &Option<Json>, to: &Option<Json>) -> bool {
    let number = |value: &Option<Json>| {
        let text = match value {
            Some(Json::Number(number)) => number.to_string(),
            Some(Json::String(text)) => text.clone(),
            _ => return None,
        };
        Quantity(text).thousandths()
    };
    match (number(from), number(to)) {
        (Some(from), Some(to)) => to < from,
        // No limit before, one now.
        (None, Some(_)) => from.is_none(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_listed_once() {
        let mut names: Vec<_> = KINDS.iter().map(|kind| (kind.group, kind.name)).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
