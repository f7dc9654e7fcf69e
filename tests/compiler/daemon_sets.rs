//! The capacity that scheduling subtracts for this tree's DaemonSets equals their requests, and no DaemonSet is
//! missing.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::corpus::cases;

/// A quantity as the tree contains it, in millicores or MiB.
fn amount(text: &str) -> u64 {
    let digits: u64 = text.trim_end_matches(char::is_alphabetic).parse().unwrap();
    match text.trim_start_matches(char::is_numeric) {
        "m" | "Mi" => digits,
        "Gi" => digits * 1024,
        _ => panic!("{text} has an unexpected unit"),
    }
}

fn fold_requests(containers: &Value, name: &str, fold: fn(u64, u64) -> u64) -> u64 {
    let all = containers.as_array().into_iter().flatten();
    let requests = all.filter_map(|container| container["resources"]["requests"][name].as_str());
    requests.map(amount).fold(0, fold)
}

/// A pod's requests: the sum of its containers, or the largest init container.
fn pod_requests(spec: &Value, name: &str) -> u64 {
    let main = fold_requests(&spec["containers"], name, |a, b| a + b);
    main.max(fold_requests(&spec["initContainers"], name, u64::max))
}

#[test]
fn counted_capacity_matches_the_daemon_sets() {
    let mut seen = BTreeMap::new();
    for case in cases() {
        let cluster = case.cluster();
        for pool in &cluster.pools {
            let mut counted: BTreeMap<_, _> = cluster
                .daemon_set_requests(pool)
                .into_iter()
                .map(|daemon| {
                    (
                        daemon.name,
                        (daemon.requests.cpu, daemon.requests.memory >> 20),
                    )
                })
                .collect();
            for object in &case.plan().objects {
                let value = serde_json::to_value(&object.node).unwrap();
                let of = value["spec"]["template"]["metadata"]["labels"]["gpuc.dev/pool"].as_str();
                if object.identity.kind != "DaemonSet" || of != Some(&pool.name) {
                    continue;
                }
                let name = &object.identity.name;
                let suffix = format!("-{}", pool.name);
                let spec = &value["spec"]["template"]["spec"];
                let expected = (pod_requests(spec, "cpu"), pod_requests(spec, "memory"));
                let short = name.strip_suffix(&suffix).unwrap();
                assert_eq!(
                    counted.remove(short),
                    Some(expected),
                    "{}: {name}",
                    case.name
                );
                *seen.entry(short.to_owned()).or_insert(0) += 1;
            }
            let releases = case.plan().releases.iter();
            let releases = releases.filter(|release| release.pools.contains(&pool.name.value));
            for release in releases {
                let values = serde_json::to_string(&release.values).unwrap();
                assert!(!values.contains("requests"), "{}: {values}", case.name);
                for daemon_set in &release.daemon_sets {
                    let short = daemon_set.trim_end_matches(&format!("-{}", pool.name));
                    counted.remove(short);
                    *seen.entry(short.to_owned()).or_insert(0) += 1;
                }
            }
            // eksctl installs this DaemonSet without a Helm release.
            counted.remove("efa-device-plugin");
            let charts = &cluster.config.charts;
            let overlaid = [&charts.dcgm_exporter, &charts.node_feature_discovery];
            let overlaid = overlaid.into_iter().flatten();
            assert!(
                counted.is_empty() || overlaid.count() > 0,
                "{}: the tree has no DaemonSet for {counted:?} of {}",
                case.name,
                pool.name
            );
        }
    }
    for name in ["gpuc-runtime", "nvidia-driver-installer", "dcgm-exporter"] {
        assert!(seen.contains_key(name), "no tree contains {name}: {seen:?}");
    }
}
