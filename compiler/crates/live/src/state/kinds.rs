//! The kinds of objects that gpuc reads from a cluster.

/// A kind of object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Nodes.
    Node,
    /// Pods.
    Pod,
    /// Events.
    Event,
    /// DaemonSets.
    DaemonSet,
    /// Namespaces.
    Namespace,
    /// ConfigMaps; only those that configure components of the GPU stack.
    ConfigMap,
    /// Deployments.
    Deployment,
    /// Jobs.
    Job,
    /// Services.
    Service,
    /// `EndpointSlice`s.
    EndpointSlice,
    /// PersistentVolumeClaims.
    PersistentVolumeClaim,
    /// PersistentVolumes.
    PersistentVolume,
    /// ResourceQuotas.
    ResourceQuota,
    /// LimitRanges.
    LimitRange,
    /// RoleBindings.
    RoleBinding,
    /// NetworkPolicies.
    NetworkPolicy,
    /// RuntimeClasses.
    RuntimeClass,
    /// PriorityClasses.
    PriorityClass,
    /// StorageClasses.
    StorageClass,
    /// PodDisruptionBudgets.
    PodDisruptionBudget,
    /// Webhooks that validate objects.
    ValidatingWebhookConfiguration,
    /// Webhooks that change objects.
    MutatingWebhookConfiguration,
    /// Bindings of admission policies.
    ValidatingAdmissionPolicyBinding,
    /// DeviceClasses of DRA.
    DeviceClass,
    /// ResourceSlices of DRA.
    ResourceSlice,
    /// ResourceClaims of DRA.
    ResourceClaim,
    /// ClusterQueues of Kueue.
    ClusterQueue,
    /// LocalQueues of Kueue.
    LocalQueue,
    /// ResourceFlavors of Kueue.
    ResourceFlavor,
    /// Workloads of Kueue.
    Workload,
    /// `AdmissionCheck`s of Kueue.
    AdmissionCheck,
    /// Topologies of Kueue.
    Topology,
    /// The `ClusterPolicy` of the GPU Operator.
    ClusterPolicy,
    /// Drivers of the GPU Operator.
    NvidiaDriver,
    /// ComputeDomains of NVIDIA's DRA driver.
    ComputeDomain,
    /// `NodePool`s of Karpenter.
    NodePool,
    /// `NodeClaim`s of Karpenter.
    NodeClaim,
    /// ServiceMonitors of the Prometheus operator.
    ServiceMonitor,
    /// PodMonitors of the Prometheus operator.
    PodMonitor,
    /// Servers of the Prometheus operator.
    Prometheus,
    /// StatefulSets.
    StatefulSet,
    /// `CronJob`s.
    CronJob,
    /// `HorizontalPodAutoscaler`s.
    HorizontalPodAutoscaler,
    /// Templates of ResourceClaims.
    ResourceClaimTemplate,
    /// `JobSet`s.
    JobSet,
    /// `LeaderWorkerSet`s.
    LeaderWorkerSet,
    /// `TrainJob`s of Kubeflow Trainer.
    TrainJob,
    /// Runtimes of `TrainJob`s.
    TrainingRuntime,
    /// `PyTorchJob`s of Kubeflow's Training Operator.
    PytorchJob,
    /// The settings of Karpenter's machines on EC2.
    Ec2NodeClass,
    /// Rules of the Prometheus operator.
    PrometheusRule,
    /// `NicNodePolicy` objects of the Network Operator.
    NicNodePolicy,
    /// Repositories of Flux.
    GitRepository,
    /// Charts of Flux in OCI registries.
    OciRepository,
    /// Releases of Helm by Flux.
    HelmRelease,
    /// Admission policies.
    ValidatingAdmissionPolicy,
    /// Kustomizations of Flux.
    Kustomization,
    /// Applications of Argo CD.
    Application,
}

/// What is known about a kind.
#[derive(Debug)]
pub struct KindInfo {
    /// The kind.
    pub kind: Kind,
    /// The API group; empty for the core group.
    pub group: &'static str,
    /// The name of the kind in objects.
    pub name: &'static str,
    /// The name in URLs.
    pub plural: &'static str,
    /// Whether every cluster serves it; the others come with a CustomResourceDefinition or a feature.
    pub is_built_in: bool,
}

