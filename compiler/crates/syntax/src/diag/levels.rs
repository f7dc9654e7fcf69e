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

/// Drops warnings that are allowed, by `allow` or by an annotation of their object, and turns denied warnings into
/// errors. `--deny` overrides `allow:`. Returns, for each entry of `allow`, whether it matched a finding.
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
        }
        if found.severity == Severity::Warning && levels.denies(found.code) {
            found.severity = Severity::Error;
        }
        let is_allowed = allowed.is_some() || found.is_allowed;
        !is_allowed || found.severity == Severity::Error
    });
    used
}
