//! Settings that a component reads once, when it starts: a change of the file changes what restarts the component.

use std::collections::BTreeSet;

use gpuc_compile::charts::read_once::READ_ONCE;
use serde_json::Value;

use crate::corpus::cases;
use crate::support::compile_text;

/// The objects and Helm values of a cluster with this pool.
fn plan(pool: &str) -> Vec<(String, Value)> {
    let text = format!(
        "apiVersion: gpuc.dev/v1alpha1\nkind: GpuCluster\nmetadata: {{name: demo}}\nkubernetes: {{version: \"1.36\"}}\n\
         cloud: {{onPrem: {{context: demo}}}}\nstack: {{runtimeImage: \"registry.example.com/gpuc-runtime:0.1.0\"}}\n\
         nodePools: [{{name: train, hosts: [a], nodes: {{count: 1}}, {pool}}}]\n"
    );
    let outcome = compile_text(&text);
    let plan = outcome.compilations[0].plan.as_ref();
    let plan = plan.unwrap_or_else(|| panic!("{}", outcome.text()));
    let objects = plan.objects.iter().map(|object| {
        let name = format!("{} {}", object.identity.kind, object.identity.name);
        (name, serde_json::to_value(&object.node).unwrap())
    });
    let releases = plan.releases.iter().map(|release| {
        let values = serde_json::to_value(&release.values).unwrap();
        (format!("release {}", release.name), values)
    });
    objects.chain(releases).collect()
}

/// What the component runs from, and what it reads once.
struct Reader {
    object: &'static str,
    /// A change here restarts the component.
    restarted_by: &'static str,
    /// The object with the settings, and their location there.
    settings: (&'static str, &'static str),
}

/// gpuc-runtime: `mig apply` and `mps` read `node.json` when they start.
const RUNTIME: Reader = Reader {
    object: "DaemonSet gpuc-runtime-train",
    restarted_by: "/spec/template",
    settings: ("ConfigMap gpuc-runtime-train", "/data/node.json"),
};

/// The GPU Operator's MIG manager: NVIDIA/mig-parted@bd7160f4 `cmd/nvidia-mig-manager/main.go`.
const MIG_MANAGER: Reader = Reader {
    object: "release gpu-operator",
    restarted_by: "/migManager/config/name",
    settings: ("release gpu-operator", "/migManager/config/data"),
};

/// The GPU Operator's device plugin: NVIDIA/k8s-device-plugin@1b826acc6 `cmd/config-manager/main.go`.
const PLUGIN: Reader = Reader {
    object: "release gpu-operator",
    restarted_by: "/devicePlugin/config/name",
    settings: ("release gpu-operator", "/devicePlugin/config/data"),
};

#[track_caller]
fn assert_restarted(reader: &Reader, [before, after]: [&str; 2], is_restarted: bool) {
    let value = |pool: &str, object: &str, pointer: &str| -> String {
        let plan = plan(pool);
        let found = plan.iter().find(|(name, _)| name == object);
        let found = found.unwrap_or_else(|| panic!("{object}"));
        let value = found.1.pointer(pointer);
        value.unwrap_or_else(|| panic!("{pointer}")).to_string()
    };
    let settings = |pool| value(pool, reader.settings.0, reader.settings.1);
    assert_ne!(
        settings(before),
        settings(after),
        "the settings are the same"
    );
    let template = |pool| value(pool, reader.object, reader.restarted_by);
    assert_eq!(template(before), template(before));
    assert_eq!(template(before) != template(after), is_restarted);
}

fn mig(layout: &str, rest: &str) -> String {
    format!(
        "gpu: {{model: A30, perNode: 2}}, sharing: {{mig: {{strategy: mixed, perGpu: [{{layout: [{layout}]}}]}}}}{rest}"
    )
}

const SMALL: &str = "{profile: 1g.6gb, count: 4}";
const LARGE: &str = "{profile: 2g.12gb, count: 2}";
const OPERATOR: &str = ", stack: {driver: operator, devicePlugin: operator}";

