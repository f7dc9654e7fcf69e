//! Reasons why a pod does not, or may not, fit on a pool.

use std::fmt;

use gpuc_schema::Span;
use gpuc_syntax::diag::phrases;

use super::affinity::{Operator, Requirement};
use super::cuda::Cuda;
use super::feasibility::Feasibility;
use crate::NodeCapacity;
use crate::cloud::machine::CpuArchitecture;

/// A reason why a pod does not, or may not, fit on a pool. It is displayed as a predicate of the pool: «does not
/// advertise `nvidia.com/gpu`».
#[derive(Clone, Debug)]
pub struct Reason {
    /// The cause.
    pub cause: MisfitCause,
    /// `DoesNotFit`, or `Unknown` if the file does not determine it.
    pub feasibility: Feasibility,
    /// The location of the pod's requirement.
    pub request_span: Span,
    /// The location of the conflicting setting of the pool.
    pub pool_span: Span,
}

/// The cause why a pod does not fit on a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MisfitCause {
    /// The nodes of the pool do not advertise the resource.
    NotAdvertised {
        /// The requested value.
        resource: String,
        /// The advertised resources of the same kind.
        advertised: Vec<String>,
    },
    /// A resource that the file does not define: other software in the cluster may advertise it.
    ResourceUnknown {
        /// The requested value.
        resource: String,
    },
    /// A request for more of a resource than a node has.
    TooManyDevices {
        /// The resource or DeviceClass.
        resource: String,
        /// The requested count.
        requested: u64,
        /// The count of a node.
        available: u64,
    },
    /// The nodes of the pool have no devices of this class.
    DeviceClassNotInPool {
        /// The class.
        class: String,
        /// The classes of the pool.
        pool_classes: Vec<String>,
    },
    /// A class that the file does not define.
    DeviceClassUnknown {
        /// The class.
        class: String,
    },
    /// A ResourceClaim with unknown content.
    ClaimUnresolved {
        /// The name of the claim or of its template.
        name: String,
    },
    /// A request for more CPU than the machine can allocate to pods, in thousandths of a core.
    Cpu {
        /// The requested value.
        requested: u64,
        /// The capacity of the machine.
        capacity: NodeCapacity,
    },
    /// A request for more memory than the machine can allocate to pods, in bytes.
    Memory {
        /// The requested value.
        requested: u64,
        /// The capacity of the machine.
        capacity: NodeCapacity,
    },
    /// A request for more of the node's disk than its size, in bytes.
    Disk {
        /// The requested value.
        requested: u64,
        /// The size of the disk.
        capacity: u64,
    },
    /// Images for another CPU architecture.
    Architecture {
        /// The requested value.
        requested: CpuArchitecture,
        /// The architecture of the machine; `None` if it is unknown.
        actual: Option<CpuArchitecture>,
    },
    /// A taint that the pod does not tolerate.
    Taint {
        /// The taint, in the syntax of `kubectl taint`.
        taint: String,
        /// Whether the cloud sets the taint.
        by_cloud: bool,
    },
    /// A label that the nodes do not have, or may not have.
    Label {
        /// The requested value.
        requirement: Requirement,
        /// The value on the nodes.
        actual: Option<String>,
    },
    /// The nodes match no term of the node affinity.
    NoMatchingTerm {
        /// The number of terms.
        terms: usize,
    },
    /// The pod selects nodes by name.
    NodeField,
    /// The pods need more nodes at the same time than the pool's maximum.
    Nodes {
        /// The number of pods.
        pods: u64,
        /// The number of nodes that they need.
        required_nodes: u64,
        /// The maximum node count of the pool.
        max_nodes: u64,
    },
    /// Several replicas of GPUs, which provide no more than one.
    SeveralReplicas {
        /// The resource.
        resource: String,
        /// The count for one container.
        requested: u64,
        /// Whether the node rejects the pod.
        is_rejected: bool,
    },
    /// Several MIG devices for one container, or for GPUs that communicate with each other.
    SeveralMigDevices {
        /// The resource or class.
        resource: String,
        /// The count.
        requested: u64,
        /// Whether they must communicate with each other.
        must_communicate: bool,
    },
    /// A GPU, MIG device or replica with less memory, in MiB.
    GpuMemory {
        /// The requested value.
        requested: u64,
        /// The memory of the device.
        available: u64,
        /// The description of the device: `MIG devices 1g.10gb`.
        device: String,
    },
    /// The driver is too old for the CUDA version of the image.
    Driver {
        /// The image.
        image: String,
        /// Its CUDA version.
        cuda: Cuda,
        /// The driver's branch.
        branch: u16,
        /// The first branch that supports this CUDA version.
        min_branch: u16,
    },
    /// The CUDA version of the image no longer supports the GPU model.
    GpuModel {
        /// The image.
        image: String,
        /// Its CUDA version.
        cuda: Cuda,
        /// The GPU model.
        gpu_model: &'static str,
    },
}

