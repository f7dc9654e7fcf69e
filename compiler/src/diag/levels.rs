//! The one gate where `allow:` and `--deny` change how bad findings are.

use super::{Code, Diagnostic, Severity};

/// What the user wants to be stricter about.
#[derive(Clone, Debug, Default)]
pub struct Levels {
    /// Names or ids of codes that become errors; `warnings` stands for all of them.
    pub deny: Vec<String>,
}

impl Levels {
    /// Whether findings of a code become errors.
    fn denies(&self, code: &Code) -> bool {
        self.deny
            .iter()
            .any(|word| word == "warnings" || word == code.name || word == code.id)
    }
}

/// Drops warnings that are allowed, by these words or by the object that they are about, and
/// makes errors of those that are denied. `--deny` wins over `allow:`.
///
/// Answers, for each allowed word, whether it was of use.
pub fn apply(diagnostics: &mut Vec<Diagnostic>, allow: &[String], levels: &Levels) -> Vec<bool> {
    let mut used = vec![false; allow.len()];
    diagnostics.retain_mut(|found| {
        let allowed = allow
            .iter()
            .position(|word| word == found.code.name || word == found.code.id);
        if let Some(index) = allowed {
            used[index] = true;
        }
        if found.severity == Severity::Warning && levels.denies(found.code) {
            found.severity = Severity::Error;
        }
        let is_allowed = allowed.is_some() || found.allowed;
        !is_allowed || found.severity == Severity::Error
    });
    used
}
