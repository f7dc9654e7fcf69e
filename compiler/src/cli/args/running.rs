//! Arguments of the commands about running clusters.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// `gpuc doctor`.
#[derive(Args, Debug)]
pub(crate) struct DoctorArgs {
    /// The cluster's file, or a folder to search for it. Default: ./gpu-cluster.yaml if it exists; without it, gpuc
    /// knows less about what the cluster must have.
    #[arg(value_name = "PATH")]
    pub(crate) path: Option<PathBuf>,
    /// The context in the kubeconfig. Default: the current context.
    #[arg(long, value_name = "CONTEXT", conflicts_with = "from")]
    pub(crate) context: Option<String>,
    /// Read the state from a folder instead of the API server: a snapshot, the output of `kubectl get -o json` or
    /// `-o yaml`, a must-gather folder or a troubleshoot bundle.
    #[arg(long, value_name = "DIR")]
    pub(crate) from: Option<PathBuf>,
    /// Report only what concerns this node and its pods.
    #[arg(long, value_name = "NODE", conflicts_with_all = ["pod", "pool"])]
    pub(crate) node: Option<String>,
    /// Report only what concerns this pod, after the steps on its way to a GPU.
    #[arg(long, value_name = "NAMESPACE/POD", conflicts_with = "pool")]
    pub(crate) pod: Option<String>,
    /// Report only what concerns the nodes of this pool and their pods.
    #[arg(long, value_name = "POOL")]
    pub(crate) pool: Option<String>,
    /// The cluster, if the input contains several.
    #[arg(long, value_name = "NAME")]
    pub(crate) cluster: Option<String>,
    /// Fail with exit code 1 on findings of this severity.
    #[arg(long, value_name = "SEVERITY", default_value = "error")]
    pub(crate) fail_on: FailOn,
    /// Print a ClusterRole with the rights that `gpuc doctor` and `gpuc snapshot` need, and exit.
    #[arg(long)]
    pub(crate) print_role: bool,
    /// Fail with exit code 3 if a check could not run because objects or logs of the GPU stack are missing. Without
    /// this option, only if no check could run.
    #[arg(long)]
    pub(crate) strict: bool,
    /// The output format.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: DoctorFormat,
    /// Read the cluster again and again, and print causes when they appear or are resolved, until you press Ctrl-C.
    #[arg(long)]
    pub(crate) watch: bool,
    /// With `--watch`, the pause between two runs, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 30, requires = "watch",
          value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) interval: u64,
}

/// `gpuc snapshot`.
#[derive(Args, Debug)]
pub(crate) struct SnapshotArgs {
    /// The folder to write. It must not exist.
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// The context in the kubeconfig. Default: the current context.
    #[arg(long, value_name = "CONTEXT")]
    pub(crate) context: Option<String>,
}

/// `gpuc import`.
#[derive(Args, Debug)]
pub(crate) struct ImportArgs {
    /// The context in the kubeconfig. Default: the current context. The name of a context that the tools of EKS or GKE
    /// wrote contains the account or project.
    #[arg(long, value_name = "CONTEXT", conflicts_with = "from")]
    pub(crate) context: Option<String>,
    /// Read the state from a folder instead of the API server: a snapshot, the output of `kubectl get -o json` or
    /// `-o yaml`, a must-gather folder or a troubleshoot bundle. JSON files in its folder `cloud` are read as with
    /// `--cloud`.
    #[arg(long, value_name = "DIR")]
    pub(crate) from: Option<PathBuf>,
    /// A description of the cluster or of its node pools, as JSON: `aws eks describe-cluster`, `aws eks
    /// describe-nodegroup`, `gcloud container clusters describe`, `gcloud container node-pools list`, `az aks show` or
    /// `az aks nodepool list`. Can be repeated. Node pools with a description are written in full.
    #[arg(long, value_name = "FILE")]
    pub(crate) cloud: Vec<PathBuf>,
    /// The file to write. It must not exist. Default, and `-`: standard output.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Replace the file if it exists.
    #[arg(long, requires = "out")]
    pub(crate) force: bool,
    /// Build the file, compare the objects of the tree with those of the cluster, and fail with exit code 1 if they
    /// differ or the file does not build.
    #[arg(long)]
    pub(crate) check: bool,
    /// The output format of the report, on standard error.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: ReportFormat,
}

