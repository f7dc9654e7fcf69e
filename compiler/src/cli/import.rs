//! `gpuc import`: writes the `gpu-cluster.yaml` of a running cluster.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use gpuc_compile::compile::{Options, compile};
use gpuc_import::{CloudFile, Comparison, Import, Input, differences, import};
use gpuc_live::state::ClusterState;
use gpuc_model::resolve::Choices;
use gpuc_syntax::diag::phrases::pluralize;
use gpuc_syntax::diag::{Levels, Report, Severity};
use gpuc_syntax::load::{self, MemoryFiles};
use gpuc_syntax::source::Sources;
use gpuc_syntax::yaml;
use serde_json::Value;

use super::args::{Cli, ImportArgs, ReportFormat};
use super::inputs::CLUSTER_FILE;
use super::{Exit, Usage, live, output, snapshot_files};

/// The folder of a snapshot with files of the cloud's command-line tool.
const CLOUD_FOLDER: &str = "cloud";

/// Reads the cluster, writes the file, and prints the report.
pub(crate) fn run(cli: &Cli, args: &ImportArgs) -> Result<Exit> {
    // As for other commands, `-` is standard output.
    let out = args.out.as_ref().filter(|path| path.as_os_str() != "-");
    if let Some(path) = out.filter(|_| !args.force)
        && fs::symlink_metadata(path).is_ok()
    {
        let message = format!(
            "`{}` exists already\nhelp: name another file, or replace it with `--force`",
            path.display()
        );
        return Err(Usage(message).into());
    }
    let cloud = cloud_files(args)?;
    let state = match &args.from {
        Some(folder) => read_folder(folder)?,
        None => live::read(args.context.as_deref())?,
    };
    let current = || gpuc_collect::current_context().filter(|_| args.from.is_none());
    let context = args.context.clone().or_else(current);
    let input = Input {
        state: &state,
        cloud: &cloud,
        context: context.as_deref(),
        builder: Some(&build),
    };
    let imported = import(input, &gpuc::REGISTRY)?;
    match out {
        Some(path) => fs::write(path, &imported.yaml)
            .with_context(|| format!("cannot write `{}`", path.display()))?,
        None => output::print_data(&imported.yaml)?,
    }
    if !cli.quiet {
        output::print_message(&match args.format {
            ReportFormat::Text => imported.report.text().trim_end().to_owned(),
            ReportFormat::Json => imported.report.json(),
        });
    }
    if args.check {
        return check(&imported, &state);
    }
    Ok(Exit::Success)
}

/// The files of the cloud's command-line tool: those of the command line, and those in the folder of a snapshot.
fn cloud_files(args: &ImportArgs) -> Result<Vec<CloudFile>> {
    let mut paths: Vec<PathBuf> = args.cloud.clone();
    let folder = args.from.as_ref().map(|folder| folder.join(CLOUD_FOLDER));
    if let Some(folder) = folder.filter(|folder| folder.is_dir()) {
        let entries =
            fs::read_dir(&folder).with_context(|| format!("cannot read `{}`", folder.display()))?;
        let mut own = Vec::new();
        for entry in entries {
            let path = entry?.path();
            if path.extension().is_some_and(|it| it == "json") {
                own.push(path);
            }
        }
        own.sort();
        paths.extend(own);
    }
    let files = paths.iter().map(|path| {
        let bytes = fs::read(path).with_context(|| format!("cannot read `{}`", path.display()))?;
        Ok(CloudFile::parse(&path.display().to_string(), &bytes)?)
    });
    files.collect()
}

/// The state in a folder.
fn read_folder(folder: &Path) -> Result<ClusterState> {
    let (state, problems) = snapshot_files::read(folder)?;
    for problem in &problems {
        output::print_message(&format!("warning: {}: {}", problem.path, problem.error));
    }
    Ok(state)
}

/// Builds the file, and compares the objects of the tree with those of the cluster.
fn check(imported: &Import, state: &ClusterState) -> Result<Exit> {
    let Built { objects, releases } = match build_tree(&imported.yaml) {
        Ok(built) => built,
        Err(errors) => {
            output::print_message("the file does not build:");
            for error in errors {
                output::print_message(&format!("  {error}"));
            }
            return Ok(Exit::OutOfDate);
        }
    };
    if objects.is_empty() {
        bail!("the file builds no Kubernetes objects to compare");
    }
    let comparison = differences(state, &objects);
    print(&comparison, &releases);
    if comparison.differences.is_empty() {
        Ok(Exit::Success)
    } else {
        Ok(Exit::OutOfDate)
    }
}

fn print(comparison: &Comparison, releases: &[String]) {
    for difference in &comparison.differences {
        output::print_message(&format!("  {difference}"));
    }
    for kind in &comparison.not_compared {
        output::print_message(&format!("  not compared: {kind}"));
    }
    if !releases.is_empty() {
        output::print_message(&format!(
            "  not compared: the objects of Helm releases: {}",
            releases.join(", ")
        ));
    }
    output::print_message(&format!(
        "{} compared: {}",
        pluralize(comparison.compared, "object"),
        pluralize(comparison.differences.len(), "difference")
    ));
}

/// What a file builds.
struct Built {
    /// The Kubernetes objects of the tree.
    objects: Vec<Value>,
    /// The names of the Helm releases.
    releases: Vec<String>,
}

/// The Kubernetes objects of the tree, or the errors of the build.
fn build(text: &str) -> Result<Vec<Value>, Vec<String>> {
    build_tree(text).map(|built| built.objects)
}

/// Builds a file in memory. Errors are those of the build.
fn build_tree(text: &str) -> Result<Built, Vec<String>> {
    let world = MemoryFiles::with_file(CLUSTER_FILE, text);
    let (mut sources, mut report) = (Sources::default(), Report::default());
    let loaded = load::load_all(&world, &[CLUSTER_FILE], &mut sources, &mut report);
    let choices = |_: &str| Choices::default();
    let options = Options {
        registry: &gpuc::REGISTRY,
        levels: Levels::default(),
        today: None,
        choices: &choices,
    };
    let (mut objects, mut releases) = (Vec::new(), Vec::new());
    for one in loaded {
        let compilation = compile(one, &options);
        if let Some((tree, _)) = &compilation.output {
            let is_manifest = |path: &str| {
                let extension = Path::new(path).extension();
                path.starts_with("manifests/") && extension.is_some_and(|it| it == "yaml")
            };
            let manifests = tree.files().filter(|(path, _)| is_manifest(path));
            objects.extend(manifests.flat_map(|(_, file)| documents(&file.contents)));
        }
        let own = compilation.plan.iter().flat_map(|plan| &plan.releases);
        releases.extend(own.map(|release| release.name.clone()));
        report.append(compilation.report);
    }
    let errors = report
        .diagnostics()
        .iter()
        .filter(|it| it.severity == Severity::Error);
    let errors: Vec<String> = errors
        .map(|it| format!("{} {}: {}", it.code.id, it.code.name, it.message))
        .collect();
    if errors.is_empty() {
        Ok(Built { objects, releases })
    } else {
        Err(errors)
    }
}

/// The documents of a file of the tree.
fn documents(text: &str) -> Vec<Value> {
    let mut sources = Sources::default();
    let id = sources.add("manifest.yaml", text);
    let documents = yaml::parse_allow_empty(&sources, id, &mut Report::default());
    let values = documents.iter().map(|it| serde_json::to_value(&it.root));
    values.filter_map(Result::ok).collect()
}
