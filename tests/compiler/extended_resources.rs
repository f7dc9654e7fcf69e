//! Pods that request GPUs of pools with `allocation: dra` as extended resources: `stack.extendedResources`.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::support::compile_text;

/// A cluster with a pool of each allocation, and another pool with DRA.
const CLUSTER: &str = "
apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: '1.36'}
allow: [quota-spans-pools]
cloud: {onPrem: {context: demo}}
stack: {devicePlugin: nvidia}
nodePools:
  - {name: cpu, hosts: [c], nodes: {count: 1}}
  - name: train
    gpu: {model: H100, perNode: 8}
    hosts: [t]
    nodes: {count: 1}
    stack: {allocation: dra, extendedResources: true}
  - {name: infer, gpu: {model: L4, perNode: 4}, hosts: [i], nodes: {count: 1}}
  - name: slices
    gpu: {model: A30, perNode: 2}
    existing: {selector: {rack: c}}
    nodes: {count: 1}
    sharing: {mig: {strategy: mixed, perGpu: [{layout: [{profile: 1g.6gb, count: 4}]}]}}
    stack: {allocation: dra, extendedResources: true}
teams:
  - {name: research, quota: {gpus: [{pool: train, guaranteed: 6}, {pool: infer, guaranteed: 3}]}}
  - {name: vision, quota: {cpu: 4}}
";

/// The specs of the objects of a kind, by name. Objects of a namespace have it before their name.
fn specs(text: &str, kind: &str) -> BTreeMap<String, Value> {
    let outcome = compile_text(text);
    let plan = outcome.compilations[0].plan.as_ref();
    let plan = plan.unwrap_or_else(|| panic!("{}", outcome.text()));
    let objects = plan.objects.iter().filter(|it| it.identity.kind == kind);
    objects
        .map(|object| {
            let namespace = object.identity.namespace.iter();
            let parts = namespace.chain([&object.identity.name]);
            let name = parts.map(String::as_str).collect::<Vec<_>>().join("/");
            let value = serde_json::to_value(&object.node).unwrap();
            (name, value["spec"].clone())
        })
        .collect()
}

#[test]
fn classes_have_the_names_of_a_device_plugin() {
    let names = |text: &str| -> BTreeMap<String, Value> {
        let classes = specs(text, "DeviceClass").into_iter();
        classes
            .map(|(name, spec)| (name, spec["extendedResourceName"].clone()))
            .collect()
    };
    let expected = [
        ("mig-1g.6gb.slices.gpuc.dev", "nvidia.com/mig-1g.6gb".into()),
        ("train.gpuc.dev", "nvidia.com/gpu".into()),
    ];
    let expected = expected.map(|(name, value)| (name.to_owned(), value));
    assert_eq!(names(CLUSTER), BTreeMap::from(expected));
    let without = CLUSTER.replace(", extendedResources: true", "");
    assert!(names(&without).into_values().all(|it| it.is_null()));
}

/// Of two pools with the same devices, one class has the name, and serves both.
#[test]
fn one_class_has_the_name_for_equal_pools() {
    let second = "  - {name: second, gpu: {model: H100, perNode: 8}, hosts: [s], nodes: {count: 1}, \
                  stack: {allocation: dra, extendedResources: true}}\n";
    let at = CLUSTER.find("  - {name: infer").unwrap();
    let teams = CLUSTER.find("teams:").unwrap();
    let text = format!("{}{second}{}", &CLUSTER[..at], &CLUSTER[at..teams]);
    let text = text.replace("allow: [quota-spans-pools]\n", "");
    let classes = specs(&text, "DeviceClass");
    assert_eq!(
        classes["train.gpuc.dev"]["extendedResourceName"],
        "nvidia.com/gpu"
    );
    assert!(classes["second.gpuc.dev"]["extendedResourceName"].is_null());
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  nodeSelector: {gpuc.dev/pool: second}\n  \
               containers: [{name: a, image: 'a:1', resources: {limits: {nvidia.com/gpu: 1}}}]\n";
    let mut outcome = compile_text(&text);
    outcome.add_manifests(&[("pod.yaml", pod)]);
    assert_eq!(outcome.codes(), [""; 0], "{}", outcome.text());
}

