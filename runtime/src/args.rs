//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use tracing_subscriber::filter::{LevelFilter, Targets};

/// The name of this program in log filters.
const PROGRAM: &str = "gpuc_runtime";

/// The name of the library for the API server in log filters.
const API_CLIENT: &str = "kube_client";

/// The device plugin for NVIDIA GPUs that gpuc deploys on every GPU node.
#[derive(Debug, Parser)]
#[command(name = "gpuc-runtime", version)]
pub struct Cli {
    /// The command to run.
    #[command(subcommand)]
    pub command: Command,

    /// Format of the log on standard error
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t,
        env = "GPUC_LOG_FORMAT"
    )]
    pub log_format: LogFormat,

    /// Log level (error, warn, info, debug, trace) or a comma-separated filter
    #[arg(
        long,
        global = true,
        default_value = "info",
        env = "GPUC_LOG",
        value_parser = filter
    )]
    pub log: Targets,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Runs the device plugin: advertises the node's GPUs to the kubelet and monitors them
    Serve(ServeArgs),
    /// Shows the node's GPUs and the resources that the device plugin would advertise
    Inspect(InspectArgs),
    /// Manages the MIG devices of the node's GPUs
    Mig {
        /// The subcommand to run.
        #[command(subcommand)]
        command: MigCommand,
    },
    /// Runs the control daemon of the CUDA Multi-Process Service (MPS) for the node's GPUs
    Mps(NodeArgs),
}

/// The subcommands of `mig`.
#[derive(Debug, Subcommand)]
pub enum MigCommand {
    /// Creates the configured MIG devices; skips GPUs that already match or are in use
    Apply(MigApplyArgs),
}

/// The arguments that describe the node.
#[derive(Args, Debug)]
pub struct NodeArgs {
    /// Node configuration file written by gpuc
    #[arg(long, value_name = "FILE", default_value = "/etc/gpuc/node.json")]
    pub config: PathBuf,

    /// Directory of the device nodes
    #[arg(long, value_name = "DIRECTORY", default_value = "/dev")]
    pub dev: PathBuf,

    /// Mount point of procfs
    #[arg(long, value_name = "DIRECTORY", default_value = "/proc")]
    pub proc: PathBuf,

    /// Mount point of sysfs
    #[arg(long, value_name = "DIRECTORY", default_value = "/sys")]
    pub sys: PathBuf,
}

/// The arguments that replace the driver.
#[derive(Args, Debug)]
pub struct SimulationArgs {
    /// Simulates GPUs instead of using the driver: l4x4, h100x2:mig=3g.40gb,1g.10gb*3
    #[arg(long, value_name = "MACHINE")]
    pub fake: Option<String>,
}

/// `gpuc-runtime serve`.
#[derive(Args, Debug)]
pub struct ServeArgs {
    /// The arguments that describe the node.
    #[command(flatten)]
    pub node: NodeArgs,

    /// A simulated machine.
    #[command(flatten)]
    pub simulation: SimulationArgs,

    /// The kubelet's device plugin directory
    #[arg(
        long,
        value_name = "DIRECTORY",
        default_value = "/var/lib/kubelet/device-plugins"
    )]
    pub device_plugins: PathBuf,

    /// Socket of the PodResources API of the kubelet
    #[arg(
        long,
        value_name = "SOCKET",
        default_value = "/var/lib/kubelet/pod-resources/kubelet.sock"
    )]
    pub pod_resources: PathBuf,

    /// Name of the Node object; if empty, labels, conditions and events are not published
    #[arg(long, value_name = "NAME", env = "NODE_NAME", default_value = "")]
    pub node_name: String,

    /// IP address to serve metrics and probes on
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0")]
    pub listen: std::net::IpAddr,

    /// Directory for the health of the GPUs, so that a restart of the container keeps it; by default, it is not stored
    #[arg(long, value_name = "DIRECTORY")]
    pub state: Option<PathBuf>,
}

