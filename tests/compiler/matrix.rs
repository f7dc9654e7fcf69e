//! The option matrix: which drivers, advertisers and sharing methods can be combined.
//!
//! `golden/matrix.txt` has a line for each cell: it builds, or the names of the findings that reject it. A changed line
//! affects every user with that combination: review it.
//!
//! Each cell that builds is built again with every monitoring setting, each with a delivery method. Three consecutive
//! cells cover all nine combinations. Only a different verdict has its own line, below the line of the cell.
//!
//! The default test checks a sample of the cells and the list of all cells. The exhaustive test checks every cell. With
//! `UPDATE_EXPECT=1` the default test does too.

use std::fmt::Write;

use gpuc_schema::config::OsFamily;
use gpuc_syntax::diag::Severity;
use rayon::prelude::*;

use crate::sample;
use crate::support::{compile_text, expect_file, repository, updates_expectations};

/// A cloud with one pool of A100s, and the YAML for the cells of its column.
struct Column {
    /// The cloud's key in the file.
    key: &'static str,
    /// The value of `cloud`.
    cloud: &'static str,
    /// The pool, without its operating system, sharing and stack.
    pool: &'static str,
    /// The MIG geometry for `single`: MIG devices of one profile.
    single: &'static str,
    /// The MIG geometry for `mixed`: MIG devices of several profiles.
    mixed: &'static str,
}

const COLUMNS: &[Column] = &[
    Column {
        key: "aws",
        cloud: concat!(
            r#"aws: {account: "123456789012", region: us-east-1, cluster: {existing: {vpc: {id: vpc-0123456789abcdef0, "#,
            "securityGroup: sg-0123456789abcdef0, privateSubnets: [{zone: us-east-1a, id: subnet-0123456789abcdef0}]}}}}"
        ),
        pool: "machine: p4d.24xlarge",
        single: "{profile: 1g.5gb, count: 7}",
        mixed: "{profile: 3g.20gb, count: 1}, {profile: 1g.5gb, count: 4}",
    },
    Column {
        key: "azure",
        cloud: "azure: {subscription: 00000000-1111-2222-3333-444444444444, resourceGroup: ml, location: eastus, \
                cluster: {existing: {}}}",
        pool: "machine: Standard_NC24ads_A100_v4",
        single: "{profile: 1g.10gb, count: 7}",
        mixed: "{profile: 3g.40gb, count: 1}, {profile: 1g.10gb, count: 4}",
    },
    Column {
        key: "existing",
        cloud: "existing: {provider: rke2}",
        pool: "gpu: {model: a100-sxm4-40gb, perNode: 2}, existing: {selector: {gpuc.dev/pool: gpu}}",
        single: "{profile: 1g.5gb, count: 7}",
        mixed: "{profile: 3g.20gb, count: 1}, {profile: 1g.5gb, count: 4}",
    },
    Column {
        key: "gcp",
        cloud: "gcp: {project: acme-ml-prod, location: us-central1-a, nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com, cluster: {existing: {}}}",
        pool: "machine: a2-highgpu-1g",
        single: "{profile: 1g.5gb, count: 7}",
        mixed: "{profile: 3g.20gb, count: 1}, {profile: 1g.5gb, count: 4}",
    },
    Column {
        key: "onPrem",
        cloud: "onPrem: {context: lab}",
        pool: "gpu: {model: a100-sxm4-40gb, perNode: 2}, hosts: [node-1]",
        single: "{profile: 1g.5gb, count: 7}",
        mixed: "{profile: 3g.20gb, count: 1}, {profile: 1g.5gb, count: 4}",
    },
];

/// The component that advertises the GPUs, or `dra` if they are allocated through DRA.
const PLUGINS: &[&str] = &["gpuc", "nvidia", "operator", "cloud", "dra"];

const DRIVERS: &[&str] = &["default", "preinstalled", "operator", "daemonSet", "host"];

const SHARINGS: &[&str] = &["none", "timeSlicing", "mps", "mig-single", "mig-mixed"];

const TABLE_FILE: &str = "golden/matrix.txt";

const TABLE_HEADER: &str = "# What goes together: cloud, devicePlugin or dra, driver, sharing, os.family. This file is generated.\n\
                    # Below a cell that builds: monitoring and gitops with which the answer is another.\n";

/// A cell of the table.
struct Cell {
    /// The cloud, the advertiser and the sharing method.
    kind: String,
    /// The line of the table without the verdict.
    name: String,
    text: String,
}

fn cells() -> Vec<Cell> {
    let mut cells = Vec::new();
    for column in COLUMNS {
        let key = column.key;
        for family in families(key) {
            for plugin in PLUGINS {
                for driver in DRIVERS {
                    for sharing in SHARINGS {
                        cells.push(Cell {
                            kind: format!("{key} {plugin} {sharing}"),
                            name: format!("{key} {plugin} {driver} {sharing} {family}"),
                            text: column.cell(plugin, driver, sharing, &family),
                        });
                    }
                }
            }
        }
    }
    cells
}

