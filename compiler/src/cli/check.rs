//! `gpuc check`: reports all findings in one run.

use anyhow::Result;

use super::args::{CheckArgs, Cli, FindingsFormat};
use super::findings::{self, OtherOutput};
use super::{Exit, against, inputs, manifests, output};

/// Compiles the input and prints the findings. Writes no files.
pub(crate) fn run(cli: &Cli, args: &CheckArgs) -> Result<Exit> {
    manifests::validate_arguments(args)?;
    let mut run = inputs::compile_all(&manifests::cluster_input(args), None)?;
    let of_manifests = if args.manifests.is_empty() {
        String::new()
    } else {
        manifests::check(cli, args, &mut run)?
    };
    let of_node_pools = if args.against.is_empty() {
        String::new()
    } else {
        against::check(args, &mut run)?
    };
    let exit = findings::print(cli, &args.input, &run, OtherOutput::Never)?;
    let silent = cli.quiet || args.input.format != FindingsFormat::Text;
    if exit == Exit::Success && !silent {
        let count = run.compilations.len();
        let clusters = if count == 1 { "cluster" } else { "clusters" };
        // The warnings, if any, have been printed.
        let result = if findings::findings_of_run(&run).is_empty() {
            "no problems found"
        } else {
            "no errors"
        };
        output::print_message(&format!(
            "{count} {clusters}{of_manifests}{of_node_pools} checked: {result}"
        ));
    }
    Ok(exit)
}
