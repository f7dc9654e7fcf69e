//! An amount of a team cannot be used.

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, Team};
use gpuc_schema::Spanned;
use gpuc_schema::config::{Amounts, Limits, Quantity};

/// An amount of a team cannot be used.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2157",
        name: "team-amount-invalid",
        severity: Severity::Error,
        summary: "an amount of a team cannot be used",
        explain: "### What it checks

Whether `cpu`, `memory` and `storage` of quotas and limits are amounts, and whether a container's
defaults are no more than the most: `defaultRequest` no more than `default`, and `default` no more than
`max`.

### Why it matters

Kubernetes refuses the objects, or every pod that does not say more.

### What to do

Write 4, 0.5 or 500m of CPU, 16Gi or 512Mi of memory or storage, in that order.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
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
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1, node-2]
    nodes: {count: 2}
teams:
  - name: research
    quota: {memory: 4Ti}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for team in &cluster.teams {
        let whole = team.written.quota.iter().map(|it| &it.value);
        let parts = team.written.namespace_quotas.iter().map(|it| &it.quota);
        for quota in whole.chain(parts) {
            let written = [&quota.cpu, &quota.memory, &quota.storage];
            for (what, written) in ["CPU cores", "memory", "storage"].into_iter().zip(written) {
                // None of it is a quota too.
                let some = written.as_ref().filter(|it| it.thousandths() != Some(0));
                amount(what, some, report);
            }
        }
        if let Some(limits) = &team.written.limits {
            look(team, limits, report);
        }
    }
}

fn look(team: &Team, limits: &Limits, report: &mut Report) {
    let of = |amounts: Option<&Amounts>| {
        let amounts = amounts.cloned().unwrap_or_default();
        [amounts.cpu, amounts.memory]
    };
    let requests = of(Some(&team.default_request));
    let defaults = of(limits.default.as_ref());
    let most = of(limits.max.as_ref());
    for (index, what) in ["CPU cores", "memory"].into_iter().enumerate() {
        let all = [&requests[index], &defaults[index], &most[index]];
        let mut right = true;
        for written in all.into_iter().flatten() {
            right &= amount(what, Some(written), report);
        }
        let names = ["defaultRequest", "default", "max"];
        let pairs = if all[1].is_some() {
            &[(0, 1), (1, 2)][..]
        } else {
            &[(0, 2)]
        };
        if let Some(request) = all[0].as_ref().filter(|it| right && it.span.is_written()) {
            within_quotas(team, what, request, report);
        }
        for (less, more) in pairs.iter().filter(|_| right) {
            if let (Some(lower), Some(upper)) = (all[*less], all[*more]) {
                order((names[*less], lower), (names[*more], upper), report);
            }
        }
    }
}

/// A container that says nothing has to fit into the quota of its namespace.
fn within_quotas(team: &Team, what: &str, request: &Spanned<Quantity>, report: &mut Report) {
    let quotas = (0..team.namespaces.len()).filter_map(|index| team.quota_of(index));
    let whole = team.written.quota.as_ref().map(|it| &it.value);
    for quota in quotas.chain(whole) {
        let most = match what {
            "CPU cores" => &quota.cpu,
            _ => &quota.memory,
        };
        let some = |it: &&Spanned<Quantity>| it.thousandths().is_some_and(|count| count > 0);
        if let Some(most) = most.as_ref().filter(some)
            && request.thousandths() > most.thousandths()
        {
            order(("defaultRequest", request), ("quota", most), report);
            return;
        }
    }
}

/// Whether an amount is one. What gpuc derived of a wrong one is no finding of its own.
fn amount(what: &str, amount: Option<&Spanned<Quantity>>, report: &mut Report) -> bool {
    let is_cpu = what == "CPU cores";
    let is_wrong = |it: &&Spanned<Quantity>| {
        it.thousandths().is_none_or(|count| count == 0) || has_wrong_unit(&it.0, is_cpu)
    };
    let Some(amount) = amount.filter(is_wrong) else {
        return true;
    };
    if !amount.span.is_written() {
        return false;
    }
    let message = format!("`{}` is no amount of {what}", amount.value.0);
    let draft = report.draft(&RULE.code, amount.span, message);
    let examples = if is_cpu {
        "4, 0.5 or 500m"
    } else {
        "16Gi or 4Ti"
    };
    let is_fine = amount
        .0
        .split_once('.')
        .is_some_and(|(_, part)| part.len() > 3 && part.bytes().all(|byte| byte.is_ascii_digit()));
    let help = if is_cpu && is_fine {
        "write at most 3 digits after the point: Kubernetes counts thousandths of a core".to_owned()
    } else {
        format!("write {examples}")
    };
    draft.help(help).emit();
    false
}

