//! From one random cluster file to another: `apply.sh` of both ends as `apply.sh` of the second one on an empty cloud.

use std::thread;

use serde_json::{Map, Value, json};
use similar::TextDiff;

use super::environment::Environment;
use super::lifecycle::Case;
use super::{aws, azure, gcp};
use crate::sample::choose;
use crate::support::compile_text;

/// The pairs of files that each cloud must complete, which are not refused. They run at the same time.
const PAIRS: usize = 3;

/// The maximum number of pairs until one of them is not refused.
const MAX_TRIES: usize = 10;

/// The settings of a pool that only a replacement changes. The second file of a pair usually keeps them.
const IMMUTABLE: [&str; 9] = [
    "capacity",
    "network",
    "diskGiB",
    "maxPods",
    "localDisks",
    "sharing",
    "zones",
    "subnets",
    "os",
];

/// Values of settings of a pool that can be changed; `null` removes the setting.
fn mutable_settings() -> Vec<(&'static str, Vec<Value>)> {
    let taint =
        |value: &str, effect: &str| json!([{"key": "batch", "value": value, "effect": effect}]);
    vec![
        (
            "nodes",
            vec![
                json!({"count": 1}),
                json!({"count": 3}),
                json!({"min": 1, "max": 4}),
                json!({"min": 2, "max": 9}),
            ],
        ),
        (
            "labels",
            vec![
                Value::Null,
                json!({"acme.dev/tier": "gold"}),
                json!({"acme.dev/tier": "silver", "rack": "007"}),
                json!({"rack": "8"}),
            ],
        ),
        (
            "taints",
            vec![
                Value::Null,
                taint("yes", "NoSchedule"),
                taint("no", "NoSchedule"),
                taint("yes", "NoExecute"),
            ],
        ),
        (
            "tags",
            vec![
                Value::Null,
                json!({"tier": "gold"}),
                json!({"tier": "silver", "cost": "7"}),
            ],
        ),
        (
            "upgrade",
            vec![
                Value::Null,
                json!({"maxUnavailable": 1}),
                json!({"maxUnavailable": 2}),
                json!({"maxSurge": 0, "maxUnavailable": 1}),
                json!({"maxSurge": 1, "maxUnavailable": 0}),
                json!({"maxSurge": 2}),
                json!({"blueGreen": {}}),
                json!({"blueGreen": {"soakMinutes": 0, "batchPercent": 29, "batchSoakMinutes": 10}}),
                json!({"blueGreen": {"soakMinutes": 10080, "batchNodes": 0}}),
            ],
        ),
        ("dedicatedTo", vec![Value::Null, json!("research")]),
        ("autoRepair", vec![Value::Null, json!(true)]),
    ]
}

/// Values of settings of the cluster, by path; `null` removes the setting.
fn cluster_settings() -> Vec<(&'static str, Vec<Value>)> {
    let window =
        |days: &[&str], hours: u32| json!({"days": days, "start": "02:00", "hours": hours});
    vec![
        (
            "/cloud/aws/tags",
            vec![
                Value::Null,
                json!({"a": "b"}),
                json!({"a": "c", "d": "e f"}),
            ],
        ),
        (
            "/cloud/gcp/resourceLabels",
            vec![Value::Null, json!({"a": "b"}), json!({"a": "c", "d": "e"})],
        ),
        (
            "/cloud/azure/tags",
            vec![
                Value::Null,
                json!({"a": "b"}),
                json!({"a": "c", "d": "e f"}),
            ],
        ),
        (
            "/cloud/gcp/cluster/create/maintenance",
            vec![
                Value::Null,
                window(&["sunday"], 8),
                window(&["saturday", "sunday"], 6),
            ],
        ),
        (
            "/cloud/gcp/cluster/create/maintenanceExclusion",
            vec![
                Value::Null,
                json!({"scope": "noMinorOrNodeUpgrades"}),
                json!({"scope": "noUpgrades", "start": "2096-12-01", "end": "2096-12-28"}),
                json!({"scope": "noMinorUpgrades", "start": "2096-12-01", "end": "2097-01-28"}),
            ],
        ),
        (
            "/cloud/gcp/cluster/create/releaseChannel",
            vec![
                Value::Null,
                json!("stable"),
                json!("regular"),
                json!("rapid"),
            ],
        ),
        (
            "/cloud/azure/cluster/create/maintenance",
            vec![Value::Null, window(&["sunday"], 8), window(&["monday"], 6)],
        ),
        (
            "/cloud/azure/cluster/create/tier",
            vec![Value::Null, json!("standard"), json!("free")],
        ),
        (
            "/cloud/azure/cluster/create/upgradeChannel",
            vec![Value::Null, json!("patch"), json!("stable")],
        ),
        (
            "/cloud/aws/cluster/create/endpoint",
            vec![json!("private"), json!("public"), json!("publicAndPrivate")],
        ),
    ]
}

