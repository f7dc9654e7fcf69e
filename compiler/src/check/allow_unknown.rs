//! `allow` names something that cannot be allowed.

use super::Rule;
use crate::diag::words;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// `allow` names something that cannot be allowed.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2044",
        name: "allow-unknown",
        severity: Severity::Error,
        summary: "`allow` names something that cannot be allowed",
        explain: "### What it checks

Whether each word of `allow` is the name or the code of a warning.

### Why it matters

A misspelt word allows nothing, and an error cannot be allowed: the cluster would not work.

### What to do

Write the name as it stands in brackets behind the warning's code, or remove the word.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
allow: [kubernetes-version-unreadable]
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
allow: []
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for word in &cluster.written.allow {
        let is_meant = |code: &&&Code| code.name == word.value || code.id == word.value;
        let codes = crate::codes();
        let found = codes.iter().find(is_meant);
        if found.is_some_and(|code| code.severity == Severity::Warning) {
            continue;
        }
        if let Some(code) = found {
            let message = format!("`{word}` is an error: {}", code.summary);
            let draft = report.draft(&RULE.code, word.span, message);
            let help = "errors cannot be allowed: mend it, and remove the word";
            draft.help(help).emit();
            continue;
        }
        let warnings = codes
            .iter()
            .filter(|code| code.severity == Severity::Warning);
        let near = words::nearest(word, warnings.map(|code| code.name));
        let message = format!("no warning is called `{word}`");
        let draft = report.draft(&RULE.code, word.span, message);
        let draft = match near {
            Some(near) => draft
                .help(format!("did you mean `{near}`?"))
                .replace(word.span, near),
            None => draft.help("remove it, or write a warning's name"),
        };
        draft.emit();
    }
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;

    #[test]
    fn warnings_may_be_allowed_by_name_or_id() {
        let yaml = "
            allow: [scale-from-zero, GPUC2014, machine-unknown, scale-from-nil, GPUC2001]
            cloud: {onPrem: {context: demo}}
            nodePools: [{name: a, hosts: [a], nodes: {count: 1}}]
            ";
        assert_eq!(
            messages(yaml, "GPUC2044"),
            [
                "no warning is called `scale-from-nil`",
                "`GPUC2001` is an error: a pool has a name that it cannot have",
            ]
        );
    }
}
