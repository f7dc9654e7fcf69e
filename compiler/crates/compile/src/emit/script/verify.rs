//! The script that verifies the cluster.

use gpuc_model::plan::{Command, Credentials, Expectation, Plan, Word};
use gpuc_syntax::shell::quote;
use serde_json::json;

use super::command::{call, lines};
use super::segments::{Part, Parts};
use super::{head, identities, tools_needed};
use crate::emit::header::Header;
use crate::emit::name;

/// The shell code that parses the flags, and the functions that check the cluster.
const CHECKS: &str = include_str!("verify.sh");

/// A script that checks every expectation of every pool.
pub(super) fn verify<'p>(plan: &'p Plan, header: &Header) -> Parts<'p> {
    let about = format!(
        "Verifies that cluster {} matches {}.",
        plan.cluster,
        header.name()
    );
    let mut parts = head(header, &[&about]);
    parts.add(Part::Fixed(CHECKS_PURPOSE), format!("{CHECKS}\n"));
    parts.add(Part::Tools, tools_needed(["kubectl"].into_iter()));
    parts.add(Part::Credentials, credentials(plan));
    for expectation in &plan.expectations {
        let text = format!("\n{}", checks(expectation));
        parts.add(Part::Expectation(expectation), text);
    }
    parts.add(Part::Fixed(CHECKS_PURPOSE), "\nfinish\n");
    parts
}

/// The purpose of [`CHECKS`].
const CHECKS_PURPOSE: &str =
    "parses the flags, and defines the checks of nodes, DaemonSets and test pods";

/// Fetches a kubeconfig for the script alone, unless the user names a context.
pub(super) fn credentials(plan: &Plan) -> String {
    match &plan.provisioning.credentials {
        Credentials::Context(context) => {
            format!("[ -n \"$context\" ] || context={}\n", quote(context))
        }
        Credentials::Fetch(command) => {
            let mut text = String::from("if [ -n \"$context\" ]; then\n");
            let note = format!(
                "using context {{}} for cluster {} without checking that it belongs to it",
                plan.cluster
            );
            let (before, after) = note.split_once("{}").expect("it is in the text above");
            text += &format!("  note {}\"$context\"{}\n", quote(before), quote(after));
            text += "else\n";
            // The programs that only create resources are not needed to verify them.
            let asked = plan.provisioning.identity.iter().map(|check| &check.ask);
            let used = asked.chain([command]).filter_map(program);
            let mut body = tools_needed(used);
            body += &identities(&plan.provisioning).text();
            body += "export KUBECONFIG=\"$work/kubeconfig\"\n";
            let mut groups = call(command, &[]);
            groups.push(vec![">\"$work/said\"".to_owned(), "2>&1".to_owned()]);
            let command = lines(0, &groups);
            body += &format!("{} ||\n", command.trim_end());
            body += "  { cat \"$work/said\" >&2; die 'cannot fetch a kubeconfig'; }\n";
            for line in body.lines() {
                text += &format!("  {line}\n");
            }
            text + "fi\n"
        }
    }
}

/// The program that a command runs.
fn program(command: &Command) -> Option<&str> {
    match command.0.first() {
        Some(Word::Text(program)) => Some(program),
        _ => None,
    }
}

fn checks(expectation: &Expectation) -> String {
    let pool = quote(&expectation.pool);
    let terms = expectation
        .selector
        .iter()
        .map(|(key, value)| format!("{key}={value}"));
    let selector = terms.collect::<Vec<_>>().join(",");
    let mut text = row(&[
        "nodes",
        &pool,
        &expectation.min_nodes.to_string(),
        &quote(&selector),
    ]);
    for (resource, count) in expectation.allocatable.iter().chain(&expectation.fabric) {
        text += &row(&["allocatable", &pool, &quote(resource), &count.to_string()]);
    }
    for devices in &expectation.devices {
        text += &row(&[
            "devices",
            &pool,
            &quote(&devices.class),
            &quote(&devices.driver),
            devices.kind,
            &quote(devices.profile.unwrap_or_default()),
            &devices.per_node.to_string(),
        ]);
    }
    for (namespace, name) in &expectation.daemon_sets {
        text += &row(&["daemon_set", &pool, &quote(namespace), &quote(name)]);
    }
    let resources = expectation
        .allocatable
        .iter()
        .filter(|(_, count)| **count > 0);
    for (number, (resource, _)) in resources.enumerate() {
        let name = pod_name(&expectation.pool, number);
        let head = ["pod", &pool, &quote(resource), &quote(&name)].map(str::to_owned);
        text += &lines(0, &[head.to_vec(), vec![quote(&spec(expectation))]]);
    }
    for (number, devices) in expectation.devices.iter().enumerate() {
        let name = pod_name(&expectation.pool, number);
        let head = ["claim", &pool, &quote(&devices.class), &quote(&name)].map(str::to_owned);
        text += &lines(0, &[head.to_vec(), vec![quote(&spec(expectation))]]);
    }
    text
}

fn row(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    lines(0, &[words])
}

/// The name of a test pod: at most 63 characters, so that it is a valid host name too.
fn pod_name(pool: &str, number: usize) -> String {
    let pool: String = name::part(pool)
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || *c == '-')
        .take(40)
        .collect();
    format!("gpuc-verify-{}-{number}", pool.trim_end_matches('-'))
}

fn spec(expectation: &Expectation) -> String {
    let mut spec = json!({"nodeSelector": expectation.selector});
    if !expectation.tolerations.is_empty() {
        spec["tolerations"] = json!(expectation.tolerations);
    }
    if let Some(class) = &expectation.runtime_class {
        spec["runtimeClassName"] = json!(class);
    }
    spec.to_string()
}
