//! The values, drivers and labels of clusters with the GPU Operator.

use std::sync::Arc;

use gpuc_model::Cluster;
use gpuc_model::check::check;
use gpuc_model::resolve::{Choices, resolve};
use gpuc_schema::config::GpuCluster;
use gpuc_syntax::diag::Report;
use serde_json::{Value, json};

use super::*;

fn cluster(cloud: &Value, stack: &Value, pools: &Value) -> Cluster {
    let config = json!({
        "apiVersion": "gpuc.dev/v1alpha1", "kind": "GpuCluster", "metadata": {"name": "demo"},
        "kubernetes": {"version": "1.36"}, "cloud": cloud, "stack": stack, "nodePools": pools,
    });
    let config: GpuCluster = serde_json::from_value(config).expect("the test's own file");
    resolve(
        Arc::new(config),
        &crate::charts::testing::REGISTRY,
        &Choices::default(),
        &mut Report::default(),
    )
}

/// The values, and the NVIDIADriver objects.
fn generate(cloud: &Value, stack: &Value, pools: &Value) -> (Value, Vec<Value>) {
    let cluster = cluster(cloud, stack, pools);
    let mut report = Report::default();
    let checked = check(&cluster, &mut report);
    let checked = checked.unwrap_or_else(|| panic!("{:?}", report.diagnostics()));
    let json = |node: &Node| serde_json::to_value(node).expect("a tree is JSON");
    let releases = releases(&checked);
    let objects = objects(&checked);
    let values = releases.first().map_or(Value::Null, |it| json(&it.values));
    (values, objects.iter().map(|it| json(&it.node)).collect())
}

fn generate_on_prem(stack: &Value, pools: &Value) -> (Value, Vec<Value>) {
    generate(&json!({"onPrem": {"context": "lab"}}), stack, pools)
}

fn host_pool(name: &str, model: &str, more: &Value) -> Value {
    let mut pool = json!({
        "name": name, "gpu": {"model": model, "perNode": 1}, "hosts": [name], "nodes": {"count": 1},
    });
    for (key, value) in more.as_object().expect("a mapping") {
        pool[key] = value.clone();
    }
    pool
}

/// The stack in which the operator installs everything.
fn full_stack() -> Value {
    json!({"driver": "operator", "devicePlugin": "operator"})
}

/// The upgrade policy: one node at a time, without forced eviction.
fn upgrade_policy() -> Value {
    json!({
        "autoUpgrade": true, "maxParallelUpgrades": 1, "maxUnavailable": "25%",
        "gpuPodDeletion": {"force": false, "timeoutSeconds": 300, "deleteEmptyDir": false},
        "drain": {"enable": false},
    })
}

#[test]
fn every_operand_is_switched_explicitly() {
    let pools = json!([host_pool("a", "L4", &json!({"dedicatedTo": "x"}))]);
    let (values, drivers) = generate_on_prem(&full_stack(), &pools);
    let tolerations = json!([{
        "key": "gpuc.dev/dedicated-to", "operator": "Equal", "value": "x", "effect": "NoSchedule",
    }]);
    let wanted = json!({
        "operator": {"runtimeClass": "nvidia"},
        "daemonsets": {"tolerations": tolerations},
        "cdi": {"enabled": true},
        "driver": {
            "enabled": true, "version": "595.91.07", "kernelModuleType": "open",
            "upgradePolicy": upgrade_policy(),
        },
        "toolkit": {"enabled": true},
        "devicePlugin": {"enabled": true},
        "gfd": {"enabled": true},
        "mig": {"strategy": "none"},
        "migManager": {"enabled": true},
        "dcgmExporter": {"enabled": false, "serviceMonitor": {"enabled": false}},
        "nfd": {"enabled": true},
        "ccManager": {"enabled": false},
        "node-feature-discovery": {"worker": {"tolerations": tolerations}},
    });
    assert_eq!(values, wanted);
    assert!(drivers.is_empty());
    let (values, _) = generate_on_prem(&json!({"devicePlugin": "operator"}), &pools);
    assert_eq!(values["driver"], json!({"enabled": false}));
    assert_eq!(values["toolkit"], json!({"enabled": false}));
}

