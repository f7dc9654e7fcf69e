//! An `allow:` that nothing needed. Only who applies it knows, so no rule reports it by itself.

use gpuc_schema::config::GpuCluster;

use crate::diag::{Code, Report, Severity};

/// An `allow:` that nothing needed.
pub(super) static CODE: Code = Code {
    id: "GPUC2045",
    name: "allow-unused",
    severity: Severity::Warning,
    summary: "`allow` names a warning that does not occur",
    explain: "### What it checks

Whether each word of `allow` silences a warning of this file.

### Why it matters

A word that stays after its reason is gone hides the next warning of the kind.

### What to do

Remove the word.
",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
allow: [scale-from-zero]
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
"#,
    good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
"#,
};

/// Speaks up about an `allow:` that nothing needed. `used` answers for each word whether it was of use.
///
/// A word that is no warning's name is a finding already.
pub fn allow_unused(config: &GpuCluster, used: &[bool], report: &mut Report) {
    let codes = crate::codes();
    for (word, used) in config.allow.iter().zip(used) {
        let is_meant = |code: &&&Code| code.name == word.value || code.id == word.value;
        let code = codes.iter().find(is_meant);
        let is_warning = code.is_some_and(|code| code.severity == Severity::Warning);
        // Whether manifests need a word shows only in a run that reads them.
        let is_of_manifests = code.is_some_and(|code| code.id.starts_with("GPUC4"));
        if *used || !is_warning || is_of_manifests {
            continue;
        }
        let message = format!("nothing here needs `allow: [{word}]`");
        let draft = report.draft(&CODE, word.span, message);
        draft.help("remove the word").emit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::testing::config;

    #[test]
    fn only_unused_names_of_warnings_are_reported() {
        let config = config(
            "
            allow: [floating-tags, GPUC2014, no-such-name, pool-name-invalid]
            cloud: {onPrem: {context: demo}}
            nodePools: [{name: a, hosts: [a], nodes: {count: 1}}]
            ",
        );
        let mut report = Report::default();
        allow_unused(&config, &[true, false, false, false], &mut report);
        let messages: Vec<_> = report.diagnostics().iter().map(|it| &it.message).collect();
        assert_eq!(messages, ["nothing here needs `allow: [GPUC2014]`"]);
    }
}
