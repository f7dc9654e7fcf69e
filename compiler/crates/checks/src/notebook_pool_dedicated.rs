//! A notebook profile names a pool that is dedicated to a team.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2213",
        name: "notebook-pool-dedicated",
        severity: Severity::Warning,
        summary: "a notebook profile names a pool that is dedicated to a team",
        checks: "Whether the pool of a notebook profile is `dedicatedTo` a team.",
        reason: "Every user of the hub can choose any profile. The notebook tolerates the taint that keeps other pods
off the pool, and takes GPUs that the team relies on.",
        remedy: "Name another pool, or remove `dedicatedTo` if notebooks may use the pool.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
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
        correction: Correction::Replace("pool: gpu", "pool: desk"),
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
        let dedicated_to = pool.and_then(|pool| pool.settings.dedicated_to.as_ref());
        // A pool that is dedicated to a use, and not to a team, is open to every pod that names it.
        let Some(team) = dedicated_to.filter(|team| cluster.team(team).is_some()) else {
            continue;
        };
        let name = &profile.name;
        let message = format!(
            "notebook profile `{name}` opens pool `{named}` of team `{team}` to every user"
        );
        let help = "name another pool, or remove the pool's `dedicatedTo`";
        report
            .diagnostic(&RULE.code, named.span, message)
            .label(team.span, "the pool is dedicated to this team")
            .help(help)
            .emit();
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::messages_with_id;

    #[test]
    fn pool_dedicated_to_a_team_is_found() {
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
            assert_eq!(messages_with_id(&yaml, "GPUC2213"), expected, "{pool}");
        };
        check("use", &[]);
        let dedicated = "notebook profile `a` opens pool `team` of team `t` to every user";
        check("team", &[dedicated]);
    }
}
