//! Keys that take exactly one of several options.

/// The keys that take exactly one of several options. Paths omit list indexes. If a document and its base set different
/// options, the document's option replaces the base's.
pub const UNIONS: &[&str] = &[
    "cloud",
    "cloud.aws.cluster",
    "cloud.aws.cluster.create.vpc",
    "cloud.azure.cluster",
    "cloud.gcp.cluster",
    "gitops",
    "monitoring.prometheus",
    "nodePools.capacity",
    "nodePools.network.gpudirect",
    "nodePools.network.placement",
    "nodePools.network.rdma",
    "nodePools.nodeImage",
    "nodePools.sharing",
    "notebooks",
    "workloads.deployment.disruptionBudget",
    "workloads.statefulSet.disruptionBudget",
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;
    use crate::load::merge::NAMED_LISTS;

    /// Collects the paths of unions below one, as far as bases merge: through mappings and lists of named items.
    fn walk(root: &Value, schema: &Value, path: &str, found: &mut BTreeSet<String>) {
        if let Some(name) = schema["$ref"].as_str() {
            let definition = root
                .pointer(name.trim_start_matches('#'))
                .expect("a definition");
            walk(root, definition, path, found);
        }
        for choice in ["anyOf", "oneOf"] {
            for option in schema[choice].as_array().into_iter().flatten() {
                let properties = option["properties"].as_object();
                if choice == "oneOf" && properties.is_some_and(|all| all.len() == 1) {
                    found.insert(path.to_owned());
                }
                walk(root, option, path, found);
            }
        }
        if NAMED_LISTS.contains(&path) && schema["items"].is_object() {
            walk(root, &schema["items"], path, found);
        }
        for (key, value) in schema["properties"].as_object().into_iter().flatten() {
            let dot = if path.is_empty() { "" } else { "." };
            walk(root, value, &format!("{path}{dot}{key}"), found);
        }
    }

    #[test]
    fn table_contains_all_choices() {
        let schema = schemars::schema_for!(gpuc_schema::config::GpuCluster).to_value();
        let mut found = BTreeSet::new();
        walk(&schema, &schema, "", &mut found);
        let found: Vec<&str> = found.iter().map(String::as_str).collect();
        assert_eq!(found, UNIONS);
    }
}
