//! `gpuc graph`: pictures of clusters.

use std::path::Path;

use anyhow::{Context, Result};
use gpuc::graph::{self, View};

use super::args::{Cli, GraphArgs, GraphFormat};
use super::findings::{self, Accompany};
use super::{Exit, inputs, output};

/// Draws every cluster; findings go to standard error. Clusters with errors cannot be drawn.
pub(crate) fn run(cli: &Cli, args: &GraphArgs) -> Result<Exit> {
    let run = inputs::compile_whole(&args.input(), None)?;
    let exit = findings::print(cli, &args.input(), &run, Accompany::Always)?;
    if exit != Exit::Fine {
        return Ok(exit);
    }
    let views = run.compilations.iter().filter_map(|compilation| {
        let (cluster, plan) = (compilation.cluster.as_ref()?, compilation.plan.as_ref()?);
        let summary = compilation.summary.as_ref()?;
        Some(View::of(cluster, summary, &plan.steps))
    });
    let views: Vec<_> = views.collect();
    let text = match args
        .format
        .unwrap_or_else(|| by_ending(args.output.as_deref()))
    {
        GraphFormat::Mermaid => graph::mermaid(&views, graph::MERMAID_MOST),
        GraphFormat::Svg => graph::svg(&views),
        GraphFormat::Html => graph::html(&views),
    };
    match args
        .output
        .as_deref()
        .filter(|file| file.as_os_str() != "-")
    {
        Some(file) => {
            let place = || format!("cannot write {}", file.display());
            std::fs::write(file, text).with_context(place)?;
        }
        None => output::data(&text)?,
    }
    Ok(exit)
}

/// The format that a file's ending stands for.
fn by_ending(file: Option<&Path>) -> GraphFormat {
    let ending = file.and_then(Path::extension).and_then(|it| it.to_str());
    match ending {
        Some("svg") => GraphFormat::Svg,
        Some("html" | "htm") => GraphFormat::Html,
        _ => GraphFormat::Mermaid,
    }
}
