//! The types of Kubernetes objects and custom resources: the fields of an object and the types of their values.

mod custom;
mod shape;

use std::collections::BTreeMap;
use std::sync::LazyLock;

#[cfg(test)]
pub(super) use custom::cel_rule_locations;
pub use custom::custom_groups;
pub(super) use custom::{CelRule, cel_rules, defining_project, is_custom_type};
pub(super) use shape::validate_value;

/// The type of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ValueType {
    /// Any value.
    Any,
    /// A string.
    Text,
    /// A Boolean.
    Bool,
    /// An integer with this number of bits.
    Integer(u32),
    /// Any number.
    Number,
    /// An integer or a string.
    IntOrString,
    /// A quantity.
    Quantity,
    /// A list.
    List(Box<ValueType>),
    /// A map with arbitrary keys.
    Map(Box<ValueType>),
    /// An object of this type.
    Object(&'static str),
}

/// A field of a type.
#[derive(Clone, Debug)]
pub(super) struct Field {
    pub(super) name: &'static str,
    /// Whether the field is required.
    pub(super) is_required: bool,
    pub(super) value_type: ValueType,
    /// Further constraints of the CRD.
    pub(super) constraints: FieldConstraints,
    /// The default that the API server sets.
    pub(super) default: Option<DefaultValue>,
}

/// A default in a CRD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DefaultValue {
    /// An empty object, whose fields can have defaults.
    Object,
    Text(&'static str),
    Integer(i64),
    Bool(bool),
}

/// Further constraints of a value or a list item.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FieldConstraints {
    pub(super) min: Option<i128>,
    pub(super) max: Option<i128>,
    /// Whether it must not be empty.
    pub(super) is_nonempty: bool,
    /// Whether it is the name of an object.
    pub(super) is_object_name: bool,
    /// The maximum number of items or keys.
    pub(super) max_items: Option<usize>,
    /// The maximum number of characters, of the value and of each item.
    pub(super) max_length: Option<usize>,
    pub(super) max_item_length: Option<usize>,
    /// The pattern of the value and of each item.
    pub(super) pattern: Option<&'static str>,
    pub(super) item_pattern: Option<&'static str>,
    /// The enumerated values; empty if any value is allowed.
    pub(super) allowed_values: Vec<&'static str>,
}

/// Derived from the definitions of the newest version by `needs_upstream::api_types`. Fields that an older cluster
/// version does not have are not reported.
const KUBERNETES_TYPES: &str = include_str!("kubernetes.types");

/// Fields that exist only in older versions.
///
/// Source: kubernetes-validate 1.37.0, the definitions of 1.33 to 1.37; `needs_upstream::api_types` looks.
pub static REMOVED_FIELDS: &[(&str, &str)] = &[("PodSpec", "workloadRef")];

/// Required fields that other tools add: kustomize sets selectors.
///
/// Source: kubernetes-sigs/kustomize `api/internal/konfig/builtinpluginconsts/commonlabels.go` (from memory).
const EXTERNALLY_SET_FIELDS: &[&str] = &["selector"];

static TYPES: LazyLock<BTreeMap<&'static str, Vec<Field>>> = LazyLock::new(|| {
    let mut types: BTreeMap<_, Vec<Field>> = BTreeMap::new();
    let mut name = "";
    let lines = KUBERNETES_TYPES.lines().chain(custom::CUSTOM_TYPES.lines());
    for line in lines.filter(|line| !line.starts_with(['#', '@'])) {
        match line.strip_prefix("  ") {
            None => {
                name = line;
                types.insert(name, Vec::new());
            }
            Some(field) => {
                let (field, default) = field.split_once(" := ").unwrap_or((field, ""));
                let (field, rest) = field.split_once(' ').unwrap_or((field, "any"));
                let (holds, limits) = rest.split_once(' ').unwrap_or((rest, ""));
                let fields = types.entry(name).or_default();
                fields.push(Field {
                    name: field.trim_end_matches('!'),
                    is_required: field.ends_with('!')
                        && !EXTERNALLY_SET_FIELDS.contains(&field.trim_end_matches('!')),
                    value_type: parse_type(holds),
                    constraints: parse_constraints(limits),
                    default: parse_default(default),
                });
            }
        }
    }
    types
});

