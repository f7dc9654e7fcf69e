//! The admission policies reject invalid objects with helpful messages, and accept the corrected objects.

mod alike;
pub(crate) mod api_server;
mod generated;
mod pod_controllers;
pub(crate) mod record;
mod team_limits;
mod unrequested;

use serde_json::{Value, json};

use crate::corpus::cases;
use crate::support::compile_text;
use api_server::{AdmissionResult, ApiServer};

const SANDBOX: api_server::Namespace<'_> = ("sandbox", &[]);

/// Full GPUs with a taint, MIG devices, renamed replicas, and replicas with the same resource name as full GPUs.
const POOLS: &str = r#"
nodePools:
  - {name: cpu, hosts: [a], nodes: {count: 1}, taints: [{key: system, value: only, effect: NoSchedule}]}
  - {name: train, gpu: {model: H100, perNode: 8}, hosts: [b], nodes: {count: 1}, taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]}
  - {name: spot, gpu: {model: L4, perNode: 2}, hosts: [c], nodes: {count: 1}, taints: [{key: spot, value: "yes", effect: NoExecute}]}
  - {name: turns, gpu: {model: L4, perNode: 2}, hosts: [d], nodes: {count: 1}, sharing: {timeSlicing: {replicas: 4, rename: true}}}
  - {name: slices, gpu: {model: A30, perNode: 1}, hosts: [e], nodes: {count: 1}, sharing: {mig: {strategy: mixed, perGpu: [{layout: [{profile: 1g.6gb, count: 4}]}]}}}
"#;

const DRA_POOL: &str = "
nodePools:
  - {name: claimed, gpu: {model: H100, perNode: 8}, hosts: [b], nodes: {count: 1}, stack: {allocation: dra}}
";

fn server_for_pools(rest: &str) -> ApiServer {
    server_for(&cluster_text(rest))
}

/// The file of a cluster with these pools.
fn cluster_text(rest: &str) -> String {
    format!(
        "apiVersion: gpuc.dev/v1alpha1\nkind: GpuCluster\nmetadata: {{name: demo}}\nkubernetes: {{version: \"1.35\"}}\n\
         cloud: {{onPrem: {{context: demo}}}}\nstack: {{runtimeImage: \"registry.example.com/gpuc-runtime:0.1.0\"}}\n\
         {rest}\n"
    )
}

fn server_for(text: &str) -> ApiServer {
    let mut outcome = compile_text(text);
    let findings = outcome.text();
    let compilation = outcome.compilations.pop().unwrap();
    let plan = compilation.plan.unwrap_or_else(|| panic!("{findings}"));
    ApiServer::with_policies(&plan)
}

fn enforced_server() -> ApiServer {
    server_for_pools(&format!("{POOLS}\nadmission: {{guard: enforce}}"))
}

/// A pod with this spec in YAML.
fn pod(spec: &str) -> Value {
    let spec: Value = serde_yaml::from_str(spec).unwrap();
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": spec})
}

const GPU_TOLERATION: &str =
    "tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]";

/// A pod with one container with these limits, a toleration of GPU nodes, and other fields.
fn pod_requesting(limits: &str, rest: &str) -> Value {
    pod(&format!(
        "{{containers: [{{name: a, image: b, resources: {{limits: {{{limits}}}}}}}], {rest}}}"
    ))
}

/// Asserts that an invalid pod has the expected message, and that the corrected pod has none.
#[track_caller]
fn assert_fix(plan: &ApiServer, bad: &Value, expected: &str, refused: bool, good: &Value) {
    let results = plan.admit_create(bad, SANDBOX);
    match (results.as_slice(), refused) {
        ([AdmissionResult::Denied(message)], true)
        | ([AdmissionResult::Warned(message)], false) => {
            assert!(message.contains(expected), "{message}");
        }
        _ => panic!("{results:?} of {bad:#}"),
    }
    assert_eq!(plan.admit_create(good, SANDBOX), [], "{good:#}");
}

