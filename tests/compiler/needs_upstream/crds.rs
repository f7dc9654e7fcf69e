//! The kinds that others bring, as their CRDs have them, made strict: what a CRD does not know is a mistake, and not
//! dropped without a word as Kubernetes does.

use std::collections::BTreeMap;

use jsonschema::Validator;
use serde_json::{Map, Value, json};

use crate::needs::{self, UPSTREAM};

/// The CRDs of one folder of `crds/`.
pub(super) struct Crds(BTreeMap<String, Validator>);

impl Crds {
    /// Every version of every kind in the folders.
    pub(super) fn of(folders: &[&str]) -> Self {
        let mut validators = BTreeMap::new();
        for folder in folders {
            let folder = needs::path(UPSTREAM).join("crds").join(folder);
            for entry in std::fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                if path.extension().is_some_and(|ends| ends == "yaml") {
                    let text = std::fs::read_to_string(&path).unwrap();
                    add(&text, &mut validators);
                }
            }
        }
        Self(validators)
    }

    /// What is wrong with an object.
    pub(super) fn wrong(&self, object: &Value) -> Vec<String> {
        let part = |key: &str| object[key].as_str().unwrap_or_default();
        let kind = format!("{} {}", part("apiVersion"), part("kind"));
        let Some(validator) = self.0.get(&kind) else {
            return vec![format!("no CRD has {kind}")];
        };
        let errors = validator.iter_errors(object);
        errors
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect()
    }
}

fn add(text: &str, validators: &mut BTreeMap<String, Validator>) {
    use serde::Deserialize;
    for document in serde_yaml::Deserializer::from_str(text) {
        let crd = Value::deserialize(document).unwrap();
        if crd["kind"] != "CustomResourceDefinition" {
            continue;
        }
        let spec = &crd["spec"];
        let group = spec["group"].as_str().unwrap();
        let kind = spec["names"]["kind"].as_str().unwrap();
        for version in spec["versions"].as_array().unwrap() {
            let mut schema = version["schema"]["openAPIV3Schema"].clone();
            strict(&mut schema);
            // Kubernetes knows metadata itself; a CRD says only that it is there.
            schema["properties"]["metadata"] = metadata(spec["scope"] == "Namespaced");
            let name = version["name"].as_str().unwrap();
            let validator = jsonschema::options().build(&schema).unwrap();
            validators.insert(format!("{group}/{name} {kind}"), validator);
        }
    }
}

fn metadata(namespaced: bool) -> Value {
    let texts = json!({"type": "object", "additionalProperties": {"type": "string"}});
    let mut properties = json!({
        "name": {"type": "string", "pattern": "^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$"},
        "labels": texts,
        "annotations": texts,
        "finalizers": {"type": "array", "items": {"type": "string"}},
    });
    let mut required = vec!["name"];
    if namespaced {
        properties["namespace"] = json!({"type": "string", "minLength": 1});
        required.push("namespace");
    }
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

/// Refuses unknown fields wherever a schema lists those there are, and turns Kubernetes' own words into JSON Schema's.
fn strict(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            keep_known(fields);
            fields.values_mut().for_each(strict);
        }
        Value::Array(items) => items.iter_mut().for_each(strict),
        _ => {}
    }
}

fn keep_known(fields: &mut Map<String, Value>) {
    let is = |key: &str| fields.get(key) == Some(&Value::Bool(true));
    let open = is("x-kubernetes-preserve-unknown-fields");
    let either = is("x-kubernetes-int-or-string");
    // A property may be called `properties` or `type`; then what stands there is a schema, and no word of one.
    let lists = fields.get("type") == Some(&json!("object"))
        && fields.get("properties").is_some_and(Value::is_object);
    if lists && !open && !fields.contains_key("additionalProperties") {
        fields.insert("additionalProperties".to_owned(), json!(false));
    }
    if either {
        fields.remove("anyOf");
        fields.insert("type".to_owned(), json!(["integer", "string"]));
    }
    if fields.get("format").is_some_and(Value::is_string) {
        fields.remove("format");
    }
}

#[test]
#[ignore = "needs GPUC_UPSTREAM"]
fn a_mistake_is_found_at_any_depth() {
    let crds = Crds::of(&["fluxcd.io"]);
    let source = |spec: Value| {
        let metadata = json!({"name": "a", "namespace": "flux-system"});
        let kind = "source.toolkit.fluxcd.io/v1";
        json!({"apiVersion": kind, "kind": "GitRepository", "metadata": metadata, "spec": spec})
    };
    let right = source(json!({"interval": "5m", "url": "https://a/b", "ref": {"branch": "main"}}));
    assert_eq!(crds.wrong(&right), Vec::<String>::new());
    for spec in [
        json!({"interval": "5m", "url": "https://a/b", "ref": {"brnch": "main"}}),
        json!({"interval": "5m", "url": "git@a:b"}),
        json!({"interval": "5 minutes", "url": "https://a/b"}),
        json!({"url": "https://a/b"}),
    ] {
        assert_eq!(crds.wrong(&source(spec.clone())).len(), 1, "{spec}");
    }
    let mut old = right.clone();
    old["apiVersion"] = json!("source.toolkit.fluxcd.io/v1alpha1");
    assert_eq!(crds.wrong(&old).len(), 1);
    let mut nameless = right;
    nameless["metadata"] = json!({"name": "a"});
    assert_eq!(crds.wrong(&nameless).len(), 1);
}
