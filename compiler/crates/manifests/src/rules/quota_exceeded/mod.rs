//! A manifest exceeds the quota of its team.

mod amounts;
mod excess;
mod volumes;

use gpuc_model::{Grant, Quota};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};
use gpuc_syntax::source::Span;

use crate::pod_count::PodCount;
use crate::resources::{DEVICE_CLASS_PREFIX, ResourceCount, is_gpu_name, parse_count};
use crate::scheduling::is_queued;
use crate::services;
use crate::{CheckContext, Container, Pod, Rule, claims, jobs};

use excess::SEQUENTIAL_HELP;
pub(super) use excess::{Excess, ExcessKind};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4010",
        name: "manifest-quota-exceeded",
        severity: Severity::Error,
        summary: "a manifest exceeds the quota of its team",
        checks: "Whether the pods that an object in a team's namespace creates at once are within the team's quota.
`replicas`, `parallelism` or the `minReplicas` of a HorizontalPodAutoscaler set their number. Their GPUs,
requested as resources or through claims, and their CPU and memory must not exceed the maximum of the quota,
nor their number its `pods`. If a team has a quota for GPUs, or its pods wait in a queue, the quota is zero
for GPUs that it does not name.

Each container must stay within the team's `limits.max` and `limits.gpusPerContainer`, and within the limit
from `limits.default` if it sets none. A container without requests counts with `limits.defaultRequest`.
PersistentVolumeClaims must stay within the quota's `storage`.

A Job outside of queues may run with fewer pods at once; `manifest-job-over-quota` reports it.",
        reason: "The API server rejects the excess pods: a Job never has all of its pods, and a single pod that exceeds the
quota is never created. It also rejects every pod with a container whose limit is less than its request.",
        remedy: "Request less, or give the team a larger `limit`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
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
        correction: Correction::Replace("replicas: 2", "replicas: 1"),
    },
    run,
};

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    volumes::check_claims(ctx, report);
    for pod in &ctx.pods {
        check_containers(ctx, pod, report);
        amounts::check_containers(ctx, pod, report);
    }
    let excess = Excess {
        kind: ExcessKind::Never,
        code: &RULE.code,
    };
    check(ctx, excess, report);
}

/// Checks the total requests of all pods of each object.
pub(super) fn check(ctx: &CheckContext<'_>, excess: Excess, report: &mut Report) {
    for pod in &ctx.pods {
        let copies = concurrent_pods(ctx, pod);
        amounts::check_pods(ctx, pod, copies, excess, report);
        let is_job = jobs::job_spec(pod.object).is_some() && !is_queued(ctx.cluster, pod);
        for DeviceRequest {
            resource,
            each,
            copies,
            span,
        } in device_requests(ctx, pod, copies.pods)
        {
            let Some((limit, limit_span)) = quota_limit(ctx, pod, &resource) else {
                continue;
            };
            let all = each.saturating_mul(copies);
            if all <= limit
                || ExcessKind::from_is_sequential(is_job && each <= limit) != excess.kind
            {
                continue;
            }
            let total = if copies > 1 {
                format!("{copies} pods with {each} each need {all} of `{resource}`")
            } else {
                format!("{each} of `{resource}`")
            };
            let message = format!("{} {}: {total}", pod.title(), excess.kind.problem());
            let builder = report.diagnostic(excess.code, span, message);
            builder
                .label(limit_span, format!("the quota of the team is {limit}"))
                .help(help(excess.kind, limit))
                .emit();
        }
    }
}

/// Checks the GPUs of each container against `limits.gpusPerContainer` of the team.
fn check_containers(ctx: &CheckContext<'_>, pod: &Pod<'_>, report: &mut Report) {
    let namespace = pod.object.namespace.as_deref();
    let team = namespace.and_then(|it| ctx.cluster.team_of_namespace(it));
    let Some((team, max)) = team.and_then(|(team, _)| Some((team, team.gpus_per_container()?)))
    else {
        return;
    };
    let names = ctx.cluster.requestable_resources(team);
    for entry in pod
        .containers
        .iter()
        .flat_map(Container::requested_resources)
    {
        let ResourceCount::Whole(count) = parse_count(&entry.value) else {
            continue;
        };
        if count <= u64::from(max.value) || !names.contains(entry.key.as_str()) {
            continue;
        }
        let message = format!(
            "{} exceeds the limit of its team per container: {count} of `{}`",
            pod.title(),
            entry.key
        );
        let builder = report.diagnostic(&RULE.code, entry.value.span(), message);
        let text = format!("at most {max} per container of team `{}`", team.name);
        builder
            .label(max.span, text)
            .help("request less in each of several pods, or raise the team's `limits.gpusPerContainer`")
            .emit();
    }
}

