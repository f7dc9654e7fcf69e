//! The scheduling requirements of a pod.

use gpuc_schema::config::Quantity;
use gpuc_schema::{Span, Spanned};

use super::affinity::{Requirement, Term};
use super::cuda::{Cuda, cuda_version};
use crate::cloud::machine::CpuArchitecture;

/// The scheduling requirements of a pod, each with its location.
///
/// An empty demand fits on every node without taints.
#[derive(Clone, Debug, Default)]
pub struct Demand {
    /// Extended resources, such as `nvidia.com/gpu`; one entry for each name.
    pub resources: Vec<Request>,
    /// Devices that are allocated to the pod through DRA.
    pub claims: Vec<Claim>,
    /// Names of ResourceClaims or ResourceClaimTemplates that are not resolved yet. The caller resolves them into
    /// [`Self::claims`].
    pub unresolved_claims: Vec<Spanned<String>>,
    /// CPU in thousandths of a core.
    pub cpu: Option<Amount>,
    /// Main memory in bytes.
    pub memory: Option<Amount>,
    /// Bytes of the node's disk: `ephemeral-storage`.
    pub disk: Option<Amount>,
    /// The node labels that are all required: `nodeSelector`.
    pub selector: Vec<Requirement>,
    /// Required node affinity: the node must match one of these terms. `None` if the pod has none.
    pub affinity: Option<Vec<Term>>,
    /// The pod's tolerations.
    pub tolerations: Vec<PodToleration>,
    /// The CPU architecture of its images, if it is set.
    pub architecture: Option<Spanned<CpuArchitecture>>,
    /// The memory that it needs on each GPU, MIG device or replica, in MiB, if it is set.
    pub gpu_memory: Option<Spanned<u64>>,
    /// Whether its GPUs communicate with each other, through NCCL or peer to peer, as in distributed training.
    pub gpus_communicate: bool,
    /// Its images.
    pub images: Vec<Image>,
    /// The number of such pods that must run at the same time. The default is one.
    pub pods: Option<Spanned<u32>>,
    /// Whether each of these pods needs a separate node.
    pub anti_affinity: bool,
}

/// A request for an extended resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Its name.
    pub resource: Spanned<String>,
    /// The count for the pod.
    pub count: u64,
    /// The maximum count of one of its containers.
    pub container_max: u64,
    /// The location of the count; the first of several.
    pub span: Span,
}

/// Devices of one DeviceClass that are allocated to a pod through DRA.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The DeviceClass.
    pub class: Spanned<String>,
    /// The number of devices.
    pub count: u64,
    /// The location of the count, or of the claim.
    pub span: Span,
}

/// An amount of a resource: thousandths of a core, or bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amount {
    /// The amount.
    pub value: u64,
    /// The location of the amount; the first of several.
    pub span: Span,
    /// Whether it is a default from a LimitRange, for containers that set no requests.
    pub is_default: bool,
}

/// A toleration of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodToleration {
    /// The taint's key; empty for every key.
    pub key: String,
    /// Whether every value matches: `operator: Exists`.
    pub matches_any_value: bool,
    /// The taint's value.
    pub value: String,
    /// The taint's effect; empty for every effect.
    pub effect: String,
    /// The location of the toleration.
    pub span: Span,
}

/// An image of a pod.
#[derive(Clone, Debug)]
pub struct Image {
    /// The image reference.
    pub name: Spanned<String>,
    /// The CUDA version of the image, if its name contains one.
    pub cuda: Option<Cuda>,
}

impl Image {
    /// An image with the CUDA version from its name.
    pub fn new(name: Spanned<String>) -> Self {
        let cuda = cuda_version(&name);
        Self { name, cuda }
    }
}

impl Amount {
    /// An amount in units of this many thousandths, rounded up.
    pub(super) fn new(thousandths: u64, unit: u64, span: Span, is_given: bool) -> Self {
        Self {
            value: thousandths.div_ceil(unit),
            span,
            is_default: is_given,
        }
    }

    /// The quantity of a workload in units of this many thousandths, rounded up.
    pub(super) fn from_quantity(quantity: Option<&Spanned<Quantity>>, unit: u64) -> Option<Self> {
        let quantity = quantity?;
        Some(Self::new(
            quantity.thousandths()?,
            unit,
            quantity.span,
            false,
        ))
    }

    /// The sum of both amounts, with the location of one that is not a default.
    pub(super) fn plus(self, other: Self) -> Self {
        let requested = if self.is_default { other } else { self };
        Self {
            value: self.value.saturating_add(other.value),
            ..requested
        }
    }
}

impl Request {
    /// A request of one container.
    pub fn new(resource: &Spanned<String>, count: u64, span: Span) -> Self {
        Self {
            resource: resource.clone(),
            count,
            container_max: count,
            span,
        }
    }
}

impl Demand {
    /// The number of pods that must run at the same time.
    pub fn concurrent_pods(&self) -> u32 {
        self.pods.map_or(1, |pods| pods.value)
    }

    /// The request for a resource.
    pub fn request(&self, resource: &str) -> Option<&Request> {
        let mut requests = self.resources.iter();
        requests.find(|request| request.resource.value == resource)
    }
}
