//! The machine type of a pool.

use gpuc_schema::Spanned;
use gpuc_schema::config::{GpuRequest, NodePool};
use gpuc_schema::gpu::{self, GpuModel};
use gpuc_syntax::diag::{Report, Reported, phrases};
use gpuc_syntax::node::DerivationReason;

use super::defaults::Defaults;
use super::{codes, gpus};
use crate::cloud::machine::{Machine, Status};
use crate::cloud::{Cloud, MachineName};
use crate::{MachineType, Registry, Resolved};

/// The context for selecting a machine type.
pub(super) struct MachineContext<'p> {
    /// The index of the pool.
    pub(super) index: usize,
    /// The machine type that was selected in an earlier run.
    pub(super) earlier_choice: Option<&'p str>,
    /// The cloud with the machine types.
    pub(super) cloud: &'static dyn Cloud,
    /// The clouds there are.
    pub(super) registry: &'static Registry,
}

/// Resolves the machine type of a pool, or selects one.
pub(super) fn resolve(
    pool: &NodePool,
    picker: &MachineContext<'_>,
    defaults: &mut Defaults,
    report: &mut Report,
) -> Resolved<MachineType> {
    let cloud = picker.cloud;
    if !cloud.facts().creates_machines {
        return Resolved::Value(MachineType::Host);
    }
    let resolved = match (&pool.machine, &pool.gpu) {
        (Some(name), _) => find_machine(name, picker, report),
        (None, Some(request)) => select_machine(request, picker, defaults, report),
        (None, None) => Err(report_missing(pool, cloud, report)),
    };
    match resolved {
        Ok(machine) => Resolved::Value(machine),
        Err(reported) => Resolved::Unresolved(reported),
    }
}

/// Finds the machine type with this name.
fn find_machine(
    name: &Spanned<String>,
    picker: &MachineContext<'_>,
    report: &mut Report,
) -> Result<MachineType, Reported> {
    let cloud = picker.cloud;
    if let Some(machine) = cloud.machine(name) {
        return Ok(MachineType::Catalog(machine));
    }
    let facts = cloud.facts();
    let term = facts.machine_term;
    let closest =
        || phrases::closest_match(name, cloud.machines().iter().map(|machine| machine.name));
    match cloud.machine_name(name) {
        MachineName::Cpu(cpu) => Ok(MachineType::Cpu(Some(cpu))),
        MachineName::OtherAccelerator(vendor) => {
            let message = format!("`{name}` has no NVIDIA GPUs: {vendor}");
            Err(report
                .diagnostic(&codes::ACCELERATOR_NOT_NVIDIA, name.span, message)
                .help("gpuc supports only NVIDIA GPUs: run `gpuc catalog machines` to list machines with them")
                .emit())
        }
        MachineName::UnsupportedGpus(gpus) => {
            let message = format!("gpuc has no data about `{name}`, which has {gpus} GPUs");
            Err(report
                .diagnostic(&codes::GPU_MACHINE_UNKNOWN, name.span, message)
                .help(listed_help(cloud))
                .emit())
        }
        MachineName::Gpus => {
            let message = format!("unknown GPU machine type `{name}`");
            let builder = report.diagnostic(&codes::GPU_MACHINE_UNKNOWN, name.span, message);
            let list = format!("`gpuc catalog machines {}` lists all", facts.key);
            Err(match closest() {
                Some(closest) => builder
                    .help(format!("did you mean `{closest}`? {list}"))
                    .replace(name.span, closest),
                None => builder.help(format!(
                    "{}; a newer machine requires a newer gpuc",
                    listed_help(cloud)
                )),
            }
            .emit())
        }
        // A rule reports it as an error that can be allowed.
        MachineName::Mistyped(_) => Ok(MachineType::Cpu(None)),
        MachineName::Plausible => {
            let message = format!("unknown machine type `{name}`");
            let builder = report.diagnostic(&codes::MACHINE_UNKNOWN, name.span, message);
            let builder = match closest() {
                Some(closest) => builder
                    .help(format!(
                        "did you mean `{closest}`? otherwise gpuc treats it as a machine without GPUs"
                    ))
                    .replace(name.span, closest),
                None => builder.help(format!(
                    "correct the name; if `{name}` exists and has no GPUs, add `allow: [{}]`",
                    codes::MACHINE_UNKNOWN.name
                )),
            };
            builder.emit();
            Ok(MachineType::Cpu(None))
        }
        MachineName::Impossible => {
            let message = format!("`{name}` is not {}", with_article(term));
            let builder = report.diagnostic(&codes::MACHINE_NAME_INVALID, name.span, message);
            if let Some(closest) = closest() {
                let builder = builder.help(format!("did you mean `{closest}`?"));
                return Err(builder.replace(name.span, closest).emit());
            }
            let sizes = sizes_of_family(cloud, name);
            if !sizes.is_empty() {
                let help = format!("add a size: {}", phrases::quoted_list(&sizes, 4));
                let builder = builder.help(help);
                return Err(match sizes.as_slice() {
                    [only] => builder.replace(name.span, *only).emit(),
                    _ => builder.emit(),
                });
            }
            let list = format!(
                "`gpuc catalog machines {}` lists those with GPUs",
                facts.key
            );
            let builder = builder.help(match cloud_with_machine(picker.registry, name) {
                Some(other) => format!("it is a machine type of {other}; {list}"),
                None => list,
            });
            Err(builder.emit())
        }
    }
}

