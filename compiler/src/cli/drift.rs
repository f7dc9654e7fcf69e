//! Differences between the committed tree and the current output, as findings, for formats for programs.

use std::path::Path;

use gpuc_syntax::diag::{Code, Correction, Diagnostic, Report, Severity};
use gpuc_syntax::source::{Sources, Span};

/// The committed tree is out of date. Only a comparison with files on disk can detect this, so it has no examples.
pub(super) static TREE_STALE: Code = Code {
    id: "GPUC0301",
    name: "tree-stale",
    severity: Severity::Error,
    summary: "a generated file differs from the current output",
    checks: "Whether each cluster's folder has the files that `gpuc build` would write. `gpuc build --check`
reports files that are missing, stale, edited by hand, or orphaned, and foreign files at paths that
gpuc would write to.",
        reason: "The committed tree is reviewed and applied. If it differs from the output of its input, the cluster
differs from its definition.",
        remedy: "Run `gpuc build`, review the diff and commit it. `gpuc build` does not overwrite files that were
edited by hand; `gpuc build --force` does. `gpuc build --prune` deletes a tree without an input.",
    bad: "",
    correction: Correction::Whole(""),
};

/// Collects the differences of a run.
#[derive(Default)]
pub(super) struct Differences {
    report: Report,
}

impl Differences {
    /// Records a difference at the start of a generated file or of a cluster's folder.
    pub(super) fn record(
        &mut self,
        sources: &mut Sources,
        path: &Path,
        difference: &str,
        help: &str,
    ) {
        let source = sources.add(&path.display().to_string(), "");
        let head = Span {
            source,
            start: 0,
            end: 0,
        };
        let builder = self.report.diagnostic(&TREE_STALE, head, difference);
        builder.help(help).emit();
    }

    /// All recorded differences.
    pub(super) fn diagnostics(&self) -> &[Diagnostic] {
        self.report.diagnostics()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_and_name_are_unique() {
        let others = gpuc::codes();
        let mut others = others.iter();
        assert!(others.all(|code| code.id != TREE_STALE.id && !code.is_called(TREE_STALE.name)));
    }
}
