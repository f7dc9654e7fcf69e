//! `gpuc catalog`: lists gpuc's catalog.

use std::fmt::Write;

use anyhow::Result;
use gpuc_clouds::CLOUDS;
use gpuc_compile::charts::{self, CHARTS};
use gpuc_model::cloud::machine::{Machine, Status};
use gpuc_schema::gpu::{GpuModel, MODELS};
use serde_json::{Value, json};

use super::args::{CatalogArgs, CatalogKind};
use super::{Exit, output};

/// A table: its columns, and a JSON object per row.
struct Table {
    columns: &'static [&'static str],
    rows: Vec<Value>,
}

/// Prints the rows that contain all filter words.
pub(crate) fn run(args: &CatalogArgs) -> Result<Exit> {
    let mut table = match args.kind {
        CatalogKind::Gpus => gpu_table(),
        CatalogKind::Machines => machine_table(),
        CatalogKind::Charts => chart_table(),
        CatalogKind::Images => image_table(),
        CatalogKind::Clouds => cloud_table(),
    };
    for filter in &args.filters {
        retain_matching(&mut table.rows, &filter.to_lowercase());
    }
    if args.json {
        let text = serde_json::to_string_pretty(&table.rows)?;
        output::print_data(&format!("{text}\n"))?;
    } else {
        output::print_data(&format_table(&table))?;
    }
    if table.rows.is_empty() {
        output::print_message("no entry of the catalog contains all of these words");
    }
    Ok(Exit::Success)
}

/// Keeps the rows that contain a word: as a whole word, so that `l4` does not match `l40s`, or anywhere if no row
/// contains the whole word.
fn retain_matching(rows: &mut Vec<Value>, word: &str) {
    let texts: Vec<_> = rows
        .iter()
        .map(|row| row.to_string().to_lowercase())
        .collect();
    let separates = |c: char| !c.is_ascii_alphanumeric();
    let has_whole_word = |text: &String| text.split(separates).any(|part| part == word);
    let strict = texts.iter().any(has_whole_word);
    let mut texts = texts.iter();
    rows.retain(|_| {
        let text = texts.next();
        text.is_some_and(|text| {
            if strict {
                has_whole_word(text)
            } else {
                text.contains(word)
            }
        })
    });
}

fn format_table(table: &Table) -> String {
    let cell = |value: &Value| match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let items: Vec<_> = items.iter().filter_map(Value::as_str).collect();
            items.join(", ")
        }
        other => other.to_string(),
    };
    let heads = table.columns.iter().map(|column| column.to_uppercase());
    let mut lines: Vec<Vec<String>> = vec![heads.collect()];
    for row in &table.rows {
        let cells = table.columns.iter().map(|column| cell(&row[*column]));
        lines.push(cells.collect());
    }
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max();
    let widths: Vec<_> = (0..table.columns.len())
        .map(|c| width(c).unwrap_or(0))
        .collect();
    let mut text = String::new();
    for line in &lines {
        let mut row = String::new();
        for (cell, width) in line.iter().zip(&widths) {
            let _ = write!(row, "{cell:width$}  ");
        }
        text += row.trim_end();
        text.push('\n');
    }
    text
}

fn gpu_table() -> Table {
    Table {
        columns: &[
            "key",
            "aliases",
            "memory",
            "architecture",
            "capability",
            "mig",
        ],
        rows: MODELS.iter().map(|model| gpu_row(model)).collect(),
    }
}

fn gpu_row(model: &GpuModel) -> Value {
    let profiles = model.mig.map(|mig| {
        let profiles = mig.profiles.iter();
        profiles
            .map(|profile| format!("{} x {}", profile.max_instances, profile.name))
            .collect::<Vec<_>>()
    });
    json!({
        "key": model.key,
        "aliases": model.aliases,
        "memory": format!("{} GB", model.memory_gb),
        "architecture": model.architecture.to_string(),
        "capability": model.compute_capability.to_string(),
        "products": model.products,
        "mpsClients": model.mps_max_clients(),
        "minDriverBranch": model.min_driver_branch,
        "maxDriverBranch": model.max_driver_branch,
        "mig": profiles,
        "note": model.note,
        "source": model.source,
    })
}

