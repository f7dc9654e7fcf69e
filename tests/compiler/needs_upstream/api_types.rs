//! The types and enumerations of Kubernetes, compared with the definitions that Kubernetes publishes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use gpuc_kubernetes::api_server::{ENUMS, REMOVED_FIELDS};
use gpuc_model::SUPPORTED;
use serde_json::{Value, json};

use super::assert_none;
use crate::external_data::{self, PYTHON, UPSTREAM};
use crate::support::{expect_file, repository};

pub(super) const FILE: &str = "compiler/crates/kubernetes/src/api_server/types/kubernetes.types";

/// The objects whose types are compared completely.
const ROOTS: &[&str] = &[
    "apps.v1.DaemonSet",
    "apps.v1.Deployment",
    "apps.v1.ReplicaSet",
    "apps.v1.StatefulSet",
    "autoscaling.v1.HorizontalPodAutoscaler",
    "autoscaling.v2.HorizontalPodAutoscaler",
    "batch.v1.CronJob",
    "batch.v1.Job",
    "core.v1.ConfigMap",
    "core.v1.LimitRange",
    "core.v1.Namespace",
    "core.v1.PersistentVolume",
    "core.v1.PersistentVolumeClaim",
    "core.v1.Pod",
    "core.v1.ReplicationController",
    "core.v1.ResourceQuota",
    "core.v1.Secret",
    "core.v1.Service",
    "core.v1.ServiceAccount",
    "networking.v1.Ingress",
    "networking.v1.NetworkPolicy",
    "node.v1.RuntimeClass",
    "policy.v1.PodDisruptionBudget",
    "rbac.v1.ClusterRole",
    "rbac.v1.ClusterRoleBinding",
    "rbac.v1.Role",
    "rbac.v1.RoleBinding",
    "scheduling.v1.PriorityClass",
    "storage.v1.StorageClass",
];

/// An API version that has types with the same names as a newer version. The file prefixes their names with the
/// version.
const OLDER_PREFIX: &str = "io.k8s.api.autoscaling.v1.";

fn definitions() -> Value {
    let text = external_data::text(UPSTREAM, "kubernetes/_definitions.json");
    let mut definitions: Value = serde_json::from_str(&text).unwrap();
    definitions["$defs"].take()
}

fn short_name(name: &str) -> &str {
    let name = name.rsplit('/').next().unwrap();
    let own = name.rsplit('.').next().unwrap();
    if name.starts_with(OLDER_PREFIX) {
        return &name[name.len() - own.len() - "v1.".len()..];
    }
    own
}

/// The notation of a field's type in the file. Referenced types are added to `to_do`.
fn field_type(schema: &Value, to_do: &mut Vec<String>) -> String {
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.rsplit('/').next().unwrap();
        return match short_name(name) {
            "Quantity" => "amount".to_owned(),
            "IntOrString" => "number-or-text".to_owned(),
            "Time" | "MicroTime" => "text".to_owned(),
            "FieldsV1" => "any".to_owned(),
            other => {
                to_do.push(name.to_owned());
                other.to_owned()
            }
        };
    }
    let kind = schema["type"]
        .as_str()
        .or_else(|| schema["type"][0].as_str());
    match kind.unwrap() {
        "string" => "text".to_owned(),
        "boolean" => "switch".to_owned(),
        "number" => "number".to_owned(),
        "integer" => schema["format"].as_str().unwrap_or("int64").to_owned(),
        "array" => format!("[{}]", field_type(&schema["items"], to_do)),
        "object" => match schema.get("additionalProperties") {
            Some(values) if values.is_object() => format!("{{{}}}", field_type(values, to_do)),
            _ => "any".to_owned(),
        },
        other => panic!("{other}"),
    }
}

