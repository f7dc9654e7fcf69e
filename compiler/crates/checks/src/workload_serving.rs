//! Validation of probes, autoscaling and disruption budgets, a part of `workload_value_invalid`.

use gpuc_schema::Spanned;
use gpuc_schema::config::{CountOrPercent, DisruptionBudget, Probes, Quantity, Scaling};

use super::workload_counts::MAX_INT32;
use super::workload_value_invalid::{RULE, Validator};

impl Validator<'_> {
    pub(super) fn check_probes(&mut self, probes: &Probes) {
        let all = [&probes.startup, &probes.readiness, &probes.liveness];
        for probe in all.into_iter().flatten() {
            let path = probe.path.as_ref();
            if let Some(path) = path.filter(|path| !path.starts_with('/')) {
                let message = format!("invalid HTTP path `{path}`");
                self.report_invalid(path.span, message, "write a path that starts with `/`");
            }
            let port_span = probe.port.map(|it| it.span).or(path.map(|it| it.span));
            let command_span = probe.exec.first().map(|it| it.span);
            let (span, message, help) = match (port_span, command_span) {
                (Some(port), Some(command)) => {
                    let message = "a probe must set either `port` or `exec`, not both".to_owned();
                    self.report
                        .diagnostic(&RULE.code, command, message)
                        .label(port, "this probes a port")
                        .help("remove one of the two")
                        .emit();
                    continue;
                }
                (None, None) => {
                    let message = "a probe must set either `port` or `exec`";
                    (probe.span, message, "add `port`, or `exec` with a command")
                }
                (Some(path), None) if probe.port.is_none() => (
                    path,
                    "the `path` of a probe requires a `port`",
                    "add `port`",
                ),
                _ => continue,
            };
            self.report_invalid(span, message.to_owned(), help);
        }
    }

    pub(super) fn check_scaling(
        &mut self,
        scaling: &Spanned<Scaling>,
        cpu: Option<&Spanned<Quantity>>,
    ) {
        let (min, max) = (&scaling.min, &scaling.max);
        if min.value > max.value {
            let message = format!("`min` ({min}) exceeds `max` ({max})");
            self.report
                .diagnostic(&RULE.code, min.span, message)
                .label(max.span, "`max` is set here")
                .help("swap the two numbers")
                .emit();
        }
        let by_cpu = scaling.cpu_percent.is_some() || scaling.metric.is_none();
        if by_cpu && cpu.is_none() {
            let message =
                "the autoscaler scales by CPU, but the pods do not request CPU".to_owned();
            let span = scaling.cpu_percent.map_or(scaling.span, |it| it.span);
            self.report_invalid(
                span,
                message,
                "add `cpu` to the deployment, or scale by a `metric`",
            );
        }
        if let Some(metric) = &scaling.metric {
            self.check_metric_name(&metric.name);
            self.check_quantity("a metric", "`10` or `500m`", Some(&metric.average), false);
        }
    }

    /// Checks a metric name, which is a path segment in the API:
    /// <https://kubernetes.io/docs/concepts/overview/working-with-objects/names/>, path segment names (from memory).
    fn check_metric_name(&mut self, name: &Spanned<String>) {
        let is_valid = |c: char| c.is_ascii_alphanumeric() || "_.-:|".contains(c);
        if name.trim_start_matches('.').is_empty() || !name.chars().all(is_valid) {
            let message = format!("invalid metric name `{name}`");
            self.report_invalid(
                name.span,
                message,
                "write a name of letters, digits and `_`",
            );
        }
    }

    /// Checks a disruption budget at the maximum number of pods. Percentages are rounded up, also for `maxUnavailable`.
    ///
    /// Source: kubernetes `pkg/controller/disruption/disruption.go`, `getExpectedPodCount` (from memory).
    pub(super) fn check_budget(
        &mut self,
        budget: Option<&DisruptionBudget>,
        max_pods: &Spanned<u32>,
    ) {
        let Some(DisruptionBudget::MaxUnavailable(count) | DisruptionBudget::MinAvailable(count)) =
            budget
        else {
            return;
        };
        let pods = max_pods.value;
        let Some(of_pods) = count.value.resolve(pods) else {
            let message = format!(
                "`{}` is neither a number nor a percentage of pods",
                count.value
            );
            self.report_invalid(
                count.span,
                message,
                "write a number such as `1`, or a percentage such as `50%`",
            );
            return;
        };
        if matches!(count.value, CountOrPercent::Percent(101..)) {
            let message = format!("`{}` exceeds 100% of the pods", count.value);
            self.report_invalid(count.span, message, "write at most `100%`");
            return;
        }
        if of_pods > MAX_INT32.into() {
            let message = format!("`{}` exceeds the maximum of {MAX_INT32}", count.value);
            self.report_invalid(count.span, message, &format!("write at most {MAX_INT32}"));
            return;
        }
        if budget.is_some_and(|budget| protects_all(budget, pods)) {
            let message =
                "the disruption budget never allows an eviction, so that nodes cannot be drained"
                    .to_owned();
            let help = "set `maxUnavailable: 1`, or run more pods";
            self.report_invalid(count.span, message, help);
        }
    }
}

