//! Generated clusters and pods, and the nodes of these clusters.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::oracle::Node;
use super::reserved;

const TAINTS: [&str; 3] = ["example.com/team", "maintenance", "nvidia.com/gpu"];
const VALUES: [&str; 3] = ["a", "b", "present"];
const EFFECTS: [&str; 3] = ["NoSchedule", "NoExecute", "PreferNoSchedule"];
const LABELS: [&str; 2] = ["example.com/rank", "example.com/team"];
const RANKS: [&str; 5] = ["1", "2", "10", "a", "-3"];
/// A label that the file does not set.
const EXTERNAL_LABEL: &str = "example.com/by-hand";
const ZONES: [&str; 3] = ["us-east-1a", "us-east-1b", "us-east-1c"];

/// A machine type: its name, cores, GiB of memory, GPUs and architecture. Source: the clouds' documentation,
/// 2026-11-21.
type Machine = (&'static str, u128, u128, u128, &'static str);

const AWS: [Machine; 5] = [
    ("m7i.xlarge", 4, 16, 0, "amd64"),
    ("g6.xlarge", 4, 16, 1, "amd64"),
    ("g6.12xlarge", 48, 192, 4, "amd64"),
    ("g5g.xlarge", 4, 8, 1, "arm64"),
    ("p4d.24xlarge", 96, 1152, 8, "amd64"),
];

const GCP: [Machine; 4] = [
    ("e2-standard-4", 4, 16, 0, "amd64"),
    ("g2-standard-8", 8, 32, 1, "amd64"),
    ("g2-standard-24", 24, 96, 2, "amd64"),
    ("a2-highgpu-1g", 12, 85, 1, "amd64"),
];

/// The sharing methods: the YAML in the file, and the extended resources of a node per GPU.
const SHARING: [(&str, &[(&str, u128)]); 6] = [
    ("none", &[("nvidia.com/gpu", 1)]),
    ("{timeSlicing: {replicas: 4}}", &[("nvidia.com/gpu", 4)]),
    (
        "{timeSlicing: {replicas: 3, rename: true}}",
        &[("nvidia.com/gpu.shared", 3)],
    ),
    ("{mps: {replicas: 2}}", &[("nvidia.com/gpu", 2)]),
    (
        "{mig: {strategy: mixed, perGpu: [{layout: [{profile: 1g.5gb, count: 4}, {profile: 3g.20gb, count: 1}]}]}}",
        &[("nvidia.com/mig-1g.5gb", 4), ("nvidia.com/mig-3g.20gb", 1)],
    ),
    (
        "{mig: {strategy: single, perGpu: [{layout: [{profile: 1g.5gb, count: 7}]}]}}",
        &[("nvidia.com/gpu", 7)],
    ),
];

#[derive(Clone, Debug)]
pub(super) struct GeneratedPool {
    pub(super) name: String,
    machine: usize,
    sharing: usize,
    pub(super) max_nodes: usize,
    taints: BTreeSet<(usize, usize, usize)>,
    labels: BTreeMap<usize, usize>,
    zones: BTreeSet<usize>,
    dedicated: bool,
}

#[derive(Clone, Debug)]
pub(super) struct GeneratedCluster {
    pub(super) is_gcp: bool,
    pub(super) pools: Vec<GeneratedPool>,
}

fn pool(number: usize) -> impl Strategy<Value = GeneratedPool> {
    let taint = (0..TAINTS.len(), 0..VALUES.len(), 0..EFFECTS.len());
    let sizes = (0..5usize, 0..SHARING.len(), 1..4usize);
    let taints = prop::collection::btree_set(taint, 0..3);
    let labels = prop::collection::btree_map(0..LABELS.len(), 0..RANKS.len(), 0..3);
    let zones = prop::collection::btree_set(0..ZONES.len(), 0..3);
    (sizes, taints, labels, zones, prop::bool::weighted(0.2)).prop_map(
        move |((machine, sharing, most), taints, labels, zones, dedicated)| {
            let mut seen = BTreeSet::new();
            let first = |(key, _, effect): &(usize, usize, usize)| seen.insert((*key, *effect));
            GeneratedPool {
                name: format!("p{number}"),
                machine,
                sharing,
                max_nodes: most,
                taints: taints.into_iter().filter(first).collect(),
                labels,
                zones,
                dedicated,
            }
        },
    )
}

