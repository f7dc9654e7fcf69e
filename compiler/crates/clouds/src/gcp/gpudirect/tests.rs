//! Tests of clusters with GPUDirect pools.

use gpuc_compile::lower::lower;
use gpuc_model::check::check;
use gpuc_model::plan::Plan;
use serde_json::{Value, json};

use super::super::testing::{cluster, command_line, provision_config, resolved, resource_of};

/// A pool of machines with this number of GPU interfaces, in networks with this name prefix.
fn gpudirect_pool(name: &str, machine: &str, (count, prefix): (u32, &str)) -> Value {
    let interface = |index| json!({"network": format!("{prefix}-{index}"), "subnetwork": format!("{prefix}-sub-{index}")});
    let interfaces: Vec<_> = (0..count).map(interface).collect();
    json!({
        "name": name, "machine": machine, "nodes": {"count": 2},
        "network": {"gpudirect": {"interfaces": interfaces}},
    })
}

fn mega_pool() -> Value {
    gpudirect_pool("mega", "a3-megagpu-8g", (8, "gpu"))
}

fn lower_config(config: Value) -> Plan {
    let (cluster, mut report) = resolved(config);
    let checked =
        check(&cluster, &mut report).unwrap_or_else(|| panic!("{:#?}", report.diagnostics()));
    lower(&checked)
}

/// The objects of a kind, sorted by name.
fn objects(plan: &Plan, kind: &str) -> Vec<Value> {
    let of_kind = plan
        .objects
        .iter()
        .filter(|object| object.identity.kind == kind);
    let json = of_kind.map(|object| serde_json::to_value(&object.node).expect("an object is JSON"));
    json.collect()
}

/// All pod templates in a value, with their metadata.
fn pod_templates(value: &Value) -> Vec<Value> {
    let mut nested = Vec::new();
    if value["spec"]["containers"].is_array() {
        nested.push(value.clone());
    }
    match value {
        Value::Object(fields) => nested.extend(fields.values().flat_map(pod_templates)),
        Value::Array(items) => nested.extend(items.iter().flat_map(pod_templates)),
        _ => {}
    }
    nested
}

#[test]
fn gpudirect_enables_multi_networking() {
    let plain = provision_config(cluster(&[]));
    assert!(!command_line(&resource_of(&plain, "cluster").create[0]).contains("multi-networking"));
    let mut config = cluster(&[mega_pool()]);
    config["teams"] = json!([{"name": "a", "network": "isolated"}]);
    let provisioning = provision_config(config);
    let cluster = resource_of(&provisioning, "cluster");
    let create = command_line(&cluster.create[0]);
    assert_eq!(
        create.matches("--enable-dataplane-v2").count(),
        1,
        "{create}"
    );
    assert!(create.contains(" --enable-multi-networking "), "{create}");
    let mut fields = cluster.fields.iter();
    let field = fields.find(|field| field.kind.name == "multi-networking");
    let update = command_line(&field.expect("a field").update[0]);
    assert!(
        update.starts_with("gcloud container clusters update demo "),
        "{update}"
    );
    assert!(update.ends_with(" --enable-multi-networking"), "{update}");
}

#[test]
fn existing_cluster_is_checked_for_multi_networking() {
    let check_count = |pools: &[Value]| {
        let mut config = cluster(pools);
        config["cloud"]["gcp"]["cluster"] = json!({"existing": {"name": "shared"}});
        let identity = provision_config(config).identity;
        let queries = identity.iter().map(|check| command_line(&check.query));
        let for_networks = queries.filter(|query| query.contains("enableMultiNetworking"));
        for_networks.count()
    };
    assert_eq!(check_count(&[]), 0);
    assert_eq!(check_count(&[mega_pool()]), 1);
}

#[test]
fn interfaces_are_immutable() {
    let plain = json!({"name": "plain", "machine": "g2-standard-8", "nodes": {"count": 1}});
    let provisioning = provision_config(cluster(&[mega_pool(), plain]));
    let pool = resource_of(&provisioning, "pool-mega");
    let create = command_line(&pool.create[0]);
    let flag = "--additional-node-network=network=gpu-7,subnetwork=gpu-sub-7";
    assert!(create.contains(flag), "{create}");
    assert_eq!(create.matches("--additional-node-network").count(), 8);
    assert!(create.contains(" --enable-gvnic "), "{create}");
    let field = |script: &str| {
        let mut fields = resource_of(&provisioning, script).fields.iter();
        let field = fields
            .find(|field| field.kind.create_flag == Some("--additional-node-network"))
            .expect("every pool has the field");
        assert!(field.update.is_empty());
        field.desired.clone()
    };
    assert_eq!(
        field("pool-mega")[7],
        json!({"network": "gpu-7", "subnetwork": "gpu-sub-7"})
    );
    assert_eq!(field("pool-plain"), json!([]));
}

