//! Applies `allow:` and `--deny` to the severity of findings.

use super::{Code, Diagnostic, Severity};

/// The findings that become errors.
#[derive(Clone, Debug, Default)]
pub struct Levels {
    /// Names, former names or ids of codes that become errors; `warnings` means all warnings.
    pub deny: Vec<String>,
}

impl Levels {
    /// Whether findings of a code become errors.
    fn denies(&self, code: &Code) -> bool {
        self.deny
            .iter()
            .any(|word| word == "warnings" || code.is_called(word))
    }
}

/// Turns allowed errors about names that may be newer than gpuc's tables into warnings, so that the phases after the
/// rules run. [`apply_levels`] drops them.
pub fn accept_allowed(diagnostics: &mut [Diagnostic], allow: &[&str]) {
    for found in diagnostics {
        if found.code.is_table_gap() && allow.iter().any(|word| found.code.is_called(word)) {
            found.severity = Severity::Warning;
        }
    }
}

/// Drops warnings that are allowed, by `allow` or by an annotation of their object, and turns denied warnings into
/// errors. `--deny` overrides `allow:`, except for names that may be newer than gpuc's tables. Returns, for each entry
/// of `allow`, whether it matched a finding.
pub fn apply_levels(
    diagnostics: &mut Vec<Diagnostic>,
    allow: &[String],
    levels: &Levels,
) -> Vec<bool> {
    let mut used = vec![false; allow.len()];
    diagnostics.retain_mut(|found| {
        let allowed = allow.iter().position(|word| found.code.is_called(word));
        if let Some(index) = allowed {
            used[index] = true;
            if found.code.is_table_gap() {
                return false;
            }
        }
        if found.severity == Severity::Warning && levels.denies(found.code) {
            found.severity = Severity::Error;
        }
        let is_allowed = allowed.is_some() || found.is_allowed;
        !is_allowed || found.severity == Severity::Error
    });
    used
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::{Correction, Report};
    use crate::source::Span;

    const fn code(id: &'static str, name: &'static str, severity: Severity) -> Code {
        Code {
            id,
            name,
            severity,
            summary: "",
            checks: "",
            reason: "",
            remedy: "",
            bad: "",
            correction: Correction::Whole(""),
        }
    }

    static TYPO: Code = code("GPUC2220", "machine-mistyped", Severity::Error);
    static UNKNOWN: Code = code("GPUC1004", "machine-unknown", Severity::Warning);
    static TAGS: Code = code("GPUC2024", "floating-tags", Severity::Warning);
    static TYPE: Code = code("GPUC0101", "value-type", Severity::Error);

    /// The names of the findings that remain, and whether they are errors.
    fn remaining(allow: &[&str], deny: &[&str]) -> Vec<(&'static str, bool)> {
        let mut report = Report::default();
        for code in [&TYPO, &UNKNOWN, &TAGS, &TYPE] {
            report.diagnostic(code, Span::NONE, "").emit();
        }
        let deny = deny.iter().map(|word| (*word).to_owned()).collect();
        let found = report.diagnostics_mut();
        accept_allowed(found, allow);
        let allow: Vec<_> = allow.iter().map(|word| (*word).to_owned()).collect();
        apply_levels(found, &allow, &Levels { deny });
        let found = found.iter();
        found
            .map(|it| (it.code.name, it.severity == Severity::Error))
            .collect()
    }

    #[test]
    fn errors_are_dropped_only_if_the_name_can_be_new() {
        let all = [
            "machine-mistyped",
            "GPUC1004",
            "floating-tags",
            "value-type",
        ];
        assert_eq!(remaining(&all, &[]), [("value-type", true)]);
        assert_eq!(
            remaining(&[], &[]),
            [
                ("machine-mistyped", true),
                ("machine-unknown", false),
                ("floating-tags", false),
                ("value-type", true),
            ]
        );
    }

    #[test]
    fn denied_names_can_be_allowed_if_they_can_be_new() {
        let all = [
            "machine-mistyped",
            "GPUC1004",
            "floating-tags",
            "value-type",
        ];
        for deny in [
            &["warnings"][..],
            &["machine-mistyped", "machine-unknown", "floating-tags"],
        ] {
            let expected = [("floating-tags", true), ("value-type", true)];
            assert_eq!(remaining(&all, deny), expected, "{deny:?}");
        }
    }
}
