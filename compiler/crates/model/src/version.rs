//! Kubernetes versions.

use std::fmt;
use std::ops::RangeInclusive;

/// A minor version of Kubernetes 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KubernetesVersion(pub u8);

/// The supported versions: from the oldest whose API gpuc generates to the newest whose schema it is tested against.
///
/// Source: k8s-openapi 0.29 (features `v1_33` to `v1_37`); kubernetes-validate 1.37.0, 2026-11-21.
pub const SUPPORTED: RangeInclusive<KubernetesVersion> =
    KubernetesVersion(33)..=KubernetesVersion(37);

impl KubernetesVersion {
    /// The first version that serves `resource.k8s.io/v1` and enables Dynamic Resource Allocation. Earlier versions
    /// only have beta versions of that API, which are disabled by default.
    ///
    /// Source: <https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/>; kubernetes
    /// `pkg/features/kube_features.go` (`DynamicResourceAllocation`), 2026-11-21.
    pub const FIRST_WITH_DRA: Self = Self(34);

    /// The first version that by default creates a claim for a container that requests the extended resource of a
    /// DeviceClass: feature gate `DRAExtendedResource`, alpha and off from 1.34, beta and on from 1.36, always on from
    /// 1.37.
    ///
    /// Source: kubernetes `pkg/features/kube_features.go`; <https://www.kubernetes.dev/resources/keps/5004/>,
    /// 2026-11-21.
    pub const FIRST_WITH_DRA_EXTENDED_RESOURCES: Self = Self(36);

    /// Parses a version such as `1.34`.
    pub fn parse(text: &str) -> Option<Self> {
        let minor = text.strip_prefix("1.")?;
        let digits = minor.len() <= 2 && minor.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| minor.parse().ok().map(Self)).flatten()
    }
}

impl fmt::Display for KubernetesVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1.{}", self.0)
    }
}
