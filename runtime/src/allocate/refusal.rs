//! The errors of an allocation, with messages for the events of the pod.

use std::fmt;

/// Why an allocation is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The request is empty.
    Empty {
        /// The resource.
        resource: String,
    },
    /// The request contains unknown devices.
    Unknown {
        /// The resource.
        resource: String,
        /// The unknown devices.
        ids: Vec<String>,
    },
    /// The request contains a device twice.
    Repeated {
        /// The resource.
        resource: String,
        /// The repeated devices.
        ids: Vec<String>,
    },
    /// The request contains unhealthy devices.
    Unhealthy {
        /// The resource.
        resource: String,
        /// The unhealthy devices, and the causes.
        ids: Vec<(String, String)>,
    },
    /// The request contains several replicas, although they give no more of a GPU than one.
    MoreThanOne {
        /// The resource.
        resource: String,
        /// The number of requested replicas.
        asked: usize,
    },
    /// A MIG device cannot be allocated, because the driver does not report its device nodes.
    NoCapability {
        /// The UUID of the MIG device.
        part: String,
        /// The path that is missing in `/proc/driver/nvidia-caps/mig-minors`.
        path: String,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty { resource } => write!(
                f,
                "the kubelet requested no device of `{resource}`: restart the kubelet if this persists"
            ),
            Self::Unknown { resource, ids } => write!(
                f,
                "unknown devices {} of `{resource}`: the devices of the node changed; delete the pod so that it is \
                 scheduled again",
                list(ids)
            ),
            Self::Repeated { resource, ids } => write!(
                f,
                "the kubelet requested {} of `{resource}` twice: restart the kubelet if this persists",
                list(ids)
            ),
            Self::Unhealthy { resource, ids } => {
                let ill: Vec<_> = ids.iter().map(|(id, _)| id.clone()).collect();
                let why = ids.first().map_or("", |(_, reason)| reason.as_str());
                write!(
                    f,
                    "{} of `{resource}` unhealthy ({why}): delete the pod so that it is scheduled on other devices",
                    list(&ill)
                )
            }
            Self::MoreThanOne { resource, asked } => write!(
                f,
                "{asked} replicas of `{resource}` requested, which may be on one GPU and give no more of it: request \
                 `{resource}: 1`"
            ),
            Self::NoCapability { part, path } => write!(
                f,
                "MIG device `{part}` has no `{path}` in `/proc/driver/nvidia-caps/mig-minors`: load the kernel module \
                 `nvidia` again or reboot the node"
            ),
        }
    }
}

impl std::error::Error for Refusal {}

/// Lists the names, at most the first three.
fn list(ids: &[String]) -> String {
    const SHOWN: usize = 3;
    let shown: Vec<_> = ids.iter().take(SHOWN).map(|id| format!("`{id}`")).collect();
    match ids.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_names_what_it_is_about() {
        let ids: Vec<_> = (0..5).map(|number| format!("GPU-{number}")).collect();
        let refusal = Refusal::Unknown {
            resource: "nvidia.com/gpu".to_owned(),
            ids,
        };
        let text = refusal.to_string();
        assert!(
            text.starts_with(
                "unknown devices `GPU-0`, `GPU-1`, `GPU-2` and 2 more of `nvidia.com/gpu`:"
            ),
            "{text}"
        );
    }

    #[test]
    fn a_message_says_why_and_what_to_do() {
        let refusal = Refusal::Unhealthy {
            resource: "nvidia.com/gpu".to_owned(),
            ids: vec![("GPU-3::1".to_owned(), "XID 79".to_owned())],
        };
        assert_eq!(
            refusal.to_string(),
            "`GPU-3::1` of `nvidia.com/gpu` unhealthy (XID 79): delete the pod so that it is scheduled on other \
             devices"
        );
    }
}
