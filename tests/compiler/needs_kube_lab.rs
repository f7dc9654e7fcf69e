//! Kubernetes' own code gives the results that the tests expect of the admission policies: the API server's compiler,
//! type checker and matcher, with cel-go, in the program `policy-check`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::admission::api_server::AdmissionResult;
use crate::admission::record::{FOLDER_VARIABLE, REQUESTS, Request};
use crate::corpus::cases;

/// The folder with `policy-check` and the other programs.
fn programs() -> PathBuf {
    PathBuf::from(
        std::env::var_os("GPUC_KUBE_LAB").expect("GPUC_KUBE_LAB is the folder of policy-check"),
    )
}

/// The report of `policy-check` for policies and requests. The exit status is 1 if a policy does not compile or an
/// expression fails, so the caller reads the report instead.
fn check(policies: &[&Path], requests: Option<&Path>) -> Value {
    let mut command = Command::new(programs().join("policy-check"));
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
