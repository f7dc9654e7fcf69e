//! The admission policies reject what they must, with helpful messages, and accept the corrected objects.

mod alike;
pub(crate) mod api_server;
mod makers;

use serde_json::{Value, json};

use crate::corpus::cases;
use crate::support::compile_text;
use api_server::{ApiServer, Said};

const SANDBOX: api_server::Namespace<'_> = ("sandbox", &[]);

/// Full GPUs with a taint, MIG devices, renamed replicas, and replicas with the resource name of full GPUs in another
/// cluster.
const POOLS: &str = r#"
nodePools:
  - {name: cpu, hosts: [a], nodes: {count: 1}, taints: [{key: system, value: only, effect: NoSchedule}]}
  - {name: train, gpu: {model: H100, perNode: 8}, hosts: [b], nodes: {count: 1}, taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]}
  - {name: spot, gpu: {model: L4, perNode: 2}, hosts: [c], nodes: {count: 1}, taints: [{key: spot, value: "yes", effect: NoExecute}]}
  - {name: turns, gpu: {model: L4, perNode: 2}, hosts: [d], nodes: {count: 1}, sharing: {timeSlicing: {replicas: 4, rename: true}}}
  - {name: slices, gpu: {model: A30, perNode: 1}, hosts: [e], nodes: {count: 1}, sharing: {mig: {strategy: mixed, perGpu: [{layout: [{profile: 1g.6gb, count: 4}]}]}}}
"#;

const CLAIMED: &str = "
nodePools:
  - {name: claimed, gpu: {model: H100, perNode: 8}, hosts: [b], nodes: {count: 1}, stack: {allocation: dra}}
";

fn plan(rest: &str) -> ApiServer {
    let text = format!(
        "apiVersion: gpuc.dev/v1alpha1\nkind: GpuCluster\nmetadata: {{name: demo}}\nkubernetes: {{version: \"1.35\"}}\n\
         cloud: {{onPrem: {{context: demo}}}}\nstack: {{runtimeImage: \"registry.example.com/gpuc-runtime:0.1.0\"}}\n\
         {rest}\n"
    );
    plan_of(&text)
}

fn plan_of(text: &str) -> ApiServer {
    let mut outcome = compile_text(text);
    let said = outcome.text();
    let compilation = outcome.compilations.pop().unwrap();
    let plan = compilation.plan.unwrap_or_else(|| panic!("{said}"));
    ApiServer::with(&plan)
}

fn enforced() -> ApiServer {
    plan(&format!("{POOLS}\nadmission: {{guard: enforce}}"))
}

/// A pod from the YAML of its spec.
fn pod(spec: &str) -> Value {
    let spec: Value = serde_yaml::from_str(spec).unwrap();
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": spec})
}

const TOLERATED: &str =
    "tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]";

/// A pod with one container with these requests, a toleration of GPU nodes, and other fields.
fn asking(limits: &str, rest: &str) -> Value {
    pod(&format!(
        "{{containers: [{{name: a, image: b, resources: {{limits: {{{limits}}}}}}}], {rest}}}"
    ))
}

/// An invalid pod, the expected message, and the corrected pod.
#[track_caller]
fn mended(plan: &ApiServer, bad: &Value, words: &str, refused: bool, good: &Value) {
    let said = plan.made(bad, SANDBOX);
    match (said.as_slice(), refused) {
        ([Said::Refused(message)], true) | ([Said::Warned(message)], false) => {
            assert!(message.contains(words), "{message}");
        }
        _ => panic!("{said:?} of {bad:#}"),
    }
    assert_eq!(plan.made(good, SANDBOX), [], "{good:#}");
}

#[test]
fn unknown_resource_names_are_rejected() {
    let plan = enforced();
    let good = asking("nvidia.com/gpu: '1'", TOLERATED);
    for (bad, words) in [
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
        mended(&plan, &asking(bad, TOLERATED), words, true, &good);
    }
    // Outside the policies' scope.
    for other in [
        "amd.com/gpu: '1'",
        "example.com/gpu: '1'",
        "cpu: 500m",
        "nvidia.com/hostdev: '1'",
        "nvidia.com/mig-1g.5gb: '0'",
    ] {
        assert_eq!(plan.made(&asking(other, ""), SANDBOX), [], "{other}");
    }
    let by_request = pod(
        "{containers: [{name: a, resources: {requests: {cpu: '1'}}}], \
         initContainers: [{name: b, resources: {requests: {nvidia.com/gpus: '1'}}}]}",
    );
    assert!(matches!(
        plan.made(&by_request, SANDBOX)[..],
        [Said::Refused(_)]
    ));
}

