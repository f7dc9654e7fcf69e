//! A workload exceeds its team's quota.

use gpuc_schema::config::{Task, Workload};

use gpuc_model::check::Rule;
use gpuc_model::scheduling::{
    Demand, QuotaResource, can_assign, claimed_storage, fitting_pools, pod_sets, resource_limits,
};
use gpuc_model::{Cluster, Grant, PodGpuRequest, Team, Unit};
use gpuc_syntax::diag::phrases::pluralize;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2187",
        name: "workload-over-quota",
        severity: Severity::Error,
        summary: "a workload exceeds its team's quota",
        checks: "Whether all pods of a workload together fit into the team's quota of its pools, of CPU, of memory
and of pods, and its volumes into `storage`. A container without requests counts with the team's
`limits.defaultRequest`. Whether the requests of its container are within the team's `limits.max`
and `limits.gpusPerContainer`. A team whose quota names pools can use no other pools. With queues, a
team can use its guarantee and the GPUs that it can borrow; pods that start together must fit into
one pool.",
        reason: "The API server would reject the pods, or a queue would never admit them, even if the cluster is
idle.",
        remedy: "Lower the requests, or raise the team's `limit`, `limits.max` or `limits.gpusPerContainer`.",
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
  - {name: research, quota: {gpus: [{pool: gpu, guaranteed: 2}]}}
workloads:
  - {name: finetune, team: research, trainJob: {image: "registry.example.com/model:1.0.0", nodes: 2, gpusPerNode: 2}}
"#,
        correction: Correction::Replace("nodes: 2", "nodes: 1"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for workload in &cluster.config.workloads {
        let team = workload.team.as_ref().and_then(|name| cluster.team(name));
        if let (Some(team), Some(task)) = (team, workload.task()) {
            check_gpus(cluster, workload, task, team, report);
            check_quantities(cluster, workload, task, team, report);
            check_container(workload, task, team, report);
            check_gpus_per_container(workload, task, team, report);
        }
    }
}

fn check_gpus(
    cluster: &Cluster,
    workload: &Workload,
    task: Task<'_>,
    team: &Team,
    report: &mut Report,
) {
    let Some(request) = PodGpuRequest::for_task(task) else {
        return;
    };
    if team.grants().next().is_none() || team.has_unknown_grants() {
        return;
    }
    let is_test = matches!(task, Task::CudaTest(_));
    let pools = fitting_pools(cluster, workload);
    let namespace = cluster.namespace_of(workload);
    let resource = |pool| match request.device_class(pool) {
        Some(class) => Some(class.name.clone()),
        None => request
            .device_request(pool, is_test)
            .map(|devices| devices.resource),
    };
    let granted: Vec<_> = team
        .grants()
        .filter(|grant| {
            let is_of_other_namespace = grant
                .namespace
                .is_some_and(|index| *team.namespaces[index] != namespace);
            let mut pools = pools.iter().filter(|pool| pool.index == grant.pool);
            !is_of_other_namespace
                && pools.any(|pool| resource(pool).as_ref() == Some(&grant.resource))
        })
        .collect();
    if pools.is_empty() {
        return;
    }
    let reachable = |grant: &&Grant| cluster.max_reachable(team, grant);
    let limit: u64 = granted.iter().map(reachable).sum();
    let largest = granted.iter().map(reachable).max().unwrap_or(0);
    let gpus_per_pod = u64::from(request.count);
    let requested = gpus_per_pod * u64::from(task.max_pods());
    let sets: Vec<_> = pod_sets(task)
        .into_iter()
        .map(|pods| pods * gpus_per_pod)
        .collect();
    let largest_set = sets.iter().copied().max().unwrap_or(0);
    let capacities: Vec<_> = granted.iter().map(reachable).collect();
    let (name, owner) = (&workload.name, &team.name);
    let kueue = "Kueue places pods that start together in one pool";
    let (message, help) = if requested > limit {
        let requested = count_with_unit(requested, quota_unit(request, &granted));
        let message =
            format!("workload `{name}` requests {requested}, but team `{owner}` can use {limit}");
        (
            message,
            "lower the requests, or raise the team's `limit`".to_owned(),
        )
    } else if cluster.has_queues() && largest_set > largest {
        let requested = count_with_unit(largest_set, quota_unit(request, &granted));
        let message = format!(
            "workload `{name}` needs {requested} within one pool, but team `{owner}` can use {largest} of any pool"
        );
        let help = format!("lower the requests, or raise the `limit` of one pool: {kueue}");
        (message, help)
    } else if cluster.has_queues() && !can_assign(&sets, &capacities) {
        let counts: Vec<_> = sets.iter().map(u64::to_string).collect();
        let requested = counts.join(" and ");
        let unit = quota_unit(request, &granted).plural();
        let message = format!(
            "workload `{name}` needs {requested} {unit}, each within one pool; team `{owner}` has no such pools"
        );
        let help = format!("lower the requests, or raise the `limit` of one pool: {kueue}");
        (message, help)
    } else {
        return;
    };
    let span = task.nodes().or(task.gpus()).map(|it| it.span);
    let span = span.filter(|span| span.is_written()).unwrap_or(name.span);
    let mut builder = report.diagnostic(&RULE.code, span, message);
    for grant in &granted {
        let (limit, available) = (grant.limit.value, cluster.max_reachable(team, grant));
        let label = if available < limit.into() {
            format!("the team can reach {available} of these: other teams lend no more")
        } else {
            "the team's limit".to_owned()
        };
        builder = builder.label(grant.span, label);
    }
    if granted.is_empty() {
        builder = builder.label(
            team.name.span,
            "the team's quota does not include these pools",
        );
    }
    builder.help(help).emit();
}

