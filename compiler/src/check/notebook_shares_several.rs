//! A notebook asks for several shares or slices.

use gpuc_schema::config::MigStrategy;

use super::Rule;
use super::places::notebooks_on_pools;
use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, Sharing};

/// A notebook asks for several shares or slices.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2142",
        name: "notebook-shares-several",
        severity: Severity::Error,
        summary: "a notebook asks for several shares or slices",
        explain: "### What it checks

Whether a profile asks for more than one share of a GPU, or for more than one MIG slice.

### Why it matters

Two shares are no more than one: they may be of the same GPU, and containers take turns on it all
the same; NVIDIA's plugin and gpuc-runtime refuse such a pod. A program that uses CUDA opens a
single slice, however many its container has.

### What to do

Write `gpus: 1`, and for more a larger slice, or a pool whose GPUs are not shared.
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
    sharing: {timeSlicing: {replicas: 4}}
notebooks:
  jupyterHub:
    image: "registry.example.com/notebook:1.0.0"
    profiles:
      - {name: Shares, pool: gpu, gpus: 2}
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
    sharing: {timeSlicing: {replicas: 4}}
notebooks:
  jupyterHub:
    image: "registry.example.com/notebook:1.0.0"
    profiles:
      - {name: A share, pool: gpu, gpus: 1}
charts: {jupyterhub: {values: {hub: {config: {JupyterHub: {authenticator_class: github}}}}}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for (profile, _, pool) in notebooks_on_pools(cluster) {
        let Some(gpus) = profile.gpus.as_ref().filter(|gpus| gpus.value > 1) else {
            continue;
        };
        let what = match pool.sharing.get() {
            Some(Sharing::TimeSlicing { .. } | Sharing::Mps { .. }) => "shares",
            Some(Sharing::Mig { strategy, .. })
                if strategy.value == MigStrategy::Single || profile.profile.is_some() =>
            {
                "slices"
            }
            _ => continue,
        };
        let message = format!("`{}` asks for {} {what} of a GPU", profile.name, gpus.value);
        let draft = report.draft(&RULE.code, gpus.span, message);
        let draft = draft.label(
            pool.written.sharing.span,
            format!("the GPUs are had in {what}"),
        );
        draft.help("write 1").replace(gpus.span, "1").emit();
    }
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;

    #[track_caller]
    fn check(sharing: &str, profile: &str, expected: &[&str]) {
        let yaml = format!(
            "
            cloud: {{onPrem: {{context: demo}}}}
            nodePools:
              - name: p
                gpu: {{model: A30, perNode: 2}}
                hosts: [a]
                nodes: {{count: 1}}
                sharing: {sharing}
            notebooks: {{jupyterHub: {{profiles: [{{name: a, pool: p, {profile}}}]}}}}
            "
        );
        assert_eq!(
            messages(&yaml, "GPUC2142"),
            expected,
            "{sharing}: {profile}"
        );
    }

    #[test]
    fn whole_gpus_may_be_several() {
        let shares = "`a` asks for 2 shares of a GPU";
        let slices = "`a` asks for 2 slices of a GPU";
        check("none", "gpus: 2", &[]);
        check("{mps: {replicas: 4}}", "gpus: 1", &[]);
        check("{mps: {replicas: 4}}", "gpus: 2", &[shares]);
        let layout = "perGpu: [{layout: [{profile: 1g.6gb, count: 4}]}]";
        let single = format!("{{mig: {{strategy: single, {layout}}}}}");
        check(&single, "gpus: 2", &[slices]);
        let mixed = format!("{{mig: {{strategy: mixed, {layout}}}}}");
        check(&mixed, "gpus: 2, profile: 1g.6gb", &[slices]);
        check(&mixed, "profile: 1g.6gb", &[]);
    }
}