#[test]
#[ignore = "exhaustive: minutes; .ci/run runs it"]
fn needs_minutes_all_combinations_match_the_table() {
    let cells = cells();
    let verdicts: Vec<_> = cells.par_iter().map(|cell| verdict(&cell.text)).collect();
    let rows: Vec<_> = cells
        .iter()
        .zip(&verdicts)
        .zip(builds_before(&verdicts))
        .collect();
    let rows = rows
        .par_iter()
        .map(|((cell, verdict), built)| row(cell, verdict, *built));
    let rows: Vec<_> = rows.collect();
    expect_file(TABLE_FILE, &(TABLE_HEADER.to_owned() + &rows.concat()));
}

/// For each cell, the number of cells before it that build.
fn builds_before<T: AsRef<str>>(verdicts: &[T]) -> Vec<usize> {
    let mut built = 0;
    let counts = verdicts.iter().map(|verdict| {
        let before = built;
        built += usize::from(verdict.as_ref().starts_with("builds"));
        before
    });
    counts.collect()
}

/// The lines for a cell.
fn row(cell: &Cell, verdict: &str, built: usize) -> String {
    let mut lines = format!("{}: {verdict}\n", cell.name);
    if verdict.starts_with("builds") {
        lines += &monitoring_exceptions(&cell.text, verdict, built);
    }
    lines
}

/// One cell for each verdict of a cloud, and one for each advertiser and sharing method of a cloud.
#[test]
fn sampled_combinations_match_the_table() {
    if updates_expectations() {
        needs_minutes_all_combinations_match_the_table();
        return;
    }
    let table = std::fs::read_to_string(repository().join(TABLE_FILE)).unwrap();
    let mut rows: Vec<String> = Vec::new();
    for line in table.strip_prefix(TABLE_HEADER).unwrap().lines() {
        match rows.last_mut() {
            Some(row) if line.starts_with("  ") => *row += &format!("{line}\n"),
            _ => rows.push(format!("{line}\n")),
        }
    }
    let cells = cells();
    let names: Vec<_> = cells.iter().map(|cell| cell.name.as_str()).collect();
    let heads: Vec<_> = rows
        .iter()
        .map(|row| row.lines().next().unwrap().split_once(": ").unwrap())
        .collect();
    let listed: Vec<_> = heads.iter().map(|(name, _)| *name).collect();
    assert_eq!(
        listed, names,
        "{TABLE_FILE} has other cells: run UPDATE_EXPECT=1 cargo test"
    );
    let verdicts: Vec<_> = heads.iter().map(|(_, verdict)| *verdict).collect();
    let built = builds_before(&verdicts);
    let select = |kind: &dyn Fn(usize) -> String| {
        let all = (0..cells.len()).collect();
        sample::one_of_each(
            all,
            |&index| cells[index].name.clone(),
            |&index| kind(index),
        )
    };
    let cloud = |index: usize| cells[index].name.split(' ').next().unwrap();
    let mut selected = select(&|index| format!("{} {}", cloud(index), verdicts[index]));
    selected.extend(select(&|index| cells[index].kind.clone()));
    selected.sort_unstable();
    selected.dedup();
    selected.par_iter().for_each(|&index| {
        let cell = &cells[index];
        let actual = row(cell, &verdict(&cell.text), built[index]);
        assert_eq!(
            actual, rows[index],
            "{TABLE_FILE} is stale: run UPDATE_EXPECT=1 cargo test"
        );
    });
}

/// The monitoring settings, by their keyword in the table.
const MONITORING: &[(&str, &str)] = &[
    ("none", ""),
    (
        "dcgm",
        "monitoring: {exporter: dcgm, dashboards: true, \
         prometheus: {install: {grafana: {adminSecret: grafana-admin}}}}\n",
    ),
    (
        "gpuc",
        "monitoring: {exporter: gpuc, prometheus: {existing: {release: platform}}}\n",
    ),
];

/// The delivery methods, by their keyword in the table.
const GITOPS: &[(&str, &str)] = &[
    ("none", ""),
    (
        "flux",
        "gitops: {flux: {repository: \"https://git.example.com/a.git\", branch: main, path: fleet/demo}}\n",
    ),
    (
        "argocd",
        "gitops: {argocd: {repository: \"https://git.example.com/a.git\", branch: main, path: fleet/demo}}\n",
    ),
];

