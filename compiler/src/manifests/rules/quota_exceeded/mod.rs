//! A manifest asks for more than its team may have.

mod amounts;
mod volumes;

use crate::diag::{Code, Report, Severity};
use crate::manifests::place::is_queued;
use crate::manifests::resources::{Amount, amount, is_gpu};
use crate::manifests::services::Count;
use crate::manifests::{Container, Pod, Rule, Scene, claims, jobs, services};
use crate::source::Span;

use super::job_over_quota;

/// A manifest asks for more than its team may have.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4010",
        name: "manifest-quota-exceeded",
        severity: Severity::Error,
        summary: "a manifest asks for more than its team may have",
        explain: "### What it checks

Whether the pods that an object of a team's namespace makes at once, by `replicas`, by `parallelism` or by
the `minReplicas` of its HorizontalPodAutoscaler, ask for no more GPUs, by their resources or by claims,
CPU and memory than the team's quota has at most, and are no more than its `pods`;
each container for no more than the team's `limits.max` and `limits.gpusPerContainer`, and for no more
than the limit that it is given by `limits.default` where it says none. A container that says nothing
counts with `limits.defaultRequest`. A PersistentVolumeClaim may ask for no more than the quota's
`storage`. Once a team has a quota of GPUs, or waits in
a queue, it has none of what the quota does not name. A Job that waits in no queue runs with fewer pods
at once, which is a finding of its own, `manifest-job-over-quota`.

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
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat, namespace: research}
spec:
  replicas: 2
  strategy: {type: Recreate}
  selector: {matchLabels: {app: chat}}
  template:
    metadata: {labels: {app: chat}}
    spec:
      tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
      containers:
        - name: chat
          image: registry.example.com/chat:1.0.0
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
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat, namespace: research}
spec:
  replicas: 1
  strategy: {type: Recreate}
  selector: {matchLabels: {app: chat}}
  template:
    metadata: {labels: {app: chat}}
    spec:
      tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
      containers:
        - name: chat
          image: registry.example.com/chat:1.0.0
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
    }
    look(scene, Kind::Never, report);
}

/// What becomes of pods that are more than a team may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// They are never there, or not all of them.
    Never,
    /// They come one after the other, as a Job's.
    InTurn,
}

impl Kind {
    pub(super) fn of(in_turn: bool) -> Self {
        if in_turn { Self::InTurn } else { Self::Never }
    }

    /// The finding that says it.
    pub(super) fn code(self) -> &'static Code {
        match self {
            Self::Never => &RULE.code,
            Self::InTurn => &job_over_quota::RULE.code,
        }
    }

    /// What is said of an object.
    fn says(self) -> &'static str {
        match self {
            Self::Never => "asks for more than its team may have",
            Self::InTurn => "does not have all of its pods at once",
        }
    }
}

/// Looks for what all pods of an object ask for.
pub(super) fn look(scene: &Scene<'_>, kind: Kind, report: &mut Report) {
    for pod in &scene.pods {
        let copies = copies(scene, pod);
        amounts::of_pods(scene, pod, copies, kind, report);
        let is_job = jobs::spec(pod.object).is_some() && !is_queued(scene.cluster, pod);
        for Asked {
            resource,
            each,
            copies,
            span,
        } in asked(scene, pod, copies.pods)
        {
            let Some((limit, place)) = limit(scene, pod, &resource) else {
                continue;
            };
            let all = each.saturating_mul(copies);
            if all <= limit || Kind::of(is_job && each <= limit) != kind {
                continue;
            }
            let what = if copies > 1 {
                format!("{copies} pods with {each} each are {all} of `{resource}`")
            } else {
                format!("{each} of `{resource}`")
            };
            let message = format!("{} {}: {what}", pod.title(), kind.says());
            let draft = report.draft(kind.code(), span, message);
            draft
                .label(place, format!("the team may have {limit} at most"))
                .help(help(kind, limit))
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

fn help(kind: Kind, limit: u64) -> &'static str {
    match (kind, limit) {
        (Kind::InTurn, _) => job_over_quota::HELP,
        (_, 0) => "ask for what the team's quota has, or add this to the quota",
        _ => "ask for less, or write a larger `limit` in the team's quota",
    }
}

/// Devices that pods of an object ask for.
struct Asked {
    resource: String,
    /// How many each of them.
    each: u64,
    /// How many pods have some of their own.
    copies: u64,
    span: Span,
}

/// The devices that pods ask for, each resource once, and where one does first. Containers that run before the
/// others ask for the same ones.
fn asked(scene: &Scene<'_>, pod: &Pod<'_>, copies: u64) -> Vec<Asked> {
    let mut all: Vec<Asked> = Vec::new();
    let mut add = |resource: &str, each: u64, copies: u64, span: Span| {
        let same = |it: &&mut Asked| it.resource == resource && it.copies == copies;
        match all.iter_mut().find(same) {
            Some(asked) => asked.each = asked.each.saturating_add(each),
            None => all.push(Asked {
                resource: resource.to_owned(),
                each,
                copies,
                span,
            }),
        }
    };
    let containers = pod.containers.iter().filter(|it| !it.is_init);
    for entry in containers.flat_map(Container::asks) {
        if let Amount::Whole(count @ 1..) = amount(&entry.value) {
            add(&entry.key, count, copies, entry.value.span());
        }
    }
    for claim in claims::of_pod(pod) {
        let known = claims::asked(scene.cluster, &scene.claims, pod, &claim);
        // Pods that name one claim share what it has.
        let is_shared = claim.kind() == claims::CLAIM;
        for asked in known.into_iter().flatten() {
            let copies = if is_shared { copies.min(1) } else { copies };
            let span = claim.source.span();
            add(&asked.class, asked.count, copies, span);
        }
    }
    all
}

/// How many pods a plain controller makes at once; one of others, whose pods a controller of their own makes.
pub(super) fn copies(scene: &Scene<'_>, pod: &Pod<'_>) -> Count {
    let job = jobs::of_job(scene.cluster, pod);
    let count = job.or_else(|| services::at_once(scene, pod));
    count.unwrap_or(Count {
        pods: 1,
        span: None,
    })
}

/// The most of a resource that the team of a pod's namespace may have there, and where that is said first; nothing
/// where no quota counts it.
pub(super) fn limit(scene: &Scene<'_>, pod: &Pod<'_>, resource: &str) -> Option<(u64, Span)> {
    let namespace = pod.object.namespace.as_deref()?;
    let (team, index) = scene.cluster.team_of(namespace)?;
    let grants = || team.grants().filter(|grant| grant.resource == resource);
    let own: Vec<_> = grants().filter(|it| it.namespace == Some(index)).collect();
    let has_queues = scene.cluster.has_queues();
    let pools = scene.cluster.pools.iter();
    let is_claimed = pools
        .flat_map(|pool| &pool.classes)
        .any(|it| it.name == resource);
    // Claims wait in no queue, and nobody counts them there.
    if is_claimed && has_queues {
        return None;
    }
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
    (counts_all && (is_offered || is_claimed)).then_some((0, team.name.span))
}
