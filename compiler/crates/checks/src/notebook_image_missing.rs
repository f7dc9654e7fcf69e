//! A notebook with a GPU uses the chart's sample image.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::queries::notebooks_on_pools;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2143",
        name: "notebook-image-missing",
        severity: Severity::Warning,
        summary: "a notebook with a GPU uses the chart's sample image",
        checks: "Whether each notebook profile on a pool with GPUs has an image: its own, or the `image` of all
notebooks.",
        reason: "The chart's sample image contains Jupyter and little else: neither CUDA nor a framework. Nothing in
the notebook can use the GPU until the user installs both, at every start.",
        remedy: "Set `image` to an image with `jupyterhub-singleuser` and the framework that the users need.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
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
        correction: Correction::Replace("profiles:", r#"image: "registry.example.com/notebook:1.0.0"
    profiles:"#),
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
        let message = format!(
            "the image of notebook profile `{}` has no CUDA",
            profile.name
        );
        let help = "add `image` to the profile or to `jupyterHub`";
        report
            .diagnostic(&RULE.code, profile.name.span, message)
            .primary_label("`image` is not set: the default is the chart's sample image")
            .label(name.span, "this pool has GPUs")
            .help(help)
            .emit();
    }
}
