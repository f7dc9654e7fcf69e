//! What services say of how they are asked, scaled and kept: a part of what `workload_value_invalid` looks at.

use gpuc_schema::Spanned;
use gpuc_schema::config::{CountOrPercent, DisruptionBudget, Probes, Quantity, Scaling};

use super::workload_counts::LARGEST;
use super::workload_value_invalid::{Look, RULE};

impl Look<'_> {
    pub(super) fn probes(&mut self, probes: &Probes) {
        let all = [&probes.startup, &probes.readiness, &probes.liveness];
        for probe in all.into_iter().flatten() {
            let path = probe.path.as_ref();
            if let Some(path) = path.filter(|path| !path.starts_with('/')) {
                let message = format!("`{path}` is no path of HTTP");
                self.say(path.span, message, "write it with a `/` before it");
            }
            let of_port = probe.port.map(|it| it.span).or(path.map(|it| it.span));
            let of_command = probe.exec.first().map(|it| it.span);
            let (span, message, help) = match (of_port, of_command) {
                (Some(port), Some(command)) => {
                    let message = "a probe asks a port or runs a command, not both".to_owned();
                    let draft = self.report.draft(&RULE.code, command, message);
                    let draft = draft.label(port, "the port, or its path");
                    draft.help("remove one of them").emit();
                    continue;
                }
                (None, None) => {
                    let message = "a probe asks a port or runs a command";
                    (probe.span, message, "add `port`, or `exec` with a command")
                }
                (Some(path), None) if probe.port.is_none() => {
                    (path, "a path is asked at a port", "add `port`")
                }
                _ => continue,
            };
            self.say(span, message.to_owned(), help);
        }
    }

    pub(super) fn scaling(&mut self, scaling: &Spanned<Scaling>, cpu: Option<&Spanned<Quantity>>) {
        let (min, max) = (&scaling.min, &scaling.max);
        if min.value > max.value {
            let message = format!("`min` {min} is more than `max` {max}");
            let draft = self.report.draft(&RULE.code, min.span, message);
            draft
                .label(max.span, "the most")
                .help("exchange them")
                .emit();
        }
        let by_cpu = scaling.cpu_percent.is_some() || scaling.metric.is_none();
        if by_cpu && cpu.is_none() {
            let message = "it scales by CPU, and its pods ask for none".to_owned();
            let span = scaling.cpu_percent.map_or(scaling.span, |it| it.span);
            self.say(
                span,
                message,
                "add `cpu` to the deployment, or a `metric` instead",
            );
        }
        if let Some(metric) = &scaling.metric {
            self.metric(&metric.name);
            self.amount("anything", "10 or 500m", Some(&metric.average), false);
        }
    }

    /// A part of a path of the API: <https://kubernetes.io/docs/concepts/overview/working-with-objects/names/>, path
    /// segment names (from memory).
    fn metric(&mut self, name: &Spanned<String>) {
        let fits = |c: char| c.is_ascii_alphanumeric() || "_.-:|".contains(c);
        if name.trim_start_matches('.').is_empty() || !name.chars().all(fits) {
            let message = format!("no metric can be called `{name}`");
            self.say(name.span, message, "write letters, digits and `_`");
        }
    }

    /// What is held against the most pods that there ever are. Parts of pods are rounded up, those that may be away as
    /// well.
    ///
    /// Source: kubernetes `pkg/controller/disruption/disruption.go`, `getExpectedPodCount` (from memory).
    pub(super) fn budget(&mut self, budget: Option<&DisruptionBudget>, most: &Spanned<u32>) {
        let Some(DisruptionBudget::MaxUnavailable(count) | DisruptionBudget::MinAvailable(count)) =
            budget
        else {
            return;
        };
        let pods = most.value;
        let Some(of_pods) = count.value.of(pods) else {
            let message = format!(
                "`{}` is neither a number of pods nor a part of them",
                count.value
            );
            self.say(count.span, message, "write such as 1 or `50%`");
            return;
        };
        if matches!(count.value, CountOrPercent::Percent(101..)) {
            let message = format!("`{}` is more than all pods", count.value);
            self.say(count.span, message, "write `100%` at most");
            return;
        }
        if of_pods > LARGEST.into() {
            let message = format!("`{}` is more than Kubernetes can count", count.value);
            self.say(count.span, message, &format!("write {LARGEST} at most"));
            return;
        }
        if budget.is_some_and(|budget| spares_all(budget, pods)) {
            let message = "no pod may ever be taken away, so no node can be emptied".to_owned();
            let help = "write `maxUnavailable: 1`, or run more pods";
            self.say(count.span, message, help);
        }
    }
}