fn set(map: &mut Map<String, Value>, key: &str, value: &Value) {
    if value.is_null() {
        map.remove(key);
    } else {
        map.insert(key.to_owned(), value.clone());
    }
}

/// A random variant of a file, which the name selects.
fn variant(base: &Value, name: &str, is_second: bool) -> Value {
    let mut file = base.clone();
    for (path, options) in cluster_settings() {
        let (parent, key) = path.rsplit_once('/').unwrap();
        if let Some(parent) = file.pointer_mut(parent).and_then(Value::as_object_mut) {
            set(parent, key, choose(&options, &format!("{name} {path}")));
        }
    }
    // The clouds keep the enforcement of network policies that an isolated team requires.
    if !is_second && *choose(&[true, false], &format!("{name} teams")) {
        file.as_object_mut().unwrap().remove("teams");
    }
    let pools = file["nodePools"].as_array_mut().unwrap();
    let system = pools[0]["name"].clone();
    pools.retain(|pool| {
        pool["name"] == system || *choose(&[true, true, false], &format!("{name} {}", pool["name"]))
    });
    for pool in pools {
        let pool_name = pool["name"].to_string();
        let is_flex = pool.pointer("/capacity/flexStart").is_some();
        let pool = pool.as_object_mut().unwrap();
        for (key, options) in mutable_settings() {
            // Flex-start machines support neither a minimum number of nodes nor repairs.
            if is_flex && ["nodes", "autoRepair"].contains(&key) {
                continue;
            }
            // Half of the settings stay as they are in the file.
            let about = format!("{name} {pool_name} {key}");
            if *choose(&[true, false], &about) {
                set(pool, key, choose(&options, &format!("{about} value")));
            }
        }
        for key in IMMUTABLE {
            let about = format!("{name} {pool_name} {key}");
            if !is_second && *choose(&[true, false, false], &about) {
                pool.remove(key);
            }
        }
    }
    file
}

/// The first variant without findings.
fn variant_without_findings(base: &Value, name: &str, is_second: bool) -> String {
    let variants = (0..2_000).map(|number| {
        let file = variant(base, &format!("{name} {number}"), is_second);
        serde_json::to_string_pretty(&file).unwrap()
    });
    let mut valid = variants.filter(|text| compile_text(text).findings.is_empty());
    valid.next().expect("a variant without findings")
}

/// The resources in the clouds, without pools that are not in this file: the scripts delete none.
fn resources(environment: &Environment, file: &Value) -> Value {
    let mut state = environment.state();
    let pools = file["nodePools"].as_array().unwrap();
    let names: Vec<&str> = pools
        .iter()
        .filter_map(|pool| pool["name"].as_str())
        .collect();
    for path in [
        "/eks/nodegroups",
        "/eks/autoScalingGroups",
        "/eks/stacks",
        "/gke/pools",
        "/aks/pools",
    ] {
        if let Some(found) = state.pointer_mut(path).and_then(Value::as_object_mut) {
            found.retain(|name, _| {
                let pool = name.strip_prefix("eksctl-rich-nodegroup-");
                let pool = pool.or(name.strip_prefix("eks-"));
                let pool = pool.unwrap_or(name).trim_end_matches("-5ec0ffee");
                names.contains(&pool) || name == "eksctl-rich-cluster"
            });
        }
    }
    // eksctl's stacks keep the tags of their creation: no script reads more of them than the names.
    let stacks = state
        .pointer_mut("/eks/stacks")
        .and_then(Value::as_object_mut);
    for (name, stack) in stacks.into_iter().flatten() {
        if name.starts_with("eksctl-") {
            stack["Tags"].take();
        }
    }
    // A resource group may belong to the user: the scripts never change it.
    state["aks"]["groups"].take();
    normalize(&mut state);
    state
}