fn help(kind: ExcessKind, limit: u64) -> &'static str {
    match (kind, limit) {
        (ExcessKind::Sequential, _) => SEQUENTIAL_HELP,
        (_, 0) => "request a resource of the team's quota, or add this one to the quota",
        _ => "request less, or write a larger `limit` in the team's quota",
    }
}

/// A request of an object's pods for devices.
struct DeviceRequest {
    resource: String,
    /// The devices per pod.
    each: u64,
    /// The number of pods that do not share the devices.
    copies: u64,
    span: Span,
}

/// The device requests of pods, one per resource, with the span of the first. Init containers are ignored: they use
/// the same devices as the others.
fn device_requests(ctx: &CheckContext<'_>, pod: &Pod<'_>, copies: u64) -> Vec<DeviceRequest> {
    let mut all: Vec<DeviceRequest> = Vec::new();
    let mut add = |resource: &str, each: u64, copies: u64, span: Span| {
        let same = |it: &&mut DeviceRequest| it.resource == resource && it.copies == copies;
        match all.iter_mut().find(same) {
            Some(request) => request.each = request.each.saturating_add(each),
            None => all.push(DeviceRequest {
                resource: resource.to_owned(),
                each,
                copies,
                span,
            }),
        }
    };
    let containers = pod.containers.iter().filter(|it| !it.is_init);
    for entry in containers.flat_map(Container::requested_resources) {
        if let ResourceCount::Whole(count @ 1..) = parse_count(&entry.value) {
            // Kubernetes creates a claim for the resource of a DeviceClass.
            let class = entry.key.strip_prefix(DEVICE_CLASS_PREFIX);
            add(
                class.unwrap_or(&entry.key),
                count,
                copies,
                entry.value.span(),
            );
        }
    }
    for claim in claims::pod_claims(pod) {
        let known = claims::requested_devices(ctx.cluster, &ctx.claims, pod, &claim);
        // Pods that name the same ResourceClaim share its devices.
        let is_shared = claim.kind() == claims::CLAIM_KIND;
        for request in known.into_iter().flatten() {
            let copies = if is_shared { copies.min(1) } else { copies };
            let span = claim.source.span();
            add(&request.class, request.count, copies, span);
        }
    }
    all
}

/// The number of pods that a built-in controller creates at once; one for other controllers.
pub(super) fn concurrent_pods(ctx: &CheckContext<'_>, pod: &Pod<'_>) -> PodCount {
    let job = jobs::job_pods(ctx.cluster, pod);
    let count = job.or_else(|| services::initial_pods(ctx, pod));
    count.unwrap_or(PodCount {
        pods: 1,
        span: None,
    })
}

/// The maximum of a resource for the team in a pod's namespace, with its first span; `None` if no quota counts the
/// resource.
pub(super) fn quota_limit(
    ctx: &CheckContext<'_>,
    pod: &Pod<'_>,
    resource: &str,
) -> Option<(u64, Span)> {
    let namespace = pod.object.namespace.as_deref()?;
    let (team, index) = ctx.cluster.team_of_namespace(namespace)?;
    let cluster = ctx.cluster;
    // A request for the extended resource of a DeviceClass counts for the pools of all grants with that resource.
    let is_counted = |grant: &&Grant| {
        grant.resource == resource || cluster.extended_resource_of(grant) == Some(resource)
    };
    let grants = || team.grants().filter(is_counted);
    let own: Vec<_> = grants().filter(|it| it.namespace == Some(index)).collect();
    let has_queues = ctx.cluster.has_queues();
    let pools = ctx.cluster.pools.iter();
    let is_claimed = pools
        .flat_map(|pool| &pool.classes)
        .any(|it| it.name == resource || it.extended_resource.as_deref() == Some(resource));
    // Kueue does not count claims.
    if is_claimed && has_queues {
        return None;
    }
    let is_own = team.has_namespace_quota(index);
    // Pools that advertise the same resource are counted together. With queues, a namespace has no GPU quota.
    let counted = if own.is_empty() && (has_queues || !is_own) {
        grants().filter(|it| it.namespace.is_none()).collect()
    } else {
        own
    };
    if let Some(first) = counted.first() {
        let limit = counted.iter().map(|it| u64::from(it.limit.value)).sum();
        return Some((limit, first.span));
    }
    let has_quota = team.namespace_quota(index).is_some_and(Quota::has_gpus);
    let counts_all = if has_queues {
        !pod.is_of_daemon_set() && is_gpu_name(resource)
    } else {
        has_quota
    };
    let is_advertised = ctx.cluster.pools.iter().any(|pool| {
        let mut advertised = pool.advertised.get().into_iter().flatten();
        advertised.any(|advertised_resource| advertised_resource.name == resource)
    });
    (counts_all && (is_advertised || is_claimed)).then_some((0, team.name.span))
}
