//! Findings, printed.

use std::io::IsTerminal;

use anyhow::Result;
use gpuc::diag::render::{self, Format};
use gpuc::diag::{Diagnostic, Severity};
use gpuc::source::Sources;

use super::args::{Cli, Color, InputArgs};
use super::inputs::Run;
use super::{Exit, output};

/// Whether findings stand beside something else on standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Accompany {
    /// They are all there is.
    Nothing,
    /// They do for people; a program that asked for their format wants only them.
    InText,
    /// They always do.
    Always,
}

/// Prints everything there is to say of a run. Findings for people go to standard error when they accompany something
/// else, such as a tree that is written; everything else goes to standard output.
pub(crate) fn print(cli: &Cli, args: &InputArgs, run: &Run, accompany: Accompany) -> Result<Exit> {
    let findings = of(run);
    show(cli, args, &run.sources, &findings, accompany)?;
    Ok(exit(&findings))
}

/// Everything there is to say of a run.
pub(super) fn of(run: &Run) -> Vec<Diagnostic> {
    let of_documents = run.compilations.iter().map(|one| &one.report);
    let reports = std::iter::once(&run.report).chain(of_documents);
    reports
        .flat_map(|report| report.diagnostics().iter().cloned())
        .collect()
}

/// How a run ends that has these findings.
pub(super) fn exit(findings: &[Diagnostic]) -> Exit {
    let mut severities = findings.iter().map(|found| found.severity);
    if severities.any(|severity| severity == Severity::Error) {
        Exit::Invalid
    } else {
        Exit::Fine
    }
}

/// Prints findings, as [`print`] does.
pub(super) fn show(
    cli: &Cli,
    args: &InputArgs,
    sources: &Sources,
    findings: &[Diagnostic],
    accompany: Accompany,
) -> Result<()> {
    let format = args.format.format();
    let to_stderr =
        accompany == Accompany::Always || accompany == Accompany::InText && format == Format::Text;
    let options = render::Options {
        color: colored(cli, to_stderr),
        ..render::Options::default()
    };
    let text = render::render(format, sources, findings, options);
    if to_stderr {
        if !findings.is_empty() || format != Format::Text {
            output::say(text.trim_end());
        }
    } else {
        output::data(&text)?;
    }
    Ok(())
}

fn colored(cli: &Cli, to_stderr: bool) -> bool {
    match cli.color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => {
            let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
            let terminal = if to_stderr {
                std::io::stderr().is_terminal()
            } else {
                std::io::stdout().is_terminal()
            };
            terminal && !no_color
        }
    }
}
