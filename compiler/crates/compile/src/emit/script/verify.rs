//! The script that verifies the cluster.

use gpuc_model::plan::{Argument, Command, Credentials, Expectation, Plan};
use gpuc_syntax::shell::quote;
use serde_json::json;

use super::command::{format_command, quoted_groups};
use super::segments::{Segment, Segments};
use super::{identity_calls, script_head, tools_call};
use crate::emit::header::Header;
use crate::emit::name;

/// The shell code that parses the flags, and the functions that check the cluster.
const CHECKS: &str = include_str!("verify.sh");

/// A script that checks every expectation of every pool.
pub(super) fn verify_script<'p>(plan: &'p Plan, header: &Header) -> Segments<'p> {
    let about = format!(
        "Verifies that cluster {} matches {}.",
        plan.cluster,
        header.name()
    );
    let mut segments = script_head(header, &[&about]);
    segments.push(Segment::Credentials, default_context(plan));
    segments.push(Segment::Boilerplate(CHECKS_PURPOSE), format!("{CHECKS}\n"));
    segments.push(Segment::Tools, tools_call(["kubectl"].into_iter()));
    segments.push(Segment::Credentials, credentials(plan));
    segments.push(Segment::Credentials, resource_checks(plan));
    for expectation in &plan.expectations {
        let text = format!("\n{}", expectation_checks(&plan.cluster, expectation));
        segments.push(Segment::Expectation(expectation), text);
    }
    segments.push(Segment::Boilerplate(CHECKS_PURPOSE), "\nfinish\n");
    segments
}

/// The purpose of [`CHECKS`].
const CHECKS_PURPOSE: &str =
    "parses the flags, and defines the checks of nodes, DaemonSets and test pods";

/// The default of `--context`, for the usage text.
pub(super) fn default_context(plan: &Plan) -> String {
    let default = match &plan.provisioning.credentials {
        Credentials::Context(context) => context,
        Credentials::Fetch(_) => "a kubeconfig fetched for this run",
    };
    format!("default_context={}\n", quote(default))
}

/// Fetches a kubeconfig for the script alone, unless the user names a context.
pub(super) fn credentials(plan: &Plan) -> String {
    match &plan.provisioning.credentials {
        Credentials::Context(_) => "context=${context:-$default_context}\n".to_owned(),
        Credentials::Fetch(commands) => {
            let mut text = String::from("if [ -n \"$context\" ]; then\n");
            let note = format!(
                "using context {{}} for cluster {} without checking that it belongs to it",
                plan.cluster
            );
            let (before, after) = note.split_once("{}").expect("it is in the text above");
            text += &format!("  note {}\"$context\"{}\n", quote(before), quote(after));
            text += "else\n";
            // The programs that only create resources are not needed to verify them.
            let queries = plan.provisioning.identity.iter().map(|check| &check.query);
            let used = queries.chain(commands).filter_map(program_name);
            let mut body = tools_call(used);
            body += &identity_calls(&plan.provisioning).text();
            body += "export KUBECONFIG=\"$work/kubeconfig\"\n";
            for command in commands {
                let mut groups = quoted_groups(command, &[]);
                groups.push(vec![">\"$work/said\"".to_owned(), "2>&1".to_owned()]);
                let command = format_command(0, &groups);
                body += &format!("{} ||\n", command.trim_end());
                body += "  { cat \"$work/said\" >&2; die 'cannot fetch a kubeconfig'; }\n";
            }
            for line in body.lines() {
                text += &format!("  {line}\n");
            }
            text + "fi\n"
        }
    }
}

/// Verifies the resources in the cloud, unless the user names a context: then it may be another cluster.
fn resource_checks(plan: &Plan) -> &'static str {
    match &plan.provisioning.credentials {
        Credentials::Fetch(_) if plan.provisioning.creates_resources() => {
            "[ -n \"$context\" ] || resources\n"
        }
        Credentials::Fetch(_) | Credentials::Context(_) => "",
    }
}

/// The program that a command runs.
fn program_name(command: &Command) -> Option<&str> {
    match command.0.first() {
        Some(Argument::Text(program)) => Some(program),
        _ => None,
    }
}