/// Whether a budget lets none of so many pods be taken away. Of no pod none is.
pub(super) fn spares_all(budget: &DisruptionBudget, pods: u32) -> bool {
    let (DisruptionBudget::MaxUnavailable(count) | DisruptionBudget::MinAvailable(count)) = budget;
    let of_pods = count.value.of(pods);
    pods > 0
        && of_pods.is_some_and(|of_pods| match budget {
            DisruptionBudget::MinAvailable(_) => of_pods >= pods.into(),
            DisruptionBudget::MaxUnavailable(_) => of_pods == 0,
        })
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;

    #[track_caller]
    fn check(task: &str, expected: &[&str]) {
        let yaml = format!(
            "
            cloud: {{onPrem: {{context: demo}}}}
            nodePools: [{{name: gpu, gpu: {{model: A30, perNode: 2}}, hosts: [a], nodes: {{count: 1}}}}]
            workloads: [{{name: a, {task}}}]
            "
        );
        assert_eq!(messages(&yaml, "GPUC2186"), expected, "{task}");
    }

    #[test]
    fn services() {
        let deployment = |keys: &str| format!("deployment: {{image: 'a:1', {keys}}}");
        check(&deployment("cpu: 1, autoscaling: {min: 1, max: 2}"), &[]);
        let none = "it scales by CPU, and its pods ask for none";
        check(&deployment("autoscaling: {min: 1, max: 2}"), &[none]);
        let metric = "autoscaling: {min: 2, max: 1, metric: {name: m, average: 1}}";
        check(&deployment(metric), &["`min` 2 is more than `max` 1"]);
        let named = "cpu: 1, autoscaling: {min: 1, max: 2, metric: {name: 'a b', average: 1}}";
        check(&deployment(named), &["no metric can be called `a b`"]);
    }

    #[test]
    fn budgets_let_nodes_be_emptied() {
        let stuck = "no pod may ever be taken away, so no node can be emptied";
        for (replicas, budget, expected) in [
            (1, "minAvailable: 1", &[stuck][..]),
            (2, "minAvailable: 1", &[]),
            (1, "maxUnavailable: 0", &[stuck]),
            (1, "maxUnavailable: 1", &[]),
            (4, "minAvailable: 75%", &[]),
            (3, "minAvailable: 75%", &[stuck]),
            (1, "minAvailable: 50%", &[stuck]),
            (1, "minAvailable: 0%", &[]),
            (1, "maxUnavailable: 1%", &[]),
            (9, "maxUnavailable: 0%", &[stuck]),
            (2, "minAvailable: 101%", &["`101%` is more than all pods"]),
            (
                2,
                "minAvailable: half",
                &["`half` is neither a number of pods nor a part of them"],
            ),
            (
                2,
                "minAvailable: -1",
                &["`-1` is neither a number of pods nor a part of them"],
            ),
            (
                2,
                "maxUnavailable: 2147483648",
                &["`2147483648` is more than Kubernetes can count"],
            ),
            // Of no pod none is taken away.
            (0, "minAvailable: 1", &[]),
        ] {
            for kind in ["deployment", "statefulSet"] {
                let keys = format!("replicas: {replicas}, disruptionBudget: {{{budget}}}");
                check(&format!("{kind}: {{image: 'a:1', {keys}}}"), expected);
            }
        }
    }

    #[test]
    fn probes_ask_a_port_or_run_a_command() {
        let both = "a probe asks a port or runs a command, not both";
        let neither = "a probe asks a port or runs a command";
        let path = "a path is asked at a port";
        for (probe, expected) in [
            ("{port: 80}", &[][..]),
            ("{port: 80, path: /a}", &[]),
            ("{exec: [cat, /tmp/ready], failures: 3}", &[]),
            (
                "{port: 0, path: a}",
                &["`port` cannot be 0", "`a` is no path of HTTP"],
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
    fn a_service_may_be_stopped() {
        check("deployment: {image: 'a:1', replicas: 0}", &[]);
        check("statefulSet: {image: 'a:1', gpus: 1, replicas: 0}", &[]);
        let set = "leaderWorkerSet: {image: 'a:1', nodes: 1, gpusPerNode: 1, replicas: 0}";
        check(set, &[]);
        let many = "deployment: {image: 'a:1', replicas: 2147483648}";
        check(many, &["`replicas` is more than Kubernetes can count"]);
    }
}
