//! An entry of `allow` that suppresses nothing. Only the code that applies `allow` knows, so it is not a [`Rule`].
//!
//! [`Rule`]: gpuc_model::check::Rule

use gpuc_schema::config::GpuCluster;

use gpuc_syntax::diag::{Code, Correction, Report, Severity};

/// An entry of `allow` that suppresses nothing.
pub(super) static CODE: Code = Code {
    id: "GPUC2045",
    name: "allow-unused",
    severity: Severity::Warning,
    summary: "`allow` names a warning that does not occur",
    checks: "Whether each entry of `allow` suppresses a finding of this file.",
    reason: "An entry that is no longer needed hides the next warning with this name.",
    remedy: "Remove the entry.",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
allow: [scale-from-zero]
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
"#,
    correction: Correction::Replace(
        "allow: [scale-from-zero]
",
        "",
    ),
};

/// The names of warnings that depend on today's date.
const DATED: &[&str] = &["kubernetes-support-ending", "capacity-block-ended"];

/// Reports the entries of `allow` that suppress nothing. `used` tells for each entry whether it suppressed a warning.
///
/// `allow-unknown` reports entries that are not the name of a warning.
pub(super) fn allow_unused(
    config: &GpuCluster,
    codes: &[&Code],
    used: &[bool],
    report: &mut Report,
) {
    for (word, used) in config.allow.iter().zip(used) {
        let is_named = |code: &&&Code| code.is_called(&word.value);
        let code = codes.iter().find(is_named);
        let can_be_allowed = code.is_some_and(|code| code.can_be_allowed());
        // Warnings about manifests occur only in a run that reads manifests.
        let concerns_manifests = code.is_some_and(|code| code.id.starts_with("GPUC4"));
        // Whether these occur depends on the day.
        let concerns_dates = code.is_some_and(|code| DATED.contains(&code.name));
        if *used || !can_be_allowed || concerns_manifests || concerns_dates {
            continue;
        }
        let kind = code.map_or("warning", |code| code.severity.as_str());
        let message = format!("the {kind} `{word}` does not occur in this file");
        report
            .diagnostic(&CODE, word.span, message)
            .help("remove the entry from `allow`")
            .emit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charts::testing::codes;

    #[test]
    fn only_unused_names_of_warnings_are_reported() {
        let config: GpuCluster = serde_json::from_value(serde_json::json!({
            "apiVersion": "gpuc.dev/v1alpha1",
            "kind": "GpuCluster",
            "metadata": {"name": "demo"},
            "kubernetes": {"version": "1.34"},
            "allow": ["floating-tags", "GPUC2014", "no-such-name", "pool-name-invalid", "promise-taken"],
            "cloud": {"onPrem": {"context": "demo"}},
            "nodePools": [{"name": "a", "hosts": ["a"], "nodes": {"count": 1}}],
        }))
        .expect("a configuration");
        let mut report = Report::default();
        allow_unused(
            &config,
            &codes(),
            &[true, false, false, false, false],
            &mut report,
        );
        let messages: Vec<_> = report.diagnostics().iter().map(|it| &it.message).collect();
        assert_eq!(
            messages,
            [
                "the warning `GPUC2014` does not occur in this file",
                "the warning `promise-taken` does not occur in this file",
            ]
        );
    }
}
