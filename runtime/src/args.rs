//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use tracing_subscriber::filter::{LevelFilter, Targets};

/// The device plugin for NVIDIA GPUs that gpuc deploys on every GPU node.
#[derive(Debug, Parser)]
#[command(name = "gpuc-runtime", version)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,

    /// How the log is written to standard error
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t,
        env = "GPUC_LOG_FORMAT"
    )]
    pub log_format: LogFormat,

    /// What is logged: error, warn, info, debug, trace, or a filter of several
    #[arg(
        long,
        global = true,
        default_value = "info",
        env = "GPUC_LOG",
        value_parser = filter
    )]
    pub log: Targets,
}

/// What the program does.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Offers the node's GPUs to the kubelet, watches them, and says what it sees
    Serve(ServeArgs),
    /// Shows what this node has and would offer
    Inspect(InspectArgs),
    /// Brings the node's GPUs to the layout of MIG slices in the configuration
    Mig {
        /// What to do about them.
        #[command(subcommand)]
        command: MigCommand,
    },
    /// Runs the control daemon of CUDA's Multi-Process Service for the node's GPUs
    Mps(NodeArgs),
}

/// What can be done about slices.
#[derive(Debug, Subcommand)]
pub enum MigCommand {
    /// Cuts the GPUs; does nothing where they are cut as wanted, and touches no GPU that is in use
    Apply(MigApplyArgs),
}

/// Which node this is, and what is wanted of it.
#[derive(Args, Debug)]
pub struct NodeArgs {
    /// The node's configuration, as gpuc wrote it
    #[arg(long, value_name = "FILE", default_value = "/etc/gpuc/node.json")]
    pub config: PathBuf,

    /// Makes GPUs up instead of asking a driver: l4x4, h100x2:mig=3g.40gb,1g.10gb*3
    #[arg(long, value_name = "MACHINE")]
    pub fake: Option<String>,

    /// Where the device nodes are
    #[arg(long, value_name = "FOLDER", default_value = "/dev")]
    pub dev: PathBuf,

    /// Where the kernel shows the driver's state
    #[arg(long, value_name = "FOLDER", default_value = "/proc")]
    pub proc: PathBuf,

    /// Where the kernel shows the machine
    #[arg(long, value_name = "FOLDER", default_value = "/sys")]
    pub sys: PathBuf,
}

/// `gpuc-runtime serve`.
#[derive(Args, Debug)]
pub struct ServeArgs {
    /// Which node this is.
    #[command(flatten)]
    pub node: NodeArgs,

    /// The folder of the kubelet's device plugins
    #[arg(
        long,
        value_name = "FOLDER",
        default_value = "/var/lib/kubelet/device-plugins"
    )]
    pub device_plugins: PathBuf,

    /// The kubelet's socket that tells which pod holds which device
    #[arg(
        long,
        value_name = "SOCKET",
        default_value = "/var/lib/kubelet/pod-resources/kubelet.sock"
    )]
    pub pod_resources: PathBuf,

    /// The node's name
    #[arg(long, value_name = "NAME", env = "NODE_NAME", default_value = "")]
    pub node_name: String,

    /// The address to listen on for metrics and probes
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0")]
    pub listen: std::net::IpAddr,
}

/// `gpuc-runtime inspect`.
#[derive(Args, Debug)]
pub struct InspectArgs {
    /// Which node this is.
    #[command(flatten)]
    pub node: NodeArgs,

    /// How it is shown
    #[arg(long, value_enum, default_value_t)]
    pub format: InspectFormat,
}

/// `gpuc-runtime mig apply`.
#[derive(Args, Debug)]
pub struct MigApplyArgs {
    /// Which node this is.
    #[command(flatten)]
    pub node: NodeArgs,

    /// Says what would be done, and does nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// How the log is written.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub enum LogFormat {
    /// Lines for people.
    #[default]
    Text,
    /// A JSON object a line.
    Json,
}

/// How `inspect` shows a node.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub enum InspectFormat {
    /// A table for people.
    #[default]
    Table,
    /// JSON.
    Json,
}

/// What is logged. A word that is no level would be taken for the name of a module, and nothing would be logged at all.
/// A variable that is empty is none.
fn filter(words: &str) -> Result<Targets, String> {
    let words = if words.trim().is_empty() {
        "info"
    } else {
        words
    };
    for word in words.split(',') {
        let level = word.rsplit_once('=').map_or(word, |(_, level)| level);
        // An empty word would be read as `error`.
        if level.is_empty() || level.parse::<LevelFilter>().is_err() {
            return Err(format!(
                "`{level}` is none of off, error, warn, info, debug and trace; a filter is \
                 `info,gpuc_runtime::health=debug`"
            ));
        }
    }
    words
        .parse::<Targets>()
        .map_err(|error| format!("{error}; a filter is `info,gpuc_runtime::health=debug`"))
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::filter::LevelFilter;

    use super::*;

    #[test]
    fn words_that_would_log_nothing_are_refused() {
        for words in [
            "warning",
            "gpuc_runtime",
            "info,x=loud",
            "info,",
            "a=b=info",
        ] {
            let error = filter(words).expect_err(words);
            assert!(
                error.contains("`info,gpuc_runtime::health=debug`"),
                "{error}"
            );
        }
        for words in ["", " ", "info"] {
            let targets = filter(words).expect(words);
            assert_eq!(targets.default_level(), Some(LevelFilter::INFO), "{words}");
        }
        let targets = filter("warn,gpuc_runtime::health=debug").expect("a filter");
        assert!(targets.would_enable("gpuc_runtime::health", &tracing::Level::DEBUG));
        assert!(!targets.would_enable("gpuc_runtime::run", &tracing::Level::INFO));
    }
}
