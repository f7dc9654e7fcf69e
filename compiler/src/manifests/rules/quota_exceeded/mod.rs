//! A manifest asks for more than its team may have.

mod amounts;
mod volumes;

use crate::diag::{Code, Report, Severity};
use crate::manifests::resources::{Amount, amount, is_gpu};
use crate::manifests::{Container, Object, Pod, Rule, Scene, services};
use crate::node::Node;
use crate::source::Span;

/// A manifest asks for more than its team may have.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4010",
        name: "manifest-quota-exceeded",
        severity: Severity::Error,
        summary: "a manifest asks for more than its team may have",
        explain: "### What it checks

Whether the pods that an object of a team's namespace makes at once, by `replicas` or `parallelism`,
ask for no more GPUs, CPU and memory than the team's quota has at most, and are no more than its `pods`;
each container for no more than the team's `limits.max` and `limits.gpusPerContainer`, and for no more
than the limit that it is given by `limits.default` where it says none. A container that says nothing
counts with `limits.defaultRequest`. A PersistentVolumeClaim may ask for no more than the quota's
`storage`. Once a team has a quota of GPUs, or waits in
a queue, it has none of what the quota does not name.

### Why it matters

The API server refuses the pods that are too many: a Job never has all of them, and one pod that asks
for more than the quota is never made. Of a container whose limit is less than what it asks for, none
is.

### What to do

Ask for less, or give the team a larger `limit`.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: cpu, hosts: [node-1], nodes: {count: 1}}
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-2]
    nodes: {count: 1}
    taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]
teams:
  - {name: research, quota: {gpus: [{pool: gpu, guaranteed: 1}]}}
--- # manifest.yaml
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: research}
spec:
  parallelism: 2
  template:
    spec:
      restartPolicy: Never
      tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
      containers:
        - name: train
          image: registry.example.com/train:1.0.0
          resources: {limits: {nvidia.com/gpu: 1}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: cpu, hosts: [node-1], nodes: {count: 1}}
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-2]
    nodes: {count: 1}
    taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]
teams:
  - {name: research, quota: {gpus: [{pool: gpu, guaranteed: 1}]}}
--- # manifest.yaml
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: research}
spec:
  template:
    spec:
      restartPolicy: Never
      tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
      containers:
        - name: train
          image: registry.example.com/train:1.0.0
          resources: {limits: {nvidia.com/gpu: 1}}
"#,
    },
    run,
};

fn run(scene: &Scene<'_>, report: &mut Report) {
    volumes::of_claims(scene, report);
    for pod in &scene.pods {
        of_containers(scene, pod, report);
        amounts::of_containers(scene, pod, report);
        let copies = copies(pod);
        amounts::of_pods(scene, pod, copies, report);
        let copies = copies.count;
        for (resource, asked, span) in asked(pod) {
            let Some((limit, place)) = limit(scene, pod, resource) else {
                continue;
            };
            let all = asked.saturating_mul(copies);
            if all <= limit {
                continue;
            }
            let what = if copies > 1 {
                format!("{copies} pods with {asked} each are {all} of `{resource}`")
            } else {
                format!("{asked} of `{resource}`")
            };
            let message = format!(
                "{} asks for more than its team may have: {what}",
                pod.title()
            );
            let draft = report.draft(&RULE.code, span, message);
            draft
                .label(place, format!("the team may have {limit} at most"))
                .help(help(limit))
                .emit();
        }
    }
}

/// What each container asks for against the most that one of the team may have.
fn of_containers(scene: &Scene<'_>, pod: &Pod<'_>, report: &mut Report) {
    let namespace = pod.object.namespace.as_deref();
    let team = namespace.and_then(|it| scene.cluster.team_of(it));
    let Some((team, most)) = team.and_then(|(team, _)| Some((team, team.gpus_per_container()?)))
    else {
        return;
    };
    let names = scene.cluster.resources_of(team);
    for entry in pod.containers.iter().flat_map(Container::asks) {
        let Amount::Whole(count) = amount(&entry.value) else {
            continue;
        };
        if count <= u64::from(most.value) || !names.contains(entry.key.as_str()) {
            continue;
        }
        let message = format!(
            "{} asks for more than a container of its team may have: {count} of `{}`",
            pod.title(),
            entry.key
        );
        let draft = report.draft(&RULE.code, entry.value.span(), message);
        draft
            .label(most.span, format!("a container of team `{}` may have {most} at most", team.name))
            .help("ask for less in each of several pods, or raise the team's `limits.gpusPerContainer`")
            .emit();
    }
}