/// The monitoring settings that change the verdict of a cell. Each is combined with a delivery method, which differs in
/// the next cell that builds.
fn monitoring_exceptions(text: &str, alone: &str, built: usize) -> String {
    let mut lines = String::new();
    let ways: Vec<_> = MONITORING.iter().enumerate().collect();
    let verdicts: Vec<_> = ways
        .par_iter()
        .map(|(number, (exporter, monitoring))| {
            let (tool, gitops) = GITOPS[(built + number) % GITOPS.len()];
            (
                *exporter,
                tool,
                verdict(&format!("{text}{monitoring}{gitops}")),
            )
        })
        .collect();
    for (exporter, tool, verdict) in verdicts.iter().filter(|(_, _, it)| it != alone) {
        writeln!(lines, "  {exporter} {tool}: {verdict}").unwrap();
    }
    lines
}

#[test]
fn every_cloud_has_a_column() {
    let columns: Vec<_> = COLUMNS.iter().map(|column| column.key).collect();
    let clouds = gpuc_clouds::CLOUDS.iter();
    let mut clouds: Vec<_> = clouds.map(|cloud| cloud.facts().key).collect();
    clouds.sort_by_key(|key| key.to_lowercase());
    assert_eq!(columns, clouds);
}

impl Column {
    fn cell(&self, plugin: &str, driver: &str, sharing: &str, family: &str) -> String {
        let driver = match driver {
            "default" => String::new(),
            owner => format!(", driver: {owner}"),
        };
        let image = match plugin {
            "gpuc" => r#", runtimeImage: "registry.example.com/gpuc-runtime:0.1.0""#,
            _ => "",
        };
        let plugin = match plugin {
            "dra" => "allocation: dra".to_owned(),
            plugin => format!("devicePlugin: {plugin}"),
        };
        let mig = |strategy: &str, slices: &str| {
            format!("{{mig: {{strategy: {strategy}, perGpu: [{{layout: [{slices}]}}]}}}}")
        };
        let sharing = match sharing {
            "none" => "none".to_owned(),
            "timeSlicing" => "{timeSlicing: {replicas: 4}}".to_owned(),
            "mps" => "{mps: {replicas: 4}}".to_owned(),
            "mig-single" => mig("single", self.single),
            _ => mig("mixed", self.mixed),
        };
        let (cloud, pool) = (self.cloud, self.pool);
        // AKS has this image for one Kubernetes version only.
        let version = match family {
            "Ubuntu2204" if self.key == "azure" => "1.33",
            _ => "1.36",
        };
        format!(
            "apiVersion: gpuc.dev/v1alpha1\nkind: GpuCluster\nmetadata: {{name: demo}}\n\
             kubernetes: {{version: \"{version}\"}}\ncloud:\n  {cloud}\n\
             stack: {{{plugin}{driver}{image}}}\nnodePools:\n  \
             - {{name: system, {}nodes: {{count: 1}}}}\n  \
             - {{name: gpu, {pool}, nodes: {{count: 1}}, os: {{family: {family}}}, sharing: {sharing}}}\n",
            system_pool(self.key),
        )
    }
}

fn system_pool(cloud: &str) -> &'static str {
    match cloud {
        "aws" => "machine: m7i.xlarge, ",
        "azure" => "machine: Standard_D4s_v5, ",
        "existing" => "existing: {selector: {gpuc.dev/pool: system}}, ",
        "gcp" => "machine: e2-standard-4, ",
        _ => "hosts: [cpu-1], ",
    }
}

/// The node images of a cloud, the default first.
fn families(key: &str) -> Vec<String> {
    let cloud = gpuc_clouds::CLOUDS
        .iter()
        .find(|cloud| cloud.facts().key == key);
    let word = |family: &OsFamily| {
        let word = serde_json::to_value(family).unwrap();
        word.as_str().unwrap().to_owned()
    };
    let images = cloud.unwrap().facts().os.iter();
    images.map(|os| word(&os.family)).collect()
}

fn verdict(text: &str) -> String {
    let outcome = compile_text(text);
    let refused: Vec<_> = finding_names(&outcome.findings, Severity::Error);
    let warned: Vec<_> = finding_names(&outcome.findings, Severity::Warning);
    let built = outcome.compilations.iter().all(|one| one.output.is_some());
    assert_eq!(built, refused.is_empty(), "{text}\n{}", outcome.text());
    match (built, warned.is_empty()) {
        (true, true) => "builds".to_owned(),
        (true, false) => format!("builds, with {}", warned.join(", ")),
        (false, _) => format!("refused: {}", refused.join(", ")),
    }
}

fn finding_names(
    findings: &[gpuc_syntax::diag::Diagnostic],
    severity: Severity,
) -> Vec<&'static str> {
    let found = findings.iter().filter(|found| found.severity == severity);
    let mut names: Vec<_> = found.map(|found| found.code.name).collect();
    names.sort_unstable();
    names.dedup();
    names
}