#[test]
#[ignore = "needs GPUC_UPSTREAM"]
fn types_match_kubernetes() {
    let definitions = definitions();
    let mut to_do: Vec<_> = ROOTS
        .iter()
        .map(|root| format!("io.k8s.api.{root}"))
        .collect();
    let mut types = BTreeMap::new();
    while let Some(name) = to_do.pop() {
        if types.contains_key(short_name(&name)) {
            continue;
        }
        let definition = &definitions[&name];
        let needed = definition["required"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let mut text = String::new();
        for (field, schema) in definition["properties"].as_object().into_iter().flatten() {
            // Users do not set the status, so that its type is not compared.
            let holds = if field == "status" {
                "any".to_owned()
            } else {
                field_type(schema, &mut to_do)
            };
            let mark = if needed.contains(&Value::from(field.as_str())) {
                "!"
            } else {
                ""
            };
            writeln!(text, "  {field}{mark} {holds}").unwrap();
        }
        types.insert(short_name(&name).to_owned(), text);
    }
    let mut text = "# Kubernetes 1.37: the fields of what pods are and stand in, `!` after those that an object must \
                    have.\n# Derived by `needs_upstream::api_types`; see there.\n"
        .to_owned();
    for (name, fields) in types {
        text += &format!("{name}\n{fields}");
    }
    expect_file(FILE, &text);
}

/// The fields of every Kubernetes type in the file.
pub(super) fn known_fields(file: &str) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut types: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut name = "";
    for line in file.lines().filter(|line| !line.starts_with('#')) {
        match line
            .strip_prefix("  ")
            .and_then(|field| field.split_once(' '))
        {
            Some((field, _)) => {
                types
                    .entry(name)
                    .or_default()
                    .insert(field.trim_end_matches('!'));
            }
            None => name = line,
        }
    }
    types
}

/// The types are those of the newest version. `REMOVED_FIELDS` has the fields of older versions.
#[test]
#[ignore = "needs GPUC_PYTHON"]
fn removed_fields_are_listed() {
    let file = std::fs::read_to_string(repository().join(FILE)).unwrap();
    let types = known_fields(&file);
    let versions = SUPPORTED.start().0..=SUPPORTED.end().0;
    let versions: Vec<_> = versions.map(|minor| format!("1.{minor}")).collect();
    let python = external_data::path(PYTHON);
    let input = json!({"versions": versions});
    let answer = external_data::python(python.to_str().unwrap(), "kubernetes_fields.py", &input);
    let mut removed = BTreeSet::new();
    for it in answer.as_array().unwrap() {
        let name = it["type"].as_str().unwrap();
        let Some(known) = types.get(name) else {
            continue;
        };
        let fields = it["fields"].as_array().unwrap().iter();
        let fields = fields.map(|field| field.as_str().unwrap());
        removed.extend(
            fields
                .filter(|field| !known.contains(field))
                .map(|field| (name, field)),
        );
    }
    assert_eq!(removed, REMOVED_FIELDS.iter().copied().collect());
}

/// The scopes of a ResourceQuota.
const SCOPES: &[&str] = &[
    "BestEffort",
    "CrossNamespacePodAffinity",
    "NotBestEffort",
    "NotTerminating",
    "PriorityClass",
    "Terminating",
    "VolumeAttributesClass",
];

/// Values that are missing from a description, as in constants of `pkg/apis/core/types.go` and similar files (from
/// memory).
const UNDOCUMENTED_VALUES: &[(&str, &str, &[&str])] = &[
    ("Container", "restartPolicy", &["OnFailure", "Never"]),
    (
        "ContainerResizePolicy",
        "restartPolicy",
        &["RestartContainer"],
    ),
    ("HTTPGetAction", "scheme", &["HTTPS"]),
    (
        "HostPathVolumeSource",
        "type",
        &[
            "DirectoryOrCreate",
            "Directory",
            "FileOrCreate",
            "File",
            "Socket",
            "CharDevice",
            "BlockDevice",
        ],
    ),
    (
        "PersistentVolumeClaimSpec",
        "accessModes",
        &[
            "ReadWriteOnce",
            "ReadOnlyMany",
            "ReadWriteMany",
            "ReadWriteOncePod",
        ],
    ),
    ("PersistentVolumeClaimSpec", "volumeMode", &["Block"]),
    ("HPAScalingPolicy", "type", &["Pods", "Percent"]),
    ("HPAScalingRules", "selectPolicy", &["Min", "Disabled"]),
    (
        "LimitRangeItem",
        "type",
        &["Container", "Pod", "PersistentVolumeClaim"],
    ),
    (
        "PersistentVolumeSpec",
        "accessModes",
        &[
            "ReadWriteOnce",
            "ReadOnlyMany",
            "ReadWriteMany",
            "ReadWriteOncePod",
        ],
    ),
    ("PersistentVolumeSpec", "volumeMode", &["Block"]),
    ("ResourceQuotaSpec", "scopes", SCOPES),
    ("RoleRef", "kind", &["Role", "ClusterRole"]),
    ("ScopedResourceSelectorRequirement", "scopeName", SCOPES),
    ("StorageClass", "reclaimPolicy", &["Retain"]),
    (
        "StorageClass",
        "volumeBindingMode",
        &["Immediate", "WaitForFirstConsumer"],
    ),
    ("SecurityContext", "procMount", &["Unmasked"]),
    ("StatefulSetUpdateStrategy", "type", &["OnDelete"]),
    (
        "VolumeMount",
        "mountPropagation",
        &["HostToContainer", "Bidirectional"],
    ),
];

