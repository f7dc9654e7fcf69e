//! `gpuc diff --live` finds what differs from a tree.

use std::collections::BTreeSet;
use std::process::{Command, Output};
use std::sync::PoisonError;

use serde_json::{Value, json};

use super::{SERVER, apply, define_custom_resources, kubectl, namespace, variable};

/// A cluster whose tree is applied to the server.
struct Applied {
    example: &'static str,
    folder: tempfile::TempDir,
    /// The folders that are applied one by one, as by a GitOps controller.
    folders: Vec<String>,
}

impl Applied {
    fn new(example: &'static str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("gpu-cluster.yaml");
        std::fs::copy(crate::support::repository().join(example), &file).unwrap();
        let mut applied = Self {
            example,
            folder,
            folders: Vec::new(),
        };
        applied.gpuc(&["build"]);
        let clusters = applied.folder.path().join("clusters");
        let tree = std::fs::read_dir(clusters).unwrap().next().unwrap();
        let tree = tree.unwrap().path();
        let files = crate::support::files_below(&tree);
        let lines = files.values().flat_map(|text| text.lines());
        let used = lines.filter_map(|it| it.strip_prefix("  namespace: "));
        let used: BTreeSet<&str> = used.collect();
        let used: Vec<Value> = used.into_iter().map(namespace).collect();
        apply(&used).unwrap();
        let paths = files.keys();
        let folders = paths.filter_map(|path| path.strip_suffix("/kustomization.yaml"));
        let roots = ["manifests", "flux", "argocd"];
        let folders = folders.filter(|it| roots.iter().any(|root| it.starts_with(root)));
        let folders = folders.map(|it| format!("--kustomize={}", tree.join(it).display()));
        applied.folders = folders.collect();
        for folder in &applied.folders {
            // Objects whose namespace is created in the same run fail the first time.
            for _ in 0..2 {
                let _ = kubectl(&["apply", "--server-side", "--force-conflicts", folder], "");
            }
        }
        applied
    }

    fn run(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_gpuc"))
            .args(arguments)
            .current_dir(self.folder.path())
            .env("KUBECONFIG", variable("GPUC_KUBECONFIG"))
            .output()
            .unwrap()
    }

    fn gpuc(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{}: {errors}", self.example);
        String::from_utf8(output.stdout).unwrap()
    }

    /// The differences between the tree and the server.
    fn diff(&self) -> Value {
        // The context in the example's file is not in the kubeconfig.
        let (context, _) = kubectl(&["config", "current-context"], "").unwrap();
        let live = ["diff", "--live", "--no-cloud", "--format=json", "--context"];
        let text = self.gpuc(&[&live[..], &[context.trim()]].concat());
        let json: Value = serde_json::from_str(&text).unwrap();
        json["clusters"][0].clone()
    }

    fn delete(&self) {
        // Argo CD removes this finalizer, and does not run here.
        let finalizers = r#"{"metadata": {"finalizers": null}}"#;
        let arguments = [
            "get",
            "applications.argoproj.io",
            "--all-namespaces",
            "--output=json",
        ];
        let applications = kubectl(&arguments, "")
            .map(|(text, _)| text)
            .unwrap_or_default();
        let applications: Value = serde_json::from_str(&applications).unwrap_or_default();
        for application in applications["items"].as_array().into_iter().flatten() {
            let metadata = &application["metadata"];
            let name = format!("application/{}", metadata["name"].as_str().unwrap());
            let namespace = format!("--namespace={}", metadata["namespace"].as_str().unwrap());
            let patch = format!("--patch={finalizers}");
            kubectl(&["patch", &name, &namespace, "--type=merge", &patch], "").unwrap();
        }
        for folder in self.folders.iter().rev() {
            let _ = kubectl(
                &["delete", "--wait=false", "--ignore-not-found", folder],
                "",
            );
        }
    }
}

