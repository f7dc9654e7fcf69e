//! The commands and their exit codes.

mod deadline;
mod inspect;
mod mig;
mod mps;
mod serve;

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use clap::Parser;
use gpuc_runtime::args::{Cli, Command, LogFormat, MigCommand, NodeArgs, SimulationArgs};
use gpuc_runtime::config::{self, NodeConfig};
use gpuc_runtime::host::Roots;
use gpuc_runtime::nvml::Real;
use gpuc_runtime::nvml::fake::Fake;
use gpuc_runtime::run::CALL_TIMEOUT;
use tracing_subscriber::fmt;
use tracing_subscriber::prelude::*;

/// The result of a command.
pub(crate) enum CommandOutcome {
    /// The command succeeded.
    Success,
    /// The command succeeded only in part and has reported the reason.
    Incomplete,
}

/// Runs the command given on the command line.
pub(crate) fn run() -> ExitCode {
    let cli = Cli::parse();
    init_logging(&cli);
    exit_on_panic();
    let end = match &cli.command {
        Command::Serve(args) => serve::run(args),
        Command::Inspect(args) => inspect::run(args),
        Command::Mig {
            command: MigCommand::Apply(args),
        } => mig::apply(args),
        Command::Mps(args) => mps::run(args),
    };
    match end {
        Ok(CommandOutcome::Success) => ExitCode::SUCCESS,
        Ok(CommandOutcome::Incomplete) => ExitCode::from(3),
        Err(error) => report_failure(&error),
    }
}

fn report_failure(error: &anyhow::Error) -> ExitCode {
    // An error while writing to standard error must not cause another failure.
    let _ = writeln!(std::io::stderr(), "gpuc-runtime: {error:#}");
    ExitCode::FAILURE
}

fn init_logging(cli: &Cli) {
    let lines = fmt::layer()
        .with_writer(std::io::stderr)
        // Without this, the subscriber reports a failed write to the same standard error and panics.
        .log_internal_errors(false)
        .with_ansi(std::env::var_os("NO_COLOR").is_none() && is_terminal());
    let registry = tracing_subscriber::registry().with(cli.log.clone());
    match cli.log_format {
        LogFormat::Text => registry.with(lines).init(),
        LogFormat::Json => registry.with(lines.json()).init(),
    }
}

fn is_terminal() -> bool {
    std::io::IsTerminal::is_terminal(&std::io::stderr())
}

/// Ends the process when any task panics: a restart is better than a partially working daemon.
fn exit_on_panic() {
    let default_hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        default_hook(panic);
        std::process::exit(101);
    }));
}

/// Loads the configuration given on the command line. Unknown keys are errors.
fn load_config(args: &NodeArgs) -> Result<NodeConfig> {
    require_config(args)?;
    config::load(&args.config).with_context(|| args.config.display().to_string())
}

/// Fails if the configuration file does not exist, which is a mistake in the command line.
fn require_config(args: &NodeArgs) -> Result<()> {
    let file = &args.config;
    if let Err(error) = fs::metadata(file)
        && error.kind() == ErrorKind::NotFound
    {
        bail!(
            "{} does not exist: pass the node configuration with --config",
            file.display()
        );
    }
    Ok(())
}

/// Returns the paths to read from. The configuration determines the location of the driver.
fn host_roots(args: &NodeArgs, config: &NodeConfig) -> Roots {
    Roots {
        dev: args.dev.clone(),
        proc: args.proc.clone(),
        sys: args.sys.clone(),
        driver: config.driver.container_root.clone().into(),
    }
}

/// A simulated machine and its files, in a directory that is deleted on drop.
struct SimulatedNode {
    fake: Fake,
    folder: PathBuf,
}

impl SimulatedNode {
    /// Creates the machine given with `--fake`, if any, writes its files below `parent`, and points `roots` to them.
    fn new(
        args: &SimulationArgs,
        node: &str,
        parent: &Path,
        roots: &mut Roots,
    ) -> Result<Option<Self>> {
        let Some(words) = &args.fake else {
            return Ok(None);
        };
        let fake = Fake::from_description_with_name(words, node)?;
        let folder = parent.join(format!("gpuc-runtime-{}", std::process::id()));
        // In a container, a killed process had the same number.
        let _ = fs::remove_dir_all(&folder);
        let simulated = Self { fake, folder };
        let written = fs::create_dir_all(&simulated.folder)
            .and_then(|()| simulated.fake.write_roots(&simulated.folder))
            .with_context(|| simulated.folder.display().to_string());
        *roots = written?;
        Ok(Some(simulated))
    }
}

impl Drop for SimulatedNode {
    fn drop(&mut self) {
        // Files that cannot be deleted are harmless.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Opens the driver.
fn open_driver(roots: &Roots) -> Result<Arc<Real>> {
    let folder = roots.driver.clone();
    let opened = deadline::run_within(CALL_TIMEOUT, "driver", move || Real::open(&folder))?;
    Ok(Arc::new(opened?))
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::time::Duration;

    use super::exit_on_panic;

    /// The variable for the child process of this test: the kind of task that panics.
    const PANICS: &str = "GPUC_TEST_PANICS";

    /// The exit code of a child process with this panic. Without one, it exits with code 0.
    fn exit_code_after_panic(what: &str) -> Option<i32> {
        let program = std::env::current_exe().expect("the test has a program");
        let name = "cli::tests::panic_in_any_task_ends_the_process";
        let mut child = Command::new(program);
        child.args(["--exact", name]).env(PANICS, what);
        let output = child.output().expect("the child process starts");
        output.status.code()
    }

    #[test]
    fn panic_in_any_task_ends_the_process() {
        let Ok(what) = std::env::var(PANICS) else {
            assert_eq!(exit_code_after_panic("nothing"), Some(0));
            for what in ["task", "blocking task", "thread"] {
                assert_eq!(exit_code_after_panic(what), Some(101), "{what}");
            }
            return;
        };
        exit_on_panic();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            // Nothing waits for the tasks, because their handles are dropped.
            match what.as_str() {
                "task" => drop(tokio::spawn(async { panic!("expected") })),
                "blocking task" => drop(tokio::task::spawn_blocking(|| panic!("expected"))),
                "thread" => drop(std::thread::spawn(|| panic!("expected"))),
                _ => {}
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        });
        std::process::exit(0);
    }
}
