//! A new version of a service finds no room.

use gpuc_schema::config::{Deployment, Task, Workload};

use super::Rule;
use super::rolling::{Usual, needs_room};
use super::together::loads;
use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, GpuAsk};
use crate::node::Node;
use crate::placement::{Load, crowded, spent};
use crate::source::Span;

/// A new version of a service finds no room.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2209",
        name: "service-update-stuck",
        severity: Severity::Warning,
        summary: "a new version of a service finds no room",
        explain: "### What it checks

Whether a deployment that takes no old pod away before a new one is ready has room for one more pod:
within what its team may have, and on the nodes of its pools, beside all services of the file. By
Kubernetes' default a deployment of less than four pods does so; one with GPUs takes an old pod away
first, unless a `patch` says otherwise.

### Why it matters

The new pod is refused, or waits for ever, and so does the update: the old version goes on.

### What to do

Lay `spec.strategy.rollingUpdate: {maxSurge: 0, maxUnavailable: 1}` over it, or `type: Recreate`. Or leave
room for one more pod.
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
    hosts: [gpu-1, gpu-2]
    nodes: {count: 2}
teams:
  - {name: research, quota: {pods: 3}}
workloads:
  - {name: web, team: research, deployment: {image: "registry.example.com/web:1.0.0", replicas: 3}}
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
    hosts: [gpu-1, gpu-2]
    nodes: {count: 2}
teams:
  - {name: research, quota: {pods: 3}}