/// Whether the unit is one that nobody means: thousandths of a byte, cores by the 1024, less than a thousandth of a
/// core, which Kubernetes does not tell apart.
pub(super) fn has_wrong_unit(amount: &str, is_cpu: bool) -> bool {
    let suffix = amount.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let number = &amount[..amount.len() - suffix.len()];
    let part = number.split_once('.').map_or("", |(_, part)| part);
    let digits = part.trim_end_matches('0').len();
    match suffix {
        "" => is_cpu && digits > 3,
        "m" => !is_cpu || digits > 0,
        "n" | "u" => true,
        _ => is_cpu && suffix.ends_with('i'),
    }
}

fn order(
    (less, lower): (&str, &Spanned<Quantity>),
    (more, upper): (&str, &Spanned<Quantity>),
    report: &mut Report,
) {
    if lower.thousandths() > upper.thousandths() {
        let (low, up) = (&lower.value.0, &upper.value.0);
        let message = format!("`{less}`, {low}, is more than `{more}`, {up}");
        let draft = report.draft(&RULE.code, lower.span, message);
        let draft = draft.label(upper.span, format!("the `{more}`"));
        draft.help(format!("write at most {up}")).emit();
    }
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;

    #[track_caller]
    fn check(teams: &str, expected: &[&str]) {
        let yaml = format!(
            "
            cloud: {{onPrem: {{context: demo}}}}
            nodePools:
              - {{name: train, gpu: {{model: A30, perNode: 2}}, hosts: [a], nodes: {{count: 1}}}}
              - {{name: infer, gpu: {{model: L4, perNode: 4}}, hosts: [b], nodes: {{count: 1}}}}
              - {{name: turns, gpu: {{model: L4, perNode: 1}}, hosts: [c], nodes: {{count: 1}}, sharing: {{timeSlicing: {{replicas: 4, rename: true}}}}}}
            {teams}
            "
        );
        assert_eq!(messages(&yaml, "GPUC2157"), expected, "{teams}");
    }

    #[test]
    fn amounts_are_amounts_in_order() {
        check(
            "teams: [{name: a, quota: {cpu: 4, memory: 4Ti, storage: 1Ti}, limits: {default: {cpu: 2}, max: {cpu: 4, memory: 512Mi}}}]",
            &[],
        );
        check(
            "teams: [{name: a, namespaceQuotas: [{namespace: a, quota: {cpu: 4x, memory: -4}}]}]",
            &[
                "`4x` is no amount of CPU cores",
                "`-4` is no amount of memory",
            ],
        );
        check(
            "teams: [{name: a, quota: {cpu: 0, memory: 0, storage: 0}}, {name: b, quota: {memory: 100Mi}}]",
            &[],
        );
        check(
            "teams: [{name: a, quota: {cpu: 4Ki, memory: 100m, storage: 5u}, limits: {max: {cpu: 0, memory: 0Gi}}}]",
            &[
                "`4Ki` is no amount of CPU cores",
                "`100m` is no amount of memory",
                "`5u` is no amount of storage",
                "`0` is no amount of CPU cores",
                "`0Gi` is no amount of memory",
            ],
        );
        check(
            "teams: [{name: a, limits: {defaultRequest: {cpu: 0.0005}, max: {cpu: 1.5m}}}, {name: b, limits: {max: {cpu: 0.250}}}]",
            &[
                "`0.0005` is no amount of CPU cores",
                "`1.5m` is no amount of CPU cores",
            ],
        );
        check(
            "teams: [{name: a, quota: {cpu: 2, memory: 1Gi}, limits: {defaultRequest: {cpu: 3, memory: 1Gi}}}]",
            &["`defaultRequest`, 3, is more than `quota`, 2"],
        );
        check(
            "teams: [{name: a, quota: {storage: much}, limits: {defaultRequest: {cpu: 3}, default: {cpu: 2, memory: 2Gi}, max: {cpu: 4, memory: 1Gi}}}]",
            &[
                "`much` is no amount of storage",
                "`defaultRequest`, 3, is more than `default`, 2",
                "`default`, 2Gi, is more than `max`, 1Gi",
            ],
        );
        check(
            "teams: [{name: a, limits: {defaultRequest: {cpu: 3}, max: {cpu: 2}}}]",
            &["`defaultRequest`, 3, is more than `max`, 2"],
        );
    }
}
