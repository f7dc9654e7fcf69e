//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use gpuc::diag::render::Format;

/// How runs end, for scripts and pipelines.
const EXIT_CODES: &str = "\
Exit codes:
  0   All is well
  1   The committed tree differs from what would be built, or is not overwritten
  2   The input or the command line is wrong
  3   It could not run: a file cannot be read or written
  70  A bug in gpuc";

/// One gpu-cluster.yaml to cloud scripts, Helm values and Kubernetes manifests.
#[derive(Debug, Parser)]
#[command(
    name = "gpuc",
    version,
    max_term_width = 100,
    after_help = EXIT_CODES,
    arg_required_else_help = true
)]
pub(crate) struct Cli {
    /// Say only what is wrong.
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// When to use colour; NO_COLOR is obeyed.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Color,
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// When to use colour.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Write a gpu-cluster.yaml to start from.
    Init(InitArgs),
    /// Compile clusters into the tree to commit.
    Build(BuildArgs),
    /// Say everything that is wrong, without building.
    Check(CheckArgs),
    /// Say what a change does to what runs, worst first.
    Diff(DiffArgs),
    /// Print a file with every default filled in, and where each comes from.
    Expand(ExpandArgs),
    /// Print the page of a finding, or the documentation of a key.
    Explain(ExplainArgs),
    /// Draw clusters: pools, GPUs and slices, teams and quotas, the order of what is brought.
    Graph(GraphArgs),
    /// Say why something is in a generated tree: the lines of the input that it follows from, and the rule or fact.
    Why(WhyArgs),
    /// List what gpuc knows: GPUs, machines, clouds, charts, images.
    Catalog(CatalogArgs),
    /// Print the JSON Schema of gpu-cluster.yaml, for editors.
    Schema,
    /// Print a completion script for a shell.
    Completions(CompletionsArgs),
    /// Write manual pages.
    Man(ManArgs),
}

impl Command {
    /// What the command reads, in the words of the command line.
    pub(crate) fn reads(&self) -> String {
        let input = match self {
            Self::Build(args) => &args.input,
            Self::Check(args) => &args.input,
            Self::Expand(args) => &args.input,
            Self::Diff(args) => return joined(&args.paths),
            Self::Graph(args) => return joined(&args.paths),
            Self::Why(args) => return args.what.clone(),
            _ => return "the command line".to_owned(),
        };
        joined(&input.paths)
    }
}

/// Paths in a row; the file that is read where none is named.
fn joined(paths: &[PathBuf]) -> String {
    let paths = paths.iter().map(|path| path.display().to_string());
    match paths.collect::<Vec<_>>().join(" ") {
        none if none.is_empty() => "gpu-cluster.yaml".to_owned(),
        paths => paths,
    }
}

/// What is read, and what counts as an error.
#[derive(Args, Clone, Debug)]
pub(crate) struct InputArgs {
    /// Files, or folders to search for gpu-cluster.yaml and *.gpu-cluster.yaml; `-` is standard input. Default:
    /// gpu-cluster.yaml here, or else this folder.
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Make an error of a warning, by its name or code; `warnings` stands for all.
    #[arg(long, value_name = "CODE")]
    pub(crate) deny: Vec<String>,
    /// How to print findings.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: FindingsFormat,
}

/// How to print findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FindingsFormat {
    /// For people; values of more than 160 characters are shortened in the middle.
    Text,
    /// For programs, with every value whole: `{"version":1,"findings":[…]}`.
    Json,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
    /// Annotations for GitHub Actions.
    Github,
    /// A Code Quality report for GitLab.
    Gitlab,
    /// A table for a comment.
    Markdown,
}

impl FindingsFormat {
    /// The library's word for it.
    pub(crate) fn format(self) -> Format {
        match self {
            Self::Text => Format::Text,
            Self::Json => Format::Json,
            Self::Sarif => Format::Sarif,
            Self::Github => Format::Github,
            Self::Gitlab => Format::Gitlab,
            Self::Markdown => Format::Markdown,
        }
    }
}

