//! Impact table of the Kubernetes kinds that gpuc generates.

use super::super::super::impact::Impact;
use Impact::{
    AccessChanged, Added, Deleted, NodesRecreated, Nothing, QuotaCut, QuotaRaised,
    ServiceRestarted, WatchedDifferently, WorkloadRestarted,
};

/// A kind.
pub(super) struct Kind {
    /// The API group; empty for the core group.
    pub(super) group: &'static str,
    pub(super) name: &'static str,
    /// Impact of an added object.
    pub(super) came: Impact,
    /// Impact of a removed object.
    pub(super) went: Impact,
    /// Impact of a changed object, unless a row overrides it.
    pub(super) changed: Impact,
    /// Impacts of the fields below a key. The longest matching key wins.
    pub(super) rows: &'static [Row],
    /// Immutable fields, each with its source.
    pub(super) fixed: &'static [(&'static str, &'static str)],
}

/// Impact of a field.
pub(super) enum Row {
    /// A constant impact with its reason.
    Is(&'static str, Impact, &'static str),
    /// A restart of the pods; the impact depends on the component.
    Restarts(&'static str),
    /// A number of pods.
    Pods(&'static str),
    /// A quota.
    Quota(&'static str),
    /// The size limits of an autoscaled pool.
    Capacity(&'static str),
    /// The storage request of a PersistentVolumeClaim.
    Size(&'static str),
}

impl Kind {
    /// The running workloads that deleting and recreating an immutable object leaves unaffected.
    pub(super) fn kept(&self) -> &'static str {
        match self.name {
            "PriorityClass" => {
                "; running pods keep their priority, and only new pods get the new one"
            }
            "StorageClass" => {
                "; existing volumes keep their settings, and only new volumes get the new ones"
            }
            _ => "",
        }
    }
}

impl Row {
    pub(super) fn key(&self) -> &'static str {
        match self {
            Self::Is(key, ..)
            | Self::Restarts(key)
            | Self::Pods(key)
            | Self::Quota(key)
            | Self::Capacity(key)
            | Self::Size(key) => key,
        }
    }
}

const CLAIM: &str = "kubernetes/kubernetes pkg/apis/core/validation/validation.go, ValidatePersistentVolumeClaimUpdate, read \
    2026-11-22";
const VOLUME: &str = "kubernetes/kubernetes pkg/apis/core/validation/validation.go, ValidatePersistentVolumeUpdate: the source \
    is immutable after creation, read 2026-11-22";
const POD: &str = "kubernetes/kubernetes pkg/apis/core/validation/validation.go, ValidatePodUpdate: only images and \
    deadlines may be updated, read 2026-11-22";
const SERVICE: &str = "kubernetes/kubernetes pkg/apis/core/validation/validation.go, validateUpgradeDowngradeClusterIPs, read \
    2026-11-22";
const SELECTOR: &str = "kubernetes/kubernetes pkg/registry/apps, ValidateUpdate of the kind's strategy.go: \
    ValidateImmutableField of spec.selector, read 2026-11-22 for deployments";
const STATEFUL: &str = "kubernetes/kubernetes pkg/apis/apps/validation/validation.go, ValidateStatefulSetUpdate: updates for \
    other fields than replicas, ordinals, template, updateStrategy, revisionHistoryLimit, \
    persistentVolumeClaimRetentionPolicy and minReadySeconds are forbidden; its message, read 2026-11-22";
const JOB: &str = "kubernetes/kubernetes pkg/apis/batch/validation/validation.go, ValidateJobSpecUpdate, read 2026-11-22";
const HANDLER: &str = "kubernetes/kubernetes pkg/apis/node/validation/validation.go, ValidateRuntimeClassUpdate, read \
    2026-11-22";
const BINDING: &str = "kubernetes/kubernetes pkg/apis/rbac/validation/validation.go, ValidateRoleBindingUpdate and \
    ValidateClusterRoleBindingUpdate, read 2026-11-22";
const TEMPLATE: &str = "kubernetes/kubernetes pkg/apis/resource/validation/validation.go, ValidateResourceClaimTemplateUpdate, \
    read 2026-11-22";
const PRIORITY: &str = "kubernetes/kubernetes pkg/apis/scheduling/validation/validation.go, ValidatePriorityClassUpdate, read \
    2026-11-22";
const CLASS: &str = "kubernetes/kubernetes pkg/apis/storage/validation/validation.go, ValidateStorageClassUpdate, read \
    2026-11-22";
/// The field of a ResourceFlavor that names its topology.
pub(super) const TOPOLOGY_NAME: &str = "spec.topologyName";
const KUEUE: &str = "kueue 0.19 CRDs, x-kubernetes-validations with oldSelf, read 2026-11-22";
const JOBSET: &str = "jobset CRD, x-kubernetes-validations with oldSelf; replicatedJobs: \
    kubernetes-sigs/jobset@01078527 pkg/webhooks/jobset_webhook.go, ValidateUpdate; read 2026-11-22";
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
const NEXT_RUN: &str = "takes effect with its next run";

/// Every kind that gpuc generates, by group and name.
pub(super) const KINDS: &[Kind] = &[
    Kind {
        // Its readers are removed with it.
        went: Nothing,
        ..kind("", "ConfigMap", ServiceRestarted)
    },
    Kind {
        rows: &[Row::Is("status", Nothing, "")],
        went: Nothing,
        ..kind("", "Namespace", AccessChanged)
    },
    Kind {
        went: Deleted,
        rows: &[Row::Size("spec.resources.requests.storage")],
        fixed: &[("spec", CLAIM)],
        ..kind("", "PersistentVolumeClaim", Nothing)
    },
    Kind {
        fixed: &[("spec.csi", VOLUME)],
        ..kind("", "PersistentVolume", AccessChanged)
    },
    Kind {
        went: WorkloadRestarted,
        fixed: &[("spec", POD)],
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
        fixed: &[("spec.clusterIP", SERVICE)],
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
        fixed: &[("spec.selector", SELECTOR)],
        ..kind("apps", "DaemonSet", Nothing)
    },
    Kind {
        went: WorkloadRestarted,
        rows: &[Row::Restarts("spec.template"), Row::Pods("spec.replicas")],
        fixed: &[("spec.selector", SELECTOR)],
        ..kind("apps", "Deployment", Nothing)
    },
    Kind {
        went: WorkloadRestarted,
        rows: &[Row::Restarts("spec.template"), Row::Pods("spec.replicas")],
        fixed: &[
            ("spec.selector", STATEFUL),
            ("spec.serviceName", STATEFUL),
            ("spec.podManagementPolicy", STATEFUL),
            ("spec.volumeClaimTemplates", STATEFUL),
        ],
        ..kind("apps", "StatefulSet", Nothing)
    },
    Kind {
        rows: &[Row::Pods("spec.minReplicas"), Row::Pods("spec.maxReplicas")],
        ..kind("autoscaling", "HorizontalPodAutoscaler", Nothing)
    },
    Kind {
        went: WorkloadRestarted,
        rows: &[Row::Is("spec", Nothing, NEXT_RUN)],
        ..kind("batch", "CronJob", Nothing)
    },
    Kind {
        went: WorkloadRestarted,
        fixed: &[
            ("spec.template", JOB),
            ("spec.selector", JOB),
            ("spec.completionMode", JOB),
            ("spec.completions", JOB),
            ("spec.podFailurePolicy", JOB),
        ],
        rows: &[Row::Pods("spec.parallelism")],
        ..kind("batch", "Job", Nothing)
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
            "running pods are unaffected; delete the job to run the new one",
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
        // Only with a topology: see `is_free`.
        fixed: &[
            (TOPOLOGY_NAME, KUEUE),
            ("spec.nodeLabels", KUEUE),
            ("spec.tolerations", KUEUE),
        ],
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
                "rolling update of its groups",
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
        fixed: &[("handler", HANDLER)],
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
        fixed: &[("roleRef", BINDING)],
        ..rules(RBAC, "ClusterRoleBinding")
    },
    rules(RBAC, "Role"),
    Kind {
        fixed: &[("roleRef", BINDING)],
        ..rules(RBAC, "RoleBinding")
    },
    Kind {
        rows: &[Row::Is(
            "spec",
            AccessChanged,
            "applies to ResourceClaims that are not allocated yet",
        )],
        ..kind("resource.k8s.io", "DeviceClass", AccessChanged)
    },
    Kind {
        fixed: &[("spec", TEMPLATE)],
        ..kind("resource.k8s.io", "ResourceClaimTemplate", Nothing)
    },
    Kind {
        rows: &[Row::Is("description", Nothing, "")],
        fixed: &[("value", PRIORITY), ("preemptionPolicy", PRIORITY)],
        ..kind("scheduling.k8s.io", "PriorityClass", AccessChanged)
    },
    Kind {
        fixed: &[
            ("provisioner", CLASS),
            ("parameters", CLASS),
            ("reclaimPolicy", CLASS),
            ("volumeBindingMode", CLASS),
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
        rows: &[Row::Is(
            "spec",
            Nothing,
            "applies to jobs that start from now on",
        )],
        ..kind("trainer.kubeflow.org", "TrainingRuntime", Nothing)
    },
    Kind {
        rows: &[Row::Is(
            "spec",
            Nothing,
            "applies to jobs that start from now on",
        )],
        ..kind("trainer.kubeflow.org", "ClusterTrainingRuntime", Nothing)
    },
];

/// Kinds that each cloud defines in its own API group, matched by the suffix of their name.
const OF_CLOUDS: &[Kind] = &[
    Kind {
        rows: &[Row::Is(
            "spec",
            NodesRecreated,
            "nodes that differ from it are drained and replaced one by one",
        )],
        ..kind("", "NodeClass", Nothing)
    },
    kind("", "Network", AccessChanged),
    kind("", "NetworkParamSet", AccessChanged),
];

/// Finds the entry of a kind.
pub(super) fn find(group: &str, name: &str) -> Option<&'static Kind> {
    let mut kinds = KINDS.iter();
    let known = kinds.find(|kind| kind.group == group && kind.name == name);
    known.or_else(|| OF_CLOUDS.iter().find(|kind| name.ends_with(kind.name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_unique() {
        let mut names: Vec<_> = KINDS.iter().map(|kind| (kind.group, kind.name)).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
