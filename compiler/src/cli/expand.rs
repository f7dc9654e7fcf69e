//! `gpuc expand`: the file with every default filled in, and where each comes from.

use anyhow::Result;

use super::args::{Cli, ExpandArgs};
use super::findings::{self, Accompany};
use super::{Exit, inputs, output};

/// Prints it; findings go to standard error.
pub(crate) fn run(cli: &Cli, args: &ExpandArgs) -> Result<Exit> {
    let run = inputs::compile_all(&args.input, None)?;
    let exit = findings::print(cli, &args.input, &run, Accompany::Always)?;
    let documents: Vec<_> = run
        .compilations
        .iter()
        // A value that was made up for one that cannot be read is nobody's.
        .filter(|compilation| compilation.report.poisoned().is_empty())
        .filter_map(|compilation| {
            let cluster = compilation.cluster.as_ref()?;
            Some(gpuc::expand::expand(&compilation.loaded.root, cluster))
        })
        .collect();
    output::data(&documents.join("---\n"))?;
    Ok(exit)
}
