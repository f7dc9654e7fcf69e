//! What users lay over workloads, held against what gpuc derives and against the pools.

mod counts;
mod numbers;
mod priority;
mod refused;
mod scheduler;
mod security;
mod shape;
mod together;
mod typed;

use gpuc_schema::Spanned;
use gpuc_schema::config::{Fragment, Task, Workload};
use serde_json::json;

pub(super) use priority::PATCH_PRIORITY;

use super::undone;
use crate::check::Checked;
use crate::check::workload_visible_devices_set::VISIBLE;
use crate::diag::{Code, Report, Severity};
use crate::lower::workloads::{made, patched, pod_specs};
use crate::node::Node;
use crate::placement::{Answer, Defaults, Demand, Verdict, Why, line, places};
use crate::source::Span;

/// A patch that undoes what follows from the rest of the file.
pub(super) static PATCH_UNDONE: Code = Code {
    id: "GPUC3010",
    name: "workload-patch-undone",
    severity: Severity::Warning,
    summary: "a patch undoes what a workload has from its pool, its GPUs or its queue",
    explain: "### What it checks

Every key below `podPatch` and `patch` against what gpuc writes there for what follows from the pool,
the GPUs and the team of the workload: tolerations, node selectors and affinity, the runtime class,
the GPUs and network interfaces of a container, its variables that the network or the kind of workload
needs, the queue. And `NVIDIA_VISIBLE_DEVICES`, by which the device plugin says which GPUs there are.

### Why it matters

The patch has the last word. Without the toleration of its pool's taint a pod runs on none of its
nodes, and with other GPUs than the file says, quotas and checks count the wrong ones.

### What to do

Write the tolerations that the help names beside your own, or change what they follow from: `pool`,
`gpus`, `team`. Where it is meant, name the finding in `allow`.
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
workloads:
  - name: finetune
    job: {image: "registry.example.com/model:1.0.0", gpus: 1}
    podPatch:
      nodeSelector: {gpuc.dev/pool: null}
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
workloads:
  - name: finetune
    job: {image: "registry.example.com/model:1.0.0", gpus: 1}
    podPatch:
      nodeSelector: {disk: ssd}
"#,
};

/// A patch after which no pool holds a workload.
pub(super) static PATCHED_NOWHERE: Code = Code {
    id: "GPUC3011",
    name: "patched-workload-nowhere",
    severity: Severity::Error,
    summary: "with its patch, no pool holds a workload",
    explain: "### What it checks

The pods of a workload with its `podPatch` and `patch` laid over them, against the nodes of every pool:
resources, CPU, memory, node selectors, taints, images. With as many pods as a patch says, services are
held against the most nodes of their pools together with all others.

### Why it matters

Its pods would wait for ever, as if they had been written wrong from the start.

### What to do

Each pool is labelled with why it does not hold the pod. Change the patch.
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
workloads:
  - name: finetune
    job: {image: "registry.example.com/model:1.0.0"}
    podPatch:
      containers: [{name: main, resources: {limits: {nvidia.com/gpu: "4"}}}]
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
workloads:
  - name: finetune
    job: {image: "registry.example.com/model:1.0.0"}
    podPatch:
      containers: [{name: main, resources: {limits: {nvidia.com/gpu: "1"}}}]
"#,
};

/// A patch after which an object is none, or not what was meant.
pub(super) static PATCH_UNREADABLE: Code = Code {
    id: "GPUC3012",
    name: "workload-patch-unreadable",
    severity: Severity::Error,
    summary: "with its patch, a workload is nothing that Kubernetes can read",
    explain: "### What it checks

The workload with its `podPatch` and `patch` laid over it: whether mappings and lists are still what
they were, every container has a name and an image, the container that gpuc makes is there, and whether
the API server takes the rest: fields and the kinds of their values, words such as those of
`restartPolicy`, names, labels, amounts, ports and counts, volumes that are mounted and not there, and
what cannot stand beside what. Custom resources are held against the definitions that their pinned
charts bring: their fields, words and counts, and the pods in them.
`gpuc check --manifests` asks the same of everybody's manifests (`manifest-unreadable`).

### Why it matters

The API server refuses such an object, or drops the fields that it does not know, and what they were
to do is not done.

### What to do

Write only the fields that change, by Kubernetes' names. Containers merge by their name: `pytorch` in
a `PyTorchJob`, `node` in a `TrainJob`, and `main` in everything else.
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
workloads:
  - name: finetune
    job: {image: "registry.example.com/model:1.0.0", gpus: 1}
    podPatch:
      containers: [{name: main, comand: ["python", "main.py"]}]
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
workloads:
  - name: finetune
    job: {image: "registry.example.com/model:1.0.0", gpus: 1}
    podPatch:
      containers: [{name: main, command: ["python", "main.py"]}]
"#,
};

