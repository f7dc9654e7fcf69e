//! The round trip of `gpuc import`: the state of a cluster that runs a tree is imported, and the file builds the tree
//! again.

mod clouds;
mod coverage;
mod fields;
mod releases;
mod state;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;

use gpuc_import::{CloudFile, Import, Input, import};
use gpuc_syntax::diag::Severity;
use serde_json::Value;

use super::live::healthy::{Healthy, healthy_clusters};
use crate::support::{compile_text, repository};
use coverage::Coverage;
use state::{Secrets, state};

/// The lowest share of fields that are equal after a round trip, in percent.
const MINIMUM: usize = 95;

/// The same for snapshots of `gpuc snapshot` and live clusters: workloads whose environment variables gpuc removes are
/// left out.
const MINIMUM_OF_SNAPSHOTS: usize = 85;

/// What a round trip shows.
struct RoundTrip {
    import: Import,
    equal: usize,
    all: usize,
    /// The fields that differ.
    different: Vec<String>,
    /// Those that the report does not name.
    unnamed: Vec<String>,
    /// The errors of the imported file.
    errors: Vec<String>,
}

/// The objects of a file, as `gpuc import` builds them.
fn build(text: &str) -> Result<Vec<Value>, Vec<String>> {
    let outcome = compile_text(text);
    let errors = outcome
        .findings
        .iter()
        .filter(|it| it.severity == Severity::Error);
    let errors: Vec<String> = errors
        .map(|it| format!("{}: {}", it.code.name, it.message))
        .collect();
    let Some(plan) = outcome
        .compilations
        .first()
        .and_then(|it| it.plan.as_ref())
        .filter(|_| errors.is_empty())
    else {
        return Err(errors);
    };
    let objects = plan
        .objects
        .iter()
        .map(|it| serde_json::to_value(&it.node).unwrap());
    Ok(objects.collect())
}

fn round_trip(healthy: &Healthy, secrets: Secrets, documentation: &str) -> RoundTrip {
    let state = state(healthy, secrets);
    let files = clouds::described(healthy);
    let files: Vec<CloudFile> = (files.iter())
        .map(|value| CloudFile::parse("cloud.json", value.to_string().as_bytes()).unwrap())
        .collect();
    let input = Input {
        state: &state,
        cloud: &files,
        context: None,
        builder: Some(&build),
    };
    let import = import(input, &gpuc::REGISTRY).unwrap();
    let outcome = compile_text(&import.yaml);
    let errors = outcome
        .findings
        .iter()
        .filter(|it| it.severity == Severity::Error);
    let errors: Vec<String> = errors
        .map(|it| format!("{}: {}", it.code.name, it.message))
        .collect();
    let mut trip = RoundTrip {
        import,
        equal: 0,
        all: 0,
        different: Vec::new(),
        unnamed: Vec::new(),
        errors,
    };
    let built = &outcome.compilations[0];
    if built.plan.is_none() {
        return trip;
    }
    let old = fields::fields(&healthy.outcome.compilations[healthy.index]);
    let new = fields::fields(built);
    let coverage = Coverage::new(&trip.import.report, documentation);
    let added = new.iter().filter(|(id, _)| !old.contains_key(*id));
    let mut different: BTreeMap<&str, Vec<(bool, String)>> = BTreeMap::new();
    for (id, field) in old.iter().chain(added) {
        trip.all += 1;
        let [before, after] =
            [old.get(id), new.get(id)].map(|it| it.map(|field| field.value.as_str()));
        if before == after {
            trip.equal += 1;
            continue;
        }
        let [before, after] = [before, after].map(|it| it.unwrap_or("-"));
        let settings = field.settings.join(", ");
        let line = format!("{}#{}: {before} -> {after} ({settings})", id.0, id.1);
        let is_named = coverage.names(id, field, [before, after]);
        different.entry(&id.0).or_default().push((is_named, line));
    }
    for (object, lines) in different {
        // An object that exists before or after only is one difference.
        let exists = |fields: &BTreeMap<fields::FieldId, fields::Field>| {
            fields.keys().any(|id| id.0 == object)
        };
        let is_whole = exists(&old) != exists(&new) && lines.iter().any(|(is_named, _)| *is_named);
        let unnamed = lines.iter().filter(|(is_named, _)| !is_named && !is_whole);
        trip.unnamed.extend(unnamed.map(|(_, line)| line.clone()));
        trip.different
            .extend(lines.into_iter().map(|(_, line)| line));
    }
    trip
}

fn documentation() -> String {
    fs::read_to_string(repository().join("docs/import.md")).unwrap()
}

/// The problems of the round trips of all clusters, and a table of the shares.
fn check(secrets: Secrets, minimum: usize) -> (Vec<String>, String) {
    let documentation = documentation();
    let (mut problems, mut table) = (Vec::new(), String::new());
    let folder = std::env::var_os("GPUC_ROUND_TRIPS");
    for healthy in healthy_clusters() {
        let trip = round_trip(&healthy, secrets, &documentation);
        let name = format!("{} {}", healthy.name, healthy.index);
        let share = trip.equal * 1000 / trip.all.max(1);
        let _ = writeln!(
            table,
            "{:>5}.{} % {:>5} of {:>5}, {:>4} unnamed  {name}",
            share / 10,
            share % 10,
            trip.equal,
            trip.all,
            trip.unnamed.len()
        );
        if let Some(folder) = &folder {
            let text = format!(
                "{}\n{:#?}\n\n{}\n\nUNNAMED\n{}\n\n{}",
                trip.import.report.text(),
                trip.errors,
                trip.different.join("\n"),
                trip.unnamed.join("\n"),
                trip.import.yaml
            );
            let file = format!("{}-{secrets:?}.txt", name.replace(' ', "-"));
            fs::write(std::path::Path::new(folder).join(file), text).unwrap();
        }
        if !trip.errors.is_empty() {
            problems.push(format!("{name}: {}", trip.errors.join("; ")));
        } else if share < minimum * 10 {
            problems.push(format!("{name}: {share} per mille"));
        }
        // What depends on a workload that is left out, such as the order of installation, has no name of its own.
        let unnamed = trip.unnamed.iter().filter(|_| secrets == Secrets::Kept);
        for line in unnamed {
            problems.push(format!("{name}: unnamed: {line}"));
        }
    }
    (problems, table)
}

#[test]
fn imported_files_build_what_runs() {
    let (problems, table) = check(Secrets::Kept, MINIMUM);
    assert!(problems.is_empty(), "{table}\n{}", problems.join("\n"));
}

#[test]
fn snapshots_without_secrets_build_what_runs() {
    let (problems, table) = check(Secrets::Redacted, MINIMUM_OF_SNAPSHOTS);
    assert!(problems.is_empty(), "{table}\n{}", problems.join("\n"));
}
