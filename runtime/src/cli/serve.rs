//! `gpuc-runtime serve`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use gpuc_runtime::args::ServeArgs;
use gpuc_runtime::host::Roots;
use gpuc_runtime::nvml::fake::Fake;
use gpuc_runtime::run::{Settings, serve};

use super::{End, configuration, roots};

/// How long a thread that asked the driver waits for another question: long enough for those that follow at the start.
const KEEP_THREADS: Duration = Duration::from_millis(100);

/// Serves until a signal says to leave.
pub(crate) fn run(args: &ServeArgs) -> Result<End> {
    let config = configuration(&args.node)?;
    let mut roots = roots(&args.node, &config);
    let (fake, made) = match &args.node.fake {
        Some(words) => {
            let (fake, folder) = make_up(words, &args.node_name, &mut roots)?;
            (Some(fake), Some(folder))
        }
        None => (None, None),
    };
    let settings = Settings {
        config: args.node.config.clone(),
        roots,
        fake,
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
    if let Some(folder) = made {
        // What is left behind there is nobody's.
        let _ = fs::remove_dir_all(folder);
    }
    end.map(|()| End::Well)
}

/// A machine that is made up, and the files that it would have, in a folder of their own.
fn make_up(words: &str, node: &str, roots: &mut Roots) -> Result<(Fake, PathBuf)> {
    let fake = Fake::machine_called(words, node)?;
    let folder = std::env::temp_dir().join(format!("gpuc-runtime-{}", std::process::id()));
    let made = |folder: &Path| {
        fs::create_dir_all(folder)?;
        fake.write_roots(folder)
    };
    *roots = made(&folder).with_context(|| folder.display().to_string())?;
    Ok((fake, folder))
}
