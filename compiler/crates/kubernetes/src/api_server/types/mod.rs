//! The types of Kubernetes objects and custom resources: the fields of an object and the types of their values.

mod custom;
mod shape;

use std::collections::BTreeMap;
use std::sync::LazyLock;

pub use custom::definitions;
#[cfg(test)]
pub(super) use custom::places;
pub(super) use custom::{Expression, defined_by, expressions, is_custom};
pub(super) use shape::walk;

/// The type of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Type {
    /// Any value.
    Any,
    /// A string.
    Text,
    /// A Boolean.
    Switch,
    /// An integer with this number of bits.
    Whole(u32),
    /// Any number.
    Number,
    /// An integer or a string.
    NumberOrText,
    /// A quantity.
    Amount,
    /// A list.
    List(Box<Type>),
    /// A map with arbitrary keys.
    Map(Box<Type>),
    /// An object of this type.
    Object(&'static str),
}

/// A field of a type.
#[derive(Clone, Debug)]
pub(super) struct Field {
    pub(super) name: &'static str,
    /// Whether the field is required.
    pub(super) is_needed: bool,
    pub(super) holds: Type,
    /// Further constraints of the CRD.
    pub(super) limits: Limits,
    /// The default that the API server sets.
    pub(super) given: Option<Given>,
}

/// A default in a CRD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Given {
    /// An empty object, whose fields can have defaults.
    Object,
    Text(&'static str),
    Whole(i64),
    Switch(bool),
}

/// Further constraints of a value or a list item.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Limits {
    pub(super) least: Option<i128>,
    pub(super) most: Option<i128>,
    /// Whether it must not be empty.
    pub(super) is_filled: bool,
    /// Whether it is the name of an object.
    pub(super) is_name: bool,
    /// The maximum number of items or keys.
    pub(super) many: Option<usize>,
    /// The maximum number of characters, of the value and of each item.
    pub(super) long: Option<usize>,
    pub(super) each_long: Option<usize>,
    /// The pattern of the value and of each item.
    pub(super) pattern: Option<&'static str>,
    pub(super) each_pattern: Option<&'static str>,
    /// The enumerated values; empty if any value is allowed.
    pub(super) words: Vec<&'static str>,
}

/// Derived from the definitions of the newest version by `needs_upstream::api_types`. Fields that an older cluster
/// version does not have are not reported.
const TEXT: &str = include_str!("kubernetes.types");

/// Fields that exist only in older versions.
///
/// Source: kubernetes-validate 1.37.0, the definitions of 1.33 to 1.37; `needs_upstream::api_types` looks.
pub static GONE: &[(&str, &str)] = &[("PodSpec", "workloadRef")];

/// Required fields that other tools add: kustomize sets selectors.
///
/// Source: kubernetes-sigs/kustomize `api/internal/konfig/builtinpluginconsts/commonlabels.go` (from memory).
const BROUGHT: &[&str] = &["selector"];

static TYPES: LazyLock<BTreeMap<&'static str, Vec<Field>>> = LazyLock::new(|| {
    let mut types: BTreeMap<_, Vec<Field>> = BTreeMap::new();
    let mut name = "";
    let lines = TEXT.lines().chain(custom::TEXT.lines());
    for line in lines.filter(|line| !line.starts_with(['#', '@'])) {
        match line.strip_prefix("  ") {
            None => {
                name = line;
                types.insert(name, Vec::new());
            }
            Some(field) => {
                let (field, given) = field.split_once(" := ").unwrap_or((field, ""));
                let (field, rest) = field.split_once(' ').unwrap_or((field, "any"));
                let (holds, limits) = rest.split_once(' ').unwrap_or((rest, ""));
                let fields = types.entry(name).or_default();
                fields.push(Field {
                    name: field.trim_end_matches('!'),
                    is_needed: field.ends_with('!')
                        && !BROUGHT.contains(&field.trim_end_matches('!')),
                    holds: holds_of(holds),
                    limits: limits_of(limits),
                    given: given_of(given),
                });
            }
        }
    }
    types
});

/// `>= 0 <= 9 filled subdomain many 8 long 63 ~ ^a+$ each-long 63 each~ ^a+$ = A B`, of each what there is.
fn limits_of(text: &'static str) -> Limits {
    let mut limits = Limits::default();
    let mut parts = text.split_whitespace();
    while let Some(part) = parts.next() {
        match part {
            ">=" => limits.least = parts.next().and_then(|it| it.parse().ok()),
            "<=" => limits.most = parts.next().and_then(|it| it.parse().ok()),
            "filled" => limits.is_filled = true,
            "subdomain" => limits.is_name = true,
            "many" => limits.many = parts.next().and_then(|it| it.parse().ok()),
            "long" => limits.long = parts.next().and_then(|it| it.parse().ok()),
            "each-long" => limits.each_long = parts.next().and_then(|it| it.parse().ok()),
            "~" => limits.pattern = parts.next(),
            "each~" => limits.each_pattern = parts.next(),
            "=" => limits.words = parts.by_ref().collect(),
            _ => {}
        }
    }
    limits
}

