//! A workload asks for more than its team may have.

use gpuc_schema::config::{Task, Workload};

use super::Rule;
use crate::diag::words::counted;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;
use crate::model::{GpuAsk, Grant, Team, Unit};
use crate::placement::{Demand, What, holding, limits, storage};

/// A workload asks for more than its team may have.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2187",
        name: "workload-over-quota",
        severity: Severity::Error,
        summary: "a workload asks for more than its team may have",
        explain: "### What it checks

What all pods of a workload ask for together against what its team may have of its pools, of CPU, of
memory and of pods, and its volumes against `storage`. A container that says nothing counts with the
team's `limits.defaultRequest`. And what its container asks for against the team's `limits.max` and `limits.gpusPerContainer`. A
team whose quota names pools may use no others. In queues a team may have what is kept for it and what
there is to borrow; pods that start together have to find it in one pool.

### Why it matters

The API server would refuse the pods, or a queue would never let them start, however idle the
cluster is.

### What to do

Ask for less, or raise the team's `limit`, `limits.max` or `limits.gpusPerContainer`.
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
  - {name: research, quota: {gpus: [{pool: gpu, guaranteed: 2}]}}
workloads:
  - {name: finetune, team: research, trainJob: {image: "registry.example.com/model:1.0.0", nodes: 2, gpusPerNode: 2}}
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
  - {name: research, quota: {gpus: [{pool: gpu, guaranteed: 2}]}}
workloads:
  - {name: finetune, team: research, trainJob: {image: "registry.example.com/model:1.0.0", nodes: 1, gpusPerNode: 2}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for workload in &cluster.written.workloads {
        let team = workload.team.as_ref().and_then(|name| cluster.team(name));
        if let (Some(team), Some(task)) = (team, workload.task()) {
            gpus(cluster, workload, task, team, report);
            amounts(cluster, workload, task, team, report);
            container(workload, task, team, report);
            gpus_of_container(workload, task, team, report);
        }
    }
}

fn gpus(cluster: &Cluster, workload: &Workload, task: Task<'_>, team: &Team, report: &mut Report) {
    let Some(ask) = GpuAsk::of(task) else {
        return;
    };
    if team.grants().next().is_none() || team.has_unknown_grants() {
        return;
    }
    let is_test = matches!(task, Task::CudaTest(_));
    let pools = holding(cluster, workload);
    let namespace = cluster.namespace_of(workload);
    let resource = |pool| match ask.class(pool) {
        Some(class) => Some(class.name.clone()),
        None => ask.devices(pool, is_test).map(|devices| devices.resource),
    };
    let granted = team.grants().filter(|grant| {
        let of_another = grant
            .namespace
            .is_some_and(|index| *team.namespaces[index] != namespace);
        let mut pools = pools.iter().filter(|pool| pool.index == grant.pool);
        !of_another && pools.any(|pool| resource(pool).as_ref() == Some(&grant.resource))
    });
    let granted: Vec<_> = granted.collect();
    if pools.is_empty() {
        return;
    }
    let reach = |grant: &&Grant| cluster.reachable(team, grant);
    let limit: u64 = granted.iter().map(reach).sum();
    let largest = granted.iter().map(reach).max().unwrap_or(0);
    let each = u64::from(ask.count);
    let asked = each * u64::from(task.most_pods());
    let of_one_pool = each * u64::from(together(task));
    let (name, of) = (&workload.name, &team.name);
    let kueue = "Kueue takes pods that start together from one pool";
    let (message, help) = if asked > limit {
        let asked = words(asked, unit(ask, &granted));
        let message =
            format!("workload `{name}` asks for {asked}, and team `{of}` may have {limit}");
        (
            message,
            "ask for less, or raise the team's `limit`".to_owned(),
        )
    } else if cluster.has_queues() && of_one_pool > largest {
        let asked = words(of_one_pool, unit(ask, &granted));
        let message = format!(
            "workload `{name}` asks for {asked} of one pool, and team `{of}` may have {largest} of any"
        );
        let help = format!("ask for less, or raise the `limit` of one pool: {kueue}");
        (message, help)
    } else {
        return;
    };
    let span = task.nodes().or(task.gpus()).map(|it| it.span);
    let span = span.filter(|span| span.is_written()).unwrap_or(name.span);
    let mut draft = report.draft(&RULE.code, span, message);
    for grant in &granted {
        let (limit, has) = (grant.limit.value, cluster.reachable(team, grant));
        let label = if has < limit.into() {
            format!("it has at most {has} of these: others lend no more")
        } else {
            "what the team may have".to_owned()
        };
        draft = draft.label(grant.span, label);
    }
    if granted.is_empty() {
        draft = draft.label(team.name.span, "its quota has nothing of these pools");
    }
    draft.help(help).emit();
}

