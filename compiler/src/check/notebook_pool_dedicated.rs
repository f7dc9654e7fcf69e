//! A notebook's profile names a pool that is for a team.

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A notebook's profile names a pool that is for a team.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2213",
        name: "notebook-pool-dedicated",
        severity: Severity::Warning,
        summary: "a notebook's profile names a pool that is for a team",
        explain: "### What it checks

Whether the pool of each profile of the notebooks is `dedicatedTo` a team.

### Why it matters

Everybody who logs in to the hub may choose any profile. The notebook tolerates the taint that keeps
others off the pool, and takes GPUs which the team counts on.

### What to do

Name another pool, or leave out `dedicatedTo` where notebooks may use it.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, gpu: {model: A30, perNode: 2}, hosts: [gpu-1], nodes: {count: 1}, dedicatedTo: research}
  - {name: desk, gpu: {model: L4, perNode: 2}, hosts: [gpu-2], nodes: {count: 1}}
teams:
  - {name: research}
notebooks:
  jupyterHub:
    image: "registry.example.com/notebook:1.0.0"
    profiles:
      - {name: One GPU, pool: gpu, gpus: 1}
charts: {jupyterhub: {values: {hub: {config: {JupyterHub: {authenticator_class: github}}}}}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, gpu: {model: A30, perNode: 2}, hosts: [gpu-1], nodes: {count: 1}, dedicatedTo: research}
  - {name: desk, gpu: {model: L4, perNode: 2}, hosts: [gpu-2], nodes: {count: 1}}
teams:
  - {name: research}
notebooks:
  jupyterHub:
    image: "registry.example.com/notebook:1.0.0"
    profiles:
      - {name: One GPU, pool: desk, gpus: 1}
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
        let Some(named) = &profile.pool else {
            continue;
        };
        let pool = cluster.pool(named);
        let whom = pool.and_then(|pool| pool.written.dedicated_to.as_ref());
        // What is dedicated to no team is reached by name alone.
        let Some(whom) = whom.filter(|whom| cluster.team(whom).is_some()) else {
            continue;
        };
        let name = &profile.name;
        let message =
            format!("everybody may choose notebook `{name}`, and pool `{named}` is for `{whom}`");
        let draft = report.draft(&RULE.code, named.span, message);
        let draft = draft.label(whom.span, "whom the pool is for");
        let help = "name another pool, or remove the pool's `dedicatedTo`";
        draft.help(help).emit();
    }
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;

    #[test]
    fn a_teams_pool_is_not_everybodys() {
        let check = |pool: &str, expected: &[&str]| {
            let yaml = format!(
                "
                cloud: {{onPrem: {{context: demo}}}}
                nodePools:
                  - {{name: team, gpu: {{model: A30, perNode: 2}}, hosts: [a], nodes: {{count: 1}}, dedicatedTo: t}}
                  - {{name: use, gpu: {{model: A30, perNode: 2}}, hosts: [b], nodes: {{count: 1}}, dedicatedTo: desks}}
                teams: [{{name: t}}]
                notebooks: {{jupyterHub: {{profiles: [{{name: a, pool: {pool}, gpus: 1}}]}}}}
                "
            );
            assert_eq!(messages(&yaml, "GPUC2213"), expected, "{pool}");
        };
        check("use", &[]);
        let theirs = "everybody may choose notebook `a`, and pool `team` is for `t`";
        check("team", &[theirs]);
    }
}