/// A patch after which no pod would ever start.
pub(super) static PATCH_REFUSED: Code = Code {
    id: "GPUC3013",
    name: "workload-patch-refused",
    severity: Severity::Error,
    summary: "with its patch, a workload has an error that manifests are checked for",
    explain: "### What it checks

The workload with its `podPatch` and `patch` laid over it, by the rules of `gpuc check`: requests and
limits of GPUs that differ, resources that no pool offers, containers with more than the `limits` of its
team, and the other errors that manifests may have; whether the `podSecurity` of its team refuses it; a
`priority` or `preemptionPolicy` that is not its PriorityClass's; and with as many pods as the patch
says, against what its team may have.

### Why it matters

The API server refuses its pods, or they get something else than they ask for.

### What to do

Change the patch as the help says. The number of GPUs is better changed where the workload says it.
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
workloads:
  - name: finetune
    job: {image: "registry.example.com/model:1.0.0"}
    podPatch:
      containers: [{name: main, resources: {requests: {nvidia.com/gpu: "1"}}}]
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
workloads:
  - name: finetune
    job: {image: "registry.example.com/model:1.0.0"}
    podPatch:
      containers: [{name: main, resources: {limits: {nvidia.com/gpu: "1"}}}]
"#,
};

/// Something that is wrong with a patch, where, and what to write.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Wrong {
    span: Span,
    message: String,
    help: String,
}

/// Looks at every workload that has a patch.
pub(super) fn look(cluster: &Checked<'_>, report: &mut Report) {
    let before = report.count(Severity::Error);
    for workload in &cluster.written.workloads {
        if is_patched(workload) {
            let wrong = shape::look(cluster, workload);
            if !wrong.is_empty() {
                for it in wrong {
                    let draft = report.draft(&PATCH_UNREADABLE, it.span, it.message);
                    draft.help(it.help).emit();
                }
                continue;
            }
            undoes(cluster, workload, report);
            priority::look(cluster, workload, report);
            scheduler::look(cluster, workload, report);
            let errors = report.count(Severity::Error);
            holds(cluster, workload, report);
            if report.count(Severity::Error) > errors {
                continue;
            }
            let refused = refused::look(cluster, workload).into_iter();
            let refused = refused.chain(security::look(cluster, workload));
            for it in refused.chain(priority::numbers(cluster, workload)) {
                let draft = report.draft(&PATCH_REFUSED, it.span, it.message);
                draft.help(it.help).emit();
            }
        }
    }
    if report.count(Severity::Error) == before {
        together::look(cluster, report);
    }
}

/// Whether anything is laid over a workload.
fn is_patched(workload: &Workload) -> bool {
    let patches = [&workload.pod_patch, &workload.patch];
    patches.iter().any(|patch| !patch.value.is_empty())
}

fn undoes(cluster: &Checked<'_>, workload: &Spanned<Workload>, report: &mut Report) {
    let before = made(cluster, workload);
    let after = patched(cluster, workload);
    let mut found: Vec<(Span, String, String)> = Vec::new();
    for (before, after) in before.iter().zip(&after) {
        let specs = pod_specs(&before.node);
        for spec in &specs {
            found.extend(keys("podPatch", spec, &workload.pod_patch));
        }
        found.extend(keys("patch", &before.node, &workload.patch));
        for (own, patched) in specs.iter().zip(pod_specs(&after.node)) {
            found.extend(devices(own, patched, patch_of(workload)));
            found.extend(variables(own, patched, workload));
        }
    }
    found.sort();
    found.dedup();
    for (span, what, help) in found {
        let message = format!("`{what}` undoes what workload `{}` needs", workload.name);
        report.draft(&PATCH_UNDONE, span, message).help(help).emit();
    }
}

/// The keys of a patch that undo what gpuc writes there.
fn keys(name: &str, ours: &Node, patch: &Spanned<Fragment>) -> Vec<(Span, String, String)> {
    let found = undone::of(ours, &Node::passed(patch)).into_iter();
    let found = found.map(|(span, path, ours)| {
        let help = if ours.is_array() {
            format!("add to the list what gpuc writes: `{ours}`")
        } else {
            format!("remove it: gpuc writes `{ours}`")
        };
        (span, format!("{name}.{path}"), help)
    });
    found.collect()
}

