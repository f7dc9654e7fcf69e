//! The types of custom resources, derived from the CRDs that their projects publish.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;

use gpuc_kubernetes::api_server::REMOVED_FIELDS;
use serde_json::Value;

use super::api_types::{self, known_fields};
use crate::external_data::{self, UPSTREAM};
use crate::support::{expect_file, repository};

const FILE: &str = "compiler/crates/kubernetes/src/api_server/types/custom.types";
const RULES: &str = "compiler/crates/kubernetes/src/api_server/types/custom.rules";

/// The projects whose CRDs are read: folder, name and kinds.
const PROJECTS: &[(&str, &str, &[&str])] = &[
    ("jobset.x-k8s.io", "JobSet", &["JobSet"]),
    ("kubeflow.org", "Training Operator", &["PyTorchJob"]),
    (
        "kueue.x-k8s.io",
        "Kueue",
        &[
            "AdmissionCheck",
            "ClusterQueue",
            "Cohort",
            "LocalQueue",
            "ResourceFlavor",
            "Topology",
            "WorkloadPriorityClass",
        ],
    ),
    (
        "leaderworkerset.x-k8s.io",
        "LeaderWorkerSet",
        &["LeaderWorkerSet"],
    ),
    (
        "trainer.kubeflow.org",
        "Kubeflow Trainer",
        &["ClusterTrainingRuntime", "TrainJob", "TrainingRuntime"],
    ),
    ("volcano.sh", "Volcano", &["Job", "PodGroup", "Queue"]),
];

/// Required fields that the projects' webhooks set before validation.
///
/// Sources: kubernetes-sigs/lws `pkg/webhooks/leaderworkerset_webhook.go` and kubernetes-sigs/jobset
/// `pkg/webhooks/jobset_webhook.go`, `Default` (from memory).
const WEBHOOK_DEFAULTS: &[(&str, &str)] = &[
    ("LeaderWorkerSet.spec.networkConfig", "subdomainPolicy"),
    ("JobSet.spec.failurePolicy.rules", "name"),
    (
        "TrainingRuntime.spec.template.spec.failurePolicy.rules",
        "name",
    ),
];

/// Types of Kubernetes that CRDs contain inline. A schema has this type if it has most of the fields and no other.
const INLINED_TYPES: &[&str] = &[
    "Affinity",
    "EnvVar",
    "JobSpec",
    "LabelSelector",
    "PersistentVolumeClaimSpec",
    "PodSecurityContext",
    "PodSpec",
    "ResourceRequirements",
    "SecurityContext",
    "Toleration",
    "Volume",
    "VolumeMount",
];

/// Wrapper types with a single field of one of these types.
const WRAPPER_TYPES: &[(&str, &str)] = &[
    ("JobTemplateSpec", "JobSpec"),
    ("PersistentVolumeClaim", "PersistentVolumeClaimSpec"),
    ("PodTemplateSpec", "PodSpec"),
];

/// The pattern for names of objects in CRDs.
const SUBDOMAIN_PATTERN: &str =
    r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";

struct Types<'k> {
    kubernetes: BTreeMap<&'k str, BTreeSet<&'k str>>,
    own: BTreeMap<String, String>,
    /// The rules, by location.
    rules: BTreeMap<String, String>,
}

