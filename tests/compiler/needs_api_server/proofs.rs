//! `gpuc prove`: the API server accepts the objects of proofs, and gpuc deletes them.

use std::collections::BTreeSet;
use std::process::{Child, Command, Stdio};
use std::sync::PoisonError;

use serde_json::{Value, json};

use super::{SERVER, apply, kubectl, namespace, variable};
use crate::corpus::{Case, cases};

/// The names of the pools with GPUs of an example.
fn gpu_pools(case: &Case) -> Vec<String> {
    let pools = case.cluster().gpu_pools();
    pools.map(|(pool, _)| pool.name.value.clone()).collect()
}

#[test]
#[ignore = "needs GPUC_KUBECONFIG: a real API server"]
fn needs_api_server_proofs_are_accepted() {
    let _server = SERVER.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gpu-cluster.yaml");
    let mut accepted = BTreeSet::new();
    for case in cases() {
        if !case.name.starts_with("examples/") {
            continue;
        }
        let path = crate::support::repository().join(&case.name);
        for pool in gpu_pools(case) {
            for property in [
                &["--fabric"][..],
                &["--gpu=cuda"],
                &["--gpu=2", "--nodes=1"],
            ] {
                let output = Command::new(env!("CARGO_BIN_EXE_gpuc"))
                    .args(["prove", &pool])
                    .arg(&path)
                    .args(property)
                    .args(["--cluster", &case.cluster().name])
                    .output()
                    .unwrap();
                if !output.status.success() {
                    continue;
                }
                std::fs::write(&file, &output.stdout).unwrap();
                let name = format!("prove-{pool}");
                apply(&[namespace(&name)]).unwrap();
                let filename = format!("--filename={}", file.display());
                let arguments = [
                    "apply",
                    "--server-side",
                    "--validate=strict",
                    "--force-conflicts",
                ];
                let arguments = [&arguments[..], &["--dry-run=server", &filename]].concat();
                let (_, warnings) = kubectl(&arguments, "")
                    .unwrap_or_else(|error| panic!("{} {pool} {property:?}: {error}", case.name));
                assert_eq!(warnings, "", "{} {pool} {property:?}", case.name);
                accepted.insert((case.name.clone(), pool.clone(), property[0]));
            }
        }
    }
    for property in ["--fabric", "--gpu=cuda", "--gpu=2"] {
        let count = accepted.iter().filter(|(.., it)| *it == property).count();
        assert!(count > 4, "{property}: {accepted:?}");
    }
}

/// A run of `gpuc prove --apply`, and the name of its Job.
struct Proof {
    gpuc: Child,
    job: String,
}

impl Proof {
    /// Starts a proof of the pool `infer`, and waits for its Job.
    fn start() -> Self {
        let _ = kubectl(&["delete", "namespace", "prove-infer", "--wait=false"], "");
        let _ = kubectl(&["delete", "jobs", "--all", "--namespace=prove-infer"], "");
        let example = crate::support::repository().join("examples/quickstart/gpu-cluster.yaml");
        let (context, _) = kubectl(&["config", "current-context"], "").unwrap();
        let mut gpuc = Command::new(env!("CARGO_BIN_EXE_gpuc"))
            .args(["prove", "infer"])
            .arg(example)
            .args(["--gpu=cuda", "--apply", "--context", context.trim()])
            .env("KUBECONFIG", variable("GPUC_KUBECONFIG"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let list = ["--namespace=prove-infer", "get", "jobs", "--output=json"];
        loop {
            let found = kubectl(&list, "").map(|(text, _)| text).unwrap_or_default();
            let found: Value = serde_json::from_str(&found).unwrap_or_default();
            if let Some(name) = found["items"][0]["metadata"]["name"].as_str() {
                let job = name.to_owned();
                return Self { gpuc, job };
            }
            assert!(gpuc.try_wait().unwrap().is_none(), "gpuc ended early");
            std::thread::sleep(std::time::Duration::from_millis(200));
        }
    }

    /// Waits for the end. Returns the exit code, the output and the messages.
    fn end(self) -> (Option<i32>, String, String) {
        let output = self.gpuc.wait_with_output().unwrap();
        // Without its controller, the namespace stays in deletion or is gone.
        let found = kubectl(&["get", "namespace", "prove-infer", "--output=json"], "");
        if let Ok((found, _)) = found {
            let found: Value = serde_json::from_str(&found).unwrap();
            let deleted = &found["metadata"]["deletionTimestamp"];
            assert!(deleted.is_string(), "{found}");
        }
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (
            output.status.code(),
            text(output.stdout),
            text(output.stderr),
        )
    }
}

/// The server has no Job controller: the test ends the Job.
#[test]
#[ignore = "needs GPUC_KUBECONFIG: a real API server"]
fn needs_api_server_a_proof_runs_and_is_deleted() {
    let _server = SERVER.lock().unwrap_or_else(PoisonError::into_inner);
    let proof = Proof::start();
    let time = "2026-11-28T00:00:00Z";
    let condition = |kind: &str| {
        json!({"type": kind, "status": "True", "reason": "Test",
        "message": "", "lastProbeTime": time, "lastTransitionTime": time})
    };
    let status = json!({"status": {"startTime": time,
        "conditions": [condition("FailureTarget"), condition("Failed")]}});
    let patch = format!("--patch={status}");
    let arguments = ["--namespace=prove-infer", "patch", "job", &proof.job];
    let more = ["--subresource=status", "--type=merge", &patch];
    kubectl(&[&arguments[..], &more].concat(), "").unwrap();
    let (code, text, errors) = proof.end();
    assert_eq!(code, Some(1), "{errors}");
    assert!(text.contains("error[empty-log]"), "{text}");
    assert!(errors.contains("the Job failed: Test"), "{errors}");
    assert!(
        errors.contains("in the namespace `prove-infer`"),
        "{errors}"
    );
}

#[test]
#[ignore = "needs GPUC_KUBECONFIG: a real API server"]
fn needs_api_server_a_terminated_proof_is_deleted() {
    let _server = SERVER.lock().unwrap_or_else(PoisonError::into_inner);
    for signal in ["-TERM", "-HUP", "-INT"] {
        let proof = Proof::start();
        let id = proof.gpuc.id().to_string();
        assert!(
            Command::new("kill")
                .args([signal, &id])
                .status()
                .unwrap()
                .success()
        );
        let (code, _, errors) = proof.end();
        assert_eq!(code, Some(3), "{signal}: {errors}");
        assert!(errors.contains("interrupted"), "{signal}: {errors}");
        wait_for_deletion();
    }
}

/// The namespace must not exist for the next run; no controller finalizes it.
fn wait_for_deletion() {
    let finalize = r#"{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "prove-infer"},
        "spec": {"finalizers": []}}"#;
    let path = "--raw=/api/v1/namespaces/prove-infer/finalize";
    let _ = kubectl(&["delete", "jobs", "--all", "--namespace=prove-infer"], "");
    let _ = kubectl(&["replace", path, "--filename=-"], finalize);
    let found = kubectl(&["get", "namespace", "prove-infer"], "");
    assert!(found.is_err(), "{found:?}");
}
