//! Taints of pools: only the components of a pool tolerate its taints, and the install order is valid.
//!
//! The test derives the expected placement and taints from the generated input, not from gpuc's output.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fmt::Write;

use gpuc_model::plan::Plan;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use crate::deliveries::{assert_controller_keeps_order, assert_objects_in_order};
use crate::support::compile_text;

/// A generated pool.
#[derive(Clone, Debug)]
struct RandomPool {
    name: String,
    taints: BTreeSet<(usize, usize, usize)>,
    dedicated: bool,
    advertiser: &'static str,
    driver: &'static str,
    has_mig: bool,
    rdma: bool,
}

/// A generated cluster.
#[derive(Clone, Debug)]
struct RandomCluster {
    cloud: &'static str,
    pools: Vec<RandomPool>,
    monitoring: &'static str,
    gitops: &'static str,
    own_discovery: bool,
}

const KEYS: [&str; 3] = ["example.com/team", "maintenance", "gpu.example.com/class"];
const VALUES: [&str; 3] = ["", "a", "b"];
const EFFECTS: [&str; 3] = ["NoSchedule", "NoExecute", "PreferNoSchedule"];

const MONITORING: [&str; 4] = [
    "",
    "monitoring: {exporter: dcgm, prometheus: {install: {}}}\n",
    "monitoring: {exporter: dcgm, prometheus: {existing: {release: platform}}}\n",
    "monitoring: {exporter: gpuc, prometheus: {install: {}}}\n",
];

const GITOPS: [&str; 3] = ["", "flux", "argocd"];

fn pool(number: usize) -> impl Strategy<Value = RandomPool> {
    let taint = (0..KEYS.len(), 0..VALUES.len(), 0..EFFECTS.len());
    let advertiser = prop::sample::select(vec!["gpuc", "gpuc", "nvidia", "operator", "dra"]);
    let driver = prop::sample::select(vec!["default", "default", "operator", "daemonSet"]);
    let taints = prop::collection::btree_set(taint, 0..4);
    let few = || prop::bool::weighted(0.3);
    let flags = (any::<bool>(), few(), few(), any::<bool>());
    (taints, advertiser, driver, flags).prop_map(
        move |(taints, advertiser, driver, (dedicated, is_cut, rdma, is_long))| RandomPool {
            // The maximum length, so that the names of derived objects are tested at their longest.
            name: format!("p{number}{}", "x".repeat(if is_long { 30 } else { 1 })),
            taints: unique_taints(taints),
            dedicated,
            advertiser,
            driver,
            has_mig: is_cut,
            rdma,
        },
    )
}

/// Keeps one taint for each key and effect.
fn unique_taints(taints: BTreeSet<(usize, usize, usize)>) -> BTreeSet<(usize, usize, usize)> {
    let mut seen = BTreeSet::new();
    let first = |(key, _, effect): &(usize, usize, usize)| seen.insert((*key, *effect));
    taints.into_iter().filter(first).collect()
}

fn cluster() -> impl Strategy<Value = RandomCluster> {
    let cloud = prop::sample::select(vec!["aws", "gcp", "onPrem"]);
    let pools = (1..4usize).prop_flat_map(|count| (0..count).map(pool).collect::<Vec<_>>());
    let monitoring = prop::sample::select(MONITORING.to_vec());
    let gitops = prop::sample::select(GITOPS.to_vec());
    (cloud, pools, monitoring, gitops, any::<bool>()).prop_map(
        |(cloud, pools, monitoring, gitops, own_discovery)| RandomCluster {
            cloud,
            pools,
            monitoring,
            gitops,
            own_discovery,
        },
    )
}

/// A taint or a toleration: key, value, effect.
type Taint = (String, String, String);

/// The startup taint of nodes whose GPUs gpuc-runtime has not partitioned yet.
const STARTUP: &str = "startup-taint.cluster-autoscaler.kubernetes.io/gpuc";

impl RandomCluster {
    /// The cluster file. On premises, each node has a preinstalled driver or the operator's. In the clouds, each node
    /// has the requested driver.
    fn text(&self) -> String {
        let (cloud_yaml, system) = match self.cloud {
            "aws" => (
                r#"aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}"#,
                "machine: m7i.xlarge, nodes: {count: 2}",
            ),
            "gcp" => (
                "gcp: {project: acme-ml-prod, location: us-central1-a, nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com, cluster: {existing: {}}}",
                "machine: e2-standard-4, nodes: {count: 2}",
            ),
            _ => (
                "onPrem: {context: lab}",
                "hosts: [cpu-1], nodes: {count: 1}",
            ),
        };
        let mut text = format!(
            "apiVersion: gpuc.dev/v1alpha1\nkind: GpuCluster\nmetadata: {{name: demo}}\n\
             kubernetes: {{version: \"1.36\"}}\ncloud:\n  {cloud_yaml}\n{}",
            self.monitoring
        );
        if !self.gitops.is_empty() {
            let repository = "https://git.example.com/acme/gitops.git";
            let tool = self.gitops;
            writeln!(
                text,
                "gitops: {{{tool}: {{repository: \"{repository}\", branch: main, path: \"fleet/demo\"}}}}"
            )
            .unwrap();
        }
        if self.own_discovery {
            text += "charts: {node-feature-discovery: {}, kueue: {}}\n";
        }
        writeln!(text, "nodePools:\n  - {{name: system, {system}}}").unwrap();
        for pool in &self.pools {
            writeln!(text, "  - {{{}}}", self.pool(pool)).unwrap();
        }
        text
    }

