//! Containers without requests get the API server's defaults, and scheduling counts these defaults.

use gpuc_model::WORKLOAD_LABEL;
use gpuc_model::scheduling::{DefaultRequests, Demand};
use gpuc_syntax::node::Node;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use crate::corpus::cases;
use crate::scheduling::generators;
use crate::scheduling::oracle::pod_requests;
use crate::support::compile_text;

/// A pod after the API server's defaulting and the admission plugin for LimitRanges: a limit without a request becomes
/// the request, and missing values are the defaults of the LimitRange.
fn admit_with_defaults(pod: &Value, range: &Value) -> Value {
    let mut pod = pod.clone();
    for key in ["initContainers", "containers"] {
        let containers = pod[key].as_array_mut();
        for container in containers.into_iter().flatten() {
            let limits = container["resources"]["limits"].clone();
            for (into, from) in [
                ("requests", &limits),
                ("requests", &range["defaultRequest"]),
                ("limits", &range["default"]),
            ] {
                for (name, amount) in from.as_object().into_iter().flatten() {
                    let slot = &mut container["resources"][into][name];
                    if slot.is_null() {
                        *slot = amount.clone();
                    }
                }
            }
        }
    }
    pod
}

/// The CPU in millicores and the memory in bytes that gpuc counts for a pod.
fn counted_requests(demand: &Demand) -> [u128; 2] {
    [demand.cpu, demand.memory].map(|it| it.map_or(0, |it| it.value.into()))
}

fn expected_requests(pod: &Value) -> [u128; 2] {
    let requests = pod_requests(pod);
    let of = |name: &str| requests.get(name).copied().unwrap_or_default();
    [of("cpu"), of("memory").div_ceil(1000)]
}

/// The container limits of the LimitRange that gpuc generates for a namespace.
fn limit_range(plan: &gpuc_model::plan::Plan, namespace: &str) -> Option<Value> {
    let mut objects = plan.objects.iter();
    let range = objects.find(|object| {
        let identity = &object.identity;
        identity.kind == "LimitRange" && identity.namespace.as_deref() == Some(namespace)
    })?;
    Some(json!(range.node)["spec"]["limits"][0].clone())
}

fn pods(node: &Node) -> Vec<&Node> {
    if node.get("containers").is_some() {
        return vec![node];
    }
    let below = node.entries().iter().map(|entry| &entry.value);
    below.chain(node.items()).flat_map(pods).collect()
}

#[test]
fn workloads_count_with_namespace_defaults() {
    let (mut checked, mut defaulted) = (0, 0);
    for case in cases() {
        let cluster = case.cluster();
        for object in &case.plan().objects {
            let labels = json!(object.node)["metadata"]["labels"].clone();
            let Some(name) = labels[WORKLOAD_LABEL].as_str() else {
                continue;
            };
            let namespace = object.identity.namespace.as_deref().unwrap_or_default();
            let range = limit_range(case.plan(), namespace).unwrap_or_default();
            let defaults = DefaultRequests::for_namespace(cluster, namespace);
            for spec in pods(&object.node) {
                let expected = expected_requests(&admit_with_defaults(&json!(spec), &range));
                let demand = Demand::from_pod_spec(spec, &defaults);
                assert_eq!(counted_requests(&demand), expected, "{}: {name}", case.name);
                let mut workloads = cluster.config.workloads.iter();
                let workload = workloads.find(|it| it.name.value == name).unwrap();
                if !workload.pod_patch.value.is_empty() || !workload.patch.value.is_empty() {
                    continue;
                }
                for pool in gpuc_model::scheduling::fitting_pools(cluster, workload) {
                    let demand = Demand::for_workload(cluster, workload, pool);
                    assert_eq!(counted_requests(&demand), expected, "{}: {name}", case.name);
                    checked += 1;
                    defaulted += usize::from(expected != expected_requests(&json!(spec)));
                }
            }
        }
    }
    assert!(
        checked > 30 && defaulted > 2,
        "{defaulted} of {checked} get defaults"
    );
}

const HEAD: &str = "apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: \"1.36\"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: \"registry.example.com/gpuc-runtime:0.1.0\"}
nodePools: [{name: gpu, gpu: {model: A30, perNode: 2}, hosts: [a, b], nodes: {count: 2}, allocatable: {cpu: 96, memory: 500Gi}}]
";

#[test]
fn pods_count_as_defaulted_by_the_api_server() {
    let limits = "defaultRequest: {cpu: 250m, memory: 3Gi}, default: {cpu: 2, memory: 5Gi}";
    let outcome = compile_text(&format!(
        "{HEAD}teams: [{{name: t, limits: {{{limits}}}}}]\n"
    ));
    let compilation = &outcome.compilations[0];
    let cluster = compilation.cluster.as_ref().unwrap();
    let range = limit_range(compilation.plan.as_ref().unwrap(), "t").unwrap();
    let defaults = DefaultRequests::for_namespace(cluster, "t");
    let config = Config {
        cases: 400,
        failure_persistence: None,
        ..Config::default()
    };
    let defaulted = std::cell::Cell::new(0);
    let result = TestRunner::new(config).run(&generators::pod(), |pod| {
        let expected = expected_requests(&admit_with_defaults(&pod, &range));
        let demand = Demand::from_pod_spec(&Node::from_json(pod.clone()), &defaults);
        prop_assert_eq!(counted_requests(&demand), expected, "{:#}", pod);
        defaulted.set(defaulted.get() + u32::from(expected != expected_requests(&pod)));
        Ok(())
    });
    assert!(result.is_ok(), "{result:?}");
    assert!(
        defaulted.get() > 40,
        "{} pods get defaults",
        defaulted.get()
    );
}