/// The kinds and names of the changed objects.
fn changed_objects(found: &Value) -> BTreeSet<(String, String)> {
    let list = found["changes"].as_array().unwrap().iter();
    let named = list.flat_map(|change| {
        let kind = change["kind"].as_str().unwrap();
        let is_removed = change["status"] == "removed";
        let names = change["names"].as_array().unwrap().iter();
        let names = names.map(|name| name.as_str().unwrap());
        // Releases are not installed, and other tests leave objects.
        let own = names.filter(move |name| !is_removed || *name == "gpuc-drift");
        own.map(move |name| (kind.to_owned(), name.to_owned()))
    });
    named.filter(|(kind, _)| kind != "Helm release").collect()
}

#[test]
#[ignore = "needs GPUC_KUBECONFIG: a real API server"]
fn needs_api_server_drift_is_found() {
    let _server = SERVER.lock().unwrap_or_else(PoisonError::into_inner);
    define_custom_resources();
    for example in [
        "examples/eks-queues/gpu-cluster.yaml",
        "examples/eks-flux/gpu-cluster.yaml",
        "examples/on-prem-mps/gpu-cluster.yaml",
        "tests/compiler/rich/argocd.yaml",
    ] {
        let cluster = Applied::new(example);
        let found = cluster.diff();
        let none = BTreeSet::new();
        assert_eq!(changed_objects(&found), none, "{example}: {found:#}");
        let notes = &found["live"];
        assert!(notes["compared"].as_u64() > Some(9), "{example}: {notes:#}");
        for part in ["conflicts", "missingKinds", "rejected"] {
            assert!(notes[part].is_null(), "{example}: {notes:#}");
        }

        // One object is edited, one is deleted, and one is in the cluster only.
        let patch = r#"{"metadata": {"labels": {"app.kubernetes.io/managed-by": "me"}}}"#;
        let patch = format!("--patch={patch}");
        let arguments = ["patch", "namespace", "gpuc-system", "--type=merge", &patch];
        kubectl(&arguments, "").unwrap();
        kubectl(&["delete", "clusterrole", "gpuc-runtime"], "").unwrap();
        let leftover = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": {"name": "gpuc-drift", "labels": {"app.kubernetes.io/managed-by": "gpuc"}},
            "rules": [],
        });
        kubectl(&["create", "--filename=-"], &leftover.to_string()).unwrap();
        let found = cluster.diff();
        let named = |kind: &str, name: &str| (kind.to_owned(), name.to_owned());
        let expected: BTreeSet<_> = [
            named("ClusterRole", "gpuc-drift"),
            named("ClusterRole", "gpuc-runtime"),
            named("Namespace", "gpuc-system"),
        ]
        .into();
        assert_eq!(changed_objects(&found), expected, "{example}: {found:#}");
        let conflict = &found["live"]["conflicts"][0];
        assert_eq!(conflict["object"], "Namespace gpuc-system");
        assert_eq!(conflict["manager"], "kubectl-patch");
        // Nothing was written: the second answer is the first one.
        assert_eq!(cluster.diff(), found, "{example}");
        cluster.delete();
        kubectl(&["delete", "clusterrole", "gpuc-drift"], "").unwrap();
    }
}

#[test]
#[ignore = "needs GPUC_KUBECONFIG: a real API server"]
fn needs_api_server_another_cluster_is_refused() {
    let _server = SERVER.lock().unwrap_or_else(PoisonError::into_inner);
    define_custom_resources();
    let cluster = Applied::new("examples/eks-queues/gpu-cluster.yaml");
    let node = json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": "gpuc-other"},
        "spec": {"providerID": "gce://project/us-east1-b/gpuc-other"},
    });
    apply(&[node]).unwrap();
    let output = cluster.run(&["diff", "--live", "--no-cloud"]);
    kubectl(&["delete", "node", "gpuc-other"], "").unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{errors}");
    let reason =
        "is not the cluster of the file: the node `gpuc-other` is a machine of Google Cloud";
    assert!(errors.contains(reason), "{errors}");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "");
    cluster.delete();
}