impl MisfitCause {
    /// Whether the cause is a required label or node name.
    pub fn is_label(&self) -> bool {
        matches!(
            self,
            Self::Label { .. } | Self::NoMatchingTerm { .. } | Self::NodeField
        )
    }

    /// Whether the scheduler checks it. Other causes stop a pod on its node, or prevent several pods at the same time.
    pub fn is_scheduling(&self) -> bool {
        !matches!(
            self,
            Self::Nodes { .. }
                | Self::Architecture { .. }
                | Self::SeveralReplicas { .. }
                | Self::SeveralMigDevices { .. }
                | Self::GpuMemory { .. }
                | Self::Driver { .. }
                | Self::GpuModel { .. }
        )
    }
}

impl MisfitCause {
    /// Whether the machine has too little CPU, memory or disk.
    pub fn is_size(&self) -> bool {
        matches!(
            self,
            Self::Cpu { .. } | Self::Memory { .. } | Self::Disk { .. }
        )
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cause.fmt(f)
    }
}

impl fmt::Display for MisfitCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAdvertised {
                resource,
                advertised,
            } => {
                write!(f, "does not advertise `{resource}`")?;
                fmt_alternatives(f, advertised)
            }
            Self::ResourceUnknown { resource } => {
                write!(f, "does not advertise `{resource}` according to this file")
            }
            Self::TooManyDevices {
                resource,
                requested,
                available,
            } => write!(
                f,
                "has {available} of `{resource}` per node, not {requested}"
            ),
            Self::DeviceClassNotInPool {
                class,
                pool_classes,
            } => {
                write!(f, "has no device of DeviceClass `{class}`")?;
                fmt_alternatives(f, pool_classes)
            }
            Self::DeviceClassUnknown { class } => {
                write!(
                    f,
                    "has no device of DeviceClass `{class}` according to this file"
                )
            }
            Self::ClaimUnresolved { name } => {
                write!(f, "may not satisfy the ResourceClaim `{name}`")
            }
            Self::Cpu {
                requested,
                capacity,
            } => {
                let unit = in_cores;
                fmt_capacity(f, *requested, &cores(*requested), *capacity, unit)
            }
            Self::Memory {
                requested,
                capacity,
            } => {
                let unit = |amount| format!("{} of memory", gib(amount));
                fmt_capacity(f, *requested, &gib(*requested), *capacity, unit)
            }
            Self::Disk {
                requested,
                capacity: available,
            } => write!(
                f,
                "has nodes with a disk of {}, not {}",
                gib(*available),
                gib(*requested)
            ),
            Self::Architecture { requested, actual } => match actual {
                Some(actual) => write!(f, "runs {}, not {}", actual.label(), requested.label()),
                None => write!(
                    f,
                    "has hosts that are not known to run {}",
                    requested.label()
                ),
            },
            Self::Taint { taint, by_cloud } => {
                let suffix = if *by_cloud {
                    " that the cloud sets"
                } else {
                    ""
                };
                write!(f, "has the taint `{taint}`{suffix}, which is not tolerated")
            }
            Self::Label {
                requirement,
                actual,
            } => fmt_label(f, requirement, actual.as_deref()),
            Self::NoMatchingTerm { terms } => {
                write!(f, "matches none of the {terms} terms of the node affinity")
            }
            Self::NodeField => f.write_str("may not contain the named node"),
            Self::Nodes {
                pods,
                required_nodes,
                max_nodes,
            } => write!(
                f,
                "has at most {}, but {} at once need {required_nodes}",
                phrases::pluralize(*max_nodes, "node"),
                phrases::pluralize(*pods, "pod")
            ),
            _ => self.fmt_use(f),
        }
    }
}

