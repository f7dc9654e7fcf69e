//! The admission policy and `gpuc check --manifests` agree.

use gpuc_syntax::diag::{Severity, split_example};
use serde::Deserialize;
use serde_json::Value;

use super::server_for;
use crate::admission::api_server::{AdmissionResult, ApiServer};
use crate::support::{files_below, repository};

/// The rules that an admission policy can check, because they need only one pod and the pools.
pub(super) const SHARED_RULES: &[&str] = &[
    "manifest-resource-unknown",
    "manifest-request-too-large",
    "manifest-multiple-replicas",
    "manifest-multiple-mig-devices",
    "manifest-toleration-missing",
    "manifest-toleration-useless",
    "manifest-implicit-gpu-access",
    "manifest-visible-devices-set",
    "manifest-host-devices",
    "manifest-node-name-set",
];

fn enforced_server(cluster: &str) -> ApiServer {
    server_for(&format!("{cluster}\nadmission: {{guard: enforce}}\n"))
}

/// The results for every object of a manifest, in a namespace to which the policies apply.
fn results_of(server: &ApiServer, manifest: &str) -> Vec<AdmissionResult> {
    let documents = serde_yaml::Deserializer::from_str(manifest);
    let objects = documents.map(|it| Value::deserialize(it).unwrap());
    let of_team: &[_] = &[("gpuc.dev/team", "research")];
    let objects = objects.filter(|it| it["apiVersion"].is_string() && it["kind"].is_string());
    objects
        .flat_map(|object| {
            let namespace = object["metadata"]["namespace"].as_str();
            server.admit_create(&object, (namespace.unwrap_or("default"), of_team))
        })
        .collect()
}

#[test]
fn policy_and_check_agree() {
    let mut seen = Vec::new();
    for code in gpuc::codes() {
        let (cluster, Some(bad)) = split_example(code.bad) else {
            continue;
        };
        let server = enforced_server(cluster);
        let found = results_of(&server, bad);
        let is_refused = |it: &AdmissionResult| matches!(it, AdmissionResult::Denied(_));
        if SHARED_RULES.contains(&code.name) {
            let is_error = code.severity == Severity::Error;
            assert!(!found.is_empty(), "{}: no finding", code.name);
            for it in &found {
                assert_eq!(is_refused(it), is_error, "{}: {it:?}", code.name);
            }
            seen.push(code.name);
        } else if code.severity == Severity::Warning {
            assert!(!found.iter().any(is_refused), "{}: {found:?}", code.name);
        }
        let fixed = code.good();
        let (cluster, good) = split_example(&fixed);
        let found = results_of(&enforced_server(cluster), good.unwrap());
        assert_eq!(found, [], "{}, fixed", code.name);
    }
    seen.sort_unstable();
    let mut both = SHARED_RULES.to_vec();
    both.sort_unstable();
    assert_eq!(seen, both);
}

#[test]
fn good_manifests_are_allowed() {
    let folder = repository().join("tests/compiler/manifests");
    let clusters = files_below(&folder.join("clusters"));
    let server = enforced_server(&clusters["lab.yaml"]);
    // A file whose name begins with the name of another cluster belongs to that cluster.
    let mut files = files_below(&folder.join("good"));
    let end = |path: &str| path.find(['-', '.']).unwrap_or(path.len());
    files.retain(|path, _| !clusters.contains_key(&format!("{}.yaml", &path[..end(path)])));
    assert!(!files.is_empty());
    for (path, text) in files {
        assert_eq!(results_of(&server, &text), [], "{path}");
    }
}
