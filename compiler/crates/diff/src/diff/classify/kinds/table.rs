//! Impact table of the Kubernetes kinds that gpuc generates.

use super::super::super::impact::Impact;
use Impact::{
    AccessChanged, Added, Deleted, MonitoringChanged, NodesRecreated, Nothing, QuotaCut,
    QuotaRaised, ServiceRestarted, WorkloadRestarted,
};

/// A kind.
pub(super) struct KindImpacts {
    /// The API group; empty for the core group.
    pub(super) group: &'static str,
    pub(super) name: &'static str,
    /// Impact of an added object.
    pub(super) on_create: Impact,
    /// Impact of a removed object.
    pub(super) on_delete: Impact,
    /// Impact of a changed object, unless a row overrides it.
    pub(super) on_change: Impact,
    /// Impacts of the fields below a key. The longest matching key wins.
    pub(super) field_impacts: &'static [FieldImpact],
    /// Immutable fields, each with its source.
    pub(super) immutable_fields: &'static [(&'static str, &'static str)],
}

/// Impact of a field.
pub(super) enum FieldImpact {
    /// A constant impact with its reason.
    Constant(&'static str, Impact, &'static str),
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

impl KindImpacts {
    /// The running workloads that deleting and recreating an immutable object leaves unaffected.
    pub(super) fn unaffected_workloads(&self) -> &'static str {
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

impl FieldImpact {
    pub(super) fn field_path(&self) -> &'static str {
        match self {
            Self::Constant(key, ..)
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
const CLAIM_SPEC: &str = "kubernetes/kubernetes pkg/apis/resource/validation/validation.go, ValidateResourceClaimUpdate, \
    from memory, 2026-11-29";
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
const DOMAIN: &str = "CRD of ComputeDomains in dra-driver-nvidia-gpu 0.4.0, x-kubernetes-validations with oldSelf: \
    a computeDomain.spec is immutable, read 2026-11-28";
const OPERATOR: &str =
    "gpu-operator CRD of NVIDIADriver, x-kubernetes-validations with oldSelf, read 2026-11-22";

const fn kind(group: &'static str, name: &'static str, changed: Impact) -> KindImpacts {
    KindImpacts {
        group,
        name,
        on_create: Added,
        on_delete: changed,
        on_change: changed,
        field_impacts: &[],
        immutable_fields: &[],
    }
}

const fn kind_of_rules(group: &'static str, name: &'static str) -> KindImpacts {
    KindImpacts {
        on_create: AccessChanged,
        ..kind(group, name, AccessChanged)
    }
}

const RBAC: &str = "rbac.authorization.k8s.io";
const QUEUES: &str = "kueue.x-k8s.io";
const NEXT_RUN: &str = "takes effect with its next run";

/// Every kind that gpuc generates, by group and name.
pub(super) const KINDS: &[KindImpacts] = &[
    KindImpacts {
        // Its readers are removed with it.
        on_delete: Nothing,
        ..kind("", "ConfigMap", ServiceRestarted)
    },
    KindImpacts {
        field_impacts: &[FieldImpact::Constant("status", Nothing, "")],
        on_delete: Nothing,
        ..kind("", "Namespace", AccessChanged)
    },
    KindImpacts {
        on_delete: Deleted,
        field_impacts: &[FieldImpact::Size("spec.resources.requests.storage")],
        immutable_fields: &[("spec", CLAIM)],
        ..kind("", "PersistentVolumeClaim", Nothing)
    },
    KindImpacts {
        immutable_fields: &[("spec.csi", VOLUME)],
        ..kind("", "PersistentVolume", AccessChanged)
    },
    KindImpacts {
        on_delete: WorkloadRestarted,
        immutable_fields: &[("spec", POD)],
        ..kind("", "Pod", Nothing)
    },
    KindImpacts {
        on_create: QuotaCut,
        on_delete: QuotaRaised,
        field_impacts: &[FieldImpact::Quota("spec.hard")],
        ..kind("", "ResourceQuota", AccessChanged)
    },
    kind_of_rules("", "LimitRange"),
    KindImpacts {
        immutable_fields: &[("spec.clusterIP", SERVICE)],
        ..kind("", "Service", AccessChanged)
    },
    kind_of_rules("", "ServiceAccount"),
    kind_of_rules("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
    kind_of_rules(
        "admissionregistration.k8s.io",
        "ValidatingAdmissionPolicyBinding",
    ),
    KindImpacts {
        on_delete: ServiceRestarted,
        field_impacts: &[FieldImpact::Restarts("spec.template")],
        immutable_fields: &[("spec.selector", SELECTOR)],
        ..kind("apps", "DaemonSet", Nothing)
    },
    KindImpacts {
        on_delete: WorkloadRestarted,
        field_impacts: &[
            FieldImpact::Restarts("spec.template"),
            FieldImpact::Pods("spec.replicas"),
        ],
        immutable_fields: &[("spec.selector", SELECTOR)],
        ..kind("apps", "Deployment", Nothing)
    },
    KindImpacts {
        on_delete: WorkloadRestarted,
        field_impacts: &[
            FieldImpact::Restarts("spec.template"),
            FieldImpact::Pods("spec.replicas"),
        ],
        immutable_fields: &[
            ("spec.selector", STATEFUL),
            ("spec.serviceName", STATEFUL),
            ("spec.podManagementPolicy", STATEFUL),
            ("spec.volumeClaimTemplates", STATEFUL),
        ],
        ..kind("apps", "StatefulSet", Nothing)
    },
    KindImpacts {
        field_impacts: &[
            FieldImpact::Pods("spec.minReplicas"),
            FieldImpact::Pods("spec.maxReplicas"),
        ],
        ..kind("autoscaling", "HorizontalPodAutoscaler", Nothing)
    },
    KindImpacts {
        on_delete: WorkloadRestarted,
        field_impacts: &[FieldImpact::Constant("spec", Nothing, NEXT_RUN)],
        ..kind("batch", "CronJob", Nothing)
    },
    KindImpacts {
        on_delete: WorkloadRestarted,
        immutable_fields: &[
            ("spec.template", JOB),
            ("spec.selector", JOB),
            ("spec.completionMode", JOB),
            ("spec.completions", JOB),
            ("spec.podFailurePolicy", JOB),
        ],
        field_impacts: &[FieldImpact::Pods("spec.parallelism")],
        ..kind("batch", "Job", Nothing)
    },
    KindImpacts {
        on_delete: Deleted,
        field_impacts: &[FieldImpact::Capacity("spec.targetNodes")],
        immutable_fields: &[(
            "spec.instanceType",
            "docs.coreweave.com/products/cks/reference/node-pool (instanceType is immutable), read 2026-11-29",
        )],
        ..kind("compute.coreweave.com", "NodePool", Nothing)
    },
    KindImpacts {
        on_delete: NodesRecreated,
        field_impacts: &[
            FieldImpact::Constant(
                "spec.template",
                NodesRecreated,
                "nodes that differ from it are drained and replaced one by one",
            ),
            FieldImpact::Capacity("spec.limits"),
            FieldImpact::Capacity("spec.replicas"),
        ],
        ..kind("karpenter.sh", "NodePool", Nothing)
    },
    KindImpacts {
        on_delete: WorkloadRestarted,
        field_impacts: &[FieldImpact::Constant(
            "spec",
            WorkloadRestarted,
            "running pods are unaffected; delete the job to run the new one",
        )],
        ..kind("kubeflow.org", "PyTorchJob", Nothing)
    },
    KindImpacts {
        on_delete: WorkloadRestarted,
        immutable_fields: &[
            ("spec.failurePolicy", JOBSET),
            ("spec.network", JOBSET),
            ("spec.startupPolicy", JOBSET),
            ("spec.successPolicy", JOBSET),
            ("spec.replicatedJobs", JOBSET),
        ],
        ..kind("jobset.x-k8s.io", "JobSet", Nothing)
    },
    KindImpacts {
        immutable_fields: &[("spec.controllerName", KUEUE)],
        ..kind(QUEUES, "AdmissionCheck", AccessChanged)
    },
    KindImpacts {
        on_delete: QuotaCut,
        field_impacts: &[
            FieldImpact::Quota("spec.resourceGroups"),
            FieldImpact::Quota("spec.fairSharing"),
        ],
        ..kind(QUEUES, "ClusterQueue", AccessChanged)
    },
    KindImpacts {
        on_delete: QuotaCut,
        field_impacts: &[
            FieldImpact::Quota("spec.resourceGroups"),
            FieldImpact::Quota("spec.fairSharing"),
        ],
        ..kind(QUEUES, "Cohort", AccessChanged)
    },
    KindImpacts {
        immutable_fields: &[("spec.clusterQueue", KUEUE)],
        ..kind(QUEUES, "LocalQueue", AccessChanged)
    },
    kind(QUEUES, "ProvisioningRequestConfig", AccessChanged),
    KindImpacts {
        field_impacts: &[],
        // Only with a topology: see `is_mutable_flavor`.
        immutable_fields: &[
            (TOPOLOGY_NAME, KUEUE),
            ("spec.nodeLabels", KUEUE),
            ("spec.tolerations", KUEUE),
        ],
        ..kind(QUEUES, "ResourceFlavor", AccessChanged)
    },
    KindImpacts {
        immutable_fields: &[("spec.levels", KUEUE)],
        ..kind(QUEUES, "Topology", AccessChanged)
    },
    KindImpacts {
        field_impacts: &[FieldImpact::Constant("description", Nothing, "")],
        ..kind(QUEUES, "WorkloadPriorityClass", AccessChanged)
    },
    KindImpacts {
        on_delete: WorkloadRestarted,
        field_impacts: &[
            FieldImpact::Pods("spec.replicas"),
            FieldImpact::Constant(
                "spec.leaderWorkerTemplate",
                WorkloadRestarted,
                "rolling update of its groups",
            ),
        ],
        ..kind("leaderworkerset.x-k8s.io", "LeaderWorkerSet", Nothing)
    },
    kind("mellanox.com", "NicClusterPolicy", ServiceRestarted),
    kind("mellanox.com", "NicNodePolicy", ServiceRestarted),
    kind("monitoring.coreos.com", "PodMonitor", MonitoringChanged),
    kind("monitoring.coreos.com", "PrometheusRule", MonitoringChanged),
    kind("monitoring.coreos.com", "ServiceMonitor", MonitoringChanged),
    kind_of_rules("networking.k8s.io", "NetworkPolicy"),
    KindImpacts {
        immutable_fields: &[("handler", HANDLER)],
        ..kind("node.k8s.io", "RuntimeClass", AccessChanged)
    },
    kind("nfd.k8s-sigs.io", "NodeFeatureRule", ServiceRestarted),
    KindImpacts {
        on_delete: Impact::DriverRestarted,
        immutable_fields: &[
            ("spec.driverType", OPERATOR),
            ("spec.usePrecompiled", OPERATOR),
        ],
        ..kind("nvidia.com", "NVIDIADriver", Impact::DriverRestarted)
    },
    kind("policy", "PodDisruptionBudget", Nothing),
    kind_of_rules(RBAC, "ClusterRole"),
    KindImpacts {
        immutable_fields: &[("roleRef", BINDING)],
        ..kind_of_rules(RBAC, "ClusterRoleBinding")
    },
    kind_of_rules(RBAC, "Role"),
    KindImpacts {
        immutable_fields: &[("roleRef", BINDING)],
        ..kind_of_rules(RBAC, "RoleBinding")
    },
    KindImpacts {
        field_impacts: &[
            FieldImpact::Constant(
                "spec",
                AccessChanged,
                "applies to ResourceClaims that are not allocated yet",
            ),
            FieldImpact::Constant(
                "spec.extendedResourceName",
                AccessChanged,
                "new pods that request this resource get devices of the class that has it; running pods keep theirs",
            ),
        ],
        ..kind("resource.k8s.io", "DeviceClass", AccessChanged)
    },
    KindImpacts {
        on_delete: WorkloadRestarted,
        immutable_fields: &[("spec", CLAIM_SPEC)],
        ..kind("resource.k8s.io", "ResourceClaim", Nothing)
    },
    KindImpacts {
        immutable_fields: &[("spec", TEMPLATE)],
        ..kind("resource.k8s.io", "ResourceClaimTemplate", Nothing)
    },
    KindImpacts {
        on_delete: WorkloadRestarted,
        immutable_fields: &[("spec", DOMAIN)],
        ..kind("resource.nvidia.com", "ComputeDomain", Nothing)
    },
    KindImpacts {
        field_impacts: &[FieldImpact::Constant("description", Nothing, "")],
        immutable_fields: &[("value", PRIORITY), ("preemptionPolicy", PRIORITY)],
        ..kind("scheduling.k8s.io", "PriorityClass", AccessChanged)
    },
    KindImpacts {
        immutable_fields: &[
            ("provisioner", CLASS),
            ("parameters", CLASS),
            ("reclaimPolicy", CLASS),
            ("volumeBindingMode", CLASS),
        ],
        ..kind("storage.k8s.io", "StorageClass", Nothing)
    },
    KindImpacts {
        on_delete: WorkloadRestarted,
        immutable_fields: &[
            ("spec.activeDeadlineSeconds", TRAINER),
            ("spec.initializer", TRAINER),
            ("spec.managedBy", TRAINER),
            ("spec.runtimeRef", TRAINER),
            ("spec.trainer", TRAINER),
        ],
        ..kind("trainer.kubeflow.org", "TrainJob", Nothing)
    },
    KindImpacts {
        field_impacts: &[FieldImpact::Constant(
            "spec",
            Nothing,
            "applies to jobs that start from now on",
        )],
        ..kind("trainer.kubeflow.org", "TrainingRuntime", Nothing)
    },
    KindImpacts {
        field_impacts: &[FieldImpact::Constant(
            "spec",
            Nothing,
            "applies to jobs that start from now on",
        )],
        ..kind("trainer.kubeflow.org", "ClusterTrainingRuntime", Nothing)
    },
];

/// Kinds that each cloud defines in its own API group, matched by the suffix of their name.
const CLOUD_KINDS: &[KindImpacts] = &[
    KindImpacts {
        field_impacts: &[FieldImpact::Constant(
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
pub(super) fn find_kind(group: &str, name: &str) -> Option<&'static KindImpacts> {
    let mut kinds = KINDS.iter();
    let known = kinds.find(|kind| kind.group == group && kind.name == name);
    known.or_else(|| CLOUD_KINDS.iter().find(|kind| name.ends_with(kind.name)))
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
