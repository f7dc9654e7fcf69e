//! `gpuc check`: everything that is wrong, in one run.

use anyhow::Result;

use super::args::{CheckArgs, Cli, FindingsFormat};
use super::findings::{self, Accompany};
use super::{Exit, inputs, output};

/// Compiles, prints findings, writes nothing.
pub(crate) fn run(cli: &Cli, args: &CheckArgs) -> Result<Exit> {
    let run = inputs::compile_all(&args.input, None)?;
    let exit = findings::print(cli, &args.input, &run, Accompany::Nothing)?;
    let silent = cli.quiet || args.input.format != FindingsFormat::Text;
    if exit == Exit::Fine && !silent {
        let count = run.compilations.len();
        let clusters = if count == 1 { "cluster" } else { "clusters" };
        output::say(&format!(
            "{count} {clusters} checked, nothing stands in the way"
        ));
    }
    Ok(exit)
}
