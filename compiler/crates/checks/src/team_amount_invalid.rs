//! A quantity of a team's quota or limits is invalid.

use gpuc_model::check::Rule;
use gpuc_model::{Amounts, Cluster, ContainerLimits, Quantity, Team};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::messages::with_quantity_help;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2157",
        name: "team-amount-invalid",
        severity: Severity::Error,
        summary: "a quantity of a team's quota or limits is invalid",
        checks: "Whether `cpu`, `memory` and `storage` in quotas and limits are valid quantities, of memory and storage at least
1 MiB, and whether the container defaults are in order: `defaultRequest` at most `default`, and `default` at most
`max`.",
        reason: "The API server rejects the ResourceQuota or the LimitRange, or every pod that does not set its own
values.",
        remedy: "Write a quantity such as `4`, `0.5` or `500m` for CPU, or `16Gi` or `512Mi` for memory and storage.
Set `defaultRequest` to at most `default`, and `default` to at most `max`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1, node-2]
    nodes: {count: 2}
teams:
  - name: research
    quota: {memory: 4TB}
"#,
        correction: Correction::Replace("memory: 4TB", "memory: 4Ti"),
    },
    run,
};

/// The least useful amount of memory or storage, in thousandths of a byte: about 1 MiB.
const MIN_BYTES: u64 = 1000 * 1000 * 1000;

fn run(cluster: &Cluster, report: &mut Report) {
    for team in &cluster.teams {
        let of_team = team.quota.iter();
        let of_namespaces = team.namespace_quotas.iter().map(|it| &it.quota);
        for quota in of_team.chain(of_namespaces) {
            let written = [&quota.cpu, &quota.memory, &quota.storage];
            for (resource, written) in ["CPU cores", "memory", "storage"].into_iter().zip(written) {
                // A quota of 0 is valid.
                let nonzero = written.as_ref().filter(|it| it.thousandths() != Some(0));
                check_quantity(resource, nonzero, report);
            }
        }
        if let Some(limits) = &team.limits {
            check_limits(team, limits, report);
        }
    }
}

fn check_limits(team: &Team, limits: &ContainerLimits, report: &mut Report) {
    let cpu_and_memory = |amounts: Option<&Amounts>| {
        let amounts = amounts.cloned().unwrap_or_default();
        [amounts.cpu, amounts.memory]
    };
    let requests = cpu_and_memory(Some(&team.default_request));
    let defaults = cpu_and_memory(limits.default.as_ref());
    let max = cpu_and_memory(limits.max.as_ref());
    for (index, resource) in ["CPU cores", "memory"].into_iter().enumerate() {
        let all = [&requests[index], &defaults[index], &max[index]];
        let mut is_valid = true;
        for written in all.into_iter().flatten() {
            is_valid &= check_quantity(resource, Some(written), report);
        }
        let names = ["defaultRequest", "default", "max"];
        let pairs = if all[1].is_some() {
            &[(0, 1), (1, 2)][..]
        } else {
            &[(0, 2)]
        };
        if let Some(request) = all[0]
            .as_ref()
            .filter(|it| is_valid && it.span.is_written())
        {
            check_against_quotas(team, resource, request, report);
        }
        for (lower_index, upper_index) in pairs.iter().filter(|_| is_valid) {
            if let (Some(lower), Some(upper)) = (all[*lower_index], all[*upper_index]) {
                let lower = Setting::new(names[*lower_index], lower);
                check_order(&lower, &Setting::new(names[*upper_index], upper), report);
            }
        }
    }
}

/// Reports a default request that exceeds the quota of a namespace: a container without requests must fit into it.
fn check_against_quotas(team: &Team, unit: &str, request: &Quantity, report: &mut Report) {
    let quotas = (0..team.namespaces.len()).filter_map(|index| team.namespace_quota(index));
    let of_team = team.quota.as_ref();
    for quota in quotas.chain(of_team) {
        let limit = match unit {
            "CPU cores" => &quota.cpu,
            _ => &quota.memory,
        };
        let nonzero = |it: &&Quantity| it.thousandths().is_some_and(|count| count > 0);
        if let Some(limit) = limit.as_ref().filter(nonzero)
            && request.thousandths() > limit.thousandths()
        {
            let request = Setting::new("defaultRequest", request);
            check_order(&request, &Setting::new("quota", limit), report);
            return;
        }
    }
}

