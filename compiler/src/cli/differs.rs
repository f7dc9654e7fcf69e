//! What is committed and differs from what would be built, as findings: for formats that programs read.

use std::path::Path;

use gpuc::diag::{Code, Diagnostic, Report, Severity};
use gpuc::source::{Sources, Span};

/// What is committed is not what would be built. Only who compares a tree with files can find it, so no example of it
/// can be compiled.
pub(super) static TREE_STALE: Code = Code {
    id: "GPUC0301",
    name: "tree-stale",
    severity: Severity::Error,
    summary: "a generated file is not what would be built",
    explain: "### What it checks

`gpuc build --check` compares each cluster's folder with what it would write: files that are
missing, stale, edited by hand, orphaned, or not gpuc's where it would write one.

### Why it matters

What is reviewed and applied is what is committed. A tree that does not follow from its input does
something that nobody has written down.

### What to do

Run `gpuc build`, read the diff and commit it. It refuses to lose what somebody has changed by
hand; `gpuc build --force` overwrites it. `gpuc build --prune` removes a tree without an input.
",
    bad: "",
    good: "",
};

/// The differences of a run, gathered.
#[derive(Default)]
pub(super) struct Differences {
    report: Report,
}

impl Differences {
    /// Notes one at the head of a generated file, or of a cluster's folder.
    pub(super) fn note(&mut self, sources: &mut Sources, path: &Path, what: &str, help: &str) {
        let source = sources.add(&path.display().to_string(), "");
        let head = Span {
            source,
            start: 0,
            end: 0,
        };
        let draft = self.report.draft(&TREE_STALE, head, what);
        draft.help(help).emit();
    }

    /// All of them.
    pub(super) fn diagnostics(&self) -> &[Diagnostic] {
        self.report.diagnostics()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_other_finding_is_called_so() {
        let others = gpuc::codes();
        let mut others = others.iter();
        assert!(others.all(|code| code.id != TREE_STALE.id && code.name != TREE_STALE.name));
    }
}
