//! `gpuc completions` and `gpuc man`.

use anyhow::{Context, Result};
use clap::CommandFactory;

use super::args::{Cli, CompletionsArgs, ManArgs};
use super::{Exit, output};

/// Prints a completion script.
pub(crate) fn completions(args: &CompletionsArgs) -> Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "gpuc", &mut script);
    output::print_data(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Success)
}

/// Writes one man page for gpuc and one for each command.
pub(crate) fn man(args: &ManArgs) -> Result<Exit> {
    let folder = &args.folder;
    let context = || format!("cannot write man pages to {}", folder.display());
    std::fs::create_dir_all(folder).with_context(context)?;
    clap_mangen::generate_to(Cli::command(), folder).with_context(context)?;
    Ok(Exit::Success)
}
