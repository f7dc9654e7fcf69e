//! The GPUs of a pool's nodes.

use gpuc_schema::Spanned;
use gpuc_schema::config::NodePool;
use gpuc_schema::gpu::{self, FindError, GpuModel};

use super::codes;
use crate::cloud::Cloud;
use crate::diag::{Report, Reported, words};
use crate::model::{Known, MachineType, PoolGpus};

/// Finds out which GPUs a node has.
pub(super) fn resolve(
    pool: &NodePool,
    machine: &Known<MachineType>,
    cloud: &dyn Cloud,
    report: &mut Report,
) -> Known<Option<PoolGpus>> {
    let machine = match machine {
        Known::Yes(machine) => machine,
        Known::No(reported) => return Known::No(*reported),
    };
    let found = match machine {
        MachineType::Catalog(machine) => catalog(pool, machine, report).map(Some),
        MachineType::Cpu(_) => attached(pool, cloud, report),
        MachineType::Host => requested(pool, report),
    };
    match found {
        Ok(gpus) => Known::Yes(gpus),
        Err(reported) => Known::No(reported),
    }
}

/// The card of this name, or a finding.
pub(super) fn model(
    name: &Spanned<String>,
    report: &mut Report,
) -> Result<&'static GpuModel, Reported> {
    let candidates = match gpu::find(name) {
        Ok(model) => return Ok(model),
        Err(FindError::Ambiguous(candidates)) => candidates,
        Err(FindError::Unknown) => return Err(unknown(name, report)),
    };
    let keys: Vec<_> = candidates.iter().map(|model| model.key).collect();
    let message = format!("`{name}` is several cards");
    let draft = report.draft(&codes::GPU_MODEL_AMBIGUOUS, name.span, message);
    Err(draft
        .help(format!("write one of {}", words::some(&keys, 8)))
        .emit())
}

fn unknown(name: &Spanned<String>, report: &mut Report) -> Reported {
    if let Some(whose) = other_vendor(name) {
        let message = format!("`{name}` is not an NVIDIA GPU: {whose}");
        let draft = report.draft(&codes::ACCELERATOR_NOT_NVIDIA, name.span, message);
        let help = "gpuc compiles for NVIDIA GPUs; `gpuc catalog gpus` lists them";
        return draft.help(help).emit();
    }
    let message = format!("no GPU is called `{name}`");
    let draft = report.draft(&codes::GPU_MODEL_UNKNOWN, name.span, message);
    let clear = gpu::names()
        .into_iter()
        .filter(|name| gpu::find(name).is_ok());
    let draft = match words::nearest(name, clear) {
        Some(near) => draft
            .help(format!("did you mean `{near}`?"))
            .replace(name.span, near),
        None => draft.help("`gpuc catalog gpus` lists them"),
    };
    draft.emit()
}

/// Whose card a name speaks of, when it is not NVIDIA's.
fn other_vendor(name: &str) -> Option<&'static str> {
    let name = name.to_lowercase();
    let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    if starts(&[
        "mi1", "mi2", "mi3", "mi4", "instinct", "radeon", "amd", "v620", "v520",
    ]) {
        Some("it is AMD's")
    } else if starts(&["gaudi", "habana", "hl-", "intel", "max-1", "flex-1"]) {
        Some("it is Intel's")
    } else if starts(&["tpu", "v5e", "v5p", "v6e", "trillium", "ironwood"]) {
        Some("it is Google's TPU")
    } else if starts(&["trainium", "inferentia", "trn", "inf1", "inf2", "neuron"]) {
        Some("it is Amazon's")
    } else {
        None
    }
}

/// The machine's own. A request beside it must say the same.
fn catalog(
    pool: &NodePool,
    machine: &'static crate::cloud::machine::Machine,
    report: &mut Report,
) -> Result<PoolGpus, Reported> {
    let own = &machine.gpus;
    let chosen = pool.machine.as_ref().map(|name| name.span);
    let requested = pool.gpu.as_ref();
    let chosen = chosen.or(requested.map(|request| request.model.span));
    let gpus = PoolGpus {
        model: own.model,
        per_node: own.count,
        fraction: own.fraction,
        reported: own.reported.unwrap_or(own.count),
        chosen: chosen.unwrap_or(pool.name.span),
    };
    let (Some(name), Some(request)) = (&pool.machine, requested) else {
        return Ok(gpus);
    };
    let model = model(&request.model, report)?;
    if std::ptr::eq(model, own.model) && request.per_node.value == own.count {
        return Ok(gpus);
    }
    let message = format!(
        "`{name}` has {} x {}, not {} x {}",
        own.count, own.model.key, request.per_node, model.key
    );
    Err(report
        .draft(&codes::GPU_CONTRADICTS_MACHINE, request.model.span, message)
        .label(name.span, "the machine has GPUs of its own")
        .help("remove `gpu`, or remove `machine` to have one picked")
        .emit())
}

/// What is added to a machine that has none of its own.
fn attached(
    pool: &NodePool,
    cloud: &dyn Cloud,
    report: &mut Report,
) -> Result<Option<PoolGpus>, Reported> {
    let (Some(request), Some(machine)) = (&pool.gpu, &pool.machine) else {
        return Ok(None);
    };
    let model = model(&request.model, report)?;
    let reason = match cloud.attach(machine, model, request.per_node.value) {
        Some(Ok(())) => return requested(pool, report),
        Some(Err(reason)) => reason,
        None => format!(
            "{} sells GPUs only as part of a machine type",
            cloud.facts().name
        ),
    };
    let message = format!(
        "`{machine}` cannot have {} x {}",
        request.per_node, model.key
    );
    Err(report
        .draft(&codes::GPU_CANNOT_BE_ATTACHED, request.model.span, message)
        .label(machine.span, reason)
        .help("remove `machine` to have one picked that has these GPUs")
        .emit())
}

/// What the user says the nodes have.
fn requested(pool: &NodePool, report: &mut Report) -> Result<Option<PoolGpus>, Reported> {
    let Some(request) = &pool.gpu else {
        return Ok(None);
    };
    Ok(Some(PoolGpus {
        model: model(&request.model, report)?,
        per_node: request.per_node.value,
        fraction: None,
        reported: request.per_node.value,
        chosen: request.model.span,
    }))
}
