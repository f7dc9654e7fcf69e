//! Custom resources and their CRDs as strict schemas: an unknown field is an error here, although the API server
//! silently drops it.

use std::collections::BTreeMap;
use std::fs;

use serde_json::{Map, Value, json};

use crate::external_data::{self, UPSTREAM};

/// The schema of every custom resource by kind: `monitoring.coreos.com/v1 PodMonitor`.
pub(super) fn schemas() -> BTreeMap<String, Value> {
    let mut schemas = BTreeMap::new();
    let folder = external_data::path(UPSTREAM).join("crds");
    for group in fs::read_dir(folder).unwrap() {
        let Ok(files) = fs::read_dir(group.unwrap().path()) else {
            continue;
        };
        for file in files {
            let path = file.unwrap().path();
            if path.extension().is_none_or(|it| it != "yaml") {
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            for document in text.split("\n---") {
                let Ok(definition) = serde_yaml::from_str::<Value>(document) else {
                    // A definition with the enum value `=`, which has a special meaning in YAML 1.1, is for none of
                    // gpuc's kinds.
                    continue;
                };
                schemas.extend(versions(&definition));
            }
        }
    }
    schemas.extend(google_network_crds());
    schemas
}

/// The networks of pools with GPUDirect. GKE installs their definitions, and no chart contains them.
///
/// Source: kubernetes/cloud-provider-gcp@0494afac `crd/config/crds/networking.gke.io_networks.yaml` and
/// `networking.gke.io_gkenetworkparamsets.yaml`, the fields of objects with the type `Device`.
fn google_network_crds() -> Vec<(String, Value)> {
    let strict = |properties: Value, required: Value| {
        json!({
            "type": "object",
            "additionalProperties": false,
            "properties": properties,
            "required": required,
        })
    };
    let text = json!({"type": "string"});
    let named = json!({"group": text, "kind": text, "name": text});
    let network = json!({
        "type": {"enum": ["L2", "L3", "Device"]},
        "parametersRef": strict(named, json!(["group", "kind", "name"])),
    });
    let parameters = json!({
        "vpc": text,
        "vpcSubnet": text,
        "deviceMode": {"enum": ["DPDK-VFIO", "NetDevice"]},
    });
    let object = |kind: &str, spec: Value| {
        let schema = json!({"apiVersion": {}, "kind": {}, "metadata": {}, "spec": spec});
        let schema = strict(schema, json!(["spec"]));
        (format!("networking.gke.io/v1 {kind}"), schema)
    };
    let network = strict(network, json!(["type"]));
    let parameters = strict(parameters, json!(["vpc", "vpcSubnet"]));
    vec![
        object("Network", network),
        object("GKENetworkParamSet", parameters),
    ]
}

/// The schemas of a definition's versions.
fn versions(definition: &Value) -> Vec<(String, Value)> {
    let group = definition["spec"]["group"].as_str().unwrap_or_default();
    let kind = definition["spec"]["names"]["kind"]
        .as_str()
        .unwrap_or_default();
    let versions = definition["spec"]["versions"].as_array();
    let versions = versions.into_iter().flatten();
    let schemas = versions
        .filter(|version| version["served"] == true)
        .map(|version| {
            let name = format!("{group}/{} {kind}", version["name"].as_str().unwrap());
            let mut schema = strict_schema(&version["schema"]["openAPIV3Schema"]);
            // The common fields of all objects, which CRDs do not describe in detail.
            for key in ["apiVersion", "kind", "metadata"] {
                schema["properties"][key] = json!({});
            }
            (name, schema)
        });
    schemas.collect()
}

/// The schema in a CRD as a JSON Schema that rejects unknown fields.
fn strict_schema(schema: &Value) -> Value {
    let Some(fields) = schema.as_object() else {
        return schema.clone();
    };
    if fields.get("x-kubernetes-int-or-string") == Some(&json!(true)) {
        return json!({"type": ["integer", "string"]});
    }
    let mut made = Map::new();
    for (key, value) in fields {
        let value = match key.as_str() {
            "properties" => {
                let properties = value.as_object().unwrap().iter();
                let properties = properties.map(|(key, value)| (key.clone(), strict_schema(value)));
                Value::Object(properties.collect())
            }
            "items" | "additionalProperties" | "not" => strict_schema(value),
            "allOf" | "anyOf" | "oneOf" => loosen_alternatives(value),
            // Kubernetes has its own formats, and keys with the prefix `x-` are not part of JSON Schema.
            "format" | "default" | "description" | "example" => continue,
            key if key.starts_with("x-") || key == "nullable" => continue,
            _ => value.clone(),
        };
        made.insert(key.clone(), value);
    }
    let keeps = fields.get("x-kubernetes-preserve-unknown-fields") == Some(&json!(true));
    if fields.contains_key("properties") && !keeps {
        made.entry("additionalProperties").or_insert(json!(false));
    }
    Value::Object(made)
}

/// Alternatives list only some of the fields, so that they must not reject the others.
fn loosen_alternatives(alternatives: &Value) -> Value {
    let mut alternatives = alternatives.clone();
    for alternative in alternatives.as_array_mut().into_iter().flatten() {
        *alternative = strict_schema(alternative);
        if let Some(fields) = alternative.as_object_mut() {
            fields.remove("additionalProperties");
        }
    }
    alternatives
}