#[test]
fn unknown_resource_names_are_rejected() {
    let plan = enforced_server();
    let good = pod_requesting("nvidia.com/gpu: '1'", GPU_TOLERATION);
    for (bad, message) in [
        (
            "nvidia.com/gpu.type: '1'",
            "requests nvidia.com/gpu.type, which no pool advertises; the pools advertise nvidia.com/gpu, \
             nvidia.com/gpu.shared and nvidia.com/mig-1g.6gb; nvidia.com/gpu.* are node labels",
        ),
        (
            "nvidia.com/GPU: '1'",
            "requests nvidia.com/GPU, which no pool advertises",
        ),
        (
            "nvidia.com/mig-1g.5gb: '1'",
            "requests nvidia.com/mig-1g.5gb, which",
        ),
        (
            "alpha.kubernetes.io/nvidia-gpu: '1'",
            "requests alpha.kubernetes.io",
        ),
        (
            "deviceclass.resource.kubernetes.io/x.gpuc.dev: '1'",
            "x.gpuc.dev, which",
        ),
    ] {
        assert_fix(
            &plan,
            &pod_requesting(bad, GPU_TOLERATION),
            message,
            true,
            &good,
        );
    }
    // A resource that other clusters advertise is no label.
    let train =
        "nodePools: [{name: train, gpu: {model: H100, perNode: 8}, hosts: [b], nodes: {count: 1}}]";
    let full = server_for_pools(&format!("{train}\nadmission: {{guard: enforce}}"));
    let results = full.admit_create(&pod_requesting("nvidia.com/gpu.shared: '1'", ""), SANDBOX);
    let [AdmissionResult::Denied(message)] = &results[..] else {
        panic!("{results:?}");
    };
    assert!(
        message.ends_with("the pools advertise nvidia.com/gpu"),
        "{message}"
    );
    // These resources are outside the policies' scope.
    for other in [
        "amd.com/gpu: '1'",
        "example.com/gpu: '1'",
        "cpu: 500m",
        "nvidia.com/hostdev: '1'",
        "nvidia.com/mig-1g.5gb: '0'",
    ] {
        assert_eq!(
            plan.admit_create(&pod_requesting(other, ""), SANDBOX),
            [],
            "{other}"
        );
    }
    let by_request = pod(
        "{containers: [{name: a, resources: {requests: {cpu: '1'}}}], \
         initContainers: [{name: b, resources: {requests: {nvidia.com/gpus: '1'}}}]}",
    );
    assert!(matches!(
        plan.admit_create(&by_request, SANDBOX)[..],
        [AdmissionResult::Denied(_)]
    ));
}

#[test]
fn requests_of_sidecar_containers_are_added() {
    let plan = enforced_server();
    let both = |restart: &str, count: u32| {
        pod(&format!(
            "{{containers: [{{name: a, image: b, resources: {{limits: {{nvidia.com/gpu: '{count}'}}}}}}], \
             initContainers: [{{name: i, image: b, {restart}resources: {{limits: {{nvidia.com/gpu: '1'}}}}}}], {GPU_TOLERATION}}}"
        ))
    };
    let (message, sidecar_policy) = ("more nvidia.com/gpu", "restartPolicy: Always, ");
    assert_fix(
        &plan,
        &both(sidecar_policy, 8),
        message,
        true,
        &both(sidecar_policy, 7),
    );
    assert_fix(&plan, &both("", 9), message, true, &both("", 8));
}

