//! Checks the patches of workloads against derived values and against the pools.

mod api_validation;
mod contention;
mod counts;
mod invalid_counts;
mod manifest_rules;
mod patch_shape;
mod priority;
mod scheduler;
mod security;

use gpuc_model::check::Checked;
use gpuc_model::derive::components::VISIBLE_DEVICES as VISIBLE;
use gpuc_model::scheduling::{
    DefaultRequests, Demand, Feasibility, MisfitCause, PoolFeasibility, check_pools, explain_pool,
};
use gpuc_schema::Spanned;
use gpuc_schema::config::{Fragment, Task, Workload};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};
use gpuc_syntax::node::Node;
use gpuc_syntax::source::Span;
use serde_json::json;

pub(super) use priority::PATCH_PRIORITY;

use super::overridden_values;
use crate::lower::workloads::{patched_objects, pod_specs, unpatched_objects};

/// A patch that overrides a derived value.
pub(super) static PATCH_OVERRIDES: Code = Code {
    id: "GPUC3010",
    name: "patch-overrides-derived-value",
    severity: Severity::Warning,
    summary: "a patch overrides a value that a workload has from its pool, GPUs or queue",
    checks: "Whether a key below `podPatch` or `patch` overrides a value that gpuc derives from the pool, the GPUs
and the team of the workload: tolerations, node selectors and affinity, the runtime class, the GPUs
and network interfaces of a container, environment variables for the network or the kind of workload,
and the queue. Whether it sets `NVIDIA_VISIBLE_DEVICES`, with which the device plugin assigns GPUs.",
        reason: "The patch takes precedence. Without the toleration for its pool's taint, a pod runs on none of its
nodes. If the GPUs differ from the file, quotas and checks use the wrong numbers.",
        remedy: "Add the tolerations from the help to your own, or change the keys that they derive from: `pool`,
`gpus`, `team`. If the override is intended, add the finding's name to `allow`.",
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
workloads:
  - name: finetune
    job: {image: "registry.example.com/model:1.0.0", gpus: 1}
    podPatch:
      nodeSelector: {gpuc.dev/pool: null}
"#,
    correction: Correction::Replace("gpuc.dev/pool: null", "disk: ssd"),
};

