//! Flex-start machines: the time that a node runs, and queued provisioning.
//!
//! Sources, 2026-11-28: GoogleCloudPlatform/cluster-toolkit modules/compute/gke-node-pool/main.tf and
//! AI-Hypercomputer/xpk core/capacity.py (flags and their conditions); GoogleCloudPlatform/cluster-toolkit
//! examples/gke-consumption-options/dws-flex-start-queued (the class and the label); kueue.sigs.k8s.io
//! docs/admission-check-controllers/provisioning (parameters: an annotation of a job takes precedence).

use gpuc_model::PoolSpec;
use gpuc_model::cloud::ProvisioningClass;
use gpuc_schema::config::FlexStart;

/// The longest time that a node can run, in seconds: seven days.
pub(super) const MAX_SECONDS: u32 = 7 * 24 * 3600;

/// The key of the taint and the label of nodes that only a ProvisioningRequest creates.
pub(super) const QUEUED_KEY: &str = "cloud.google.com/gke-queued";

/// The time that a node runs, in seconds; `None` if the file has an invalid value, which a rule reports.
pub(super) fn run_seconds(flex: &FlexStart) -> Option<u32> {
    let Some(written) = &flex.max_run_duration else {
        return Some(MAX_SECONDS);
    };
    let (number, factor) = match written.strip_suffix('h') {
        Some(hours) => (hours, 3600),
        None => (written.strip_suffix('s')?, 1),
    };
    let is_number = number.bytes().all(|byte| byte.is_ascii_digit()) && !number.starts_with('0');
    let seconds = number.parse::<u32>().ok()?.checked_mul(factor)?;
    (is_number && seconds <= MAX_SECONDS).then_some(seconds)
}

/// Whether only a ProvisioningRequest creates the nodes of a pool.
pub(super) fn is_queued(pool: &PoolSpec) -> bool {
    pool.flex_start().is_some_and(|flex| flex.queued.value)
}

/// The class of the ProvisioningRequests for a pool.
pub(super) fn provisioning_class(pool: &PoolSpec) -> Option<ProvisioningClass> {
    let flex = pool.flex_start().filter(|flex| flex.queued.value)?;
    // The duration of an existing pool is known only if the file has it.
    let is_known = flex.max_run_duration.is_some() || !pool.is_existing();
    let seconds = run_seconds(flex).filter(|_| is_known);
    Some(ProvisioningClass {
        name: "queued-provisioning.gke.io",
        node_label: "autoscaling.gke.io/provisioning-request",
        label_detail: "ResizeRequestName",
        parameters: (seconds.into_iter())
            .map(|seconds| ("maxRunDurationSeconds", seconds.to_string()))
            .collect(),
    })
}

#[cfg(test)]
mod tests {
    use gpuc_schema::Spanned;

    use super::*;

    #[test]
    fn durations_are_seconds_or_hours() {
        let seconds = |text: &str| {
            run_seconds(&FlexStart {
                max_run_duration: Some(Spanned::without_span(text.to_owned())),
                ..FlexStart::default()
            })
        };
        assert_eq!(seconds("24h"), Some(86_400));
        assert_eq!(seconds("5400s"), Some(5400));
        assert_eq!(seconds("168h"), Some(MAX_SECONDS));
        for invalid in [
            "169h",
            "604801s",
            "0s",
            "24",
            "h",
            "1d",
            "+1h",
            "99999999999h",
            "01h",
        ] {
            assert_eq!(seconds(invalid), None, "{invalid}");
        }
        assert_eq!(run_seconds(&FlexStart::default()), Some(MAX_SECONDS));
    }
}
