//! The command line.

mod running;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use gpuc_syntax::diag::render::Format;

pub(crate) use running::{
    DoctorArgs, DoctorFormat, FailOn, GpuLevel, ImportArgs, ProveArgs, ReportFormat, RunningArgs,
    SnapshotArgs,
};

/// The exit codes, for scripts and pipelines.
const EXIT_CODES: &str = "\
Exit codes:
  0   Success
  1   The committed tree is out of date or contains files that gpuc does not overwrite, or
      the change has the impact of `diff --fail-on`; `doctor` found faults, `prove` has no
      proof, or `import --check` found differences
  2   The input, a manifest or the command line has errors
  3   An operation failed: a file cannot be read or written, or a cluster does not respond;
      `doctor` could check nothing, or lacked data with `--strict`
  70  A bug in gpuc";

/// Compiles gpu-cluster.yaml into cloud scripts, Helm values and Kubernetes manifests.
#[derive(Debug, Parser)]
#[command(
    name = "gpuc",
    version,
    max_term_width = 100,
    after_help = EXIT_CODES,
    arg_required_else_help = true
)]
pub(crate) struct Cli {
    /// Print only errors and warnings.
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// When to use colors; NO_COLOR is respected.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Color,
    /// The command.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// When to use colors.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Color {
    /// If the output is a terminal.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Create a starter gpu-cluster.yaml.
    Init(InitArgs),
    /// Generate the tree of files for each cluster.
    Build(BuildArgs),
    /// Check clusters and report all findings, without writing files.
    Check(CheckArgs),
    /// Show the impact of a change on running clusters, most severe first.
    Diff(DiffArgs),
    /// Find the causes of faults in a running cluster.
    Doctor(DoctorArgs),
    /// Print the input with all defaults, and the source of each default.
    Expand(ExpandArgs),
    /// List all findings, explain a finding or an alert, or print the documentation of a key.
    Explain(ExplainArgs),
    /// Draw clusters: pools, GPUs and MIG devices, teams and quotas, and the install order.
    Graph(GraphArgs),
    /// Write the gpu-cluster.yaml that describes a running cluster, with a report of what is guessed or left out.
    Import(ImportArgs),
    /// Prove that the GPUs of a pool, or the network between them, work: write or run a Job, and judge its logs.
    Prove(ProveArgs),
    /// Explain why a generated file, field or line exists: the input lines, and the rule or fact behind it.
    Why(WhyArgs),
    /// List gpuc's catalog: GPUs, machines, clouds, charts, images.
    Catalog(CatalogArgs),
    /// Print the JSON Schema of gpu-cluster.yaml, for editors.
    Schema,
    /// Write the state of a running cluster to a folder, without secrets, for `gpuc doctor --from`.
    Snapshot(SnapshotArgs),
    /// Print a shell completion script.
    Completions(CompletionsArgs),
    /// Write the man pages to a folder.
    Man(ManArgs),
}

impl Command {
    /// The input of the command, as written on the command line.
    pub(crate) fn input_text(&self) -> String {
        let input = match self {
            Self::Build(args) => &args.input,
            Self::Check(args) => &args.input,
            Self::Expand(args) => &args.input,
            Self::Diff(args) => return join_paths(&args.paths),
            Self::Graph(args) => return join_paths(&args.paths),
            Self::Why(args) => return args.what.clone(),
            Self::Doctor(args) => return join_paths(args.path.as_slice()),
            Self::Prove(args) => return join_paths(args.path.as_slice()),
            _ => return "the command line".to_owned(),
        };
        join_paths(&input.paths)
    }
}

/// The paths, separated by spaces; the default file if there are none.
fn join_paths(paths: &[PathBuf]) -> String {
    let paths = paths.iter().map(|path| path.display().to_string());
    match paths.collect::<Vec<_>>().join(" ") {
        none if none.is_empty() => "gpu-cluster.yaml".to_owned(),
        paths => paths,
    }
}

/// The input, and the levels and format of findings.
#[derive(Args, Clone, Debug)]
pub(crate) struct InputArgs {
    /// Files, or folders to search for gpu-cluster.yaml and *.gpu-cluster.yaml; `-` is standard input. Default:
    /// ./gpu-cluster.yaml if it exists, otherwise the current folder.
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Treat a warning as an error, by its name or code; `warnings` means all of them.
    #[arg(long, value_name = "CODE")]
    pub(crate) deny: Vec<String>,
    /// The output format of findings.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: FindingsFormat,
}

