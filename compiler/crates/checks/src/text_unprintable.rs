//! A text contains invisible characters or is too long.

use gpuc_schema::config::all_texts;

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2048",
        name: "text-unprintable",
        severity: Severity::Error,
        summary: "a text contains invisible characters or is too long",
        checks: "Whether the texts of the file contain only visible characters and spaces, and at most 4096 bytes.
Arguments of commands and variables may have several lines.",
        reason: "A text may become a part of a command, a label or a name. With a line break, a null byte or a
bidirectional control character, the script that runs differs from the one that is reviewed.",
        remedy: "Remove the character that the message names, or shorten the text.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: "demo\u202e"}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
"#,
        correction: Correction::Replace(r#""demo\u202e""#, "demo"),
    },
    run,
};

/// The maximum length, which exceeds that of any name, id, label or tag.
const MAX_BYTES: usize = 4096;

fn run(cluster: &Cluster, report: &mut Report) {
    for text in all_texts(&cluster.config) {
        let written = text.written;
        let hidden = written.chars().find(|c| is_hidden(*c, text.is_multiline));
        let (message, help) = if let Some(hidden) = hidden {
            let message = format!(
                "a text contains the invisible character U+{:04X}",
                u32::from(hidden)
            );
            (
                message,
                "remove the character: reviewers cannot see it".to_owned(),
            )
        } else if written.len() > MAX_BYTES && !text.is_multiline {
            let message = format!(
                "a text of {} characters is too long",
                written.chars().count()
            );
            (message, format!("shorten it to at most {MAX_BYTES} bytes"))
        } else {
            continue;
        };
        report
            .diagnostic(&RULE.code, text.span, message)
            .help(help)
            .emit();
    }
}

/// Whether a character is invisible, or changes how other characters are displayed.
fn is_hidden(c: char, is_multiline: bool) -> bool {
    let is_break = matches!(c, '\n' | '\t' | '\u{2028}' | '\u{2029}');
    let directions =
        matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let zero_width = matches!(c, '\u{200b}' | '\u{2060}' | '\u{feff}');
    if is_break {
        !is_multiline
    } else {
        c.is_control() || directions || zero_width
    }
}

#[cfg(test)]
mod tests {
    use super::is_hidden;

    #[test]
    fn invisible_characters_are_hidden() {
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
