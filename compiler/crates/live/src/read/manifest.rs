//! The manifest of a snapshot of `gpuc snapshot`: when it was collected, and which kinds are complete.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::objects::Timestamp;
use crate::state::{Completeness, Kind};

/// The name of the manifest in the folder of a snapshot.
pub const MANIFEST_FILE: &str = "gpuc-snapshot.json";

/// The manifest of a snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    /// The version of the format; 1.
    pub version: u32,
    /// The version of gpuc.
    pub gpuc: String,
    /// The time at which the collection began, in RFC 3339.
    pub time: String,
    /// The version of the API server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_version: Option<String>,
    /// The kinds by name, such as `pods` or `clusterqueues.kueue.x-k8s.io`.
    pub kinds: BTreeMap<String, KindEntry>,
    /// The number of container logs that could not be read.
    #[serde(default)]
    pub unread_logs: usize,
}

/// What a snapshot contains of a kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KindEntry {
    /// `complete`, `forbidden`, `truncated`, `notServed` or `failed`.
    pub state: String,
    /// The reason, if the kind is truncated or failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The number of objects in the snapshot.
    pub count: usize,
}

impl Manifest {
    /// The time at which the collection began.
    pub(super) fn collected_at(&self) -> Option<Timestamp> {
        self.time.parse().ok().map(Timestamp)
    }

    /// Whether a kind of which this many objects were read is complete.
    pub(super) fn completeness(&self, kind: Kind, count: usize) -> Completeness {
        let Some(entry) = self.kinds.get(&resource_name(kind)) else {
            return Completeness::NotRead;
        };
        let reason = || entry.reason.clone().unwrap_or_default();
        match entry.state.as_str() {
            "complete" if entry.count == count => Completeness::Complete,
            "complete" => Completeness::Truncated {
                reason: format!("{count} of {} objects are in the folder", entry.count),
            },
            "forbidden" => Completeness::Forbidden,
            "notServed" => Completeness::NotServed,
            "truncated" => Completeness::Truncated { reason: reason() },
            _ => Completeness::Failed { error: reason() },
        }
    }
}

impl KindEntry {
    /// The entry of a kind.
    pub fn new(completeness: &Completeness, count: usize) -> Self {
        let (state, reason) = match completeness {
            Completeness::Complete => ("complete", None),
            Completeness::Forbidden => ("forbidden", None),
            Completeness::NotServed => ("notServed", None),
            Completeness::NotRead => ("failed", Some("not read".to_owned())),
            Completeness::Truncated { reason } => ("truncated", Some(reason.clone())),
            Completeness::Failed { error } => ("failed", Some(error.clone())),
        };
        Self {
            state: state.to_owned(),
            reason,
            count,
        }
    }
}

/// The name of a kind as in rights: `pods`, or `clusterqueues.kueue.x-k8s.io`.
pub fn resource_name(kind: Kind) -> String {
    let info = kind.info();
    match info.group {
        "" => info.plural.to_owned(),
        group => format!("{}.{group}", info.plural),
    }
}