#[test]
fn sidecar_containers_are_added_up() {
    let plan = enforced();
    let both = |restart: &str, count: u32| {
        pod(&format!(
            "{{containers: [{{name: a, image: b, resources: {{limits: {{nvidia.com/gpu: '{count}'}}}}}}], \
             initContainers: [{{name: i, image: b, {restart}resources: {{limits: {{nvidia.com/gpu: '1'}}}}}}], {TOLERATED}}}"
        ))
    };
    let (words, stays) = ("more nvidia.com/gpu", "restartPolicy: Always, ");
    mended(&plan, &both(stays, 8), words, true, &both(stays, 7));
    mended(&plan, &both("", 9), words, true, &both("", 8));
}

#[test]
fn dra_pools_advertise_no_resources() {
    let old = plan(&format!("{CLAIMED}\nadmission: {{guard: enforce}}"));
    let said = old.made(&asking("nvidia.com/gpu: '1'", ""), SANDBOX);
    let [Said::Refused(message)] = &said[..] else {
        panic!("{said:?}");
    };
    assert!(
        message.contains("use a ResourceClaim: the DeviceClasses are claimed."),
        "{message}"
    );
    let text = format!(
        "apiVersion: gpuc.dev/v1alpha1\nkind: GpuCluster\nmetadata: {{name: demo}}\nkubernetes: {{version: \"1.36\"}}\n\
         cloud: {{onPrem: {{context: demo}}}}\n{CLAIMED}\nadmission: {{guard: enforce}}\n"
    );
    // From then on Kubernetes makes the claim.
    let new = plan_of(&text);
    assert_eq!(new.made(&asking("nvidia.com/gpu: '1'", ""), SANDBOX), []);
}

#[test]
fn requests_exceed_a_node() {
    let plan = enforced();
    let words = "requests more nvidia.com/gpu than a node of any pool has: a node of pool train has 8 and a node of \
                 pool spot has 2; request fewer";
    let good = asking("nvidia.com/gpu: 8", TOLERATED);
    for count in ["9", "'9'", "1k", "'12345678901234567890'"] {
        let bad = asking(&format!("nvidia.com/gpu: {count}"), TOLERATED);
        mended(&plan, &bad, words, true, &good);
    }
    let two = |first: u32, second: u32, list: &str| {
        pod(&format!(
            "{{containers: [{{name: a, resources: {{limits: {{nvidia.com/gpu: '{first}'}}}}}}], \
             {list}: [{{name: b, resources: {{limits: {{nvidia.com/gpu: '{second}'}}}}}}], {TOLERATED}}}"
        ))
    };
    assert_eq!(plan.made(&two(8, 8, "initContainers"), SANDBOX), []);
    mended(&plan, &two(1, 9, "initContainers"), words, true, &good);
    let both = pod(&format!(
        "{{containers: [{{name: a, resources: {{limits: {{nvidia.com/gpu: '5'}}}}}}, \
         {{name: b, resources: {{limits: {{nvidia.com/gpu: '4'}}}}}}], {TOLERATED}}}"
    ));
    mended(&plan, &both, words, true, &good);
    // A sidecar runs next to the others.
    let sidecar = |count: u32| {
        pod(&format!(
            "{{containers: [{{name: a, resources: {{limits: {{nvidia.com/gpu: '5'}}}}}}], initContainers: [{{name: b, \
             restartPolicy: Always, resources: {{limits: {{nvidia.com/gpu: '{count}'}}}}}}], {TOLERATED}}}"
        ))
    };
    mended(&plan, &sidecar(4), words, true, &sidecar(3));
}

#[test]
fn several_mig_devices_in_one_container() {
    let plan = enforced();
    mended(
        &plan,
        &asking("nvidia.com/gpu.shared: '2'", ""),
        "requests several nvidia.com/gpu.shared, which are replicas of a shared GPU: several give no more than one; \
         request one",
        true,
        &asking("nvidia.com/gpu.shared: '1'", ""),
    );
    mended(
        &plan,
        &asking("nvidia.com/mig-1g.6gb: '2'", ""),
        "a program uses one MIG device",
        false,
        &asking("nvidia.com/mig-1g.6gb: '1'", ""),
    );
    // The same name is whole GPUs of another pool.
    let both = self::plan(
        "nodePools:\n  - {name: a, gpu: {model: L4, perNode: 4}, hosts: [a], nodes: {count: 1}}\n  \
         - {name: b, gpu: {model: L4, perNode: 4}, hosts: [b], nodes: {count: 1}, sharing: {mps: {replicas: 4}}}\n\
         admission: {guard: enforce}",
    );
    mended(
        &both,
        &asking("nvidia.com/gpu: '5'", ""),
        "pool b has 16 replicas of GPUs, one per container",
        true,
        &asking("nvidia.com/gpu: '4'", ""),
    );
}