#[test]
fn networks_shared_by_pools_have_one_object() {
    let more = gpudirect_pool("more", "a3-megagpu-8g", (8, "gpu"));
    let high = gpudirect_pool("high", "a3-highgpu-8g", (4, "high"));
    let plan = lower_config(cluster(&[mega_pool(), more, high]));
    assert_eq!(objects(&plan, "Network").len(), 12);
    let parameters = objects(&plan, "GKENetworkParamSet");
    assert_eq!(parameters.len(), 12);
    let spec = json!({"vpc": "gpu-0", "vpcSubnet": "gpu-sub-0", "deviceMode": "NetDevice"});
    assert_eq!(parameters[0]["spec"], spec);
}

#[test]
fn nodes_get_the_plugin_of_their_machine_type() {
    let mut mega = mega_pool();
    mega["taints"] = json!([{"key": "team", "value": "a", "effect": "NoSchedule"}]);
    let high = gpudirect_pool("high", "a3-highgpu-8g", (4, "high"));
    let plan = lower_config(cluster(&[mega, high]));
    let all = objects(&plan, "DaemonSet");
    let named = |name: &str| {
        let mut all = all.iter();
        let found = all.find(|object| object["metadata"]["name"] == name);
        &found.unwrap_or_else(|| panic!("{name}"))["spec"]["template"]["spec"]
    };
    let mega = named("nccl-tcpxo-installer-mega");
    let containers = mega["initContainers"].as_array().expect("a list");
    assert_eq!(containers.len(), 2);
    assert!(
        containers[1]["image"]
            .as_str()
            .is_some_and(|image| image.contains("/gpudirect-tcpxo/"))
    );
    let tolerated = mega["tolerations"].as_array().expect("a list").iter();
    assert_eq!(
        tolerated
            .filter(|toleration| toleration["key"] == "team")
            .count(),
        1
    );
    let high = named("nccl-tcpx-installer-high");
    let containers = high["initContainers"].as_array().expect("a list");
    assert_eq!(containers.len(), 1);
    let install = containers[0]["command"][2].as_str().expect("a script");
    assert!(
        install.contains("cp -r /var/lib/tcpx/lib64/. "),
        "{install}"
    );
    named("gpudirect-device-injector-mega");
    named("gpudirect-device-injector-high");
}

/// Multi-node workloads of every kind.
fn workloads(nodes: u32) -> Value {
    let keys = json!({"image": "a:1", "nodes": nodes, "gpusPerNode": 8});
    let mut pytorch = keys.clone();
    pytorch["operator"] = json!("existing");
    json!([
        {"name": "a", "trainJob": keys},
        {"name": "b", "jobSet": keys},
        {"name": "c", "pytorchJob": pytorch},
        {"name": "d", "leaderWorkerSet": keys},
    ])
}

fn pods(plan: &Plan) -> Vec<Value> {
    let kinds = ["TrainingRuntime", "JobSet", "PyTorchJob", "LeaderWorkerSet"];
    let objects = kinds.iter().flat_map(|kind| objects(plan, kind));
    objects.flat_map(|object| pod_templates(&object)).collect()
}

