//! Kubernetes' own code gives the results that the tests expect of the admission policies: the API server's compiler,
//! type checker and matcher, with cel-go, in the program `policy-check`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::admission::api_server::AdmissionResult;
use crate::admission::record::{FOLDER_VARIABLE, REQUESTS, Request};
use crate::corpus::cases;
use crate::support::compile_text;

/// The folder with `policy-check` and the other programs.
fn programs() -> PathBuf {
    PathBuf::from(
        std::env::var_os("GPUC_KUBE_LAB").expect("GPUC_KUBE_LAB is the folder of policy-check"),
    )
}

/// The report of `policy-check` for policies and requests. The exit status is 1 if a policy does not compile or an
/// expression fails, so the caller reads the report instead.
fn check(policies: &[&Path], requests: Option<&Path>) -> Value {
    check_with(&[], policies, requests)
}

fn check_with(options: &[&str], policies: &[&Path], requests: Option<&Path>) -> Value {
    let mut command = Command::new(programs().join("policy-check"));
    command.args(options);
    for path in policies {
        command.arg("-p").arg(path);
    }
    let output = command.args(requests).output().unwrap();
    let problem = || String::from_utf8_lossy(&output.stderr).into_owned();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", problem()))
}

#[track_caller]
fn assert_compiles(report: &Value, name: &str) {
    let policies = report["policies"].as_array().unwrap();
    for policy in policies {
        assert!(policy["compileErrors"].is_null(), "{name}: {policy:#}");
        assert!(policy["typeWarnings"].is_null(), "{name}: {policy:#}");
    }
}

/// Every request of the tests in `admission` has the same results in Kubernetes.
#[test]
#[ignore = "needs policy-check, built from Kubernetes' sources"]
fn policies_have_the_expected_results() {
    let folder = TempDir::new().unwrap();
    let recorded = Command::new(std::env::current_exe().unwrap())
        .arg("admission::")
        .env(FOLDER_VARIABLE, folder.path())
        .output()
        .unwrap();
    assert!(
        recorded.status.success(),
        "{}",
        String::from_utf8_lossy(&recorded.stdout)
    );
    let text = fs::read_to_string(folder.path().join(REQUESTS)).unwrap();
    let requests = text
        .lines()
        .map(|line| serde_json::from_str::<Request>(line).unwrap());
    // One run for the requests with the same policies, as far as their namespaces have the same labels.
    let mut runs: Vec<(String, BTreeMap<String, Value>, Vec<Request>)> = Vec::new();
    for request in requests {
        let namespace = request.namespace["metadata"]["name"]
            .as_str()
            .unwrap()
            .to_owned();
        let run = runs.iter_mut().find(|(policies, namespaces, _)| {
            let other = namespaces.get(&namespace);
            *policies == request.policies && other.is_none_or(|other| *other == request.namespace)
        });
        let (_, namespaces, requests) = if let Some(run) = run {
            run
        } else {
            runs.push((request.policies.clone(), BTreeMap::new(), Vec::new()));
            runs.last_mut().unwrap()
        };
        namespaces.insert(namespace, request.namespace.clone());
        requests.push(request);
    }
    let mut seen = 0;
    let (mut wrong, mut unread) = (Vec::new(), Vec::new());
    for (policies, namespaces, requests) in &runs {
        let documents = |values: Vec<String>| values.join("\n---\n");
        let namespaces = documents(namespaces.values().map(Value::to_string).collect());
        let reviews = documents(requests.iter().map(|it| it.review.to_string()).collect());
        let (namespace_file, review_file) = (
            folder.path().join("namespaces.yaml"),
            folder.path().join("reviews.yaml"),
        );
        fs::write(&namespace_file, namespaces).unwrap();
        fs::write(&review_file, reviews).unwrap();
        let report = check(
            &[&folder.path().join(policies), &namespace_file],
            Some(&review_file),
        );
        assert_compiles(&report, policies);
        let number = report["policies"].as_array().unwrap().len();
        let mut results = report["results"].as_array().unwrap().as_slice();
        for request in requests {
            // A request that the API server refuses before it asks any policy has one result, without a policy.
            let is_read = results[0]["policy"].is_string();
            let (own, others) = results.split_at(if is_read { number } else { 1 });
            results = others;
            if !is_read {
                unread.push(own[0]["message"].to_string());
                continue;
            }
            seen += 1;
            if let Err(problem) = compare(own, &request.results) {
                let review = &request.review["request"];
                wrong.push(format!("{review:#}\n{problem}"));
            }
        }
        assert!(results.is_empty(), "{results:#?}");
    }
    assert!(
        wrong.is_empty(),
        "{} of {seen}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(seen > 1500, "only {seen} requests");
    // Mistakes that the linter's tests plant.
    assert!(unread.len() < 15, "{unread:#?}");
}

/// Compares the results for one request with the expected ones, except their order. The error also covers expressions
/// that could not be evaluated.
fn compare(results: &[Value], expected: &[AdmissionResult]) -> Result<(), String> {
    // "ValidatingAdmissionPolicy 'a' with binding 'b' denied request: message", or a warning with "'b': message".
    let message = |value: &Value, prefix: &str| {
        let text = value.as_str().unwrap_or_default();
        let (_, message) = text.split_once(prefix).unwrap_or(("", text));
        message.to_owned()
    };
    let mut found = Vec::new();
    for result in results {
        match result["verdict"].as_str() {
            Some("unmatched" | "allowed") => {}
            // Kubernetes reports the first of the failed validations of a policy.
            Some("denied") => found.push(AdmissionResult::Denied(message(
                &result["message"],
                " denied request: ",
            ))),
            Some("warned") => {
                let warnings = result["warnings"].as_array().into_iter().flatten();
                found.extend(warnings.map(|it| AdmissionResult::Warned(message(it, "': "))));
            }
            _ => return Err(result.to_string()),
        }
    }
    found.sort();
    let mut expected = expected.to_vec();
    expected.sort();
    if found == expected {
        Ok(())
    } else {
        Err(format!("{found:#?} instead of {expected:#?}"))
    }
}

const TEAM: &str = "
apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: '1.36'}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: 'registry.example.com/gpuc-runtime:0.1.0'}
nodePools: [{name: gpu, gpu: {model: A30, perNode: 2}, hosts: [a], nodes: {count: 1}}]
teams: [{name: research, network: isolated, members: [{group: research, role: submit}, {user: alice, role: admin}]}]
";

