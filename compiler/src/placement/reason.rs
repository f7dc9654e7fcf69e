//! Why a pool does not hold a pod, or only perhaps.

use std::fmt;

use gpuc_schema::Span;

use super::affinity::{Operator, Requirement};
use super::image::Cuda;
use super::verdict::Answer;
use crate::cloud::machine::CpuArchitecture;
use crate::diag::words;
use crate::model::Room;

/// Why a pool does not hold a pod, or only perhaps. It prints as what follows the pool's name in a sentence: «offers
/// no `nvidia.com/gpu`».
#[derive(Clone, Debug)]
pub struct Reason {
    /// Why.
    pub why: Why,
    /// `No`, or `Perhaps` where the file alone does not tell.
    pub answer: Answer,
    /// Where the demand asks for it.
    pub asked: Span,
    /// Where the pool says otherwise.
    pub place: Span,
}

/// Why a pool does not hold a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// No node of the pool offers the resource.
    NotOffered {
        /// What was asked for.
        resource: String,
        /// What a node offers, of that kind.
        offered: Vec<String>,
    },
    /// A resource that is none of the cluster's file: something else in the cluster may offer it.
    ResourceUnknown {
        /// What was asked for.
        resource: String,
    },
    /// More of a resource than a node has.
    TooMany {
        /// The resource or DeviceClass.
        resource: String,
        /// How many were asked for.
        asked: u64,
        /// How many a node has.
        has: u64,
    },
    /// No node of the pool has devices of this class.
    ClassNotHere {
        /// The class.
        class: String,
        /// The pool's own.
        offered: Vec<String>,
    },
    /// A class that is none of the cluster's file.
    ClassUnknown {
        /// The class.
        class: String,
    },
    /// A claim whose content is not known.
    ClaimUnread {
        /// The claim's name, or its template's.
        name: String,
    },
    /// More CPU than the machine has for pods, in thousandths of a core.
    Cpu {
        /// What was asked for.
        asked: u64,
        /// What the machine has.
        has: Room,
    },
    /// More main memory than the machine has for pods, in bytes.
    Memory {
        /// What was asked for.
        asked: u64,
        /// What the machine has.
        has: Room,
    },
    /// More of the node's disk than there is, in bytes.
    Disk {
        /// What was asked for.
        asked: u64,
        /// What the disk has.
        has: u64,
    },
    /// Images for another CPU.
    Architecture {
        /// What was asked for.
        asked: CpuArchitecture,
        /// What the machine is; `None` where that is not known.
        has: Option<CpuArchitecture>,
    },
    /// A taint that the pod does not tolerate.
    Taint {
        /// The taint, as Kubernetes writes it.
        taint: String,
        /// The cloud sets it by itself.
        by_cloud: bool,
    },
    /// A label that the nodes do not have, or perhaps do not have.
    Label {
        /// What was asked for.
        asked: Requirement,
        /// What the nodes have.
        has: Option<String>,
    },
    /// No alternative of the node affinity matches.
    NoTerm {
        /// How many there are.
        terms: usize,
    },
    /// The pod names nodes by their fields.
    NodeField,
    /// Fewer nodes than the pods need at once.
    Nodes {
        /// How many pods.
        pods: u64,
        /// How many nodes they need; `None` where the pool is never asked whether they could.
        needed: u64,
        /// The most that the pool has.
        most: u64,
    },
    /// Several shares of GPUs, which are no more than one.
    Shares {
        /// The resource.
        resource: String,
        /// How many for one container.
        asked: u64,
        /// Whether the pod is refused on the node for it.
        refused: bool,
    },
    /// Several slices for one container, or for GPUs that talk to each other.
    Slices {
        /// The resource or class.
        resource: String,
        /// How many.
        asked: u64,
        /// Whether they have to talk to each other.
        talk: bool,
    },
    /// A card, slice or share with less memory, in MiB.
    GpuMemory {
        /// What was asked for.
        asked: u64,
        /// What it has.
        has: u64,
        /// What it is, in words: `a slice 1g.10gb`.
        device: String,
    },
    /// The driver is too old for the image's CUDA.
    Driver {
        /// The image.
        image: String,
        /// Its CUDA.
        cuda: Cuda,
        /// The driver's branch.
        branch: u16,
        /// The first branch that runs it.
        needed: u16,
    },
    /// The image's CUDA does not drive the card any more.
    Card {
        /// The image.
        image: String,
        /// Its CUDA.
        cuda: Cuda,
        /// The card.
        card: &'static str,
    },
}

impl Why {
    /// Whether it is that the nodes do not have the labels, or the names, that are asked for.
    pub fn is_of_label(&self) -> bool {
        matches!(
            self,
            Self::Label { .. } | Self::NoTerm { .. } | Self::NodeField
        )
    }

    /// Whether the scheduler looks at it. The others stop a pod on its node, or keep several from running at once.
    pub fn is_scheduling(&self) -> bool {
        !matches!(
            self,
            Self::Nodes { .. }
                | Self::Architecture { .. }
                | Self::Shares { .. }
                | Self::Slices { .. }
                | Self::GpuMemory { .. }
                | Self::Driver { .. }
                | Self::Card { .. }
        )
    }
}