impl Kind {
    /// What is known about the kind.
    pub fn info(self) -> &'static KindInfo {
        let found = KINDS.iter().find(|info| info.kind == self);
        found.unwrap_or_else(|| unreachable!("KINDS has every kind"))
    }

    /// The kind with this name and group, if gpuc reads it.
    pub fn find(group: &str, name: &str) -> Option<Self> {
        // Events have two groups.
        let group = match (group, name) {
            ("events.k8s.io", "Event") => "",
            (group, _) => group,
        };
        let mut kinds = KINDS.iter();
        kinds
            .find(|info| info.name == name && info.group == group)
            .map(|info| info.kind)
    }
}

/// Every kind that gpuc reads, in the order of [`Kind`].
pub static KINDS: &[KindInfo] = &[
    built_in(Kind::Node, "", "Node", "nodes"),
    built_in(Kind::Pod, "", "Pod", "pods"),
    built_in(Kind::Event, "", "Event", "events"),
    built_in(Kind::DaemonSet, "apps", "DaemonSet", "daemonsets"),
    built_in(Kind::Namespace, "", "Namespace", "namespaces"),
    built_in(Kind::ConfigMap, "", "ConfigMap", "configmaps"),
    built_in(Kind::Deployment, "apps", "Deployment", "deployments"),
    built_in(Kind::Job, "batch", "Job", "jobs"),
    built_in(Kind::Service, "", "Service", "services"),
    built_in(
        Kind::EndpointSlice,
        "discovery.k8s.io",
        "EndpointSlice",
        "endpointslices",
    ),
    built_in(
        Kind::PersistentVolumeClaim,
        "",
        "PersistentVolumeClaim",
        "persistentvolumeclaims",
    ),
    built_in(
        Kind::PersistentVolume,
        "",
        "PersistentVolume",
        "persistentvolumes",
    ),
    built_in(Kind::ResourceQuota, "", "ResourceQuota", "resourcequotas"),
    built_in(Kind::LimitRange, "", "LimitRange", "limitranges"),
    built_in(
        Kind::RoleBinding,
        "rbac.authorization.k8s.io",
        "RoleBinding",
        "rolebindings",
    ),
    built_in(
        Kind::NetworkPolicy,
        "networking.k8s.io",
        "NetworkPolicy",
        "networkpolicies",
    ),
    built_in(
        Kind::RuntimeClass,
        "node.k8s.io",
        "RuntimeClass",
        "runtimeclasses",
    ),
    built_in(
        Kind::PriorityClass,
        "scheduling.k8s.io",
        "PriorityClass",
        "priorityclasses",
    ),
    built_in(
        Kind::StorageClass,
        "storage.k8s.io",
        "StorageClass",
        "storageclasses",
    ),
    built_in(
        Kind::PodDisruptionBudget,
        "policy",
        "PodDisruptionBudget",
        "poddisruptionbudgets",
    ),
    built_in(
        Kind::ValidatingWebhookConfiguration,
        "admissionregistration.k8s.io",
        "ValidatingWebhookConfiguration",
        "validatingwebhookconfigurations",
    ),
    built_in(
        Kind::MutatingWebhookConfiguration,
        "admissionregistration.k8s.io",
        "MutatingWebhookConfiguration",
        "mutatingwebhookconfigurations",
    ),
    built_in(
        Kind::ValidatingAdmissionPolicyBinding,
        "admissionregistration.k8s.io",
        "ValidatingAdmissionPolicyBinding",
        "validatingadmissionpolicybindings",
    ),
    optional(
        Kind::DeviceClass,
        "resource.k8s.io",
        "DeviceClass",
        "deviceclasses",
    ),
    optional(
        Kind::ResourceSlice,
        "resource.k8s.io",
        "ResourceSlice",
        "resourceslices",
    ),
    optional(
        Kind::ResourceClaim,
        "resource.k8s.io",
        "ResourceClaim",
        "resourceclaims",
    ),
    optional(
        Kind::ClusterQueue,
        "kueue.x-k8s.io",
        "ClusterQueue",
        "clusterqueues",
    ),
    optional(
        Kind::LocalQueue,
        "kueue.x-k8s.io",
        "LocalQueue",
        "localqueues",
    ),
    optional(
        Kind::ResourceFlavor,
        "kueue.x-k8s.io",
        "ResourceFlavor",
        "resourceflavors",
    ),
    optional(Kind::Workload, "kueue.x-k8s.io", "Workload", "workloads"),
    optional(
        Kind::AdmissionCheck,
        "kueue.x-k8s.io",
        "AdmissionCheck",
        "admissionchecks",
    ),
    optional(Kind::Topology, "kueue.x-k8s.io", "Topology", "topologies"),
    optional(
        Kind::ClusterPolicy,
        "nvidia.com",
        "ClusterPolicy",
        "clusterpolicies",
    ),
    optional(
        Kind::NvidiaDriver,
        "nvidia.com",
        "NVIDIADriver",
        "nvidiadrivers",
    ),
    optional(
        Kind::ComputeDomain,
        "resource.nvidia.com",
        "ComputeDomain",
        "computedomains",
    ),
    optional(Kind::NodePool, "karpenter.sh", "NodePool", "nodepools"),
    optional(Kind::NodeClaim, "karpenter.sh", "NodeClaim", "nodeclaims"),
    optional(
        Kind::ServiceMonitor,
        "monitoring.coreos.com",
        "ServiceMonitor",
        "servicemonitors",
    ),
    optional(
        Kind::PodMonitor,
        "monitoring.coreos.com",
        "PodMonitor",
        "podmonitors",
    ),
    optional(
        Kind::Prometheus,
        "monitoring.coreos.com",
        "Prometheus",
        "prometheuses",
    ),
    built_in(Kind::StatefulSet, "apps", "StatefulSet", "statefulsets"),
    built_in(Kind::CronJob, "batch", "CronJob", "cronjobs"),
    built_in(
        Kind::HorizontalPodAutoscaler,
        "autoscaling",
        "HorizontalPodAutoscaler",
        "horizontalpodautoscalers",
    ),
    optional(
        Kind::ResourceClaimTemplate,
        "resource.k8s.io",
        "ResourceClaimTemplate",
        "resourceclaimtemplates",
    ),
    optional(Kind::JobSet, "jobset.x-k8s.io", "JobSet", "jobsets"),
    optional(
        Kind::LeaderWorkerSet,
        "leaderworkerset.x-k8s.io",
        "LeaderWorkerSet",
        "leaderworkersets",
    ),
    optional(
        Kind::TrainJob,
        "trainer.kubeflow.org",
        "TrainJob",
        "trainjobs",
    ),
    optional(
        Kind::TrainingRuntime,
        "trainer.kubeflow.org",
        "TrainingRuntime",
        "trainingruntimes",
    ),
    optional(
        Kind::PytorchJob,
        "kubeflow.org",
        "PyTorchJob",
        "pytorchjobs",
    ),
    optional(
        Kind::Ec2NodeClass,
        "karpenter.k8s.aws",
        "EC2NodeClass",
        "ec2nodeclasses",
    ),
    optional(
        Kind::PrometheusRule,
        "monitoring.coreos.com",
        "PrometheusRule",
        "prometheusrules",
    ),
    optional(
        Kind::NicNodePolicy,
        "mellanox.com",
        "NicNodePolicy",
        "nicnodepolicies",
    ),
    optional(
        Kind::GitRepository,
        "source.toolkit.fluxcd.io",
        "GitRepository",
        "gitrepositories",
    ),
    optional(
        Kind::OciRepository,
        "source.toolkit.fluxcd.io",
        "OCIRepository",
        "ocirepositories",
    ),
    optional(
        Kind::HelmRelease,
        "helm.toolkit.fluxcd.io",
        "HelmRelease",
        "helmreleases",
    ),
    built_in(
        Kind::ValidatingAdmissionPolicy,
        "admissionregistration.k8s.io",
        "ValidatingAdmissionPolicy",
        "validatingadmissionpolicies",
    ),
    optional(
        Kind::Kustomization,
        "kustomize.toolkit.fluxcd.io",
        "Kustomization",
        "kustomizations",
    ),
    optional(
        Kind::Application,
        "argoproj.io",
        "Application",
        "applications",
    ),
];

const fn built_in(
    kind: Kind,
    group: &'static str,
    name: &'static str,
    plural: &'static str,
) -> KindInfo {
    KindInfo {
        kind,
        group,
        name,
        plural,
        is_built_in: true,
    }
}

const fn optional(
    kind: Kind,
    group: &'static str,
    name: &'static str,
    plural: &'static str,
) -> KindInfo {
    KindInfo {
        is_built_in: false,
        ..built_in(kind, group, name, plural)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_kinds() {
        assert!(KINDS.is_sorted_by_key(|info| info.kind));
        for info in KINDS {
            assert_eq!(Kind::find(info.group, info.name), Some(info.kind));
        }
    }

    #[test]
    fn events_are_found_in_both_groups() {
        assert_eq!(Kind::find("events.k8s.io", "Event"), Some(Kind::Event));
        assert_eq!(Kind::find("apps", "Pod"), None);
    }
}