/// `gpuc init`.
#[derive(Args, Debug)]
pub(crate) struct InitArgs {
    /// Where the cluster runs.
    #[arg(long, value_enum)]
    pub(crate) cloud: StarterCloud,
    /// What the cluster is called.
    #[arg(long, default_value = "ml-dev")]
    pub(crate) name: String,
    /// The file to write; `-` for standard output.
    #[arg(value_name = "FILE", default_value = "gpu-cluster.yaml")]
    pub(crate) file: PathBuf,
}

/// The clouds that have a starter file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StarterCloud {
    /// Amazon EKS.
    Aws,
    /// Azure Kubernetes Service.
    Azure,
    /// Google Kubernetes Engine.
    Gcp,
    /// Machines of your own.
    #[value(name = "on-prem")]
    OnPrem,
}

/// `gpuc build`.
#[derive(Args, Debug)]
pub(crate) struct BuildArgs {
    /// What is read.
    #[command(flatten)]
    pub(crate) input: InputArgs,
    /// The folder of the trees; each cluster has a folder in it.
    #[arg(short, long, value_name = "DIR", default_value = "clusters")]
    pub(crate) out: PathBuf,
    /// Write nothing; end with 1 when the committed tree is stale, edited by hand, or has old files of gpuc's.
    #[arg(long, conflicts_with_all = ["force", "prune"])]
    pub(crate) check: bool,
    /// Overwrite files that somebody changed or that are not gpuc's.
    #[arg(long)]
    pub(crate) force: bool,
    /// Remove what gpuc wrote for clusters that are gone: their file was read and no longer has them, or a folder was
    /// searched and the file is not there any more. Other clusters' trees are left alone.
    #[arg(long)]
    pub(crate) prune: bool,
}

/// `gpuc check`.
#[derive(Args, Debug)]
pub(crate) struct CheckArgs {
    /// What is read.
    #[command(flatten)]
    pub(crate) input: InputArgs,
    /// Hold Kubernetes manifests written by others against the cluster: files, or folders to search for *.yaml, *.yml
    /// and *.json; `-` is standard input, for what `kubectl kustomize` or `helm template` prints. With them,
    /// `--deny manifest-warnings` stands for all of their warnings and none of the cluster's.
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub(crate) manifests: Vec<PathBuf>,
    /// The cluster that the manifests are for, where several are read.
    #[arg(long, value_name = "NAME", requires = "manifests")]
    pub(crate) cluster: Option<String>,
    /// Mend in the manifests' files what has one right answer, and leave every other byte as it is.
    #[arg(long, requires = "manifests")]
    pub(crate) fix: bool,
}

/// `gpuc diff`.
#[derive(Args, Debug)]
pub(crate) struct DiffArgs {
    /// Files, or folders to search for gpu-cluster.yaml and *.gpu-cluster.yaml. Default: gpu-cluster.yaml here, or else
    /// this folder.
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// What to compare with: a revision of git (HEAD, origin/main, v1.2), where two of them part (origin/main...HEAD),
    /// or a folder that holds the same files, such as a checkout.
    #[arg(long, value_name = "REV|A...B|DIR", default_value = "HEAD")]
    pub(crate) base: String,
    /// The folder of the trees.
    #[arg(short, long, value_name = "DIR", default_value = "clusters")]
    pub(crate) out: PathBuf,
    /// Print the steps that the change takes, in their order, with the commands: as text or markdown. The JSON has
    /// them in any case, as each cluster's `rollout`.
    #[arg(long)]
    pub(crate) plan: bool,
    /// How to print it.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: DiffFormat,
    /// In text, print every field and name.
    #[arg(long)]
    pub(crate) all: bool,
    /// End with 1 when something this bad or worse happens: deleted, replaced, refused, nodes-recreated,
    /// slices-recut, driver-restarted, workload-restarted, plugin-restarted, capacity-lost, quota-cut, access-changed,
    /// service-restarted, capacity-gained, quota-raised, added, watched-differently, nothing.
    #[arg(long, value_name = "IMPACT")]
    pub(crate) fail_on: Option<String>,
}

