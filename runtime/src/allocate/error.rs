//! The errors of an allocation, with messages for the events of the pod.

use std::fmt;

/// Why an allocation is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AllocationError {
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
    Duplicate {
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
    TooMany {
        /// The resource.
        resource: String,
        /// The number of requested replicas.
        requested: usize,
    },
    /// A MIG device cannot be allocated, because the driver does not report its device nodes.
    MissingCapability {
        /// The UUID of the MIG device.
        uuid: String,
        /// The path that is missing in `/proc/driver/nvidia-caps/mig-minors`.
        path: String,
    },
}

impl AllocationError {
    /// The values of [`AllocationError::reason`].
    pub const REASONS: [&str; 6] = [
        "empty",
        "unknown",
        "repeated",
        "unhealthy",
        "more_than_one",
        "no_capability",
    ];

    /// Returns the value of the label `reason` of metrics.
    pub fn reason(&self) -> &'static str {
        let index = match self {
            Self::Empty { .. } => 0,
            Self::Unknown { .. } => 1,
            Self::Duplicate { .. } => 2,
            Self::Unhealthy { .. } => 3,
            Self::TooMany { .. } => 4,
            Self::MissingCapability { .. } => 5,
        };
        Self::REASONS[index]
    }
}

impl fmt::Display for AllocationError {
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
                quoted_list(ids)
            ),
            Self::Duplicate { resource, ids } => write!(
                f,
                "the kubelet requested {} of `{resource}` twice: restart the kubelet if this persists",
                quoted_list(ids)
            ),
            Self::Unhealthy { resource, ids } => {
                let unhealthy_ids: Vec<_> = ids.iter().map(|(id, _)| id.clone()).collect();
                let reason = ids.first().map_or("", |(_, reason)| reason.as_str());
                write!(
                    f,
                    "{} of `{resource}` unhealthy ({reason}): delete the pod so that it is scheduled on other devices",
                    quoted_list(&unhealthy_ids)
                )
            }
            Self::TooMany {
                resource,
                requested,
            } => write!(
                f,
                "{requested} replicas of `{resource}` requested, which may be on one GPU and give no more of it: request \
                 `{resource}: 1`"
            ),
            Self::MissingCapability { uuid, path } => write!(
                f,
                "MIG device `{uuid}` has no `{path}` in `/proc/driver/nvidia-caps/mig-minors`: load the kernel module \
                 `nvidia` again or reboot the node"
            ),
        }
    }
}

impl std::error::Error for AllocationError {}

/// Lists the names, at most the first three.
fn quoted_list(ids: &[String]) -> String {
    const MAX_LISTED: usize = 3;
    let listed: Vec<_> = ids
        .iter()
        .take(MAX_LISTED)
        .map(|id| format!("`{id}`"))
        .collect();
    match ids.len().saturating_sub(MAX_LISTED) {
        0 => listed.join(", "),
        more => format!("{} and {more} more", listed.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_resource_and_devices() {
        let ids: Vec<_> = (0..5).map(|number| format!("GPU-{number}")).collect();
        let error = AllocationError::Unknown {
            resource: "nvidia.com/gpu".to_owned(),
            ids,
        };
        let text = error.to_string();
        assert!(
            text.starts_with(
                "unknown devices `GPU-0`, `GPU-1`, `GPU-2` and 2 more of `nvidia.com/gpu`:"
            ),
            "{text}"
        );
    }

    #[test]
    fn messages_have_reason_and_help() {
        let error = AllocationError::Unhealthy {
            resource: "nvidia.com/gpu".to_owned(),
            ids: vec![("GPU-3::1".to_owned(), "XID 79".to_owned())],
        };
        assert_eq!(
            error.to_string(),
            "`GPU-3::1` of `nvidia.com/gpu` unhealthy (XID 79): delete the pod so that it is scheduled on other \
             devices"
        );
    }
}
