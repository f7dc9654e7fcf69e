//! What one pod asks of a node.

use gpuc_schema::config::Quantity;
use gpuc_schema::{Span, Spanned};

use super::affinity::{Requirement, Term};
use super::image::Cuda;
use crate::cloud::machine::CpuArchitecture;

/// What one pod asks of a node, with the place where each part was written.
///
/// An empty demand fits wherever nothing keeps pods away.
#[derive(Clone, Debug, Default)]
pub struct Demand {
    /// Extended resources, such as `nvidia.com/gpu`; one for each name.
    pub resources: Vec<Request>,
    /// Devices that the pod claims.
    pub claims: Vec<Claim>,
    /// Claims of which only the name of their template or ResourceClaim is known. Whoever can read it moves it to
    /// [`Self::claims`].
    pub unread_claims: Vec<Spanned<String>>,
    /// CPU in thousandths of a core.
    pub cpu: Option<Amount>,
    /// Main memory in bytes.
    pub memory: Option<Amount>,
    /// Bytes of the node's disk: `ephemeral-storage`.
    pub disk: Option<Amount>,
    /// Labels that the node must have, all of them: `nodeSelector`.
    pub selector: Vec<Requirement>,
    /// Required node affinity: the node must match one of these. `None` where the pod has none.
    pub affinity: Option<Vec<Term>>,
    /// What the pod tolerates.
    pub tolerations: Vec<Tolerated>,
    /// What its images run on, where somebody says it.
    pub architecture: Option<Spanned<CpuArchitecture>>,
    /// Memory that it needs of each GPU, slice or share, in MiB, where somebody says it.
    pub gpu_memory: Option<Spanned<u64>>,
    /// Whether its GPUs talk to each other, by NCCL or peer to peer, as in training on several of them.
    pub gpus_talk: bool,
    /// Its images.
    pub images: Vec<Image>,
    /// How many such pods must run at once; one where nobody says.
    pub pods: Option<Spanned<u32>>,
    /// Whether each of them needs a node of its own.
    pub apart: bool,
}

/// An extended resource that a pod asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Its name.
    pub resource: Spanned<String>,
    /// How many for the pod.
    pub count: u64,
    /// The most that one of its containers asks for.
    pub largest: u64,
    /// Where the count stands; the first of several.
    pub span: Span,
}

/// Devices of one class that a pod claims.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The DeviceClass.
    pub class: Spanned<String>,
    /// How many devices.
    pub count: u64,
    /// Where the count stands, or the claim.
    pub span: Span,
}

/// How much of something: thousandths of a core, or bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amount {
    /// How much.
    pub value: u64,
    /// Where it stands; the first of several.
    pub span: Span,
    /// Whether nobody asks for it by name: a `LimitRange` gives it to what says nothing.
    pub is_given: bool,
}

/// A toleration of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tolerated {
    /// The taint's key; every key where it is empty.
    pub key: String,
    /// Whether any value will do: `operator: Exists`.
    pub exists: bool,
    /// The taint's value.
    pub value: String,
    /// The taint's effect; every effect where it is empty.
    pub effect: String,
    /// Where it stands.
    pub span: Span,
}

/// An image of a pod.
#[derive(Clone, Debug)]
pub struct Image {
    /// Its name as written.
    pub name: Spanned<String>,
    /// The CUDA that is in it, where its name says so.
    pub cuda: Option<Cuda>,
}

impl Image {
    /// An image by its name.
    pub fn new(name: Spanned<String>) -> Self {
        let cuda = super::image::cuda_of(&name);
        Self { name, cuda }
    }
}

impl Amount {
    /// What was written, counted in so many thousandths.
    pub(super) fn of(
        written: Option<&Spanned<Quantity>>,
        unit: u64,
        is_given: bool,
    ) -> Option<Self> {
        let written = written?;
        Some(Self {
            value: written.thousandths()?.div_ceil(unit),
            span: written.span,
            is_given,
        })
    }

    /// Both together.
    pub(super) fn plus(self, other: Self) -> Self {
        let asked = if self.is_given { other } else { self };
        Self {
            value: self.value.saturating_add(other.value),
            ..asked
        }
    }
}

impl Request {
    /// So many of a resource, for one container.
    pub fn new(resource: &Spanned<String>, count: u64, span: Span) -> Self {
        Self {
            resource: resource.clone(),
            count,
            largest: count,
            span,
        }
    }
}

impl Demand {
    /// How many pods must run at once.
    pub fn at_once(&self) -> u32 {
        self.pods.map_or(1, |pods| pods.value)
    }

    /// What it asks of a resource.
    pub fn request(&self, resource: &str) -> Option<&Request> {
        let mut requests = self.resources.iter();
        requests.find(|request| request.resource.value == resource)
    }
}