#[test]
fn pods_of_every_kind_have_the_interfaces_and_the_daemon() {
    let mut config = cluster(&[mega_pool()]);
    config["workloads"] = workloads(2);
    let pods = pods(&lower_config(config));
    // Two pods each for the PyTorchJob and the LeaderWorkerSet, one for each of the others.
    assert_eq!(pods.len(), 6);
    for pod in pods {
        let annotations = &pod["metadata"]["annotations"];
        let interfaces = annotations["networking.gke.io/interfaces"].as_str();
        let interfaces: Value = serde_json::from_str(interfaces.expect("text")).expect("JSON");
        assert_eq!(
            interfaces[0],
            json!({"interfaceName": "eth0", "network": "default"})
        );
        assert_eq!(
            interfaces[8],
            json!({"interfaceName": "eth8", "network": "gpu-sub-7"})
        );
        let devices = annotations["devices.gke.io/container.tcpxo-daemon"].as_str();
        let devices: Value = serde_yaml::from_str(devices.expect("text")).expect("YAML");
        assert_eq!(devices.as_array().map(Vec::len), Some(11));
        let daemon = &pod["spec"]["initContainers"][0];
        assert_eq!(daemon["name"], "tcpxo-daemon");
        assert_eq!(daemon["restartPolicy"], "Always");
        let main = &pod["spec"]["containers"][0];
        let mut env = main["env"]
            .as_array()
            .expect("a list")
            .iter()
            .filter(|variable| variable["name"] == "NCCL_FASTRAK_IFNAME");
        assert_eq!(
            env.next().expect("set")["value"]
                .as_str()
                .map(|names| names.split(',').count()),
            Some(8)
        );
        // Every mounted volume exists.
        let volumes = pod["spec"]["volumes"].as_array().expect("a list").iter();
        let names: Vec<_> = volumes.map(|volume| &volume["name"]).collect();
        for container in [daemon, main] {
            for mount in container["volumeMounts"].as_array().expect("a list") {
                assert!(names.contains(&&mount["name"]), "{mount}");
            }
        }
    }
}

#[test]
fn single_node_pods_have_neither() {
    let mut config = cluster(&[mega_pool()]);
    config["workloads"] = workloads(1);
    config["workloads"].as_array_mut().expect("a list").pop();
    for pod in pods(&lower_config(config)) {
        assert_eq!(pod["metadata"].get("annotations"), None);
        assert_eq!(pod["spec"].get("initContainers"), None);
    }
}

#[test]
fn a3_high_shares_a_socket_directory_with_its_daemon() {
    let mut config = cluster(&[gpudirect_pool("high", "a3-highgpu-8g", (4, "high"))]);
    config["workloads"] = workloads(2);
    let pods = pods(&lower_config(config));
    let spec = &pods[0]["spec"];
    let mounted = |container: &Value| {
        let mut mounts = container["volumeMounts"]
            .as_array()
            .expect("a list")
            .iter()
            .filter(|mount| mount["name"] == "gpudirect-daemon-sockets");
        mounts.next().map(|mount| mount["mountPath"].clone())
    };
    assert_eq!(
        mounted(&spec["initContainers"][0]),
        Some(json!("/run/tcpx"))
    );
    assert_eq!(mounted(&spec["containers"][0]), Some(json!("/run/tcpx")));
    let added = &spec["containers"][0]["securityContext"]["capabilities"]["add"];
    assert_eq!(*added, json!(["IPC_LOCK"]));
}

/// A pool of machines with RDMA whose networks GKE creates, with more keys.
fn managed_pool(name: &str, machine: &str, more: &Value) -> Value {
    let mut pool = json!({
        "name": name, "machine": machine, "nodes": {"count": 2},
        "network": {"gpudirect": {"managed": {}}},
    });
    for (key, value) in more.as_object().into_iter().flatten() {
        pool[key] = value.clone();
    }
    pool
}

/// A cluster with this pool and a job on two of its nodes.
fn training_cluster(pool: Value, gpus: u32) -> Value {
    let mut config = cluster(&[pool]);
    config["teams"] = json!([{"name": "ml", "podSecurity": "privileged"}]);
    config["workloads"] = json!([{"name": "train", "team": "ml", "jobSet": {
        "image": "registry.example.com/model:1.0.0", "nodes": 2, "gpusPerNode": gpus, "command": ["torchrun", "train.py"],
    }}]);
    config
}

#[test]
fn managed_networks_need_only_dataplane_v2() {
    let provisioning = provision_config(cluster(&[managed_pool(
        "rdma",
        "a4-highgpu-8g",
        &json!({}),
    )]));
    let create = command_line(&resource_of(&provisioning, "cluster").create[0]);
    assert!(create.contains(" --enable-dataplane-v2 "), "{create}");
    assert!(!create.contains("multi-networking"), "{create}");
    let pool = resource_of(&provisioning, "pool-rdma");
    let create = command_line(&pool.create[0]);
    let flags = [
        " --accelerator-network-profile=auto ",
        "cloud.google.com/gke-networking-dra-driver=true,",
    ];
    for flag in flags {
        assert!(create.contains(flag), "{flag} in {create}");
    }
    assert!(!create.contains("--additional-node-network"), "{create}");
    let tools = &provisioning.tools;
    assert_eq!(tools[0].minimum_versions, ["563.0.0"]);
}