/// The requests of a member, and the policy that denies each.
fn team_requests() -> Vec<(Value, Option<&'static str>)> {
    let service = |spec: Value, labels: Value| {
        json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "research", "labels": labels},
            "spec": spec,
        })
    };
    let ports = json!([{"port": 80}]);
    let internal = service(json!({"ports": ports}), json!({}));
    let node_port = service(json!({"type": "NodePort", "ports": ports}), json!({}));
    let balancer = service(json!({"type": "LoadBalancer", "ports": ports}), json!({}));
    let external = service(
        json!({"externalIPs": ["10.0.0.1"], "ports": ports}),
        json!({}),
    );
    let headless = service(json!({"clusterIP": "None", "ports": ports}), json!({}));
    let labelled = service(node_port["spec"].clone(), json!({"a": "b"}));
    let annotated = |scheme: &str| {
        let mut service = balancer.clone();
        let key = "service.beta.kubernetes.io/aws-load-balancer-scheme";
        service["metadata"]["annotations"] = json!({key: scheme});
        service
    };
    let (private, public) = (annotated("internal"), annotated("internet-facing"));
    let mut elsewhere = node_port.clone();
    elsewhere["metadata"]["namespace"] = json!("other");
    let exposes = Some("gpuc-team-services");
    let network = |name: &str, labels: Value, egress: Value| {
        json!({
            "apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
            "metadata": {"name": name, "namespace": "research", "labels": labels},
            "spec": {"podSelector": {}, "egress": egress},
        })
    };
    let gpuc = json!({"app.kubernetes.io/managed-by": "gpuc", "gpuc.dev/team": "research"});
    let isolation = network("team-isolated", gpuc.clone(), json!([]));
    let opened = network("team-isolated", gpuc.clone(), json!([{}]));
    let other = network("allow-web", json!({}), json!([{}]));
    let namesake = network("team-isolated", json!({}), json!([]));
    let isolates = Some("gpuc-team-isolation");
    [
        (json!(null), internal.clone(), None),
        (json!(null), headless, None),
        (json!(null), node_port.clone(), exposes),
        (json!(null), balancer.clone(), exposes),
        (json!(null), external, exposes),
        (json!(null), elsewhere, None),
        (internal.clone(), balancer.clone(), exposes),
        (balancer, internal.clone(), None),
        (node_port, labelled, None),
        (private.clone(), public, exposes),
        (private.clone(), private, None),
        (internal, json!(null), None),
        (json!(null), isolation.clone(), None),
        (json!(null), other.clone(), None),
        (isolation.clone(), json!(null), isolates),
        (isolation, opened, isolates),
        (other, json!(null), None),
        (namesake, json!(null), None),
    ]
    .map(|(before, after, denied_by)| (review(&before, &after, "bob"), denied_by))
    .into()
}

