//! Metadata and conditions, which all kinds have.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, Visitor};

use super::null_as_default;

/// The annotation in which `kubectl apply` stores the whole object.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The metadata of an object.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Metadata {
    /// The name.
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,
    /// The namespace; empty for objects of the cluster.
    #[serde(deserialize_with = "null_as_default")]
    pub namespace: String,
    /// The labels.
    #[serde(deserialize_with = "null_as_default")]
    pub labels: BTreeMap<String, String>,
    /// The annotations, without those that repeat the object.
    #[serde(deserialize_with = "annotations")]
    pub annotations: BTreeMap<String, String>,
    /// The time at which the object was created.
    #[serde(deserialize_with = "null_as_default")]
    pub creation_timestamp: Option<Timestamp>,
    /// The time at which the object is or will be deleted; set while finalizers or grace periods delay it.
    #[serde(deserialize_with = "null_as_default")]
    pub deletion_timestamp: Option<Timestamp>,
    /// The objects that own this object.
    #[serde(deserialize_with = "null_as_default")]
    pub owner_references: Vec<Owner>,
}

impl Metadata {
    /// The value of a label.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.labels.get(key).map(String::as_str)
    }

    /// The object that controls this one, or its first owner.
    pub fn controller(&self) -> Option<&Owner> {
        let mut owners = self.owner_references.iter();
        owners
            .find(|owner| owner.controller)
            .or(self.owner_references.first())
    }
}

/// A reference to an object that owns another.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Owner {
    /// Its kind.
    #[serde(deserialize_with = "null_as_default")]
    pub kind: String,
    /// Its name.
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,
    /// Whether it controls the object.
    #[serde(deserialize_with = "null_as_default")]
    pub controller: bool,
}

/// A condition in the status of an object.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Condition {
    /// The type, such as `Ready`.
    #[serde(rename = "type", deserialize_with = "null_as_default")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    #[serde(deserialize_with = "null_as_default")]
    pub status: String,
    /// The reason, one word.
    #[serde(deserialize_with = "null_as_default")]
    pub reason: String,
    /// The message for people.
    #[serde(deserialize_with = "null_as_default")]
    pub message: String,
    /// The time of the last change of `status`.
    #[serde(deserialize_with = "null_as_default")]
    pub last_transition_time: Option<Timestamp>,
    /// The time of the last report; nodes only.
    #[serde(deserialize_with = "null_as_default")]
    pub last_heartbeat_time: Option<Timestamp>,
}

impl Condition {
    /// Whether the status is `True`.
    pub fn is_true(&self) -> bool {
        self.status == "True"
    }

    /// Whether the status is `False`.
    pub fn is_false(&self) -> bool {
        self.status == "False"
    }
}

/// A time in an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp(pub jiff::Timestamp);

impl Timestamp {
    /// The seconds since an earlier time; 0 if that time is later.
    pub fn seconds_since(self, earlier: Self) -> u64 {
        let seconds = self.0.as_second().saturating_sub(earlier.0.as_second());
        u64::try_from(seconds).unwrap_or_default()
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Timestamp;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a time such as 2026-11-28T12:00:00Z")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Timestamp, E> {
                text.parse().map(Timestamp).map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Text)
    }
}

/// Reads annotations, and skips [`LAST_APPLIED`] without a copy of its value.
fn annotations<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, String>, D::Error> {
    struct Entries;
    impl<'de> Visitor<'de> for Entries {
        type Value = BTreeMap<String, String>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("annotations")
        }

        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(BTreeMap::new())
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut entries = BTreeMap::new();
            while let Some(key) = map.next_key::<String>()? {
                if key == LAST_APPLIED {
                    map.next_value::<IgnoredAny>()?;
                } else {
                    entries.insert(key, map.next_value::<Option<String>>()?.unwrap_or_default());
                }
            }
            Ok(entries)
        }
    }
    deserializer.deserialize_any(Entries)
}
