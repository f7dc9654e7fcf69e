//! Objects of kinds that have no type of their own, and references to objects.

use std::fmt;

use serde::Deserialize;
use serde_json::Value;

use super::meta::{Condition, Metadata};

/// An object of any kind.
#[derive(Clone, Debug, Default)]
pub struct Object {
    /// The metadata.
    pub metadata: Metadata,
    /// The whole object.
    pub body: Value,
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut body = Value::deserialize(deserializer)?;
        let metadata = match body.get("metadata") {
            Some(value) => Metadata::deserialize(value).map_err(serde::de::Error::custom)?,
            None => Metadata::default(),
        };
        if let Some(metadata) = body.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("managedFields");
        }
        Ok(Self { metadata, body })
    }
}

impl Object {
    /// The value at a JSON pointer such as `/spec/selector`; `Value::Null` if it is absent.
    pub fn get(&self, pointer: &str) -> &Value {
        self.body.pointer(pointer).unwrap_or(&Value::Null)
    }

    /// The text at a JSON pointer; empty if it is absent or not text.
    pub fn text(&self, pointer: &str) -> &str {
        self.get(pointer).as_str().unwrap_or_default()
    }

    /// The items of the list at a JSON pointer; none if it is absent or no list.
    pub fn items(&self, pointer: &str) -> &[Value] {
        self.get(pointer).as_array().map_or(&[], Vec::as_slice)
    }

    /// The condition of a type in `status.conditions`.
    pub fn condition(&self, kind: &str) -> Option<Condition> {
        let mut conditions = self.items("/status/conditions").iter();
        let value = conditions.find(|it| it["type"] == kind)?;
        Condition::deserialize(value).ok()
    }
}

/// A reference to an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectRef {
    /// The kind, such as `Pod`.
    pub kind: String,
    /// The namespace; empty for objects of the cluster.
    pub namespace: String,
    /// The name.
    pub name: String,
}

impl ObjectRef {
    /// A reference.
    pub fn new(kind: &str, namespace: &str, name: &str) -> Self {
        Self {
            kind: kind.to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    /// A reference to a node.
    pub fn node(name: &str) -> Self {
        Self::new("Node", "", name)
    }

    /// A reference to the object with this metadata.
    pub fn of_kind(kind: &str, metadata: &Metadata) -> Self {
        Self::new(kind, &metadata.namespace, &metadata.name)
    }

    /// The name with its namespace: `ml/train-0`.
    pub fn full_name(&self) -> String {
        match self.namespace.as_str() {
            "" => self.name.clone(),
            namespace => format!("{namespace}/{}", self.name),
        }
    }
}

impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.full_name())
    }
}
