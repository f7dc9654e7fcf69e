//! A judgement as text for people.

use std::fmt::Write;

use gpuc_syntax::diag::phrases::pluralize;

use crate::judgement::{Judgement, Reason, Verdict};

/// The judgement as text: the verdict, then causes, reasons and warnings, then the measured values.
pub fn text(judgement: &Judgement) -> String {
    let mut out = String::new();
    let verdict = match judgement.verdict {
        Verdict::Proven => "proven",
        Verdict::NotProven => "not proven",
    };
    let _ = writeln!(out, "{verdict}: {}", judgement.subject);
    for (label, reasons) in [
        ("cause", &judgement.causes),
        ("error", &judgement.reasons),
        ("warning", &judgement.warnings),
    ] {
        for reason in reasons {
            write_reason(&mut out, label, reason);
        }
    }
    if !judgement.measured.is_empty() {
        out.push_str("\nmeasured:\n");
        let width = judgement.measured.iter().map(|it| it.name.len()).max();
        for measured in &judgement.measured {
            let width = width.unwrap_or_default();
            let _ = writeln!(out, "  {:width$}  {}", measured.name, measured.value);
        }
    }
    let _ = write!(out, "\n{}", summary(judgement));
    out.push('\n');
    out
}

fn write_reason(out: &mut String, label: &str, reason: &Reason) {
    let _ = writeln!(out, "\n{label}[{}]: {}", reason.id, reason.text);
    if let Some(evidence) = &reason.evidence {
        let _ = writeln!(out, "  --> line {}", evidence.line);
        let _ = writeln!(out, "  = {}", evidence.text);
    }
    if !reason.help.is_empty() {
        let _ = writeln!(out, "help: {}", reason.help);
    }
}

fn summary(judgement: &Judgement) -> String {
    match judgement.verdict {
        Verdict::Proven => match judgement.warnings.len() {
            0 => "proven".to_owned(),
            count => format!("proven, with {}", pluralize(count, "warning")),
        },
        Verdict::NotProven => format!(
            "not proven: {}",
            pluralize(judgement.reasons.len(), "reason")
        ),
    }
}
