//! An entry of `allow` is not a warning.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity, closest_name};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2044",
        name: "allow-unknown",
        severity: Severity::Error,
        summary: "an entry of `allow` is not a warning",
        checks: "Whether each entry of `allow` is the name or the code of a warning, or of an error about a name that
may be newer than gpuc's tables, such as `machine-mistyped`.",
        reason: "A misspelled entry allows nothing. Any other error cannot be allowed, because the cluster would not
work.",
        remedy: "Write the name that gpuc prints in brackets after the code of the warning, or remove the entry.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
allow: [kubernetes-version-unreadable]
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
"#,
        correction: Correction::Replace("kubernetes-version-unreadable", ""),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let codes = (cluster.registry.codes)();
    for entry in &cluster.config.allow {
        let is_named = |code: &&&Code| code.is_called(&entry.value);
        let found = codes.iter().find(is_named);
        if found.is_some_and(|code| code.can_be_allowed()) {
            continue;
        }
        if let Some(code) = found {
            let message = format!("`{entry}` is an error, not a warning: {}", code.summary);
            let help = "fix the error, and remove the entry: this error cannot be allowed";
            report
                .diagnostic(&RULE.code, entry.span, message)
                .help(help)
                .emit();
            continue;
        }
        let warnings = codes.iter().copied();
        let warnings = warnings.filter(|code| code.can_be_allowed());
        let closest = closest_name(entry, warnings);
        let message = format!("unknown warning `{entry}`");
        let builder = report.diagnostic(&RULE.code, entry.span, message);
        let builder = match closest {
            Some(closest) => builder
                .help(format!("did you mean `{closest}`?"))
                .replace(entry.span, closest),
            None => builder.help("remove the entry, or write the name of a warning"),
        };
        builder.emit();
    }
}

#[cfg(test)]
mod tests {
    use super::super::pool_name_invalid;
    use crate::testing::messages_with_id;

    #[test]
    fn names_and_ids_of_warnings_are_valid() {
        let summary = pool_name_invalid::RULE.code.summary;
        let yaml = "
            allow: [scale-from-zero, GPUC2014, machine-unknown, machine-mistyped, scale-from-nil, GPUC2001, promise-taken]
            cloud: {onPrem: {context: demo}}
            nodePools: [{name: a, hosts: [a], nodes: {count: 1}}]
            ";
        assert_eq!(
            messages_with_id(yaml, "GPUC2044"),
            [
                "unknown warning `scale-from-nil`".to_owned(),
                format!("`GPUC2001` is an error, not a warning: {summary}"),
            ]
        );
    }
}
