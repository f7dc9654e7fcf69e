//! `gpuc-runtime mig apply`.

use anyhow::Result;
use gpuc_runtime::args::MigApplyArgs;
use gpuc_runtime::mig::{Outcome, apply as apply_to};
use gpuc_runtime::nvml::NvmlErrorKind;
use gpuc_schema::node_config::NodeSharing;
use tracing::{error, info, warn};

use super::{End, configuration, open_for_cutting, roots};

/// Cuts every GPU that the configuration has slices for. A GPU that is lost is left to the daemon, which lists it as
/// unhealthy; the others are cut and serve.
pub(crate) fn apply(args: &MigApplyArgs) -> Result<End> {
    let config = configuration(&args.node)?;
    let NodeSharing::Mig { apply, gpus, .. } = &config.sharing else {
        info!("the GPUs of pool {} are not cut into slices", config.pool);
        return Ok(End::Well);
    };
    if !apply {
        info!(
            "the cloud cuts the GPUs of pool {} when it makes a node",
            config.pool
        );
        return Ok(End::Well);
    }
    let driver = open_for_cutting(&args.node, &roots(&args.node, &config))?;
    let mut end = End::Well;
    for gpu in gpus {
        let index = gpu.index;
        match apply_to(&driver, index, &gpu.slices, args.dry_run) {
            Outcome::AsWanted => info!("GPU {index} is cut as wanted"),
            Outcome::Done(steps) if args.dry_run => {
                for step in steps {
                    info!("GPU {index} would be changed: {step}");
                }
            }
            Outcome::Done(steps) => {
                for step in steps {
                    info!("GPU {index} was changed: {step}");
                }
            }
            Outcome::Left(reason) => {
                error!("GPU {index} is left as it is: {reason}");
                end = End::Refused;
            }
            Outcome::Failed { error, .. } if error.kind == NvmlErrorKind::GpuLost => {
                warn!("GPU {index} is lost, and the others serve: {error}");
            }
            Outcome::Failed { done, step, error } => {
                for step in done {
                    info!("GPU {index} was changed: {step}");
                }
                let what = step.map_or("look at it".to_owned(), |step| step.to_string());
                error!("GPU {index}: could not {what}: {error}");
                end = End::Refused;
            }
        }
    }
    Ok(end)
}