/// Whether a budget allows no eviction at a number of pods greater than 0.
pub(super) fn protects_all(budget: &DisruptionBudget, pods: u32) -> bool {
    let (DisruptionBudget::MaxUnavailable(count) | DisruptionBudget::MinAvailable(count)) = budget;
    let of_pods = count.value.resolve(pods);
    pods > 0
        && of_pods.is_some_and(|of_pods| match budget {
            DisruptionBudget::MinAvailable(_) => of_pods >= pods.into(),
            DisruptionBudget::MaxUnavailable(_) => of_pods == 0,
        })
}

#[cfg(test)]
mod tests {
    use crate::testing::{TASK, check_in};

    #[track_caller]
    fn check(task: &str, expected: &[&str]) {
        check_in(TASK, "GPUC2186", task, expected);
    }

    #[test]
    fn invalid_autoscaling_is_found() {
        let deployment = |keys: &str| format!("deployment: {{image: 'a:1', {keys}}}");
        check(&deployment("cpu: 1, autoscaling: {min: 1, max: 2}"), &[]);
        let none = "the autoscaler scales by CPU, but the pods do not request CPU";
        check(&deployment("autoscaling: {min: 1, max: 2}"), &[none]);
        let metric = "autoscaling: {min: 2, max: 1, metric: {name: m, average: 1}}";
        check(&deployment(metric), &["`min` (2) exceeds `max` (1)"]);
        let named = "cpu: 1, autoscaling: {min: 1, max: 2, metric: {name: 'a b', average: 1}}";
        check(&deployment(named), &["invalid metric name `a b`"]);
    }

    #[test]
    fn budgets_that_block_draining_are_found() {
        let message =
            "the disruption budget never allows an eviction, so that nodes cannot be drained";
        for (replicas, budget, expected) in [
            (1, "minAvailable: 1", &[message][..]),
            (2, "minAvailable: 1", &[]),
            (1, "maxUnavailable: 0", &[message]),
            (1, "maxUnavailable: 1", &[]),
            (4, "minAvailable: 75%", &[]),
            (3, "minAvailable: 75%", &[message]),
            (1, "minAvailable: 50%", &[message]),
            (1, "minAvailable: 0%", &[]),
            (1, "maxUnavailable: 1%", &[]),
            (9, "maxUnavailable: 0%", &[message]),
            (
                2,
                "minAvailable: 101%",
                &["`101%` exceeds 100% of the pods"],
            ),
            (
                2,
                "minAvailable: half",
                &["`half` is neither a number nor a percentage of pods"],
            ),
            (
                2,
                "minAvailable: -1",
                &["`-1` is neither a number nor a percentage of pods"],
            ),
            (
                2,
                "maxUnavailable: 2147483648",
                &["`2147483648` exceeds the maximum of 2147483647"],
            ),
            // Without pods there is no eviction.
            (0, "minAvailable: 1", &[]),
        ] {
            for kind in ["deployment", "statefulSet"] {
                let keys = format!("replicas: {replicas}, disruptionBudget: {{{budget}}}");
                check(&format!("{kind}: {{image: 'a:1', {keys}}}"), expected);
            }
        }
    }

    #[test]
    fn probe_needs_a_port_or_a_command() {
        let both = "a probe must set either `port` or `exec`, not both";
        let neither = "a probe must set either `port` or `exec`";
        let path = "the `path` of a probe requires a `port`";
        for (probe, expected) in [
            ("{port: 80}", &[][..]),
            ("{port: 80, path: /a}", &[]),
            ("{exec: [cat, /tmp/ready], failures: 3}", &[]),
            (
                "{port: 0, path: a}",
                &["`port` cannot be 0", "invalid HTTP path `a`"],
            ),
            ("{port: 80, exec: [cat]}", &[both]),
            ("{path: /a, exec: [cat]}", &[both]),
            ("{path: /a}", &[path]),
            ("{}", &[neither]),
            ("{exec: [], failures: 3}", &[neither]),
        ] {
            for key in ["startup", "readiness", "liveness"] {
                let probes = format!("probes: {{{key}: {probe}}}");
                check(&format!("deployment: {{image: 'a:1', {probes}}}"), expected);
            }
        }
    }

    #[test]
    fn zero_replicas_are_valid() {
        check("deployment: {image: 'a:1', replicas: 0}", &[]);
        check("statefulSet: {image: 'a:1', gpus: 1, replicas: 0}", &[]);
        let set = "leaderWorkerSet: {image: 'a:1', nodes: 1, gpusPerNode: 1, replicas: 0}";
        check(set, &[]);
        let many = "deployment: {image: 'a:1', replicas: 2147483648}";
        check(many, &["`replicas` exceeds the maximum of 2147483647"]);
    }
}
