//! docs/runtime.md documents every key of the configuration and every metric of the daemon.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use gpuc_schema::node_config::{
    API_VERSION, DeviceInjection, Driver, ExpectedGpus, Extra, HealthPolicy, KIND, LabelOutput,
    MetricsConfig, MigGpu, MigSlice, NodeConfig, NodeSharing, SharePlacement,
};
use serde_json::{Value, json};

#[test]
fn configuration_keys_are_documented() {
    let page = runtime_page();
    let mut keys = BTreeSet::new();
    for (devices, sharing) in all_device_injections().into_iter().zip(all_sharings()) {
        let config = serde_json::to_value(config(devices, sharing)).unwrap();
        collect_keys(&config, &mut keys);
    }
    // Users choose the resource names, which are also keys.
    keys.remove("nvidia.com/gpu");
    assert!(keys.len() > 35, "{keys:?}");
    let missing: Vec<_> = keys
        .iter()
        .filter(|key| !page.contains(&format!("`{key}`")))
        .collect();
    assert!(missing.is_empty(), "docs/runtime.md lacks {missing:?}");
}

#[test]
fn metrics_are_documented() {
    let runtime = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/metrics");
    let page = runtime_page();
    let mut names = BTreeSet::new();
    for file in fs::read_dir(runtime).unwrap() {
        let code = fs::read_to_string(file.unwrap().path()).unwrap();
        let code = code.split("mod tests").next().unwrap();
        let quoted = code.split('"').skip(1).step_by(2);
        let is_name = |text: &str| text.chars().all(|c| c.is_ascii_lowercase() || c == '_');
        let metric_names = quoted.filter(|text| text.starts_with("gpuc_") && is_name(text));
        names.extend(metric_names.map(str::to_owned));
    }
    assert!(names.len() > 15, "{names:?}");
    let missing: Vec<_> = names
        .iter()
        .filter(|name| !page.contains(&format!("`{name}")))
        .collect();
    assert!(missing.is_empty(), "docs/runtime.md lacks {missing:?}");
}

/// The patch for clusters without GPUs, applied to the `DaemonSet` of the example.
#[test]
fn simulation_patch_fits_the_daemon_set() {
    let page = runtime_page();
    let (_, patch) = page.split_once("--type json --patch \\\n  '").unwrap();
    let (patch, _) = patch.split_once("'\n").unwrap();
    let patch: Value = serde_json::from_str(patch).unwrap();
    assert_eq!(patch[0]["op"], "add");
    let path = patch[0]["path"].as_str().unwrap();
    let (list, _) = path.split_once("/-").expect("it appends to a list");
    let pools = crate::manifests::runtime_pools();
    let mut patched = 0;
    for pool in pools.iter().filter(|pool| pool.name.ends_with("infer")) {
        let pod = serde_json::to_value(&pool.pod).unwrap();
        let mut daemon_set = json!({"spec": {"template": {"spec": pod}}});
        let args = daemon_set.pointer_mut(list).and_then(Value::as_array_mut);
        let args = args.expect("the list exists");
        args.push(patch[0]["value"].clone());
        let args: Vec<String> = serde_json::from_value(args.clone().into()).unwrap();
        let command = ["gpuc-runtime".to_owned()].into_iter().chain(args);
        let cli = <gpuc_runtime::args::Cli as clap::Parser>::try_parse_from(command).unwrap();
        let gpuc_runtime::args::Command::Serve(args) = cli.command else {
            panic!("the first container does not run `serve`");
        };
        assert_eq!(args.simulation.fake.as_deref(), Some("l4x1"));
        patched += 1;
    }
    assert!(patched > 0);
}

fn runtime_page() -> String {
    let runtime = Path::new(env!("CARGO_MANIFEST_DIR"));
    fs::read_to_string(runtime.join("../docs/runtime.md")).unwrap()
}

/// Collects the keys, including those of enumerations.
fn collect_keys(value: &Value, keys: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                keys.insert(key.clone());
                collect_keys(value, keys);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| collect_keys(value, keys)),
        _ => {}
    }
}

fn all_device_injections() -> Vec<DeviceInjection> {
    let nodes = || DeviceInjection::DeviceNodes {
        driver_host_path: "/a".to_owned(),
        driver_container_path: "/b".to_owned(),
    };
    let cdi = DeviceInjection::Cdi {
        spec_dir: "/var/run/cdi".to_owned(),
        annotations: true,
    };
    vec![cdi, nodes(), nodes()]
}

fn all_sharings() -> Vec<NodeSharing> {
    let slice = MigSlice {
        profile: "1g.10gb".to_owned(),
        start: 0,
        size: 1,
    };
    let gpu = MigGpu {
        index: 0,
        slices: vec![slice],
    };
    vec![
        NodeSharing::TimeSlicing {
            replicas: 2,
            rename: true,
            refuse_more_than_one: true,
        },
        NodeSharing::Mps {
            replicas: 2,
            rename: true,
            refuse_more_than_one: true,
            root: "/run/gpuc/mps".to_owned(),
        },
        NodeSharing::Mig {
            strategy: gpuc_schema::config::MigStrategy::Mixed,
            apply: true,
            gpus: vec![gpu],
        },
    ]
}

fn config(devices: DeviceInjection, sharing: NodeSharing) -> NodeConfig {
    NodeConfig {
        api_version: API_VERSION.to_owned(),
        kind: KIND.to_owned(),
        cluster: "demo".to_owned(),
        pool: "train".to_owned(),
        expected: ExpectedGpus {
            model: "h100-sxm5-80gb".to_owned(),
            count: 8,
        },
        driver: Driver {
            host_root: "/".to_owned(),
            container_root: "/driver-root".to_owned(),
        },
        devices,
        pass_device_nodes: true,
        sharing,
        resources: [("nvidia.com/gpu".to_owned(), 8)].into(),
        extras: vec![Extra::Gds],
        placement: SharePlacement::Packed,
        health: HealthPolicy {
            ignored_xids: vec![63],
            ..HealthPolicy::default()
        },
        labels: LabelOutput::FeatureFile {
            path: "/a".to_owned(),
        },
        metrics: MetricsConfig::default(),
        startup_taint: Some("startup".to_owned()),
    }
}
