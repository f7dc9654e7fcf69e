//! The guard only warns about containers that exceed `gpusPerContainer`.

use gpuc_schema::config::Guard;

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Report, Severity};

/// The guard only warns about containers that exceed `gpusPerContainer`.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2206",
        name: "container-gpus-warned",
        severity: Severity::Warning,
        summary: "containers that exceed `gpusPerContainer` are not rejected",
        explain: "### What it checks

Whether the policies of `admission` reject containers that exceed `gpusPerContainer`, if only these
policies enforce it. With `guard: warn`, the default, they only warn. In a namespace of `exempt`
they do not apply.

### Why it matters

A container that exceeds the maximum of its team gets at most a warning, and runs.

### How to fix it

Write `guard: enforce`, and remove the team's namespaces from `exempt`. If a warning is enough, add
the name of this finding to `allow`.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 4}
    hosts: [gpu-1, gpu-2]
    nodes: {count: 2}
queueing: kueue
teams:
  - {name: research, limits: {gpusPerContainer: 2}, quota: {gpus: [{pool: gpu, guaranteed: 4}]}}
admission: {guard: warn}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 4}
    hosts: [gpu-1, gpu-2]
    nodes: {count: 2}
queueing: kueue
teams:
  - {name: research, limits: {gpusPerContainer: 2}, quota: {gpus: [{pool: gpu, guaranteed: 4}]}}
admission: {guard: enforce}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(admission) = &cluster.config.admission else {
        return;
    };
    if cluster.ranges_hold_gpus() {
        return;
    }
    for team in &cluster.teams {
        let Some(max) = team.gpus_per_container() else {
            continue;
        };
        if admission.guard.value == Guard::Warn {
            let message = "the guard only warns about containers that exceed `gpusPerContainer`";
            let builder = report.diagnostic(&RULE.code, max.span, message);
            let guard = admission.guard.span;
            let span = if guard.is_written() {
                guard
            } else {
                admission.span
            };
            let builder = builder.label(span, "the guard only warns");
            builder.help("write `guard: enforce`").emit();
            continue;
        }
        let mut exempt = admission.exempt.iter();
        if let Some(exempt) = exempt.find(|name| team.namespaces.contains(name)) {
            let message = format!("`gpusPerContainer` is not enforced in namespace `{exempt}`");
            report
                .diagnostic(&RULE.code, max.span, message)
                .label(exempt.span, "the guard exempts this namespace")
                .help(format!("remove `{exempt}` from `exempt`"))
                .emit();
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::messages;

    #[test]
    fn an_enforcing_guard_without_exemptions_passes() {
        let warns = "the guard only warns about containers that exceed `gpusPerContainer`";
        let exempt = "`gpusPerContainer` is not enforced in namespace `t-dev`";
        for (queueing, admission, expected) in [
            ("kueue", "{}", &[warns][..]),
            ("kueue", "{guard: warn}", &[warns]),
            ("kueue", "{guard: warn, exempt: [t-dev]}", &[warns]),
            ("kueue", "{guard: enforce}", &[]),
            ("kueue", "{guard: enforce, exempt: [t-dev]}", &[exempt]),
            ("kueue", "{guard: enforce, exempt: [u]}", &[]),
            // Without queues a LimitRange enforces it.
            ("none", "{guard: warn}", &[]),
            ("none", "{guard: enforce, exempt: [t-dev]}", &[]),
        ] {
            let yaml = format!(
                "
                cloud: {{onPrem: {{context: demo}}}}
                nodePools: [{{name: gpu, gpu: {{model: A30, perNode: 2}}, hosts: [a], nodes: {{count: 1}}}}]
                teams: [{{name: t, namespaces: [t, t-dev], limits: {{gpusPerContainer: 1}}}}, {{name: u}}]
                queueing: {queueing}
                admission: {admission}
                "
            );
            assert_eq!(
                messages(&yaml, "GPUC2206"),
                expected,
                "{queueing} {admission}"
            );
        }
    }
}
