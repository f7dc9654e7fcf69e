//! The annotation `gpuc.dev/allow` contains an unknown name or an error.

use gpuc_syntax::diag::{Code, Correction, Report, Severity, closest_name};

use super::rule_codes;
use crate::{CheckContext, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4088",
        name: "manifest-allow-unknown",
        severity: Severity::Error,
        summary: "`gpuc.dev/allow` contains an unknown name or an error, which cannot be allowed",
        checks: "Whether each name in an object's annotation `gpuc.dev/allow` is the name or the code of a manifest warning.",
        reason: "A misspelled name allows nothing. An error cannot be allowed: the object would not work.",
        remedy: "Write the name shown in brackets after the warning's code, separate several names with commas, or remove the
name.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: cpu, hosts: [node-1], nodes: {count: 1}}
  - {name: gpu, gpu: {model: A30, perNode: 2}, hosts: [node-2], nodes: {count: 1}}
--- # manifest.yaml
apiVersion: v1
kind: Pod
metadata:
  name: page
  annotations: {gpuc.dev/allow: manifest-request-too-large}
spec:
  containers: [{name: page, image: "registry.example.com/page:1.0.0"}]
"#,
        correction: Correction::Replace("  annotations: {gpuc.dev/allow: manifest-request-too-large}
", ""),
    },
    run,
};

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    for allowed in &ctx.allow_annotations {
        for word in &allowed.names {
            let is_named = |code: &&Code| code.is_called(word);
            match rule_codes().find(is_named) {
                Some(code) if code.severity == Severity::Warning => {}
                Some(code) => {
                    let message = format!("`{word}` is an error: {}", code.summary);
                    let builder = report.diagnostic(&RULE.code, allowed.span, message);
                    let help = "fix the error and remove the name; only warnings can be allowed";
                    builder.help(help).emit();
                }
                None => {
                    let warnings = rule_codes().filter(|it| it.severity == Severity::Warning);
                    let closest = closest_name(word, warnings);
                    let message = format!("unknown manifest warning `{word}`");
                    let help = match closest {
                        Some(closest) => format!("did you mean `{closest}`?"),
                        None => "remove it, or write the name of a warning".to_owned(),
                    };
                    let builder = report.diagnostic(&RULE.code, allowed.span, message);
                    builder.help(help).emit();
                }
            }
        }
    }
}