    fn pool(&self, pool: &RandomPool) -> String {
        let machine = match (self.cloud, pool.has_mig) {
            ("aws", true) => "machine: p4d.24xlarge".to_owned(),
            ("aws", false) => "machine: g6.xlarge".to_owned(),
            ("gcp", true) => "machine: a2-highgpu-1g".to_owned(),
            ("gcp", false) => "machine: g2-standard-8".to_owned(),
            (_, cut) => {
                let model = if cut { "a100-sxm4-40gb" } else { "L4" };
                format!(
                    "gpu: {{model: {model}, perNode: 1}}, hosts: [n-{}]",
                    pool.name
                )
            }
        };
        let mut keys = vec![
            format!("name: {}", pool.name),
            machine,
            "nodes: {count: 1}".to_owned(),
        ];
        if pool.has_mig {
            let slices = "{profile: 1g.5gb, count: 7}";
            keys.push(format!(
                "sharing: {{mig: {{strategy: single, perGpu: [{{layout: [{slices}]}}]}}}}"
            ));
        }
        let mut stack = match pool.advertiser {
            "dra" => "allocation: dra".to_owned(),
            plugin => format!("devicePlugin: {plugin}"),
        };
        if pool.advertiser == "gpuc" {
            stack += r#", runtimeImage: "registry.example.com/gpuc-runtime:0.1.0""#;
        }
        if pool.driver != "default" {
            // On premises, only the operator installs drivers through Kubernetes.
            let driver = match (self.cloud, pool.driver) {
                ("onPrem", "daemonSet") => "host",
                (_, driver) => driver,
            };
            stack += &format!(", driver: {driver}");
            if self.cloud == "gcp" && pool.driver == "operator" {
                keys.push("os: {family: Ubuntu}".to_owned());
            }
        }
        keys.push(format!("stack: {{{stack}}}"));
        if pool.dedicated {
            keys.push("dedicatedTo: research".to_owned());
        }
        if pool.rdma && self.cloud == "onPrem" {
            keys.push("network: {rdma: {infiniband: {}}}".to_owned());
        }
        let taints = self.written_taints(pool).into_iter();
        let taints = taints.map(|(key, value, effect)| {
            format!("{{key: {key}, value: \"{value}\", effect: {effect}}}")
        });
        keys.push(format!(
            "taints: [{}]",
            taints.collect::<Vec<_>>().join(", ")
        ));
        keys.join(", ")
    }

    /// The taints of a pool's nodes: those in the file, the taint for `dedicatedTo`, and the taint that GKE sets on
    /// every node with GPUs (<https://cloud.google.com/kubernetes-engine/docs/how-to/gpus>, read 2026-11-21).
    fn taints(&self, pool: &RandomPool) -> Vec<Taint> {
        let mut taints = self.written_taints(pool);
        let taint =
            |key: &str, value: &str| (key.to_owned(), value.to_owned(), EFFECTS[0].to_owned());
        if pool.dedicated {
            taints.push(taint("gpuc.dev/dedicated-to", "research"));
        }
        if self.cloud == "gcp" {
            taints.push(taint("nvidia.com/gpu", "present"));
        }
        taints
    }

    /// The taints in the file. GKE requires a value.
    fn written_taints(&self, pool: &RandomPool) -> Vec<Taint> {
        let written = pool.taints.iter().map(|(key, value, effect)| {
            let value = match (self.cloud, VALUES[*value]) {
                ("gcp", "") => "c",
                (_, value) => value,
            };
            (
                KEYS[*key].to_owned(),
                value.to_owned(),
                EFFECTS[*effect].to_owned(),
            )
        });
        written.collect()
    }

    fn pool_names(&self, is_selected: impl Fn(&RandomPool) -> bool) -> BTreeSet<String> {
        let pools = self.pools.iter().filter(|pool| is_selected(pool));
        pools.map(|pool| pool.name.clone()).collect()
    }
}

/// Pods that run on nodes: their expected pools and their tolerations.
struct PlacedPods {
    what: String,
    pools: BTreeSet<String>,
    tolerations: Vec<Value>,
}

