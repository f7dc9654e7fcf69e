//! The script that deploys manifests and charts to the cluster, if no GitOps controller does.

use gpuc_model::plan::{Credentials, Plan, Release, Step, What};
use gpuc_syntax::shell::quote;

use super::command::lines;
use super::segments::{Part, Parts};
use super::verify::credentials;
use super::{head_with, tools_needed};
use crate::emit::header::Header;
use crate::emit::{helm, manifest, name};

/// The shell code that parses the flags, and the functions that deploy each kind of step.
const STEPS: &str = include_str!("install.sh");

/// A script with a call for every step, in dependency order.
pub(super) fn install<'p>(plan: &'p Plan, header: &Header) -> Parts<'p> {
    let about = format!(
        "Deploys manifests and charts to cluster {}, in dependency order.",
        plan.cluster
    );
    let mut parts = head_with(header, &[&about], "cloud/lib.sh");
    parts.add(Part::Fixed(STEPS_PURPOSE), format!("{STEPS}\n"));
    parts.add(Part::Credentials, access(plan) + "\n");
    for step in &plan.steps {
        parts.add(Part::Step(step), call(plan, step));
    }
    parts
}

/// The purpose of [`STEPS`].
const STEPS_PURPOSE: &str =
    "parses the flags, and defines the functions that deploy a release or a folder of objects";

/// The checks and credentials that the script needs to reach the cluster. A dry run skips them.
fn access(plan: &Plan) -> String {
    let helm = (!plan.releases.is_empty()).then_some("helm");
    let mut body = tools_needed(["kubectl"].into_iter().chain(helm));
    let credentials = credentials(plan);
    if matches!(plan.provisioning.credentials, Credentials::Context(_)) {
        return body + &credentials;
    }
    body += &credentials;
    let mut text = String::from("if [ -z \"$dry_run\" ]; then\n");
    for line in body.lines() {
        text += "  ";
        text += line;
        text.push('\n');
    }
    text + "fi\n"
}

fn call(plan: &Plan, step: &Step) -> String {
    if step.what == What::Component {
        let folder = format!("{}/{}", manifest::FOLDER, name::part(&step.name));
        return row(&["objects", &step.name, &folder], &[]);
    }
    let mut releases = plan.releases.iter();
    let release = releases.find(|release| release.name == step.name);
    let release = release.expect("the audit verifies that each such step is a release");
    let chart = chart(release);
    let version = release.chart.version;
    let values = helm::values_path(release);
    let namespace = &release.namespace;
    let mut text = String::new();
    if release.chart.needs_kinds_updated() {
        text += &row(&["kinds", &release.name, version], &chart);
    }
    text + &row(
        &["release", &release.name, &values, namespace, version],
        &chart,
    )
}

/// The arguments of helm that name the chart.
fn chart(release: &Release) -> Vec<String> {
    let chart = release.chart;
    if release.is_oci() {
        return vec![release.oci_url()];
    }
    let words = [chart.name, "--repo", &release.repository];
    words.map(str::to_owned).to_vec()
}

/// A call with the fixed words and those of the chart.
fn row(words: &[&str], chart: &[String]) -> String {
    let words = words.iter().map(|word| quote(word)).collect();
    let chart = chart.iter().map(|word| quote(word)).collect();
    lines(0, &[words, chart])
}