impl MisfitCause {
    /// Formats the causes that stop a pod on its node.
    fn fmt_use(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SeveralReplicas {
                resource,
                requested,
                is_rejected: refused,
            } => {
                write!(f, "advertises `{resource}` as replicas, and ")?;
                if *refused {
                    write!(f, "rejects a request for {requested}")
                } else {
                    write!(f, "{requested} of them provide no more than one")
                }
            }
            Self::SeveralMigDevices {
                resource,
                requested,
                must_communicate: talk,
            } => {
                write!(f, "advertises `{resource}` as MIG devices, and ")?;
                if *talk {
                    write!(f, "{requested} of them cannot communicate with each other")
                } else {
                    write!(f, "a program uses only one of {requested}")
                }
            }
            Self::GpuMemory {
                requested,
                available,
                device,
            } => {
                write!(
                    f,
                    "has {device} with {available} MiB of memory, not {requested} MiB"
                )
            }
            Self::Driver {
                image,
                cuda,
                branch,
                min_branch,
            } => write!(
                f,
                "has driver {branch}, but `{image}` with CUDA {cuda} needs {min_branch} or later"
            ),
            Self::GpuModel {
                image,
                cuda,
                gpu_model,
            } => {
                write!(
                    f,
                    "has the GPU model {gpu_model}, which CUDA {cuda} in `{image}` no longer supports"
                )
            }
            _ => Ok(()),
        }
    }
}

/// Formats a request that exceeds the capacity of a machine, or its allocatable amount.
fn fmt_capacity(
    f: &mut fmt::Formatter<'_>,
    requested: u64,
    text: &str,
    capacity: NodeCapacity,
    unit: impl Fn(u64) -> String,
) -> fmt::Result {
    let (total, allocatable) = (unit(capacity.total), unit(capacity.allocatable));
    if capacity.span.is_some() {
        return write!(f, "has nodes with {allocatable} allocatable, not {text}");
    }
    if requested > capacity.total {
        return write!(f, "has machines with {total}, not {text}");
    }
    write!(
        f,
        "has machines with {total} and an estimated {allocatable} allocatable, not {text}"
    )
}

fn fmt_alternatives(f: &mut fmt::Formatter<'_>, alternatives: &[String]) -> fmt::Result {
    if alternatives.is_empty() {
        return Ok(());
    }
    write!(
        f,
        ", only {}",
        phrases::quoted_conjunction(alternatives, "and")
    )
}

fn fmt_label(
    f: &mut fmt::Formatter<'_>,
    requirement: &Requirement,
    actual: Option<&str>,
) -> fmt::Result {
    let key = &requirement.key;
    match (requirement.operator, actual) {
        (Operator::In, Some(actual)) => {
            let wanted = phrases::quoted_conjunction(&requirement.values, "or");
            write!(f, "has the label `{key}: {actual}`, not {wanted}")
        }
        (Operator::In, None) => match &requirement.values[..] {
            [value] => write!(f, "has no label `{key}: {value}`"),
            values => write!(
                f,
                "has no label `{key}` that is {}",
                phrases::quoted_conjunction(values, "or")
            ),
        },
        (Operator::NotIn | Operator::DoesNotExist, Some(actual)) => {
            write!(f, "has the label `{key}: {actual}`, which is excluded")
        }
        (Operator::Exists, _) => write!(f, "has no label `{key}`"),
        (operator, actual) => {
            let sign = if operator == Operator::Gt {
                "above"
            } else {
                "below"
            };
            let bound = requirement.values.first().map_or("", String::as_str);
            match (operator, actual) {
                (Operator::Gt | Operator::Lt, Some(actual)) => {
                    write!(
                        f,
                        "has the label `{key}: {actual}`, which is not {sign} {bound}"
                    )
                }
                (Operator::Gt | Operator::Lt, None) => {
                    write!(f, "has no label `{key}` {sign} {bound}")
                }
                _ => write!(f, "may have the label `{key}`, which is excluded"),
            }
        }
    }
}

/// A number of cores with its unit, from thousandths.
pub(super) fn in_cores(thousandths: u64) -> String {
    let word = if thousandths == 1000 { "core" } else { "cores" };
    format!("{} {word}", cores(thousandths))
}

/// A number of cores, from thousandths.
pub(super) fn cores(thousandths: u64) -> String {
    let (whole, rest) = (thousandths / 1000, thousandths % 1000);
    match rest {
        0 => whole.to_string(),
        _ => format!("{whole}.{rest:03}")
            .trim_end_matches('0')
            .to_owned(),
    }
}

/// Bytes in GiB, with at most one decimal place, or in the largest smaller unit below 0.1 GiB.
pub fn gib(bytes: u64) -> String {
    const GIB: u64 = 1 << 30;
    let tenths = u128::from(bytes) * 10 / u128::from(GIB);
    match tenths % 10 {
        0 if tenths == 0 && bytes >= 1 << 20 => format!("{} MiB", bytes >> 20),
        0 if tenths == 0 && bytes > 0 => phrases::pluralize(bytes, "byte"),
        0 => format!("{} GiB", tenths / 10),
        rest => format!("{}.{rest} GiB", tenths / 10),
    }
}
