//! What the nodes of a pool are.

use gpuc_schema::Spanned;
use gpuc_schema::config::{GpuRequest, NodePool};
use gpuc_schema::gpu::GpuModel;

use super::{Defaults, codes, gpus};
use crate::cloud::machine::{Machine, Status};
use crate::cloud::{CLOUDS, Cloud, MachineName};
use crate::diag::{Report, Reported, words};
use crate::model::{Known, MachineType};
use crate::node::Because;

/// What a machine type is picked by, beside the request.
pub(super) struct Picker<'p> {
    /// The pool's place in the list.
    pub(super) index: usize,
    /// What was picked before.
    pub(super) before: Option<&'p str>,
    /// Whose machines there are.
    pub(super) cloud: &'static dyn Cloud,
}

/// Finds a pool's machine type, or picks one.
pub(super) fn resolve(
    pool: &NodePool,
    picker: &Picker<'_>,
    defaults: &mut Defaults,
    report: &mut Report,
) -> Known<MachineType> {
    let cloud = picker.cloud;
    if !cloud.facts().makes_machines {
        return Known::Yes(MachineType::Host);
    }
    let found = match (&pool.machine, &pool.gpu) {
        (Some(name), _) => named(name, cloud, report),
        (None, Some(request)) => picked(request, picker, defaults, report),
        (None, None) => Err(missing(pool, cloud, report)),
    };
    match found {
        Ok(machine) => Known::Yes(machine),
        Err(reported) => Known::No(reported),
    }
}

fn named(
    name: &Spanned<String>,
    cloud: &'static dyn Cloud,
    report: &mut Report,
) -> Result<MachineType, Reported> {
    if let Some(machine) = cloud.machine(name) {
        return Ok(MachineType::Catalog(machine));
    }
    let facts = cloud.facts();
    let word = facts.machine_word;
    match cloud.machine_name(name) {
        MachineName::Cpu(cpu) => Ok(MachineType::Cpu(Some(cpu))),
        MachineName::OtherAccelerator(whose) => {
            let message = format!("`{name}` has no NVIDIA GPUs: {whose}");
            let draft = report.draft(&codes::ACCELERATOR_NOT_NVIDIA, name.span, message);
            Err(draft
                .help("gpuc compiles for NVIDIA GPUs; `gpuc catalog machines` lists what has them")
                .emit())
        }
        MachineName::Gpus => {
            let message = format!("`{name}` is of a family with GPUs, and in no table of gpuc's");
            let near = words::nearest(name, cloud.machines().iter().map(|machine| machine.name));
            let draft = report.draft(&codes::GPU_MACHINE_UNKNOWN, name.span, message);
            let list = format!("`gpuc catalog machines {}` lists them", facts.key);
            Err(match near {
                Some(near) => draft
                    .help(format!("did you mean `{near}`? {list}"))
                    .replace(name.span, near),
                None => draft.help(format!("{list}; a newer machine needs a newer gpuc")),
            }
            .emit())
        }
        MachineName::Plausible => {
            let message = format!("`{name}` is in no table of gpuc's");
            let near = words::nearest(name, cloud.machines().iter().map(|machine| machine.name));
            let draft = report.draft(&codes::MACHINE_UNKNOWN, name.span, message);
            let draft = match near {
                Some(near) => draft
                    .help(format!(
                        "did you mean `{near}`? otherwise it is taken for a machine without GPUs"
                    ))
                    .replace(name.span, near),
                None => draft.help("it is taken for a machine without GPUs"),
            };
            draft.emit();
            Ok(MachineType::Cpu(None))
        }
        MachineName::Impossible => {
            let message = format!("`{name}` is not an {word}");
            let near = words::nearest(name, cloud.machines().iter().map(|machine| machine.name));
            let draft = report.draft(&codes::MACHINE_NAME_IMPOSSIBLE, name.span, message);
            if let Some(near) = near {
                let draft = draft.help(format!("did you mean `{near}`?"));
                return Err(draft.replace(name.span, near).emit());
            }
            let list = format!(
                "`gpuc catalog machines {}` lists those with GPUs",
                facts.key
            );
            let draft = draft.help(match whose(name) {
                Some(other) => format!("it is a machine of {other}; {list}"),
                None => list,
            });
            Err(draft.emit())
        }
    }
}

