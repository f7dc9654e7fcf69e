//! Clusters that gpuc built: their workloads, their delivery, and the records of their pools.

use serde_json::{Value, json};

use super::{build, errors, imported, imported_with_builder, keys, node, pool, provided, read};

/// A file with workloads, without its pools' `hosts`.
const FILE: &str = r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, gpu: {model: L4, perNode: 4}, hosts: [a], nodes: {count: 1}}
teams:
  - {name: research}
workloads:
  - name: train
    team: research
    pool: gpu
    job:
      image: "registry.example.com/train:1.0.0"
      command: [python, train.py]
      gpus: 2
      memory: 64Gi
      env: {CUDA_MODULE_LOADING: LAZY}
      envValueFrom: {TOKEN: {secret: {name: hub, key: token}}}
      volumes: [{name: data, mountPath: /data, from: {claim: {sizeGiB: 100}}}]
  - name: serve
    deployment:
      image: "registry.example.com/serve:1.0.0"
      gpus: 1
      replicas: 2
      service: {port: 80, containerPort: 8000}
      probes: {readiness: {port: 8000, path: /health}}
    podPatch: {hostIPC: true}
"#;

/// The objects of the file, and its node.
fn cluster() -> Vec<Value> {
    let mut objects = build(FILE).unwrap();
    let labels = json!({"gpuc.dev/pool": "gpu", "nvidia.com/gpu.product": "NVIDIA-L4", "nvidia.com/gpu.count": "4"});
    let mut gpu = node("a", &labels, &[], &json!({"nvidia.com/gpu": "4"}));
    gpu["status"]["nodeInfo"]["osImage"] = "Ubuntu 24.04.3 LTS".into();
    gpu["metadata"]["annotations"]["gpuc.dev/labels"] = "gpuc.dev/pool".into();
    objects.push(gpu);
    objects
}

/// The object of a kind with a name.
fn find<'o>(objects: &'o mut [Value], kind: &str, name: &str) -> &'o mut Value {
    let mut objects = objects.iter_mut();
    objects
        .find(|it| it["kind"] == kind && it["metadata"]["name"] == name)
        .unwrap()
}

/// The workload with a name in the file.
fn workload(file: &Value, name: &str) -> Value {
    let mut workloads = file["workloads"].as_array().into_iter().flatten();
    workloads
        .find(|it| it["name"] == name)
        .cloned()
        .unwrap_or_default()
}

#[test]
fn workloads_that_build_the_same_objects_are_imported() {
    let mut objects = cluster();
    // What the API server adds makes no difference.
    let serve = find(&mut objects, "Deployment", "serve");
    serve["spec"]["revisionHistoryLimit"] = 10.into();
    serve["spec"]["template"]["spec"]["dnsPolicy"] = "ClusterFirst".into();
    let import = imported_with_builder(&objects, &[]);
    let file = read(&import);
    let original: Value = serde_yaml::from_str(FILE).unwrap();
    assert_eq!(
        workload(&file, "train"),
        workload(&original, "train"),
        "{}",
        import.yaml
    );
    let mut serve = workload(&original, "serve");
    serve["pool"] = "gpu".into();
    assert_eq!(workload(&file, "serve"), serve, "{}", import.yaml);
    assert_eq!(errors(&import), Vec::<String>::new(), "{}", import.yaml);
}

#[test]
fn workloads_that_differ_are_patched_or_left_out() {
    let mut objects = cluster();
    let serve = find(&mut objects, "Deployment", "serve");
    serve["spec"]["minReadySeconds"] = 30.into();
    let train = find(&mut objects, "Job", "train");
    let container = &mut train["spec"]["template"]["spec"]["containers"][0];
    // gpuc removes the values of variables before it reads them.
    container["env"][1] = json!({"name": "HIDDEN"});
    let import = imported_with_builder(&objects, &[]);
    let file = read(&import);
    assert_eq!(
        workload(&file, "serve")["patch"],
        json!({"spec": {"minReadySeconds": 30}}),
        "{}",
        import.yaml
    );
    assert_eq!(workload(&file, "train"), Value::Null);
    let mut left_out = import.report.left_out.iter();
    let train = left_out
        .find(|it| it.key.as_deref() == Some("workloads[train]"))
        .unwrap();
    assert_eq!(train.source, "Job research/train");
    assert!(
        train.reason.starts_with("gpuc would build another object"),
        "{}",
        train.reason
    );
}

#[test]
fn workloads_of_others_are_named_once_for_each_namespace() {
    let mut objects = cluster();
    for name in ["a", "b"] {
        objects.push(json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "ml"},
            "spec": {"template": {"spec": {"containers": [
                {"name": "main", "resources": {"limits": {"nvidia.com/gpu": "1"}}},
            ]}}},
        }));
    }
    let import = imported_with_builder(&objects, &[]);
    let others = import
        .report
        .left_out
        .iter()
        .filter(|it| it.key.as_deref() == Some("workloads"));
    let sources: Vec<&str> = others.map(|it| it.source.as_str()).collect();
    assert_eq!(sources, ["Deployment ml/a, b"]);
}