/// Removes what the fakes remember in addition to the objects of the clouds, and values that mean the same as none.
fn normalize(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.values_mut().for_each(normalize);
            // A pool with blue-green upgrades keeps the surge settings that it had before, without effect.
            if map.get("strategy") == Some(&json!("BLUE_GREEN")) {
                map.retain(|key, _| !["maxSurge", "maxUnavailable"].contains(&key.as_str()));
            }
            map.retain(|key, value| {
                let is_default = match key.as_str() {
                    // Autoscalers change the number of nodes. The scripts remove no add-ons: others may need them.
                    "desiredSize" | "initialNodeCount" | "count" | "eks-node-monitoring-agent" => {
                        true
                    }
                    "taints" => *value == json!([]),
                    "maxUnavailable" => *value == json!(0),
                    "updateStrategy" => *value == json!("DEFAULT"),
                    "nodeRepairConfig" => *value == json!({"enabled": false}),
                    _ => false,
                };
                !key.starts_with('_') && !is_default
            });
        }
        Value::Array(list) => {
            // GKE adds it to pools with GPUs, and the scripts repeat it when they write taints.
            let automatic =
                json!({"effect": "NO_SCHEDULE", "key": "nvidia.com/gpu", "value": "present"});
            list.retain(|it| *it != automatic && it["key"] != "cloud.google.com/gke-queued");
            list.iter_mut().for_each(normalize);
        }
        _ => {}
    }
}

/// An environment whose tools are recent.
fn new_environment(file: &str, case: &Case) -> Environment {
    let versions = r#"standin-state set behavior '{"versions": {"gcloud": "590.0.0"}}'"#;
    Environment::new(file, &format!("{versions}\n{}", case.before))
}

/// Applies pairs of files until enough of them were not refused.
fn assert_transitions(case: &Case) {
    let base: Value = serde_yaml::from_str(case.config).unwrap();
    thread::scope(|scope| {
        for first in 0..PAIRS {
            let base = &base;
            scope.spawn(move || {
                let mut pairs = (first..).step_by(PAIRS).take(MAX_TRIES);
                let completed = pairs.any(|pair| transition(case, base, pair));
                assert!(completed, "every pair is refused");
            });
        }
    });
}

/// Applies the first file of a pair, then the second one. Returns false if the second one is refused.
fn transition(case: &Case, base: &Value, pair: usize) -> bool {
    let first = variant_without_findings(base, &format!("pair {pair} first"), false);
    let first_file = serde_json::from_str(&first).unwrap();
    let second = variant_without_findings(&first_file, &format!("pair {pair} second"), true);
    let second_file: Value = serde_json::from_str(&second).unwrap();

    let environment = new_environment(&first, case);
    environment.run("apply.sh", &[]).expect_success();
    environment
        .run("apply.sh", &[])
        .expect_success()
        .expect_no_changes();

    let next = Environment::new(&second, "");
    next.set_state(&environment.state());
    let run = next.run("apply.sh", &["--allow-disruption"]);
    if run.code != 0 {
        run.expect_refusal("immutable: requires replacement:");
        assert_eq!(next.state(), environment.state(), "pair {pair}");
        return false;
    }
    let again = next.run("apply.sh", &[]).expect_success();
    again.expect_no_changes();

    let undisturbed = new_environment(&second, case);
    undisturbed.run("apply.sh", &[]).expect_success();
    let (found, expected) = (
        resources(&next, &second_file),
        resources(&undisturbed, &second_file),
    );
    let [found, expected] = [found, expected].map(|it| serde_json::to_string_pretty(&it).unwrap());
    let difference = TextDiff::from_lines(&expected, &found);
    assert!(
        found == expected,
        "pair {pair}\n{first}\n{second}\n{}",
        difference.unified_diff()
    );
    true
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn eks_ends_as_on_an_empty_cloud() {
    assert_transitions(&aws::RICH);
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn gke_ends_as_on_an_empty_cloud() {
    assert_transitions(&gcp::RICH);
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn aks_ends_as_on_an_empty_cloud() {
    assert_transitions(&azure::RICH);
}