/// The cloud that has a machine of this name.
fn whose(name: &str) -> Option<&'static str> {
    let owner = CLOUDS.iter().find(|cloud| cloud.machine(name).is_some());
    owner.map(|cloud| cloud.facts().name)
}

/// The smallest machine that has these GPUs and no others: by CPUs, then memory, then name. Machines that are retired,
/// previewed, on their way out or rented only as part of a larger one are never picked.
fn picked(
    request: &Spanned<GpuRequest>,
    picker: &Picker<'_>,
    defaults: &mut Defaults,
    report: &mut Report,
) -> Result<MachineType, Reported> {
    let cloud = picker.cloud;
    let model = gpus::model(&request.model, report)?;
    let wanted = request.per_node.value;
    let mut with_model: Vec<_> = cloud
        .machines()
        .into_iter()
        .filter(|machine| offers(machine, model))
        .collect();
    with_model.sort_by_key(|machine| (machine.vcpus, machine.memory_mib, machine.name));
    let fits = |machine: &&&'static Machine| machine.gpus.count == wanted;
    let before = picker.before.and_then(|name| {
        let same = |machine: &&&'static Machine| machine.name == name;
        with_model.iter().filter(fits).find(same)
    });
    let Some(machine) = before.or_else(|| with_model.iter().find(fits)) else {
        return Err(none_has(request, model, &with_model, cloud, report));
    };
    let why = if before.is_some() {
        "picked before; gpuc.lock.json keeps it"
    } else {
        "the smallest machine of the catalog that has these GPUs"
    };
    defaults.pick_for_pool(picker.index, "machine", &machine.name, Because::Rule(why));
    Ok(MachineType::Catalog(machine))
}

fn none_has(
    request: &Spanned<GpuRequest>,
    model: &GpuModel,
    with_model: &[&Machine],
    cloud: &dyn Cloud,
    report: &mut Report,
) -> Reported {
    let wanted = request.per_node.value;
    let message = format!(
        "{} has no machine with {wanted} x {}",
        cloud.facts().name,
        model.key
    );
    let draft = report.draft(&codes::NO_MACHINE_HAS_GPUS, request.model.span, message);
    let draft = draft.label(request.per_node.span, "this many on a node");
    let mut counts: Vec<_> = with_model
        .iter()
        .map(|machine| machine.gpus.count)
        .collect();
    counts.sort_unstable();
    counts.dedup();
    let counts: Vec<_> = counts.iter().map(ToString::to_string).collect();
    if !counts.is_empty() {
        let help = format!("it has machines with {} of them", counts.join(", "));
        return draft.help(help).emit();
    }
    let mut models: Vec<_> = cloud.machines().iter().map(|m| m.gpus.model.key).collect();
    models.sort_unstable();
    models.dedup();
    draft
        .help(format!("it has {}", words::some(&models, 30)))
        .emit()
}

fn offers(machine: &Machine, model: &GpuModel) -> bool {
    std::ptr::eq(machine.gpus.model, model)
        && machine.gpus.fraction.is_none()
        && machine.status == Status::Current
}

fn missing(pool: &NodePool, cloud: &dyn Cloud, report: &mut Report) -> Reported {
    let message = format!("pool `{}` says neither `machine` nor `gpu`", pool.name);
    report
        .draft(&codes::MACHINE_MISSING, pool.name.span, message)
        .help(format!(
            "add `machine:` with an {}, or `gpu: {{model: L4, perNode: 1}}` to have one picked",
            cloud.facts().machine_word
        ))
        .emit()
}