fn help(limit: u64) -> &'static str {
    match limit {
        0 => "ask for what the team's quota has, or add this to the quota",
        _ => "ask for less, or write a larger `limit` in the team's quota",
    }
}

/// The devices that one pod asks for, each resource once, and where it does first. Containers that run before the
/// others ask for the same ones.
fn asked<'n>(pod: &Pod<'n>) -> Vec<(&'n str, u64, Span)> {
    let mut all: Vec<(&str, u64, Span)> = Vec::new();
    let containers = pod.containers.iter().filter(|it| !it.is_init);
    for entry in containers.flat_map(Container::asks) {
        let Amount::Whole(count @ 1..) = amount(&entry.value) else {
            continue;
        };
        match all.iter_mut().find(|(name, ..)| *name == entry.key) {
            Some((_, so_far, _)) => *so_far = so_far.saturating_add(count),
            None => all.push((&entry.key, count, entry.value.span())),
        }
    }
    all
}

/// How many pods an object makes at once, and where it says so.
#[derive(Clone, Copy, Debug)]
struct Copies {
    count: u64,
    span: Option<Span>,
}

impl Copies {
    const ONE: Self = Self {
        count: 1,
        span: None,
    };
}

/// How many pods a plain controller makes at once; one of others, whose pods a controller of their own makes.
fn copies(pod: &Pod<'_>) -> Copies {
    match pod.object.kind.as_str() {
        "Job" => of_job(pod.object),
        _ => services::count(pod).map_or(Copies::ONE, |count| Copies {
            count: count.pods,
            span: count.span,
        }),
    }
}

/// How many pods a Job has at once: no more than are left to complete, and none while it is suspended.
///
/// Source: kubernetes `pkg/controller/job/job_controller.go`, `manageJob` (from memory).
fn of_job(object: &Object) -> Copies {
    let spec = object.root.get("spec");
    let suspended = spec.and_then(|spec| spec.get("suspend"));
    if suspended.and_then(Node::text) == Some("true") {
        return Copies {
            count: 0,
            span: None,
        };
    }
    let at_once = number(object, "parallelism").unwrap_or(Copies::ONE);
    let all = number(object, "completions");
    all.filter(|all| all.count < at_once.count)
        .unwrap_or(at_once)
}

fn number(object: &Object, key: &str) -> Option<Copies> {
    let count = object.root.get("spec").and_then(|spec| spec.get(key))?;
    Some(Copies {
        count: count.text()?.parse().ok()?,
        span: Some(count.span()),
    })
}

/// The most of a resource that the team of a pod's namespace may have there, and where that is said first; nothing
/// where no quota counts it.
fn limit(scene: &Scene<'_>, pod: &Pod<'_>, resource: &str) -> Option<(u64, Span)> {
    let namespace = pod.object.namespace.as_deref()?;
    let (team, index) = scene.cluster.team_of(namespace)?;
    let grants = || team.grants().filter(|grant| grant.resource == resource);
    let own: Vec<_> = grants().filter(|it| it.namespace == Some(index)).collect();
    let has_queues = scene.cluster.has_queues();
    let mut quotas = team.written.namespace_quotas.iter();
    let is_own = quotas.any(|it| it.namespace == team.namespaces[index]);
    // Pools that offer the same are counted together. Beside a queue a namespace has no quota of GPUs.
    let counted = if own.is_empty() && (has_queues || !is_own) {
        grants().filter(|it| it.namespace.is_none()).collect()
    } else {
        own
    };
    if let Some(first) = counted.first() {
        let limit = counted.iter().map(|it| u64::from(it.limit.value)).sum();
        return Some((limit, first.span));
    }
    let has_quota = team
        .quota_of(index)
        .is_some_and(|quota| !quota.gpus.is_empty());
    let counts_all = if has_queues {
        !pod.is_of_nodes() && is_gpu(resource)
    } else {
        has_quota
    };
    let is_offered = scene.cluster.pools.iter().any(|pool| {
        let mut offers = pool.offers.get().into_iter().flatten();
        offers.any(|offer| offer.resource == resource)
    });
    (counts_all && is_offered).then_some((0, team.name.span))
}
