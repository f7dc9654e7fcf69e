//! A notebook's profile does not say where it runs.

use gpuc_schema::config::NotebookProfile;

use super::Rule;
use super::words::one_of;
use crate::diag::words::nearest;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A notebook's profile does not say where it runs.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2140",
        name: "notebook-pool-missing",
        severity: Severity::Error,
        summary: "a notebook's profile does not say where it runs",
        explain: "### What it checks

Whether each profile of the notebooks names a pool that there is, where it names one; whether it
names one at all, where it asks for GPUs or slices; and whether it says anything but its name.

### Why it matters

What a GPU is called, which taints its nodes have and by which labels they are found follow from
the pool. People would choose a notebook that never starts.

### What to do

Write the name of one of the pools. A notebook without GPUs needs none: write `cpu` and `memory`.
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
    image: "registry.example.com/notebook:1.0.0"
    profiles:
      - {name: One A30, pool: gpus, gpus: 1}
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
    let Some(hub) = cluster.jupyter_hub() else {
        return;
    };
    for profile in &hub.profiles {
        look(cluster, profile, report);
    }
}

fn look(cluster: &Cluster, profile: &NotebookProfile, report: &mut Report) {
    let pools = cluster.pools.iter();
    let names: Vec<_> = pools.map(|pool| pool.name.as_str()).collect();
    if let Some(name) = &profile.pool {
        if cluster.pool(name).is_none() {
            let message = format!("no pool is called `{name}`");
            let mut draft = report.draft(&RULE.code, name.span, message);
            let meant = nearest(name, names.iter().copied()).and_then(|name| cluster.pool(name));
            if let Some(meant) = meant {
                draft = draft.label(meant.name.span, "the nearest name");
            }
            draft.help(one_of(&names)).emit();
        }
        return;
    }
    let gpus = profile.gpus.as_ref().map(|gpus| gpus.span);
    let slices = profile.profile.as_ref().map(|slice| slice.span);
    if let Some(span) = gpus.or(slices) {
        let message = format!("`{}` asks for GPUs of no pool", profile.name);
        let draft = report.draft(&RULE.code, span, message);
        let draft = draft.label(profile.name.span, "this profile has no `pool`");
        let pools = cluster.gpu_pools();
        let names: Vec<_> = pools.map(|(pool, _)| pool.name.as_str()).collect();
        let help = match names[..] {
            [] => "remove it: no pool has GPUs".to_owned(),
            _ => format!("add `pool`: {}", one_of(&names)),
        };
        draft.help(help).emit();
    } else if profile.cpu.is_none() && profile.memory.is_none() {
        let message = format!("`{}` says nothing of what a notebook gets", profile.name);
        let draft = report.draft(&RULE.code, profile.name.span, message);
        draft.help("add `pool`, or `cpu` and `memory`").emit();
    }
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;

    #[track_caller]
    fn check(profile: &str, expected: &[&str]) {
        let yaml = format!(
            "
            cloud: {{onPrem: {{context: demo}}}}
            nodePools:
              - {{name: gpu, gpu: {{model: A30, perNode: 2}}, hosts: [a], nodes: {{count: 1}}}}
            notebooks: {{jupyterHub: {{profiles: [{profile}]}}}}
            "
        );
        assert_eq!(messages(&yaml, "GPUC2140"), expected, "{profile}");
    }

    #[test]
    fn every_profile_says_where_it_runs() {
        check("{name: a, pool: gpu}", &[]);
        check("{name: a, cpu: 1}", &[]);
        check("{name: a, memory: 1Gi}", &[]);
        check("{name: a, pool: cpu}", &["no pool is called `cpu`"]);
        check("{name: a, gpus: 1}", &["`a` asks for GPUs of no pool"]);
        check(
            "{name: a, profile: 1g.6gb, cpu: 1}",
            &["`a` asks for GPUs of no pool"],
        );
        check("{name: a}", &["`a` says nothing of what a notebook gets"]);
    }
}