/// An `AdmissionReview` of a user's change; `null` before a creation, and after a deletion.
fn review(before: &Value, after: &Value, user: &str) -> Value {
    let operation = match (before, after) {
        (Value::Null, _) => "CREATE",
        (_, Value::Null) => "DELETE",
        _ => "UPDATE",
    };
    let object = if after.is_null() { before } else { after };
    let request = json!({
        "uid": "1",
        "operation": operation,
        "name": object["metadata"]["name"],
        "namespace": object["metadata"]["namespace"],
        "object": after,
        "oldObject": before,
        "userInfo": {"username": user},
    });
    json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request,
    })
}

/// Members expose no Services and do not remove the isolation of their team. The platform team can do both.
#[test]
#[ignore = "needs policy-check, built from Kubernetes' sources"]
fn members_stay_within_their_namespaces() {
    assert_team_policies(TEAM, &team_requests());
}

/// With Kueue, members start no pods that the queue does not count. Controllers create the pods of jobs.
#[test]
#[ignore = "needs policy-check, built from Kubernetes' sources"]
fn members_start_no_uncounted_pods() {
    let queued = format!("{TEAM}\nqueueing: kueue\n");
    let gpus_only = queued.replace(
        "network: isolated",
        "quota: {gpus: [{pool: gpu, guaranteed: 2}]}, network: isolated",
    );
    assert_team_policies(&gpus_only, &queue_requests(false));
    let everything = gpus_only.replace("quota: {gpus", "quota: {cpu: 8, gpus");
    assert_team_policies(&everything, &queue_requests(true));
    // The driver of a Spark application creates pods that it controls.
    let spark = format!("{gpus_only}\nkueue: {{jobKinds: [sparkApplication]}}\n");
    let [driver, _] = driver_pods();
    assert_team_policies(&spark, &[(review(&Value::Null, &driver, "bob"), None)]);
}

/// Pods of which a pod is the controller, with and without a GPU.
fn driver_pods() -> [Value; 2] {
    let owner = json!([{"apiVersion": "v1", "kind": "Pod", "name": "driver", "uid": "1", "controller": true}]);
    [queued_pod(1, &owner, true), queued_pod(0, &owner, true)]
}

/// A pod that requests GPUs, with owners, and with the gate and the label of Kueue.
fn queued_pod(gpus: u32, owners: &Value, is_gated: bool) -> Value {
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "p", "namespace": "research", "ownerReferences": owners},
        "spec": {"containers": [{"name": "a", "image": "b", "resources": {"limits": {"nvidia.com/gpu": gpus}}}]},
    });
    if is_gated {
        pod["metadata"]["labels"] = json!({"kueue.x-k8s.io/managed": "true"});
        pod["spec"]["schedulingGates"] =
            json!([{"name": "kueue.x-k8s.io/admission"}, {"name": "own"}]);
    }
    pod
}