/// Parses a default from JSON.
fn given_of(text: &'static str) -> Option<Given> {
    let quoted = text.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
    match text {
        "{}" => Some(Given::Object),
        "true" | "false" => Some(Given::Switch(text == "true")),
        _ => quoted
            .map(Given::Text)
            .or_else(|| text.parse().ok().map(Given::Whole)),
    }
}

fn holds_of(text: &'static str) -> Type {
    let inner = |open: char, close: char| text.strip_prefix(open)?.strip_suffix(close);
    match text {
        "any" => Type::Any,
        "text" => Type::Text,
        "switch" => Type::Switch,
        "int32" => Type::Whole(32),
        "int64" => Type::Whole(64),
        "number" => Type::Number,
        "number-or-text" => Type::NumberOrText,
        "amount" => Type::Amount,
        _ => match (inner('[', ']'), inner('{', '}')) {
            (Some(item), _) => Type::List(Box::new(holds_of(item))),
            (_, Some(value)) => Type::Map(Box::new(holds_of(value))),
            _ => Type::Object(text),
        },
    }
}

/// Whether a field exists only in older versions.
pub(super) fn is_gone(name: &str, field: &str) -> bool {
    GONE.contains(&(name, field))
}

/// The constraints of all fields.
#[cfg(test)]
pub(super) fn limits() -> impl Iterator<Item = &'static Limits> {
    TYPES.values().flatten().map(|it| &it.limits)
}

/// The fields of a type; none for an unknown type.
pub(super) fn fields(name: &str) -> &'static [Field] {
    TYPES.get(name).map_or(&[], Vec::as_slice)
}

/// Objects by `apiVersion` and kind; the kind is the name of the type.
const OBJECTS: &[(&str, &str)] = &[
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
const OLDER: (&str, &str, &str) = (
    "autoscaling/v1",
    "HorizontalPodAutoscaler",
    "v1.HorizontalPodAutoscaler",
);

/// The API versions that the CRD of a kind serves in a group, newest last; none for an unknown kind.
pub(super) fn versions(group: &str, kind: &str) -> Vec<&'static str> {
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
pub(super) fn of_object(api_version: &str, kind: &str) -> Option<&'static str> {
    if (OLDER.0, OLDER.1) == (api_version, kind) {
        return Some(OLDER.2);
    }
    let mut objects = OBJECTS.iter();
    let found = objects.find(|it| **it == (api_version, kind));
    let custom = || TYPES.get_key_value(format!("{api_version}/{kind}").as_str());
    found.map(|(_, name)| *name).or_else(|| Some(*custom()?.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn referenced_types_exist() {
        fn named(holds: &Type) -> Option<&'static str> {
            match holds {
                Type::List(inner) | Type::Map(inner) => named(inner),
                Type::Object(name) => Some(name),
                _ => None,
            }
        }
        let all: Vec<_> = TYPES.values().flatten().collect();
        assert!(all.len() > 600);
        for name in all.iter().filter_map(|field| named(&field.holds)) {
            assert!(TYPES.contains_key(name), "{name}");
        }
        assert_eq!(
            limits_of(
                ">= 1 <= 9 filled subdomain many 8 long 63 ~ ^a+$ each-long 5 each~ ^b$ = A B"
            ),
            Limits {
                least: Some(1),
                most: Some(9),
                is_filled: true,
                is_name: true,
                many: Some(8),
                long: Some(63),
                each_long: Some(5),
                pattern: Some("^a+$"),
                each_pattern: Some("^b$"),
                words: vec!["A", "B"],
            }
        );
        let given = ["", "{}", "false", "3", "\"\"", "\"a b\""].map(given_of);
        let some = [
            Given::Object,
            Given::Switch(false),
            Given::Whole(3),
            Given::Text(""),
            Given::Text("a b"),
        ];
        assert_eq!(given[0], None);
        assert_eq!(given[1..], some.map(Some));
        for (_, name) in OBJECTS {
            assert!(
                fields(name).iter().any(|it| it.name == "metadata"),
                "{name}"
            );
        }
        let container = fields("Container");
        let of = |name: &str| container.iter().find(|it| it.name == name).unwrap();
        assert_eq!(
            of("ports").holds,
            Type::List(Box::new(Type::Object("ContainerPort")))
        );
        assert!(of("name").is_needed && !of("image").is_needed);
    }
}
