//! Reasons why a pod does not, or may not, fit on a pool.

use std::fmt;

use gpuc_schema::Span;
use gpuc_syntax::diag::phrases;

use super::affinity::{Operator, Requirement};
use super::feasibility::Feasibility;
use super::image::Cuda;
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
        offered: Vec<String>,
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
        asked: u64,
        /// The count of a node.
        has: u64,
    },
    /// The nodes of the pool have no devices of this class.
    DeviceClassNotInPool {
        /// The class.
        class: String,
        /// The classes of the pool.
        offered: Vec<String>,
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
        asked: u64,
        /// The capacity of the machine.
        has: NodeCapacity,
    },
    /// A request for more memory than the machine can allocate to pods, in bytes.
    Memory {
        /// The requested value.
        asked: u64,
        /// The capacity of the machine.
        has: NodeCapacity,
    },
    /// A request for more of the node's disk than its size, in bytes.
    Disk {
        /// The requested value.
        asked: u64,
        /// The size of the disk.
        has: u64,
    },
    /// Images for another CPU architecture.
    Architecture {
        /// The requested value.
        asked: CpuArchitecture,
        /// The architecture of the machine; `None` if it is unknown.
        has: Option<CpuArchitecture>,
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
        asked: Requirement,
        /// The value on the nodes.
        has: Option<String>,
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
        needed: u64,
        /// The maximum node count of the pool.
        most: u64,
    },
    /// Several replicas of GPUs, which provide no more than one.
    SeveralReplicas {
        /// The resource.
        resource: String,
        /// The count for one container.
        asked: u64,
        /// Whether the node rejects the pod.
        refused: bool,
    },
    /// Several MIG devices for one container, or for GPUs that communicate with each other.
    SeveralMigDevices {
        /// The resource or class.
        resource: String,
        /// The count.
        asked: u64,
        /// Whether they must communicate with each other.
        talk: bool,
    },
    /// A GPU, MIG device or replica with less memory, in MiB.
    GpuMemory {
        /// The requested value.
        asked: u64,
        /// The memory of the device.
        has: u64,
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
        needed: u16,
    },
    /// The CUDA version of the image no longer supports the GPU model.
    GpuModel {
        /// The image.
        image: String,
        /// Its CUDA version.
        cuda: Cuda,
        /// The GPU model.
        card: &'static str,
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
            Self::NotAdvertised { resource, offered } => {
                write!(f, "does not advertise `{resource}`")?;
                fmt_alternatives(f, offered)
            }
            Self::ResourceUnknown { resource } => {
                write!(f, "does not advertise `{resource}` according to this file")
            }
            Self::TooManyDevices {
                resource,
                asked,
                has,
            } => write!(f, "has {has} of `{resource}` per node, not {asked}"),
            Self::DeviceClassNotInPool { class, offered } => {
                write!(f, "has no device of DeviceClass `{class}`")?;
                fmt_alternatives(f, offered)
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
            Self::Cpu { asked, has } => {
                let unit = in_cores;
                fmt_capacity(f, *asked, &cores(*asked), *has, unit)
            }
            Self::Memory { asked, has } => {
                let unit = |amount| format!("{} of memory", gib(amount));
                fmt_capacity(f, *asked, &gib(*asked), *has, unit)
            }
            Self::Disk { asked, has } => write!(
                f,
                "has nodes with a disk of {}, not {}",
                gib(*has),
                gib(*asked)
            ),
            Self::Architecture { asked, has } => match has {
                Some(has) => write!(f, "runs {}, not {}", has.label(), asked.label()),
                None => write!(f, "has hosts that are not known to run {}", asked.label()),
            },
            Self::Taint { taint, by_cloud } => {
                let who = if *by_cloud {
                    " that the cloud sets"
                } else {
                    ""
                };
                write!(f, "has the taint `{taint}`{who}, which is not tolerated")
            }
            Self::Label { asked, has } => fmt_label(f, asked, has.as_deref()),
            Self::NoMatchingTerm { terms } => {
                write!(f, "matches none of the {terms} terms of the node affinity")
            }
            Self::NodeField => f.write_str("may not contain the named node"),
            Self::Nodes { pods, needed, most } => write!(
                f,
                "has at most {}, but {} at once need {needed}",
                phrases::pluralize(*most, "node"),
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
                asked,
                refused,
            } => {
                write!(f, "advertises `{resource}` as replicas, and ")?;
                if *refused {
                    write!(f, "rejects a request for {asked}")
                } else {
                    write!(f, "{asked} of them provide no more than one")
                }
            }
            Self::SeveralMigDevices {
                resource,
                asked,
                talk,
            } => {
                write!(f, "advertises `{resource}` as MIG devices, and ")?;
                if *talk {
                    write!(f, "{asked} of them cannot communicate with each other")
                } else {
                    write!(f, "a program uses only one of {asked}")
                }
            }
            Self::GpuMemory { asked, has, device } => {
                write!(f, "has {device} with {has} MiB of memory, not {asked} MiB")
            }
            Self::Driver {
                image,
                cuda,
                branch,
                needed,
            } => write!(
                f,
                "has driver {branch}, but `{image}` with CUDA {cuda} needs {needed} or later"
            ),
            Self::GpuModel { image, cuda, card } => {
                write!(
                    f,
                    "has the GPU model {card}, which CUDA {cuda} in `{image}` no longer supports"
                )
            }
            _ => Ok(()),
        }
    }
}