/// How many pods Kueue admits as one set, at the most: those of a set are given one flavor for each resource. Pods of
/// a Deployment are each admitted alone; leaders are a set beside their workers.
///
/// Source: <https://kueue.sigs.k8s.io/docs/concepts/workload/> and kubernetes-sigs/kueue
/// `pkg/controller/jobs/{deployment,pytorchjob,leaderworkerset}` (from memory).
fn together(task: Task<'_>) -> u32 {
    match task {
        Task::Deployment(_) => task.most_pods().min(1),
        Task::PytorchJob(it) => it.nodes.value.saturating_sub(1).max(1),
        Task::LeaderWorkerSet(it) if it.replicas.value == 0 => 0,
        Task::LeaderWorkerSet(it) => it.nodes.value.saturating_sub(1).max(1),
        _ => task.most_pods(),
    }
}

/// What a workload's devices are, by its team's quota, or else by what it asks for.
fn unit(ask: GpuAsk<'_>, granted: &[&Grant]) -> Unit {
    match granted.first() {
        Some(grant) => grant.unit,
        None if ask.profile.is_some() => Unit::Slice,
        None => Unit::Gpu,
    }
}

fn words(count: u64, unit: Unit) -> String {
    let words = unit.words();
    let one = words.trim_end_matches('s');
    format!("{count} {}", if count == 1 { one } else { words })
}

/// Holds what all pods of a workload ask for, and what its volumes hold, against what its team may have.
fn amounts(
    cluster: &Cluster,
    workload: &Workload,
    task: Task<'_>,
    team: &Team,
    report: &mut Report,
) {
    let pools = cluster.pools_of(workload);
    let pool = pools.first().copied().or(cluster.pools.first());
    let (Some(pool), Some(_)) = (pool, task.pods()) else {
        return;
    };
    let demand = Demand::of_workload(cluster, workload, pool);
    let namespace = cluster.namespace_of(workload);
    let pods = u64::from(task.most_pods());
    let limits = limits(cluster, team).into_iter();
    for limit in limits.filter(|it| it.namespace.is_none_or(|it| it == namespace)) {
        let (each, all) = match &limit.what {
            What::Cpu => (
                demand.cpu,
                demand.cpu.map(|it| it.value.saturating_mul(pods)),
            ),
            What::Memory => (
                demand.memory,
                demand.memory.map(|it| it.value.saturating_mul(pods)),
            ),
            What::Pods => (None, Some(pods)),
            What::Storage => (None, Some(storage(task))),
            What::Device(_) => continue,
        };
        let Some(all) = all.filter(|all| *all > limit.has) else {
            continue;
        };
        let name = &workload.name;
        let what = match &limit.what {
            What::Cpu => "more CPU",
            What::Memory => "more memory",
            What::Storage => "more storage",
            _ => "more pods",
        };
        let message = format!("workload `{name}` asks for {what} than its team may have");
        let written = each.filter(|it| !it.is_given).map(|it| it.span);
        let draft = report.draft(&RULE.code, written.unwrap_or(name.span), message);
        let mut draft = draft.here(format!("it asks for {}", limit.what.words(all)));
        if let Some(given) = each.filter(|it| it.is_given) {
            draft = draft.label(given.span, "a container is given so much that says nothing");
        }
        let has = format!("the team may have {}", limit.what.words(limit.has));
        let draft = draft.label(limit.span, has);
        draft.help("ask for less, or raise the team's quota").emit();
    }
}

/// Holds the GPUs of a container against the most that one of the team may have.
fn gpus_of_container(workload: &Workload, task: Task<'_>, team: &Team, report: &mut Report) {
    let Some((ask, most)) = GpuAsk::of(task).zip(team.gpus_per_container()) else {
        return;
    };
    if ask.count <= most.value {
        return;
    }
    let (name, of, count) = (&workload.name, &team.name, ask.count);
    let message = format!(
        "workload `{name}` asks for {} in a container, and one of team `{of}` may have {most}",
        counted(count, "GPU")
    );
    let span = task.gpus().map(|it| it.span);
    let span = span.filter(|span| span.is_written()).unwrap_or(name.span);
    let draft = report.draft(&RULE.code, span, message);
    let draft = draft.label(most.span, "the most that a container may ask for");
    draft
        .help("ask for less in each of several pods, or raise `limits.gpusPerContainer`")
        .emit();
}

