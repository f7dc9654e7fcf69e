//! Every pod of every workload fits each of its pools, and requests the resources that it needs there.

use std::collections::BTreeSet;

use gpuc_model::scheduling::{DefaultRequests, Demand, Feasibility, check_pool, explain_pool};
use gpuc_model::{Cluster, WORKLOAD_LABEL};
use gpuc_syntax::node::Node;
use serde_json::{Value, json};

use crate::corpus::cases;

/// The spec of each pod below a node.
fn pods(node: &Node) -> Vec<&Node> {
    if node.get("containers").is_some() {
        return vec![node];
    }
    let below = node.entries().iter().map(|entry| &entry.value);
    below.chain(node.items()).flat_map(pods).collect()
}

/// The pools that a pod's node affinity selects.
fn pools(spec: &Value) -> Vec<String> {
    let terms = &spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        ["nodeSelectorTerms"];
    let terms = terms.as_array().cloned().unwrap_or_default();
    let expressions = terms
        .iter()
        .filter_map(|term| term["matchExpressions"].as_array());
    let of_pools = expressions
        .flatten()
        .filter(|it| it["key"] == "gpuc.dev/pool");
    let names = of_pools.map(|it| it["values"][0].clone());
    let names = names.chain([spec["nodeSelector"]["gpuc.dev/pool"].clone()]);
    names
        .filter_map(|name| Some(name.as_str()?.to_owned()))
        .collect()
}

fn workloads(cluster: &Cluster) -> usize {
    cluster.config.workloads.len()
}

#[test]
fn pods_fit_each_of_their_pools() {
    let (mut checked, mut wrong) = (0, Vec::new());
    for case in cases().iter().filter(|case| workloads(case.cluster()) > 0) {
        let cluster = case.cluster();
        for object in &case.plan().objects {
            let labels = json!(object.node)["metadata"]["labels"].clone();
            if labels.get(WORKLOAD_LABEL).is_none() {
                continue;
            }
            for spec in pods(&object.node) {
                let names = pools(&json!(spec));
                let demand = Demand::from_pod_spec(
                    spec,
                    &DefaultRequests::for_namespace(
                        cluster,
                        object.identity.namespace.as_deref().unwrap_or_default(),
                    ),
                );
                for name in &names {
                    let pool = cluster.pool(name).unwrap();
                    let verdict = check_pool(&demand, cluster, pool);
                    checked += 1;
                    if verdict.feasibility() == Feasibility::DoesNotFit {
                        let (name, why) = (&object.identity.name, explain_pool(&verdict));
                        wrong.push(format!("{}: {name}: {why:?}", case.name));
                    }
                }
                if names.is_empty() && demand.resources.iter().any(|it| it.count > 0) {
                    let name = &object.identity.name;
                    wrong.push(format!("{}: {name} selects no pool", case.name));
                }
            }
        }
    }
    assert!(checked > 20, "only {checked} pods were checked");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn requests_equal_limits() {
    let mut checked = 0;
    for case in cases().iter().filter(|case| workloads(case.cluster()) > 0) {
        for object in &case.plan().objects {
            let labels = json!(object.node)["metadata"]["labels"].clone();
            if labels.get(WORKLOAD_LABEL).is_none() {
                continue;
            }
            for spec in pods(&object.node) {
                let main = &json!(spec)["containers"][0]["resources"];
                let patched = case.name.starts_with("GPUC3");
                assert!(
                    patched || main["requests"] == main["limits"],
                    "{}",
                    case.name
                );
                checked += usize::from(!main["limits"].is_null());
            }
        }
    }
    assert!(checked > 20, "only {checked} pods were checked");
}

#[test]
fn leader_worker_sets_are_placed_as_one_group() {
    let (mut checked, mut grouped) = (0, 0);
    for case in cases() {
        let objects = &case.plan().objects;
        for set in objects
            .iter()
            .filter(|it| it.identity.kind == "LeaderWorkerSet")
        {
            let same = |kind: &str| {
                let mut others = objects.iter().map(|other| &other.identity);
                others.any(|it| {
                    (it.kind == kind, &it.name, &it.namespace)
                        == (true, &set.identity.name, &set.identity.namespace)
                })
            };
            assert!(same("LeaderWorkerSet") && !same("Service"), "{}", case.name);
            checked += 1;
            let spec = &json!(set.node)["spec"]["leaderWorkerTemplate"];
            for template in ["leaderTemplate", "workerTemplate"] {
                let annotations = &spec[template]["metadata"]["annotations"];
                let placed = annotations.get("kueue.x-k8s.io/podset-preferred-topology");
                let group = annotations.get("kueue.x-k8s.io/podset-group-name");
                assert_eq!(placed.is_some(), group.is_some(), "{}", case.name);
                grouped += usize::from(group.is_some());
            }
        }
    }
    assert!(
        checked > 2 && grouped > 1,
        "{checked} sets, {grouped} templates"
    );
}

/// The README's table names the pools that the pods select. The compiler derives the two separately.
#[test]
fn readme_names_the_pools_of_workloads() {
    let (mut checked, mut wrong) = (0, Vec::new());
    for case in cases().iter().filter(|case| workloads(case.cluster()) > 0) {
        let mut files = case.tree().files();
        let (_, readme) = files.find(|(path, _)| *path == "README.md").unwrap();
        let lines = readme.contents.lines();
        let rows: Vec<&str> = lines.filter(|line| line.starts_with("| ")).collect();
        for workload in &case.cluster().config.workloads {
            let name = workload.name.value.as_str();
            let kind = workload.tasks()[0].0;
            let start = format!("| {name} | {kind} |");
            let row = rows.iter().find(|row| row.starts_with(&start));
            let Some(row) = row else {
                wrong.push(format!("{}: the table has no row for {name}", case.name));
                continue;
            };
            let cells: Vec<_> = row.trim_matches('|').split(" | ").collect();
            let listed = cells.last().unwrap().trim().split(", ").map(str::to_owned);
            let listed: BTreeSet<String> = listed.collect();
            let own = case.plan().objects.iter().filter(|object| {
                json!(object.node)["metadata"]["labels"][WORKLOAD_LABEL] == json!(name)
            });
            let specs = own.flat_map(|object| pods(&object.node));
            let selected: BTreeSet<String> = specs.flat_map(|spec| pools(&json!(spec))).collect();
            checked += 1;
            if !selected.is_empty() && selected != listed {
                wrong.push(format!(
                    "{}: {name}: {selected:?} and {listed:?}",
                    case.name
                ));
            }
        }
    }
    assert!(checked > 20, "only {checked} workloads were checked");
    assert!(wrong.is_empty(), "{wrong:#?}");
}