/// Formats a request that exceeds the capacity of a machine, or its allocatable amount.
fn fmt_capacity(
    f: &mut fmt::Formatter<'_>,
    asked: u64,
    text: &str,
    has: NodeCapacity,
    unit: impl Fn(u64) -> String,
) -> fmt::Result {
    let (whole, left) = (unit(has.total), unit(has.allocatable));
    if has.span.is_some() {
        return write!(f, "has nodes with {left} allocatable, not {text}");
    }
    if asked > has.total {
        return write!(f, "has machines with {whole}, not {text}");
    }
    write!(
        f,
        "has machines with {whole} and an estimated {left} allocatable, not {text}"
    )
}

fn fmt_alternatives(f: &mut fmt::Formatter<'_>, offered: &[String]) -> fmt::Result {
    if offered.is_empty() {
        return Ok(());
    }
    write!(f, ", only {}", phrases::quoted_conjunction(offered, "and"))
}

fn fmt_label(f: &mut fmt::Formatter<'_>, asked: &Requirement, has: Option<&str>) -> fmt::Result {
    let key = &asked.key;
    match (asked.operator, has) {
        (Operator::In, Some(has)) => {
            let wanted = phrases::quoted_conjunction(&asked.values, "or");
            write!(f, "has the label `{key}: {has}`, not {wanted}")
        }
        (Operator::In, None) => match &asked.values[..] {
            [value] => write!(f, "has no label `{key}: {value}`"),
            values => write!(
                f,
                "has no label `{key}` that is {}",
                phrases::quoted_conjunction(values, "or")
            ),
        },
        (Operator::NotIn | Operator::DoesNotExist, Some(has)) => {
            write!(f, "has the label `{key}: {has}`, which is excluded")
        }
        (Operator::Exists, _) => write!(f, "has no label `{key}`"),
        (operator, has) => {
            let sign = if operator == Operator::Gt {
                "above"
            } else {
                "below"
            };
            let bound = asked.values.first().map_or("", String::as_str);
            match (operator, has) {
                (Operator::Gt | Operator::Lt, Some(has)) => {
                    write!(
                        f,
                        "has the label `{key}: {has}`, which is not {sign} {bound}"
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

/// Bytes in GiB, with at most one decimal place.
pub fn gib(bytes: u64) -> String {
    const GIB: u64 = 1 << 30;
    let tenths = u128::from(bytes) * 10 / u128::from(GIB);
    match tenths % 10 {
        0 => format!("{} GiB", tenths / 10),
        rest => format!("{}.{rest} GiB", tenths / 10),
    }
}