/// The output format of findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FindingsFormat {
    /// Human-readable; values of more than 160 characters are shortened in the middle.
    Text,
    /// JSON, with complete values: `{"version":1,"findings":[…]}`.
    Json,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
    /// Annotations for GitHub Actions.
    Github,
    /// A Code Quality report for GitLab.
    Gitlab,
    /// A Markdown table for a comment.
    Markdown,
}

impl FindingsFormat {
    /// The corresponding format of the library.
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
    /// The cloud of the cluster.
    #[arg(long, value_enum)]
    pub(crate) cloud: StarterCloud,
    /// The name of the cluster.
    #[arg(long, default_value = "ml-dev")]
    pub(crate) name: String,
    /// The file to write; `-` is standard output.
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
    /// Your own hosts.
    #[value(name = "on-prem")]
    OnPrem,
}

/// `gpuc build`.
#[derive(Args, Debug)]
pub(crate) struct BuildArgs {
    /// The input.
    #[command(flatten)]
    pub(crate) input: InputArgs,
    /// The output folder; each cluster has a subfolder in it.
    #[arg(short, long, value_name = "DIR", default_value = "clusters")]
    pub(crate) out: PathBuf,
    /// Write nothing; exit with 1 if the committed tree is stale, edited by hand, or contains files that gpuc no longer
    /// generates.
    #[arg(long, conflicts_with_all = ["force", "prune"])]
    pub(crate) check: bool,
    /// Overwrite files that were edited by hand or not written by gpuc.
    #[arg(long)]
    pub(crate) force: bool,
    /// Delete the trees of removed clusters: clusters that are no longer in a file that was read, or whose file no
    /// longer exists in a folder that was searched. Trees of other clusters are not changed.
    #[arg(long)]
    pub(crate) prune: bool,
}

/// `gpuc check`.
#[derive(Args, Debug)]
pub(crate) struct CheckArgs {
    /// The input.
    #[command(flatten)]
    pub(crate) input: InputArgs,
    /// Check existing Kubernetes manifests against the cluster: files, or folders to search for *.yaml, *.yml and
    /// *.json; `-` is standard input, for the output of `kubectl kustomize` or `helm template`. With this option,
    /// `--deny manifest-warnings` means all warnings about manifests, but not those about the cluster.
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub(crate) manifests: Vec<PathBuf>,
    /// Compare the pools with node pools that Terraform or OpenTofu creates: the output of `terraform show -json` of a
    /// plan or of a state; `-` is standard input. Reads the node pools of EKS, GKE and AKS. Repeat it for several
    /// files.
    #[arg(long, value_name = "FILE")]
    pub(crate) against: Vec<PathBuf>,
    /// The cluster to compare with the manifests or the node pools, if the input contains several.
    #[arg(long, value_name = "NAME")]
    pub(crate) cluster: Option<String>,
    /// Apply safe fixes to the manifest files: they correct the case or the plural of a name, or add what a pool
    /// requires. Nothing else in the files changes.
    #[arg(long, requires = "manifests")]
    pub(crate) fix: bool,
    /// With `--fix`, also apply fixes that can change what an object does: review the difference afterwards.
    #[arg(long, requires = "fix", alias = "unsafe")]
    pub(crate) unsafe_fixes: bool,
}

/// `gpuc diff`.
#[derive(Args, Debug)]
pub(crate) struct DiffArgs {
    /// Files, or folders to search for gpu-cluster.yaml and *.gpu-cluster.yaml. Default: ./gpu-cluster.yaml if it
    /// exists, otherwise the current folder.
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// The base to compare with: a Git revision (HEAD, origin/main, v1.2), the merge base of two revisions
    /// (origin/main...HEAD), or a folder with the same files, such as another checkout.
    #[arg(long, value_name = "REV|A...B|DIR", default_value = "HEAD")]
    pub(crate) base: String,
    /// The running cluster.
    #[command(flatten)]
    pub(crate) running: RunningArgs,
    /// The output folder of `gpuc build`.
    #[arg(short, long, value_name = "DIR", default_value = "clusters")]
    pub(crate) out: PathBuf,
    /// Print the ordered steps of the rollout, with commands, as text or Markdown. JSON output always contains them, as
    /// `rollout` of each cluster.
    #[arg(long)]
    pub(crate) plan: bool,
    /// The output format.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: DiffFormat,
    /// Print all fields and names in text output.
    #[arg(long)]
    pub(crate) all: bool,
    /// Exit with 1 if the change has this impact or a more severe one: deleted, replaced, refused, nodes-recreated,
    /// mig-reconfigured, driver-restarted, workload-restarted, device-plugin-restarted, capacity-lost, quota-cut,
    /// access-changed, service-restarted, capacity-gained, quota-raised, added, monitoring-changed, nothing.
    #[arg(long, value_name = "IMPACT")]
    pub(crate) fail_on: Option<String>,
}

