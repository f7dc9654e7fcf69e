//! The commands, and the only part of gpuc that reads and writes.

mod args;
mod build;
mod catalog;
mod check;
mod completions;
mod expand;
mod explain;
mod findings;
mod init;
mod inputs;
mod output;
mod schema;
mod summary;
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
const BUG: i32 = 70;

/// Runs the program.
pub(crate) fn run() -> ExitCode {
    own_up_to_panics();
    // clap exits by itself: 0 after help and version, 2 after wrong usage.
    let cli = Cli::parse();
    match cli.color {
        Color::Auto => {}
        Color::Always => anstream::ColorChoice::Always.write_global(),
        Color::Never => anstream::ColorChoice::Never.write_global(),
    }
    let exit = dispatch(&cli).unwrap_or_else(|error| {
        anstream::eprintln!("error: {error:#}");
        if error.is::<Usage>() {
            Exit::Invalid
        } else {
            Exit::CouldNot
        }
    });
    ExitCode::from(exit as u8)
}

fn dispatch(cli: &Cli) -> anyhow::Result<Exit> {
    match &cli.command {
        Command::Build(args) => build::run(cli, args),
        Command::Catalog(args) => catalog::run(args),
        Command::Check(args) => check::run(cli, args),
        Command::Completions(args) => completions::completions(args),
        Command::Expand(args) => expand::run(cli, args),
        Command::Explain(args) => explain::run(args),
        Command::Init(args) => init::run(cli, args),
        Command::Man(args) => completions::man(args),
        Command::Schema => schema::run(),
    }
}

/// A panic is a bug of gpuc's, whatever the input was, and says so.
fn own_up_to_panics() {
    std::panic::set_hook(Box::new(|panic| {
        anstream::eprintln!("error: this is a bug in gpuc, not in your input\n{panic}");
        std::process::exit(BUG);
    }));
}