impl Types<'_> {
    /// The type of Kubernetes that the schema of an object contains inline.
    fn inlined_type(&self, schema: &Value) -> Option<&'static str> {
        let properties = schema["properties"].as_object()?;
        let has = |name: &str| properties.contains_key(name);
        if has("annotations") && has("labels") {
            return Some("ObjectMeta");
        }
        let is = |name: &&&str| {
            let fields = &self.kubernetes[**name];
            let is_known = |it: &str| fields.contains(it) || REMOVED_FIELDS.contains(&(**name, it));
            let known = properties.keys().all(|it| is_known(it));
            known && properties.len() * 2 > fields.len()
        };
        let around = WRAPPER_TYPES
            .iter()
            .filter(|_| has("spec") && has("metadata"));
        let mut around =
            around.filter(|it| self.inlined_type(&schema["properties"]["spec"]) == Some(it.1));
        let around = around.next().map(|it| it.0);
        around.or_else(|| INLINED_TYPES.iter().find(is).copied())
    }

    /// The notation of a field's type in the file.
    fn field_type(&mut self, schema: &Value, name: &str) -> String {
        if schema["x-kubernetes-int-or-string"] == true {
            let is_amount = schema.get("pattern").is_some();
            return if is_amount {
                "amount"
            } else {
                "number-or-text"
            }
            .to_owned();
        }
        match schema["type"].as_str() {
            None => "any".to_owned(),
            Some("string") => "text".to_owned(),
            Some("boolean") => "switch".to_owned(),
            Some("number") => "number".to_owned(),
            Some("integer") => schema["format"].as_str().unwrap_or("int64").to_owned(),
            Some("array") => format!("[{}]", self.field_type(&schema["items"], name)),
            Some("object") => {
                if schema["x-kubernetes-preserve-unknown-fields"] == true {
                    return "any".to_owned();
                }
                if let Some(values) = schema.get("additionalProperties") {
                    return format!("{{{}}}", self.field_type(values, name));
                }
                if name.ends_with(".metadata") {
                    return "ObjectMeta".to_owned();
                }
                if let Some(known) = self.inlined_type(schema) {
                    return known.to_owned();
                }
                self.add_object(schema, name);
                name.to_owned()
            }
            Some(other) => panic!("{other}"),
        }
    }

    /// Records the rules of a value.
    fn keep_rules(&mut self, schema: &Value, location: &str) {
        let mut text = String::new();
        for (rule, message) in creation_rules(schema) {
            writeln!(text, "  ! {message}\n  {rule}").unwrap();
        }
        if !text.is_empty() {
            self.rules.insert(location.to_owned(), text);
        }
    }

    fn add_object(&mut self, schema: &Value, name: &str) {
        let needed = schema["required"].as_array().cloned().unwrap_or_default();
        let mut text = String::new();
        for (field, schema) in schema["properties"].as_object().into_iter().flatten() {
            let holds = if field == "status" {
                "any".to_owned()
            } else {
                self.field_type(schema, &format!("{name}.{field}"))
            };
            let is_needed = needed.contains(&Value::from(field.as_str()))
                && schema.get("default").is_none()
                && !WEBHOOK_DEFAULTS
                    .iter()
                    .any(|it| name.ends_with(it.0) && field == it.1);
            let mark = if is_needed { "!" } else { "" };
            writeln!(
                text,
                "  {field}{mark} {holds}{}{}",
                field_limits(schema),
                default_value(schema)
            )
            .unwrap();
            if field != "status" {
                self.keep_rules(schema, &format!("{name}.{field}"));
                self.keep_rules(&schema["items"], &format!("{name}.{field}[]"));
            }
        }
        let before = self.own.insert(name.to_owned(), text.clone());
        assert!(
            before.is_none_or(|before| before == text),
            "{name} has two definitions"
        );
    }
}

/// The other constraints of a field.
fn field_limits(schema: &Value) -> String {
    let mut text = String::new();
    let item = &schema["items"];
    let words = schema["enum"].as_array().or(item["enum"].as_array());
    if let Some(least) = schema["minimum"].as_i64() {
        write!(text, " >= {least}").unwrap();
    }
    if let Some(most) = schema["maximum"].as_i64() {
        write!(text, " <= {most}").unwrap();
    }
    if schema["minItems"].as_i64() >= Some(1) || schema["minLength"].as_i64() >= Some(1) {
        text += " filled";
    }
    // An empty object lacks a required field, and the finding is about that field.
    if schema["minProperties"].as_i64() >= Some(1) && schema.get("required").is_none() {
        text += " filled";
    }
    if schema["pattern"] == SUBDOMAIN_PATTERN {
        text += " subdomain";
    }
    let many = schema["maxItems"]
        .as_u64()
        .or(schema["maxProperties"].as_u64());
    for (key, value) in [
        ("many", many),
        ("long", schema["maxLength"].as_u64()),
        ("each-long", item["maxLength"].as_u64()),
    ] {
        if let Some(value) = value {
            write!(text, " {key} {value}").unwrap();
        }
    }
    for (key, schema) in [("~", schema), ("each~", item)] {
        let is_text = schema["type"] == "string" && schema["pattern"] != SUBDOMAIN_PATTERN;
        let of_items = schema["type"] == "string" && key == "each~";
        if let Some(pattern) = schema["pattern"].as_str().filter(|_| is_text || of_items) {
            assert!(!pattern.contains(' '), "{pattern}");
            write!(text, " {key} {pattern}").unwrap();
        }
    }
    let words = words.into_iter().flatten().filter_map(Value::as_str);
    let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
    if !words.is_empty() {
        write!(text, " = {}", words.join(" ")).unwrap();
    }
    text
}

/// The API server's defaults.
fn default_value(schema: &Value) -> String {
    let Some(given) = schema.get("default") else {
        return String::new();
    };
    // No rule reads default mount paths.
    if given.as_str().is_some_and(|it| it.starts_with('/')) {
        return String::new();
    }
    let is_empty = given.as_object().is_some_and(serde_json::Map::is_empty);
    let is_plain = given.is_string() || given.is_boolean() || given.is_i64();
    assert!(is_empty || is_plain, "{given}");
    format!(" := {given}")
}

