//! Jobs, CronJobs, and tests of GPUs.

use gpuc_model::Pool;
use gpuc_model::plan::Object;
use gpuc_schema::config::{Concurrency, CronJob, CudaProgram, CudaTest, Job};
use serde_json::{Value, json};

use super::pod::{self, Role};
use super::{COMPONENT, Work, slim};

/// NVIDIA's sample that adds two vectors on a GPU and checks the sum. CUDA 12.5 runs with drivers since 525 and on
/// every GPU model that gpuc knows.
///
/// Source: NVIDIA/k8s-test-infra `pkg/testsuite/vectoradd`, its `DefaultImage`, 2026-11-21, without the suffix.
const SAMPLE: &str = "nvcr.io/nvidia/k8s/cuda-sample:vectoradd-cuda12.5.0";

/// The user and group of a test (`nobody`). It writes nothing, and every user can open the GPU devices. Namespaces with
/// the Pod Security Standard `restricted` do not allow root.
const NOBODY: u32 = 65534;

/// A Job.
pub(super) fn job(work: &Work<'_>, job: &Job) -> Object {
    let role = Role {
        restart: Some("Never"),
        ..Role::MAIN
    };
    let is_indexed = job.completions.value > 1;
    let spec = slim(json!({
        "completions": job.completions.value,
        "parallelism": job.parallelism.value,
        "completionMode": is_indexed.then_some("Indexed"),
        "backoffLimit": job.retries.map(|it| it.value),
        "activeDeadlineSeconds": job.deadline_seconds.map(|it| it.value),
        "ttlSecondsAfterFinished": job.ttl_seconds.map(|it| it.value),
        "template": pod::template(work, &job.pods(), role),
    }));
    let object = json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": work.queued(work.name()),
        "spec": spec,
    });
    work.object(COMPONENT, &object)
}

/// A CronJob.
pub(super) fn cron_job(work: &Work<'_>, job: &CronJob) -> Object {
    let role = Role {
        restart: Some("Never"),
        ..Role::MAIN
    };
    let job_spec = slim(json!({
        "backoffLimit": job.retries.map(|it| it.value),
        "activeDeadlineSeconds": job.deadline_seconds.map(|it| it.value),
        "template": pod::template(work, &job.pods(), role),
    }));
    // Kueue queues each Job, not the CronJob.
    let labels = work.queued(work.name())["labels"].clone();
    let concurrency = match job.concurrency.value {
        Concurrency::Forbid => "Forbid",
        Concurrency::Replace => "Replace",
        Concurrency::Allow => "Allow",
    };
    let object = json!({
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": work.metadata(work.name()),
        "spec": slim(json!({
            "schedule": job.schedule.value,
            "timeZone": job.time_zone.as_ref().map(|zone| &zone.value),
            "concurrencyPolicy": concurrency,
            "jobTemplate": {"metadata": {"labels": labels}, "spec": job_spec},
        })),
    });
    work.object(COMPONENT, &object)
}

/// A test for each pool of a workload, and its ResourceClaims.
pub(super) fn tests(work: &Work<'_>, test: &CudaTest) -> Vec<Object> {
    let tests = work.pools.iter().map(|pool| one_test(work, test, pool));
    tests.chain(pod::claims(work)).collect()
}

fn one_test(work: &Work<'_>, test: &CudaTest, pool: &Pool) -> Object {
    let image = test.image.as_ref().map_or(SAMPLE, |image| image.as_str());
    let command = match test.run.value {
        CudaProgram::VectorAdd => None,
        CudaProgram::NvidiaSmi => Some(["nvidia-smi"]),
    };
    let claims = pod::placed(work, &[pool]);
    let has_claim = claims.get("resourceClaims").is_some();
    let devices = pod::devices(work, &[pool]);
    let container = slim(json!({
        "name": "main",
        "image": image,
        "command": command,
        "resources": slim(json!({
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
        "runAsUser": NOBODY,
        "runAsGroup": NOBODY,
    });
    spec["containers"] = json!([container]);
    let object: Value = json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": work.queued(&format!("{}-{}", work.name(), pool.name)),
        "spec": {
            "backoffLimit": 0,
            "template": {"metadata": pod::metadata(work), "spec": spec},
        },
    });
    work.object(COMPONENT, &object)
}