#[test]
fn gpu_models_of_different_branches_get_own_drivers() {
    let old = host_pool("old", "v100-sxm2-16gb", &json!({}));
    let new = host_pool("new", "h100-sxm5-80gb", &json!({}));
    let (values, drivers) = generate_on_prem(&full_stack(), &json!([old, new]));
    let by_pool = json!({"enabled": true, "version": "595.91.07",
        "nvidiaDriverCRD": {"enabled": true, "deployDefaultCR": false},
        "upgradePolicy": upgrade_policy()});
    assert_eq!(values["driver"], by_pool);
    let spec = |index: usize, key: &str| drivers[index]["spec"][key].clone();
    assert_eq!(spec(0, "version"), "580.178.04");
    assert_eq!(spec(0, "kernelModuleType"), "proprietary");
    let deletion = &spec(0, "upgradePolicy")["podDeletion"];
    assert_eq!(deletion["force"], json!(false));
    assert_eq!(spec(0, "nodeSelector"), json!({"gpuc.dev/pool": "old"}));
    assert_eq!(spec(1, "version"), "595.91.07");
    assert_eq!(spec(1, "kernelModuleType"), "open");
    // Old GPU models alone share one driver.
    let (values, drivers) = generate_on_prem(
        &full_stack(),
        &json!([host_pool("old", "v100-sxm2-16gb", &json!({}))]),
    );
    assert_eq!(values["driver"]["version"], "580.178.04");
    assert!(drivers.is_empty());
    // GPU models with a set version share one too.
    let stack =
        json!({"driver": "operator", "devicePlugin": "operator", "driverVersion": "580.95.05"});
    let pools = json!([
        host_pool("a", "T4", &json!({})),
        host_pool("b", "L4", &json!({}))
    ]);
    let (values, _) = generate_on_prem(&stack, &pools);
    assert_eq!(values["driver"]["version"], "580.95.05");
}

#[test]
fn operating_systems_get_own_drivers() {
    let other = json!({"os": {"family": "Ubuntu2204"}});
    let pools = json!([
        host_pool("a", "L4", &json!({})),
        host_pool("b", "L4", &other)
    ]);
    let (_, drivers) = generate_on_prem(&full_stack(), &pools);
    assert_eq!(drivers.len(), 2);
}

#[test]
fn pools_share_independently() {
    let mig = |strategy: &str| {
        json!({"sharing": {"mig": {"strategy": strategy,
        "perGpu": [{"layout": [{"profile": "1g.10gb", "count": 7}]}]}}})
    };
    let turns = json!({"sharing": {"timeSlicing": {"replicas": 4}}});
    let mps = json!({"sharing": {"mps": {"replicas": 8}}});
    let cut = host_pool("cut", "h100-sxm5-80gb", &mig("mixed"));
    let (values, _) = generate_on_prem(
        &full_stack(),
        &json!([
            cut,
            host_pool("turns", "L4", &turns),
            host_pool("whole", "L4", &json!({}))
        ]),
    );
    let config = &values["devicePlugin"]["config"];
    assert_eq!(config["default"], "gpuc.exclusive");
    assert_eq!(
        config["data"]["cut"],
        "version: v1\nflags:\n  migStrategy: mixed\n"
    );
    assert_eq!(
        config["data"]["turns"],
        "version: v1\nflags:\n  migStrategy: none\nsharing:\n  timeSlicing:\n    renameByDefault: false\n    \
         failRequestsGreaterThanOne: true\n    resources:\n      - name: nvidia.com/gpu\n        replicas: 4\n"
    );
    assert_eq!(config["data"].get("whole"), None);
    assert_eq!(values["mig"]["strategy"], "mixed");
    assert_eq!(
        values["migManager"]["config"]["data"]["config.yaml"],
        "version: v1\nmig-configs:\n  all-disabled:\n    - devices: all\n      mig-enabled: false\n  cut:\n    \
         - devices: [0]\n      mig-enabled: true\n      mig-devices:\n        \"1g.10gb\": 7\n"
    );
    // A variable for all nodes would override the configuration of each pool.
    let other = host_pool("single", "h100-sxm5-80gb", &mig("single"));
    let cut = host_pool("cut", "h100-sxm5-80gb", &mig("mixed"));
    assert_eq!(
        generate_on_prem(&full_stack(), &json!([cut, other])).0["mig"]["strategy"],
        ""
    );
    let cut = host_pool("cut", "h100-sxm5-80gb", &mig("mixed"));
    assert_eq!(
        generate_on_prem(&full_stack(), &json!([cut, host_pool("mps", "L4", &mps)])).0["mig"]["strategy"],
        ""
    );
}