/// The machine types in the catalog whose names begin with the name of a family.
fn sizes_of_family(cloud: &dyn Cloud, family: &str) -> Vec<&'static str> {
    let names = cloud.machines().into_iter().map(|machine| machine.name);
    let is_size = |name: &&str| {
        name.strip_prefix(family)
            .is_some_and(|rest| rest.starts_with(['.', '-']))
    };
    names.filter(is_size).collect()
}

/// A help that names the list of machine types with GPUs, and one of them.
fn listed_help(cloud: &dyn Cloud) -> String {
    let current = cloud
        .machines()
        .into_iter()
        .filter(|machine| machine.gpus.fraction.is_none() && machine.status == Status::Current);
    let smallest = current.min_by_key(|machine| (machine.vcpus, machine.memory_mib, machine.name));
    let example = smallest.map_or(String::new(), |machine| {
        format!(", such as `{}`", machine.name)
    });
    format!(
        "write a machine type that `gpuc catalog machines {}` lists{example}",
        cloud.facts().key
    )
}

/// The cloud that has a machine type with this name.
fn cloud_with_machine(registry: &Registry, name: &str) -> Option<&'static str> {
    let owner = registry
        .clouds
        .iter()
        .find(|cloud| cloud.machine(name).is_some());
    owner.map(|cloud| cloud.facts().name)
}

/// Selects the smallest machine type with exactly these GPUs: by CPUs, then memory, then name. Only current machine
/// types are selected: none that is retired, in preview, of a previous generation or a part of a larger one.
fn select_machine(
    request: &Spanned<GpuRequest>,
    picker: &MachineContext<'_>,
    defaults: &mut Defaults,
    report: &mut Report,
) -> Result<MachineType, Reported> {
    let cloud = picker.cloud;
    let model = gpus::model(&request.model, cloud, report)?;
    let requested = request.per_node.value;
    let mut with_model: Vec<_> = cloud
        .machines()
        .into_iter()
        .filter(|machine| is_selectable(machine, model))
        .collect();
    with_model.sort_by_key(|machine| (machine.vcpus, machine.memory_mib, machine.name));
    let fits = |machine: &&&'static Machine| machine.gpus.count == requested;
    let locked = picker.earlier_choice.and_then(|name| {
        let has_name = |machine: &&&'static Machine| machine.name == name;
        with_model.iter().filter(fits).find(has_name)
    });
    let Some(machine) = locked.or_else(|| with_model.iter().find(fits)) else {
        return Err(report_none(request, model, &with_model, cloud, report));
    };
    let reason = if locked.is_some() {
        "selected earlier and kept in gpuc.lock.json"
    } else {
        "the smallest machine type in the catalog with these GPUs"
    };
    defaults.pick_for_pool(
        picker.index,
        "machine",
        &machine.name,
        DerivationReason::Rule(reason),
    );
    Ok(MachineType::Catalog(machine))
}

fn report_none(
    request: &Spanned<GpuRequest>,
    model: &GpuModel,
    with_model: &[&Machine],
    cloud: &dyn Cloud,
    report: &mut Report,
) -> Reported {
    let requested = request.per_node.value;
    let message = format!(
        "{} has no machine type with {requested} x {}",
        cloud.facts().name,
        model.key
    );
    let builder = report
        .diagnostic(&codes::NO_MACHINE_HAS_GPUS, request.model.span, message)
        .label(request.per_node.span, "the number of GPUs per node");
    let mut counts: Vec<_> = with_model
        .iter()
        .map(|machine| machine.gpus.count)
        .collect();
    counts.sort_unstable();
    counts.dedup();
    let counts: Vec<_> = counts.iter().map(ToString::to_string).collect();
    if !counts.is_empty() {
        let help = format!("set `perNode` to one of {}", counts.join(", "));
        return builder.help(help).emit();
    }
    let mut models: Vec<_> = cloud.machines().iter().map(|m| m.gpus.model.key).collect();
    models.sort_unstable();
    models.dedup();
    builder
        .help(format!(
            "available GPU models: {}",
            phrases::quoted_list(&models, 30)
        ))
        .emit()
}

pub(super) fn is_selectable(machine: &Machine, model: &GpuModel) -> bool {
    std::ptr::eq(machine.gpus.model, model)
        && machine.gpus.fraction.is_none()
        && machine.status == Status::Current
}

fn report_missing(pool: &NodePool, cloud: &dyn Cloud, report: &mut Report) -> Reported {
    let message = format!("pool `{}` has neither `machine` nor `gpu`", pool.name);
    report
        .diagnostic(&codes::MACHINE_MISSING, pool.name.span, message)
        .help(format!(
            "add `machine:` with {}, or `gpu: {{model: {}, perNode: 1}}` to let gpuc select one",
            with_article(cloud.facts().machine_term),
            example_model(cloud)
        ))
        .emit()
}

/// A GPU model of which gpuc can select a machine type with one: L4 if the cloud has it.
fn example_model(cloud: &dyn Cloud) -> &'static str {
    let machines = cloud.machines().into_iter();
    let single: Vec<_> = machines
        .filter(|machine| machine.gpus.count == 1 && is_selectable(machine, machine.gpus.model))
        .map(|machine| machine.gpus.model.key)
        .collect();
    let common = "L4";
    match gpu::find(common) {
        Ok(model) if !single.contains(&model.key) => single.first().copied().unwrap_or(common),
        _ => common,
    }
}

/// A noun with its indefinite article.
fn with_article(noun: &str) -> String {
    let article = if noun.starts_with(['A', 'E', 'I', 'O', 'U']) {
        "an"
    } else {
        "a"
    };
    format!("{article} {noun}")
}