/// Asserts the findings for a manifest in a team's namespace, except those that every manifest in it gets.
#[track_caller]
fn assert_findings(team: &str, manifest: &str, messages: &[&str]) {
    let mut outcome = compile_text(&format!("{HEAD}teams: [{{name: t, {team}}}]\n"));
    assert!(outcome.findings.is_empty(), "{}", outcome.text());
    outcome.add_manifests(&[("manifest.yaml", manifest)]);
    let found = outcome.findings.iter().map(|it| it.message.as_str());
    assert_eq!(found.collect::<Vec<_>>(), messages, "{team}\n{manifest}");
}

/// A Deployment whose rolling update needs no additional capacity.
fn deployment(replicas: u32, resources: &str) -> String {
    format!(
        "apiVersion: apps/v1
kind: Deployment
metadata: {{name: web, namespace: t}}
spec:
  replicas: {replicas}
  strategy: {{type: Recreate}}
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec: {{containers: [{{name: web, image: 'registry.example.com/web:1.0.0', resources: {resources}}}]}}
"
    )
}

#[test]
fn manifests_respect_the_quota_of_their_team() {
    let more = |what: &str| format!("Deployment web exceeds the quota of its team: {what}");
    assert_findings("quota: {pods: 3}", &deployment(3, "{}"), &[]);
    assert_findings("quota: {pods: 3}", &deployment(4, "{}"), &[&more("4 pods")]);
    assert_findings(
        "quota: {pods: 3}",
        &deployment(4, "{}").replace("namespace: t", "namespace: u"),
        &[],
    );
    // Each pod has half a core, the default of the team's LimitRange.
    assert_findings("quota: {cpu: 2}", &deployment(4, "{}"), &[]);
    let five = more("5 pods with 0.5 cores each need 2.5 cores");
    assert_findings("quota: {cpu: 2}", &deployment(5, "{}"), &[&five]);
    assert_findings(
        "quota: {cpu: 2}",
        &deployment(5, "{requests: {cpu: 400m}}"),
        &[],
    );
    let two = more("2 pods with 5 GiB of memory each need 10 GiB of memory");
    assert_findings(
        "quota: {memory: 9Gi}",
        &deployment(2, "{limits: {memory: 5Gi}}"),
        &[&two],
    );
}

#[test]
fn defaults_must_fit_a_node() {
    let team = |cpu: u32| format!("limits: {{defaultRequest: {{cpu: {cpu}}}}}");
    let manifest = deployment(1, "{limits: {nvidia.com/gpu: 1}}");
    assert_findings(&team(95), &manifest, &[]);
    // No node fits two containers with the default request each.
    let two = manifest.replace(
        "containers: [",
        "containers: [{name: side, image: 'registry.example.com/s:1.0.0'}, ",
    );
    assert_findings(&team(40), &two, &[]);
    let large = "Deployment web requests more than a node of any pool has";
    assert_findings(&team(50), &two, &[large]);
    let mut outcome = compile_text(&format!("{HEAD}teams: [{{name: t, {}}}]\n", team(50)));
    outcome.add_manifests(&[("manifest.yaml", &two)]);
    let found = &outcome.findings[0];
    let path = |span| outcome.sources.locate(span).unwrap().0.to_owned();
    assert_eq!(path(found.primary.span), "manifest.yaml");
    assert!(
        found
            .labels
            .iter()
            .any(|label| label.text.contains("without a request"))
    );
    // The same in the cluster file, without and with a patch.
    let file = |cpu: u32, rest: &str| {
        let job = "job: {image: 'registry.example.com/m:1.0.0', gpus: 1}";
        let teams = format!("teams: [{{name: t, {}}}]", team(cpu));
        let text = format!("{HEAD}{teams}\nworkloads: [{{name: a, team: t, {job}{rest}}}]\n");
        let outcome = compile_text(&text);
        let messages = outcome.findings.iter().map(|it| it.message.clone());
        messages.collect::<Vec<_>>()
    };
    assert_eq!(file(95, ""), [""; 0]);
    // If no container with the default request fits, the finding is about the team.
    let all = "the default request of team `t` does not fit on any node: 97 cores";
    assert_eq!(file(97, ""), ["workload `a` does not fit on any pool", all]);
    let side = ", podPatch: {containers: [{name: side, image: 'registry.example.com/s:1.0.0'}]}";
    assert_eq!(file(40, side), [""; 0]);
    assert_eq!(
        file(50, side),
        ["with its patch, workload `a` fits no pool"]
    );
}

#[test]
fn containers_respect_the_limits_of_their_team() {
    let of = "Deployment web exceeds the limit of its team per container: ";
    let more = |what: &str| format!("{of}{what} for `web`");
    let max = "limits: {max: {cpu: 2, memory: 4Gi}}";
    assert_findings(max, &deployment(9, "{}"), &[]);
    assert_findings(max, &deployment(9, "{limits: {cpu: 2, memory: 4Gi}}"), &[]);
    assert_findings(
        max,
        &deployment(1, "{limits: {cpu: 3}}"),
        &[&more("3 cores")],
    );
    assert_findings(
        max,
        &deployment(1, "{requests: {cpu: 3}}"),
        &[&more("3 cores")],
    );
    assert_findings(
        max,
        &deployment(1, "{limits: {memory: 5Gi}}"),
        &[&more("5 GiB of memory")],
    );
    // The default limit is lower than the request.
    let default = "limits: {default: {cpu: 1}}";
    let less = "Deployment web requests 2 cores for `web`, more than the default limit";
    assert_findings(default, &deployment(1, "{requests: {cpu: 2}}"), &[less]);
    assert_findings(default, &deployment(1, "{requests: {cpu: 1}}"), &[]);
    assert_findings(
        default,
        &deployment(1, "{requests: {cpu: 2}, limits: {cpu: 2}}"),
        &[],
    );
}