#[test]
fn dra_pools_advertise_no_resources() {
    let old = server_for_pools(&format!("{DRA_POOL}\nadmission: {{guard: enforce}}"));
    let results = old.admit_create(&pod_requesting("nvidia.com/gpu: '1'", ""), SANDBOX);
    let [AdmissionResult::Denied(message)] = &results[..] else {
        panic!("{results:?}");
    };
    assert!(
        message.contains("use a ResourceClaim: the DeviceClasses are claimed."),
        "{message}"
    );
    let text = format!(
        "apiVersion: gpuc.dev/v1alpha1\nkind: GpuCluster\nmetadata: {{name: demo}}\nkubernetes: {{version: \"1.36\"}}\n\
         cloud: {{onPrem: {{context: demo}}}}\n{DRA_POOL}\nadmission: {{guard: enforce}}\n"
    );
    // From Kubernetes 1.36 on, the scheduler creates the ResourceClaim, also for the resource of a DeviceClass.
    let new = server_for(&text);
    assert_eq!(
        new.admit_create(&pod_requesting("nvidia.com/gpu: '1'", ""), SANDBOX),
        []
    );
    let class = |count: u32| {
        let limits = format!("deviceclass.resource.kubernetes.io/claimed.gpuc.dev: '{count}'");
        pod_requesting(&limits, GPU_TOLERATION)
    };
    let message = "than a node of any pool has: a node of pool claimed has 8";
    assert_fix(&new, &class(9), message, true, &class(8));
    assert!(matches!(
        old.admit_create(&class(1), SANDBOX)[..],
        [AdmissionResult::Denied(_)]
    ));
    let tainted = server_for(&text.replace(
        "perNode: 8}",
        "perNode: 8}, taints: [{key: a, effect: NoSchedule}]",
    ));
    let mut tolerant = class(1);
    tolerant["spec"]["tolerations"] = json!([{"key": "a", "operator": "Exists"}]);
    let message =
        "does not tolerate the taints of any pool that advertises it; add to tolerations: {key: a";
    assert_fix(&tainted, &class(1), message, true, &tolerant);
    let unknown = pod_requesting("deviceclass.resource.kubernetes.io/other.gpuc.dev: '1'", "");
    let message =
        "which no pool advertises; use a ResourceClaim: the DeviceClasses are claimed.gpuc.dev";
    assert_fix(&new, &unknown, message, true, &class(1));
}

#[test]
fn tolerations_are_named_with_all_pools_that_require_them() {
    let pool = |name: &str, count: u32, taint: &str, rest: &str| {
        format!(
            "  - {{name: {name}, gpu: {{model: L4, perNode: {count}}}, hosts: [{name}], nodes: {{count: 1}}, \
             taints: [{{key: {taint}, effect: NoSchedule}}]{rest}}}\n"
        )
    };
    let pools = [
        pool("small", 2, "gpu", ""),
        pool("large", 8, "gpu", ""),
        pool(
            "turns",
            4,
            "turns",
            ", sharing: {timeSlicing: {replicas: 4}}",
        ),
    ];
    let server = server_for_pools(&format!(
        "nodePools:\n{}admission: {{guard: enforce}}",
        pools.concat()
    ));
    // It tolerates the taint of a pool of which it requests more than one replica.
    let bad = pod_requesting(
        "nvidia.com/gpu: 2",
        "tolerations: [{key: turns, operator: Exists}]",
    );
    let good = pod_requesting(
        "nvidia.com/gpu: 2",
        "tolerations: [{key: gpu, operator: Exists}]",
    );
    let message = "{key: gpu, operator: Exists, effect: NoSchedule} for pool small, whose nodes have 2, or large, whose \
                   nodes have 8, or {key: turns, operator: Exists, effect: NoSchedule} for pool turns, whose nodes \
                   have 16 replicas of GPUs, one per container";
    assert_fix(&server, &bad, message, true, &good);
}

#[test]
fn requests_larger_than_a_node_are_rejected() {
    let plan = enforced_server();
    let message = "requests more nvidia.com/gpu than a node of any pool has: a node of pool train has 8 and a node of \
                 pool spot has 2; request fewer";
    let good = pod_requesting("nvidia.com/gpu: 8", GPU_TOLERATION);
    for count in ["9", "'9'", "1k", "'12345678901234567890'"] {
        let bad = pod_requesting(&format!("nvidia.com/gpu: {count}"), GPU_TOLERATION);
        assert_fix(&plan, &bad, message, true, &good);
    }
    let two = |first: u32, second: u32, list: &str| {
        pod(&format!(
            "{{containers: [{{name: a, resources: {{limits: {{nvidia.com/gpu: '{first}'}}}}}}], \
             {list}: [{{name: b, resources: {{limits: {{nvidia.com/gpu: '{second}'}}}}}}], {GPU_TOLERATION}}}"
        ))
    };
    assert_eq!(plan.admit_create(&two(8, 8, "initContainers"), SANDBOX), []);
    assert_fix(&plan, &two(1, 9, "initContainers"), message, true, &good);
    let both = pod(&format!(
        "{{containers: [{{name: a, resources: {{limits: {{nvidia.com/gpu: '5'}}}}}}, \
         {{name: b, resources: {{limits: {{nvidia.com/gpu: '4'}}}}}}], {GPU_TOLERATION}}}"
    ));
    assert_fix(&plan, &both, message, true, &good);
    // A sidecar runs concurrently with the containers.
    let sidecar = |count: u32| {
        pod(&format!(
            "{{containers: [{{name: a, resources: {{limits: {{nvidia.com/gpu: '5'}}}}}}], initContainers: [{{name: b, \
             restartPolicy: Always, resources: {{limits: {{nvidia.com/gpu: '{count}'}}}}}}], {GPU_TOLERATION}}}"
        ))
    };
    assert_fix(&plan, &sidecar(4), message, true, &sidecar(3));
}

