//! Every object is valid, without unknown fields, according to Kubernetes' strict JSON Schema or the CRD of a custom
//! resource.

use std::collections::BTreeMap;

use jsonschema::{Registry, Validator};
use serde_json::{Value, json};

use super::{assert_none, crds};
use crate::corpus::cases;
use crate::external_data::{self, PYTHON, UPSTREAM};

const DEFINITIONS: &str = "https://kubernetes.invalid/_definitions.json";

/// Every distinct object of every case, with its origin for messages.
fn objects() -> Vec<(String, Value)> {
    let mut objects = BTreeMap::new();
    for case in cases() {
        for object in &case.plan().objects {
            let value = serde_json::to_value(&object.node).unwrap();
            let name = format!("{}: {:?}", case.name, object.identity);
            objects.entry(value.to_string()).or_insert((name, value));
        }
    }
    objects.into_values().collect()
}

/// The objects, and one with a misspelled field, which must be reported.
fn objects_with_mistake() -> Vec<(String, Value)> {
    let mut objects = objects();
    let is_daemon_set = |value: &Value| value["kind"] == "DaemonSet";
    let daemon_set = objects.iter().find(|(_, value)| is_daemon_set(value));
    let mut wrong = daemon_set.unwrap().1.clone();
    wrong["spec"]["template"]["spec"]["tolerationz"] = json!([]);
    objects.push((MISTAKE.to_owned(), wrong));
    let custom = objects.iter().find(|(_, value)| is_custom(value));
    let mut wrong = custom.unwrap().1.clone();
    wrong["spec"]["grops"] = json!([]);
    objects.push((MISTAKE.to_owned(), wrong));
    objects
}

/// Whether an object is a custom resource. Groups of Kubernetes are a single word or end in `k8s.io`.
fn is_custom(value: &Value) -> bool {
    let version = value["apiVersion"].as_str().unwrap();
    let group = version.split_once('/').map_or("", |(group, _)| group);
    group.contains('.') && !group.ends_with(".k8s.io")
}

const MISTAKE: &str = "the mistake";

/// The names of Kubernetes' definitions by kind, such as `apps/v1 DaemonSet`.
fn definitions(schema: &Value) -> BTreeMap<String, String> {
    let mut names = BTreeMap::new();
    for (name, definition) in schema["$defs"].as_object().unwrap() {
        let kinds = definition["x-kubernetes-group-version-kind"].as_array();
        for kind in kinds.into_iter().flatten() {
            let part = |key: &str| kind[key].as_str().unwrap_or_default().to_owned();
            let version = match part("group").as_str() {
                "" => part("version"),
                group => format!("{group}/{}", part("version")),
            };
            names.insert(format!("{version} {}", part("kind")), name.clone());
        }
    }
    names
}

/// The schema of CoreWeave's NodePool, whose CRD is not published.
///
/// Source: <https://docs.coreweave.com/docs/products/cks/reference/node-pool>, 2026-11-29.
fn coreweave_node_pool() -> Value {
    let texts = json!({"type": "object", "additionalProperties": {"type": "string"}});
    let taint = json!({
        "type": "object", "required": ["key", "effect"], "additionalProperties": false,
        "properties": {
            "key": {"type": "string"}, "value": {"type": "string"},
            "effect": {"enum": ["NoSchedule", "PreferNoSchedule", "NoExecute"]},
        },
    });
    json!({
        "type": "object", "required": ["apiVersion", "kind", "metadata", "spec"],
        "properties": {"spec": {
            "type": "object", "required": ["instanceType", "targetNodes"], "additionalProperties": false,
            "properties": {
                "computeClass": {"enum": ["default"]}, "instanceType": {"type": "string"},
                "targetNodes": {"type": "integer"}, "minNodes": {"type": "integer"},
                "maxNodes": {"type": "integer"}, "autoscaling": {"type": "boolean"}, "nodeLabels": texts,
                "nodeAnnotations": texts, "nodeTaints": {"type": "array", "items": taint},
            },
        }},
    })
}

#[test]
#[ignore = "needs GPUC_UPSTREAM"]
fn objects_match_the_schema_of_kubernetes() {
    let mut schema = external_data::json(UPSTREAM, "kubernetes/_definitions.json");
    schema["$id"] = json!(DEFINITIONS);
    let names = definitions(&schema);
    let registry = Registry::new().add(DEFINITIONS, &schema).unwrap();
    let registry = registry.prepare().unwrap();
    let definitions_of_others = crds::schemas();
    let mut validators: BTreeMap<String, Validator> = BTreeMap::new();
    let mut wrong = Vec::new();
    for (name, value) in objects_with_mistake() {
        let part = |key: &str| value[key].as_str().unwrap().to_owned();
        let kind = format!("{} {}", part("apiVersion"), part("kind"));
        let root = match names.get(&kind) {
            Some(definition) => json!({"$ref": format!("{DEFINITIONS}#/$defs/{definition}")}),
            None => match definitions_of_others.get(&kind) {
                Some(schema) => schema.clone(),
                None if kind == "compute.coreweave.com/v1alpha1 NodePool" => coreweave_node_pool(),
                None => panic!("no definition or CRD for {kind}"),
            },
        };
        let validator = validators.entry(kind).or_insert_with(|| {
            let options = jsonschema::options().with_registry(&registry);
            options.build(&root).unwrap()
        });
        let errors = validator.iter_errors(&value);
        wrong.extend(errors.map(|error| format!("{name}: {}: {error}", error.instance_path())));
    }
    let (mistakes, wrong): (Vec<_>, Vec<_>) = wrong
        .into_iter()
        .partition(|line: &String| line.starts_with(MISTAKE));
    assert_eq!(mistakes.len(), 2, "{mistakes:?}");
    assert!(mistakes[0].contains("tolerationz"), "{mistakes:?}");
    assert!(mistakes[1].contains("grops"), "{mistakes:?}");
    assert_none(&wrong);
}

/// The oldest version that gpuc supports, and the newest version in the package.
const VERSIONS: &[&str] = &["1.33", "1.37"];

/// The API for ResourceClaims, which the oldest version lacks. A rule rejects claims with that version.
const SINCE_1_34: &str = "resource.k8s.io/v1";

#[test]
#[ignore = "needs GPUC_PYTHON with kubernetes-validate"]
fn kubernetes_validate_accepts_every_object() {
    let mut objects = objects_with_mistake();
    // kubernetes-validate has no custom resources.
    objects.retain(|(_, value)| !is_custom(value));
    let values: Vec<_> = objects.iter().map(|(_, value)| value).collect();
    let input = json!({"versions": VERSIONS, "objects": values});
    let python = external_data::path(PYTHON);
    let answer = external_data::python(python.to_str().unwrap(), "kubernetes_objects.py", &input);
    let mut wrong = Vec::new();
    let mut mistakes = 0;
    for error in answer.as_array().unwrap() {
        let index = usize::try_from(error["object"].as_u64().unwrap()).unwrap();
        let (name, value) = &objects[index];
        if value["apiVersion"] == SINCE_1_34 && error["version"] == VERSIONS[0] {
            continue;
        }
        if name == MISTAKE {
            mistakes += 1;
        } else {
            wrong.push(format!(
                "{name}: {}: {}",
                error["version"], error["message"]
            ));
        }
    }
    assert_eq!(
        mistakes,
        VERSIONS.len(),
        "the mistake is not reported for each version"
    );
    assert_none(&wrong);
}
