//! A notebook profile does not name its pool.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::config::NotebookProfile;
use gpuc_syntax::diag::phrases::closest_match;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::messages::one_of_help;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2140",
        name: "notebook-pool-missing",
        severity: Severity::Error,
        summary: "a notebook profile does not name its pool",
        checks: "Whether each notebook profile names an existing pool, if it names one. Whether it names a pool if it
requests GPUs or MIG devices. Whether it sets anything but its name.",
        reason: "The resource name of a GPU, and the taints and labels of its nodes, follow from the pool. Users
would choose a notebook that never starts.",
        remedy: "Set `pool` to the name of one of the pools. A notebook without GPUs needs no pool: set `cpu` and
`memory`.",
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
    image: "registry.example.com/notebook:1.0.0"
    profiles:
      - {name: One A30, pool: gpus, gpus: 1}
charts: {jupyterhub: {values: {hub: {config: {JupyterHub: {authenticator_class: github}}}}}}
"#,
        correction: Correction::Replace("pool: gpus", "pool: gpu"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(hub) = cluster.jupyter_hub() else {
        return;
    };
    for profile in &hub.profiles {
        check_profile(cluster, profile, report);
    }
}

fn check_profile(cluster: &Cluster, profile: &NotebookProfile, report: &mut Report) {
    let pools = cluster.pools.iter();
    let names: Vec<_> = pools.map(|pool| pool.name.as_str()).collect();
    if let Some(name) = &profile.pool {
        if cluster.pool(name).is_none() {
            let message = format!("unknown pool `{name}`");
            let mut builder = report.diagnostic(&RULE.code, name.span, message);
            let similar =
                closest_match(name, names.iter().copied()).and_then(|name| cluster.pool(name));
            if let Some(similar) = similar {
                builder = builder.label(similar.name.span, "a pool with a similar name");
            }
            builder.help(one_of_help(&names)).emit();
        }
        return;
    }
    let gpus = profile.gpus.as_ref().map(|gpus| gpus.span);
    let profile_span = profile.profile.as_ref().map(|mig_profile| mig_profile.span);
    if let Some(span) = gpus.or(profile_span) {
        let message = format!(
            "notebook profile `{}` requests GPUs but names no pool",
            profile.name
        );
        let builder = report.diagnostic(&RULE.code, span, message);
        let builder = builder.label(profile.name.span, "this profile has no `pool`");
        let pools = cluster.gpu_pools();
        let names: Vec<_> = pools.map(|(pool, _)| pool.name.as_str()).collect();
        let help = match names[..] {
            [] => "remove this key: no pool has GPUs".to_owned(),
            _ => format!("add `pool`: {}", one_of_help(&names)),
        };
        builder.help(help).emit();
    } else if profile.cpu.is_none() && profile.memory.is_none() {
        let message = format!(
            "notebook profile `{}` sets neither a pool nor any resources",
            profile.name
        );
        report
            .diagnostic(&RULE.code, profile.name.span, message)
            .help("add `pool`, or `cpu` and `memory`")
            .emit();
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_in;

    #[track_caller]
    fn check(profile: &str, expected: &[&str]) {
        let file = "
            cloud: {onPrem: {context: demo}}
            nodePools:
              - {name: gpu, gpu: {model: A30, perNode: 2}, hosts: [a], nodes: {count: 1}}
            notebooks: {jupyterHub: {profiles: [<rest>]}}
            ";
        check_in(file, "GPUC2140", profile, expected);
    }

    #[test]
    fn profiles_without_a_pool_are_found() {
        check("{name: a, pool: gpu}", &[]);
        check("{name: a, cpu: 1}", &[]);
        check("{name: a, memory: 1Gi}", &[]);
        check("{name: a, pool: cpu}", &["unknown pool `cpu`"]);
        let no_pool = "notebook profile `a` requests GPUs but names no pool";
        check("{name: a, gpus: 1}", &[no_pool]);
        check("{name: a, profile: 1g.6gb, cpu: 1}", &[no_pool]);
        check(
            "{name: a}",
            &["notebook profile `a` sets neither a pool nor any resources"],
        );
    }
}
