//! Of `gpusPerContainer` there is only a warning.

use gpuc_schema::config::Guard;

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// Of `gpusPerContainer` there is only a warning.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2206",
        name: "container-gpus-warned",
        severity: Severity::Warning,
        summary: "nothing refuses a container with more than `gpusPerContainer`",
        explain: "### What it checks

Whether what holds `gpusPerContainer` of a team, where that is the policies of `admission`, refuses anything:
with `guard: warn`, which is the default, it does not, and in a namespace of `exempt` it does not look.

### Why it matters

Whoever asks for more than the team lets a container have is told so, and gets it.

### What to do

Write `guard: enforce`, and take the team's namespaces out of `exempt`. Where a warning is enough, name the
finding in `allow`.
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
    let Some(admission) = &cluster.written.admission else {
        return;
    };
    if cluster.ranges_hold_gpus() {
        return;
    }
    for team in &cluster.teams {
        let Some(most) = team.gpus_per_container() else {
            continue;
        };
        if admission.guard.value == Guard::Warn {
            let message = "of more than `gpusPerContainer` there is only a warning";
            let draft = report.draft(&RULE.code, most.span, message);
            let guard = admission.guard.span;
            let place = if guard.is_written() {
                guard
            } else {
                admission.span
            };
            let draft = draft.label(place, "the guard warns");
            draft.help("write `guard: enforce`").emit();
            continue;
        }
        let mut exempt = admission.exempt.iter();
        if let Some(exempt) = exempt.find(|name| team.namespaces.contains(name)) {
            let message = format!("nothing holds `gpusPerContainer` in namespace `{exempt}`");
            let draft = report.draft(&RULE.code, most.span, message);
            let draft = draft.label(exempt.span, "the guard does not look there");
            draft
                .help(format!("take `{exempt}` out of `exempt`"))
                .emit();
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;

    #[test]
    fn a_guard_that_refuses_everywhere_holds_it() {
        let warns = "of more than `gpusPerContainer` there is only a warning";
        let exempt = "nothing holds `gpusPerContainer` in namespace `t-dev`";
        for (queueing, admission, expected) in [
            ("kueue", "{}", &[warns][..]),
            ("kueue", "{guard: warn}", &[warns]),
            ("kueue", "{guard: warn, exempt: [t-dev]}", &[warns]),
            ("kueue", "{guard: enforce}", &[]),
            ("kueue", "{guard: enforce, exempt: [t-dev]}", &[exempt]),
            ("kueue", "{guard: enforce, exempt: [u]}", &[]),
            // There a LimitRange does.
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