/// How to print what differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DiffFormat {
    /// For people.
    Text,
    /// For programs: schema/diff.schema.json.
    Json,
    /// A comment for a pull request, at most 65,536 characters long.
    Markdown,
    /// Annotations for GitHub Actions, at the lines that were changed.
    Github,
}

/// `gpuc expand`.
#[derive(Args, Debug)]
pub(crate) struct ExpandArgs {
    /// What is read.
    #[command(flatten)]
    pub(crate) input: InputArgs,
}

/// `gpuc explain`.
#[derive(Args, Debug)]
pub(crate) struct ExplainArgs {
    /// A code (GPUC1016), a finding's name (mig-profile-unsupported), or a key (nodePools.sharing.mig), of which the
    /// end is enough (mig).
    #[arg(value_name = "CODE|KEY")]
    pub(crate) what: String,
}

/// `gpuc graph`.
#[derive(Args, Debug)]
pub(crate) struct GraphArgs {
    /// Files, or folders to search for gpu-cluster.yaml and *.gpu-cluster.yaml; `-` is standard input. Default:
    /// gpu-cluster.yaml here, or else this folder.
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// What to draw it as. Default: what the ending of FILE says, else mermaid.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<GraphFormat>,
    /// The file to write, over one that is there; `-` is standard output, the default.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

impl GraphArgs {
    /// What is read, as the other commands are told it.
    pub(crate) fn input(&self) -> InputArgs {
        InputArgs {
            paths: self.paths.clone(),
            deny: Vec::new(),
            format: FindingsFormat::Text,
        }
    }
}

/// What to draw clusters as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum GraphFormat {
    /// A flowchart of pools, what they offer and teams, for Markdown.
    Mermaid,
    /// A picture of everything, for light and dark.
    Svg,
    /// A page with the picture and a table.
    Html,
}

/// `gpuc why`.
#[derive(Args, Debug)]
pub(crate) struct WhyArgs {
    /// A generated file, a field or a line of it, or an object: `clusters/demo/install.sh`, `FILE#spec.replicas`,
    /// `FILE:12`, `Deployment/name`, `Deployment/namespace/name#spec`.
    #[arg(value_name = "FILE[#FIELD]", value_hint = clap::ValueHint::AnyPath)]
    pub(crate) what: String,
    /// The input: files, or folders to search for gpu-cluster.yaml and *.gpu-cluster.yaml; `-` is standard input.
    /// Default: gpu-cluster.yaml here, or else this folder.
    #[arg(value_name = "PATH", value_hint = clap::ValueHint::AnyPath)]
    pub(crate) paths: Vec<PathBuf>,
    /// The folder of the trees; each cluster has a folder in it.
    #[arg(short, long, value_name = "DIR", default_value = "clusters")]
    pub(crate) out: PathBuf,
    /// How to print the answer.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: WhyFormat,
}

/// How to print an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WhyFormat {
    /// For people.
    Text,
    /// For programs, as schema/why.schema.json describes it.
    Json,
    /// For a comment.
    Markdown,
}

/// `gpuc catalog`.
#[derive(Args, Debug)]
pub(crate) struct CatalogArgs {
    /// What to list.
    pub(crate) kind: CatalogKind,
    /// Only rows with these words in them.
    #[arg(value_name = "FILTER")]
    pub(crate) filters: Vec<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// What the catalog has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CatalogKind {
    /// Cards, with their MIG profiles.
    Gpus,
    /// Machine types with GPUs.
    Machines,
    /// Helm charts, with their pinned versions.
    Charts,
    /// Images that the charts run.
    Images,
    /// Clouds.
    Clouds,
}

/// `gpuc completions`.
#[derive(Args, Debug)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    pub(crate) shell: clap_complete::Shell,
}

/// `gpuc man`.
#[derive(Args, Debug)]
pub(crate) struct ManArgs {
    /// The folder to write to.
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
}
