//! `gpuc expand`: the file with all defaults and their sources.

use anyhow::Result;

use super::args::{Cli, ExpandArgs};
use super::findings::{self, OtherOutput};
use super::{Exit, inputs, output};

/// Prints the expanded file; findings go to standard error.
pub(crate) fn run(cli: &Cli, args: &ExpandArgs) -> Result<Exit> {
    let run = inputs::compile_all(&args.input, None)?;
    let exit = findings::print(cli, &args.input, &run, OtherOutput::Always)?;
    let documents: Vec<_> = run
        .compilations
        .iter()
        // Skip clusters with placeholders for values that could not be decoded.
        .filter(|compilation| compilation.report.poisoned().is_empty())
        .filter_map(|compilation| {
            let cluster = compilation.cluster.as_ref()?;
            Some(gpuc_compile::expand::expand(
                &compilation.loaded.root,
                cluster,
            ))
        })
        .collect();
    output::print_data(&documents.join("---\n"))?;
    Ok(exit)
}