#[test]
fn changed_mig_layouts_restart_their_reader() {
    let of_runtime = [mig(SMALL, ""), mig(LARGE, "")];
    assert_restarted(&RUNTIME, of_runtime.each_ref().map(String::as_str), true);
    let of_operator = [mig(SMALL, OPERATOR), mig(LARGE, OPERATOR)];
    assert_restarted(
        &MIG_MANAGER,
        of_operator.each_ref().map(String::as_str),
        true,
    );
}

fn shared(method: &str, replicas: u32, rest: &str) -> String {
    format!("gpu: {{model: L4, perNode: 2}}, sharing: {{{method}: {{replicas: {replicas}}}}}{rest}")
}

#[test]
fn changed_replicas_restart_their_reader() {
    for (reader, method, rest, is_restarted) in [
        (&RUNTIME, "mps", "", true),
        // The daemon applies the change while it runs.
        (&RUNTIME, "timeSlicing", "", false),
        (&PLUGIN, "mps", OPERATOR, true),
        (&PLUGIN, "timeSlicing", OPERATOR, true),
    ] {
        let pools = [shared(method, 4, rest), shared(method, 8, rest)];
        assert_restarted(reader, pools.each_ref().map(String::as_str), is_restarted);
    }
}

const EXPORTER: Reader = Reader {
    object: "release dcgm-exporter-train",
    restarted_by: "/podAnnotations",
    settings: ("release dcgm-exporter-train", "/customMetrics"),
};

const OPERATOR_EXPORTER: Reader = Reader {
    object: "release gpu-operator",
    restarted_by: "/dcgmExporter/config/name",
    settings: ("release gpu-operator", "/dcgmExporter/config/data"),
};

/// A pool, and a `monitoring` section whose alerts and dashboards read more or fewer metrics.
fn measured(rest: &str, monitoring: &str) -> String {
    format!(
        "gpu: {{model: L4, perNode: 2}}{rest}}}]\nmonitoring: {{exporter: dcgm, prometheus: {{existing: {{release: p}}}}, \
         {monitoring}}}\nteams: [{{name: a"
    )
}

#[test]
fn changed_metrics_restart_their_reader() {
    for (reader, rest) in [(&EXPORTER, ""), (&OPERATOR_EXPORTER, OPERATOR)] {
        let before = measured(rest, "dashboards: true").replace("L4", "A30");
        // Other metrics measure the utilization of MIG devices.
        let layout = "perNode: 2}, sharing: {mig: {strategy: mixed, perGpu: [{layout: [{profile: 1g.6gb, count: 4}]}]}";
        let after = before.replacen("perNode: 2", layout, 1);
        assert_restarted(reader, [&before, &after], true);
    }
}

/// The settings that the user writes count as well.
#[test]
fn changed_chart_values_restart_their_reader() {
    let written = |chart: &str, values: &str, rest: &str| {
        let pool = measured(rest, "dashboards: false");
        pool.replace(
            "\nteams: ",
            &format!("\ncharts: {{{chart}: {{values: {values}}}}}\nteams: "),
        )
    };
    let metrics = |text: &str| written("dcgm-exporter", &format!("{{customMetrics: {text}}}"), "");
    let pools = [
        metrics("DCGM_FI_DEV_SM_CLOCK"),
        metrics("DCGM_FI_DEV_MEM_CLOCK"),
    ];
    assert_restarted(&EXPORTER, pools.each_ref().map(String::as_str), true);
    let data = |text: &str| {
        let values = format!("{{dcgmExporter: {{config: {{data: {text}}}}}}}");
        written("gpu-operator", &values, OPERATOR)
    };
    let pools = [data("DCGM_FI_DEV_SM_CLOCK"), data("DCGM_FI_DEV_MEM_CLOCK")];
    assert_restarted(
        &OPERATOR_EXPORTER,
        pools.each_ref().map(String::as_str),
        true,
    );
    // A name that the user writes gets the digest too, unless the ConfigMap exists.
    let named = |config: &str| {
        let values = format!("{{dcgmExporter: {{config: {{{config}}}}}}}");
        let plan = plan(&written("gpu-operator", &values, OPERATOR));
        let release = plan.iter().find(|(name, _)| name == "release gpu-operator");
        let name = release.unwrap().1.pointer("/dcgmExporter/config/name");
        name.unwrap().as_str().unwrap().to_owned()
    };
    let [first, second] =
        ["SM", "MEM"].map(|clock| named(&format!("name: mine, data: DCGM_FI_DEV_{clock}_CLOCK")));
    assert!(first.starts_with("mine-") && second.starts_with("mine-"));
    assert_ne!(first, second);
    assert_eq!(named("name: mine, create: false"), "mine");
}