/// `gpuc-runtime inspect`.
#[derive(Args, Debug)]
pub struct InspectArgs {
    /// The arguments that describe the node.
    #[command(flatten)]
    pub node: NodeArgs,

    /// A simulated machine.
    #[command(flatten)]
    pub simulation: SimulationArgs,

    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub format: InspectFormat,
}

/// `gpuc-runtime mig apply`.
#[derive(Args, Debug)]
pub struct MigApplyArgs {
    /// The arguments that describe the node.
    #[command(flatten)]
    pub node: NodeArgs,

    /// Prints the changes without making them
    #[arg(long)]
    pub dry_run: bool,
}

/// The format of the log.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub enum LogFormat {
    /// Human-readable lines.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

/// The output format of `inspect`.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub enum InspectFormat {
    /// A human-readable table.
    #[default]
    Table,
    /// JSON.
    Json,
}

/// Parses the log filter. Unknown levels are errors: the parser of the library takes them for module names, and nothing
/// is logged. An empty environment variable counts as unset.
fn filter(words: &str) -> Result<Targets, String> {
    let words = if words.trim().is_empty() {
        "info"
    } else {
        words
    };
    for word in words.split(',') {
        let level = word.rsplit_once('=').map_or(word, |(_, level)| level);
        // The library parses an empty directive as `error`.
        if level.is_empty() || level.parse::<LevelFilter>().is_err() {
            return Err(format!(
                "`{level}` is not a log level: use off, error, warn, info, debug or trace, or a filter such as \
                 `info,gpuc_runtime::health=debug`"
            ));
        }
    }
    let targets = words.parse::<Targets>().map_err(|error| {
        format!("{error}: use a filter such as `info,gpuc_runtime::health=debug`")
    })?;
    Ok(limit_libraries(targets))
}

/// Applies a level below `info` to gpuc-runtime only. Its libraries log every frame of every connection; they can be
/// named: `debug,h2=debug`.
fn limit_libraries(targets: Targets) -> Targets {
    let is_named = targets.iter().any(|(target, _)| target == API_CLIENT);
    let targets = if is_named {
        targets
    } else {
        // Its errors are returned, and logged once with their causes.
        targets.with_target(API_CLIENT, LevelFilter::OFF)
    };
    let level = targets.default_level().unwrap_or(LevelFilter::OFF);
    if level <= LevelFilter::INFO {
        return targets;
    }
    let is_named = targets.iter().any(|(target, _)| target == PROGRAM);
    let targets = targets.with_default(LevelFilter::INFO);
    if is_named {
        targets
    } else {
        targets.with_target(PROGRAM, level)
    }
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::filter::LevelFilter;

    use super::*;

    #[test]
    fn libraries_log_details_only_if_they_are_named() {
        let enabled = |words: &str, target: &str| {
            filter(words)
                .expect(words)
                .would_enable(target, &tracing::Level::DEBUG)
        };
        for words in ["debug", "trace", "debug,gpuc_runtime::health=info"] {
            assert!(enabled(words, "gpuc_runtime::run"), "{words}");
            assert!(!enabled(words, "h2::codec"), "{words}");
        }
        assert!(!enabled("debug,gpuc_runtime=info", "gpuc_runtime::run"));
        assert!(enabled("debug,h2=debug", "h2::codec"));
        let libraries = filter("debug").expect("a filter");
        assert!(libraries.would_enable("tonic", &tracing::Level::INFO));
        let logs_client = |words: &str| {
            let targets = filter(words).expect("a filter");
            targets.would_enable("kube_client::client::builder", &tracing::Level::ERROR)
        };
        assert!(!logs_client("info") && !logs_client("debug"));
        assert!(logs_client("info,kube_client=info"));
    }

    #[test]
    fn invalid_filters_are_rejected() {
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
        assert!(!targets.would_enable("h2", &tracing::Level::INFO));
        assert!(targets.would_enable("gpuc_runtime::health", &tracing::Level::DEBUG));
        assert!(!targets.would_enable("gpuc_runtime::run", &tracing::Level::INFO));
    }
}
