//! A job that waits in a queue is one that Kueue refuses.

use std::collections::BTreeSet;

use crate::diag::words::nearest;
use crate::diag::{Code, Report, Severity};
use crate::manifests::place::waits_in_one;
use crate::manifests::read::Object;
use crate::manifests::{Rule, Scene, jobs};
use crate::node::Node;
use crate::source::Span;

/// A job that waits in a queue is one that Kueue refuses.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4070",
        name: "manifest-queue-refused",
        severity: Severity::Error,
        summary: "a job that waits in a queue is one that Kueue refuses",
        explain: "### What it checks

Under `queueing: kueue`, what Kueue's webhooks refuse of objects that name a queue or stand in a team's
namespace: RayJobs whose cluster stays after the job, or is another one's, or has more groups than Kueue
counts; Jobs that may start with as many pods as they have, or more; pods of a group that do not say how
many pods the group has.

### Why it matters

The API server refuses the object: `admission webhook \"vrayjob.kb.io\" denied the request`. What a
queue has given a job is free again only when the job leaves nothing behind.

### What to do

Write what the help says.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: cpu, hosts: [node-1], nodes: {count: 1}}
  - {name: gpu, gpu: {model: A30, perNode: 2}, hosts: [node-2], nodes: {count: 1}}
queueing: kueue
teams:
  - {name: research, quota: {gpus: [{pool: gpu, guaranteed: 2}]}}
--- # manifest.yaml
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: research, annotations: {kueue.x-k8s.io/job-min-parallelism: "4"}}
spec:
  parallelism: 2
  template:
    spec:
      restartPolicy: Never
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
  - {name: gpu, gpu: {model: A30, perNode: 2}, hosts: [node-2], nodes: {count: 1}}
queueing: kueue
teams:
  - {name: research, quota: {gpus: [{pool: gpu, guaranteed: 2}]}}
--- # manifest.yaml
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: research, annotations: {kueue.x-k8s.io/job-min-parallelism: "1"}}
spec:
  parallelism: 2
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: train
          image: registry.example.com/train:1.0.0
          resources: {limits: {nvidia.com/gpu: 1}}
"#,
    },
    run,
};

/// Names that Kueue reads.
///
/// Source: kubernetes-sigs/kueue@001e49ba `pkg/controller/jobs/pod/pod_webhook.go` and @06452008
/// `pkg/controller/jobs/job/job_webhook.go`.
const GROUP: &str = "kueue.x-k8s.io/pod-group-name";
const TOTAL: &str = "kueue.x-k8s.io/pod-group-total-count";
const LEAST: &str = "kueue.x-k8s.io/job-min-parallelism";

/// The most sets of pods that a Workload has, one of which is the head's.
///
/// Source: kubernetes-sigs/kueue@v0.19.2 `config/components/crd/bases/kueue.x-k8s.io_workloads.yaml`, `podSets`;
/// `pkg/controller/jobs/raycluster/common.go@05441dd6`, `ValidateCreate`.
const SETS: usize = 18;

/// What is refused: where, what, and what to write.
type Found = (Span, String, String);

fn run(scene: &Scene<'_>, report: &mut Report) {
    let queued = scene.objects.iter();
    for object in queued.filter(|it| waits_in_one(scene.cluster, it)) {
        let mut found = Vec::new();
        match object.kind.as_str() {
            "RayJob" if object.is_of("ray.io") => ray_job(object, &mut found),
            "RayCluster" if object.is_of("ray.io") => {
                if let Some(spec) = object.root.get("spec") {
                    cluster(spec, &mut found);
                }
            }
            "Job" | "CronJob" if object.is_of("batch") => found.extend(job(object)),
            "Pod" if object.api_version == "v1" => found.extend(pod(object)),
            _ => {}
        }
        let mut said = BTreeSet::new();
        for (span, what, help) in found.into_iter().filter(|it| said.insert(it.0)) {
            let message = format!("Kueue refuses {}: {what}", object.title());
            let draft = report.draft(&RULE.code, span, message);
            draft
                .label(scene.cluster.written.queueing.span, "jobs wait in queues")
                .help(help)
                .emit();
        }
    }
}

