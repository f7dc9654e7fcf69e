//! Kueue rejects a job that waits in a queue.

use std::collections::BTreeSet;

use gpuc_syntax::diag::phrases::closest_match;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};
use gpuc_syntax::node::Node;
use gpuc_syntax::source::Span;

use crate::object::Object;
use crate::scheduling::is_queued_object;
use crate::{CheckContext, Rule, jobs};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4070",
        name: "manifest-queue-refused",
        severity: Severity::Error,
        summary: "Kueue rejects a job that waits in a queue",
        checks: "Whether Kueue's webhooks reject an object that names a queue or is in the namespace of a team, with
`queueing: kueue`:

- RayJobs that keep their cluster, use an existing cluster, or have more worker groups than Kueue supports.
- Jobs whose minimum parallelism is not below their number of pods.
- Pods of a pod group that do not set the size of the group.",
        reason: "The API server rejects the object: `admission webhook \"vrayjob.kb.io\" denied the request`. Kueue frees the
quota of a job only if the job leaves nothing behind.",
        remedy: "Follow the help.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
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
        correction: Correction::Replace(r#"kueue.x-k8s.io/job-min-parallelism: "4""#, r#"kueue.x-k8s.io/job-min-parallelism: "1""#),
    },
    run,
};

/// Labels and annotations of Kueue.
///
/// Source: kubernetes-sigs/kueue@001e49ba `pkg/controller/jobs/pod/pod_webhook.go` and @06452008
/// `pkg/controller/jobs/job/job_webhook.go`.
const POD_GROUP_LABEL: &str = "kueue.x-k8s.io/pod-group-name";
const POD_GROUP_TOTAL: &str = "kueue.x-k8s.io/pod-group-total-count";
const MIN_PARALLELISM: &str = "kueue.x-k8s.io/job-min-parallelism";

/// The maximum number of pod sets in a Workload, one of which is the head's.
///
/// Source: kubernetes-sigs/kueue@v0.19.2 `config/components/crd/bases/kueue.x-k8s.io_workloads.yaml`, `podSets`;
/// `pkg/controller/jobs/raycluster/common.go@05441dd6`, `ValidateCreate`.
const MAX_POD_SETS: usize = 18;

/// A reason for a rejection: its location, the problem and the help.
type Rejection = (Span, String, String);

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    let queued = ctx.objects.iter();
    for object in queued.filter(|it| is_queued_object(ctx.cluster, it)) {
        let mut found = Vec::new();
        match object.kind.as_str() {
            "RayJob" if object.is_in_group("ray.io") => check_ray_job(object, &mut found),
            "RayCluster" if object.is_in_group("ray.io") => {
                if let Some(spec) = object.root.get("spec") {
                    check_ray_cluster(spec, &mut found);
                }
            }
            "Job" | "CronJob" if object.is_in_group("batch") => found.extend(check_job(object)),
            "Pod" if object.api_version == "v1" => found.extend(check_pod(object)),
            _ => {}
        }
        let mut reported = BTreeSet::new();
        for (span, problem, help) in found.into_iter().filter(|it| reported.insert(it.0)) {
            let message = format!("Kueue rejects {}: {problem}", object.title());
            let builder = report.diagnostic(&RULE.code, span, message);
            builder
                .label(ctx.cluster.config.queueing.span, "jobs wait in queues")
                .help(help)
                .emit();
        }
    }
}

/// Source: kubernetes-sigs/kueue@0394bfa8 `pkg/controller/jobs/rayjob/rayjob_webhook.go`, `validateCreate`.
fn check_ray_job(object: &Object, found: &mut Vec<Rejection>) {
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
            "it sets both `clusterSelector` and `rayClusterSpec`".to_owned(),
            "remove `clusterSelector`, or remove `rayClusterSpec` to run outside of Kueue"
                .to_owned(),
        ));
        return;
    }
    let problem = "its Ray cluster keeps running after the job".to_owned();
    match spec.get("shutdownAfterJobFinishes") {
        None => found.push((
            own.key_span,
            problem,
            "write `shutdownAfterJobFinishes: true` next to it".to_owned(),
        )),
        Some(shutdown) if shutdown.text() == Some("false") => {
            found.push((shutdown.span(), problem, "write `true`".to_owned()));
        }
        Some(_) => {}
    }
    check_ray_cluster(&own.value, found);
}

