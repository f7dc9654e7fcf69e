//! Teams of clusters that gpuc did not build.

use serde_json::{Value, json};

use super::{errors, imported, node, provided, read};

fn nodes() -> Vec<Value> {
    let gpu = |name: &str, group: &str, machine: &str, gpus: &str| {
        let labels = json!({"eks.amazonaws.com/nodegroup": group, "node.kubernetes.io/instance-type": machine, "topology.kubernetes.io/region": "us-east-1"});
        provided(
            node(name, &labels, &[], &json!({"nvidia.com/gpu": gpus})),
            "aws:///us-east-1a/i-1",
        )
    };
    vec![
        gpu("a", "big", "p5.48xlarge", "8"),
        gpu("b", "small", "g6.xlarge", "1"),
    ]
}

fn object(kind: &str, api: &str, namespace: &str, name: &str, rest: &Value) -> Value {
    let mut object = json!({"kind": kind, "apiVersion": api, "metadata": {"name": name, "namespace": namespace}});
    for (key, value) in rest.as_object().unwrap() {
        object[key] = value.clone();
    }
    object
}

fn quota(namespace: &str, name: &str, hard: &Value) -> Value {
    object(
        "ResourceQuota",
        "v1",
        namespace,
        name,
        &json!({"spec": {"hard": hard}}),
    )
}

fn namespace(name: &str) -> Value {
    json!({"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": name}})
}

#[test]
fn a_namespace_with_a_quota_is_a_team() {
    let mut objects = nodes();
    objects.extend([
        namespace("ml"),
        namespace("web"),
        namespace("kube-system"),
        quota("kube-system", "gcp-critical-pods", &json!({"pods": "1G"})),
        quota("ml", "gpus", &json!({"requests.nvidia.com/gpu": "9", "requests.cpu": "64", "limits.cpu": "128"})),
        quota("ml", "cpu", &json!({"cpu": "32"})),
        object("RoleBinding", "rbac.authorization.k8s.io/v1", "ml", "devs", &json!({
            "roleRef": {"kind": "ClusterRole", "name": "edit"},
            "subjects": [{"kind": "Group", "name": "ml@acme.dev"}, {"kind": "ServiceAccount", "name": "ci", "namespace": "tools"}],
        })),
        object("RoleBinding", "rbac.authorization.k8s.io/v1", "ml", "own", &json!({
            "roleRef": {"kind": "Role", "name": "own"}, "subjects": [{"kind": "User", "name": "eve"}],
        })),
    ]);
    let import = imported(&objects, &[]);
    let file = read(&import);
    let quota =
        json!({"gpus": [{"pool": "big", "limit": 8}, {"pool": "small", "limit": 1}], "cpu": 32});
    let members = json!([{"group": "ml@acme.dev"}, {"serviceAccount": "tools:ci"}]);
    let team =
        json!([{"name": "ml", "members": members, "quota": quota, "podSecurity": "privileged"}]);
    // `cpu` is an old name of `requests.cpu`; the smallest amount applies.
    assert_eq!(file["teams"], team, "{}", import.yaml);
    let left_out: Vec<&str> = import
        .report
        .left_out
        .iter()
        .map(|it| it.source.as_str())
        .collect();
    assert!(
        left_out
            .iter()
            .any(|it| it.starts_with("ResourceQuota ml/gpus#spec.hard[limits.cpu]")),
        "{left_out:?}"
    );
    assert!(
        left_out
            .iter()
            .any(|it| it.starts_with("RoleBinding ml/own#roleRef")),
        "{left_out:?}"
    );
    assert_eq!(errors(&import), Vec::<String>::new(), "{}", import.yaml);
}

#[test]
fn queues_of_kueue_become_teams() {
    let mut objects = nodes();
    let flavor = |name: &str, group: &str| {
        object(
            "ResourceFlavor",
            "kueue.x-k8s.io/v1beta2",
            "",
            name,
            &json!({"spec": {"nodeLabels": {"eks.amazonaws.com/nodegroup": group}}}),
        )
    };
    objects.extend([
        namespace("ml"),
        flavor("h100", "big"),
        flavor("l4", "small"),
        object("LocalQueue", "kueue.x-k8s.io/v1beta2", "ml", "main", &json!({"spec": {"clusterQueue": "research"}})),
        object("ClusterQueue", "kueue.x-k8s.io/v1beta2", "", "research", &json!({"spec": {
            "cohortName": "all", "queueingStrategy": "StrictFIFO",
            "preemption": {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"},
            "fairSharing": {"weight": "2"},
            "resourceGroups": [{
                "coveredResources": ["nvidia.com/gpu"],
                "flavors": [
                    {"name": "h100", "resources": [{"name": "nvidia.com/gpu", "nominalQuota": 4, "lendingLimit": "2"}]},
                    {"name": "l4", "resources": [{"name": "nvidia.com/gpu", "nominalQuota": "1", "borrowingLimit": 0}]},
                ],
            }],
        }})),
    ]);
    let import = imported(&objects, &[]);
    let file = read(&import);
    let team = &file["teams"][0];
    assert_eq!(team["name"], "research", "{}", import.yaml);
    assert_eq!(team["namespaces"], json!(["ml"]));
    assert_eq!(team["weight"], 2);
    let gpus = json!([{"pool": "big", "guaranteed": 4, "limit": 8, "lend": 2}, {"pool": "small", "guaranteed": 1}]);
    assert_eq!(team["quota"]["gpus"], gpus);
    assert_eq!(file["queueing"], "kueue");
    assert_eq!(
        file["kueue"],
        json!({"order": "strictFifo", "fairSharing": true})
    );
    assert!(
        import
            .yaml
            .contains("guessed: the queue borrows without a limit"),
        "{}",
        import.yaml
    );
    assert_eq!(errors(&import), Vec::<String>::new(), "{}", import.yaml);
}
