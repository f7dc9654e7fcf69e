//! The order in which Flux and Argo CD deploy whole clusters, on every cloud. The files in `golden/synced` are for
//! review.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;

use gpuc_model::plan::Delivery;
use serde_json::Value;

use crate::support::{compile_text, expect_files, repository};

/// One example for each cloud, with different device plugins.
const EXAMPLES: &[&str] = &[
    "aks-operator-mig",
    "eks-operator-h100",
    "gke-cloud-plugin",
    "on-prem-mps",
];

/// Additional components that depend on each other.
const OTHER_COMPONENTS: &str = "
charts: {kueue: {}, kubeflow-trainer: {}}
monitoring:
  dashboards: true
  prometheus: {install: {grafana: {adminSecret: grafana-admin}}}
";

#[test]
fn sync_waves_are_in_install_order() {
    let mut expected = BTreeMap::new();
    for name in EXAMPLES {
        let file = repository().join(format!("examples/{name}/gpu-cluster.yaml"));
        let example = fs::read_to_string(file).unwrap();
        for tool in ["flux", "argocd"] {
            let gitops = format!(
                "gitops: {{{tool}: {{repository: 'https://git.example.com/acme/gitops.git', branch: main, \
                 path: clusters/{name}}}}}"
            );
            let outcome = compile_text(&format!("{example}{OTHER_COMPONENTS}{gitops}\n"));
            let plan = outcome.compilations[0].plan.as_ref();
            let plan = plan.unwrap_or_else(|| panic!("{name}:\n{}", outcome.text()));
            let Delivery::Gitops { objects, .. } = &plan.delivery else {
                panic!("{name} is deployed by {tool}");
            };
            let objects = objects.iter();
            let objects = objects.map(|it| serde_json::to_value(&it.node).unwrap());
            let text: String = objects.filter_map(|it| wave_line(&it)).collect();
            expected.insert(format!("{name}-{tool}.txt"), text);
        }
    }
    expect_files("golden/synced", &expected);
}

/// An object's deliverables and its dependencies.
fn wave_line(object: &Value) -> Option<String> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
    let name = text("/metadata/name")?;
    let mut line = format!("{} {name}", text("/kind")?);
    match text("/kind")? {
        "Kustomization" => {
            write!(line, ": {}", text("/spec/path")?).unwrap();
            let after = object.pointer("/spec/dependsOn").and_then(Value::as_array);
            let after = after.into_iter().flatten();
            let after: Vec<_> = after.filter_map(|it| it["name"].as_str()).collect();
            if !after.is_empty() {
                write!(line, "\n  after {}", after.join(", ")).unwrap();
            }
        }
        "HelmRelease" => {
            let namespace = text("/spec/targetNamespace")?;
            write!(line, " into {namespace}").unwrap();
        }
        "OCIRepository" => {
            write!(line, ": {} {}", text("/spec/url")?, text("/spec/ref/tag")?).unwrap();
        }
        "HelmRepository" => write!(line, ": {}", text("/spec/url")?).unwrap(),
        "Application" => {
            let wave = text("/metadata/annotations/argocd.argoproj.io~1sync-wave");
            let what = text("/spec/source/path").or_else(|| text("/spec/source/chart"))?;
            let version = text("/spec/source/targetRevision")?;
            write!(line, ": {what} {version}").unwrap();
            if let Some(wave) = wave {
                write!(line, "\n  in wave {wave}").unwrap();
            }
        }
        _ => {}
    }
    Some(line + "\n")
}
