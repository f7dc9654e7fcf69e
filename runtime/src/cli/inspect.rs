//! `gpuc-runtime inspect`: the node's GPUs and the resources that the device plugin would advertise.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::sync::Arc;

use anyhow::Result;
use gpuc_runtime::args::{InspectArgs, InspectFormat};
use gpuc_runtime::config::NodeConfig;
use gpuc_runtime::device::{self, AdvertisedResource, Gpu, Inventory};
use gpuc_runtime::health::{Health, HealthEvent, Policy};
use gpuc_runtime::host::{HostFiles, Roots};
use gpuc_runtime::labels::node_labels;
use gpuc_runtime::nvml::{Condition, Nvml, NvmlError};
use gpuc_runtime::run::CALL_TIMEOUT;
use gpuc_runtime::state::State;
use serde_json::{Value, json};

use super::{CommandOutcome, SimulatedNode, deadline, host_roots, load_config, open_driver};

/// Prints the node's GPUs and resources. Returns [`CommandOutcome::Incomplete`] after printing if the node differs from
/// its configuration or a device is unhealthy.
pub(crate) fn run(args: &InspectArgs) -> Result<CommandOutcome> {
    let config = load_config(&args.node)?;
    let mut roots = host_roots(&args.node, &config);
    let simulated = SimulatedNode::new(&args.simulation, "", &std::env::temp_dir(), &mut roots)?;
    let driver: Arc<dyn Nvml> = match &simulated {
        Some(node) => Arc::new(node.fake.clone()),
        None => open_driver(&roots)?,
    };
    let NodeState {
        inventory,
        conditions,
    } = read_node(&driver, &roots)?;
    let files = HostFiles::read(&roots, &config.driver.host_root, &inventory);
    let mut differences = device::differences(&inventory, &config);
    let unhealthy = unhealthy_devices(&conditions, &inventory, &config);
    let state = State {
        advertised_resources: device::advertised_resources(&inventory, &config.sharing),
        inventory: inventory.into(),
        files: files.into(),
        config: config.into(),
        unhealthy,
    };
    differences.extend(resource_differences(&state));
    let text = match args.format {
        InspectFormat::Json => {
            serde_json::to_string_pretty(&to_json(&conditions, &state, &differences))? + "\n"
        }
        InspectFormat::Table => format_table(&state, &differences),
    };
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()) {
        // The reader closed the pipe early, such as `head`.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {}
        written => written?,
    }
    Ok(if differences.is_empty() && state.unhealthy.is_empty() {
        CommandOutcome::Success
    } else {
        CommandOutcome::Incomplete
    })
}

/// Lists the resources whose advertised number differs from the one in the configuration.
fn resource_differences(state: &State) -> Vec<String> {
    let expected = &state.config.resources;
    let advertised_count = |resource: &str| {
        state
            .advertised_resource(resource)
            .map_or(0, |resource| resource.devices.len())
    };
    let unwanted = state
        .advertised_resources
        .iter()
        .map(|resource| &resource.resource);
    let all: BTreeSet<&String> = expected.keys().chain(unwanted).collect();
    all.into_iter()
        .filter_map(|resource| {
            let wanted = expected.get(resource).copied().unwrap_or(0);
            let advertised = advertised_count(resource);
            let differs = u32::try_from(advertised) != Ok(wanted);
            differs.then(|| format!("{resource}: {advertised} advertised, {wanted} expected"))
        })
        .collect()
}

/// What the driver reports about a node.
struct NodeState {
    inventory: Inventory,
    conditions: Conditions,
}

/// The conditions of the GPUs, by index.
type Conditions = BTreeMap<u32, Result<Condition, NvmlError>>;

/// Queries the driver. A GPU that does not answer in time is like one that returns an error.
fn read_node(driver: &Arc<dyn Nvml>, roots: &Roots) -> Result<NodeState> {
    let roots = roots.clone();
    deadline::query(driver, CALL_TIMEOUT, move |driver| {
        let inventory = device::discover(driver, &roots, None)?;
        let indexes = inventory.gpus.iter().map(Gpu::index);
        let conditions = indexes.map(|index| (index, driver.condition(index)));
        Ok(NodeState {
            conditions: conditions.collect(),
            inventory,
        })
    })
}

/// Returns the devices that a newly started daemon would report as unhealthy.
fn unhealthy_devices(
    conditions: &Conditions,
    inventory: &Inventory,
    config: &NodeConfig,
) -> BTreeMap<String, String> {
    let variable = |name: &str| std::env::var(name).ok();
    let (disable, enable) = (
        variable("DP_DISABLE_HEALTHCHECKS"),
        variable("DP_ENABLE_HEALTHCHECKS"),
    );
    let (policy, _) = Policy::new(&config.health, disable.as_deref(), enable.as_deref());
    let mut health = Health::new(policy);
    health.apply(inventory, &HealthEvent::Scanned, 0);
    for gpu in health.take_due_queries(0) {
        let Some(condition) = conditions.get(&gpu) else {
            continue;
        };
        health.handle_response(inventory, gpu, condition.clone(), 0);
    }
    let mut unhealthy = health.unhealthy();
    for (uuid, reason) in device::unusable_gpus(inventory, &config.sharing) {
        unhealthy.entry(uuid).or_insert(reason);
    }
    unhealthy
}

