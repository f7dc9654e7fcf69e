//! A notebook does not fit on any node.

use gpuc_schema::config::{NotebookProfile, TaintEffect};

use gpuc_model::check::Rule;
use gpuc_model::scheduling::{Demand, Feasibility, check_pool};
use gpuc_model::{Cluster, Pool};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2192",
        name: "notebook-unschedulable",
        severity: Severity::Error,
        summary: "a notebook does not fit on any node",
        checks: "Whether the `cpu` and `memory` of each notebook profile fit on the nodes of its pool, or of any pool
if it names none.",
        reason: "Users would choose a notebook that stays pending indefinitely, and an autoscaler would not help.",
        remedy: "Request amounts that fit on a node, or name another pool.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
storage: {classes: [{name: gp3, volumes: {disk: {}}}], default: gp3}
nodePools:
  - {name: system, machine: m7i.xlarge, nodes: {count: 2}}
  - {name: gpu, machine: g6.4xlarge, nodes: {count: 2}}
notebooks:
  jupyterHub:
    image: "registry.example.com/notebook:1.0.0"
    secret: hub
    profiles:
      - {name: One L4, pool: gpu, cpu: 32}
charts: {jupyterhub: {values: {hub: {config: {JupyterHub: {authenticator_class: github}}}}}}
"#,
        correction: Correction::Replace("cpu: 32", "cpu: 12"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(hub) = cluster.jupyter_hub() else {
        return;
    };
    let pools = cluster.pools.iter();
    let is_unresolved = |it: &Pool| {
        it.advertised.is_unresolved() || it.gpus.is_unresolved() || it.nodes.is_unresolved()
    };
    if pools.clone().any(is_unresolved) {
        return;
    }
    for profile in &hub.profiles {
        let pool_name = profile.pool.as_ref();
        let pools = pools.clone();
        // A notebook that names no pool tolerates no taint.
        let has_untainted = pools.clone().any(is_untainted);
        let is_candidate = |pool: &&Pool| match pool_name {
            Some(name) => *name == pool.name,
            None => !has_untainted || is_untainted(pool),
        };
        let shortages: Vec<_> = pools
            .filter(is_candidate)
            .map(|pool| (pool, shortage(cluster, profile, pool)))
            .collect();
        if shortages.is_empty() || shortages.iter().any(|(_, shortage)| shortage.is_none()) {
            continue;
        }
        let name = &profile.name;
        let message = match pool_name {
            Some(pool) => format!("notebook `{name}` does not fit on pool `{pool}`"),
            None => format!("notebook `{name}` does not fit on any pool"),
        };
        let requested = profile.cpu.as_ref().or(profile.memory.as_ref());
        let span = requested.map_or(name.span, |it| it.span);
        let mut builder = report.diagnostic(&RULE.code, span, message);
        for (pool, shortage) in shortages {
            builder = builder.label(
                pool.name.span,
                format!("this pool {}", shortage.unwrap_or_default()),
            );
        }
        let help = "request less, or name another pool";
        builder.help(help).emit();
    }
}

/// Whether the pool has no taint that repels pods.
fn is_untainted(pool: &Pool) -> bool {
    let mut taints = pool.taints.iter();
    !taints.any(|taint| taint.effect != TaintEffect::PreferNoSchedule)
}

/// The reason why the nodes of a pool have too little CPU or memory for the notebook.
fn shortage(cluster: &Cluster, profile: &NotebookProfile, pool: &Pool) -> Option<String> {
    let demand = Demand::for_notebook(profile, pool);
    let evaluation = check_pool(&demand, cluster, pool);
    let mut reasons = evaluation.reasons.iter();
    let reason = reasons.find(|reason| reason.feasibility == Feasibility::DoesNotFit)?;
    Some(reason.to_string())
}

#[cfg(test)]
mod tests {
    use crate::testing::messages_with_id;

    #[test]
    fn profiles_too_large_for_the_nodes_are_found() {
        let check = |profile: &str, expected: &[&str]| {
            let yaml = format!(
                "
                cloud: {{aws: {{account: '123456789012', region: us-east-1, cluster: {{create: {{}}}}}}}}
                nodePools:
                  - {{name: system, machine: m7i.xlarge, nodes: {{count: 2}}}}
                  - {{name: gpu, machine: g6.4xlarge, nodes: {{count: 2}}}}
                notebooks: {{jupyterHub: {{profiles: [{{name: a, {profile}}}]}}}}
                "
            );
            assert_eq!(messages_with_id(&yaml, "GPUC2192"), expected, "{profile}");
        };
        let named = "notebook `a` does not fit on pool `gpu`";
        check("pool: gpu, cpu: 12, memory: 48Gi", &[]);
        check("pool: gpu, cpu: 32", &[named]);
        check("pool: gpu, memory: 1Ti", &[named]);
        check("pool: gpu", &[]);
        check("cpu: 12", &[]);
        check("cpu: 32", &["notebook `a` does not fit on any pool"]);
    }

    #[test]
    fn profile_without_a_pool_tolerates_no_taint() {
        let check = |cpu: u32, expected: &[&str]| {
            let yaml = format!(
                "
                cloud: {{aws: {{account: '123456789012', region: us-east-1, cluster: {{create: {{}}}}}}}}
                nodePools:
                  - {{name: system, machine: m7i.xlarge, nodes: {{count: 2}}}}
                  - name: gpu
                    machine: g6.4xlarge
                    nodes: {{count: 2}}
                    taints: [{{key: nvidia.com/gpu, value: present, effect: NoSchedule}}]
                notebooks: {{jupyterHub: {{profiles: [{{name: a, cpu: {cpu}}}]}}}}
                "
            );
            assert_eq!(messages_with_id(&yaml, "GPUC2192"), expected, "{cpu}");
        };
        check(2, &[]);
        check(12, &["notebook `a` does not fit on any pool"]);
    }
}
