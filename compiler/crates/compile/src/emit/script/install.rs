//! The script that deploys manifests and charts to the cluster, if no GitOps controller does.

use gpuc_model::plan::{Credentials, Plan, Release, Step, StepKind};
use gpuc_syntax::shell::quote;

use super::command::format_command;
use super::segments::{Segment, Segments};
use super::verify::{credentials, default_context};
use super::{script_head_with_library, tools_call};
use crate::emit::header::Header;
use crate::emit::{helm, manifest, name};

/// The shell code that parses the flags, and the functions that deploy each kind of step.
const STEPS: &str = include_str!("install.sh");

/// A script with a call for every step, in dependency order.
pub(super) fn install_script<'p>(plan: &'p Plan, header: &Header) -> Segments<'p> {
    let about = format!(
        "Deploys manifests and charts to cluster {}, in dependency order.",
        plan.cluster
    );
    let mut segments = script_head_with_library(header, &[&about], "cloud/lib.sh");
    segments.push(Segment::Credentials, default_context(plan));
    segments.push(Segment::Boilerplate(STEPS_PURPOSE), format!("{STEPS}\n"));
    segments.push(Segment::Credentials, cluster_access(plan) + "\n");
    for step in &plan.steps {
        segments.push(Segment::Step(step), step_call(plan, step));
    }
    segments
}

/// The purpose of [`STEPS`].
const STEPS_PURPOSE: &str =
    "parses the flags, and defines the functions that deploy a release or a folder of objects";

/// The checks and credentials that the script needs to reach the cluster. A dry run skips them.
fn cluster_access(plan: &Plan) -> String {
    let helm = (!plan.releases.is_empty()).then_some("helm");
    let mut body = tools_call(["kubectl"].into_iter().chain(helm));
    let credentials = credentials(plan);
    if matches!(plan.provisioning.credentials, Credentials::Context(_)) {
        return body + &credentials + "[ -n \"$dry_run\" ] || reach\n";
    }
    body += &credentials;
    body += "reach\n";
    let mut text = String::from("if [ -z \"$dry_run\" ]; then\n");
    for line in body.lines() {
        text += "  ";
        text += line;
        text.push('\n');
    }
    text + "fi\n"
}

fn step_call(plan: &Plan, step: &Step) -> String {
    if step.kind == StepKind::Component {
        let folder = format!("{}/{}", manifest::FOLDER, name::file_name_part(&step.name));
        return install_call(&["objects", &step.name, &folder], &[]);
    }
    let mut releases = plan.releases.iter();
    let release = releases.find(|release| release.name == step.name);
    let release = release.expect("the audit verifies that each such step is a release");
    let chart = chart_arguments(release);
    let version = release.chart.version;
    let values = helm::values_path(release);
    let namespace = &release.namespace;
    let mut text = String::new();
    if release.chart.needs_crd_updates() {
        text += &install_call(&["kinds", &release.name, version], &chart);
    }
    text + &install_call(
        &["release", &release.name, &values, namespace, version],
        &chart,
    )
}

/// The arguments of helm that name the chart.
fn chart_arguments(release: &Release) -> Vec<String> {
    let chart = release.chart;
    if release.is_oci() {
        return vec![release.oci_url()];
    }
    let words = [chart.name, "--repo", &release.repository];
    words.map(str::to_owned).to_vec()
}

/// A call with the fixed words and those of the chart.
fn install_call(words: &[&str], chart: &[String]) -> String {
    let words = words.iter().map(|word| quote(word)).collect();
    let chart = chart.iter().map(|word| quote(word)).collect();
    format_command(0, &[words, chart])
}