/// The phrases that begin a complete list of values in a description.
const LIST_PHRASES: &[&str] = &[
    "One of ",
    "Valid values are ",
    "Valid operators are ",
    "Valid options are ",
    "allowed values are ",
    "Must be ",
    "Supports ",
    "It can be ",
];

/// The values of a list, up to the first word that is not a value.
fn listed_values(text: &str) -> Vec<&str> {
    let marks = |c: char| !c.is_ascii_alphanumeric();
    let sentence = text.split('.').next().unwrap();
    let words = sentence.split(' ').map(|word| word.trim_matches(marks));
    let words = words.take_while(|word| {
        ["and", "or", "either"].contains(word) || word.starts_with(|c: char| c.is_ascii_uppercase())
    });
    words
        .filter(|word| word.starts_with(|c: char| c.is_ascii_uppercase()))
        .collect()
}

#[test]
#[ignore = "needs GPUC_UPSTREAM"]
fn enum_values_match_the_descriptions() {
    let definitions = definitions();
    let definitions = definitions.as_object().unwrap();
    let (mut wrong, mut lists) = (Vec::new(), 0);
    for (name, field, words) in ENUMS {
        let own = definitions.iter().filter(|(key, _)| {
            let own = [
                "io.k8s.api.core.v1",
                "io.k8s.api.apps.v1",
                "io.k8s.api.autoscaling.v2",
                "io.k8s.api.batch.v1",
                "io.k8s.api.networking.v1",
                "io.k8s.api.policy.v1",
                "io.k8s.api.rbac.v1",
                "io.k8s.api.scheduling.v1",
                "io.k8s.api.storage.v1",
            ];
            let own = own.iter().any(|group| **key == format!("{group}.{name}"));
            own || **key == format!("io.k8s.apimachinery.pkg.apis.meta.v1.{name}")
        });
        let mut description =
            own.map(|(_, it)| it["properties"][field]["description"].as_str().unwrap());
        let description = description
            .next()
            .unwrap_or_else(|| panic!("unknown type {name}"));
        let all: BTreeSet<_> = description
            .split(|c: char| !c.is_ascii_alphanumeric())
            .collect();
        let undocumented: Vec<_> = words
            .iter()
            .copied()
            .filter(|word| !all.contains(word))
            .collect();
        let known = UNDOCUMENTED_VALUES
            .iter()
            .find(|it| (it.0, it.1) == (*name, *field));
        if undocumented != known.map_or(&[][..], |it| it.2) {
            wrong.push(format!(
                "{name}.{field} has {undocumented:?}, which `{description}` does not mention"
            ));
        }
        for list in LIST_PHRASES {
            let Some((_, list)) = description.split_once(list) else {
                continue;
            };
            let more: Vec<_> = listed_values(list)
                .into_iter()
                .filter(|it| !words.contains(it))
                .collect();
            lists += listed_values(list).len();
            if !more.is_empty() {
                wrong.push(format!("{name}.{field} lacks {more:?}: `{description}`"));
            }
        }
    }
    assert_none(&wrong);
    assert!(lists > 30, "{lists}");
}
