//! `gpuc-runtime serve`.

use std::time::Duration;

use anyhow::{Context, Result};
use gpuc_runtime::args::ServeArgs;
use gpuc_runtime::run::{Settings, serve};

use super::{End, Simulated, configuration, roots};

/// How long an idle thread for driver calls is kept: long enough for the calls that follow at startup.
const KEEP_THREADS: Duration = Duration::from_millis(100);

/// Runs the daemon until a termination signal.
pub(crate) fn run(args: &ServeArgs) -> Result<End> {
    let config = configuration(&args.node)?;
    let mut roots = roots(&args.node, &config);
    let made = Simulated::new(&args.node, &args.node_name, &mut roots)?;
    let settings = Settings {
        config: args.node.config.clone(),
        roots,
        fake: made.as_ref().map(|made| made.fake.clone()),
        device_plugins: args.device_plugins.clone(),
        pod_resources: args.pod_resources.clone(),
        node_name: args.node_name.clone(),
        listen: args.listen,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        // Threads for driver calls. More threads would not make the driver faster.
        .max_blocking_threads(4)
        // Driver calls happen about once a minute; keeping idle threads is not worth it.
        .thread_keep_alive(KEEP_THREADS)
        .build()
        .context("cannot start the async runtime")?;
    let end = runtime.block_on(serve(settings));
    // A driver call that never returns must not block the shutdown.
    runtime.shutdown_background();
    end.map(|()| End::Well)
}
