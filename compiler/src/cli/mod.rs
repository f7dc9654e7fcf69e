//! The commands, and the only part of gpuc that reads and writes.

mod args;
mod base;
mod build;
mod catalog;
mod check;
mod completions;
mod diff;
mod differs;
mod expand;
mod explain;
mod findings;
mod git;
mod graph;
mod init;
mod inputs;
mod manifests;
mod orphans;
mod output;
mod pairs;
mod schema;
mod summary;
mod why;
pub(crate) mod write;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Color, Command};

/// How a run ended, as the caller's shell sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exit {
    /// All is well.
    Fine = 0,
    /// What is committed differs from what would be built.
    Differs = 1,
    /// The input or the usage is wrong.
    Invalid = 2,
    /// It could not run.
    CouldNot = 3,
}

/// The command line asks for something that there is not.
#[derive(Debug)]
pub(crate) struct Usage(String);

impl std::error::Error for Usage {}

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// The exit code of a bug in gpuc.
const BUG: u8 = 70;

/// Runs the program.
pub(crate) fn run() -> ExitCode {
    // clap exits by itself: 0 after help and version, 2 after wrong usage.
    let cli = Cli::parse();
    let (code, said) = owning_up(&cli.command.reads(), || carry_out(&cli));
    if let Some(said) = said {
        output::say(&said);
    }
    ExitCode::from(code)
}

/// Does the work and answers its exit code. A panic in it is a bug of gpuc's, whatever the input was: then there is
/// something to say, below what Rust itself has said of the panic.
fn owning_up(input: &str, work: impl FnOnce() -> Exit) -> (u8, Option<String>) {
    // Nothing that the work has touched is used after a panic.
    if let Ok(exit) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)) {
        return (exit as u8, None);
    }
    let said = format!(
        "error: this is a bug in gpuc {}, not in your input\n\
         help: report it {}, with the lines above and, if you can, the input: {input}",
        env!("CARGO_PKG_VERSION"),
        where_to_report(env!("CARGO_PKG_REPOSITORY")),
    );
    (BUG, Some(said))
}

/// Where bugs are reported: in the repository that the package names, if it names one.
fn where_to_report(repository: &str) -> String {
    match repository {
        "" => "where you got gpuc from".to_owned(),
        repository => format!("at {repository}/issues"),
    }
}

fn carry_out(cli: &Cli) -> Exit {
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
            Exit::CouldNot
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
        Command::Expand(args) => expand::run(cli, args),
        Command::Explain(args) => explain::run(args),
        Command::Graph(args) => graph::run(cli, args),
        Command::Init(args) => init::run(cli, args),
        Command::Man(args) => completions::man(args),
        Command::Schema => schema::run(),
        Command::Why(args) => why::run(cli, args),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_owned_up_to() {
        let (code, said) = owning_up("fleet/gpu-cluster.yaml", || panic!("a broken promise"));
        assert_eq!(code, 70);
        let said = said.unwrap();
        for part in [
            "error: this is a bug in gpuc",
            env!("CARGO_PKG_VERSION"),
            "help: report it ",
            "fleet/gpu-cluster.yaml",
        ] {
            assert!(said.contains(part), "{part}: {said}");
        }
        // Work is done by many threads.
        let work = || {
            rayon::join(|| panic!("a broken promise"), || ());
            Exit::Fine
        };
        assert_eq!(owning_up("a", work).0, 70);
    }

    #[test]
    fn a_repository_takes_reports() {
        let at = where_to_report("https://git.example.com/gpuc");
        assert_eq!(at, "at https://git.example.com/gpuc/issues");
        assert_eq!(where_to_report(""), "where you got gpuc from");
    }

    #[test]
    fn what_ends_well_says_nothing_more() {
        for exit in [Exit::Fine, Exit::Differs, Exit::Invalid, Exit::CouldNot] {
            assert_eq!(owning_up("a", || exit), (exit as u8, None));
        }
    }
}
