//! The GPUs of a pool's nodes.

use gpuc_schema::Spanned;
use gpuc_schema::config::NodePool;
use gpuc_schema::gpu::{self, FindError, GpuModel};
use gpuc_syntax::diag::{Report, Reported, phrases};

use super::codes;
use super::machine::is_selectable;
use crate::cloud::Cloud;
use crate::cloud::machine::Machine;
use crate::{MachineType, PoolGpus, Resolved};

/// Resolves the GPUs of a node.
pub(super) fn resolve(
    pool: &NodePool,
    machine: &Resolved<MachineType>,
    cloud: &dyn Cloud,
    report: &mut Report,
) -> Resolved<Option<PoolGpus>> {
    let machine = match machine {
        Resolved::Value(machine) => machine,
        Resolved::Unresolved(reported) => return Resolved::Unresolved(*reported),
    };
    let resolved = match machine {
        MachineType::Catalog(machine) => included_gpus(pool, machine, cloud, report).map(Some),
        MachineType::Cpu(_) => attached_gpus(pool, cloud, report),
        MachineType::Host => requested_gpus(pool, cloud, report),
    };
    match resolved {
        Ok(gpus) => Resolved::Value(gpus),
        Err(reported) => Resolved::Unresolved(reported),
    }
}

/// The GPU model with this name; reports an unknown or ambiguous name.
pub(super) fn model(
    name: &Spanned<String>,
    cloud: &dyn Cloud,
    report: &mut Report,
) -> Result<&'static GpuModel, Reported> {
    let candidates = match gpu::find(name) {
        Ok(model) => return Ok(model),
        Err(FindError::Ambiguous(candidates)) => candidates,
        Err(FindError::Unknown) => return Err(report_unknown(name, cloud, report)),
    };
    let offered: Vec<_> = (candidates.iter())
        .filter(|model| is_offered(model, cloud))
        .map(|model| model.key)
        .collect();
    let message = format!("GPU model `{name}` is ambiguous");
    let builder = report.diagnostic(&codes::GPU_MODEL_AMBIGUOUS, name.span, message);
    let builder = match offered.as_slice() {
        [] => builder.help(format!(
            "{} has none of these GPUs: write one of {}",
            cloud.facts().name,
            phrases::quoted_list(&offered_keys(cloud), 30)
        )),
        [only] => builder
            .help(format!("write `{only}`"))
            .replace(name.span, *only),
        several => builder.help(format!("write one of {}", phrases::quoted_list(several, 8))),
    };
    Err(builder.emit())
}

/// Whether the cloud has machines with this GPU model. The user's own hosts may have any.
fn is_offered(model: &GpuModel, cloud: &dyn Cloud) -> bool {
    !cloud.facts().creates_machines || offered_keys(cloud).contains(&model.key)
}

/// The keys of the GPU models that the cloud's machine types include or that can be attached to them.
pub(super) fn offered_keys(cloud: &dyn Cloud) -> Vec<&'static str> {
    let included = cloud.machines().into_iter();
    let included = included.map(|machine| machine.gpus.model);
    let mut keys: Vec<_> = included
        .chain(cloud.attachable_models())
        .map(|model| model.key)
        .collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

fn report_unknown(name: &Spanned<String>, cloud: &dyn Cloud, report: &mut Report) -> Reported {
    if let Some(vendor) = other_vendor(name) {
        let message = format!("`{name}` is not an NVIDIA GPU: {vendor}");
        let help = "gpuc supports only NVIDIA GPUs: run `gpuc catalog gpus` to list them";
        return report
            .diagnostic(&codes::ACCELERATOR_NOT_NVIDIA, name.span, message)
            .help(help)
            .emit();
    }
    let message = format!("unknown GPU model `{name}`");
    let builder = report.diagnostic(&codes::GPU_MODEL_UNKNOWN, name.span, message);
    let meant = gpu::find_by_product(name).into_iter();
    let meant = meant.filter(|model| is_offered(model, cloud));
    let builder = match meant.map(|model| model.key).collect::<Vec<_>>()[..] {
        [] => builder,
        [only] => {
            let help = format!("gpuc calls it `{only}`");
            return builder.help(help).replace(name.span, only).emit();
        }
        ref several => {
            let several = phrases::quoted_list(several, 8);
            return builder.help(format!("write one of {several}")).emit();
        }
    };
    if gpu::is_unsupported(name) {
        let help = "gpuc does not support this card yet: run `gpuc catalog gpus` to list the supported GPU models";
        return builder.help(help).emit();
    }
    let unambiguous = gpu::accepted_names()
        .into_iter()
        .filter(|name| gpu::find(name).is_ok_and(|model| is_offered(model, cloud)));
    let builder = match phrases::closest_match(name, unambiguous) {
        Some(closest) => builder
            .help(format!("did you mean `{closest}`?"))
            .replace(name.span, closest),
        None if cloud.facts().creates_machines => builder.help(format!(
            "run `gpuc catalog machines {}` to list the machine types with their GPU models",
            cloud.facts().key
        )),
        None => builder.help("run `gpuc catalog gpus` to list the supported GPU models"),
    };
    builder.emit()
}