/// The output format of `gpuc diff`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DiffFormat {
    /// Human-readable.
    Text,
    /// JSON, as described by schema/diff.schema.json.
    Json,
    /// Markdown for a pull request comment, at most 65,536 characters long.
    Markdown,
    /// Annotations for GitHub Actions, on the changed lines.
    Github,
}

/// `gpuc expand`.
#[derive(Args, Debug)]
pub(crate) struct ExpandArgs {
    /// The input.
    #[command(flatten)]
    pub(crate) input: InputArgs,
}

/// `gpuc explain`.
#[derive(Args, Debug)]
pub(crate) struct ExplainArgs {
    /// A code (GPUC1016), a finding's name (mig-profile-unsupported), an alert (GpuIdle), or a key
    /// (nodePools.sharing.mig, or only its end: mig). Default: a list of all findings.
    #[arg(value_name = "CODE|KEY")]
    pub(crate) what: Option<String>,
}

/// `gpuc graph`.
#[derive(Args, Debug)]
pub(crate) struct GraphArgs {
    /// Files, or folders to search for gpu-cluster.yaml and *.gpu-cluster.yaml; `-` is standard input. Default:
    /// ./gpu-cluster.yaml if it exists, otherwise the current folder.
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// The output format. Default: derived from the extension of FILE, otherwise mermaid.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<GraphFormat>,
    /// The file to write; an existing file is overwritten. `-` is standard output, the default.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

impl GraphArgs {
    /// The input, in the form of the other commands.
    pub(crate) fn input(&self) -> InputArgs {
        InputArgs {
            paths: self.paths.clone(),
            deny: Vec::new(),
            format: FindingsFormat::Text,
        }
    }
}

/// The output format of `gpuc graph`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum GraphFormat {
    /// A flowchart of pools, their advertised resources, and teams, for Markdown.
    Mermaid,
    /// A complete diagram, for light and dark backgrounds.
    Svg,
    /// An HTML page with the diagram and a table.
    Html,
}

/// `gpuc why`.
#[derive(Args, Debug)]
pub(crate) struct WhyArgs {
    /// A generated file, a field or a line of a file, or an object: `clusters/demo/install.sh`, `FILE#spec.replicas`,
    /// `FILE:12`, `Deployment/name`, `Deployment/namespace/name#spec`.
    #[arg(value_name = "FILE[#FIELD]", value_hint = clap::ValueHint::AnyPath)]
    pub(crate) what: String,
    /// The input: files, or folders to search for gpu-cluster.yaml and *.gpu-cluster.yaml; `-` is standard input.
    /// Default: ./gpu-cluster.yaml if it exists, otherwise the current folder.
    #[arg(value_name = "PATH", value_hint = clap::ValueHint::AnyPath)]
    pub(crate) paths: Vec<PathBuf>,
    /// The output folder; each cluster has a subfolder in it.
    #[arg(short, long, value_name = "DIR", default_value = "clusters")]
    pub(crate) out: PathBuf,
    /// The output format.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: WhyFormat,
}

/// The output format of `gpuc why`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WhyFormat {
    /// Human-readable.
    Text,
    /// JSON, as described by schema/why.schema.json.
    Json,
    /// Markdown for a comment.
    Markdown,
}

/// `gpuc catalog`.
#[derive(Args, Debug)]
pub(crate) struct CatalogArgs {
    /// The part of the catalog to list.
    pub(crate) kind: CatalogKind,
    /// Print only rows that contain all of these words.
    #[arg(value_name = "FILTER")]
    pub(crate) filters: Vec<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// The parts of the catalog.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CatalogKind {
    /// GPU models, with their MIG profiles.
    Gpus,
    /// Machine types with GPUs.
    Machines,
    /// Helm charts, with pinned versions.
    Charts,
    /// Container images of the charts.
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