/// The devices of which a pod gets another number by a patch.
fn devices(own: &Node, patched: &Node, patch: Span) -> Vec<(Span, String, String)> {
    let of_pod = |spec| Demand::of_pod(spec, &Defaults::default());
    let (own, patched) = (of_pod(own), of_pod(patched));
    let changed = own.resources.iter().filter_map(|request| {
        let resource = &request.resource.value;
        let now = patched.request(resource);
        let count = now.map_or(0, |now| now.count);
        let span = now.map(|now| now.span).filter(|span| span.is_written());
        let help = format!("remove it: gpuc writes `{}` of it", request.count);
        (count != request.count).then(|| (span.unwrap_or(patch), resource.clone(), help))
    });
    changed.collect()
}

/// The variables that containers have from their pool or their kind and get another value by a patch, and the one by
/// which the device plugin says which GPUs there are.
fn variables(own: &Node, patched: &Node, workload: &Workload) -> Vec<(Span, String, String)> {
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
        let whole = ours.iter().find(|it| name(it) == name(&container));
        let ours = whole.map_or(Vec::new(), |it| list(it, "env"));
        let now = list(&container, "env");
        for variable in &ours {
            let Some(called) = name(variable).filter(|called| !is_theirs(called)) else {
                continue;
            };
            let other = now.iter().find(|it| name(it).as_deref() == Some(&called));
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
            found.push((span.unwrap_or(patch_of(workload)), called, help));
        }
        let sees = now
            .iter()
            .find(|it| name(it).as_deref() == Some(VISIBLE))
            .filter(|_| !is_theirs(VISIBLE));
        if let Some(sees) = sees {
            let span = sees.get("value").unwrap_or(sees).span();
            let help = "remove it: the device plugin says which GPUs a container sees".to_owned();
            found.push((span, VISIBLE.to_owned(), help));
        }
    }
    found
}

fn patch_of(workload: &Workload) -> Span {
    let pod = workload.pod_patch.span;
    if pod.is_written() {
        pod
    } else {
        workload.patch.span
    }
}

/// What each pool says to a pod of a workload with its patches. A queue gives it the tolerations of a pool when its
/// turn has come.
fn verdicts<'c>(
    cluster: &'c Checked<'_>,
    workload: &Workload,
    demand: &Demand,
) -> Vec<Verdict<'c>> {
    let mut verdicts = places(demand, cluster);
    if cluster.has_queues() && workload.team.is_some() {
        for verdict in &mut verdicts {
            let is_taint = |why: &Why| matches!(why, Why::Taint { .. });
            verdict.reasons.retain(|reason| !is_taint(&reason.why));
        }
    }
    verdicts
}

fn holds(cluster: &Checked<'_>, workload: &Spanned<Workload>, report: &mut Report) {
    let objects = patched(cluster, workload);
    let pods = objects.iter().find_map(counts::at_once);
    let given = Defaults::of(cluster, cluster.namespace_of(workload));
    for object in &objects {
        for spec in pod_specs(&object.node) {
            let pods = pods.map(|count| {
                let many = u32::try_from(count.pods).unwrap_or(u32::MAX);
                Spanned::new(many, count.span.unwrap_or(patch_of(workload)))
            });
            let demand = Demand {
                apart: pods.is_some(),
                pods,
                ..Demand::of_pod(spec, &given)
            };
            let verdicts = verdicts(cluster, workload, &demand);
            let mut answers = verdicts.iter().map(Verdict::answer);
            if answers.any(|answer| answer != Answer::No) {
                continue;
            }
            let message = format!("with its patch, no pool holds workload `{}`", workload.name);
            let reasons = verdicts.iter().flat_map(|verdict| &verdict.reasons);
            let mut places = reasons.map(|reason| reason.asked);
            let given = [given.cpu, given.memory];
            let is_given = |span: &Span| given.iter().flatten().any(|it| it.span == *span);
            let place = places.find(|span| span.is_written() && !is_given(span));
            let span = place.unwrap_or_else(|| patch_of(workload));
            let mut draft = report.draft(&PATCHED_NOWHERE, span, message);
            let mut reasons = verdicts.iter().flat_map(|verdict| &verdict.reasons);
            if let Some(reason) = reasons.find(|it| is_given(&it.asked)) {
                let why = "a container is given so much that says nothing";
                draft = draft.label(reason.asked, why);
            }
            for verdict in &verdicts {
                if let Some(line) = line(verdict) {
                    draft = draft.label(verdict.pool.name.span, line);
                }
            }
            draft
                .help("change the patch, or what it is laid over")
                .emit();
            return;
        }
    }
}
