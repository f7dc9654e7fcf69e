//! The base clusters for the tests of keys, and the values for keys whose schema has no examples.

use serde_json::{Value, json};

use super::leaves::{Leaf, LeafKind};
use super::text::PathStep;

/// A cluster in which keys are changed.
pub(super) struct Base {
    /// The name for messages.
    pub(super) name: &'static str,
    /// The cloud's key in the file.
    pub(super) cloud: &'static str,
    yaml: &'static str,
}

impl Base {
    pub(super) fn value(&self) -> Value {
        serde_yaml::from_str(self.yaml).unwrap()
    }

    /// Whether a key describes something outside gpuc: it affects only rules and the README.
    pub(super) fn is_descriptive(&self, root: &Value, leaf: &Leaf) -> bool {
        let by_others = match leaf.path.get(1) {
            Some(PathStep::Item(pool)) => root["nodePools"][pool].get("existing").is_some(),
            _ => root
                .pointer(&format!("/cloud/{}/cluster/create", self.cloud))
                .is_none(),
        };
        let dotted = leaf.dotted();
        // The allocatable resources of nodes are measured facts, including those of nodes that gpuc did not create.
        let is_fact = dotted.starts_with("nodePools.allocatable.");
        is_fact
            || (by_others || self.cloud == "onPrem") && DESCRIPTIVE_KEYS.contains(&dotted.as_str())
    }

    /// Whether a key can be tried on this base. The section of another cloud cannot, and sections that are equal for
    /// all clouds are tried on one base only.
    pub(super) fn is_applicable(&self, leaf: &Leaf) -> bool {
        let first = BASES[0].name == self.name;
        if !first
            && CLOUD_INDEPENDENT_SECTIONS
                .iter()
                .any(|section| leaf.dotted().starts_with(section))
        {
            return false;
        }
        let is = |index: usize, name: &str| {
            leaf.path.get(index) == Some(&PathStep::Key(name.to_owned()))
        };
        !is(0, "cloud") || is(1, self.cloud)
    }
}

/// Keys that describe something outside gpuc, which affect only rules and the README.
const DESCRIPTIVE_KEYS: &[&str] = &[
    "kubernetes.version",
    "cloud.azure.location",
    "autoscaler",
    "nodePools.machine",
    "nodePools.gpu.model",
    "nodePools.nodes.max",
    "nodePools.os.family",
    "nodePools.taints.key",
    "nodePools.taints.value",
    "nodePools.taints.effect",
    "nodePools.dedicatedTo",
];

/// Sections of the file that are the same for all clouds.
const CLOUD_INDEPENDENT_SECTIONS: &[&str] = &[
    "teams",
    "priorities",
    "queueing",
    "admission",
    "monitoring",
    "workloads",
    "notebooks",
    "gitops",
    "charts",
];

pub(super) const BASES: &[Base] = &[
    Base {
        name: "a new EKS cluster",
        cloud: "aws",
        yaml: include_str!("aws.yaml"),
    },
    Base {
        name: "an EKS cluster that is there",
        cloud: "aws",
        yaml: include_str!("aws-existing.yaml"),
    },
    Base {
        name: "a new AKS cluster",
        cloud: "azure",
        yaml: include_str!("azure.yaml"),
    },
    Base {
        name: "an AKS cluster that is there",
        cloud: "azure",
        yaml: include_str!("azure-existing.yaml"),
    },
    Base {
        name: "a new GKE cluster",
        cloud: "gcp",
        yaml: include_str!("gcp.yaml"),
    },
    Base {
        name: "a GKE cluster that is there",
        cloud: "gcp",
        yaml: include_str!("gcp-existing.yaml"),
    },
    Base {
        name: "hosts on premises",
        cloud: "onPrem",
        yaml: include_str!("on-prem.yaml"),
    },
    Base {
        name: "nodes on premises that are there",
        cloud: "onPrem",
        yaml: include_str!("on-prem-existing.yaml"),
    },
    Base {
        name: "a cluster of CoreWeave",
        cloud: "existing",
        yaml: include_str!("existing-coreweave.yaml"),
    },
    Base {
        name: "a cluster of k0s",
        cloud: "existing",
        yaml: include_str!("existing-k0s.yaml"),
    },
];

/// The values to try at a key.
pub(super) fn values(cloud: &str, leaf: &Leaf) -> Vec<Value> {
    let values = match &leaf.kind {
        LeafKind::Constant => Vec::new(),
        LeafKind::Enum(words) => words
            .iter()
            .map(|word| Value::from(word.as_str()))
            .collect(),
        LeafKind::Bool => vec![json!(true), json!(false)],
        LeafKind::Empty => vec![json!({})],
        LeafKind::Other => {
            let mut values = values_at(cloud, &leaf.dotted());
            if values.is_empty() {
                values = schema_values(&leaf.schema);
            }
            values
        }
    };
    // The default in the schema changes nothing.
    let default = leaf.schema.get("default");
    let values = values.into_iter().filter(|value| Some(value) != default);
    match &leaf.tag {
        Some(tag) => values.map(|value| json!({tag.as_str(): value})).collect(),
        None => values.collect(),
    }
}

/// The values in the schema of a key.
pub(super) fn schema_values(schema: &Value) -> Vec<Value> {
    let examples = schema.get("examples").and_then(Value::as_array);
    let examples = examples.cloned().unwrap_or_default();
    if !examples.is_empty() {
        return examples;
    }
    let number = |key| schema.get(key).and_then(Value::as_u64);
    match number("minimum") {
        Some(least) => vec![json!(least + 1), json!(least + 2)],
        None => Vec::new(),
    }
}

/// The values for a key. Those for one cloud take precedence over those for all clouds.
pub(super) fn values_at(cloud: &str, path: &str) -> Vec<Value> {
    let find = |key: &str| {
        super::values::KEY_VALUES
            .iter()
            .find(|(path, _)| *path == key)
    };
    let row = find(&format!("{cloud}:{path}")).or_else(|| find(path));
    // All charts except one have this key.
    let values = path.starts_with("charts.") && path.ends_with(".values");
    let of_charts: &[&str] = if values {
        &["{nameOverride: other}"]
    } else {
        &[]
    };
    let of_workloads = path
        .strip_prefix("workloads.")
        .map(super::workloads::values);
    let others = of_workloads.unwrap_or(of_charts);
    let texts = row.map_or(others, |(_, texts)| *texts);
    let read = |text: &&str| serde_yaml::from_str(text).unwrap();
    texts.iter().map(read).collect()
}
