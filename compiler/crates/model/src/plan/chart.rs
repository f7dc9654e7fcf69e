//! Helm charts, as plans and releases refer to them.

use std::fmt;

use super::Release;
use crate::KubernetesVersion;
use crate::check::Checked;

/// A Helm chart, at the version that gpuc writes values for.
#[derive(Debug)]
pub struct Chart {
    /// The chart's name.
    pub name: &'static str,
    /// The repository's URL; for `oci://` the folder that holds the chart.
    pub repository: &'static str,
    /// The pinned version, as the repository spells it.
    pub version: &'static str,
    /// The Kubernetes versions that the project supports with this version of the chart, if it states any.
    pub kubernetes: Option<KubernetesSupport>,
    /// The namespace it is installed in.
    pub namespace: &'static str,
    /// The Pod Security Standard of that namespace.
    pub pod_security: PodSecurity,
    /// How the chart installs its CRDs.
    pub crds: Crds,
    /// The API groups of its CRDs: objects of these groups are installed after it.
    pub api_groups: &'static [&'static str],
    /// Charts that are installed before it, if the cluster has them, each with the reason.
    pub dependencies: &'static [(&'static str, &'static str)],
    /// The releases of it in a cluster, with their values.
    pub releases: fn(&Checked<'_>) -> Vec<Release>,
    /// The source of the facts above.
    pub source: &'static str,
}

/// The Kubernetes versions that a project supports with one version of its chart.
#[derive(Clone, Copy, Debug)]
pub struct KubernetesSupport {
    /// The oldest supported version.
    pub oldest: KubernetesVersion,
    /// The newest supported version, if the project states one.
    pub newest: Option<KubernetesVersion>,
    /// The project's statement: repository, revision and path, and the date.
    pub source: &'static str,
}

impl KubernetesSupport {
    /// The supported version that is closest to this one.
    pub fn closest(&self, version: KubernetesVersion) -> KubernetesVersion {
        let capped = self.newest.map_or(version, |newest| version.min(newest));
        capped.max(self.oldest)
    }

    /// Whether the project supports this version.
    pub fn contains(&self, version: KubernetesVersion) -> bool {
        self.closest(version) == version
    }
}

impl fmt::Display for KubernetesSupport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.newest {
            Some(newest) => write!(f, "{} to {newest}", self.oldest),
            None => write!(f, "{} and later", self.oldest),
        }
    }
}

/// A Pod Security Standard: <https://kubernetes.io/docs/concepts/security/pod-security-standards/>, read 2026-11-21.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PodSecurity {
    /// Hardened: forbids known privilege escalations.
    Restricted,
    /// The permissions that most programs need.
    Baseline,
    /// Unrestricted, as drivers and device plugins need.
    Privileged,
}

impl PodSecurity {
    /// The value in the namespace's labels.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Restricted => "restricted",
            Self::Baseline => "baseline",
            Self::Privileged => "privileged",
        }
    }
}

/// How a chart installs its CRDs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crds {
    /// It has none.
    None,
    /// From its folder `crds`: Helm creates them once and never updates them.
    Folder,
    /// As templates: Helm updates them like any object.
    Templates,
}

/// Kubernetes' own namespace, which always exists.
pub const KUBE_SYSTEM: &str = "kube-system";

impl Chart {
    /// Whether Helm never updates its CRDs, so another tool must do it.
    pub fn needs_crd_updates(&self) -> bool {
        self.crds == Crds::Folder
    }

    /// Whether it installs CRDs, of which other objects may exist.
    pub fn installs_crds(&self) -> bool {
        self.crds != Crds::None
    }
}
