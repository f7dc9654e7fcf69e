//! `gpuc-runtime inspect`: what this node has and would offer.

use std::io::Write;

use anyhow::Result;
use gpuc_runtime::args::{InspectArgs, InspectFormat};
use gpuc_runtime::device::{self, Gpu, Inventory, Offer};
use gpuc_runtime::host::HostFiles;
use gpuc_runtime::labels::labels;
use gpuc_runtime::nvml::Nvml;
use gpuc_runtime::state::State;
use serde_json::{Value, json};

use super::{End, configuration, open, roots};

/// Shows it. Where the node differs from its configuration, the command is refused after showing all the same.
pub(crate) fn run(args: &InspectArgs) -> Result<End> {
    let config = configuration(&args.node)?;
    let roots = roots(&args.node, &config);
    let driver = open(&args.node, &roots)?;
    let inventory = device::discover(&*driver, &roots, None)?;
    let files = HostFiles::read(&roots, &config.driver.host_root, &inventory);
    let differences = device::differences(&inventory, &config);
    let state = State {
        offers: device::offers(&inventory, &config.sharing),
        inventory: inventory.into(),
        files: files.into(),
        config: config.into(),
        unwell: std::collections::BTreeMap::new(),
    };
    let text = match args.format {
        InspectFormat::Json => {
            serde_json::to_string_pretty(&as_json(&*driver, &state, &differences))? + "\n"
        }
        InspectFormat::Table => table(&state, &differences),
    };
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()) {
        // Whoever read the beginning has seen enough.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {}
        written => written?,
    }
    Ok(if differences.is_empty() {
        End::Well
    } else {
        End::Refused
    })
}

fn as_json(driver: &dyn Nvml, state: &State, differences: &[String]) -> Value {
    let gpu = |gpu: &Gpu| match gpu {
        Gpu::Known { info, numa } => json!({
            "gpu": info,
            "numa": numa,
            "condition": driver.condition(info.index).ok(),
        }),
        Gpu::Silent { index, error, .. } => json!({"index": index, "error": error.to_string()}),
    };
    let known: Vec<u32> = known(&state.inventory).collect();
    let links = known.iter().enumerate().flat_map(|(place, one)| {
        let others = known.iter().skip(place + 1);
        others.map(move |other| {
            let link = state.inventory.topology.link(*one, *other);
            json!({"gpus": [one, other], "link": link})
        })
    });
    json!({
        "driver": state.inventory.driver,
        "gpus": state.inventory.gpus.iter().map(gpu).collect::<Vec<_>>(),
        "links": links.collect::<Vec<_>>(),
        "offers": state.offers,
        "labels": labels(state, None),
        "differences": differences,
    })
}

fn known(inventory: &Inventory) -> impl Iterator<Item = u32> {
    inventory.gpus.iter().filter_map(|gpu| match gpu {
        Gpu::Known { info, .. } => Some(info.index),
        Gpu::Silent { .. } => None,
    })
}

fn table(state: &State, differences: &[String]) -> String {
    let driver = &state.inventory.driver;
    let (major, minor) = driver.cuda;
    let mut text = format!("driver {} · CUDA {major}.{minor}\n\n", driver.version);
    let mut rows = vec![["GPU", "model", "memory", "NUMA", "UUID"].map(str::to_owned)];
    for gpu in &state.inventory.gpus {
        match gpu {
            Gpu::Known { info, numa } => {
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
                for slice in &info.slices {
                    let at = slice
                        .place
                        .map_or(String::new(), |(at, size)| format!(" at {at}:{size}"));
                    rows.push([
                        String::new(),
                        format!("  {}{at}", slice.profile),
                        format!("{} MiB", slice.memory_mib),
                        String::new(),
                        slice.uuid.clone(),
                    ]);
                }
            }
            Gpu::Silent { index, error, .. } => {
                rows.push([
                    index.to_string(),
                    error.to_string(),
                    "-".into(),
                    "-".into(),
                    "-".into(),
                ]);
            }
        }
    }
    text += &aligned(&rows);
    text.push('\n');
    let mut rows = vec![["resource", "offered", "wanted"].map(str::to_owned)];
    let wanted = |resource: &str| state.config.resources.get(resource).copied().unwrap_or(0);
    for offer in &state.offers {
        let Offer {
            resource, shares, ..
        } = offer;
        rows.push([
            resource.clone(),
            shares.len().to_string(),
            wanted(resource).to_string(),
        ]);
    }
    for (resource, count) in &state.config.resources {
        if state.offer(resource).is_none() {
            rows.push([resource.clone(), "0".to_owned(), count.to_string()]);
        }
    }
    text += &aligned(&rows);
    if !differences.is_empty() {
        text += "\nnot as configured:\n";
        for difference in differences {
            text += &format!("  {difference}\n");
        }
    }
    text
}

/// Columns side by side, two blanks between them.
fn aligned<const N: usize>(rows: &[[String; N]]) -> String {
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