#[test]
fn hosts_that_gpuc_labelled_are_hosts() {
    let import = imported_with_builder(&cluster(), &[]);
    let gpu = pool(&import, "gpu");
    assert_eq!(gpu["hosts"], json!(["a"]));
    assert_eq!(gpu.get("existing"), None);
}

#[test]
fn hosts_that_their_owner_labelled_are_selected() {
    let mut objects = cluster();
    find(&mut objects, "Node", "a")["metadata"]["annotations"] = json!({});
    let import = imported_with_builder(&objects, &[]);
    let gpu = pool(&import, "gpu");
    assert_eq!(gpu["existing"]["selector"], json!({"gpuc.dev/pool": "gpu"}));
    assert_eq!(gpu.get("hosts"), None);
}

#[test]
fn providers_are_recognized() {
    for (version, provider) in [
        ("v1.36.0+k0s.0", "k0s"),
        ("v1.36.2+rke2r1", "rke2"),
        ("v1.36.2+k3s1", "k3s"),
    ] {
        let mut objects = cluster();
        let gpu = find(&mut objects, "Node", "a");
        gpu["metadata"]["annotations"] = json!({});
        gpu["status"]["nodeInfo"]["kubeletVersion"] = version.into();
        let file = read(&imported_with_builder(&objects, &[]));
        assert_eq!(file["cloud"]["existing"]["provider"], provider);

        // A host that gpuc prepared is on premises.
        let gpu = find(&mut objects, "Node", "a");
        gpu["metadata"]["annotations"]["gpuc.dev/labels"] = "gpuc.dev/pool".into();
        let file = read(&imported_with_builder(&objects, &[]));
        assert_eq!(file["cloud"].get("existing"), None, "{version}");
    }
}

#[test]
fn labels_that_may_be_the_users_are_named() {
    let mut objects = cluster();
    find(&mut objects, "Node", "a")["metadata"]["labels"]["rack"] = "7".into();
    let import = imported(&objects, &[]);
    let mut left_out = import.report.left_out.iter();
    let labels = left_out
        .find(|it| it.key.as_deref() == Some("nodePools[gpu].labels"))
        .unwrap();
    assert_eq!(labels.source, "Node a#metadata.labels = rack=7");
}

#[test]
fn the_delivery_by_flux_is_imported() {
    let mut objects = cluster();
    objects.extend([
        json!({
            "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
            "metadata": {"name": "demo", "namespace": "gitops"},
            "spec": {"url": "https://git.example.com/acme/gitops.git", "ref": {"branch": "main"},
                "secretRef": {"name": "login"}},
        }),
        json!({
            "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
            "metadata": {"name": "demo", "namespace": "gitops"},
            "spec": {"path": "./clusters/demo/flux", "sourceRef": {"kind": "GitRepository", "name": "demo"}},
        }),
    ]);
    let import = imported(&objects, &[]);
    let file = read(&import);
    let expected = json!({"flux": {
        "repository": "https://git.example.com/acme/gitops.git", "branch": "main", "path": "clusters/demo",
        "secret": "login", "namespace": "gitops",
    }});
    assert_eq!(file["gitops"], expected, "{}", import.yaml);
    assert_eq!(file["metadata"]["name"], "demo");
}

#[test]
fn another_delivery_is_left_out() {
    let application = json!({
        "apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": "web", "namespace": "argocd"},
        "spec": {"source": {"repoURL": "https://git.example.com/web.git", "path": "deploy"}},
    });
    let mut objects = cluster();
    objects.push(application);
    let import = imported(&objects, &[]);
    assert_eq!(read(&import).get("gitops"), None);
    assert!(keys(&import.report.left_out).contains(&"gitops"));
}

#[test]
fn thresholds_and_disabled_alerts_are_imported() {
    let monitoring = "monitoring:\n  exporter: gpuc\n  alerts: {temperatureCelsius: 80, idleMinutes: 90, disabled: [GpuXid]}\n  \
                      prometheus: {install: {}}\n";
    let mut objects = build(&format!("{FILE}{monitoring}")).unwrap();
    objects.extend(cluster().pop());
    let import = imported_with_builder(&objects, &[]);
    let expected = json!({"temperatureCelsius": 80, "disabled": ["GpuXid"], "idleMinutes": 90});
    let mut alerts = read(&import)["monitoring"]["alerts"].clone();
    let rest = alerts.as_object_mut().unwrap();
    rest.retain(|key, _| expected.get(key).is_some());
    assert_eq!(alerts, expected, "{}", import.yaml);
    assert_eq!(
        read(&import)["monitoring"]["prometheus"],
        json!({"install": {}})
    );
}