#[test]
fn several_mig_devices_in_one_container_are_rejected() {
    let plan = enforced_server();
    assert_fix(
        &plan,
        &pod_requesting("nvidia.com/gpu.shared: '2'", ""),
        "requests several nvidia.com/gpu.shared, which are replicas of a shared GPU: several give no more than one; \
         request one",
        true,
        &pod_requesting("nvidia.com/gpu.shared: '1'", ""),
    );
    assert_fix(
        &plan,
        &pod_requesting("nvidia.com/mig-1g.6gb: '2'", ""),
        "a program uses one MIG device",
        false,
        &pod_requesting("nvidia.com/mig-1g.6gb: '1'", ""),
    );
    // Another pool advertises full GPUs under the same name.
    let both = self::server_for_pools(
        "nodePools:\n  - {name: a, gpu: {model: L4, perNode: 4}, hosts: [a], nodes: {count: 1}}\n  \
         - {name: b, gpu: {model: L4, perNode: 4}, hosts: [b], nodes: {count: 1}, sharing: {mps: {replicas: 4}}}\n\
         admission: {guard: enforce}",
    );
    assert_fix(
        &both,
        &pod_requesting("nvidia.com/gpu: '5'", ""),
        "pool b has 16 replicas of GPUs, one per container",
        true,
        &pod_requesting("nvidia.com/gpu: '4'", ""),
    );
}

#[test]
fn missing_tolerations_name_all_candidate_pools() {
    let plan = enforced_server();
    let bad = pod_requesting(
        "nvidia.com/gpu: '1'",
        "tolerations: [{key: spot, value: 'no'}]",
    );
    let message = "requests nvidia.com/gpu and does not tolerate the taints of any pool that has enough of it; add to \
                 tolerations: {key: nvidia.com/gpu, operator: Equal, value: \"present\", effect: NoSchedule} for pool \
                 train, whose nodes have 8, or {key: spot, operator: Equal, value: \"yes\", effect: NoExecute} for pool \
                 spot, whose nodes have 2";
    for good in [
        GPU_TOLERATION,
        "tolerations: [{key: nvidia.com/gpu, operator: Exists}]",
        "tolerations: [{key: nvidia.com/gpu, value: present}]",
        "tolerations: [{operator: Exists}]",
        "tolerations: [{key: spot, operator: Equal, value: 'yes', effect: NoExecute}]",
    ] {
        let good = pod_requesting("nvidia.com/gpu: '1'", good);
        assert_fix(&plan, &bad, message, true, &good);
    }
    for bad in [
        "tolerations: [{key: nvidia.com/gpu, value: other}]",
        "tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoExecute}]",
        "tolerations: [{key: nvidia.com, operator: Exists}]",
    ] {
        let bad = pod_requesting("nvidia.com/gpu: '1'", bad);
        let good = pod_requesting("nvidia.com/gpu.shared: '1'", "");
        assert_fix(&plan, &bad, message, true, &good);
    }
}