/// `gpuc prove`.
#[derive(Args, Debug)]
#[command(group = clap::ArgGroup::new("property").required(true).args(["fabric", "gpu"]))]
pub(crate) struct ProveArgs {
    /// The pool.
    #[arg(value_name = "POOL")]
    pub(crate) pool: String,
    /// The cluster's file, or a folder to search for it. Default: ./gpu-cluster.yaml.
    #[arg(value_name = "PATH")]
    pub(crate) path: Option<PathBuf>,
    /// Prove the network between GPUs: an all-reduce uses the pool's network, its sums are right, and its bandwidth
    /// reaches the floor for the machine type.
    #[arg(long)]
    pub(crate) fabric: bool,
    /// Prove the GPUs: that a CUDA program runs, or that the diagnostics of DCGM of a level succeed.
    #[arg(long, value_name = "LEVEL")]
    pub(crate) gpu: Option<GpuLevel>,
    /// The number of nodes, which run at the same time. Default: 2 with `--fabric`, otherwise 1.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) nodes: Option<u32>,
    /// With `--fabric`, the lowest accepted bus bandwidth of the largest message in GB/s, instead of that of the
    /// machine type.
    #[arg(long, value_name = "GB/S", conflicts_with = "gpu", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) min_bus_bandwidth: Option<u32>,
    /// The image of the pods.
    #[arg(long, value_name = "IMAGE", conflicts_with = "judge")]
    pub(crate) image: Option<String>,
    /// Judge a log of such a run instead; `-` is standard input.
    #[arg(long, value_name = "FILE", conflicts_with = "apply")]
    pub(crate) judge: Option<PathBuf>,
    /// Run the Job in the cluster, judge its logs, and delete what was created. Without `--apply` and `--judge`, gpuc
    /// prints the manifest.
    #[arg(long)]
    pub(crate) apply: bool,
    /// With `--apply`, the context in the kubeconfig. Default: the context in the file, otherwise the current context.
    #[arg(long, value_name = "CONTEXT", requires = "apply")]
    pub(crate) context: Option<String>,
    /// With `--apply`, keep the namespace, for an examination.
    #[arg(long, requires = "apply")]
    pub(crate) keep: bool,
    /// With `--apply`, the file for the logs. It must not exist.
    #[arg(long, value_name = "FILE", requires = "apply")]
    pub(crate) log: Option<PathBuf>,
    /// The cluster, if the input contains several.
    #[arg(long, value_name = "NAME")]
    pub(crate) cluster: Option<String>,
    /// The output format of the judgement.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: ReportFormat,
}

/// What `gpuc prove --gpu` proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum GpuLevel {
    /// A CUDA program runs, in seconds. The only level for shared GPUs and MIG devices.
    Cuda,
    /// Diagnostics of the software, in seconds.
    #[value(name = "1")]
    Software,
    /// Diagnostics of memory and PCIe, in about two minutes.
    #[value(name = "2")]
    Hardware,
    /// Diagnostics under load, in about a quarter of an hour.
    #[value(name = "3")]
    Load,
    /// All diagnostics, in one to two hours.
    #[value(name = "4")]
    All,
}

/// The output format of reports about running clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// Human-readable.
    Text,
    /// JSON.
    Json,
}

/// The severity of findings on which `gpuc doctor` fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    /// Errors.
    Error,
    /// Errors and warnings.
    Warning,
}

/// The output format of `gpuc doctor`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DoctorFormat {
    /// Human-readable.
    Text,
    /// JSON: `{"version":1,"causes":[…],"notChecked":[…]}`.
    Json,
    /// Markdown for an issue or a chat, at most 65,000 characters long.
    Markdown,
    /// SARIF 2.1.0, for code scanning. Findings about a part of the file have its place.
    Sarif,
    /// `JUnit` XML: each check is a test case.
    Junit,
}

/// The running cluster that `gpuc diff` compares with.
#[derive(Args, Debug)]
pub(crate) struct RunningArgs {
    /// Compare with the running cluster instead: what a deployment of the tree would change, by a dry run of the API
    /// server. Nothing is written.
    #[arg(long, conflicts_with_all = ["base", "plan"])]
    pub(crate) live: bool,
    /// With `--live`, the context in the kubeconfig. Default: the context in the file, otherwise the current context.
    #[arg(long, value_name = "CONTEXT", requires = "live")]
    pub(crate) context: Option<String>,
    /// With `--live`, the cluster, if the input contains several.
    #[arg(long, value_name = "NAME", requires = "live")]
    pub(crate) cluster: Option<String>,
    /// With `--live`, do not compare cloud resources. Otherwise, gpuc runs `cloud/apply.sh --verify` of the tree, which
    /// needs bash, jq and the cloud's command-line tool.
    #[arg(long, requires = "live")]
    pub(crate) no_cloud: bool,
}