fn to_json(conditions: &Conditions, state: &State, differences: &[String]) -> Value {
    let gpu = |gpu: &Gpu| match gpu {
        Gpu::Responding { info, numa } => json!({
            "gpu": info,
            "numa": numa,
            "condition": conditions.get(&info.index).and_then(|it| it.as_ref().ok()),
        }),
        Gpu::Unresponsive { index, error, .. } => {
            json!({"index": index, "error": error.to_string()})
        }
    };
    let indexes: Vec<u32> = responding_gpus(&state.inventory).collect();
    let links = indexes.iter().enumerate().flat_map(|(index, one)| {
        let others = indexes.iter().skip(index + 1);
        others.map(move |other| {
            let link = state.inventory.topology.link(*one, *other);
            json!({"gpus": [one, other], "link": link})
        })
    });
    json!({
        "driver": state.inventory.driver,
        "gpus": state.inventory.gpus.iter().map(gpu).collect::<Vec<_>>(),
        "links": links.collect::<Vec<_>>(),
        "offers": state.advertised_resources,
        "labels": node_labels(state, None),
        "unhealthy": state.unhealthy,
        "differences": differences,
    })
}

fn responding_gpus(inventory: &Inventory) -> impl Iterator<Item = u32> {
    inventory.gpus.iter().filter_map(|gpu| match gpu {
        Gpu::Responding { info, .. } => Some(info.index),
        Gpu::Unresponsive { .. } => None,
    })
}

fn format_table(state: &State, differences: &[String]) -> String {
    let driver = &state.inventory.driver;
    let (major, minor) = driver.cuda;
    let mut text = format!("driver {} · CUDA {major}.{minor}\n\n", driver.version);
    let mut rows = vec![["GPU", "model", "memory", "NUMA", "UUID"].map(str::to_owned)];
    for gpu in &state.inventory.gpus {
        match gpu {
            Gpu::Responding { info, numa } => {
                let memory = info
                    .memory_bytes
                    .map_or("-".to_owned(), |b| format!("{} MiB", b >> 20));
                let numa = numa.map_or("-".to_owned(), |numa| numa.to_string());
                rows.push([
                    info.index.to_string(),
                    info.name.clone(),
                    memory,
                    numa,
                    info.uuid.clone(),
                ]);
                for mig_device in &info.slices {
                    let at = mig_device
                        .place
                        .map_or(String::new(), |(at, size)| format!(" at {at}:{size}"));
                    rows.push([
                        String::new(),
                        format!("  {}{at}", mig_device.profile),
                        format!("{} MiB", mig_device.memory_mib),
                        String::new(),
                        mig_device.uuid.clone(),
                    ]);
                }
            }
            Gpu::Unresponsive { index, .. } => {
                rows.push([
                    index.to_string(),
                    "not responding".into(),
                    "-".into(),
                    "-".into(),
                    "-".into(),
                ]);
            }
        }
    }
    text += &align_columns(&rows);
    text.push('\n');
    let mut rows = vec![["resource", "advertised", "healthy", "expected"].map(str::to_owned)];
    let expected_count =
        |resource: &str| state.config.resources.get(resource).copied().unwrap_or(0);
    for advertised_resource in &state.advertised_resources {
        let AdvertisedResource {
            resource, devices, ..
        } = advertised_resource;
        let healthy = devices
            .iter()
            .filter(|it| state.unhealthy_reason(it).is_none());
        rows.push([
            resource.clone(),
            devices.len().to_string(),
            healthy.count().to_string(),
            expected_count(resource).to_string(),
        ]);
    }
    for (resource, count) in &state.config.resources {
        if state.advertised_resource(resource).is_none() {
            let none = "0".to_owned();
            rows.push([resource.clone(), none.clone(), none, count.to_string()]);
        }
    }
    text += &align_columns(&rows);
    if !state.unhealthy.is_empty() {
        text += "\nunhealthy:\n";
        for (uuid, cause) in &state.unhealthy {
            text += &format!("  {uuid}: {cause}\n");
        }
    }
    if !differences.is_empty() {
        text += "\ndifferences from the configuration:\n";
        for difference in differences {
            text += &format!("  {difference}\n");
        }
    }
    text
}

/// Formats aligned columns, separated by two spaces.
fn align_columns<const N: usize>(rows: &[[String; N]]) -> String {
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..N).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let cells = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell}{}", " ".repeat(width - cell.chars().count())));
        text += cells.collect::<Vec<_>>().join("  ").trim_end();
        text.push('\n');
    }
    text
}