pub(super) fn cluster() -> impl Strategy<Value = GeneratedCluster> {
    let pools = (1..4usize).prop_flat_map(|count| (0..count).map(pool).collect::<Vec<_>>());
    (any::<bool>(), pools).prop_map(|(is_gcp, pools)| GeneratedCluster { is_gcp, pools })
}

impl GeneratedCluster {
    fn machine(&self, pool: &GeneratedPool) -> Machine {
        if self.is_gcp {
            GCP[pool.machine % GCP.len()]
        } else {
            AWS[pool.machine]
        }
    }

    /// Only an A100 can be partitioned. A machine without GPUs has no sharing.
    fn sharing(&self, pool: &GeneratedPool) -> (&'static str, &'static [(&'static str, u128)]) {
        let (name, _, _, gpus, _) = self.machine(pool);
        let is_a100 = name.starts_with("p4d") || name.starts_with("a2-");
        match SHARING[pool.sharing] {
            _ if gpus == 0 => ("none", &[]),
            (text, _) if text.contains("mig") && !is_a100 => SHARING[0],
            sharing => sharing,
        }
    }

    fn taints(&self, pool: &GeneratedPool) -> Vec<(String, String, String)> {
        let (_, _, _, gpus, architecture) = self.machine(pool);
        let text = |a: &str, b: &str, c: &str| (a.to_owned(), b.to_owned(), c.to_owned());
        // GKE's own taint has this key, and each key occurs once in a pool.
        let is_own = |key: usize| !(self.is_gcp && gpus > 0 && TAINTS[key] == "nvidia.com/gpu");
        let written = pool.taints.iter().filter(|(key, _, _)| is_own(*key));
        let mut seen = BTreeSet::new();
        let written = written.filter(|(key, _, _)| seen.insert(*key));
        let mut taints: Vec<_> = written
            .map(|(key, value, effect)| text(TAINTS[*key], VALUES[*value], EFFECTS[*effect]))
            .collect();
        assert!(!self.is_gcp || architecture == "amd64");
        if pool.dedicated {
            taints.push(text("gpuc.dev/dedicated-to", "research", "NoSchedule"));
        }
        taints
    }

    /// The cluster as YAML.
    pub(super) fn text(&self) -> String {
        let (place, system) = if self.is_gcp {
            (
                "gcp: {project: acme-ml-prod, location: us-central1-a, nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com, cluster: {existing: {}}}",
                "e2-standard-4",
            )
        } else {
            (
                r#"aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}"#,
                "m7i.xlarge",
            )
        };
        let mut text = format!(
            "apiVersion: gpuc.dev/v1alpha1\nkind: GpuCluster\nmetadata: {{name: demo}}\n\
             kubernetes: {{version: \"1.36\"}}\ncloud:\n  {place}\n\
             stack: {{runtimeImage: \"registry.example.com/gpuc-runtime:0.1.0\"}}\n\
             nodePools:\n  - {{name: system, machine: {system}, nodes: {{count: 2}}}}\n"
        );
        for pool in &self.pools {
            let (machine, ..) = self.machine(pool);
            let (sharing, _) = self.sharing(pool);
            let taints = self.taints(pool).into_iter();
            let taints = taints.filter(|(key, _, _)| key != "gpuc.dev/dedicated-to");
            let taints: Vec<_> = taints
                .map(|(key, value, effect)| {
                    format!("{{key: {key}, value: {value}, effect: {effect}}}")
                })
                .collect();
            let labels = pool.labels.iter();
            let labels: Vec<_> = labels
                .map(|(key, value)| format!("{}: \"{}\"", LABELS[*key], label_value(*value)))
                .collect();
            let zones = if self.is_gcp {
                String::new()
            } else {
                let zones: Vec<_> = pool.zones.iter().map(|zone| ZONES[*zone]).collect();
                format!("zones: [{}], ", zones.join(", "))
            };
            let dedicated = if pool.dedicated {
                ", dedicatedTo: research"
            } else {
                ""
            };
            writeln!(
                text,
                "  - {{name: {}, machine: {machine}, nodes: {{count: {}}}, sharing: {sharing}, {zones}\
                 labels: {{{}}}, taints: [{}]{dedicated}}}",
                pool.name,
                pool.max_nodes,
                labels.join(", "),
                taints.join(", "),
            )
            .unwrap();
        }
        text
    }

    /// The possible nodes of a pool: one for each zone, or one in an unknown zone if the file sets no zones.
    pub(super) fn nodes(&self, pool: &GeneratedPool) -> Vec<Node> {
        let (machine, cores, gib, gpus, architecture) = self.machine(pool);
        let (sharing, devices) = self.sharing(pool);
        let (cpu, memory) =
            reserved::reserved_on_node(self.is_gcp, (machine, gib, gpus), sharing.contains("mps"));
        let mut allocatable = BTreeMap::from([
            (
                "cpu".to_owned(),
                cores * 1000 - reserved::reserved_cores(cores) - cpu,
            ),
            (
                "memory".to_owned(),
                (gib * 1024 * 1024 * 1024 - memory) * 1000,
            ),
        ]);
        for (name, count) in devices {
            allocatable.insert((*name).to_owned(), count * gpus * 1000);
        }
        let mut labels: BTreeMap<String, String> = [
            ("gpuc.dev/pool", pool.name.as_str()),
            ("kubernetes.io/arch", architecture),
            ("kubernetes.io/os", "linux"),
            ("node.kubernetes.io/instance-type", machine),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into();
        if pool.dedicated {
            labels.insert("gpuc.dev/dedicated-to".to_owned(), "research".to_owned());
        }
        for (key, value) in &pool.labels {
            labels.insert(LABELS[*key].to_owned(), label_value(*value).to_owned());
        }
        let mut taints = self.taints(pool);
        if self.is_gcp && gpus > 0 {
            let taint = ["nvidia.com/gpu", "present", "NoSchedule"].map(str::to_owned);
            taints.push(taint.into());
        }
        let zones: Vec<&str> = match (self.is_gcp, pool.zones.is_empty()) {
            (true, _) => vec!["us-central1-a"],
            (_, true) => ZONES.to_vec(),
            _ => pool.zones.iter().map(|zone| ZONES[*zone]).collect(),
        };
        let node = |zone: &str| {
            let mut labels = labels.clone();
            labels.insert(ZONE.to_owned(), zone.to_owned());
            Node {
                labels,
                taints: taints.clone(),
                allocatable: allocatable.clone(),
            }
        };
        zones.into_iter().map(node).collect()
    }

    /// Labels that no pool in the file sets. Users may add them to nodes manually.
    pub(super) fn externally_settable_labels(&self) -> Vec<&'static str> {
        let is_unset = |index: &usize| {
            let mut pools = self.pools.iter();
            pools.all(|pool| !pool.labels.contains_key(index))
        };
        let labels = (0..LABELS.len()).filter(is_unset);
        let labels = labels.map(|index| LABELS[index]);
        labels.chain([EXTERNAL_LABEL]).collect()
    }

    /// Whether the file determines every label and resource that the pod requests from this pool.
    pub(super) fn is_decided(&self, pool: &GeneratedPool, pod: &Value) -> bool {
        let requested: Vec<_> = requested_labels(pod).collect();
        let is_open = !self.is_gcp && pool.zones.is_empty() && requested.contains(&ZONE);
        !is_open
            && !requested
                .iter()
                .any(|key| self.externally_settable_labels().contains(key))
    }
}

/// The labels that the node selector and affinity of a pod use.
fn requested_labels(pod: &Value) -> impl Iterator<Item = &str> {
    let selector = pod["nodeSelector"].as_object().into_iter().flatten();
    let required =
        &pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
    let terms = required["nodeSelectorTerms"].as_array();
    let expressions = terms
        .into_iter()
        .flatten()
        .flat_map(|term| term["matchExpressions"].as_array().into_iter().flatten());
    let keys = expressions.filter_map(|expression| expression["key"].as_str());
    selector.map(|(key, _)| key.as_str()).chain(keys)
}

const ZONE: &str = "topology.kubernetes.io/zone";

/// A label value cannot begin with `-`.
fn label_value(index: usize) -> &'static str {
    match RANKS[index] {
        "-3" => "7",
        value => value,
    }
}

/// The pod after GKE's admission plugin, which adds a toleration for each requested extended resource.
pub(super) fn admit_on_gke(pod: &Value, is_gcp: bool) -> Value {
    let mut pod = pod.clone();
    if !is_gcp {
        return pod;
    }
    let requested = super::oracle::pod_requests(&pod);
    let mut tolerations = pod["tolerations"].as_array().cloned().unwrap_or_default();
    for (name, count) in requested {
        if name.contains('/') && count > 0 {
            let key = &name;
            tolerations.push(json!({"key": key, "operator": "Exists", "effect": "NoSchedule"}));
        }
    }
    pod["tolerations"] = json!(tolerations);
    pod
}

fn resources() -> impl Strategy<Value = Value> {
    let names = vec![
        "nvidia.com/gpu",
        "nvidia.com/gpu",
        "nvidia.com/gpu",
        "nvidia.com/gpu",
        "nvidia.com/gpu.shared",
        "nvidia.com/mig-1g.5gb",
        "nvidia.com/mig-3g.20gb",
        "nvidia.com/gpu.type",
    ];
    let devices = prop::option::weighted(
        0.4,
        (
            prop::sample::select(names),
            prop::sample::select(vec![0, 1, 1, 1, 2, 4, 7, 8, 9]),
        ),
    );
    let cpu = prop::option::weighted(
        0.3,
        prop::sample::select(vec![
            json!("500m"),
            json!(2),
            json!("4"),
            json!("3820m"),
            json!("3910m"),
            json!("3920m"),
            json!("3921m"),
            json!("4001m"),
            json!(47),
        ]),
    );
    let memory = prop::option::weighted(
        0.3,
        prop::sample::select(vec![
            "512Mi", "8Gi", "13621Mi", "13622Mi", "15359Mi", "15360Mi", "28734Mi", "28735Mi",
            "16385Mi", "100Gi",
        ]),
    );
    (devices, cpu, memory, any::<bool>()).prop_map(|(devices, cpu, memory, as_request)| {
        let mut list = Map::new();
        if let Some((name, count)) = devices {
            list.insert(name.to_owned(), json!(count.to_string()));
        }
        list.extend(cpu.map(|cpu| ("cpu".to_owned(), cpu)));
        list.extend(memory.map(|memory| ("memory".to_owned(), json!(memory))));
        if as_request {
            let limits = json!({"cpu": "90", "nvidia.com/gpu": list.get("nvidia.com/gpu")});
            let mut limits = limits.as_object().cloned().unwrap_or_default();
            limits.retain(|key, value| !value.is_null() && list.contains_key(key));
            json!({"requests": list, "limits": limits})
        } else {
            json!({"limits": list})
        }
    })
}

fn container() -> impl Strategy<Value = Value> {
    resources().prop_map(|resources| json!({"name": "a", "image": "b", "resources": resources}))
}

fn init_container() -> impl Strategy<Value = Value> {
    (container(), any::<bool>()).prop_map(|(mut container, is_sidecar)| {
        if is_sidecar {
            container["restartPolicy"] = json!("Always");
        }
        container
    })
}

fn toleration() -> impl Strategy<Value = Value> {
    let keys = prop::sample::select(vec![
        "",
        "example.com/team",
        "maintenance",
        "nvidia.com/gpu",
        "gpuc.dev/dedicated-to",
    ]);
    let values = prop::sample::select(vec!["", "a", "b", "present", "research"]);
    let effects = prop::sample::select(vec!["", "NoSchedule", "NoExecute", "PreferNoSchedule"]);
    let operators = prop::sample::select(vec!["", "Equal", "Exists", "Exists"]);
    (keys, values, effects, operators).prop_map(|(key, value, effect, operator)| {
        // The API server rejects an empty key without `Exists`, and a value with `Exists`.
        let operator = if key.is_empty() { "Exists" } else { operator };
        let mut fields = Map::new();
        let value = if operator == "Exists" { "" } else { value };
        for (name, field) in [
            ("key", key),
            ("operator", operator),
            ("value", value),
            ("effect", effect),
        ] {
            if !field.is_empty() {
                fields.insert(name.to_owned(), json!(field));
            }
        }
        Value::Object(fields)
    })
}

fn expression() -> impl Strategy<Value = Value> {
    let keys = vec![
        ("example.com/rank", RANKS.to_vec()),
        ("example.com/team", RANKS.to_vec()),
        ("gpuc.dev/pool", vec!["p0", "p1", "p2", "other"]),
        ("gpuc.dev/dedicated-to", vec!["research", "sales"]),
        ("kubernetes.io/arch", vec!["amd64", "arm64"]),
        ("kubernetes.io/os", vec!["linux", "windows"]),
        (
            "node.kubernetes.io/instance-type",
            vec!["g6.xlarge", "g2-standard-8", "p4d.24xlarge"],
        ),
        (ZONE, vec!["us-east-1a", "us-east-1b", "us-central1-a"]),
        (EXTERNAL_LABEL, vec!["1", "x"]),
    ];
    let operators = vec!["In", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"];
    let parts = prop::sample::select(keys).prop_flat_map(move |(key, values)| {
        let values = prop::sample::subsequence(values.clone(), 1..=2.min(values.len()));
        (
            Just(key),
            prop::sample::select(operators.clone()),
            values,
            prop::sample::select(vec!["-5", "1", "5"]),
        )
    });
    parts.prop_map(|(key, operator, values, bound)| match operator {
        "Exists" | "DoesNotExist" => json!({"key": key, "operator": operator}),
        "Gt" | "Lt" => json!({"key": key, "operator": operator, "values": [bound]}),
        _ => json!({"key": key, "operator": operator, "values": values}),
    })
}

/// A pod spec.
pub(crate) fn pod() -> impl Strategy<Value = Value> {
    let containers = prop::collection::vec(container(), 1..3);
    let inits = prop::collection::vec(init_container(), 0..4);
    let tolerations = prop_oneof![
        prop::collection::vec(toleration(), 0..4),
        Just(vec![json!({"operator": "Exists"})]),
    ];
    let terms = prop::collection::vec(prop::collection::vec(expression(), 0..3), 0..3);
    let affinity = prop::option::weighted(0.3, terms);
    let selector = prop::option::weighted(0.2, expression());
    let overhead = prop::option::weighted(0.1, Just(json!({"cpu": "250m", "memory": "64Mi"})));
    (containers, inits, tolerations, affinity, selector, overhead).prop_map(
        |(containers, inits, tolerations, affinity, selector, overhead)| {
            let mut pod = json!({
                "containers": containers,
                "initContainers": inits,
                "tolerations": tolerations,
            });
            if let Some(terms) = affinity {
                let terms = terms.into_iter();
                let terms: Vec<_> = terms.map(|all| json!({"matchExpressions": all})).collect();
                pod["affinity"] = json!({"nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms},
                }});
            }
            let equals = selector.and_then(|it| {
                let value = it["values"].as_array()?.first()?.clone();
                Some(json!({it["key"].as_str()?: value}))
            });
            if let Some(equals) = equals {
                pod["nodeSelector"] = equals;
            }
            if let Some(overhead) = overhead {
                pod["overhead"] = overhead;
            }
            pod
        },
    )
}