#[test]
fn missing_tolerations_for_all_candidate_pools() {
    let plan = enforced();
    let bad = asking(
        "nvidia.com/gpu: '1'",
        "tolerations: [{key: spot, value: 'no'}]",
    );
    let words = "requests nvidia.com/gpu and does not tolerate the taints of any pool that advertises it; add to \
                 tolerations: {key: nvidia.com/gpu, operator: Equal, value: \"present\", effect: NoSchedule} for pool \
                 train, or {key: spot, operator: Equal, value: \"yes\", effect: NoExecute} for pool spot";
    for good in [
        TOLERATED,
        "tolerations: [{key: nvidia.com/gpu, operator: Exists}]",
        "tolerations: [{key: nvidia.com/gpu, value: present}]",
        "tolerations: [{operator: Exists}]",
        "tolerations: [{key: spot, operator: Equal, value: 'yes', effect: NoExecute}]",
    ] {
        let good = asking("nvidia.com/gpu: '1'", good);
        mended(&plan, &bad, words, true, &good);
    }
    for bad in [
        "tolerations: [{key: nvidia.com/gpu, value: other}]",
        "tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoExecute}]",
        "tolerations: [{key: nvidia.com, operator: Exists}]",
    ] {
        let bad = asking("nvidia.com/gpu: '1'", bad);
        let good = asking("nvidia.com/gpu.shared: '1'", "");
        mended(&plan, &bad, words, true, &good);
    }
}

#[test]
fn users_who_add_tolerations_are_known() {
    let queued = plan(&format!(
        "{POOLS}\nqueueing: kueue\nteams: [{{name: a, quota: {{gpus: [{{pool: train, guaranteed: 8}}]}}}}]\n\
         admission: {{guard: enforce}}"
    ));
    let team: api_server::Namespace<'_> = ("a", &[("gpuc.dev/team", "a")]);
    let bare = asking("nvidia.com/gpu: '1'", "");
    assert_eq!(queued.made(&bare, team), [], "Kueue does");
    // GKE's own taint, which GKE's API server makes every pod that requests GPUs tolerate.
    let gke = |more: &str| {
        plan_of(&format!(
            "apiVersion: gpuc.dev/v1alpha1\nkind: GpuCluster\nmetadata: {{name: demo}}\n\
             kubernetes: {{version: \"1.34\"}}\n\
             cloud: {{gcp: {{project: acme-ml, location: us-central1-a, cluster: {{existing: {{}}}}}}}}\n\
             stack: {{runtimeImage: \"registry.example.com/gpuc-runtime:0.1.0\"}}\n\
             nodePools: [{{name: gpu, machine: g2-standard-8, nodes: {{count: 1}}{more}}}]\n\
             admission: {{guard: enforce}}\n"
        ))
    };
    assert_eq!(gke("").made(&bare, SANDBOX), []);
    let own = gke(", dedicatedTo: research");
    let said = own.made(&bare, SANDBOX);
    let [Said::Refused(message)] = &said[..] else {
        panic!("{said:?}");
    };
    let wanted = "{key: gpuc.dev/dedicated-to, operator: Equal, value: \"research\", effect: NoSchedule} for pool gpu";
    assert!(message.ends_with(wanted), "{message}");
}

