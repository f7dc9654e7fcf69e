//! `gpuc-runtime serve`.

use std::time::Duration;

use anyhow::{Context, Result};
use gpuc_runtime::args::ServeArgs;
use gpuc_runtime::config::NodeConfig;
use gpuc_runtime::run::{Machine, Settings, serve};

use super::{CommandOutcome, SimulatedNode, host_roots, require_config};

/// How long an idle thread for driver calls is kept: long enough for the calls that follow at startup.
const THREAD_KEEP_ALIVE: Duration = Duration::from_millis(100);

/// Runs the daemon until a termination signal.
pub(crate) fn run(args: &ServeArgs) -> Result<CommandOutcome> {
    require_config(&args.node)?;
    let settings = Settings {
        config: args.node.config.clone(),
        device_plugins: args.device_plugins.clone(),
        pod_resources: args.pod_resources.clone(),
        node_name: args.node_name.clone(),
        listen: args.listen,
        state: args.state.clone(),
    };
    // Kept until the end: dropping it deletes its files.
    let mut simulated = None;
    let machine = |config: &NodeConfig| {
        let mut roots = host_roots(&args.node, config);
        // The only writable directory of the container.
        let parent = args.state.clone().unwrap_or_else(std::env::temp_dir);
        simulated = SimulatedNode::new(&args.simulation, &args.node_name, &parent, &mut roots)?;
        let fake = simulated.as_ref().map(|node| node.fake.clone());
        Ok(Machine { roots, fake })
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        // Threads for driver calls. A driver that hangs keeps at most one for each GPU and three others
        // (`nvml::guard`).
        .max_blocking_threads(64)
        // Driver calls happen every few seconds; keeping idle threads is not worth it.
        .thread_keep_alive(THREAD_KEEP_ALIVE)
        .build()
        .context("cannot start the async runtime")?;
    let end = runtime.block_on(serve(settings, machine));
    // A driver call that never returns must not block the shutdown.
    runtime.shutdown_background();
    end.map(|()| CommandOutcome::Success)
}
