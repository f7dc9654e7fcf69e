//! `gpuc-runtime serve`.

use std::time::Duration;

use anyhow::{Context, Result};
use gpuc_runtime::args::ServeArgs;
use gpuc_runtime::run::{Settings, serve};

use super::{End, MadeUp, configuration, roots};

/// How long a thread that asked the driver waits for another question: long enough for those that follow at the start.
const KEEP_THREADS: Duration = Duration::from_millis(100);

/// Serves until a signal says to leave.
pub(crate) fn run(args: &ServeArgs) -> Result<End> {
    let config = configuration(&args.node)?;
    let mut roots = roots(&args.node, &config);
    let made = MadeUp::new(&args.node, &args.node_name, &mut roots)?;
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
        // Questions to the driver. More at a time would not be answered sooner.
        .max_blocking_threads(4)
        // There is one a minute: nothing to keep threads for.
        .thread_keep_alive(KEEP_THREADS)
        .build()
        .context("the runtime cannot be started")?;
    let end = runtime.block_on(serve(settings));
    // A question that the driver never answers is no reason to stay.
    runtime.shutdown_background();
    end.map(|()| End::Well)
}
