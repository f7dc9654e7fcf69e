//! Why a container gets nothing, in words that end up in the events of its pod.

use std::fmt;

/// Why a container does not get what was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Nothing was asked for.
    Empty {
        /// The resource.
        resource: String,
    },
    /// There is nothing of that name.
    Unknown {
        /// The resource.
        resource: String,
        /// What was asked for and is not there.
        ids: Vec<String>,
    },
    /// The same share was asked for twice.
    Repeated {
        /// The resource.
        resource: String,
        /// What was named more than once.
        ids: Vec<String>,
    },
    /// What was asked for is ill.
    Unwell {
        /// The resource.
        resource: String,
        /// What is ill, and why.
        ids: Vec<(String, String)>,
    },
    /// More than one share was asked for, where that gives no more of a GPU.
    MoreThanOne {
        /// The resource.
        resource: String,
        /// How many were asked for.
        asked: usize,
    },
    /// A MIG device cannot be handed out, since the driver does not say which device node opens it.
    NoCapability {
        /// The UUID of the MIG device.
        part: String,
        /// What is missing in `/proc/driver/nvidia-caps/mig-minors`.
        path: String,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty { resource } => write!(
                f,
                "no device of `{resource}` was asked for: restart the kubelet if this goes on"
            ),
            Self::Unknown { resource, ids } => write!(
                f,
                "`{resource}` has no {}: the devices of the node changed, so delete the pod and let it be \
                 scheduled anew",
                list(ids)
            ),
            Self::Repeated { resource, ids } => write!(
                f,
                "{} of `{resource}` asked for twice: restart the kubelet if this goes on",
                list(ids)
            ),
            Self::Unwell { resource, ids } => {
                let ill: Vec<_> = ids.iter().map(|(id, _)| id.clone()).collect();
                let why = ids.first().map_or("", |(_, reason)| reason.as_str());
                write!(
                    f,
                    "{} of `{resource}` not healthy ({why}): delete the pod and let it be scheduled on other devices",
                    list(&ill)
                )
            }
            Self::MoreThanOne { resource, asked } => write!(
                f,
                "{asked} shares of `{resource}` asked for, which may lie on one GPU and give no more of it: ask for \
                 `{resource}: 1`"
            ),
            Self::NoCapability { part, path } => write!(
                f,
                "MIG device `{part}` has no `{path}` in `/proc/driver/nvidia-caps/mig-minors`: load the kernel module \
                 `nvidia` anew or restart the node"
            ),
        }
    }
}

impl std::error::Error for Refusal {}

/// The names, the first three of them where there are many.
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
            text.starts_with("`nvidia.com/gpu` has no `GPU-0`, `GPU-1`, `GPU-2` and 2 more:"),
            "{text}"
        );
    }

    #[test]
    fn a_message_says_why_and_what_to_do() {
        let refusal = Refusal::Unwell {
            resource: "nvidia.com/gpu".to_owned(),
            ids: vec![("GPU-3::1".to_owned(), "XID 79".to_owned())],
        };
        assert_eq!(
            refusal.to_string(),
            "`GPU-3::1` of `nvidia.com/gpu` not healthy (XID 79): delete the pod and let it be scheduled on other \
             devices"
        );
    }
}