/// All pods of a plan that run on nodes.
#[expect(clippy::too_many_lines, reason = "a table, one chart after another")]
fn placed_pods(cluster: &RandomCluster, plan: &Plan) -> Vec<PlacedPods> {
    let mut all = Vec::new();
    let mut add_pods = |what: String, pools: BTreeSet<String>, tolerations: &Value| {
        let tolerations = tolerations.as_array().cloned().unwrap_or_default();
        all.push(PlacedPods {
            what,
            pools,
            tolerations,
        });
    };
    for object in &plan.objects {
        let value = serde_json::to_value(&object.node).unwrap();
        let name = &object.identity.name;
        let (pool, spec) = match object.identity.kind.as_str() {
            "DaemonSet" => {
                let template = &value["spec"]["template"];
                (
                    &template["metadata"]["labels"]["gpuc.dev/pool"],
                    &template["spec"],
                )
            }
            "NVIDIADriver" | "NicNodePolicy" => (
                &value["spec"]["nodeSelector"]["gpuc.dev/pool"],
                &value["spec"],
            ),
            _ => continue,
        };
        let pool = pool
            .as_str()
            .unwrap_or_else(|| panic!("no pool runs {name}"));
        add_pods(
            name.clone(),
            BTreeSet::from([pool.to_owned()]),
            &spec["tolerations"],
        );
    }
    for release in &plan.releases {
        let values = serde_json::to_value(&release.values).unwrap();
        let name = &release.name;
        let own = |prefix: &str| BTreeSet::from([name.strip_prefix(prefix).unwrap().to_owned()]);
        let by_operator =
            |pool: &RandomPool| pool.advertiser == "operator" || pool.driver == "operator";
        let worker = "node-feature-discovery";
        match release.chart.name {
            chart @ ("nvidia-device-plugin" | "dcgm-exporter") => {
                add_pods(
                    name.clone(),
                    own(&format!("{chart}-")),
                    &values["tolerations"],
                );
            }
            "gpu-operator" => {
                let pools = cluster.pool_names(by_operator);
                add_pods(
                    name.clone(),
                    pools.clone(),
                    &values["daemonsets"]["tolerations"],
                );
                if values["nfd"]["enabled"] == true {
                    add_pods(
                        format!("{worker} of {name}"),
                        pools,
                        &values[worker]["worker"]["tolerations"],
                    );
                }
            }
            "network-operator" => {
                if values["nfd"]["enabled"] == true {
                    let pools = cluster.pool_names(|pool| pool.rdma);
                    add_pods(
                        format!("{worker} of {name}"),
                        pools,
                        &values[worker]["worker"]["tolerations"],
                    );
                }
            }
            "node-feature-discovery" => {
                add_pods(
                    name.clone(),
                    cluster.pool_names(|_| true),
                    &values["worker"]["tolerations"],
                );
            }
            "dra-driver-nvidia-gpu" => {
                let pools = cluster.pool_names(|pool| pool.advertiser == "dra");
                add_pods(name.clone(), pools, &values["kubeletPlugin"]["tolerations"]);
            }
            "kube-prometheus-stack" => {
                let written = &values["prometheus-node-exporter"]["tolerations"];
                let written = match written.as_array() {
                    Some(written) => written.clone(),
                    None => vec![tolerated_by_node_exporter()],
                };
                // It tolerates every taint with the effect NoSchedule, so that it also runs on nodes outside the file's
                // pools.
                let (every, of_pools): (Vec<_>, Vec<_>) = written
                    .into_iter()
                    .partition(|it| *it == tolerated_by_node_exporter());
                assert_eq!(every.len(), 1, "{name}: {of_pools:?}");
                let evicting = |pool: &RandomPool| {
                    let mut taints = cluster.taints(pool).into_iter();
                    taints.any(|(_, _, effect)| effect == "NoExecute")
                };
                let pools = cluster.pool_names(evicting);
                if pools.is_empty() {
                    assert!(of_pools.is_empty(), "{name}: {of_pools:?}");
                } else {
                    let all = [every, of_pools].concat();
                    add_pods(format!("node exporter of {name}"), pools, &json!(all));
                }
            }
            // Their pods are not bound to nodes with GPUs.
            "kueue" | "cluster-autoscaler" => {}
            other => panic!("the placement of the pods of {other} is not defined here"),
        }
    }
    all
}

/// The default toleration of the node exporter in kube-prometheus-stack: prometheus-community/helm-charts@01931990
/// `charts/prometheus-node-exporter/values.yaml`, `tolerations`, read 2026-11-21.
fn tolerated_by_node_exporter() -> Value {
    json!({"operator": "Exists", "effect": "NoSchedule"})
}

