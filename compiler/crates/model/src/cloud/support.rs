//! The Kubernetes versions that a cloud supports, and until when.

use jiff::civil::Date;

use crate::{Cluster, KubernetesVersion};

/// The support of Kubernetes versions by a cloud.
#[derive(Debug)]
pub struct SupportFacts {
    /// The versions with known dates, from the oldest to the newest.
    pub windows: &'static [SupportWindow],
    /// The effect of the end of regular support, as a sentence: `EKS then charges extra for extended support`.
    pub effect: &'static str,
    /// The effect of the end of extended support.
    pub extended_effect: &'static str,
    /// Whether the cluster is configured for extended support, so that the end of regular support has no effect.
    pub is_extended: fn(&Cluster) -> bool,
    /// The source of the dates, with its date.
    pub source: &'static str,
}

/// The support of one Kubernetes version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SupportWindow {
    /// The version.
    pub version: KubernetesVersion,
    /// The last day of regular support.
    pub end: Date,
    /// The last day of extended support, if it is known.
    pub extended_end: Option<Date>,
}

impl SupportFacts {
    /// A cloud that does not end the support of a version.
    pub const NONE: Self = Self {
        windows: &[],
        effect: "",
        extended_effect: "",
        is_extended: |_| false,
        source: "",
    };

    /// The support of a version; `None` if its dates are unknown.
    pub fn window(&self, version: KubernetesVersion) -> Option<&'static SupportWindow> {
        self.windows.iter().find(|it| it.version == version)
    }
}
