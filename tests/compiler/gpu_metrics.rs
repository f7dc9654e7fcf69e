//! The measured metrics of a pool depend on its exporter, and the checked images include those of notebooks.

use std::collections::{BTreeMap, BTreeSet};

use gpuc_model::plan::Plan;

use crate::monitoring::rules;
use crate::support::compile_text;

/// The alerts and recorded series of each pool of A30s: full GPUs, MIG devices, and MIG devices next to a full GPU.
fn alerts_and_series_by_pool(exporter: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mig_layout = "layout: [{profile: 1g.6gb, count: 4}]";
    let outcome = compile_text(&format!(
        "
apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {{name: demo}}
kubernetes: {{version: '1.36'}}
cloud: {{onPrem: {{context: demo}}}}
stack: {{runtimeImage: 'registry.example.com/gpuc-runtime:0.1.0'}}
monitoring: {{exporter: {exporter}, prometheus: {{existing: {{release: monitoring}}}}}}
nodePools:
  - {{name: whole, hosts: [a], nodes: {{count: 1}}, gpu: {{model: A30, perNode: 2}}}}
  - name: cut
    hosts: [b]
    nodes: {{count: 1}}
    gpu: {{model: A30, perNode: 2}}
    sharing: {{mig: {{strategy: mixed, perGpu: [{{{mig_layout}}}]}}}}
  - name: half
    hosts: [c]
    nodes: {{count: 1}}
    gpu: {{model: A30, perNode: 2}}
    sharing: {{mig: {{strategy: mixed, perGpu: [{{gpus: '0', {mig_layout}}}]}}}}
"
    ));
    let plan = outcome.compilations[0].plan.as_ref();
    let plan = plan.unwrap_or_else(|| panic!("{}", outcome.text()));
    let mut metrics: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for (pool, rule) in rules(plan) {
        let name = rule["alert"].as_str().or(rule["record"].as_str()).unwrap();
        let pool = pool.unwrap_or_default();
        metrics.entry(pool).or_default().insert(name.to_owned());
    }
    metrics
}

#[test]
fn idle_mig_devices_are_reported_if_measured() {
    let told_of = |exporter: &str, what: &str| {
        let metrics = alerts_and_series_by_pool(exporter);
        ["whole", "cut", "half"].map(|pool| metrics[pool].contains(what))
    };
    for what in ["GpuIdle", "gpuc:gpu_utilization_ratio"] {
        assert_eq!(told_of("dcgm", what), [true, true, true], "{what}");
        assert_eq!(told_of("gpuc", what), [true, false, true], "{what}");
    }
    assert_eq!(told_of("gpuc", "GpuMemoryNearlyFull"), [true, true, true]);
}

#[test]
fn dra_gpu_usage_is_attributed_to_pods() {
    let of = |stack: &str| {
        let outcome = compile_text(&format!(
            "
apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {{name: demo}}
kubernetes: {{version: '1.36'}}
cloud: {{onPrem: {{context: demo}}}}
stack: {{{stack}}}
monitoring: {{prometheus: {{existing: {{release: monitoring}}}}}}
nodePools: [{{name: gpu, hosts: [a], nodes: {{count: 1}}, gpu: {{model: A30, perNode: 2}}}}]
"
        ));
        let plan = outcome.compilations[0].plan.as_ref();
        let plan = plan.unwrap_or_else(|| panic!("{}", outcome.text()));
        let mut releases = plan.releases.iter();
        let exporter = releases.find(|it| it.name == "dcgm-exporter-gpu").unwrap();
        let values = serde_json::to_value(&exporter.values).unwrap();
        values["kubernetesDRA"]["enabled"] == true
    };
    assert!(of("allocation: dra"));
    assert!(!of("devicePlugin: nvidia"));
}

/// The alerts of a cluster with custom notebook images, or its findings.
fn alerts_with_notebook_image(more: &str) -> Result<Vec<String>, String> {
    let outcome = compile_text(&format!(
        "
apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {{name: demo}}
kubernetes: {{version: '1.36'}}
cloud: {{onPrem: {{context: demo}}}}
stack: {{devicePlugin: nvidia}}
charts: {{jupyterhub: {{values: {{hub: {{config: {{JupyterHub: {{authenticator_class: github}}}}}}}}}}}}
nodePools: [{{name: gpu, hosts: [a], nodes: {{count: 1}}, gpu: {{model: A30, perNode: 2}}}}]
notebooks: {{jupyterHub: {{profiles: [{{name: a, pool: gpu, image: 'r.example.com/n:1'}}]}}}}
{more}
"
    ));
    let images = |plan: &Plan| {
        plan.releases
            .iter()
            .flat_map(gpuc_compile::charts::images::release_images)
            .collect()
    };
    let plan = outcome.compilations[0].plan.as_ref().map(images);
    plan.filter(|_| outcome.findings.is_empty())
        .ok_or_else(|| outcome.text())
}

#[test]
fn notebook_images_are_checked() {
    let images = alerts_with_notebook_image("").unwrap();
    assert!(
        images.iter().any(|it| it == "r.example.com/n:1"),
        "{images:?}"
    );
    let digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    let pinned = format!("digests: {{'r.example.com/n:1': '{digest}'}}");
    let error = alerts_with_notebook_image(&pinned).unwrap_err();
    let help = format!("write `r.example.com/n:1@{digest}` there");
    assert!(error.contains(&help), "{error}");
}