workloads:
  - name: web
    team: research
    deployment: {image: "registry.example.com/web:1.0.0", replicas: 3}
    patch: {spec: {strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let services = loads(cluster).into_iter().filter(|load| load.lasts);
    let services: Vec<_> = services.collect();
    for (index, load) in services.iter().enumerate() {
        let Some(workload) = load.workload else {
            continue;
        };
        let Some(Task::Deployment(it)) = workload.task() else {
            continue;
        };
        if !makes_more(workload, it) {
            continue;
        }
        let mut rolling = services.clone();
        for group in &mut rolling[index].groups {
            group.pods = group.pods.saturating_add(1);
        }
        let Some((place, why)) = full(cluster, &services, &rolling, index) else {
            continue;
        };
        let name = &workload.name;
        let message = format!("a new version of `{name}` finds no room beside the old one");
        let draft = report.draft(&RULE.code, name.span, message);
        let draft = draft.here("it takes no pod away before a new one is ready");
        draft
            .label(place, why)
            .help(
                "add `patch: {spec: {strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}}}` to it, or leave room \
                 for one more pod",
            )
            .emit();
    }
}

/// What has no room for one more pod of a service, where there is room for all without it.
fn full(
    cluster: &Cluster,
    services: &[Load<'_>],
    rolling: &[Load<'_>],
    index: usize,
) -> Option<(Span, String)> {
    let team = services[index].team;
    if let Some(team) = team.and_then(|name| cluster.team(name)) {
        let own = |loads: &[usize]| loads.contains(&index);
        let is_own = |load: &Load<'_>| load.team == Some(team.name.as_str());
        // Each with those of its team, and alone: what one alone asks for is no part of what several do.
        let several = (0..services.len()).filter(|other| is_own(&services[*other]));
        for group in [several.collect(), vec![index]] {
            let of = |loads: &[Load<'_>]| {
                let loads: Vec<_> = group.iter().map(|index| &loads[*index]).collect();
                let mut found = spent(cluster, team, &loads);
                for spent in &mut found {
                    spent.loads = spent.loads.iter().map(|index| group[*index]).collect();
                }
                found.retain(|spent| own(&spent.loads));
                found
            };
            if !of(services).is_empty() {
                return None;
            }
            if let Some(spent) = of(rolling).first() {
                let place = spent.places.first().copied().unwrap_or(team.name.span);
                let why = format!(
                    "the team's services need all of it: {}",
                    spent.what.words(spent.has)
                );
                return Some((place, why));
            }
        }
    }
    if !crowded(cluster, services).is_empty() {
        return None;
    }
    let crowds = crowded(cluster, rolling);
    let crowd = crowds.iter().find(|crowd| crowd.loads.contains(&index))?;
    let pool = crowd.pools.first()?;
    let why = "services need all of its nodes".to_owned();
    Some((pool.name.span, why))
}

/// Whether a deployment makes new pods before it takes old ones away.
fn makes_more(workload: &Workload, it: &Deployment) -> bool {
    let patch = Node::passed(&workload.patch);
    let spec = patch.get("spec");
    let strategy = spec.and_then(|spec| spec.get("strategy"));
    let pods = match &it.autoscaling {
        Some(scaling) => scaling.min.value,
        None => it.replicas.value,
    };
    // With GPUs, gpuc writes 0 and 1.
    let usual = if GpuAsk::of(Task::Deployment(it)).is_some() {
        Usual {
            surges: false,
            may_lack: true,
        }
    } else {
        Usual::of_kubernetes(pods.into())
    };
    needs_room(strategy, pods, &usual)
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;

    #[track_caller]
    fn check(quota: &str, workloads: &str, expected: &[&str]) {
        let yaml = format!(
            "
            cloud: {{aws: {{account: '123456789012', region: us-east-1, cluster: {{create: {{}}}}}}}}
            nodePools:
              - {{name: system, machine: m7i.xlarge, nodes: {{count: 2}}}}
              - {{name: gpu, machine: g6.xlarge, nodes: {{min: 1, max: 2}}}}
            teams: [{{name: t, quota: {{{quota}}}}}]
            workloads: [{workloads}]
            "
        );
        assert_eq!(messages(&yaml, "GPUC2209"), expected, "{quota} {workloads}");
    }

    fn service(name: &str, keys: &str, patch: &str) -> String {
        format!(
            "{{name: {name}, team: t, deployment: {{image: 'a:1', {keys}}}, patch: {{{patch}}}}}"
        )
    }

    #[test]
    fn a_new_pod_comes_before_an_old_one_goes() {
        let stuck =
            |name: &str| format!("a new version of `{name}` finds no room beside the old one");
        let a = stuck("a");
        let a = a.as_str();
        check("pods: 3", &service("a", "replicas: 3", ""), &[a]);
        check("pods: 4", &service("a", "replicas: 3", ""), &[]);
        // A quarter of four pods is one that may be away.
        check("pods: 4", &service("a", "replicas: 4", ""), &[]);
        let rolling = |keys: &str| format!("spec: {{strategy: {{rollingUpdate: {{{keys}}}}}}}");
        let none = rolling("maxSurge: 0, maxUnavailable: 1");
        check("pods: 3", &service("a", "replicas: 3", &none), &[]);
        let recreate = "spec: {strategy: {type: Recreate}}";
        check("pods: 3", &service("a", "replicas: 3", recreate), &[]);
        let half = rolling("maxUnavailable: 50%");
        check("pods: 3", &service("a", "replicas: 3", &half), &[]);
        let few = rolling("maxUnavailable: 10%");
        check("pods: 4", &service("a", "replicas: 4", &few), &[a]);
        let grows = "cpu: 1, autoscaling: {min: 2, max: 2}";
        check("pods: 2", &service("a", grows, ""), &[a]);
        // Half a core is given to a pod that says nothing.
        check("cpu: 1500m", &service("a", "replicas: 3", ""), &[a]);
        check("cpu: 2", &service("a", "replicas: 3", ""), &[]);
        // Together with others.
        let both = format!("{}, {}", service("a", "", ""), service("b", "", recreate));
        check("pods: 2", &both, &[a]);
        check("pods: 3", &both, &[]);
        // What does not fit at all is another finding.
        check("pods: 2", &service("a", "replicas: 3", ""), &[]);
    }

    #[test]
    fn gpus_are_given_up_first() {
        let quota = "gpus: [{pool: gpu, guaranteed: 2}]";
        check(quota, &service("a", "gpus: 1, replicas: 2", ""), &[]);
        let surge = "spec: {strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}}";
        let stuck = "a new version of `a` finds no room beside the old one";
        check(
            quota,
            &service("a", "gpus: 1, replicas: 2", surge),
            &[stuck],
        );
        check(quota, &service("a", "gpus: 1", surge), &[]);
        // The nodes have no more either.
        check("", &service("a", "gpus: 1, replicas: 2", surge), &[stuck]);
    }
}
