//! `gpuc-runtime mig apply`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use gpuc_runtime::args::MigApplyArgs;
use gpuc_runtime::mig::{Outcome, apply as apply_to};
use gpuc_runtime::nvml::{Nvml, NvmlErrorKind, Real};
use gpuc_runtime::run::CALL_TIMEOUT;
use gpuc_schema::node_config::NodeSharing;
use tracing::{error, info, warn};

use super::{CommandOutcome, deadline, host_roots, load_config, open_driver};

/// Time limit for the changes of one GPU. Enabling MIG mode resets the GPU, which takes a few seconds.
const GPU_TIMEOUT: Duration = Duration::from_mins(1);

/// Time limit for all GPUs, after which each has [`CALL_TIMEOUT`]: the node's other GPUs wait meanwhile.
const TOTAL_TIMEOUT: Duration = Duration::from_mins(2);

/// Creates the configured MIG devices on every GPU. Skips GPUs that are lost or do not answer, which the daemon lists
/// as unhealthy, so that the other GPUs are still configured.
pub(crate) fn apply(args: &MigApplyArgs) -> Result<CommandOutcome> {
    let config = load_config(&args.node)?;
    let NodeSharing::Mig { apply, gpus, .. } = &config.sharing else {
        info!("pool {} does not use MIG: nothing to do", config.pool);
        return Ok(CommandOutcome::Success);
    };
    if !apply {
        info!(
            "the cloud provider partitions the GPUs of pool {} when it creates a node: nothing to do",
            config.pool
        );
        return Ok(CommandOutcome::Success);
    }
    let driver = open_driver(&host_roots(&args.node, &config))?;
    let gpu_count = count_gpus(&driver)?;
    let mut end = CommandOutcome::Success;
    let deadline = Instant::now() + TOTAL_TIMEOUT;
    for gpu in gpus {
        let index = gpu.index;
        if index >= gpu_count {
            warn!("GPU {index} is skipped: the driver lists {gpu_count} GPUs, without this one");
            continue;
        }
        let limit = deadline.saturating_duration_since(Instant::now());
        let limit = limit.clamp(CALL_TIMEOUT, GPU_TIMEOUT);
        // A call that returns late must not be followed by another one.
        let is_stopped = Arc::new(AtomicBool::new(false));
        let apply_to_gpu = {
            let (driver, slices, dry_run) = (Arc::clone(&driver), gpu.slices.clone(), args.dry_run);
            let is_stopped = Arc::clone(&is_stopped);
            move || {
                apply_to(&*driver, index, &slices, dry_run, || {
                    is_stopped.load(Ordering::SeqCst)
                })
            }
        };
        let outcome = match deadline::run_within(limit, &format!("GPU {index}"), apply_to_gpu) {
            Ok(outcome) => outcome,
            Err(error) => {
                is_stopped.store(true, Ordering::SeqCst);
                warn!("GPU {index} is skipped: {error}");
                continue;
            }
        };
        match outcome {
            Outcome::Unchanged => info!("GPU {index} already has the configured MIG devices"),
            Outcome::Changed(steps) if args.dry_run => {
                for step in steps {
                    info!("GPU {index}: would {step} (dry run)");
                }
            }
            Outcome::Changed(steps) => {
                for step in steps {
                    info!("GPU {index}: done: {step}");
                }
            }
            Outcome::Skipped(reason) => {
                error!("GPU {index} is not changed: {reason}");
                end = CommandOutcome::Incomplete;
            }
            Outcome::Failed {
                completed, error, ..
            } if error.kind == NvmlErrorKind::GpuLost => {
                for step in completed {
                    info!("GPU {index}: done: {step}");
                }
                warn!("GPU {index} is lost and skipped: {error}");
            }
            Outcome::Failed {
                completed: done,
                step,
                error,
            } => {
                for step in done {
                    info!("GPU {index}: done: {step}");
                }
                let failed_action = step.map_or("read its MIG configuration".to_owned(), |step| {
                    step.to_string()
                });
                error!("GPU {index}: cannot {failed_action}: {error}");
                end = CommandOutcome::Incomplete;
            }
        }
    }
    Ok(end)
}

fn count_gpus(driver: &Arc<Real>) -> Result<u32> {
    let driver = Arc::clone(driver);
    Ok(deadline::run_within(CALL_TIMEOUT, "driver", move || {
        driver.gpu_count()
    })??)
}
