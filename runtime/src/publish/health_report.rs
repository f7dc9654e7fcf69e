//! The health of a node's GPUs as the node condition reports it.

use super::HealthReport;
use crate::config::describe_unknown_keys;
use crate::run::Status;
use crate::state::State;

/// Summarizes the health of the node's GPUs: the first problem in order of importance.
pub(super) fn health_report(state: &State, status: &Status) -> HealthReport {
    let problem = |reason, message: &str| HealthReport {
        healthy: Some(false),
        reason,
        message: truncate_message(message),
    };
    if status.scans == 0
        && let Some(error) = &status.config_error
    {
        let message = format!("no GPU is advertised: the configuration {error}");
        return problem("InvalidConfiguration", &message);
    }
    if let Some(error) = &status.driver_error {
        return problem("DriverMissing", error);
    }
    if !state.unhealthy.is_empty() {
        let causes = state
            .unhealthy
            .iter()
            .map(|(uuid, cause)| format!("{uuid}: {cause}"));
        return problem("GPUUnhealthy", &causes.collect::<Vec<_>>().join("; "));
    }
    // Programs may drain nodes with unhealthy GPUs, and a mistake in the configuration is not one of a GPU.
    let unknown = |reason, message: &str| HealthReport {
        healthy: None,
        reason,
        message: truncate_message(message),
    };
    if let Some(error) = &status.config_error {
        let message = format!("the previous configuration is kept: the new one {error}");
        return unknown("InvalidConfiguration", &message);
    }
    if !status.differences.is_empty() {
        return problem("NotAsConfigured", &status.differences.join("; "));
    }
    if !status.unknown_keys.is_empty() {
        let keys = describe_unknown_keys(&status.unknown_keys);
        return unknown(
            "UnknownConfiguration",
            &format!("the configuration has {keys}"),
        );
    }
    let errors = status.monitoring_error.iter();
    let errors: Vec<_> = errors.chain(&status.unmonitored_gpus).cloned().collect();
    if !errors.is_empty() {
        let message = format!("driver events are not monitored: {}", errors.join("; "));
        return unknown("HealthNotMonitored", &message);
    }
    let count = state.inventory.gpus.len();
    let s = if count == 1 { "" } else { "s" };
    HealthReport {
        healthy: Some(true),
        reason: "GPUsHealthy",
        message: format!("{count} GPU{s}, all healthy"),
    }
}

/// Truncates a message so that it stays readable for a node with sixteen GPUs.
fn truncate_message(message: &str) -> String {
    const LONGEST: usize = 1000;
    if message.chars().count() <= LONGEST {
        return message.to_owned();
    }
    message.chars().take(LONGEST - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::super::node_publisher::tests::state;
    use super::*;

    fn scanned() -> Status {
        Status {
            scans: 1,
            ..Status::default()
        }
    }

    /// Unmonitored GPUs may be healthy. A GPU that is known to be unhealthy is more important.
    #[test]
    fn missing_monitoring_makes_the_health_unknown() {
        let mut state = state();
        let mut status = scanned();
        assert_eq!(health_report(&state, &status).healthy, Some(true));
        status.unmonitored_gpus = vec!["GPU 6: the GPU is lost".to_owned()];
        let report = health_report(&state, &status);
        assert_eq!(
            (report.healthy, report.reason),
            (None, "HealthNotMonitored")
        );
        let message = "driver events are not monitored: GPU 6: the GPU is lost";
        assert_eq!(report.message, message);
        status.unmonitored_gpus = Vec::new();
        status.monitoring_error = Some("no permission".to_owned());
        let report = health_report(&state, &status);
        assert_eq!(
            report.message,
            "driver events are not monitored: no permission"
        );
        state.unhealthy = [("GPU-3".to_owned(), "Xid 79".to_owned())].into();
        let report = health_report(&state, &status);
        assert_eq!(
            (report.healthy, report.reason),
            (Some(false), "GPUUnhealthy")
        );
    }

    /// The GPUs of a whole pool must not look unhealthy after a mistake in a ConfigMap.
    #[test]
    fn configuration_problems_leave_the_health_unknown() {
        let mut status = scanned();
        status.unknown_keys = vec!["newKey".to_owned()];
        let report = health_report(&state(), &status);
        let expected = (None, "UnknownConfiguration");
        assert_eq!((report.healthy, report.reason), expected);
        status.config_error = Some("is invalid".to_owned());
        let report = health_report(&state(), &status);
        let expected = (None, "InvalidConfiguration");
        assert_eq!((report.healthy, report.reason), expected);
        status.scans = 0;
        assert_eq!(health_report(&state(), &status).healthy, Some(false));
    }

    #[test]
    fn long_messages_are_truncated() {
        let mut status = scanned();
        status.differences = vec!["ä".repeat(3000)];
        let message = health_report(&state(), &status).message;
        assert_eq!(message.chars().count(), 1000);
        assert!(message.ends_with("ä…"));
    }
}
