//! A text has characters that nobody can see, or far too many.

use gpuc_schema::config::texts;

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A text has characters that nobody can see, or far too many.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2048",
        name: "text-unprintable",
        severity: Severity::Error,
        summary: "a text has characters that nobody can see, or far too many",
        explain: "### What it checks

Whether the texts of the file have only visible characters and blanks, and at most 4096 of them.
Arguments of commands and variables may have several lines.

### Why it matters

A text may become a part of a command, a label or a name. A line break, a zero byte or a mark
that turns the direction of writing there makes the script that is reviewed another than the one
that runs.

### What to do

Remove the character; the message names it.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: "demo\u202e"}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
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
    hosts: [node-1]
    nodes: {count: 1}
"#,
    },
    run,
};

/// More than any name, id, label or tag may have anywhere.
const MOST: usize = 4096;

fn run(cluster: &Cluster, report: &mut Report) {
    for text in texts(&cluster.written) {
        let written = text.written;
        let bad = written.chars().find(|c| is_hidden(*c, text.many_lines));
        let (message, help) = if let Some(bad) = bad {
            let message = format!("a text has the character U+{:04X}", u32::from(bad));
            (
                message,
                "remove it: what cannot be seen cannot be reviewed".to_owned(),
            )
        } else if written.len() > MOST && !text.many_lines {
            let message = format!("a text has {} characters", written.chars().count());
            (message, format!("at most {MOST} bytes are taken"))
        } else {
            continue;
        };
        report
            .draft(&RULE.code, text.span, message)
            .help(help)
            .emit();
    }
}

/// Whether a character cannot be seen, or changes how others are seen.
fn is_hidden(c: char, many_lines: bool) -> bool {
    let breaks = matches!(c, '\n' | '\t' | '\u{2028}' | '\u{2029}');
    let directions =
        matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let nothing = matches!(c, '\u{200b}' | '\u{2060}' | '\u{feff}');
    if breaks {
        !many_lines
    } else {
        c.is_control() || directions || nothing
    }
}

#[cfg(test)]
mod tests {
    use super::is_hidden;

    #[test]
    fn what_cannot_be_seen_is_hidden() {
        for c in [
            '\0', '\n', '\t', '\r', '\u{1b}', '\u{7f}', '\u{85}', '\u{202e}', '\u{feff}',
        ] {
            assert!(is_hidden(c, false), "{c:?}");
        }
        for c in ['a', ' ', '$', '\'', 'é', '中', '🦀'] {
            assert!(!is_hidden(c, false), "{c:?}");
        }
        assert!(!is_hidden('\n', true) && is_hidden('\0', true) && is_hidden('\r', true));
    }
}
