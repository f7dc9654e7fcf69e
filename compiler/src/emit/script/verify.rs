//! The script that looks whether the cluster is as it should be.

use serde_json::json;

use super::command::{call, lines};
use super::parts::{Part, Parts};
use super::{head, identities, tools_needed};
use crate::emit::header::Header;
use crate::emit::name;
use crate::plan::{Command, Credentials, Expectation, Plan, Word};
use crate::shell::quote;

/// Flags, and what is looked at.
const CHECKS: &str = include_str!("verify.sh");

/// A script with a check for everything that is expected of every pool.
pub(super) fn verify<'p>(plan: &'p Plan, header: &Header) -> Parts<'p> {
    let about = format!(
        "Looks whether cluster {} is as {} says.",
        plan.cluster,
        header.name()
    );
    let mut parts = head(header, &[&about]);
    parts.add(Part::Fixed(LOOKS), format!("{CHECKS}\n"));
    parts.add(Part::Tools, tools_needed(["kubectl"].into_iter()));
    parts.add(Part::Credentials, credentials(plan));
    for expectation in &plan.expectations {
        let text = format!("\n{}", checks(expectation));
        parts.add(Part::Expectation(expectation), text);
    }
    parts.add(Part::Fixed(LOOKS), "\nfinish\n");
    parts
}

/// What the text is for that every such script has.
const LOOKS: &str = "reads the flags, and has what looks at nodes, DaemonSets and test pods";

/// A kubeconfig of its own, unless the user names a context.
pub(super) fn credentials(plan: &Plan) -> String {
    match &plan.provisioning.credentials {
        Credentials::Context(context) => {
            format!("[ -n \"$context\" ] || context={}\n", quote(context))
        }
        Credentials::Fetch(command) => {
            let mut text = String::from("if [ -n \"$context\" ]; then\n");
            let taken = format!(
                "context {{}} is taken for that of cluster {}: whose it is was not asked",
                plan.cluster
            );
            let (before, after) = taken.split_once("{}").expect("it is in the text above");
            text += &format!("  note {}\"$context\"{}\n", quote(before), quote(after));
            text += "else\n";
            // The tools by which things are made are not needed to look at them.
            let asked = plan.provisioning.identity.iter().map(|check| &check.ask);
            let used = asked.chain([command]).filter_map(program);
            let mut body = tools_needed(used);
            body += &identities(&plan.provisioning).text();
            body += "export KUBECONFIG=\"$work/kubeconfig\"\n";
            let mut groups = call(command, &[]);
            groups.push(vec![">\"$work/said\"".to_owned(), "2>&1".to_owned()]);
            let command = lines(0, &groups);
            body += &format!("{} ||\n", command.trim_end());
            body += "  { cat \"$work/said\" >&2; die 'no kubeconfig could be fetched'; }\n";
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

/// A pod's name has at most 63 characters here, so that it may be a host name too.
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