/// Source: kubernetes-sigs/kueue@0394bfa8 `pkg/controller/jobs/rayjob/rayjob_webhook.go`, `validateCreate`.
fn ray_job(object: &Object, found: &mut Vec<Found>) {
    let Some(spec) = object.root.get("spec") else {
        return;
    };
    let Some(own) = spec.entry("rayClusterSpec") else {
        return;
    };
    let selector = spec.entry("clusterSelector");
    if let Some(selector) = selector.filter(|it| !it.value.entries().is_empty()) {
        found.push((
            selector.key_span,
            "it is to run on a cluster of others, beside one of its own".to_owned(),
            "remove `clusterSelector`, or `rayClusterSpec`: Kueue then leaves it alone".to_owned(),
        ));
        return;
    }
    let stays = "its cluster stays when the job is over".to_owned();
    match spec.get("shutdownAfterJobFinishes") {
        None => found.push((
            own.key_span,
            stays,
            "write `shutdownAfterJobFinishes: true` beside it".to_owned(),
        )),
        Some(goes) if goes.text() == Some("false") => {
            found.push((goes.span(), stays, "write `true`".to_owned()));
        }
        Some(_) => {}
    }
    cluster(&own.value, found);
}

/// Source: kubernetes-sigs/kueue@05441dd6 `pkg/controller/jobs/raycluster/common.go`, `ValidateCreate`.
fn cluster(spec: &Node, found: &mut Vec<Found>) {
    let Some(groups) = spec.entry("workerGroupSpecs") else {
        return;
    };
    let count = groups.value.items().len();
    if count >= SETS {
        found.push((
            groups.key_span,
            format!("it has {count} groups of workers"),
            format!("write at most {}: Kueue counts no more", SETS - 1),
        ));
    }
    for group in groups.value.items() {
        let name = group.get("groupName");
        if let Some(name) = name.filter(|it| it.text() == Some("head")) {
            found.push((
                name.span(),
                "a group of workers is called as its head is".to_owned(),
                "write another name".to_owned(),
            ));
        }
    }
}

/// Source: kubernetes-sigs/kueue@06452008 `pkg/controller/jobs/job/job_webhook.go`, `validatePartialAdmissionCreate`.
fn job(object: &Object) -> Option<Found> {
    let root = match object.kind.as_str() {
        "CronJob" => object.root.get("spec")?.get("jobTemplate")?,
        _ => &object.root,
    };
    let written = of(root, "annotations", LEAST)?;
    let pods = jobs::pods(jobs::spec(object)?)?.pods;
    let text = written.text().filter(|it| !it.contains(['$', '{']))?;
    let least = text.parse::<u64>().ok();
    let is_fewer = least.is_some_and(|it| (1..pods).contains(&it));
    (!is_fewer).then(|| {
        let what = format!("it may start with `{text}` of its {pods} pods");
        let help = match pods {
            0 | 1 => "remove the annotation".to_owned(),
            2 => "write `\"1\"`".to_owned(),
            _ => format!("write a number between 1 and {}, or remove it", pods - 1),
        };
        (written.span(), what, help)
    })
}

/// Source: kubernetes-sigs/kueue@001e49ba `pkg/controller/jobs/pod/pod_webhook.go`, `validatePodGroupMetadata`.
fn pod(object: &Object) -> Option<Found> {
    let group = of(&object.root, "labels", GROUP);
    let total = of(&object.root, "annotations", TOTAL);
    match (group, total) {
        (Some(group), None) => {
            let metadata = object.root.get("metadata")?;
            let all = metadata.get("annotations").map_or(&[][..], Node::entries);
            let near = all.iter().find(|it| nearest(&it.key, [TOTAL]).is_some());
            let what = "it is of a group of pods, and does not say how many they are".to_owned();
            let help = format!("write the annotation `{TOTAL}`: how many pods the group has");
            Some(match near {
                Some(near) => (near.key_span, what, format!("write `{TOTAL}`")),
                None => (group.span(), what, help),
            })
        }
        (None, Some(total)) => Some((
            total.span(),
            "it says how many pods its group has, and is of none".to_owned(),
            format!("write the label `{GROUP}`, or remove the annotation"),
        )),
        (Some(_), Some(total)) => {
            let text = total.text().filter(|it| !it.contains(['$', '{']))?;
            let is_count = text.parse::<i32>().is_ok_and(|it| it > 0);
            (!is_count).then(|| {
                let what = format!("`{text}` is no number of pods");
                (
                    total.span(),
                    what,
                    "write how many pods the group has".to_owned(),
                )
            })
        }
        (None, None) => None,
    }
}

/// A label or an annotation.
fn of<'n>(root: &'n Node, list: &str, name: &str) -> Option<&'n Node> {
    root.get("metadata")?.get(list)?.get(name)
}
