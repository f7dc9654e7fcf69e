//! `gpuc graph`: diagrams of clusters.

use std::path::Path;

use anyhow::{Context, Result};
use gpuc_diff::graph::{self, View};

use super::args::{Cli, GraphArgs, GraphFormat};
use super::findings::{self, OtherOutput};
use super::{Exit, Usage, inputs, output};

/// Draws every cluster; findings go to standard error. Clusters with errors cannot be drawn.
pub(crate) fn run(cli: &Cli, args: &GraphArgs) -> Result<Exit> {
    let run = inputs::compile_with_plans(&args.input(), None)?;
    let exit = findings::print(cli, &args.input(), &run, OtherOutput::Always)?;
    if exit != Exit::Success {
        return Ok(exit);
    }
    let views = run.compilations.iter().filter_map(|compilation| {
        let (cluster, plan) = (compilation.cluster.as_ref()?, compilation.plan.as_ref()?);
        let summary = compilation.summary.as_ref()?;
        Some(View::from_cluster(cluster, summary, &plan.steps))
    });
    let views: Vec<_> = views.collect();
    let format = match args.format {
        Some(format) => format,
        None => format_from_extension(args.output.as_deref())?,
    };
    let text = match format {
        GraphFormat::Mermaid => graph::mermaid(&views, graph::MAX_MERMAID_LENGTH),
        GraphFormat::Svg => graph::svg(&views),
        GraphFormat::Html => graph::html(&views),
    };
    match args
        .output
        .as_deref()
        .filter(|file| file.as_os_str() != "-")
    {
        Some(file) => {
            let context = || format!("cannot write {}", file.display());
            std::fs::write(file, text).with_context(context)?;
        }
        None => output::print_data(&text)?,
    }
    Ok(exit)
}

/// The format for a file extension. Mermaid flowcharts can be separate files or part of Markdown pages.
fn format_from_extension(file: Option<&Path>) -> Result<GraphFormat> {
    let ending = file.and_then(Path::extension).and_then(|it| it.to_str());
    match ending {
        Some("svg") => Ok(GraphFormat::Svg),
        Some("html" | "htm") => Ok(GraphFormat::Html),
        None | Some("mmd" | "mermaid" | "md" | "txt") => Ok(GraphFormat::Mermaid),
        Some(other) => Err(Usage(format!(
            "unknown graph format `.{other}`\nhelp: use the extension .svg, .html or .mmd, or set `--format`"
        ))
        .into()),
    }
}