fn expectation_checks(cluster: &str, expectation: &Expectation) -> String {
    let pool = quote(&expectation.pool);
    let terms = expectation
        .selector
        .iter()
        .map(|(key, value)| format!("{key}={value}"));
    let selector = terms.collect::<Vec<_>>().join(",");
    let min_nodes = match &expectation.period {
        None => expectation.min_nodes.to_string(),
        Some((start, end)) => format!("\"$(during {start} {end} {})\"", expectation.min_nodes),
    };
    let mut text = check_call(&["nodes", &pool, &min_nodes, &quote(&selector)]);
    if !expectation.required_taints.is_empty() {
        let taints = expectation.required_taints.iter();
        let taints: Vec<_> = taints.map(|taint| quote(taint)).collect();
        let mut words = vec!["taints", &pool];
        words.extend(taints.iter().map(String::as_str));
        text += &check_call(&words);
    }
    for (resource, count) in expectation
        .allocatable
        .iter()
        .chain(&expectation.interconnect)
    {
        text += &check_call(&["allocatable", &pool, &quote(resource), &count.to_string()]);
    }
    if !expectation.allocatable.is_empty() {
        text += &check_call(&["no_others", &pool]);
    }
    for devices in &expectation.devices {
        text += &check_call(&[
            "devices",
            &pool,
            &quote(&devices.class),
            &quote(&devices.driver),
            devices.kind,
            &quote(devices.profile.unwrap_or_default()),
            &devices.per_node.to_string(),
        ]);
    }
    for (resource, class) in named_devices(expectation) {
        text += &check_call(&["named", &pool, &quote(resource), &quote(class)]);
    }
    for (namespace, name) in &expectation.daemon_sets {
        text += &check_call(&["daemon_set", &pool, &quote(namespace), &quote(name)]);
    }
    let resources = expectation
        .allocatable
        .iter()
        .filter(|(_, count)| **count > 0);
    for (number, (resource, _)) in resources.enumerate() {
        let name = pod_name(&expectation.pool, number);
        let head = ["pod", &pool, &quote(resource), &quote(&name)].map(str::to_owned);
        text += &format_command(
            0,
            &[head.to_vec(), vec![quote(&test_pod_spec(expectation))]],
        );
    }
    for (number, devices) in expectation.devices.iter().enumerate() {
        let name = pod_name(&expectation.pool, number);
        let head = ["claim", &pool, &quote(&devices.class), &quote(&name)].map(str::to_owned);
        text += &format_command(
            0,
            &[head.to_vec(), vec![quote(&test_pod_spec(expectation))]],
        );
    }
    for (number, (resource, _)) in named_devices(expectation).enumerate() {
        let name = pod_name(&expectation.pool, expectation.devices.len() + number);
        let head = ["pod", &pool, &quote(resource), &quote(&name)].map(str::to_owned);
        text += &format_command(
            0,
            &[head.to_vec(), vec![quote(&test_pod_spec(expectation))]],
        );
    }
    if let Some(nodes) = expectation.fabric_nodes {
        text += &check_call(&["fabric", &pool, &quote(cluster), &nodes.to_string()]);
    }
    text
}

/// The extended resources under which pods request devices of the pool, each with its DeviceClass.
fn named_devices(expectation: &Expectation) -> impl Iterator<Item = (&str, &str)> {
    let devices = expectation.devices.iter();
    devices.filter_map(|devices| {
        let (resource, class) = devices.resource.as_ref()?;
        Some((resource.as_str(), class.as_str()))
    })
}

fn check_call(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    format_command(0, &[words])
}

/// The name of a test pod: at most 63 characters, so that it is a valid host name too.
fn pod_name(pool: &str, number: usize) -> String {
    let pool: String = name::file_name_part(pool)
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || *c == '-')
        .take(40)
        .collect();
    format!("gpuc-verify-{}-{number}", pool.trim_end_matches('-'))
}

fn test_pod_spec(expectation: &Expectation) -> String {
    let mut spec = json!({"nodeSelector": expectation.selector});
    if !expectation.tolerations.is_empty() {
        spec["tolerations"] = json!(expectation.tolerations);
    }
    if let Some(class) = &expectation.runtime_class {
        spec["runtimeClassName"] = json!(class);
    }
    spec.to_string()
}
