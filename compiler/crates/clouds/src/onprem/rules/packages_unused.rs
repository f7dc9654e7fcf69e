//! Package sources are set, but no script uses them.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::{host, section};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2810",
        name: "packages-unused",
        severity: Severity::Error,
        summary: "package sources are set, but no script uses them",
        checks: r"Whether a pool with GPUs has `driver: host`, if `cloud.onPrem.packages` is set. Whether NVIDIA's own CUDA
repository or Container Toolkit repository is used, if `proxy` is set.",
        reason: r"Only the scripts that prepare hosts install packages. The GPU Operator and hosts that were prepared by hand have
their own settings. The proxy is for NVIDIA's own repositories, and mirrors replace them.",
        remedy: r"Remove the key, or set `driver: host`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: lab, packages: {proxy: "http://proxy.acme.dev:3128"}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0", driver: preinstalled}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
"#,
        correction: Correction::Replace("driver: preinstalled", "driver: host"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(packages) = &section(cluster).packages else {
        return;
    };
    let is_unresolved = cluster.pools.iter().any(|pool| pool.gpus.is_unresolved());
    if !is_unresolved && !cluster.pools.iter().any(host::has_script) {
        report
            .diagnostic(&RULE.code, packages.span, "no script installs packages")
            .help("remove `packages`, or write `driver: host` in the `stack`")
            .emit();
        return;
    }
    if let (Some(_), Some(_), Some(proxy)) = (&packages.cuda, &packages.toolkit, &packages.proxy) {
        report
            .diagnostic(
                &RULE.code,
                proxy.span,
                "the proxy is not used: hosts reach mirrors without it",
            )
            .help("remove `proxy`")
            .emit();
    } else if packages.cuda.is_none() && packages.toolkit.is_none() && packages.proxy.is_none() {
        report
            .diagnostic(&RULE.code, packages.span, "`packages` has no keys")
            .help("remove `packages`")
            .emit();
    }
}
