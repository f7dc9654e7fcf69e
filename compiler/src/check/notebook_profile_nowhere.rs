//! No node holds a notebook.

use gpuc_schema::config::{NotebookProfile, TaintEffect};

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, Pool};
use crate::placement::{Answer, Demand, verdict};

/// No node holds a notebook.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2192",
        name: "notebook-profile-nowhere",
        severity: Severity::Error,
        summary: "no node holds a notebook",
        explain: "### What it checks

The `cpu` and `memory` of each profile of the notebooks against the nodes of its pool, or of every pool
where it names none.

### Why it matters

People would choose a notebook that waits for ever, and an autoscaler would not help.

### What to do

Ask for what a node has, or name another pool.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
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
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
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
      - {name: One L4, pool: gpu, cpu: 12}
charts: {jupyterhub: {values: {hub: {config: {JupyterHub: {authenticator_class: github}}}}}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(hub) = cluster.jupyter_hub() else {
        return;
    };
    let pools = cluster.pools.iter();
    let is_unclear = |it: &Pool| it.offers.is_hole() || it.gpus.is_hole() || it.nodes.is_hole();
    if pools.clone().any(is_unclear) {
        return;
    }
    for profile in &hub.profiles {
        let named = profile.pool.as_ref();
        let pools = pools.clone();
        // Without a pool a notebook tolerates no taint.
        let has_open = pools.clone().any(is_open);
        let may_hold = |pool: &&Pool| match named {
            Some(name) => *name == pool.name,
            None => !has_open || is_open(pool),
        };
        let pools = pools.filter(may_hold);
        let lacks: Vec<_> = pools
            .map(|pool| (pool, lack(cluster, profile, pool)))
            .collect();
        if lacks.is_empty() || lacks.iter().any(|(_, lack)| lack.is_none()) {
            continue;
        }
        let name = &profile.name;
        let message = match named {
            Some(pool) => format!("pool `{pool}` does not hold notebook `{name}`"),
            None => format!("no pool holds notebook `{name}`"),
        };
        let asked = profile.cpu.as_ref().or(profile.memory.as_ref());
        let span = asked.map_or(name.span, |it| it.span);
        let mut draft = report.draft(&RULE.code, span, message);
        for (pool, lack) in lacks {
            draft = draft.label(pool.name.span, format!("it {}", lack.unwrap_or_default()));
        }
        let help = "ask for what a node has, or name another pool";
        draft.help(help).emit();
    }
}

/// Whether no taint keeps pods away from a pool.
fn is_open(pool: &Pool) -> bool {
    let mut taints = pool.taints.iter();
    !taints.any(|taint| taint.effect != TaintEffect::PreferNoSchedule)
}

/// What the nodes of a pool lack of CPU and memory.
fn lack(cluster: &Cluster, profile: &NotebookProfile, pool: &Pool) -> Option<String> {
    let demand = Demand::of_notebook(profile, pool);
    let verdict = verdict(&demand, cluster, pool);
    let mut reasons = verdict.reasons.iter();
    let reason = reasons.find(|reason| reason.answer == Answer::No)?;
    Some(reason.to_string())
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;

    #[test]
    fn profiles_are_held_against_nodes() {
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
            assert_eq!(messages(&yaml, "GPUC2192"), expected, "{profile}");
        };
        let named = "pool `gpu` does not hold notebook `a`";
        check("pool: gpu, cpu: 12, memory: 48Gi", &[]);
        check("pool: gpu, cpu: 32", &[named]);
        check("pool: gpu, memory: 1Ti", &[named]);
        check("pool: gpu", &[]);
        check("cpu: 12", &[]);
        check("cpu: 32", &["no pool holds notebook `a`"]);
    }

    #[test]
    fn without_a_pool_no_taint_is_tolerated() {
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
            assert_eq!(messages(&yaml, "GPUC2192"), expected, "{cpu}");
        };
        check(2, &[]);
        check(12, &["no pool holds notebook `a`"]);
    }
}