/// Whether a quantity is valid. Values that gpuc derived from an invalid one are not reported.
fn check_quantity(unit: &str, quantity: Option<&Quantity>, report: &mut Report) -> bool {
    let is_cpu = unit == "CPU cores";
    let is_invalid = |it: &&Quantity| {
        it.thousandths().is_none_or(|count| count == 0) || has_wrong_unit(&it.text, is_cpu)
    };
    let is_tiny = |it: &&Quantity| {
        let count = it.thousandths().unwrap_or_default();
        !is_cpu && it.span.is_written() && count > 0 && count < MIN_BYTES
    };
    if let Some(tiny) = quantity.filter(|it| !is_invalid(it)).filter(is_tiny) {
        let number = tiny.text.trim_end_matches(|c: char| !c.is_ascii_digit());
        let message = format!("the {unit} of `{}` is less than 1 MiB", tiny.text);
        report
            .diagnostic(&RULE.code, tiny.span, message)
            .help(format!("the unit is bytes; did you mean `{number}Gi`?"))
            .emit();
        return false;
    }
    let Some(quantity) = quantity.filter(is_invalid) else {
        return true;
    };
    if !quantity.span.is_written() {
        return false;
    }
    let message = format!("invalid quantity `{}` for {unit}", quantity.text);
    let examples = if is_cpu {
        "`4`, `0.5` or `500m`"
    } else {
        "`16Gi` or `4Ti`"
    };
    let is_too_precise = quantity
        .text
        .split_once('.')
        .is_some_and(|(_, part)| part.len() > 3 && part.bytes().all(|byte| byte.is_ascii_digit()));
    let help = if is_cpu && is_too_precise {
        "write at most 3 decimal places: the smallest unit of CPU is `1m`".to_owned()
    } else {
        format!("write a quantity such as {examples}")
    };
    let builder = report.diagnostic(&RULE.code, quantity.span, message);
    with_quantity_help(builder, &quantity.text, quantity.span, is_cpu, help).emit();
    false
}

/// Whether the unit is not useful: thousandths of a byte, multiples of 1024 cores, or less than a thousandth of a core,
/// which Kubernetes does not support.
pub(super) fn has_wrong_unit(quantity: &str, is_cpu: bool) -> bool {
    let suffix = quantity.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let number = &quantity[..quantity.len() - suffix.len()];
    let part = number.split_once('.').map_or("", |(_, part)| part);
    let digits = part.trim_end_matches('0').len();
    match suffix {
        "" => is_cpu && digits > 3,
        "m" => !is_cpu || digits > 0,
        "n" | "u" => true,
        _ => is_cpu && suffix.ends_with('i'),
    }
}

/// A quantity with the name of its key.
struct Setting<'q> {
    key: &'static str,
    quantity: &'q Quantity,
}

impl<'q> Setting<'q> {
    fn new(key: &'static str, quantity: &'q Quantity) -> Self {
        Self { key, quantity }
    }
}

/// Reports a quantity that exceeds its maximum.
fn check_order(setting: &Setting<'_>, max: &Setting<'_>, report: &mut Report) {
    let (lower, upper) = (setting.quantity, max.quantity);
    if lower.thousandths() > upper.thousandths() {
        let (low, up) = (&lower.text, &upper.text);
        let message = format!("`{}` ({low}) exceeds `{}` ({up})", setting.key, max.key);
        report
            .diagnostic(&RULE.code, lower.span, message)
            .label(upper.span, format!("`{}` is set here", max.key))
            .help(format!("write at most {up}"))
            .emit();
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{TEAMS, check_in};

    #[track_caller]
    fn check(teams: &str, expected: &[&str]) {
        check_in(TEAMS, "GPUC2157", teams, expected);
    }

    #[test]
    fn invalid_and_unordered_quantities_are_found() {
        check(
            "teams: [{name: a, quota: {cpu: 4, memory: 4Ti, storage: 1Ti}, limits: {default: {cpu: 2}, max: {cpu: 4, memory: 512Mi}}}]",
            &[],
        );
        check(
            "teams: [{name: a, namespaceQuotas: [{namespace: a, quota: {cpu: 4x, memory: -4}}]}]",
            &[
                "invalid quantity `4x` for CPU cores",
                "invalid quantity `-4` for memory",
            ],
        );
        check(
            "teams: [{name: a, quota: {memory: 64, storage: 1M}}]",
            &["the memory of `64` is less than 1 MiB"],
        );
        check(
            "teams: [{name: a, quota: {cpu: 0, memory: 0, storage: 0}}, {name: b, quota: {memory: 100Mi}}]",
            &[],
        );
        check(
            "teams: [{name: a, quota: {cpu: 4Ki, memory: 100m, storage: 5u}, limits: {max: {cpu: 0, memory: 0Gi}}}]",
            &[
                "invalid quantity `4Ki` for CPU cores",
                "invalid quantity `100m` for memory",
                "invalid quantity `5u` for storage",
                "invalid quantity `0` for CPU cores",
                "invalid quantity `0Gi` for memory",
            ],
        );
        check(
            "teams: [{name: a, limits: {defaultRequest: {cpu: 0.0005}, max: {cpu: 1.5m}}}, {name: b, limits: {max: {cpu: 0.250}}}]",
            &[
                "invalid quantity `0.0005` for CPU cores",
                "invalid quantity `1.5m` for CPU cores",
            ],
        );
        check(
            "teams: [{name: a, quota: {cpu: 2, memory: 1Gi}, limits: {defaultRequest: {cpu: 3, memory: 1Gi}}}]",
            &["`defaultRequest` (3) exceeds `quota` (2)"],
        );
        check(
            "teams: [{name: a, quota: {storage: much}, limits: {defaultRequest: {cpu: 3}, default: {cpu: 2, memory: 2Gi}, max: {cpu: 4, memory: 1Gi}}}]",
            &[
                "invalid quantity `much` for storage",
                "`defaultRequest` (3) exceeds `default` (2)",
                "`default` (2Gi) exceeds `max` (1Gi)",
            ],
        );
        check(
            "teams: [{name: a, limits: {defaultRequest: {cpu: 3}, max: {cpu: 2}}}]",
            &["`defaultRequest` (3) exceeds `max` (2)"],
        );
    }
}
