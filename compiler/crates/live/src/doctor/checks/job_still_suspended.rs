//! A Job is suspended although Kueue admitted its Workload.

use gpuc_syntax::diag::{Code, Correction, Severity};

use crate::doctor::check::{Check, Logs};
use crate::doctor::context::Context;
use crate::doctor::finding::{Finding, Layer};
use crate::objects::{Condition, Object, ObjectRef};
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7615",
        name: "job-still-suspended",
        severity: Severity::Error,
        summary: "a Job is suspended although Kueue admitted its Workload",
        checks: "Whether Jobs whose Workload Kueue admitted more than two minutes ago run.",
        reason: "The Workload holds quota, but no pod starts: another controller suspends the Job again, or Kueue \
is not allowed to change it.",
        remedy: "Read the log of the controller of Kueue for an error of rights or of a webhook, and look for a \
tool of GitOps that sets `spec.suspend` back: let it ignore this field.",
        bad: r#"--- # objects.yaml
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata: {name: gpu-1, labels: {nvidia.com/gpu.present: "true"}}
    status:
      capacity: {cpu: "64", pods: "110", nvidia.com/gpu: "8"}
      allocatable: {cpu: "64", pods: "110", nvidia.com/gpu: "8"}
      conditions: [{type: Ready, status: "True"}]
  - apiVersion: kueue.x-k8s.io/v1beta1
    kind: Workload
    metadata:
      name: job-train
      namespace: ml
      ownerReferences: [{apiVersion: batch/v1, kind: Job, name: train, controller: true}]
    status: {conditions: [{type: QuotaReserved, status: "True"}, {type: Admitted, status: "True"}]}
  - apiVersion: batch/v1
    kind: Job
    metadata: {name: train, namespace: ml}
    spec: {suspend: true}
"#,
        correction: Correction::Replace("spec: {suspend: true}", "spec: {suspend: false}"),
    },
    layer: Layer::Quota,
    is_symptom: false,
    needs: &[Kind::Workload, Kind::Job],
    needs_logs: Logs::None,
    run,
};

/// The seconds in which Kueue starts a Job.
const START_SECONDS: u64 = 120;

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    for workload in ctx.state.objects(Kind::Workload) {
        let Some(admitted) = workload.condition("Admitted").filter(Condition::is_true) else {
            continue;
        };
        let is_new = ctx
            .age(admitted.last_transition_time)
            .is_some_and(|seconds| seconds < START_SECONDS);
        let is_true = |kind| workload.condition(kind).is_some_and(|it| it.is_true());
        let is_over =
            is_true("Finished") || is_true("Evicted") || workload.get("/spec/active") == false;
        if is_new || is_over || workload.metadata.deletion_timestamp.is_some() {
            continue;
        }
        let Some(job) = job_of(ctx, workload).filter(|job| must_run(job)) else {
            continue;
        };
        let object = ObjectRef::of_kind("Job", &job.metadata);
        let (namespace, name) = (&job.metadata.namespace, &job.metadata.name);
        findings.push(
            Finding::new(
                &CHECK.code,
                object.clone(),
                "the Job is suspended, although Kueue admitted its Workload",
            )
            .field(object, "spec.suspend", "true")
            .field(
                ObjectRef::of_kind("Workload", &workload.metadata),
                "status.conditions[Admitted].status",
                "True",
            )
            .help("find the controller that sets `spec.suspend`, such as a tool of GitOps, and let it ignore the field")
            .command(format!(
                "kubectl get job --namespace {namespace} {name} --show-managed-fields -o yaml"
            )),
        );
    }
}

/// The Job of a Workload.
fn job_of<'s>(ctx: &Context<'s>, workload: &Object) -> Option<&'s Object> {
    let owner = workload.metadata.controller()?;
    let namespace = &workload.metadata.namespace;
    let job = ctx.state.object(Kind::Job, namespace, &owner.name);
    job.filter(|_| owner.kind == "Job")
}

/// Whether a suspended Job should run in this cluster: it has not ended, and no other cluster runs it.
///
/// Source: kubernetes `staging/src/k8s.io/api/batch/v1/types.go` (`managedBy`), 2026-11-28.
fn must_run(job: &Object) -> bool {
    let is_true = |kind| job.condition(kind).is_some_and(|it| it.is_true());
    let managed_by = job.text("/spec/managedBy");
    job.get("/spec/suspend") == true
        && matches!(managed_by, "" | "kubernetes.io/job-controller")
        && job.metadata.deletion_timestamp.is_none()
        && !is_true("Complete")
        && !is_true("Failed")
}

#[cfg(test)]
mod tests {
    use crate::doctor::testing::{HEALTHY_NODE, codes, list_objects};

    #[test]
    fn jobs_that_need_not_run_are_silent() {
        let workload = |time: &str, more: &str| {
            format!(
                r#"{{"kind": "Workload", "apiVersion": "kueue.x-k8s.io/v1beta2",
                  "metadata": {{"name": "w", "namespace": "ml", "ownerReferences": [{{"kind": "Job", "name": "j"}}]}},
                  "status": {{"conditions": [{{"type": "Admitted", "status": "True",
                    "lastTransitionTime": "2026-11-28T{time}Z"}}{more}]}}}}"#
            )
        };
        let job = |spec: &str| {
            format!(
                r#"{{"kind": "Job", "apiVersion": "batch/v1", "metadata": {{"name": "j", "namespace": "ml"}},
                  "spec": {{"suspend": true{spec}}}}}"#
            )
        };
        for (workload, job, expected) in [
            (workload("11:00:00", ""), job(""), 1),
            (workload("11:59:00", ""), job(""), 0),
            (
                workload("11:00:00", r#", {"type": "Evicted", "status": "True"}"#),
                job(""),
                0,
            ),
            (
                workload("11:00:00", ""),
                job(r#", "managedBy": "kueue.x-k8s.io/multikueue""#),
                0,
            ),
        ] {
            let (found, text) = codes(&list_objects(&[HEALTHY_NODE, &workload, &job]));
            assert_eq!(found.len(), expected, "{text}");
        }
        let (found, text) = codes(&list_objects(&[HEALTHY_NODE, &workload("11:00:00", "")]));
        assert!(found.is_empty(), "{text}");
    }
}