/// The unit of a workload's devices, from its team's quota or else from its requests.
fn quota_unit(request: PodGpuRequest<'_>, granted: &[&Grant]) -> Unit {
    match granted.first() {
        Some(grant) => grant.unit,
        None if request.profile.is_some() => Unit::MigDevice,
        None => Unit::Gpu,
    }
}

fn count_with_unit(count: u64, unit: Unit) -> String {
    let plural = unit.plural();
    let singular = plural.trim_end_matches('s');
    format!("{count} {}", if count == 1 { singular } else { plural })
}

/// Checks the requests of all pods of a workload and the size of its volumes against its team's quota.
fn check_quantities(
    cluster: &Cluster,
    workload: &Workload,
    task: Task<'_>,
    team: &Team,
    report: &mut Report,
) {
    let pools = cluster.candidate_pools(workload);
    let pool = pools.first().copied().or(cluster.pools.first());
    let Some(pool) = pool.filter(|_| !matches!(task, Task::CudaTest(_))) else {
        return;
    };
    let demand = Demand::for_workload(cluster, workload, pool);
    let namespace = cluster.namespace_of(workload);
    let pods = u64::from(task.max_pods());
    let limits = resource_limits(cluster, team).into_iter();
    for limit in limits.filter(|it| it.namespace.is_none_or(|it| it == namespace)) {
        let (each, all) = match &limit.resource {
            QuotaResource::Cpu => (
                demand.cpu,
                demand.cpu.map(|it| it.value.saturating_mul(pods)),
            ),
            QuotaResource::Memory => (
                demand.memory,
                demand.memory.map(|it| it.value.saturating_mul(pods)),
            ),
            QuotaResource::Pods => (None, Some(pods)),
            QuotaResource::Storage => (None, Some(claimed_storage(task))),
            QuotaResource::Device(_) => continue,
        };
        let Some(all) = all.filter(|all| *all > limit.amount) else {
            continue;
        };
        let name = &workload.name;
        let resource_name = match &limit.resource {
            QuotaResource::Cpu => "CPU",
            QuotaResource::Memory => "memory",
            QuotaResource::Storage => "storage",
            _ => "pods",
        };
        let message = format!("workload `{name}` exceeds its team's quota of {resource_name}");
        let written = each.filter(|it| !it.is_default).map(|it| it.span);
        let builder = report.diagnostic(&RULE.code, written.unwrap_or(name.span), message);
        let mut builder =
            builder.primary_label(format!("it needs {}", limit.resource.format_amount(all)));
        if let Some(default) = each.filter(|it| it.is_default) {
            builder = builder.label(
                default.span,
                "the default of containers that set no requests",
            );
        }
        let quota_label = format!(
            "the team's quota is {}",
            limit.resource.format_amount(limit.amount)
        );
        let builder = builder.label(limit.span, quota_label);
        builder
            .help("lower the requests, or raise the team's quota")
            .emit();
    }
}

