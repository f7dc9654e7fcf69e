//! The commands. This is the only part of gpuc that reads and writes files.

mod against;
mod args;
mod base;
mod build;
mod catalog;
mod check;
mod clock;
mod completions;
mod diff;
mod diff_live;
mod doctor;
mod doctor_watch;
mod drift;
mod expand;
mod explain;
mod findings;
mod git;
mod git_command;
mod graph;
mod import;
mod init;
mod inputs;
mod live;
mod manifests;
mod match_clusters;
mod orphans;
mod output;
mod prove;
mod revision_error;
mod schema;
mod snapshot;
mod snapshot_files;
mod summary;
mod why;
pub(crate) mod write;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Color, Command};

/// The exit code of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exit {
    /// Success.
    Success = 0,
    /// The committed tree is out of date.
    OutOfDate = 1,
    /// The input or the command line is invalid.
    Invalid = 2,
    /// An operation failed.
    Failed = 3,
}

/// An invalid command line.
#[derive(Debug)]
pub(crate) struct Usage(String);

impl std::error::Error for Usage {}

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// The exit code of a bug in gpuc.
const BUG_EXIT_CODE: u8 = 70;

/// Runs the program.
pub(crate) fn run() -> ExitCode {
    // clap exits itself: 0 after help and version, 2 after a usage error.
    let cli = Cli::parse();
    let (code, bug) = catch_bugs(&cli.command.input_text(), || run_command(&cli));
    if let Some(bug) = bug {
        output::print_message(&bug);
    }
    ExitCode::from(code)
}

/// Runs a command and returns its exit code. A panic is a bug in gpuc: the result then also contains a message to print
/// after Rust's panic message.
fn catch_bugs(input: &str, work: impl FnOnce() -> Exit) -> (u8, Option<String>) {
    // No state that the command modified is used after a panic.
    if let Ok(exit) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)) {
        return (exit as u8, None);
    }
    let message = format!(
        "error: this is a bug in gpuc {}, not in your input\n\
         help: report it {}, with the output above and, if possible, the input: {input}",
        env!("CARGO_PKG_VERSION"),
        bug_report_place(env!("CARGO_PKG_REPOSITORY")),
    );
    (BUG_EXIT_CODE, Some(message))
}

/// The place to report bugs: the package's repository, if it is set.
fn bug_report_place(repository: &str) -> String {
    match repository {
        "" => "where you got gpuc from".to_owned(),
        repository => format!("at {repository}/issues"),
    }
}

fn run_command(cli: &Cli) -> Exit {
    match cli.color {
        Color::Auto => {}
        Color::Always => anstream::ColorChoice::Always.write_global(),
        Color::Never => anstream::ColorChoice::Never.write_global(),
    }
    dispatch(cli).unwrap_or_else(|error| {
        anstream::eprintln!("error: {error:#}");
        if error.is::<Usage>() {
            Exit::Invalid
        } else {
            Exit::Failed
        }
    })
}

fn dispatch(cli: &Cli) -> anyhow::Result<Exit> {
    match &cli.command {
        Command::Build(args) => build::run(cli, args),
        Command::Catalog(args) => catalog::run(args),
        Command::Check(args) => check::run(cli, args),
        Command::Completions(args) => completions::completions(args),
        Command::Diff(args) => diff::run(cli, args),
        Command::Doctor(args) => doctor::run(cli, args),
        Command::Expand(args) => expand::run(cli, args),
        Command::Explain(args) => explain::run(args),
        Command::Graph(args) => graph::run(cli, args),
        Command::Import(args) => import::run(cli, args),
        Command::Prove(args) => prove::run(cli, args),
        Command::Init(args) => init::run(cli, args),
        Command::Man(args) => completions::man(args),
        Command::Schema => schema::run(),
        Command::Snapshot(args) => snapshot::run(cli, args),
        Command::Why(args) => why::run(cli, args),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_are_reported_as_bugs() {
        let (code, message) = catch_bugs("fleet/gpu-cluster.yaml", || panic!("a broken invariant"));
        assert_eq!(code, 70);
        let message = message.unwrap();
        for part in [
            "error: this is a bug in gpuc",
            env!("CARGO_PKG_VERSION"),
            "help: report it ",
            "fleet/gpu-cluster.yaml",
        ] {
            assert!(message.contains(part), "{part}: {message}");
        }
        // Commands use several threads.
        let work = || {
            rayon::join(|| panic!("a broken invariant"), || ());
            Exit::Success
        };
        assert_eq!(catch_bugs("a", work).0, 70);
    }

    #[test]
    fn bugs_are_reported_in_the_repository() {
        let at = bug_report_place("https://git.example.com/gpuc");
        assert_eq!(at, "at https://git.example.com/gpuc/issues");
        assert_eq!(bug_report_place(""), "where you got gpuc from");
    }

    #[test]
    fn commands_without_panic_have_no_message() {
        for exit in [Exit::Success, Exit::OutOfDate, Exit::Invalid, Exit::Failed] {
            assert_eq!(catch_bugs("a", || exit), (exit as u8, None));
        }
    }
}
