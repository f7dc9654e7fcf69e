//! The machine type and the GPUs of a pool.

use gpuc_live::doctor::{Advertiser, advertiser_of};
use gpuc_live::objects::Node;
use gpuc_model::cloud::MachineName;
use gpuc_schema::gpu::{self, GpuModel};
use gpuc_schema::node_config::NodeConfig;

use crate::claims::{gpus_of_slices, model_of_class};
use crate::cloud_files::CloudPool;
use crate::context::{Context, label_source};
use crate::described::launch_record::recorded;
use crate::groups::{GPU, Group, INSTANCE_TYPE};
use crate::json::{number, source, text};
use crate::karpenter::provisioned;
use crate::report::Report;
use crate::tree::Evidence;

/// The labels with the accelerator of a node of GKE, and with the number of its accelerators.
const GKE_ACCELERATOR: &str = "cloud.google.com/gke-accelerator";
const GKE_ACCELERATOR_COUNT: &str = "cloud.google.com/gke-accelerator-count";

/// The machine type and the GPUs of a pool.
#[derive(Debug, Default)]
pub(crate) struct Hardware {
    /// The machine type.
    pub(crate) machine: Option<(String, Evidence)>,
    /// The machine types that the cloud may create instead.
    pub(crate) alternatives: Vec<(String, Evidence)>,
    /// Whether the machine type is in gpuc's catalog, so that it determines the GPUs.
    pub(crate) is_in_catalog: bool,
    /// The GPU model.
    pub(crate) model: Option<(&'static GpuModel, Evidence)>,
    /// The number of GPUs of a node.
    pub(crate) count: Option<(u32, Evidence)>,
    /// Whether the nodes have GPUs.
    pub(crate) has_gpus: bool,
    /// Comments.
    pub(crate) notes: Vec<String>,
}

/// Finds the hardware of a pool.
pub(crate) fn hardware(
    cx: &Context<'_>,
    pool: (&str, &Group<'_>, Option<&CloudPool<'_>>),
    config: Option<&(NodeConfig, String)>,
    report: &mut Report,
) -> Hardware {
    let (name, group, described) = pool;
    let mut hardware = Hardware {
        machine: machine_of_karpenter(cx, group)
            .or_else(|| machine(name, group, described, report)),
        ..Hardware::default()
    };
    hardware.alternatives = alternatives(cx, pool, hardware.machine.as_ref(), report);
    let is_host = !cx.cloud.facts().creates_machines;
    let machine = hardware.machine.clone().filter(|_| !is_host);
    if let Some((machine, evidence)) = &machine
        && let Some(machine) = cx.cloud.machine(machine)
    {
        hardware.is_in_catalog = true;
        hardware.model = Some((machine.gpus.model, evidence.clone()));
        hardware.count = Some((machine.gpus.count, evidence.clone()));
    }
    if is_host {
        hardware.machine = None;
    }
    if !hardware.is_in_catalog {
        hardware.model = model(group, described, config);
        hardware.count = count(group, described, config).map(|count| {
            physical(
                group,
                hardware.model.as_ref().map(|(model, _)| *model),
                count,
            )
        });
        if let Some((model, count, evidence)) = gpus_of_slices(cx, group) {
            hardware.model.get_or_insert((model, evidence.clone()));
            hardware.count.get_or_insert((count, evidence));
        }
        if hardware.model.is_none() {
            hardware.model = group
                .label("gpuc.dev/pool")
                .and_then(|(pool, _)| model_of_class(cx, pool));
        }
    }
    let advertised = group.advertised();
    let is_advertised = advertised
        .keys()
        .any(|name| name.starts_with(GPU) || name.contains("/mig-"));
    hardware.has_gpus = hardware.is_in_catalog
        || is_advertised
        || config.is_some()
        || hardware.model.is_some()
        || group.nodes.iter().any(|node| has_dra_driver(cx, node))
        || group
            .label("nvidia.com/gpu.present")
            .is_some_and(|(value, _)| value == "true");
    if let Some((machine, evidence)) = machine.filter(|_| !hardware.is_in_catalog) {
        let problem = match cx.cloud.machine_name(&machine) {
            MachineName::OtherAccelerator(vendor) => {
                Some(format!("gpuc supports only NVIDIA GPUs: {vendor}"))
            }
            MachineName::UnsupportedGpus(gpus) => {
                Some(format!("gpuc has no data about {gpus} GPUs"))
            }
            MachineName::Gpus => {
                Some("gpuc's catalog does not contain this machine type".to_owned())
            }
            MachineName::Impossible => {
                Some("no machine type of this cloud has such a name".to_owned())
            }
            MachineName::Cpu(_) | MachineName::Mistyped(_) | MachineName::Plausible => None,
        };
        if let Some(problem) = problem {
            let key = format!("nodePools[{name}].machine");
            hardware.notes.push(format!("{machine}: {problem}"));
            report.leave_out(Some(&key), evidence.source, problem);
        }
    }
    hardware
}

/// Whether NVIDIA's DRA driver runs on a node.
fn has_dra_driver(cx: &Context<'_>, node: &Node) -> bool {
    let mut pods = cx.pods_on(node);
    pods.any(|pod| advertiser_of(&pod.metadata, &pod.spec) == Some(Advertiser::Dra))
}

/// The machine type of a pool that Karpenter provisions.
fn machine_of_karpenter(cx: &Context<'_>, group: &Group<'_>) -> Option<(String, Evidence)> {
    let pools = provisioned(cx);
    let pool = pools.iter().find(|it| it.has_group(group))?;
    let (machine, evidence) = pool.machine()?;
    Some((machine.to_owned(), evidence))
}

/// The machine types that the cloud may create instead of the first one. The file can have those that are not smaller.
fn alternatives(
    cx: &Context<'_>,
    (name, group, described): (&str, &Group<'_>, Option<&CloudPool<'_>>),
    first: Option<&(String, Evidence)>,
    report: &mut Report,
) -> Vec<(String, Evidence)> {
    let Some((first, _)) = first else {
        return Vec::new();
    };
    let pools = provisioned(cx);
    let all: Vec<(String, Evidence, String)> =
        match (pools.iter().find(|it| it.has_group(group)), described) {
            (Some(pool), _) => (pool.machines().into_iter())
                .map(|(machine, evidence)| (machine.to_owned(), evidence, pool.object()))
                .collect(),
            (None, Some(pool)) => (crate::json::texts(pool.value, "/instanceTypes").into_iter())
                .map(|machine| {
                    let at = source(pool.object(), "instanceTypes", machine);
                    (machine.to_owned(), Evidence::sure(at), pool.object())
                })
                .collect(),
            (None, None) => Vec::new(),
        };
    let (kept, rest): (Vec<_>, Vec<_>) =
        (all.into_iter().skip(1)).partition(|(machine, ..)| is_alternative(cx, first, machine));
    for (machine, _, object) in rest {
        let reason = "an alternative machine type has the GPUs and the architecture of the first, and is not smaller";
        let key = format!("nodePools[{name}].alternativeMachines");
        report.leave_out(Some(&key), source(object, "instanceTypes", machine), reason);
    }
    kept.into_iter()
        .map(|(machine, evidence, _)| (machine, evidence))
        .collect()
}

/// Whether the file can have a machine type as an alternative to another one.
fn is_alternative(cx: &Context<'_>, first: &str, other: &str) -> bool {
    if let (Some(first), Some(other)) = (cx.cloud.machine(first), cx.cloud.machine(other)) {
        return std::ptr::eq(first.gpus.model, other.gpus.model)
            && first.gpus.count == other.gpus.count
            && first.gpus.fraction == other.gpus.fraction
            && first.architecture == other.architecture
            && first.vcpus <= other.vcpus
            && first.memory_mib <= other.memory_mib;
    }
    match (cx.cloud.machine_name(first), cx.cloud.machine_name(other)) {
        (MachineName::Cpu(first), MachineName::Cpu(other)) => {
            first.architecture == other.architecture
                && first.vcpus <= other.vcpus
                && first.memory_mib <= other.memory_mib
        }
        _ => false,
    }
}

fn machine(
    name: &str,
    group: &Group<'_>,
    described: Option<&CloudPool<'_>>,
    report: &mut Report,
) -> Option<(String, Evidence)> {
    if let Some(pool) = described {
        let pointers = ["/instanceTypes/0", "/config/machineType", "/vmSize"];
        let mut found = pointers
            .iter()
            .filter_map(|it| Some((*it, text(pool.value, it)?)));
        if let Some((pointer, machine)) = found.next() {
            let field = pointer.trim_start_matches('/').replace('/', ".");
            let source = source(pool.object(), field, machine);
            return Some((machine.to_owned(), Evidence::sure(source)));
        }
        // The instance type of a Capacity Block is in the launch template.
        if let Some(machine) = recorded(pool.value, "machine") {
            let at = source(pool.object(), "tags[gpuc.dev/machine]", machine);
            return Some((machine.to_owned(), Evidence::sure(at)));
        }
    }
    let values = group.label_values(INSTANCE_TYPE);
    let (machine, node) = values.first()?;
    let source = label_source(node, INSTANCE_TYPE, machine);
    if let [(machine, _)] = values.as_slice() {
        return Some(((*machine).to_owned(), Evidence::sure(source)));
    }
    let key = format!("nodePools[{name}].machine");
    for (other, node) in &values[1..] {
        let reason = format!("a pool has one machine type; most nodes have `{machine}`");
        report.leave_out(Some(&key), label_source(node, INSTANCE_TYPE, other), reason);
    }
    let list: Vec<_> = values[1..].iter().map(|(value, _)| *value).collect();
    let reason = format!("most nodes have it; others have {}", list.join(", "));
    Some(((*machine).to_owned(), Evidence::guess(source, reason)))
}

fn model(
    group: &Group<'_>,
    described: Option<&CloudPool<'_>>,
    config: Option<&(NodeConfig, String)>,
) -> Option<(&'static GpuModel, Evidence)> {
    if let Some((config, at)) = config
        && let Ok(model) = gpu::find(&config.expected.model)
    {
        return Some((
            model,
            Evidence::sure(source(at, "expected.model", model.key)),
        ));
    }
    if let Some(pool) = described
        && let Some(accelerator) = text(pool.value, "/config/accelerators/0/acceleratorType")
        && let [model] = gpu::find_by_product(accelerator)[..]
    {
        let field = "config.accelerators[0].acceleratorType";
        return Some((
            model,
            Evidence::sure(source(pool.object(), field, accelerator)),
        ));
    }
    for key in [
        "nvidia.com/gpu.product",
        GKE_ACCELERATOR,
        "karpenter.k8s.aws/instance-gpu-name",
    ] {
        let Some((product, node)) = group.label(key) else {
            continue;
        };
        let models = gpu::find_by_product(physical_product(product));
        let at = label_source(node, key, product);
        match models.as_slice() {
            [] => {}
            [model] => return Some((model, Evidence::sure(at))),
            several => {
                // The label with the memory, in MiB, distinguishes variants of a card.
                let memory = group.label("nvidia.com/gpu.memory");
                let memory = memory.and_then(|(value, _)| value.parse::<u32>().ok());
                let nearest = several
                    .iter()
                    .min_by_key(|it| it.memory_mib.abs_diff(memory.unwrap_or(0)));
                let names: Vec<_> = several.iter().map(|it| it.key).collect();
                let reason = format!("the product can be {}", names.join(" or "));
                return nearest.map(|model| (*model, Evidence::guess(at, reason)));
            }
        }
    }
    None
}

/// The product without the suffixes of shared GPUs and of MIG devices.
fn physical_product(product: &str) -> &str {
    let product = product.strip_suffix("-SHARED").unwrap_or(product);
    product
        .split_once("-MIG-")
        .map_or(product, |(product, _)| product)
}

/// The number of GPUs that have as many MIG devices as the nodes advertise as GPUs, with strategy `single`.
fn physical(
    group: &Group<'_>,
    model: Option<&GpuModel>,
    (count, evidence): (u32, Evidence),
) -> (u32, Evidence) {
    let product = group
        .label("nvidia.com/gpu.product")
        .map(|(product, _)| product);
    let profile = product.and_then(|product| Some(product.split_once("-MIG-")?.1));
    let of_gpu = profile
        .zip(model.and_then(|model| model.mig))
        .and_then(|(name, mig)| {
            let profile = mig.profiles.iter().find(|it| it.name == name)?;
            (profile.max_instances > 0 && count % profile.max_instances == 0)
                .then_some(profile.max_instances)
        });
    match of_gpu.filter(|_| evidence.guess.is_some()) {
        Some(of_gpu) => {
            let reason =
                format!("{of_gpu} MIG devices on each GPU; no label has the number of GPUs");
            (count / of_gpu, Evidence::guess(evidence.source, reason))
        }
        None => (count, evidence),
    }
}

fn count(
    group: &Group<'_>,
    described: Option<&CloudPool<'_>>,
    config: Option<&(NodeConfig, String)>,
) -> Option<(u32, Evidence)> {
    if let Some((config, at)) = config {
        let count = config.expected.count;
        return Some((count, Evidence::sure(source(at, "expected.count", count))));
    }
    let described = described.and_then(|pool| {
        Some((
            pool,
            number(pool.value, "/config/accelerators/0/acceleratorCount")?,
        ))
    });
    if let Some((pool, count)) = described {
        let field = "config.accelerators[0].acceleratorCount";
        let evidence = Evidence::sure(source(pool.object(), field, count));
        return Some((u32::try_from(count).ok()?, evidence));
    }
    for key in [
        "nvidia.com/gpu.count",
        GKE_ACCELERATOR_COUNT,
        "karpenter.k8s.aws/instance-gpu-count",
    ] {
        let Some((value, node)) = group.label(key) else {
            continue;
        };
        // With strategy `single`, GPU Feature Discovery counts MIG devices.
        let counts_devices = group
            .label("nvidia.com/gpu.product")
            .is_some_and(|(it, _)| it.contains("-MIG-"));
        if let Ok(count) = value.parse()
            && !(key == "nvidia.com/gpu.count" && counts_devices)
        {
            return Some((count, Evidence::sure(label_source(node, key, value))));
        }
    }
    let amount = *group.advertised().get(GPU)?;
    let node = group.nodes.first()?;
    let object = format!("Node {}", node.metadata.name);
    let reason = "each advertised GPU counts as one physical GPU; no label has the number of GPUs";
    let evidence = Evidence::guess(
        source(object, "status.capacity[nvidia.com/gpu]", amount),
        reason,
    );
    Some((u32::try_from(amount).ok()?, evidence))
}