/// A node group of EKS with tags and labels, and its node.
fn node_group(labels: &Value, tags: &Value) -> (Vec<Value>, Vec<Value>) {
    let group = json!({"nodegroup": {
        "nodegroupName": "train", "clusterName": "demo", "version": "1.36",
        "nodegroupArn": "arn:aws:eks:us-east-1:123456789012:nodegroup/demo/train/1",
        "scalingConfig": {"minSize": 1, "maxSize": 1, "desiredSize": 1}, "instanceTypes": ["p5.48xlarge"],
        "subnets": ["subnet-0a"], "amiType": "AL2023_x86_64_NVIDIA", "labels": labels, "tags": tags,
        "launchTemplate": {"id": "lt-1", "version": "1"},
    }});
    let cluster = json!({"cluster": {
        "name": "demo", "arn": "arn:aws:eks:us-east-1:123456789012:cluster/demo", "version": "1.36",
        "tags": {"team": "platform"},
    }});
    let labels = json!({"eks.amazonaws.com/nodegroup": "train", "node.kubernetes.io/instance-type": "p5.48xlarge"});
    let node = provided(
        node("a", &labels, &[], &json!({"nvidia.com/gpu": "8"})),
        "aws:///us-east-1a/i-1",
    );
    (vec![node], vec![cluster, group])
}

#[test]
fn the_record_of_a_launch_template_is_read_from_tags() {
    let tags = json!({
        "gpuc.dev/disk-gib": "500", "gpuc.dev/efa": "yes", "gpuc.dev/max-pods": "60", "gpuc.dev/place": "us-east-1a",
        "gpuc.dev/reservation": "cr-0123456789abcdef0", "team": "platform", "cost": "a",
    });
    let (objects, files) = node_group(&json!({}), &tags);
    let import = imported(&objects, &files);
    let train = pool(&import, "train");
    assert_eq!(train["diskGiB"], 500, "{}", import.yaml);
    assert_eq!(train["network"], json!({"efa": {}}));
    assert_eq!(train["maxPods"], 60);
    assert_eq!(train["zones"], json!(["us-east-1a"]));
    assert_eq!(train.get("subnets"), None);
    assert_eq!(
        train["capacity"],
        json!({"reservation": {"id": "cr-0123456789abcdef0"}})
    );
    // The tags of the cluster are on all of its pools.
    assert_eq!(train["tags"], json!({"cost": "a"}));
}

#[test]
fn labels_that_gpuc_derives_are_left_out() {
    let labels = json!({"nvidia.com/gpu.deploy.driver": "false", "nvidia.com/mig.config": "x", "tier": "gold"});
    let (objects, files) = node_group(&labels, &json!({}));
    let import = imported(&objects, &files);
    assert_eq!(pool(&import, "train")["labels"], json!({"tier": "gold"}));
    assert!(keys(&import.report.left_out).contains(&"nodePools[train].labels"));
}

#[test]
fn a_karpenter_node_pool_of_gpuc_is_a_pool_with_a_range() {
    let (mut objects, _) = node_group(&json!({}), &json!({}));
    objects.extend([
        json!({
            "apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "burst"},
            "spec": {
                "limits": {"nodes": "8"},
                "template": {"metadata": {"labels": {"gpuc.dev/pool": "burst", "tier": "gold"}}, "spec": {
                    "nodeClassRef": {"kind": "EC2NodeClass", "name": "burst"},
                    "requirements": [
                        {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["g6.xlarge"]},
                        {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"]},
                    ],
                    "taints": [{"key": "burst", "effect": "NoSchedule"}],
                }},
            },
        }),
        json!({
            "apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass", "metadata": {"name": "burst"},
            "spec": {
                "amiSelectorTerms": [{"alias": "bottlerocket@v1.66.0"}], "instanceStorePolicy": "RAID0",
                "blockDeviceMappings": [{"ebs": {"volumeSize": "4Gi"}}, {"ebs": {"volumeSize": "300Gi"}}],
            },
        }),
    ]);
    let import = imported(&objects, &[]);
    let burst = pool(&import, "burst");
    let expected = json!({
        "name": "burst", "machine": "g6.xlarge", "nodes": {"min": 0, "max": 8}, "capacity": {"spot": {}},
        "os": {"family": "Bottlerocket"}, "diskGiB": 300, "localDisks": "scratch", "labels": {"tier": "gold"},
        "taints": [{"key": "burst", "effect": "NoSchedule"}],
    });
    for (key, value) in expected.as_object().unwrap() {
        assert_eq!(&burst[key], value, "{key}\n{}", import.yaml);
    }
    assert_eq!(burst.get("existing"), None);
    assert_eq!(read(&import)["autoscaler"], "karpenter");
}
