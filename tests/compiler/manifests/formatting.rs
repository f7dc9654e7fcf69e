//! For any layout of a manifest, fixes add the missing fields and remove nothing.

use std::fmt::Write;

use proptest::prelude::*;

use super::{apply_fixes, check};

/// The layout of a manifest.
#[expect(clippy::struct_excessive_bools, reason = "the options are independent")]
#[derive(Clone, Debug)]
struct Formatting {
    /// The number of spaces per level.
    step: usize,
    /// Whether lists are not indented below their keys.
    flush: bool,
    /// Whether resources are on one line.
    flow: bool,
    /// Whether there are comments and empty lines.
    comments: bool,
    /// Whether lines end with CRLF.
    windows: bool,
    /// Whether the file has no final newline.
    no_final_newline: bool,
    /// Whether the containers are the last part of the pod.
    last: bool,
    /// The existing tolerations of the pod: none, on one line, or as a block.
    tolerations: u8,
}

fn formattings() -> impl Strategy<Value = Formatting> {
    let switches = any::<(bool, bool, bool, bool, bool, bool)>();
    (1_usize..5, 0_u8..3, switches).prop_map(|(step, tolerations, switches)| {
        let (flush, flow, comments, windows, no_final_newline, last) = switches;
        Formatting {
            step,
            flush,
            flow,
            comments,
            windows,
            no_final_newline,
            last,
            tolerations,
        }
    })
}

impl Formatting {
    fn text(&self) -> String {
        let step = " ".repeat(self.step);
        let dash = if self.flush {
            String::new()
        } else {
            step.clone()
        };
        let mut text = format!("apiVersion: v1\nkind: Pod\nmetadata:\n{step}name: a\nspec:\n");
        let comment = if self.comments {
            " # why: {not, [read"
        } else {
            ""
        };
        match self.tolerations {
            0 => {}
            1 => writeln!(
                text,
                "{step}tolerations: [{{key: a, operator: Exists}}]{comment}"
            )
            .unwrap(),
            _ => writeln!(
                text,
                "{step}tolerations:{comment}\n{step}{dash}- key: a\n{step}{dash}  operator: Exists"
            )
            .unwrap(),
        }
        if !self.last {
            text += &self.containers(&step, &dash, comment);
        }
        writeln!(text, "{step}restartPolicy: Never{comment}").unwrap();
        if self.comments {
            text += "\n# another line\n\n";
        }
        if self.last {
            text += &self.containers(&step, &dash, comment);
        }
        if self.no_final_newline {
            text.truncate(text.trim_end().len());
        }
        if self.windows {
            text = text.replace('\n', "\r\n");
        }
        text
    }

    fn containers(&self, step: &str, dash: &str, comment: &str) -> String {
        let at = format!("{step}{dash}");
        let mut text = format!(
            "{step}containers:\n{at}- name: a{comment}\n{at}  image: \"r.example.com/a:1\"\n"
        );
        if self.flow {
            writeln!(
                text,
                "{at}  resources: {{requests: {{nvidia.com/gpu: 2}}}}{comment}"
            )
            .unwrap();
        } else {
            let below = format!("{at}  {step}");
            writeln!(
                text,
                "{at}  resources:\n{below}requests:\n{below}{step}nvidia.com/gpu: 2{comment}"
            )
            .unwrap();
        }
        text
    }
}

fn is_subsequence(part: &str, whole: &str) -> bool {
    let mut rest = whole.chars();
    part.chars().all(|c| rest.any(|other| other == c))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn only_missing_fields_are_added(layout in formattings()) {
        let text = layout.text();
        let (before, _) = check("a.yaml", &text);
        prop_assert_eq!(before.codes(), ["GPUC4002", "GPUC4004", "GPUC4013"]);
        let (after, count) = apply_fixes("a.yaml", &text);
        let (left, _) = check("a.yaml", &after);
        prop_assert!(left.findings.is_empty(), "{}\n{}\n{}", text, after, left.text());
        prop_assert_eq!(count, 3);
        prop_assert!(is_subsequence(&text, &after), "{}\n{}", text, after);
        let lines: Vec<_> = after.lines().collect();
        let kept = text.lines().filter(|line| lines.contains(line)).count();
        // A fix that extends a flow sequence or mapping changes its line.
        let touched = usize::from(layout.flow) + usize::from(layout.tolerations == 1);
        prop_assert!(kept + touched >= text.lines().count(), "{}\n{}", text, after);
        prop_assert_eq!(after.contains('\r'), layout.windows);
        prop_assert!(!layout.windows || !after.replace("\r\n", "").contains('\n'));
    }
}
