//! A rolling update of a service has no free capacity.

use gpuc_schema::config::{Deployment, Task, Workload};

use gpuc_kubernetes::rolling_update::{RollingUpdateDefaults, needs_extra_capacity};
use gpuc_model::check::Rule;
use gpuc_model::scheduling::contention::running_workloads;
use gpuc_model::scheduling::{RunningWorkload, exceeded_quotas, find_over_capacity};
use gpuc_model::{Cluster, PodGpuRequest};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};
use gpuc_syntax::node::Node;
use gpuc_syntax::source::Span;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2209",
        name: "service-update-stuck",
        severity: Severity::Warning,
        summary: "a rolling update of a service has no free capacity",
        checks: "Whether there is free capacity for one more pod of a deployment whose rolling update creates a new
pod before it deletes an old one. The pod must fit into the team's quota and on the nodes of its
pools, in addition to all services of the file. By default Kubernetes does this for a deployment of
less than four pods. For deployments with GPUs, gpuc configures the update to delete an old pod
first, unless a `patch` overrides it.",
        reason: "The new pod is rejected or stays pending indefinitely. The update does not complete, and the old
version keeps running.",
        remedy: "Set `spec.strategy.rollingUpdate: {maxSurge: 0, maxUnavailable: 1}` or `type: Recreate` with a
`patch`. Or leave free capacity for one more pod.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
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
        correction: Correction::Replace(r#"{name: web, team: research, deployment: {image: "registry.example.com/web:1.0.0", replicas: 3"#, r#"name: web
    team: research
    deployment: {image: "registry.example.com/web:1.0.0", replicas: 3}
    patch: {spec: {strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}"#),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let services = running_workloads(cluster)
        .into_iter()
        .filter(|workload| workload.is_long_running);
    let services: Vec<_> = services.collect();
    for (index, running) in services.iter().enumerate() {
        let Some(workload) = running.workload else {
            continue;
        };
        let Some(Task::Deployment(deployment)) = workload.task() else {
            continue;
        };
        if !surges_without_deleting(workload, deployment) {
            continue;
        }
        let mut rolling = services.clone();
        for group in &mut rolling[index].groups {
            group.pods = group.pods.saturating_add(1);
        }
        let Some((span, reason)) = exhausted_capacity(cluster, &services, &rolling, index) else {
            continue;
        };
        let name = &workload.name;
        let message = format!("a rolling update of `{name}` needs capacity for one more pod");
        report.diagnostic(&RULE.code, name.span, message).primary_label("its update creates a new pod before it deletes an old one").label(span, reason)
            .help(
                "add `patch: {spec: {strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}}}` to it, or leave \
                 capacity for one more pod",
            )
            .emit();
    }
}

/// The quota or pool that is exhausted by one more pod of a service, although all services fit without it.
fn exhausted_capacity(
    cluster: &Cluster,
    services: &[RunningWorkload<'_>],
    rolling: &[RunningWorkload<'_>],
    index: usize,
) -> Option<(Span, String)> {
    let team = services[index].team;
    if let Some(team) = team.and_then(|name| cluster.team(name)) {
        let contains_service = |indexes: &[usize]| indexes.contains(&index);
        let is_of_team = |workload: &RunningWorkload<'_>| workload.team == Some(team.name.as_str());
        // The service with all others of its team, and alone: the usage of several excludes that of one alone.
        let services_of_team = (0..services.len()).filter(|other| is_of_team(&services[*other]));
        for group in [services_of_team.collect(), vec![index]] {
            let exceeded = |workloads: &[RunningWorkload<'_>]| {
                let workloads: Vec<_> = group.iter().map(|index| &workloads[*index]).collect();
                let mut found = exceeded_quotas(cluster, team, &workloads);
                for spent in &mut found {
                    spent.workloads = spent.workloads.iter().map(|index| group[*index]).collect();
                }
                found.retain(|spent| contains_service(&spent.workloads));
                found
            };
            if !exceeded(services).is_empty() {
                return None;
            }
            if let Some(spent) = exceeded(rolling).first() {
                let span = spent.spans.first().copied().unwrap_or(team.name.span);
                let reason = format!(
                    "the team's services use all of this quota: {}",
                    spent.resource.format_amount(spent.limit)
                );
                return Some((span, reason));
            }
        }
    }
    if !find_over_capacity(cluster, services).is_empty() {
        return None;
    }
    let over_capacity = find_over_capacity(cluster, rolling);
    let overload = over_capacity
        .iter()
        .find(|over_capacity| over_capacity.workloads.contains(&index))?;
    let pool = overload.pools.first()?;
    let reason = "the services use all nodes of this pool".to_owned();
    Some((pool.name.span, reason))
}

/// Whether a rolling update of the deployment only creates new pods before it deletes old ones.
fn surges_without_deleting(workload: &Workload, it: &Deployment) -> bool {
    let patch = Node::from_fragment(&workload.patch);
    let spec = patch.get("spec");
    let strategy = spec.and_then(|spec| spec.get("strategy"));
    let pods = match &it.autoscaling {
        Some(scaling) => scaling.min.value,
        None => it.replicas.value,
    };
    // With GPUs, gpuc sets `maxSurge` 0 and `maxUnavailable` 1.
    let defaults = if PodGpuRequest::for_task(Task::Deployment(it)).is_some() {
        RollingUpdateDefaults {
            allows_surge: false,
            allows_unavailable: true,
        }
    } else {
        RollingUpdateDefaults::kubernetes_defaults(pods.into())
    };
    needs_extra_capacity(strategy, pods, &defaults)
}

#[cfg(test)]
mod tests {
    use crate::testing::messages_with_id;

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
        assert_eq!(
            messages_with_id(&yaml, "GPUC2209"),
            expected,
            "{quota} {workloads}"
        );
    }

    fn service(name: &str, keys: &str, patch: &str) -> String {
        format!(
            "{{name: {name}, team: t, deployment: {{image: 'a:1', {keys}}}, patch: {{{patch}}}}}"
        )
    }

    #[test]
    fn update_without_free_capacity_is_found() {
        let message =
            |name: &str| format!("a rolling update of `{name}` needs capacity for one more pod");
        let a = message("a");
        let a = a.as_str();
        check("pods: 3", &service("a", "replicas: 3", ""), &[a]);
        check("pods: 4", &service("a", "replicas: 3", ""), &[]);
        // 25% of four pods is one unavailable pod.
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
        // The default request of a pod is half a core.
        check("cpu: 1500m", &service("a", "replicas: 3", ""), &[a]);
        check("cpu: 2", &service("a", "replicas: 3", ""), &[]);
        // Together with other services.
        let both = format!("{}, {}", service("a", "", ""), service("b", "", recreate));
        check("pods: 2", &both, &[a]);
        check("pods: 3", &both, &[]);
        // Another rule reports services that do not fit without an update.
        check("pods: 2", &service("a", "replicas: 3", ""), &[]);
    }

    #[test]
    fn deployment_with_gpus_deletes_a_pod_first() {
        let quota = "gpus: [{pool: gpu, guaranteed: 2}]";
        check(quota, &service("a", "gpus: 1, replicas: 2", ""), &[]);
        let surge = "spec: {strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}}";
        let message = "a rolling update of `a` needs capacity for one more pod";
        check(
            quota,
            &service("a", "gpus: 1, replicas: 2", surge),
            &[message],
        );
        check(quota, &service("a", "gpus: 1", surge), &[]);
        // The nodes have no free capacity either.
        check("", &service("a", "gpus: 1, replicas: 2", surge), &[message]);
    }
}