/// A patch after which a workload fits no pool.
pub(super) static PATCHED_UNSCHEDULABLE: Code = Code {
    id: "GPUC3011",
    name: "patched-workload-unschedulable",
    severity: Severity::Error,
    summary: "with its patch, a workload fits no pool",
    checks: "Whether the pods of a workload with its `podPatch` and `patch` applied fit the nodes of a pool:
devices, CPU, memory, node selectors, taints, images. Whether services, with the number of pods from
the patch, fit the maximum nodes of their pools together with all others.",
        reason: "The scheduler never places its pods.",
        remedy: "A label on each pool gives the reason why the pod does not fit. Change the patch.",
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
workloads:
  - name: finetune
    job: {image: "registry.example.com/model:1.0.0"}
    podPatch:
      containers: [{name: main, resources: {limits: {nvidia.com/gpu: "4"}}}]
"#,
    correction: Correction::Replace(r#"nvidia.com/gpu: "4""#, r#"nvidia.com/gpu: "1""#),
};

/// A patch after which an object is invalid.
pub(super) static PATCH_UNREADABLE: Code = Code {
    id: "GPUC3012",
    name: "workload-patch-unreadable",
    severity: Severity::Error,
    summary: "with its patch, a workload is not a valid Kubernetes object",
    checks: "Whether the workload is valid with its `podPatch` and `patch` applied. Mappings and lists keep their
type, every container has a name and an image, and gpuc's own container still exists. The API server
must accept the rest: fields and their types, enumerations such as `restartPolicy`, names, labels,
quantities, ports and counts, mounts of existing volumes, and combinations of fields. Custom resources
are validated against the CRDs of their pinned charts: their fields, enumerations and counts, and the
pods in them. `gpuc check --manifests` validates all manifests in the same way
(`manifest-unreadable`).",
        reason: "The API server rejects such an object, or drops unknown fields, which then have no effect.",
        remedy: "Write only the fields that change, with Kubernetes' names. Containers merge by their name: `pytorch` in
a `PyTorchJob`, `node` in a `TrainJob`, and `main` in every other kind.",
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
workloads:
  - name: finetune
    job: {image: "registry.example.com/model:1.0.0", gpus: 1}
    podPatch:
      containers: [{name: main, comand: ["python", "main.py"]}]
"#,
    correction: Correction::Replace("comand:", "command:"),
};

/// A patch after which no pod starts.
pub(super) static PATCH_REFUSED: Code = Code {
    id: "GPUC3013",
    name: "workload-patch-refused",
    severity: Severity::Error,
    summary: "with its patch, a workload violates a rule for manifests",
    checks: "Whether the workload with its `podPatch` and `patch` applied passes the rules of `gpuc check
--manifests`: for example, GPU requests and limits that differ, resources that no pool advertises, and
containers above the `limits` of the team are errors. The `podSecurity` of the team must allow it. Its
`priority` and `preemptionPolicy` must be those of its PriorityClass. With the number of pods from the
patch, it must fit the quota of the team.",
        reason: "The API server rejects its pods, or they get other resources than they request.",
        remedy: "Change the patch as the help describes. To change the number of GPUs, use the workload's own key.",
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
workloads:
  - name: finetune
    job: {image: "registry.example.com/model:1.0.0"}
    podPatch:
      containers: [{name: main, resources: {requests: {nvidia.com/gpu: "1"}}}]
"#,
    correction: Correction::Replace("requests:", "limits:"),
};

/// A problem in a patch: span, message and help.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Problem {
    span: Span,
    message: String,
    help: String,
}

/// Checks every workload that has a patch.
pub(super) fn check(cluster: &Checked<'_>, report: &mut Report) {
    let before = report.count(Severity::Error);
    for workload in &cluster.config.workloads {
        if is_patched(workload) {
            let problems = patch_shape::check(cluster, workload);
            if !problems.is_empty() {
                for it in problems {
                    let builder = report.diagnostic(&PATCH_UNREADABLE, it.span, it.message);
                    builder.help(it.help).emit();
                }
                continue;
            }
            check_overrides(cluster, workload, report);
            priority::check(cluster, workload, report);
            scheduler::check(cluster, workload, report);
            let errors = report.count(Severity::Error);
            check_fits(cluster, workload, report);
            if report.count(Severity::Error) > errors {
                continue;
            }
            let refused = manifest_rules::check(cluster, workload).into_iter();
            let refused = refused.chain(security::check(cluster, workload));
            for it in refused.chain(priority::check_numbers(cluster, workload)) {
                let builder = report.diagnostic(&PATCH_REFUSED, it.span, it.message);
                builder.help(it.help).emit();
            }
        }
    }
    if report.count(Severity::Error) == before {
        contention::check(cluster, report);
    }
}

/// Whether a workload has a patch.
fn is_patched(workload: &Workload) -> bool {
    let patches = [&workload.pod_patch, &workload.patch];
    patches.iter().any(|patch| !patch.value.is_empty())
}

fn check_overrides(cluster: &Checked<'_>, workload: &Spanned<Workload>, report: &mut Report) {
    let before = unpatched_objects(cluster, workload);
    let after = patched_objects(cluster, workload);
    let mut found: Vec<(Span, String, String)> = Vec::new();
    for (before, after) in before.iter().zip(&after) {
        let specs = pod_specs(&before.node);
        for spec in &specs {
            found.extend(overridden_keys("podPatch", spec, &workload.pod_patch));
        }
        found.extend(overridden_keys("patch", &before.node, &workload.patch));
        for (own, patched) in specs.iter().zip(pod_specs(&after.node)) {
            found.extend(changed_devices(own, patched, patch_span(workload)));
            found.extend(changed_variables(own, patched, workload));
        }
    }
    found.sort();
    found.dedup();
    for (span, key, help) in found {
        let message = format!(
            "`{key}` overrides a value that workload `{}` requires",
            workload.name
        );
        report
            .diagnostic(&PATCH_OVERRIDES, span, message)
            .help(help)
            .emit();
    }
}

/// The keys of a patch that override gpuc's values.
fn overridden_keys(
    name: &str,
    ours: &Node,
    patch: &Spanned<Fragment>,
) -> Vec<(Span, String, String)> {
    let found = overridden_values::overridden_values(ours, &Node::from_fragment(patch)).into_iter();
    let found = found.map(|(span, path, ours)| {
        let help = if ours.is_array() {
            format!("add gpuc's entries to the list: `{ours}`")
        } else {
            format!("remove it: gpuc writes `{ours}`")
        };
        (span, format!("{name}.{path}"), help)
    });
    found.collect()
}

/// The devices whose number a patch changes.
fn changed_devices(own: &Node, patched: &Node, patch: Span) -> Vec<(Span, String, String)> {
    let of_pod = |spec| Demand::from_pod_spec(spec, &DefaultRequests::default());
    let (own, patched) = (of_pod(own), of_pod(patched));
    let changed = own.resources.iter().filter_map(|request| {
        let resource = &request.resource.value;
        let now = patched.request(resource);
        let count = now.map_or(0, |now| now.count);
        let span = now.map(|now| now.span).filter(|span| span.is_written());
        let help = format!("remove it: gpuc sets it to `{}`", request.count);
        (count != request.count).then(|| (span.unwrap_or(patch), resource.clone(), help))
    });
    changed.collect()
}

/// The environment variables from the pool or the kind of workload that a patch changes, and the one by which the
/// device plugin assigns GPUs.
fn changed_variables(
    own: &Node,
    patched: &Node,
    workload: &Workload,
) -> Vec<(Span, String, String)> {
    let list = |node: &Node, key: &str| node.get(key).map_or(Vec::new(), |it| it.items().to_vec());
    let name = |node: &Node| node.get("name").and_then(Node::text).map(str::to_owned);
    let pods = workload.task().and_then(Task::pods);
    let is_theirs = |name: &str| {
        let mut env = pods.iter().flat_map(|pods| pods.env.keys());
        let mut others = pods.iter().flat_map(|pods| pods.env_value_from.keys());
        env.any(|own| own.as_str() == name) || others.any(|own| own.as_str() == name)
    };
    let mut found = Vec::new();
    let ours = list(own, "containers");
    for container in list(patched, "containers") {
        let original = ours.iter().find(|it| name(it) == name(&container));
        let ours = original.map_or(Vec::new(), |it| list(it, "env"));
        let now = list(&container, "env");
        for variable in &ours {
            let Some(variable_name) =
                name(variable).filter(|variable_name| !is_theirs(variable_name))
            else {
                continue;
            };
            let other = now
                .iter()
                .find(|it| name(it).as_deref() == Some(&variable_name));
            if other.is_some_and(|other| json!(other) == json!(variable)) {
                continue;
            }
            let value = other.and_then(|other| other.get("value"));
            let span = value.or(other).map(Node::span);
            let span = span.filter(|span| span.is_written());
            let ours = variable.get("value").and_then(Node::text);
            let help = match ours {
                Some(ours) => format!("remove it: gpuc writes `{ours}`"),
                None => "remove it: gpuc writes it".to_owned(),
            };
            found.push((span.unwrap_or(patch_span(workload)), variable_name, help));
        }
        let visible = now
            .iter()
            .find(|it| name(it).as_deref() == Some(VISIBLE))
            .filter(|_| !is_theirs(VISIBLE));
        if let Some(visible) = visible {
            let span = visible.get("value").unwrap_or(visible).span();
            let help = "remove it: the device plugin sets it for each container".to_owned();
            found.push((span, VISIBLE.to_owned(), help));
        }
    }
    found
}

fn patch_span(workload: &Workload) -> Span {
    let pod = workload.pod_patch.span;
    if pod.is_written() {
        pod
    } else {
        workload.patch.span
    }
}

/// The feasibility of a patched pod on each pool. Kueue adds the tolerations of a pool on admission.
fn feasibility_by_pool<'c>(
    cluster: &'c Checked<'_>,
    workload: &Workload,
    demand: &Demand,
) -> Vec<PoolFeasibility<'c>> {
    let mut evaluations = check_pools(demand, cluster);
    if cluster.has_queues() && workload.team.is_some() {
        for evaluation in &mut evaluations {
            let is_taint = |cause: &MisfitCause| matches!(cause, MisfitCause::Taint { .. });
            evaluation.reasons.retain(|reason| !is_taint(&reason.cause));
        }
    }
    evaluations
}

fn check_fits(cluster: &Checked<'_>, workload: &Spanned<Workload>, report: &mut Report) {
    let objects = patched_objects(cluster, workload);
    let pods = objects.iter().find_map(counts::gang_pods);
    let defaults = DefaultRequests::for_namespace(cluster, cluster.namespace_of(workload));
    for object in &objects {
        for spec in pod_specs(&object.node) {
            let pods = pods.map(|count| {
                let pod_count = u32::try_from(count.pods).unwrap_or(u32::MAX);
                Spanned::new(pod_count, count.span.unwrap_or(patch_span(workload)))
            });
            let demand = Demand {
                anti_affinity: pods.is_some(),
                pods,
                ..Demand::from_pod_spec(spec, &defaults)
            };
            let evaluations = feasibility_by_pool(cluster, workload, &demand);
            let mut feasibilities = evaluations.iter().map(PoolFeasibility::feasibility);
            if feasibilities.any(|feasibility| feasibility != Feasibility::DoesNotFit) {
                continue;
            }
            let message = format!("with its patch, workload `{}` fits no pool", workload.name);
            let reasons = evaluations
                .iter()
                .flat_map(|evaluation| &evaluation.reasons);
            let mut spans = reasons.map(|reason| reason.request_span);
            let defaults = [defaults.cpu, defaults.memory];
            let is_default = |span: &Span| defaults.iter().flatten().any(|it| it.span == *span);
            let written = spans.find(|span| span.is_written() && !is_default(span));
            let span = written.unwrap_or_else(|| patch_span(workload));
            let mut builder = report.diagnostic(&PATCHED_UNSCHEDULABLE, span, message);
            let mut reasons = evaluations
                .iter()
                .flat_map(|evaluation| &evaluation.reasons);
            if let Some(reason) = reasons.find(|it| is_default(&it.request_span)) {
                let label = "the default for containers that set no value";
                builder = builder.label(reason.request_span, label);
            }
            for evaluation in &evaluations {
                if let Some(line) = explain_pool(evaluation) {
                    builder = builder.label(evaluation.pool.name.span, line);
                }
            }
            builder.help("change the patch or the workload").emit();
            return;
        }
    }
}