#[test]
fn existing_cluster_is_checked_for_dataplane_v2() {
    let mut config = cluster(&[managed_pool("rdma", "a4-highgpu-8g", &json!({}))]);
    config["cloud"]["gcp"]["cluster"] = json!({"existing": {"name": "shared"}});
    let identity = provision_config(config).identity;
    let queries: Vec<_> = identity
        .iter()
        .map(|check| command_line(&check.query))
        .collect();
    let has = |field: &str| queries.iter().any(|query| query.contains(field));
    assert!(has("networkConfig.datapathProvider"), "{queries:?}");
    assert!(!has("enableMultiNetworking"), "{queries:?}");
}

#[test]
fn pods_claim_all_adapters_of_a_managed_node() {
    let reserved = json!({"capacity": {"reservation": {"id": "rack"}}});
    for (machine, gpus, adapters) in [
        ("a3-ultragpu-8g", 8, 8),
        ("a4x-highgpu-4g", 4, 4),
        ("a4x-maxgpu-4g-metal", 4, 8),
    ] {
        let plan = lower_config(training_cluster(
            managed_pool("rdma", machine, &reserved),
            gpus,
        ));
        let template = &objects(&plan, "ResourceClaimTemplate")[0];
        assert_eq!(template["metadata"]["namespace"], "ml");
        let request = &template["spec"]["spec"]["devices"]["requests"][0]["exactly"];
        assert_eq!(request["deviceClassName"], "mrdma.google.com");
        assert_eq!(request["count"], json!(adapters), "{machine}");
        let pods = pods(&plan);
        let spec = &pods[0]["spec"];
        let claims = json!([{"name": "rdma", "resourceClaimTemplateName": "train-rdma"}]);
        assert_eq!(spec["resourceClaims"], claims);
        let container = &spec["containers"][0];
        assert_eq!(container["resources"]["claims"], json!([{"name": "rdma"}]));
        let profile = &spec["nodeSelector"]["gke.networks.io/accelerator-network-profile"];
        assert_eq!(profile, "auto");
        assert_eq!(pods[0]["metadata"].get("annotations"), None);
    }
}

#[test]
fn script_of_the_plugin_runs_before_the_command() {
    let plan = lower_config(training_cluster(
        managed_pool("rdma", "a4-highgpu-8g", &json!({})),
        8,
    ));
    let pods = pods(&plan);
    let container = &pods[0]["spec"]["containers"][0];
    let command = [
        "/bin/bash",
        "-c",
        ". /usr/local/gib/scripts/set_nccl_env.sh && exec \"$@\"",
        "bash",
        "torchrun",
        "train.py",
    ];
    assert_eq!(container["command"], json!(command));
    let mounts = container["volumeMounts"].as_array().expect("a list").iter();
    let paths: Vec<_> = mounts.map(|mount| &mount["mountPath"]).collect();
    assert!(paths.contains(&&json!("/usr/local/gib")), "{paths:?}");
}

#[test]
fn rdma_interfaces_are_attached_by_annotations() {
    let adapters =
        (0..8).map(|index| json!({"network": "roce", "subnetwork": format!("rdma-{index}")}));
    let mut interfaces = vec![json!({"network": "host", "subnetwork": "host"})];
    interfaces.extend(adapters);
    let pool = json!({
        "name": "rdma", "machine": "a3-ultragpu-8g", "nodes": {"count": 2},
        "network": {"gpudirect": {"interfaces": interfaces}},
    });
    let plan = lower_config(training_cluster(pool, 8));
    // The host's second interface stays out of pods.
    let pods = pods(&plan);
    let annotation = &pods[0]["metadata"]["annotations"]["networking.gke.io/interfaces"];
    let attached: Value = serde_json::from_str(annotation.as_str().expect("text")).expect("JSON");
    let attached = attached.as_array().expect("a list");
    assert_eq!(attached.len(), 9);
    assert_eq!(
        attached[1],
        json!({"interfaceName": "eth2", "network": "rdma-0"})
    );
    assert_eq!(
        attached[8],
        json!({"interfaceName": "eth9", "network": "rdma-7"})
    );
    assert_eq!(pods[0]["spec"].get("resourceClaims"), None);
    let parameters = objects(&plan, "GKENetworkParamSet").into_iter();
    let modes: Vec<_> = parameters
        .map(|it| {
            (
                it["metadata"]["name"].clone(),
                it["spec"]["deviceMode"].clone(),
            )
        })
        .collect();
    assert_eq!(modes[0], (json!("host"), json!("NetDevice")));
    assert_eq!(modes[1], (json!("rdma-0"), json!("RDMA")));
    assert_eq!(modes.len(), 9);
}
