//! Prints findings.

use std::io::IsTerminal;

use anyhow::Result;
use gpuc_syntax::diag::render::{self, Format};
use gpuc_syntax::diag::{Diagnostic, Severity};
use gpuc_syntax::source::Sources;

use super::args::{Cli, Color, InputArgs};
use super::inputs::Run;
use super::{Exit, output};

/// Whether a command prints other data on standard output in addition to findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OtherOutput {
    /// Only findings.
    Never,
    /// Other data with the text format; only findings with formats for programs.
    WithText,
    /// Always other data.
    Always,
}

/// Prints all findings of a run. Findings go to standard error if they accompany other data, otherwise to standard
/// output.
pub(crate) fn print(
    cli: &Cli,
    args: &InputArgs,
    run: &Run,
    accompany: OtherOutput,
) -> Result<Exit> {
    let findings = findings_of_run(run);
    print_findings(cli, args, &run.sources, &findings, accompany)?;
    Ok(exit_code(&findings))
}

/// All findings of a run.
pub(super) fn findings_of_run(run: &Run) -> Vec<Diagnostic> {
    let of_documents = run.compilations.iter().map(|one| &one.report);
    let reports = std::iter::once(&run.report).chain(of_documents);
    reports
        .flat_map(|report| report.diagnostics().iter().cloned())
        .collect()
}

/// The exit code of a run with these findings.
pub(super) fn exit_code(findings: &[Diagnostic]) -> Exit {
    let mut severities = findings.iter().map(|found| found.severity);
    if severities.any(|severity| severity == Severity::Error) {
        Exit::Invalid
    } else {
        Exit::Success
    }
}

/// Prints findings, as [`print`] does.
pub(super) fn print_findings(
    cli: &Cli,
    args: &InputArgs,
    sources: &Sources,
    findings: &[Diagnostic],
    accompany: OtherOutput,
) -> Result<()> {
    let format = args.format.format();
    let to_stderr = accompany == OtherOutput::Always
        || accompany == OtherOutput::WithText && format == Format::Text;
    let options = render::Options {
        color: is_colored(cli, to_stderr),
        ..render::Options::default()
    };
    let text = render::render(format, sources, findings, options);
    if to_stderr {
        if !findings.is_empty() || format != Format::Text {
            output::print_message(text.trim_end());
        }
    } else {
        output::print_data(&text)?;
    }
    Ok(())
}

fn is_colored(cli: &Cli, to_stderr: bool) -> bool {
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