/// Kubernetes counts requests under the name, and claims under the class and the name.
#[test]
fn quotas_count_the_class_and_the_name() {
    let quotas = specs(CLUSTER, "ResourceQuota");
    let hard = &quotas["research/team"]["hard"];
    assert_eq!(
        hard["train.gpuc.dev.deviceclass.resource.k8s.io/devices"],
        "6"
    );
    assert_eq!(hard["requests.nvidia.com/gpu"], "9");
    assert_eq!(hard["requests.nvidia.com/mig-1g.6gb"], "0");
    assert_eq!(
        hard["gpu.nvidia.com.deviceclass.resource.k8s.io/devices"],
        "0"
    );
    let without = CLUSTER.replace(", extendedResources: true", "");
    let quotas = specs(&without, "ResourceQuota");
    let hard = &quotas["research/team"]["hard"];
    assert_eq!(hard["requests.nvidia.com/gpu"], "3");
    assert!(hard["requests.nvidia.com/mig-1g.6gb"].is_null());
}

/// A quota of the name counts the pools of both allocations, so that it needs an entry for each.
#[test]
fn quotas_need_both_pools_with_a_name() {
    let found = |text: &str| compile_text(text).codes().contains(&"GPUC2160");
    assert!(!found(CLUSTER));
    for entry in [
        ", {pool: infer, guaranteed: 3}",
        "{pool: train, guaranteed: 6}, ",
    ] {
        assert!(found(&CLUSTER.replace(entry, "")), "{entry}");
        let without = CLUSTER.replace(", extendedResources: true", "");
        assert!(!found(&without.replace(entry, "")), "{entry}");
    }
}

#[test]
fn limit_ranges_count_the_name() {
    let limited = CLUSTER.replace(
        "{name: vision,",
        "{name: vision, limits: {gpusPerContainer: 2},",
    );
    let text = limited.replace("allow: [", "allow: [gpus-per-container-ignores-dra, ");
    let ranges = specs(&text, "LimitRange");
    let max = &ranges["vision/team"]["limits"][0]["max"];
    assert_eq!(max["nvidia.com/mig-1g.6gb"], "2", "{ranges:?}");
    assert_eq!(max["nvidia.com/gpu"], "2", "{ranges:?}");
}

#[test]
fn driver_release_precedes_the_classes() {
    let outcome = compile_text(CLUSTER);
    let plan = outcome.compilations[0].plan.as_ref().unwrap();
    let position = |name: &str| {
        plan.steps
            .iter()
            .position(|step| step.name == name)
            .unwrap()
    };
    assert!(position("dra-driver-nvidia-gpu") < position("allocation"));
}

#[test]
fn readme_and_verification_have_the_name() {
    let files = compile_text(CLUSTER).files();
    let file = |end: &str| {
        let mut files = files.iter();
        files.find(|(path, _)| path.ends_with(end)).unwrap().1
    };
    let readme = file("README.md");
    assert!(
        readme.contains("| `train.gpuc.dev` | `nvidia.com/gpu` |"),
        "{readme}"
    );
    assert!(
        readme.contains("The device plugin of pool infer advertises the same name"),
        "{readme}"
    );
    let script = file("cloud/verify.sh");
    for line in [
        "named train nvidia.com/gpu train.gpuc.dev\n",
        "named slices nvidia.com/mig-1g.6gb mig-1g.6gb.slices.gpuc.dev\n",
        "pod train nvidia.com/gpu gpuc-verify-train-1",
        "claim train train.gpuc.dev gpuc-verify-train-0",
    ] {
        assert!(script.contains(line), "{line}\n{script}");
    }
}