/// The validation rules of a value that apply to creation, each with its message. Rules with `oldSelf` apply only to
/// updates.
fn creation_rules(schema: &Value) -> Vec<(String, String)> {
    let rules = schema["x-kubernetes-validations"].as_array();
    let rules = rules.into_iter().flatten();
    let rules = rules.filter(|it| !it["rule"].as_str().unwrap().contains("oldSelf"));
    let text = |value: &Value| {
        let text = value.as_str().unwrap().trim();
        assert!(!text.contains('\n'), "{text}");
        text.to_owned()
    };
    rules
        .map(|it| {
            assert!(it.get("messageExpression").is_none(), "{it}");
            (text(&it["rule"]), text(&it["message"]))
        })
        .collect()
}

/// The number of validation rules for creation in a schema, including rules in unknown parts.
fn count_rules(schema: &Value) -> usize {
    let below: usize = match schema {
        Value::Object(fields) => {
            let fields = fields.iter().filter(|(key, _)| *key != "status");
            fields.map(|(_, it)| count_rules(it)).sum()
        }
        Value::Array(items) => items.iter().map(count_rules).sum(),
        _ => 0,
    };
    below + creation_rules(schema).len()
}

/// The CRDs of a project, and the content of `SOURCE` next to them.
fn definitions(folder: &str) -> (Vec<Value>, String) {
    let folder = external_data::path(UPSTREAM).join("crds").join(folder);
    let mut files: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|it| it.unwrap().path())
        .collect();
    files.sort();
    let files = files
        .iter()
        .filter(|path| path.extension().is_some_and(|it| it == "yaml"));
    let files = files.map(|path| serde_yaml::from_str(&fs::read_to_string(path).unwrap()).unwrap());
    (
        files.collect(),
        fs::read_to_string(folder.join("SOURCE")).unwrap(),
    )
}

#[test]
#[ignore = "needs GPUC_UPSTREAM"]
fn types_match_the_crds() {
    let kubernetes = fs::read_to_string(repository().join(api_types::FILE)).unwrap();
    let mut text = "# Custom resources: the fields of each, `!` after those that an object must have, and what else \
                    their definitions say.\n# Derived by `needs_upstream::custom_types`; see there.\n"
        .to_owned();
    let mut rules = BTreeMap::new();
    let mut counted = 0;
    for (folder, project, kinds) in PROJECTS {
        let (definitions, source) = definitions(folder);
        let source_field = |key: &str| {
            let mut lines = source.lines().filter_map(|line| line.strip_prefix(key));
            lines.next().unwrap().trim().to_owned()
        };
        let (repository, commit) = (source_field("repo:"), source_field("commit:"));
        let repository = repository.trim_start_matches("https://github.com/");
        let mut types = Types {
            kubernetes: known_fields(&kubernetes),
            own: BTreeMap::new(),
            rules: BTreeMap::new(),
        };
        let mut groups = BTreeSet::new();
        let mut found = BTreeSet::new();
        for definition in &definitions {
            let spec = &definition["spec"];
            let kind = spec["names"]["kind"].as_str().unwrap();
            if !kinds.contains(&kind) {
                continue;
            }
            found.insert(kind);
            let group = spec["group"].as_str().unwrap();
            groups.insert(group);
            for version in spec["versions"].as_array().unwrap() {
                if version["served"] == true {
                    let name = format!("{group}/{}/{kind}", version["name"].as_str().unwrap());
                    let schema = &version["schema"]["openAPIV3Schema"];
                    types.add_object(schema, &name);
                    types.keep_rules(schema, &name);
                    counted += count_rules(schema);
                }
            }
        }
        assert_eq!(found.len(), kinds.len(), "{project}: {found:?}");
        let version = source_field("ref:");
        for group in groups {
            writeln!(
                text,
                "@ {group} {project} {}\n# {repository}@{}",
                version.trim_start_matches('v'),
                &commit[..8]
            )
            .unwrap();
        }
        rules.extend(types.rules);
        for (name, fields) in types.own {
            text += &format!("{name}\n{fields}");
        }
    }
    expect_file(FILE, &text);
    let mut text = "# The rules that definitions of custom resources say in CEL, of objects that are made: what is said, \
                    and the rule. Those that speak of `oldSelf` are about changes.\n# Derived by \
                    `needs_upstream::custom_types`; see there.\n"
        .to_owned();
    let kept: usize = rules.values().map(|it| it.lines().count() / 2).sum();
    assert_eq!(
        kept, counted,
        "some rules are in Kubernetes' own types and would be lost"
    );
    for (location, rules) in rules {
        text += &format!("{location}\n{rules}");
    }
    expect_file(RULES, &text);
}
