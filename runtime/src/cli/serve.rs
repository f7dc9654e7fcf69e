//! `gpuc-runtime serve`.

use std::time::Duration;

use anyhow::{Context, Result};
use gpuc_runtime::args::ServeArgs;
use gpuc_runtime::run::{Settings, serve};

use super::{CommandOutcome, SimulatedNode, host_roots, load_config};

/// How long an idle thread for driver calls is kept: long enough for the calls that follow at startup.
const THREAD_KEEP_ALIVE: Duration = Duration::from_millis(100);

/// Runs the daemon until a termination signal.
pub(crate) fn run(args: &ServeArgs) -> Result<CommandOutcome> {
    let config = load_config(&args.node)?;
    let mut roots = host_roots(&args.node, &config);
    let simulated = SimulatedNode::new(&args.node, &args.node_name, &mut roots)?;
    let settings = Settings {
        config: args.node.config.clone(),
        roots,
        fake: simulated.as_ref().map(|node| node.fake.clone()),
        device_plugins: args.device_plugins.clone(),
        pod_resources: args.pod_resources.clone(),
        node_name: args.node_name.clone(),
        listen: args.listen,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        // Threads for driver calls. A driver that hangs keeps at most one for each GPU and three others (`nvml::guard`).
        .max_blocking_threads(64)
        // Driver calls happen every few seconds; keeping idle threads is not worth it.
        .thread_keep_alive(THREAD_KEEP_ALIVE)
        .build()
        .context("cannot start the async runtime")?;
    let end = runtime.block_on(serve(settings));
    // A driver call that never returns must not block the shutdown.
    runtime.shutdown_background();
    end.map(|()| CommandOutcome::Success)
}