/// `>= 0 <= 9 filled subdomain many 8 long 63 ~ ^a+$ each-long 63 each~ ^a+$ = A B`, of each what there is.
fn parse_constraints(text: &'static str) -> FieldConstraints {
    let mut limits = FieldConstraints::default();
    let mut parts = text.split_whitespace();
    while let Some(part) = parts.next() {
        match part {
            ">=" => limits.min = parts.next().and_then(|it| it.parse().ok()),
            "<=" => limits.max = parts.next().and_then(|it| it.parse().ok()),
            "filled" => limits.is_nonempty = true,
            "subdomain" => limits.is_object_name = true,
            "many" => limits.max_items = parts.next().and_then(|it| it.parse().ok()),
            "long" => limits.max_length = parts.next().and_then(|it| it.parse().ok()),
            "each-long" => limits.max_item_length = parts.next().and_then(|it| it.parse().ok()),
            "~" => limits.pattern = parts.next(),
            "each~" => limits.item_pattern = parts.next(),
            "=" => limits.allowed_values = parts.by_ref().collect(),
            _ => {}
        }
    }
    limits
}

/// Parses a default from JSON.
fn parse_default(text: &'static str) -> Option<DefaultValue> {
    let quoted = text.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
    match text {
        "{}" => Some(DefaultValue::Object),
        "true" | "false" => Some(DefaultValue::Bool(text == "true")),
        _ => quoted
            .map(DefaultValue::Text)
            .or_else(|| text.parse().ok().map(DefaultValue::Integer)),
    }
}

fn parse_type(text: &'static str) -> ValueType {
    let inner = |open: char, close: char| text.strip_prefix(open)?.strip_suffix(close);
    match text {
        "any" => ValueType::Any,
        "text" => ValueType::Text,
        "switch" => ValueType::Bool,
        "int32" => ValueType::Integer(32),
        "int64" => ValueType::Integer(64),
        "number" => ValueType::Number,
        "number-or-text" => ValueType::IntOrString,
        "amount" => ValueType::Quantity,
        _ => match (inner('[', ']'), inner('{', '}')) {
            (Some(item), _) => ValueType::List(Box::new(parse_type(item))),
            (_, Some(value)) => ValueType::Map(Box::new(parse_type(value))),
            _ => ValueType::Object(text),
        },
    }
}

/// Whether a field exists only in older versions.
pub(super) fn is_removed_field(name: &str, field: &str) -> bool {
    REMOVED_FIELDS.contains(&(name, field))
}

/// The constraints of all fields.
#[cfg(test)]
pub(super) fn all_constraints() -> impl Iterator<Item = &'static FieldConstraints> {
    TYPES.values().flatten().map(|it| &it.constraints)
}

/// The fields of a type; none for an unknown type.
pub(super) fn fields_of_type(name: &str) -> &'static [Field] {
    TYPES.get(name).map_or(&[], Vec::as_slice)
}

/// Objects by `apiVersion` and kind; the kind is the name of the type.
const OBJECT_TYPES: &[(&str, &str)] = &[
    ("v1", "ConfigMap"),
    ("v1", "LimitRange"),
    ("v1", "Namespace"),
    ("v1", "PersistentVolume"),
    ("v1", "PersistentVolumeClaim"),
    ("v1", "Pod"),
    ("v1", "ReplicationController"),
    ("v1", "ResourceQuota"),
    ("v1", "Secret"),
    ("v1", "Service"),
    ("v1", "ServiceAccount"),
    ("apps/v1", "Deployment"),
    ("apps/v1", "StatefulSet"),
    ("apps/v1", "DaemonSet"),
    ("apps/v1", "ReplicaSet"),
    ("batch/v1", "Job"),
    ("batch/v1", "CronJob"),
    ("autoscaling/v2", "HorizontalPodAutoscaler"),
    ("networking.k8s.io/v1", "Ingress"),
    ("networking.k8s.io/v1", "NetworkPolicy"),
    ("node.k8s.io/v1", "RuntimeClass"),
    ("policy/v1", "PodDisruptionBudget"),
    ("rbac.authorization.k8s.io/v1", "ClusterRole"),
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"),
    ("rbac.authorization.k8s.io/v1", "Role"),
    ("rbac.authorization.k8s.io/v1", "RoleBinding"),
    ("scheduling.k8s.io/v1", "PriorityClass"),
    ("storage.k8s.io/v1", "StorageClass"),
];