#[test]
fn pods_that_get_tolerations_on_admission_are_allowed() {
    let queued = server_for_pools(&format!(
        "{POOLS}\nqueueing: kueue\nteams: [{{name: a, quota: {{gpus: [{{pool: train, guaranteed: 8}}]}}}}]\n\
         admission: {{guard: enforce}}"
    ));
    let team: api_server::Namespace<'_> = ("a", &[("gpuc.dev/team", "a")]);
    let intolerant = pod_requesting("nvidia.com/gpu: '1'", "");
    assert_eq!(
        queued.admit_create(&intolerant, team),
        [],
        "Kueue adds the tolerations"
    );
    // GKE sets this taint, and GKE's API server adds the toleration to every pod that requests GPUs.
    let gke = |more: &str| {
        server_for(&format!(
            "apiVersion: gpuc.dev/v1alpha1\nkind: GpuCluster\nmetadata: {{name: demo}}\n\
             kubernetes: {{version: \"1.36\"}}\n\
             cloud: {{gcp: {{project: acme-ml, location: us-central1-a, cluster: {{existing: {{}}}}}}}}\n\
             stack: {{runtimeImage: \"registry.example.com/gpuc-runtime:0.1.0\"}}\n\
             nodePools: [{{name: gpu, machine: g2-standard-8, nodes: {{count: 1}}{more}}}]\n\
             admission: {{guard: enforce}}\n"
        ))
    };
    assert_eq!(gke("").admit_create(&intolerant, SANDBOX), []);
    let own = gke(", dedicatedTo: research");
    let results = own.admit_create(&intolerant, SANDBOX);
    let [AdmissionResult::Denied(message)] = &results[..] else {
        panic!("{results:?}");
    };
    let toleration = "{key: gpuc.dev/dedicated-to, operator: Equal, value: \"research\", effect: NoSchedule} for pool gpu";
    assert!(message.ends_with(toleration), "{message}");
}

#[test]
fn policies_have_their_scope_and_actions() {
    let bad = pod_requesting("nvidia.com/gpu.type: '1'", "");
    let warned = server_for_pools(&format!("{POOLS}\nadmission: {{exempt: [tools]}}"));
    assert!(
        matches!(
            warned.admit_create(&bad, SANDBOX)[..],
            [AdmissionResult::Warned(_)]
        ),
        "the default action is not Warn"
    );
    assert_eq!(warned.admit_create(&bad, ("tools", &[])), []);
    let own = [
        "kube-system",
        "kube-public",
        "gpuc-system",
        "gpu-operator",
        "nvidia-device-plugin",
    ];
    for own in own {
        assert_eq!(warned.admit_create(&bad, (own, &[])), [], "{own}");
    }
    let teams = server_for_pools(&format!(
        "{POOLS}\nteams: [{{name: a, namespaces: [a, b]}}]\nadmission: {{guard: enforce, exempt: [b]}}"
    ));
    let team: &[_] = &[("gpuc.dev/team", "a")];
    assert!(matches!(
        teams.admit_create(&bad, ("a", team))[..],
        [AdmissionResult::Denied(_)]
    ));
    assert_eq!(teams.admit_create(&bad, ("b", team)), []);
    assert_eq!(teams.admit_create(&bad, SANDBOX), []);
    let none = server_for_pools(POOLS);
    assert_eq!(none.admit_create(&bad, SANDBOX), []);
}

/// Every object of a tree, as if it were created in a namespace to which the policies apply.
#[test]
fn generated_pods_are_allowed() {
    let mut guarded = 0;
    for case in cases() {
        let plan = case.plan();
        let mut objects = plan.objects.iter();
        guarded += usize::from(objects.any(|it| it.component == "admission"));
        let server = ApiServer::with_policies(plan);
        for object in &plan.objects {
            let Some(namespace) = object.identity.namespace.as_deref() else {
                continue;
            };
            let value = serde_json::to_value(&object.node).unwrap();
            let of_team = value["metadata"]["labels"]["gpuc.dev/team"].as_str();
            let labels: Vec<_> = of_team
                .map(|team| ("gpuc.dev/team", team))
                .into_iter()
                .collect();
            assert_eq!(
                server.admit_create(&value, (namespace, &labels)),
                [],
                "{}: {:?}",
                case.name,
                object.identity
            );
        }
    }
    assert!(guarded > 1, "only {guarded} clusters have a guard");
}
