//! The labels of GPUs exist only where something of the tree writes them: the linter, the chart values and placement
//! agree.

use gpuc_model::{GpuLabelWriter, is_gpu_label};
use serde_json::Value;

use crate::support::examples::{compiled_examples, compiled_rich};
use crate::support::{Outcome, compile_text};

const AWS: &str = "aws: {account: \"123456789012\", region: us-east-1, cluster: {create: {}}}";
const GKE: &str = "gcp: {project: my-project, location: us-central1, nodeServiceAccount: gke-nodes@my-project.iam.gserviceaccount.com, cluster: {create: {}}}";
const EXISTING: &str = "gcp: {project: my-project, location: us-central1, nodeServiceAccount: gke-nodes@my-project.iam.gserviceaccount.com, cluster: {existing: {}}}";
const ON_PREM: &str = "onPrem: {context: demo}";
const L4: &str = "machine: g6.xlarge";
const L4_GKE: &str = "machine: g2-standard-4";
const HOSTS: &str = "hosts: [a], gpu: {model: L4, perNode: 1}";

struct Case {
    cloud: &'static str,
    machine: &'static str,
    stack: &'static str,
    charts: &'static str,
    writer: GpuLabelWriter,
}

fn compile(case: &Case) -> Outcome {
    let Case {
        cloud,
        machine,
        stack,
        charts,
        ..
    } = case;
    compile_text(&format!(
        "apiVersion: gpuc.dev/v1alpha1\nkind: GpuCluster\nmetadata: {{name: demo}}\nkubernetes: {{version: \"1.34\"}}\n\
         cloud: {{{cloud}}}\nstack: {{runtimeImage: \"registry.example.com/gpuc-runtime:0.1.0\", {stack}}}\n\
         charts: {{{charts}}}\nnodePools: [{{name: gpu, {machine}, nodes: {{count: 1}}}}]\n"
    ))
}

/// What `check --manifests` says of a pod that selects a label, as codes, and the help.
fn lint(case: &Case, label: &str) -> (Vec<String>, String) {
    let mut outcome = compile(case);
    let pod = format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: a}}\nspec:\n  nodeSelector: {{{label}}}\n  \
         tolerations: [{{operator: Exists}}]\n  containers:\n  - name: a\n    image: r.example.com/a:1\n    \
         resources: {{limits: {{nvidia.com/gpu: 1}}}}\n"
    );
    let before = outcome.codes().len();
    outcome.add_manifests(&[("a.yaml", &pod)]);
    let codes = outcome.codes().split_off(before);
    let codes = codes.into_iter().map(str::to_owned).collect();
    (codes, outcome.text())
}

const CASES: &[Case] = &[
    Case {
        cloud: AWS,
        machine: L4,
        stack: "",
        charts: "",
        writer: GpuLabelWriter::Runtime,
    },
    Case {
        cloud: AWS,
        machine: L4,
        stack: "nodeLabels: none",
        charts: "",
        writer: GpuLabelWriter::None,
    },
    Case {
        cloud: AWS,
        machine: L4,
        stack: "nodeLabels: featureFile",
        charts: "",
        writer: GpuLabelWriter::Unknown,
    },
    Case {
        cloud: AWS,
        machine: L4,
        stack: "nodeLabels: featureFile",
        charts: "node-feature-discovery: {}",
        writer: GpuLabelWriter::Runtime,
    },
    Case {
        cloud: AWS,
        machine: L4,
        stack: "devicePlugin: nvidia",
        charts: "",
        writer: GpuLabelWriter::None,
    },
    Case {
        cloud: AWS,
        machine: L4,
        stack: "devicePlugin: nvidia",
        charts: "node-feature-discovery: {}",
        writer: GpuLabelWriter::FeatureDiscovery,
    },
    Case {
        cloud: AWS,
        machine: L4,
        stack: "devicePlugin: nvidia",
        charts: "node-feature-discovery: {}, nvidia-device-plugin: {values: {gfd: {enabled: false}}}",
        writer: GpuLabelWriter::None,
    },
    Case {
        cloud: AWS,
        machine: L4,
        stack: "devicePlugin: operator",
        charts: "",
        writer: GpuLabelWriter::FeatureDiscovery,
    },
    Case {
        cloud: AWS,
        machine: L4,
        stack: "devicePlugin: operator",
        charts: "gpu-operator: {values: {gfd: {enabled: false}}}",
        writer: GpuLabelWriter::None,
    },
    Case {
        cloud: ON_PREM,
        machine: HOSTS,
        stack: "driver: preinstalled, devicePlugin: nvidia",
        charts: "",
        writer: GpuLabelWriter::None,
    },
    Case {
        cloud: GKE,
        machine: L4_GKE,
        stack: "devicePlugin: cloud",
        charts: "",
        writer: GpuLabelWriter::None,
    },
    // GPU Feature Discovery can be part of the existing cluster.
    Case {
        cloud: EXISTING,
        machine: L4_GKE,
        stack: "devicePlugin: cloud",
        charts: "",
        writer: GpuLabelWriter::Unknown,
    },
];