/// Objects of older API versions whose type names differ: `apiVersion`, kind and type.
const AUTOSCALING_V1: (&str, &str, &str) = (
    "autoscaling/v1",
    "HorizontalPodAutoscaler",
    "v1.HorizontalPodAutoscaler",
);

/// The API versions that the CRD of a kind serves in a group, newest last; none for an unknown kind.
pub(super) fn known_versions(group: &str, kind: &str) -> Vec<&'static str> {
    let names = TYPES.keys().filter_map(|name| name.rsplit_once('/'));
    names
        .filter(|(version, name)| {
            let is_in_group = version.split_once('/').is_some_and(|it| it.0 == group);
            is_in_group && *name == kind
        })
        .map(|(version, _)| version)
        .collect()
}

/// The type of an object, if it is a known built-in or custom kind.
pub(super) fn object_type_name(api_version: &str, kind: &str) -> Option<&'static str> {
    if (AUTOSCALING_V1.0, AUTOSCALING_V1.1) == (api_version, kind) {
        return Some(AUTOSCALING_V1.2);
    }
    let mut objects = OBJECT_TYPES.iter();
    let found = objects.find(|it| **it == (api_version, kind));
    let custom = || TYPES.get_key_value(format!("{api_version}/{kind}").as_str());
    found.map(|(_, name)| *name).or_else(|| Some(*custom()?.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn referenced_types_exist() {
        fn named(holds: &ValueType) -> Option<&'static str> {
            match holds {
                ValueType::List(inner) | ValueType::Map(inner) => named(inner),
                ValueType::Object(name) => Some(name),
                _ => None,
            }
        }
        let all: Vec<_> = TYPES.values().flatten().collect();
        assert!(all.len() > 600);
        for name in all.iter().filter_map(|field| named(&field.value_type)) {
            assert!(TYPES.contains_key(name), "{name}");
        }
        assert_eq!(
            parse_constraints(
                ">= 1 <= 9 filled subdomain many 8 long 63 ~ ^a+$ each-long 5 each~ ^b$ = A B"
            ),
            FieldConstraints {
                min: Some(1),
                max: Some(9),
                is_nonempty: true,
                is_object_name: true,
                max_items: Some(8),
                max_length: Some(63),
                max_item_length: Some(5),
                pattern: Some("^a+$"),
                item_pattern: Some("^b$"),
                allowed_values: vec!["A", "B"],
            }
        );
        let default = ["", "{}", "false", "3", "\"\"", "\"a b\""].map(parse_default);
        let some = [
            DefaultValue::Object,
            DefaultValue::Bool(false),
            DefaultValue::Integer(3),
            DefaultValue::Text(""),
            DefaultValue::Text("a b"),
        ];
        assert_eq!(default[0], None);
        assert_eq!(default[1..], some.map(Some));
        for (_, name) in OBJECT_TYPES {
            assert!(
                fields_of_type(name).iter().any(|it| it.name == "metadata"),
                "{name}"
            );
        }
        let container = fields_of_type("Container");
        let of = |name: &str| container.iter().find(|it| it.name == name).unwrap();
        assert_eq!(
            of("ports").value_type,
            ValueType::List(Box::new(ValueType::Object("ContainerPort")))
        );
        assert!(of("name").is_required && !of("image").is_required);
    }
}
