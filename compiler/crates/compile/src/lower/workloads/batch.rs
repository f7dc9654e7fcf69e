//! Jobs, CronJobs, and tests of GPUs.

use gpuc_model::Pool;
use gpuc_model::plan::Object;
use gpuc_schema::config::{Concurrency, CronJob, CudaProgram, CudaTest, Job};
use serde_json::{Value, json};

use super::pod::{self, PodRole};
use super::{COMPONENT, WorkloadContext, without_empty_fields};

/// NVIDIA's sample that adds two vectors on a GPU and checks the sum. CUDA 12.5 runs with drivers since 525 and on
/// every GPU model that gpuc knows.
///
/// Source: NVIDIA/k8s-test-infra `pkg/testsuite/vectoradd`, its `DefaultImage`, 2026-11-21, without the suffix.
const SAMPLE_IMAGE: &str = "nvcr.io/nvidia/k8s/cuda-sample:vectoradd-cuda12.5.0";

/// The user and group of a test (`nobody`). It writes nothing, and every user can open the GPU devices. Namespaces with
/// the Pod Security Standard `restricted` do not allow root.
const NOBODY_ID: u32 = 65534;

/// A Job.
pub(super) fn job(work: &WorkloadContext<'_>, job: &Job) -> Object {
    let role = PodRole {
        restart_policy: Some("Never"),
        ..PodRole::MAIN
    };
    let is_indexed = job.completions.value > 1;
    let spec = without_empty_fields(json!({
        "completions": job.completions.value,
        "parallelism": job.parallelism.value,
        "completionMode": is_indexed.then_some("Indexed"),
        "backoffLimit": job.retries.map(|it| it.value),
        "activeDeadlineSeconds": job.deadline_seconds.map(|it| it.value),
        "ttlSecondsAfterFinished": job.ttl_seconds.map(|it| it.value),
        "template": pod::pod_template(work, &job.pods(), role),
    }));
    let object = json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": work.queued_metadata(work.name()),
        "spec": spec,
    });
    work.object(COMPONENT, &object)
}

/// A CronJob.
pub(super) fn cron_job(work: &WorkloadContext<'_>, job: &CronJob) -> Object {
    let role = PodRole {
        restart_policy: Some("Never"),
        ..PodRole::MAIN
    };
    let job_spec = without_empty_fields(json!({
        "backoffLimit": job.retries.map(|it| it.value),
        "activeDeadlineSeconds": job.deadline_seconds.map(|it| it.value),
        "template": pod::pod_template(work, &job.pods(), role),
    }));
    // Kueue queues each Job, not the CronJob.
    let labels = work.queued_metadata(work.name())["labels"].clone();
    let concurrency = match job.concurrency.value {
        Concurrency::Forbid => "Forbid",
        Concurrency::Replace => "Replace",
        Concurrency::Allow => "Allow",
    };
    let object = json!({
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": work.metadata(work.name()),
        "spec": without_empty_fields(json!({
            "schedule": job.schedule.value,
            "timeZone": job.time_zone.as_ref().map(|zone| &zone.value),
            "concurrencyPolicy": concurrency,
            "jobTemplate": {"metadata": {"labels": labels}, "spec": job_spec},
        })),
    });
    work.object(COMPONENT, &object)
}

/// A test for each pool of a workload, and its ResourceClaims.
pub(super) fn cuda_tests(work: &WorkloadContext<'_>, test: &CudaTest) -> Vec<Object> {
    let tests = work.pools.iter().map(|pool| cuda_test(work, test, pool));
    tests.chain(pod::claim_objects(work)).collect()
}

fn cuda_test(work: &WorkloadContext<'_>, test: &CudaTest, pool: &Pool) -> Object {
    let image = test
        .image
        .as_ref()
        .map_or(SAMPLE_IMAGE, |image| image.as_str());
    let command = match test.run.value {
        CudaProgram::VectorAdd => None,
        CudaProgram::NvidiaSmi => Some(["nvidia-smi"]),
    };
    let claims = pod::placement_fields(work, &[pool]);
    let has_claim = claims.get("resourceClaims").is_some();
    let devices = pod::device_resources(work, &[pool]);
    let container = without_empty_fields(json!({
        "name": "main",
        "image": image,
        "command": command,
        "resources": without_empty_fields(json!({
            "requests": devices,
            "limits": devices,
            "claims": has_claim.then(|| json!([{"name": "gpus"}])),
        })),
        "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}},
    }));
    let mut spec = claims;
    spec["restartPolicy"] = json!("Never");
    spec["automountServiceAccountToken"] = json!(false);
    spec["securityContext"] = json!({
        "seccompProfile": {"type": "RuntimeDefault"},
        "runAsNonRoot": true,
        "runAsUser": NOBODY_ID,
        "runAsGroup": NOBODY_ID,
    });
    spec["containers"] = json!([container]);
    let object: Value = json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": work.queued_metadata(&format!("{}-{}", work.name(), pool.name)),
        "spec": {
            "backoffLimit": 0,
            "template": {"metadata": pod::pod_metadata(work), "spec": spec},
        },
    });
    work.object(COMPONENT, &object)
}