#[test]
fn unrequested_gpus() {
    let plan = enforced();
    let good = asking("nvidia.com/gpu: '1'", TOLERATED);
    let idle = asking("cpu: '1'", TOLERATED);
    mended(
        &plan,
        &idle,
        "requests no GPU and tolerates nvidia.com/gpu, the taint of GPU nodes",
        false,
        &good,
    );
    for fine in [
        "tolerations: [{operator: Exists}]",
        "tolerations: [{key: system, operator: Exists}]",
        "nodeSelector: {gpuc.dev/pool: train}, tolerations: [{key: nvidia.com/gpu, operator: Exists}]",
        "affinity: {nodeAffinity: {}}, tolerations: [{key: spot, operator: Exists}]",
        "resourceClaims: [{name: a}], tolerations: [{key: spot, operator: Exists}]",
    ] {
        mended(
            &plan,
            &idle,
            "requests no GPU",
            false,
            &asking("cpu: '1'", fine),
        );
    }
    let env = |value: &str| {
        pod(&format!(
            "{{containers: [{{name: a, env: [{{name: OTHER}}, {{name: NVIDIA_VISIBLE_DEVICES, value: '{value}'}}]}}]}}"
        ))
    };
    mended(
        &plan,
        &env("all"),
        "can access GPUs of other pods",
        false,
        &env("void"),
    );
    mended(
        &plan,
        &env("0"),
        "sets NVIDIA_VISIBLE_DEVICES",
        false,
        &env(""),
    );
    let class = "runtimeClassName: nvidia";
    mended(
        &plan,
        &asking("cpu: '1'", class),
        "or remove runtimeClassName",
        false,
        &asking("nvidia.com/gpu.shared: '1'", class),
    );
    let volume = |path: &str| {
        format!("volumes: [{{name: a, emptyDir: {{}}}}, {{name: b, hostPath: {{path: {path}}}}}]")
    };
    mended(
        &plan,
        &asking("cpu: '1'", &volume("/dev/nvidia0")),
        "mounts /dev/nvidia* of the host",
        false,
        &asking("cpu: '1'", &volume("/dev/shm")),
    );
}

#[test]
fn policy_scope_and_actions() {
    let bad = asking("nvidia.com/gpu.type: '1'", "");
    let warned = plan(&format!("{POOLS}\nadmission: {{exempt: [tools]}}"));
    assert!(
        matches!(warned.made(&bad, SANDBOX)[..], [Said::Warned(_)]),
        "it warns unless told otherwise"
    );
    assert_eq!(warned.made(&bad, ("tools", &[])), []);
    let own = [
        "kube-system",
        "kube-public",
        "gpuc-system",
        "gpu-operator",
        "nvidia-device-plugin",
    ];
    for own in own {
        assert_eq!(warned.made(&bad, (own, &[])), [], "{own}");
    }
    let teams = plan(&format!(
        "{POOLS}\nteams: [{{name: a, namespaces: [a, b]}}]\nadmission: {{guard: enforce, exempt: [b]}}"
    ));
    let team: &[_] = &[("gpuc.dev/team", "a")];
    assert!(matches!(
        teams.made(&bad, ("a", team))[..],
        [Said::Refused(_)]
    ));
    assert_eq!(teams.made(&bad, ("b", team)), []);
    assert_eq!(teams.made(&bad, SANDBOX), []);
    let none = plan(POOLS);
    assert_eq!(none.made(&bad, SANDBOX), []);
}

/// Every object of a tree, as if it were created in a namespace to which the policies apply.
#[test]
fn generated_pods_are_allowed() {
    let mut guarded = 0;
    for case in cases() {
        let plan = case.plan();
        let mut objects = plan.objects.iter();
        guarded += usize::from(objects.any(|it| it.component == "admission"));
        let server = ApiServer::with(plan);
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
                server.made(&value, (namespace, &labels)),
                [],
                "{}: {:?}",
                case.name,
                object.identity
            );
        }
    }
    assert!(guarded > 1, "{guarded} clusters have a guard");
}

#[test]
fn container_exceeds_the_limit_of_its_team() {
    let server = plan(&format!(
        "{POOLS}\nadmission: {{guard: enforce}}\n\
         teams: [{{name: research, limits: {{gpusPerContainer: 2}}}}, {{name: vision}}]"
    ));
    let research: api_server::Namespace<'_> = ("a", &[("gpuc.dev/team", "research")]);
    let vision: api_server::Namespace<'_> = ("b", &[("gpuc.dev/team", "vision")]);
    let three = asking("nvidia.com/gpu: '3'", TOLERATED);
    let words = "a container of team research may request at most 2 nvidia.com/gpu";
    let said = server.made(&three, research);
    assert!(
        matches!(&said[..], [Said::Refused(message)] if message.contains(words)),
        "{said:?}"
    );
    assert_eq!(server.made(&three, vision), []);
    // Each container counts by itself, and those that run before the others too.
    let limits = |count: u32| format!("resources: {{limits: {{nvidia.com/gpu: '{count}'}}}}");
    let pods = |main: u32, init: u32| {
        let (main, init) = (limits(main), limits(init));
        pod(&format!(
            "{{containers: [{{name: a, {main}}}, {{name: b, {main}}}], initContainers: [{{name: c, {init}}}], {TOLERATED}}}"
        ))
    };
    assert_eq!(server.made(&pods(2, 2), research), []);
    assert!(matches!(
        server.made(&pods(2, 3), research)[..],
        [Said::Refused(_)]
    ));
    assert_eq!(server.made(&asking("cpu: '3'", ""), research), []);
}
