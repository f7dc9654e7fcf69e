//! A notebook with a GPU has the chart's sample image.

use super::Rule;
use super::places::notebooks_on_pools;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A notebook with a GPU has the chart's sample image.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2143",
        name: "notebook-image-missing",
        severity: Severity::Warning,
        summary: "a notebook with a GPU has the chart's sample image",
        explain: "### What it checks

Whether a profile on a pool with GPUs has an image, its own or that of all notebooks.

### Why it matters

The chart's sample image has Jupyter and little else: neither CUDA nor a framework. People get a
GPU that nothing in their notebook can use until they install it, each time anew.

### What to do

Write `image`: one with `jupyterhub-singleuser` and the framework that people use.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
notebooks:
  jupyterHub:
    profiles:
      - {name: One A30, pool: gpu, gpus: 1}
charts: {jupyterhub: {values: {hub: {config: {JupyterHub: {authenticator_class: github}}}}}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
notebooks:
  jupyterHub:
    image: "registry.example.com/notebook:1.0.0"
    profiles:
      - {name: One A30, pool: gpu, gpus: 1}
charts: {jupyterhub: {values: {hub: {config: {JupyterHub: {authenticator_class: github}}}}}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    if cluster.jupyter_hub().is_none_or(|hub| hub.image.is_some()) {
        return;
    }
    for (profile, name, pool) in notebooks_on_pools(cluster) {
        if profile.image.is_some() || !pool.has_gpus() {
            continue;
        }
        let message = format!("`{}` has an image without CUDA", profile.name);
        let draft = report.draft(&RULE.code, profile.name.span, message);
        let draft = draft.here("the chart's sample, for want of `image`");
        let draft = draft.label(name.span, "this pool has GPUs");
        let help = "add `image` to the profile or to `jupyterHub`";
        draft.help(help).emit();
    }
}