/// Source: kubernetes-sigs/kueue@05441dd6 `pkg/controller/jobs/raycluster/common.go`, `ValidateCreate`.
fn check_ray_cluster(spec: &Node, found: &mut Vec<Rejection>) {
    let Some(groups) = spec.entry("workerGroupSpecs") else {
        return;
    };
    let count = groups.value.items().len();
    if count >= MAX_POD_SETS {
        found.push((
            groups.key_span,
            format!("it has {count} worker groups"),
            format!("write at most {}, the maximum of Kueue", MAX_POD_SETS - 1),
        ));
    }
    for group in groups.value.items() {
        let name = group.get("groupName");
        if let Some(name) = name.filter(|it| it.text() == Some("head")) {
            found.push((
                name.span(),
                "a worker group has the reserved name `head`".to_owned(),
                "write another name".to_owned(),
            ));
        }
    }
}

/// Source: kubernetes-sigs/kueue@06452008 `pkg/controller/jobs/job/job_webhook.go`, `validatePartialAdmissionCreate`.
fn check_job(object: &Object) -> Option<Rejection> {
    let root = match object.kind.as_str() {
        "CronJob" => object.root.get("spec")?.get("jobTemplate")?,
        _ => &object.root,
    };
    let written = metadata_entry(root, "annotations", MIN_PARALLELISM)?;
    let pods = jobs::parallel_pods(jobs::job_spec(object)?)?.pods;
    let text = written.text().filter(|it| !it.contains(['$', '{']))?;
    let min = text.parse::<u64>().ok();
    let is_valid = min.is_some_and(|it| (1..pods).contains(&it));
    (!is_valid).then(|| {
        let problem = format!(
            "invalid minimum parallelism `{text}` for {}",
            gpuc_syntax::diag::phrases::pluralize(pods, "pod")
        );
        let help = match pods {
            0 | 1 => "remove the annotation".to_owned(),
            2 => "write `\"1\"`".to_owned(),
            _ => format!("write a number between 1 and {}, or remove it", pods - 1),
        };
        (written.span(), problem, help)
    })
}

/// Source: kubernetes-sigs/kueue@001e49ba `pkg/controller/jobs/pod/pod_webhook.go`, `validatePodGroupMetadata`.
fn check_pod(object: &Object) -> Option<Rejection> {
    let group = metadata_entry(&object.root, "labels", POD_GROUP_LABEL);
    let total = metadata_entry(&object.root, "annotations", POD_GROUP_TOTAL);
    match (group, total) {
        (Some(group), None) => {
            let metadata = object.root.get("metadata")?;
            let all = metadata.get("annotations").map_or(&[][..], Node::entries);
            let typo = all
                .iter()
                .find(|it| closest_match(&it.key, [POD_GROUP_TOTAL]).is_some());
            let problem = "its pod group has no total count".to_owned();
            let help = format!("add the annotation `{POD_GROUP_TOTAL}` with the size of the group");
            Some(match typo {
                Some(typo) => (typo.key_span, problem, format!("write `{POD_GROUP_TOTAL}`")),
                None => (group.span(), problem, help),
            })
        }
        (None, Some(total)) => Some((
            total.span(),
            "it has the total count of a pod group, but no group".to_owned(),
            format!("add the label `{POD_GROUP_LABEL}`, or remove the annotation"),
        )),
        (Some(_), Some(total)) => {
            let text = total.text().filter(|it| !it.contains(['$', '{']))?;
            let is_count = text.parse::<i32>().is_ok_and(|it| it > 0);
            (!is_count).then(|| {
                let problem = format!("invalid total count `{text}` of its pod group");
                let help = "write the size of the group as a positive number";
                (total.span(), problem, help.to_owned())
            })
        }
        (None, None) => None,
    }
}

/// The value of a label or an annotation.
fn metadata_entry<'n>(root: &'n Node, list: &str, name: &str) -> Option<&'n Node> {
    root.get("metadata")?.get(list)?.get(name)
}
