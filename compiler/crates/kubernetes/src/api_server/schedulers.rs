//! Scheduler names.

use gpuc_syntax::diag::words::nearest;

/// The default scheduler of Kubernetes.
///
/// Source: kubernetes `staging/src/k8s.io/api/core/v1/types.go`, `DefaultSchedulerName` (from memory).
pub const DEFAULT: &str = "default-scheduler";

/// The scheduler with a similar name: no additional words or numbers.
pub fn meant(name: &str) -> Option<&'static str> {
    let is_plain = name.bytes().all(|it| !it.is_ascii_digit());
    let is_as_long = name.len().abs_diff(DEFAULT.len()) <= 1;
    let is_near = nearest(name, [DEFAULT]).is_some() || name.eq_ignore_ascii_case(DEFAULT);
    (name != DEFAULT && is_plain && is_as_long && is_near).then_some(DEFAULT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typos_are_corrected_but_not_other_words() {
        for name in ["default-schedular", "Default-Scheduler", "defaultscheduler"] {
            assert_eq!(meant(name), Some(DEFAULT), "{name}");
        }
        for name in [
            DEFAULT,
            "volcano",
            "my-default-scheduler",
            "default-scheduler-2",
            "gpu-scheduler",
        ] {
            assert_eq!(meant(name), None, "{name}");
        }
    }
}