/// Holds what a container asks for against the most that one of the team may: a `LimitRange` refuses more.
fn container(workload: &Workload, task: Task<'_>, team: &Team, report: &mut Report) {
    let limits = team.written.limits.as_ref();
    let most = limits.and_then(|limits| limits.max.as_ref());
    let (Some(most), Some(pods)) = (most, task.pods()) else {
        return;
    };
    for (what, asked, most) in [
        ("CPU", pods.cpu, most.cpu.as_ref()),
        ("memory", pods.memory, most.memory.as_ref()),
    ] {
        let (Some(asked), Some(most)) = (asked, most) else {
            continue;
        };
        let (Some(each), Some(limit)) = (asked.thousandths(), most.thousandths()) else {
            continue;
        };
        if each > limit {
            let (name, of) = (&workload.name, &team.name);
            let message = format!(
                "workload `{name}` asks for more {what} than a container of team `{of}` may have"
            );
            let draft = report.draft(&RULE.code, asked.span, message);
            let draft = draft.label(most.span, "the most that a container may ask for");
            draft.help("ask for less, or raise `limits.max`").emit();
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;

    #[track_caller]
    fn check(workloads: &str, expected: &[&str]) {
        let yaml = format!(
            "
            cloud: {{onPrem: {{context: demo}}}}
            nodePools:
              - {{name: gpu, gpu: {{model: A30, perNode: 2}}, hosts: [a, b], nodes: {{count: 2}}}}
            teams: [{{name: l, limits: {{max: {{cpu: 2, memory: 4Gi}}}}}}, {{name: t, quota: {{cpu: 4, memory: 8Gi, gpus: [{{pool: gpu, guaranteed: 2, limit: 3}}]}}}}]
            workloads: [{workloads}]
            "
        );
        assert_eq!(messages(&yaml, "GPUC2187"), expected, "{workloads}");
    }

    #[test]
    fn pods_and_volumes_are_counted_too() {
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
                assert_eq!(messages(&yaml, "GPUC2187"), expected, "{task}");
            };
            let pods = "workload `a` asks for more pods than its team may have";
            check("deployment: {image: 'a:1', replicas: 10}", &[]);
            check("deployment: {image: 'a:1', replicas: 11}", &[pods]);
            check(
                "job: {image: 'a:1', completions: 11, parallelism: 11}",
                &[pods],
            );
            let storage = "workload `a` asks for more storage than its team may have";
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
    fn a_container_has_what_its_team_lets_one_have() {
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
            assert_eq!(messages(&yaml, "GPUC2187"), expected, "{task}");
        };
        let over = "workload `a` asks for 3 GPUs in a container, and one of team `t` may have 2";
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
    fn a_team_has_what_its_workloads_ask_for() {
        let job = |keys: &str| format!("{{name: a, team: t, job: {{image: 'a:1', {keys}}}}}");
        check(&job("gpus: 2"), &[]);
        let over = "workload `a` asks for 4 GPUs, and team `t` may have 3";
        check(&job("gpus: 2, completions: 2, parallelism: 2"), &[over]);
        check(&job("gpus: 2, completions: 1, parallelism: 2"), &[]);
        check(&job("cpu: 4"), &[]);
        let cpu = "workload `a` asks for more CPU than its team may have";
        check(&job("cpu: 3, completions: 2, parallelism: 2"), &[cpu]);
        let memory = "workload `a` asks for more memory than its team may have";
        check(&job("memory: 9Gi"), &[memory]);
        check(
            "{name: a, job: {image: 'a:1', gpus: 2, completions: 2, parallelism: 2}}",
            &[],
        );
        let over = "workload `a` asks for more CPU than its team may have";
        // A container that says nothing is given half a core and 1 GiB: 8 pods are 4 cores and 8 GiB.
        check(&job("completions: 8, parallelism: 8"), &[]);
        check(&job("completions: 9, parallelism: 9, memory: 1Mi"), &[over]);
        let limited = |keys: &str| format!("{{name: a, team: l, job: {{image: 'a:1', {keys}}}}}");
        check(
            &limited("cpu: 2, memory: 4Gi, completions: 9, parallelism: 9"),
            &[],
        );
        let over = |what| {
            format!("workload `a` asks for more {what} than a container of team `l` may have")
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
        assert_eq!(messages(&yaml, "GPUC2187"), expected, "{task}");
    }

    #[test]
    fn pods_that_start_together_are_given_one_pool() {
        let teams =
            "{name: t, quota: {gpus: [{pool: one, guaranteed: 6}, {pool: two, guaranteed: 4}]}}";
        let job = |count: u32| {
            format!("job: {{image: 'a:1', gpus: 1, completions: {count}, parallelism: {count}}}")
        };
        check_queued(teams, &job(6), &[]);
        let split = "workload `a` asks for 7 GPUs of one pool, and team `t` may have 6 of any";
        check_queued(teams, &job(7), &[split]);
        check_queued(
            teams,
            "deployment: {image: 'a:1', gpus: 1, replicas: 7}",
            &[],
        );
        let set = "statefulSet: {image: 'a:1', gpus: 1, replicas: 7}";
        check_queued(teams, set, &[split]);
        let over = "workload `a` asks for 11 GPUs, and team `t` may have 10";
        check_queued(teams, &job(11), &[over]);
    }

    #[test]
    fn what_nobody_lends_is_not_had() {
        let teams = |lend: u32| {
            format!(
                "{{name: t, quota: {{gpus: [{{pool: one, guaranteed: 2, limit: 6}}]}}}}, \
                 {{name: u, quota: {{gpus: [{{pool: one, guaranteed: 6, lend: {lend}}}]}}}}"
            )
        };
        let task = "deployment: {image: 'a:1', gpus: 1, replicas: 5}";
        check_queued(&teams(3), task, &[]);
        let over = "workload `a` asks for 5 GPUs, and team `t` may have 4";
        check_queued(&teams(2), task, &[over]);
    }
}
