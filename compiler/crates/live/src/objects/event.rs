//! Events.

use serde::Deserialize;

use super::meta::{Metadata, Timestamp};
use super::null_as_default;
use super::object::ObjectRef;

/// An event, in the form of `v1` or `events.k8s.io/v1`.
///
/// Source: kubernetes `staging/src/k8s.io/api/core/v1/types.go` and `events/v1/types.go`, 2026-11-28.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Event {
    /// The metadata.
    pub metadata: Metadata,
    /// The object that the event is about.
    #[serde(alias = "regarding", deserialize_with = "null_as_default")]
    pub involved_object: InvolvedObject,
    /// The reason, one word.
    #[serde(deserialize_with = "null_as_default")]
    pub reason: String,
    /// The message.
    #[serde(alias = "note", deserialize_with = "null_as_default")]
    pub message: String,
    /// `Normal` or `Warning`.
    #[serde(rename = "type", deserialize_with = "null_as_default")]
    pub kind: String,
    /// The number of occurrences.
    #[serde(alias = "deprecatedCount", deserialize_with = "null_as_default")]
    pub count: u32,
    /// The last occurrence.
    #[serde(
        alias = "deprecatedLastTimestamp",
        deserialize_with = "null_as_default"
    )]
    pub last_timestamp: Option<Timestamp>,
    /// The time of the event, in the newer form.
    #[serde(deserialize_with = "null_as_default")]
    pub event_time: Option<Timestamp>,
    /// The occurrences, in the newer form.
    #[serde(deserialize_with = "null_as_default")]
    pub series: Option<Series>,
    /// The component, in the newer form.
    #[serde(alias = "reportingComponent", deserialize_with = "null_as_default")]
    pub reporting_controller: String,
    /// The component, in the older form.
    #[serde(alias = "deprecatedSource", deserialize_with = "null_as_default")]
    pub source: Source,
}

/// The object that an event is about.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct InvolvedObject {
    /// Its kind.
    #[serde(deserialize_with = "null_as_default")]
    pub kind: String,
    /// Its namespace.
    #[serde(deserialize_with = "null_as_default")]
    pub namespace: String,
    /// Its name.
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,
}

/// The component that reported an event.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Source {
    /// Its name.
    #[serde(deserialize_with = "null_as_default")]
    pub component: String,
}

/// Repeated occurrences of an event.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Series {
    /// The number of occurrences.
    #[serde(deserialize_with = "null_as_default")]
    pub count: u32,
    /// The last occurrence.
    #[serde(deserialize_with = "null_as_default")]
    pub last_observed_time: Option<Timestamp>,
}

impl Event {
    /// The time of the last occurrence that is known.
    pub fn last_seen(&self) -> Option<Timestamp> {
        let series = self.series.as_ref().and_then(|it| it.last_observed_time);
        let created = self.metadata.creation_timestamp;
        [series, self.last_timestamp, self.event_time, created]
            .into_iter()
            .flatten()
            .next()
    }

    /// The number of occurrences; at least 1.
    pub fn occurrences(&self) -> u32 {
        let series = self.series.as_ref().map_or(0, |it| it.count);
        self.count.max(series).max(1)
    }

    /// The component that reported it.
    pub fn component(&self) -> &str {
        match self.reporting_controller.as_str() {
            "" => &self.source.component,
            name => name,
        }
    }

    /// The object that the event is about.
    pub fn subject(&self) -> ObjectRef {
        let InvolvedObject {
            kind,
            namespace,
            name,
        } = &self.involved_object;
        ObjectRef::new(kind, namespace, name)
    }
}