#[test]
fn labels_restrict_the_operator_to_its_operands() {
    let labels = |stack: Value| {
        let other = host_pool("other", "L4", &json!({"stack": {"driver": "operator"}}));
        let pool = host_pool(
            "a",
            "L4",
            &json!({"stack": stack, "sharing": {"timeSlicing": {"replicas": 2}}}),
        );
        let cloud = json!({"onPrem": {"context": "lab"}});
        let cluster = cluster(
            &cloud,
            &json!({"devicePlugin": "operator"}),
            &json!([other, pool]),
        );
        let labels = cluster.pools[1].labels.iter();
        let labels = labels.filter(|label| label.key.starts_with("nvidia.com/"));
        let labels: Vec<_> = labels
            .map(|label| format!("{}={}", &label.key[11..], label.value))
            .collect();
        labels.join(" ")
    };
    assert_eq!(labels(full_stack()), "device-plugin.config=a");
    let by_host = json!({"driver": "host", "devicePlugin": "operator"});
    assert_eq!(
        labels(by_host),
        "device-plugin.config=a gpu.deploy.driver=false"
    );
    let runtime = json!({"driver": "operator", "devicePlugin": "gpuc", "extras": ["gdrcopy"]});
    assert_eq!(
        labels(runtime),
        "gpu.deploy.device-plugin=false gpu.deploy.gpu-feature-discovery=false gpu.deploy.mig-manager=false"
    );
    let neither = json!({"driver": "host", "devicePlugin": "gpuc"});
    assert_eq!(labels(neither), "gpu.deploy.operands=false");
}

#[test]
fn unused_operator_is_not_installed() {
    let stack = json!({"devicePlugin": "nvidia"});
    let (values, _) = generate_on_prem(&stack, &json!([host_pool("a", "L4", &json!({}))]));
    assert_eq!(values, Value::Null);
}

#[test]
fn driver_tolerates_the_startup_taint() {
    let cloud = json!({"aws": {"account": "123456789012", "region": "us-east-1", "cluster": {"create": {}}}});
    let stack =
        json!({"driver": "operator", "runtimeImage": "registry.example.com/gpuc-runtime:0.1.0"});
    let layout = json!([{"layout": [{"profile": "1g.5gb", "count": 7}]}]);
    let pools = json!([
        {"name": "system", "machine": "m7i.xlarge", "nodes": {"count": 2}},
        {"name": "cut", "machine": "p4d.24xlarge", "nodes": {"count": 1}, "os": {"family": "Ubuntu2404"},
         "sharing": {"mig": {"strategy": "single", "perGpu": layout}}},
    ]);
    let cluster = cluster(&cloud, &stack, &pools);
    let (values, _) = generate(&cloud, &stack, &pools);
    let taint = cluster.pools[1].startup_taint.as_ref();
    let wanted: Vec<_> = taint
        .map(|taint| json!({"key": taint.key, "operator": "Exists", "effect": "NoSchedule"}))
        .into_iter()
        .collect();
    assert_eq!(wanted.len(), 1);
    assert_eq!(values["daemonsets"]["tolerations"], json!(wanted));
    assert_eq!(
        values["node-feature-discovery"]["worker"]["tolerations"],
        json!(wanted)
    );
}

#[test]
fn extras_are_injected_and_their_modules_built() {
    let extras = |extras: &Value| json!({"stack": {"extras": extras}});
    let all = host_pool(
        "a",
        "GB200",
        &extras(&json!(["mofed", "gdrcopy", "gds", "imex"])),
    );
    let (values, drivers) = generate_on_prem(&full_stack(), &json!([all]));
    assert!(drivers.is_empty());
    assert_eq!(values["gdrcopy"], json!({"enabled": true}));
    assert_eq!(values["gds"], json!({"enabled": true}));
    assert_eq!(
        values["devicePlugin"]["config"]["data"]["a"],
        "version: v1\nflags:\n  migStrategy: none\n  gdrcopyEnabled: true\n  gdsEnabled: true\n  \
         mofedEnabled: true\nimex:\n  channelIDs: [0]\n  required: false\n"
    );
    // Pools with different modules have their own drivers.
    let one = host_pool("a", "L4", &extras(&json!(["gdrcopy"])));
    let other = host_pool("b", "L4", &extras(&json!([])));
    let (values, drivers) = generate_on_prem(&full_stack(), &json!([one, other]));
    assert_eq!(values.get("gdrcopy"), None);
    let module = json!({
        "enabled": true, "repository": "nvcr.io/nvidia/cloud-native", "image": "gdrdrv", "version": "v2.6",
    });
    assert_eq!(drivers[0]["spec"]["gdrcopy"], module);
    assert_eq!(drivers[1]["spec"].get("gdrcopy"), None);
    // The modules of a driver that the host installs are the host's.
    let host = json!({"driver": "host", "devicePlugin": "operator", "extras": ["gdrcopy"]});
    let (values, _) = generate_on_prem(&host, &json!([host_pool("a", "L4", &json!({}))]));
    assert_eq!(values.get("gdrcopy"), None);
    let config = &values["devicePlugin"]["config"]["data"]["a"];
    assert_eq!(
        config,
        "version: v1\nflags:\n  migStrategy: none\n  gdrcopyEnabled: true\n"
    );
}