impl Why {
    /// Whether the machine is too small: its CPUs, its memory or its disk.
    pub fn is_size(&self) -> bool {
        matches!(
            self,
            Self::Cpu { .. } | Self::Memory { .. } | Self::Disk { .. }
        )
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.why.fmt(f)
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotOffered { resource, offered } => {
                write!(f, "offers no `{resource}`")?;
                instead(f, offered)
            }
            Self::ResourceUnknown { resource } => {
                write!(f, "offers no `{resource}` that this file knows of")
            }
            Self::TooMany {
                resource,
                asked,
                has,
            } => write!(f, "has {has} of `{resource}` on a node, not {asked}"),
            Self::ClassNotHere { class, offered } => {
                write!(f, "has no device of class `{class}`")?;
                instead(f, offered)
            }
            Self::ClassUnknown { class } => {
                write!(
                    f,
                    "has no device of class `{class}` that this file knows of"
                )
            }
            Self::ClaimUnread { name } => {
                write!(f, "may not have what the claim `{name}` asks for")
            }
            Self::Cpu { asked, has } => {
                let unit = in_cores;
                larger(f, (*asked, cores(*asked)), *has, unit)
            }
            Self::Memory { asked, has } => {
                let unit = |amount| format!("{} of memory", gib(amount));
                larger(f, (*asked, gib(*asked)), *has, unit)
            }
            Self::Disk { asked, has } => write!(
                f,
                "has nodes with a disk of {}, not {}",
                gib(*has),
                gib(*asked)
            ),
            Self::Architecture { asked, has } => match has {
                Some(has) => write!(f, "runs {}, not {}", has.label(), asked.label()),
                None => write!(f, "does not say that its hosts run {}", asked.label()),
            },
            Self::Taint { taint, by_cloud } => {
                let who = if *by_cloud {
                    " that the cloud sets"
                } else {
                    ""
                };
                write!(f, "has the taint `{taint}`{who}, which is not tolerated")
            }
            Self::Label { asked, has } => label(f, asked, has.as_deref()),
            Self::NoTerm { terms } => {
                write!(
                    f,
                    "matches none of the {terms} alternatives of the node affinity"
                )
            }
            Self::NodeField => f.write_str("may not have the node that is named"),
            Self::Nodes { pods, needed, most } => write!(
                f,
                "has at most {}, and {} at once need {needed}",
                words::counted(*most, "node"),
                words::counted(*pods, "pod")
            ),
            _ => self.of_use(f),
        }
    }
}

impl Why {
    /// What stops a pod that is on its node.
    fn of_use(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shares {
                resource,
                asked,
                refused,
            } => {
                let what = if *refused {
                    "refuses"
                } else {
                    "gives no more than one for"
                };
                write!(
                    f,
                    "offers `{resource}` in shares, and {what} {asked} of them"
                )
            }
            Self::Slices {
                resource,
                asked,
                talk,
            } => {
                let why = if *talk {
                    "which cannot talk to each other"
                } else {
                    "of which a program sees one"
                };
                write!(f, "offers `{resource}` in slices, {asked} of them, {why}")
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
                "has driver {branch}, and `{image}` with CUDA {cuda} needs {needed} or later"
            ),
            Self::Card { image, cuda, card } => {
                write!(
                    f,
                    "has the card {card}, which CUDA {cuda} of `{image}` dropped"
                )
            }
            _ => Ok(()),
        }
    }
}

/// More than a machine has, or than it has left for pods.
fn larger(
    f: &mut fmt::Formatter<'_>,
    (asked, words): (u64, String),
    has: Room,
    unit: impl Fn(u64) -> String,
) -> fmt::Result {
    let (whole, left) = (unit(has.whole), unit(has.left));
    if has.said.is_some() {
        return write!(f, "has nodes that leave pods {left}, not {words}");
    }
    if asked > has.whole {
        return write!(f, "has machines with {whole}, not {words}");
    }
    write!(
        f,
        "has machines with {whole}, which leave pods an estimated {left}, not {words}"
    )
}

fn instead(f: &mut fmt::Formatter<'_>, offered: &[String]) -> fmt::Result {
    if offered.is_empty() {
        return Ok(());
    }
    write!(f, ", but {}", words::all(offered, "and"))
}

fn label(f: &mut fmt::Formatter<'_>, asked: &Requirement, has: Option<&str>) -> fmt::Result {
    let key = &asked.key;
    match (asked.operator, has) {
        (Operator::In, Some(has)) => {
            let wanted = words::all(&asked.values, "or");
            write!(f, "has the label `{key}: {has}`, not {wanted}")
        }
        (Operator::In, None) => match &asked.values[..] {
            [value] => write!(f, "has no label `{key}: {value}`"),
            values => write!(
                f,
                "has no label `{key}` that is {}",
                words::all(values, "or")
            ),
        },
        (Operator::NotIn | Operator::DoesNotExist, Some(has)) => {
            write!(f, "has the label `{key}: {has}`, which is not wanted")
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
                _ => write!(f, "may have the label `{key}`, which is not wanted"),
            }
        }
    }
}

/// Cores in words, from thousandths.
pub(super) fn in_cores(thousandths: u64) -> String {
    let word = if thousandths == 1000 { "core" } else { "cores" };
    format!("{} {word}", cores(thousandths))
}

/// The number of cores, from thousandths.
pub(super) fn cores(thousandths: u64) -> String {
    let (whole, rest) = (thousandths / 1000, thousandths % 1000);
    match rest {
        0 => whole.to_string(),
        _ => format!("{whole}.{rest:03}")
            .trim_end_matches('0')
            .to_owned(),
    }
}

/// Bytes in the largest unit that says them without a rest, else in tenths of GiB.
pub fn gib(bytes: u64) -> String {
    const GIB: u64 = 1 << 30;
    let tenths = u128::from(bytes) * 10 / u128::from(GIB);
    match tenths % 10 {
        0 => format!("{} GiB", tenths / 10),
        rest => format!("{}.{rest} GiB", tenths / 10),
    }
}