/// Kubeflow Trainer and LWS mount their configuration with `subPath`, which the kubelet never updates.
#[test]
fn changed_configurations_of_controllers_restart_their_reader() {
    let trainer = Reader {
        object: "release kubeflow-trainer",
        restarted_by: "/manager/podAnnotations",
        settings: ("release kubeflow-trainer", "/manager/config"),
    };
    let groups = Reader {
        object: "release lws",
        restarted_by: "/podAnnotations",
        settings: ("release lws", "/gangSchedulingManagement"),
    };
    let written = |chart: &str, values: &str| {
        format!(
            "gpu: {{model: L4, perNode: 2}}}}]\ncharts: {{{chart}: {{values: {{{values}}}}}}}\nteams: [{{name: a"
        )
    };
    let clients = ["50", "80"].map(|qps| {
        written(
            "kubeflow-trainer",
            &format!("manager: {{config: {{clientConnection: {{qps: {qps}}}}}}}"),
        )
    });
    assert_restarted(&trainer, clients.each_ref().map(String::as_str), true);
    let schedulers = ["volcano", "default"].map(|name| {
        written(
            "lws",
            &format!("gangSchedulingManagement: {{schedulerProvider: {name}}}"),
        )
    });
    assert_restarted(&groups, schedulers.each_ref().map(String::as_str), true);
}

/// Objects with settings, by a part of their name, and how a change of them is noticed.
const OBJECTS: &[(&str, &str)] = &[
    (
        "ConfigMap gpuc-runtime-",
        "annotation of the DaemonSet, and a watch of the file",
    ),
    (
        "ConfigMap fabric",
        "the program of a `fabricTest`, whose Job runs once",
    ),
    (
        "ConfigMap dashboard-",
        "Grafana's sidecar watches ConfigMaps",
    ),
];

/// A text of several lines is a file for a component. Each must be known to restart its reader.
#[test]
fn every_file_in_values_and_objects_is_known() {
    let mut unknown = BTreeSet::new();
    let mut used = BTreeSet::new();
    for case in cases() {
        for release in &case.plan().releases {
            let values = serde_json::to_value(&release.values).unwrap();
            let mut paths = Vec::new();
            files(&values, &mut Vec::new(), &mut paths);
            for path in paths {
                let rows = READ_ONCE
                    .iter()
                    .filter(|row| row.chart == release.chart.name);
                let row = rows.into_iter().find(|row| {
                    let settings: Vec<_> =
                        row.settings.iter().map(|key| (*key).to_owned()).collect();
                    path.starts_with(&settings)
                });
                match row {
                    Some(row) => _ = used.insert((row.chart, row.settings)),
                    None => {
                        _ = unknown.insert(format!("{}: {}", release.chart.name, path.join(".")));
                    }
                }
            }
        }
        for object in &case.plan().objects {
            let identity = &object.identity;
            if !["ConfigMap", "Secret"].contains(&identity.kind.as_str()) {
                continue;
            }
            let name = format!("{} {}", identity.kind, identity.name);
            if !OBJECTS.iter().any(|(known, _)| name.starts_with(known)) {
                unknown.insert(name);
            }
        }
    }
    assert!(unknown.is_empty(), "{unknown:#?}");
    assert!(used.len() >= 5, "{used:?}");
}

/// The paths of texts with several lines.
fn files(value: &Value, path: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    match value {
        Value::String(text) if text.trim_end().contains('\n') => found.push(path.clone()),
        Value::Object(entries) => {
            for (key, value) in entries {
                path.push(key.clone());
                files(value, path, found);
                path.pop();
            }
        }
        Value::Array(items) => items.iter().for_each(|item| files(item, path, found)),
        _ => {}
    }
}