/// Whether a toleration matches a taint, as in Kubernetes:
/// <https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/>, read 2026-11-21.
fn tolerates(toleration: &Value, (key, value, effect): &Taint) -> bool {
    let is = |field: &str, expected: &str| {
        let found = toleration[field].as_str().unwrap_or_default();
        found.is_empty() || found == expected
    };
    let matches_value = match toleration["operator"].as_str() {
        Some("Exists") => true,
        _ => toleration["value"].as_str().unwrap_or_default() == value,
    };
    is("key", key) && is("effect", effect) && matches_value
}

fn assert_tolerations_match(cluster: &RandomCluster, plan: &Plan) {
    for placed in placed_pods(cluster, plan) {
        let pools = cluster.pools.iter();
        let pools: Vec<_> = pools.filter(|it| placed.pools.contains(&it.name)).collect();
        assert_eq!(pools.len(), placed.pools.len(), "{}", placed.what);
        assert!(!pools.is_empty(), "no pool runs {}", placed.what);
        let taints = pools.iter().flat_map(|pool| cluster.taints(pool));
        let taints: BTreeSet<_> = taints.collect();
        for taint in taints.iter().filter(|taint| taint.2 != "PreferNoSchedule") {
            let mut tolerations = placed.tolerations.iter();
            assert!(
                tolerations.any(|it| tolerates(it, taint)),
                "{} does not tolerate {taint:?}",
                placed.what
            );
        }
        for toleration in &placed.tolerations {
            let starts = toleration["key"] == STARTUP && pools.iter().any(|pool| pool.has_mig);
            let anywhere = placed.what.starts_with("node exporter")
                && *toleration == tolerated_by_node_exporter();
            assert!(
                starts || anywhere || taints.iter().any(|taint| tolerates(toleration, taint)),
                "{} tolerates {toleration}, but none of its pools has such a taint",
                placed.what
            );
        }
    }
    assert_required_pods_exist(cluster, plan);
}

/// Asserts that each pool has the components that it requires.
fn assert_required_pods_exist(cluster: &RandomCluster, plan: &Plan) {
    let runs = |what: &str| {
        placed_pods(cluster, plan)
            .into_iter()
            .any(|it| it.what == what)
    };
    for pool in &cluster.pools {
        let expected = match pool.advertiser {
            "gpuc" => format!("gpuc-runtime-{}", pool.name),
            "nvidia" => format!("nvidia-device-plugin-{}", pool.name),
            "operator" => "gpu-operator".to_owned(),
            _ => "dra-driver-nvidia-gpu".to_owned(),
        };
        assert!(runs(&expected), "{expected} is missing");
        if pool.driver == "operator" {
            assert!(runs("gpu-operator"));
        }
    }
}

/// Asserts the maximum lengths of names of releases (helm/helm `pkg/chartutil/validate_name.go`) and namespaces.
fn assert_name_lengths(plan: &Plan) {
    for release in &plan.releases {
        assert!(release.name.len() <= 53, "{}", release.name);
        assert!(release.namespace.len() <= 63, "{}", release.namespace);
    }
}

#[test]
fn taints_of_all_kinds_on_all_pools() {
    let config = Config {
        cases: 120,
        max_global_rejects: 4000,
        failure_persistence: None,
        ..Config::default()
    };
    let seen = Cell::new(0);
    let result = TestRunner::new(config).run(&cluster(), |cluster| {
        let text = cluster.text();
        let outcome = compile_text(&text);
        let Some(plan) = &outcome.compilations[0].plan else {
            let refused = outcome
                .findings
                .iter()
                .any(|it| it.code.id.starts_with("GPUC2"));
            prop_assert!(refused, "{}\n{}", text, outcome.text());
            return Err(TestCaseError::reject("refused"));
        };
        assert_tolerations_match(&cluster, plan);
        assert_name_lengths(plan);
        assert_objects_in_order("a generated cluster", plan);
        let tree = &outcome.compilations[0].output.as_ref().unwrap().0;
        assert_controller_keeps_order(cluster.gitops, "demo", tree, plan);
        seen.set(seen.get() + 1);
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(seen.get(), 120);
}

#[test]
fn tolerations_match_as_in_kubernetes() {
    let taint = ("a".to_owned(), "b".to_owned(), "NoExecute".to_owned());
    for (toleration, expected) in [
        (json!({"operator": "Exists"}), true),
        (
            json!({"key": "a", "operator": "Exists", "effect": "NoSchedule"}),
            false,
        ),
        (json!({"key": "a", "value": "b"}), true),
        (
            json!({"key": "a", "operator": "Equal", "value": "c"}),
            false,
        ),
        (json!({"key": "a"}), false),
    ] {
        assert_eq!(tolerates(&toleration, &taint), expected, "{toleration}");
    }
}