/// The vendor that a name belongs to, as a clause, if it is not NVIDIA.
fn other_vendor(name: &str) -> Option<&'static str> {
    let name = name.to_lowercase();
    let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    if starts(&[
        "mi1", "mi2", "mi3", "mi4", "instinct", "radeon", "amd", "v620", "v520",
    ]) {
        Some("it is from AMD")
    } else if starts(&["gaudi", "habana", "hl-", "intel", "max-1", "flex-1"]) {
        Some("it is from Intel")
    } else if starts(&["tpu", "v5e", "v5p", "v6e", "trillium", "ironwood"]) {
        Some("it is a Google TPU")
    } else if starts(&["trainium", "inferentia", "trn", "inf1", "inf2", "neuron"]) {
        Some("it is from AWS")
    } else {
        None
    }
}

/// The GPUs that a machine type includes. A `gpu` of the pool must describe the same GPUs.
fn included_gpus(
    pool: &NodePool,
    machine: &'static crate::cloud::machine::Machine,
    cloud: &dyn Cloud,
    report: &mut Report,
) -> Result<PoolGpus, Reported> {
    let included = &machine.gpus;
    let chosen = pool.machine.as_ref().map(|name| name.span);
    let requested = pool.gpu.as_ref();
    let chosen = chosen.or(requested.map(|request| request.model.span));
    let gpus = PoolGpus {
        model: included.model,
        per_node: included.count,
        fraction: included.fraction,
        reported: included.reported.unwrap_or(included.count),
        span: chosen.unwrap_or(pool.name.span),
        count_span: requested.map(|request| request.per_node.span),
    };
    let (Some(name), Some(request)) = (&pool.machine, requested) else {
        return Ok(gpus);
    };
    let model = model(&request.model, cloud, report)?;
    if std::ptr::eq(model, included.model) && request.per_node.value == included.count {
        return Ok(gpus);
    }
    let message = format!(
        "`{name}` has {} x {}, not {} x {}",
        included.count, included.model.key, request.per_node, model.key
    );
    Err(report
        .diagnostic(&codes::GPU_CONTRADICTS_MACHINE, request.model.span, message)
        .label(name.span, "this machine type includes GPUs")
        .help("remove `gpu`, or remove `machine` to let gpuc select one")
        .emit())
}

/// The GPUs that are attached to a machine type that includes none.
fn attached_gpus(
    pool: &NodePool,
    cloud: &dyn Cloud,
    report: &mut Report,
) -> Result<Option<PoolGpus>, Reported> {
    let (Some(request), Some(machine)) = (&pool.gpu, &pool.machine) else {
        return Ok(None);
    };
    let model = model(&request.model, cloud, report)?;
    let reason = match cloud.attach(machine, model, request.per_node.value) {
        Some(Ok(())) => return requested_gpus(pool, cloud, report),
        Some(Err(reason)) => reason,
        None => format!(
            "{} offers GPUs only as part of a machine type",
            cloud.facts().name
        ),
    };
    let message = format!(
        "{} x {} cannot be attached to `{machine}`",
        request.per_node, model.key
    );
    let count = request.per_node.value;
    let has_gpus =
        |machine: &'static Machine| is_selectable(machine, model) && machine.gpus.count == count;
    let help = match cloud.machine_for_attachment(model, count) {
        Some(other) => format!("write `machine: {other}`"),
        None if cloud.machines().into_iter().any(has_gpus) => {
            "remove `machine` to let gpuc select one with these GPUs".to_owned()
        }
        None => format!(
            "choose GPUs that `gpuc catalog machines {}` lists",
            cloud.facts().key
        ),
    };
    Err(report
        .diagnostic(&codes::GPU_CANNOT_BE_ATTACHED, request.model.span, message)
        .label(machine.span, reason)
        .help(help)
        .emit())
}

/// The GPUs that the pool's `gpu` describes.
fn requested_gpus(
    pool: &NodePool,
    cloud: &dyn Cloud,
    report: &mut Report,
) -> Result<Option<PoolGpus>, Reported> {
    let Some(request) = &pool.gpu else {
        return Ok(None);
    };
    Ok(Some(PoolGpus {
        model: model(&request.model, cloud, report)?,
        per_node: request.per_node.value,
        fraction: None,
        reported: request.per_node.value,
        span: request.model.span,
        count_span: Some(request.per_node.span),
    }))
}