/// The requests of a member in a cluster with queues. Queues count pods without GPUs if they count CPU.
fn queue_requests(counts_cpu: bool) -> Vec<(Value, Option<&'static str>)> {
    let denied = Some("gpuc-team-queues");
    let owner = |api: &str, kind: &str, controller: Value| json!([{"apiVersion": api, "kind": kind, "name": "tiny", "uid": "1", "controller": controller}]);
    let job_owner = owner("batch/v1", "Job", json!(true));
    let job = |owners: &Value| {
        json!({
            "apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": "j", "namespace": "research", "ownerReferences": owners},
            "spec": {"suspend": true, "template": {"spec": {
                "restartPolicy": "Never", "containers": [{"name": "a", "image": "b"}],
            }}},
        })
    };
    let set = json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet",
        "metadata": {
            "name": "s", "namespace": "research",
            "ownerReferences": owner("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", json!(true)),
        },
        "spec": {
            "selector": {"matchLabels": {"a": "b"}},
            "template": {
                "metadata": {"labels": {"a": "b"}},
                "spec": {"containers": [{"name": "a", "image": "b"}]},
            },
        },
    });
    let none = json!([]);
    let gated = queued_pod(1, &none, true);
    let mut ungated = gated.clone();
    ungated["spec"]["schedulingGates"] = json!([{"name": "own"}]);
    let mut own_gate_removed = gated.clone();
    own_gate_removed["spec"]["schedulingGates"] = json!([{"name": "kueue.x-k8s.io/admission"}]);
    let mut unlabelled = ungated.clone();
    unlabelled["metadata"]["labels"] = json!({});
    let mut labelled = gated.clone();
    labelled["metadata"]["labels"]["a"] = json!("b");
    let [driver, driver_without_gpu] = driver_pods();
    let without_gpu = if counts_cpu { denied } else { None };
    let create = Value::Null;
    [
        (&create, gated.clone(), None),
        (&create, queued_pod(8, &job_owner, false), denied),
        (&create, queued_pod(0, &job_owner, false), without_gpu),
        (&create, driver, denied),
        (&create, driver_without_gpu, without_gpu),
        (
            &create,
            queued_pod(1, &owner("batch/v1", "Job", json!(false)), false),
            None,
        ),
        (
            &create,
            queued_pod(
                1,
                &owner("argoproj.io/v1alpha1", "Workflow", json!(true)),
                false,
            ),
            None,
        ),
        (&create, job(&none), None),
        (&create, job(&job_owner), denied),
        (&create, set, denied),
        (&job(&none), job(&job_owner), denied),
        (&job(&job_owner), job(&job_owner), None),
        (&gated, labelled, None),
        (&gated, own_gate_removed, None),
        (&gated, ungated.clone(), denied),
        (&gated, unlabelled.clone(), denied),
        (&ungated, unlabelled, denied),
    ]
    .map(|(before, after, denied_by)| (review(before, &after, "bob"), denied_by))
    .into()
}

/// Asserts which policies of teams deny each request, of a member and of a requester with every permission.
#[track_caller]
fn assert_team_policies(text: &str, requests: &[(Value, Option<&'static str>)]) {
    let outcome = compile_text(text);
    let plan = outcome.compilations[0].plan.as_ref();
    let objects = &plan.unwrap_or_else(|| panic!("{}", outcome.text())).objects;
    let objects: Vec<_> = objects
        .iter()
        .filter(|object| object.component == "teams")
        .map(|object| serde_json::to_value(&object.node).unwrap().to_string())
        .collect();
    let folder = TempDir::new().unwrap();
    let (policies, reviews) = (
        folder.path().join("policies.yaml"),
        folder.path().join("reviews.yaml"),
    );
    fs::write(&policies, objects.join("\n---\n")).unwrap();
    let texts: Vec<_> = requests
        .iter()
        .map(|(review, _)| review.to_string())
        .collect();
    fs::write(&reviews, texts.join("\n---\n")).unwrap();
    for is_authorized in [false, true] {
        let options: &[&str] = if is_authorized { &["-authorize"] } else { &[] };
        let report = check_with(options, &[&policies], Some(&reviews));
        assert_compiles(&report, "teams");
        let results = report["results"].as_array().unwrap();
        let policies = report["policies"].as_array().unwrap().len();
        assert_eq!(results.len(), requests.len() * policies, "{report:#}");
        for (results, (review, denied_by)) in results.chunks(policies).zip(requests) {
            let denied: Vec<_> = results
                .iter()
                .filter(|it| it["verdict"] == "denied")
                .map(|it| it["policy"].as_str().unwrap())
                .collect();
            let is_evaluated = results.iter().all(|it| it["verdict"] != "error");
            assert!(is_evaluated, "{results:#?}");
            let expected = denied_by.filter(|_| !is_authorized);
            let expected: Vec<_> = expected.into_iter().collect();
            assert_eq!(denied, expected, "{review:#}\n{results:#?}");
        }
    }
}

/// Every policy of every tree compiles, also for the Kubernetes version of the cluster, without a warning of the type
/// checker.
#[test]
#[ignore = "needs policy-check, built from Kubernetes' sources"]
fn policies_compile_without_warnings() {
    let mut seen = std::collections::BTreeSet::new();
    for case in cases() {
        let policies = case.plan().objects.iter().filter(|object| {
            let kind = object.identity.kind.as_str();
            kind == "ValidatingAdmissionPolicy" || kind == "ValidatingAdmissionPolicyBinding"
        });
        let texts: Vec<_> = policies
            .map(|object| serde_json::to_value(&object.node).unwrap().to_string())
            .collect();
        let text = texts.join("\n---\n");
        if text.is_empty() || !seen.insert(text.clone()) {
            continue;
        }
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("policies.yaml");
        fs::write(&path, text).unwrap();
        assert_compiles(&check(&[&path], None), &case.name);
    }
    assert!(seen.len() > 3, "{} sets of policies", seen.len());
}
