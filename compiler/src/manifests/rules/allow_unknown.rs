//! The annotation `gpuc.dev/allow` names what cannot be allowed.

use super::codes;
use crate::diag::{Code, Report, Severity, words};
use crate::manifests::{Rule, Scene};

/// The annotation `gpuc.dev/allow` names what cannot be allowed.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4088",
        name: "manifest-allow-unknown",
        severity: Severity::Error,
        summary: "`gpuc.dev/allow` names something that cannot be allowed",
        explain: "### What it checks

Whether each word of an object's annotation `gpuc.dev/allow` is the name or the code of a warning about
manifests.

### Why it matters

A misspelt word allows nothing, and an error cannot be allowed: the object would not work.

### What to do

Write the name as it stands in brackets behind the warning's code, with commas between several, or remove
the word.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
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
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
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
spec:
  containers: [{name: page, image: "registry.example.com/page:1.0.0"}]
"#,
    },
    run,
};

fn run(scene: &Scene<'_>, report: &mut Report) {
    for allowed in &scene.allowed {
        for word in &allowed.words {
            let is_meant = |code: &&Code| code.name == *word || code.id == *word;
            match codes().find(is_meant) {
                Some(code) if code.severity == Severity::Warning => {}
                Some(code) => {
                    let message = format!("`{word}` is an error: {}", code.summary);
                    let draft = report.draft(&RULE.code, allowed.span, message);
                    let help = "errors cannot be allowed: mend it, and remove the word";
                    draft.help(help).emit();
                }
                None => {
                    let warnings = codes().filter(|it| it.severity == Severity::Warning);
                    let near = words::nearest(word, warnings.map(|code| code.name));
                    let message = format!("no warning of manifests is called `{word}`");
                    let help = match near {
                        Some(near) => format!("did you mean `{near}`?"),
                        None => "remove it, or write a warning's name".to_owned(),
                    };
                    let draft = report.draft(&RULE.code, allowed.span, message);
                    draft.help(help).emit();
                }
            }
        }
    }
}