fn machine_table() -> Table {
    let rows = CLOUDS.iter().flat_map(|cloud| {
        let key = cloud.facts().key;
        let machines = cloud.machines().into_iter();
        machines.map(move |found| machine_row(key, found))
    });
    Table {
        columns: &[
            "cloud",
            "name",
            "gpus",
            "vcpus",
            "memory",
            "architecture",
            "status",
        ],
        rows: rows.collect(),
    }
}

fn machine_row(cloud: &str, machine: &Machine) -> Value {
    let fraction = machine.gpus.fraction;
    let gpus = match fraction {
        Some(fraction) if fraction.denominator > 0 => format!(
            "{}/{} {}",
            fraction.numerator, fraction.denominator, machine.gpus.model.key
        ),
        Some(_) => format!("part of {}", machine.gpus.model.key),
        None => format!("{} x {}", machine.gpus.count, machine.gpus.model.key),
    };
    let memory = machine.memory_mib.map(|mib| format!("{} GiB", mib / 1024));
    let (status, instead) = match machine.status {
        Status::Current => ("current", None),
        Status::Preview => ("preview", None),
        Status::PreviousGeneration => ("previous generation", None),
        Status::PartOfLarger => ("part of a larger machine", None),
        Status::Retired { use_instead, .. } => ("retired", Some(use_instead)),
    };
    json!({
        "cloud": cloud,
        "name": machine.name,
        "gpus": gpus,
        "vcpus": machine.vcpus,
        "memory": memory,
        "architecture": machine.architecture.label(),
        "status": status,
        "useInstead": instead,
        "note": machine.note,
        "source": machine.source,
    })
}

fn chart_table() -> Table {
    let rows = CHARTS.iter().map(|chart| {
        json!({
            "chart": chart.name,
            "version": chart.version,
            "kubernetes": chart.kubernetes.map(|support| support.to_string()),
            "repository": chart.repository,
            "source": chart.source,
            "kubernetesSource": chart.kubernetes.map(|support| support.source),
        })
    });
    Table {
        columns: &["chart", "version", "kubernetes", "repository"],
        rows: rows.collect(),
    }
}

fn image_table() -> Table {
    let rows = CHARTS.iter().flat_map(|chart| {
        let images = charts::images::chart_images(chart.name).iter();
        let images = images.chain(charts::images::subchart_images(chart.name));
        let listed = images.map(move |image| {
            let runs = match image.switch {
                None => "always".to_owned(),
                Some((path, true)) => format!("unless {}: false", path.replace('/', ".")),
                Some((path, false)) => format!("with {}: true", path.replace('/', ".")),
            };
            json!({"image": image.reference(), "chart": chart.name, "runs": runs})
        });
        let others = charts::images::unlisted_images(chart.name).iter();
        let others = others.map(move |description| {
            json!({"image": format!("({description})"), "chart": chart.name, "runs": "see the chart inside"})
        });
        listed.chain(others)
    });
    Table {
        columns: &["image", "chart", "runs"],
        rows: rows.collect(),
    }
}

fn cloud_table() -> Table {
    let rows = CLOUDS.iter().map(|cloud| {
        let facts = cloud.facts();
        let os: Vec<_> = facts
            .os
            .iter()
            .map(|os| format!("{:?}", os.family))
            .collect();
        let autoscalers = facts.autoscalers.iter();
        let autoscalers: Vec<_> = autoscalers
            .map(|autoscaler| json!(autoscaler).as_str().unwrap_or_default().to_owned())
            .collect();
        json!({
            "cloud": facts.key,
            "name": facts.name,
            "autoscalers": autoscalers,
            "os": os,
            "machines": cloud.machines().len(),
        })
    });
    Table {
        columns: &["cloud", "name", "machines", "autoscalers", "os"],
        rows: rows.collect(),
    }
}
