//! Helm charts, as plans and releases refer to them.

use super::Release;
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