#[test]
fn selected_labels_exist_only_where_something_writes_them() {
    for case in CASES {
        let outcome = compile(case);
        let cluster = outcome.compilations[0].cluster.as_ref();
        let cluster = cluster.unwrap_or_else(|| panic!("{}", outcome.text()));
        let pool = cluster
            .pools
            .iter()
            .find(|pool| pool.name.as_str() == "gpu");
        let of = format!("{} {} {}", case.cloud, case.stack, case.charts);
        assert_eq!(cluster.gpu_label_writer(pool.unwrap()), case.writer, "{of}");
        let (codes, text) = lint(case, "nvidia.com/gpu.product: NVIDIA-L4");
        if case.writer == GpuLabelWriter::None {
            assert_eq!(codes, ["GPUC4006"], "{of}\n{text}");
            assert!(
                text.contains("nothing writes the label `nvidia.com/gpu.product`"),
                "{of}\n{text}"
            );
            assert!(!text.contains("use a value of"), "{of}\n{text}");
        } else {
            assert!(codes.is_empty(), "{of}\n{text}");
        }
        let (codes, text) = lint(case, "nvidia.com/gpu.product: NVIDIA-L40S");
        assert_eq!(codes, ["GPUC4006"], "{of}\n{text}");
    }
}

/// The help of a cluster with NVIDIA's plugin, followed literally.
#[test]
fn adding_node_feature_discovery_adds_the_labels() {
    let [without, with] = [&CASES[4], &CASES[5]];
    let label = "nvidia.com/gpu.product: NVIDIA-L4";
    let (_, text) = lint(without, label);
    assert!(
        text.contains("add `charts: {node-feature-discovery: {}}`"),
        "{text}"
    );
    assert!(lint(with, label).0.is_empty());
    let outcome = compile(with);
    let plan = outcome.compilations[0].plan.as_ref().unwrap();
    let release = plan
        .releases
        .iter()
        .find(|it| it.name == "nvidia-device-plugin-gpu");
    let release = release.unwrap();
    let values: Value = serde_json::to_value(&release.values).unwrap();
    assert_eq!(values["gfd"]["enabled"], true);
    assert_eq!(values["nfd"]["enabled"], false);
    assert_eq!(
        release.daemon_sets,
        [
            "nvidia-device-plugin-gpu",
            "nvidia-device-plugin-gpu-gpu-feature-discovery"
        ]
    );
    let discovery = plan
        .releases
        .iter()
        .find(|it| it.name == "node-feature-discovery");
    let values: Value = serde_json::to_value(&discovery.unwrap().values).unwrap();
    assert_eq!(values["master"]["config"]["extraLabelNs"][0], "nvidia.com");
}

/// Where the values disable GPU Feature Discovery, the help names them, and following it adds the labels.
#[test]
fn help_names_the_value_that_disables_feature_discovery() {
    let label = "nvidia.com/gpu.product: NVIDIA-L4";
    for (case, remove, expected) in [
        (
            &CASES[6],
            "nvidia-device-plugin: {values: {gfd: {enabled: false}}}",
            "remove `gfd.enabled: false` from the values of `charts.nvidia-device-plugin` in the cluster file",
        ),
        (
            &CASES[8],
            "gpu-operator: {values: {gfd: {enabled: false}}}",
            "remove `gfd.enabled: false` from the values of `charts.gpu-operator` in the cluster file",
        ),
    ] {
        let (_, text) = lint(case, label);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(expected), "{text}");
        let charts = case.charts.replace(remove, "");
        let fixed = Case {
            charts: charts.trim_end_matches(", ").to_owned().leak(),
            ..*case
        };
        assert!(lint(&fixed, label).0.is_empty());
    }
}

/// The GPU Operator itself labels nodes with GPUs, also where NVIDIA's own chart installs the plugin.
#[test]
fn operator_labels_nodes_with_gpus() {
    let case = Case {
        cloud: ON_PREM,
        machine: HOSTS,
        stack: "driver: operator, devicePlugin: nvidia",
        charts: "",
        writer: GpuLabelWriter::None,
    };
    let (codes, text) = lint(&case, "nvidia.com/gpu.present: \"true\"");
    assert!(codes.is_empty(), "{text}");
    let (codes, text) = lint(&case, "nvidia.com/gpu.count: \"1\"");
    assert_eq!(codes, ["GPUC4006"], "{text}");
}

/// No generated object selects nodes by a label that nothing writes.
#[test]
fn generated_objects_select_only_labels_that_exist() {
    let all = compiled_examples().iter().chain(compiled_rich());
    let mut selected = 0;
    for (name, outcome) in all {
        for compilation in &outcome.compilations {
            let (Some(cluster), Some(plan)) = (&compilation.cluster, &compilation.plan) else {
                continue;
            };
            let lacks = cluster.pools.iter().filter(|pool| {
                pool.has_gpus() && cluster.gpu_label_writer(pool) == GpuLabelWriter::None
            });
            let lacks: Vec<_> = lacks.map(|pool| pool.name.as_str()).collect();
            let documents = plan.objects.iter().map(|object| &object.node);
            for node in documents.chain(plan.releases.iter().map(|release| &release.values)) {
                let json = serde_json::to_value(node).unwrap();
                let mut keys = Vec::new();
                selected_keys(&json, &mut keys);
                selected += keys.len();
                let wrong: Vec<_> = keys.iter().filter(|key| is_gpu_label(key)).collect();
                assert!(
                    lacks.is_empty() || wrong.is_empty(),
                    "{name}: {wrong:?}, {lacks:?}"
                );
            }
        }
    }
    assert!(selected > 50, "{selected}");
}

fn selected_keys(value: &Value, keys: &mut Vec<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| selected_keys(item, keys)),
        Value::Object(map) => {
            for (key, value) in map {
                match (key.as_str(), value) {
                    ("nodeSelector", Value::Object(labels)) => keys.extend(labels.keys().cloned()),
                    ("matchExpressions", Value::Array(terms)) => {
                        let terms = terms.iter().filter_map(|term| term["key"].as_str());
                        keys.extend(terms.map(str::to_owned));
                    }
                    _ => selected_keys(value, keys),
                }
            }
        }
        _ => {}
    }
}