/// Checks the GPUs of a container against the team's maximum per container.
fn check_gpus_per_container(workload: &Workload, task: Task<'_>, team: &Team, report: &mut Report) {
    let Some((request, max)) = PodGpuRequest::for_task(task).zip(team.gpus_per_container()) else {
        return;
    };
    if request.count <= max.value {
        return;
    }
    let (name, owner, count) = (&workload.name, &team.name, request.count);
    let message = format!(
        "workload `{name}` requests {} per container, but the maximum of team `{owner}` is {max}",
        pluralize(count, "GPU")
    );
    let span = task.gpus().map(|it| it.span);
    let span = span.filter(|span| span.is_written()).unwrap_or(name.span);
    report
        .diagnostic(&RULE.code, span, message)
        .label(max.span, "the maximum per container")
        .help("lower the request, use several pods, or raise `limits.gpusPerContainer`")
        .emit();
}

/// Checks the requests of a container against the team's maximum: a LimitRange rejects more.
fn check_container(workload: &Workload, task: Task<'_>, team: &Team, report: &mut Report) {
    let limits = team.limits.as_ref();
    let max = limits.and_then(|limits| limits.max.as_ref());
    let Some(max) = max else {
        return;
    };
    for (resource_name, requested, max) in [
        (
            "CPU",
            task.pods().and_then(|pods| pods.cpu),
            max.cpu.as_ref(),
        ),
        ("memory", task.memory(), max.memory.as_ref()),
    ] {
        let (Some(requested), Some(max)) = (requested, max) else {
            continue;
        };
        let (Some(each), Some(limit)) = (requested.thousandths(), max.thousandths()) else {
            continue;
        };
        if each > limit {
            let (name, owner) = (&workload.name, &team.name);
            let message = format!(
                "workload `{name}` exceeds the maximum {resource_name} of a container of team `{owner}`"
            );
            report
                .diagnostic(&RULE.code, requested.span, message)
                .label(max.span, "the maximum per container")
                .help("lower the request, or raise `limits.max`")
                .emit();
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check_in, messages_with_id};

    #[track_caller]
    fn check(workloads: &str, expected: &[&str]) {
        let file = "
            cloud: {onPrem: {context: demo}}
            nodePools:
              - {name: gpu, gpu: {model: A30, perNode: 2}, hosts: [a, b], nodes: {count: 2}}
            teams: [{name: l, limits: {max: {cpu: 2, memory: 4Gi}}}, {name: t, quota: {cpu: 4, memory: 8Gi, gpus: [{pool: gpu, guaranteed: 2, limit: 3}]}}]
            workloads: [<rest>]
            ";
        check_in(file, "GPUC2187", workloads, expected);
    }

    #[test]
    fn pods_and_volumes_beyond_the_quota_are_found() {
        for queueing in ["none", "kueue"] {
            let check = |task: &str, expected: &[&str]| {
                let yaml = format!(
                    "
                    cloud: {{onPrem: {{context: demo}}}}
                    queueing: {queueing}
                    nodePools:
                      - {{name: gpu, gpu: {{model: A30, perNode: 2}}, hosts: [a, b], nodes: {{count: 2}}}}
                    teams: [{{name: t, quota: {{pods: 10, storage: 30Gi}}}}]
                    workloads: [{{name: a, team: t, {task}}}]
                    "
                );
                assert_eq!(messages_with_id(&yaml, "GPUC2187"), expected, "{task}");
            };
            let pods = "workload `a` exceeds its team's quota of pods";
            check("deployment: {image: 'a:1', replicas: 10}", &[]);
            check("deployment: {image: 'a:1', replicas: 11}", &[pods]);
            check(
                "job: {image: 'a:1', completions: 11, parallelism: 11}",
                &[pods],
            );
            let storage = "workload `a` exceeds its team's quota of storage";
            let volume = |size| {
                format!(
                    "volumes: [{{name: v, mountPath: /v, from: {{claim: {{sizeGiB: {size}}}}}}}]"
                )
            };
            check(&format!("job: {{image: 'a:1', {}}}", volume(30)), &[]);
            check(
                &format!("job: {{image: 'a:1', {}}}", volume(31)),
                &[storage],
            );
            let set = |replicas| {
                format!(
                    "statefulSet: {{image: 'a:1', replicas: {replicas}, {}}}",
                    volume(10)
                )
            };
            check(&set(3), &[]);
            check(&set(4), &[storage]);
        }
    }

    #[test]
    fn leaders_and_workers_may_run_on_different_pools() {
        let check = |kind: &str, expected: usize| {
            let yaml = format!(
                "
                cloud: {{onPrem: {{context: demo}}}}
                queueing: kueue
                nodePools:
                  - {{name: one, gpu: {{model: A30, perNode: 2}}, hosts: [a, b, c], nodes: {{count: 3}}}}
                  - {{name: two, gpu: {{model: A30, perNode: 2}}, hosts: [d, e, f], nodes: {{count: 3}}}}
                teams: [{{name: t, quota: {{gpus: [{{pool: one, limit: 2}}, {{pool: two, limit: 4}}]}}}}]
                workloads:
                  - {{name: w, team: t, {kind}: {{image: 'a:1', nodes: 3, gpusPerNode: 2}}}}
                "
            );
            assert_eq!(
                messages_with_id(&yaml, "GPUC2187").len(),
                expected,
                "{kind}"
            );
        };
        check("leaderWorkerSet", 0);
        check("trainJob", 1);
    }

    #[test]
    fn container_beyond_the_maximum_gpus_is_found() {
        let check = |task: &str, expected: &[&str]| {
            let yaml = format!(
                "
                cloud: {{onPrem: {{context: demo}}}}
                nodePools:
                  - {{name: gpu, gpu: {{model: A30, perNode: 4}}, hosts: [a, b], nodes: {{count: 2}}}}
                teams: [{{name: t, limits: {{gpusPerContainer: 2}}}}]
                workloads: [{{name: a, team: t, {task}}}]
                "
            );
            assert_eq!(messages_with_id(&yaml, "GPUC2187"), expected, "{task}");
        };
        let over = "workload `a` requests 3 GPUs per container, but the maximum of team `t` is 2";
        check(
            "job: {image: 'a:1', gpus: 2, completions: 3, parallelism: 3}",
            &[],
        );
        check("job: {image: 'a:1', gpus: 3}", &[over]);
        check(
            "trainJob: {image: 'a:1', nodes: 2, gpusPerNode: 3}",
            &[over],
        );
        check("job: {image: 'a:1'}", &[]);
    }

    #[test]
    fn requests_beyond_the_quota_are_found() {
        let job = |keys: &str| format!("{{name: a, team: t, job: {{image: 'a:1', {keys}}}}}");
        check(&job("gpus: 2"), &[]);
        let over = "workload `a` requests 4 GPUs, but team `t` can use 3";
        check(&job("gpus: 2, completions: 2, parallelism: 2"), &[over]);
        check(&job("gpus: 2, completions: 1, parallelism: 2"), &[]);
        check(&job("cpu: 4"), &[]);
        let cpu = "workload `a` exceeds its team's quota of CPU";
        check(&job("cpu: 3, completions: 2, parallelism: 2"), &[cpu]);
        let memory = "workload `a` exceeds its team's quota of memory";
        check(&job("memory: 9Gi"), &[memory]);
        check(
            "{name: a, job: {image: 'a:1', gpus: 2, completions: 2, parallelism: 2}}",
            &[],
        );
        let over = "workload `a` exceeds its team's quota of CPU";
        // The default request of a container is half a core and 1 GiB: 8 pods need 4 cores and 8 GiB.
        check(&job("completions: 8, parallelism: 8"), &[]);
        check(&job("completions: 9, parallelism: 9, memory: 1Mi"), &[over]);
        let limited = |keys: &str| format!("{{name: a, team: l, job: {{image: 'a:1', {keys}}}}}");
        check(
            &limited("cpu: 2, memory: 4Gi, completions: 9, parallelism: 9"),
            &[],
        );
        let over = |resource_name| {
            format!("workload `a` exceeds the maximum {resource_name} of a container of team `l`")
        };
        check(&limited("cpu: 2500m"), &[&over("CPU")]);
        check(&limited("memory: 5Gi"), &[&over("memory")]);
    }

    #[track_caller]
    fn check_queued(teams: &str, task: &str, expected: &[&str]) {
        let yaml = format!(
            "
            cloud: {{onPrem: {{context: demo}}}}
            nodePools:
              - {{name: one, gpu: {{model: A30, perNode: 4}}, hosts: [a, b], nodes: {{count: 2}}}}
              - {{name: two, gpu: {{model: A30, perNode: 4}}, hosts: [c], nodes: {{count: 1}}}}
            queueing: kueue
            teams: [{teams}]
            workloads: [{{name: a, team: t, {task}}}]
            "
        );
        assert_eq!(messages_with_id(&yaml, "GPUC2187"), expected, "{task}");
    }

    #[test]
    fn pods_that_start_together_need_one_pool() {
        let teams =
            "{name: t, quota: {gpus: [{pool: one, guaranteed: 6}, {pool: two, guaranteed: 4}]}}";
        let job = |count: u32| {
            format!("job: {{image: 'a:1', gpus: 1, completions: {count}, parallelism: {count}}}")
        };
        check_queued(teams, &job(6), &[]);
        let split = "workload `a` needs 7 GPUs within one pool, but team `t` can use 6 of any pool";
        check_queued(teams, &job(7), &[split]);
        check_queued(
            teams,
            "deployment: {image: 'a:1', gpus: 1, replicas: 7}",
            &[],
        );
        let set = "statefulSet: {image: 'a:1', gpus: 1, replicas: 7}";
        check_queued(teams, set, &[split]);
        let over = "workload `a` requests 11 GPUs, but team `t` can use 10";
        check_queued(teams, &job(11), &[over]);
    }

    #[test]
    fn master_and_workers_each_need_a_pool() {
        let check = |limits: [u32; 2], expected: &[&str]| {
            let yaml = format!(
                "
                cloud: {{onPrem: {{context: demo}}}}
                nodePools:
                  - {{name: one, gpu: {{model: A30, perNode: 4}}, hosts: [a, b], nodes: {{count: 2}}}}
                  - {{name: two, gpu: {{model: A30, perNode: 4}}, hosts: [c, d], nodes: {{count: 2}}}}
                queueing: kueue
                teams: [{{name: t, quota: {{gpus: [{{pool: one, guaranteed: {}}}, {{pool: two, guaranteed: {}}}]}}}}]
                workloads: [{{name: a, team: t, pytorchJob: {{operator: existing, image: 'a:1', nodes: 2, gpusPerNode: 4}}}}]
                ",
                limits[0], limits[1]
            );
            assert_eq!(messages_with_id(&yaml, "GPUC2187"), expected, "{limits:?}");
        };
        check([4, 4], &[]);
        let both =
            "workload `a` needs 4 and 4 GPUs, each within one pool; team `t` has no such pools";
        check([5, 3], &[both]);
        let over = "workload `a` requests 8 GPUs, but team `t` can use 7";
        check([4, 3], &[over]);
    }

    #[test]
    fn gpus_that_are_not_lent_cannot_be_used() {
        let teams = |lend: u32| {
            format!(
                "{{name: t, quota: {{gpus: [{{pool: one, guaranteed: 2, limit: 6}}]}}}}, \
                 {{name: u, quota: {{gpus: [{{pool: one, guaranteed: 6, lend: {lend}}}]}}}}"
            )
        };
        let task = "deployment: {image: 'a:1', gpus: 1, replicas: 5}";
        check_queued(&teams(3), task, &[]);
        let over = "workload `a` requests 5 GPUs, but team `t` can use 4";
        check_queued(&teams(2), task, &[over]);
    }
}
