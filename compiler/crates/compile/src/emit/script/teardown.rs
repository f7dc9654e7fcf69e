//! The script that deletes the resources that the other scripts created.

use gpuc_model::plan::{Plan, Resource};
use gpuc_syntax::shell::quote;

use super::command::{format_command, quoted_groups, quoted_program};
use super::resource::{change_commands, mark_call, state_functions};
use super::segments::{Operation, Segment, Segments};
use super::{preconditions, script_head};
use crate::emit::header::Header;

/// The shell code that parses the flags and asks for confirmation.
const CONFIRM: &str = include_str!("teardown.sh");

/// A script that deletes every resource, in reverse order of creation. Clusters and pools that gpuc does not manage are
/// not resources.
pub(super) fn teardown_script<'p>(plan: &'p Plan, header: &Header) -> Segments<'p> {
    let cluster = &plan.cluster;
    let creates = plan.provisioning.creates_resources();
    let about = if creates {
        format!("Deletes what the other scripts created for cluster {cluster}, after confirmation.")
    } else {
        format!(
            "Removes what the other scripts set on the nodes of cluster {cluster}, after confirmation."
        )
    };
    let (effect, action) = if creates {
        (
            "Deletes what the scripts in this folder created for cluster $cluster. \
             Workloads and their data are lost.",
            "deleting",
        )
    } else {
        (
            "Removes the labels and taints that the scripts in this folder set on the nodes of cluster $cluster. The \
             nodes and running jobs stay; pods of DaemonSets that select these labels, such as device plugins, are deleted.",
            "removing labels and taints",
        )
    };
    let mut segments = script_head(header, &[&about]);
    segments.push(
        Segment::Cluster,
        format!("cluster={}\nabout=\"{effect}\"\n", quote(cluster)),
    );
    segments.push(
        Segment::Boilerplate(CONFIRM_PURPOSE),
        format!("{CONFIRM}\n"),
    );
    segments.extend(preconditions(&plan.provisioning));
    let resources: Vec<&Resource> = plan
        .provisioning
        .resources
        .iter()
        .rev()
        .filter(|resource| !resource.delete.is_empty())
        .collect();
    for (index, resource) in resources.iter().enumerate() {
        let number = index + 1;
        segments.extend(state_functions(resource, number));
        let delete = change_commands(2, &resource.delete);
        let delete = format!(
            "{}\ndelete_{number}() {{\n{delete}}}\n",
            mark_function(resource, number)
        );
        segments.push(Segment::Resource(resource, Operation::Delete), delete);
    }
    let run = format!("\ntake_down {} {}\n", resources.len(), quote(action));
    segments.push(Segment::Boilerplate(DELETE_PURPOSE), run);
    segments
}

/// The function that reports that the resource does not have gpuc's mark, or contains what the scripts do not create.
fn mark_function(resource: &Resource, number: usize) -> String {
    let mut mark = mark_call("require_mark", resource);
    if let Some(program) = resource.kind.protection {
        let words = ["require_unprotected", program].map(quote);
        mark += &format_command(2, &[words.to_vec()]);
    }
    if let Some(contents) = &resource.contents {
        let created = serde_json::json!(contents.created).to_string();
        let words = ["require_only", contents.kind, &created].map(quote);
        let mut groups = vec![words.to_vec(), vec![quoted_program(contents.read)]];
        groups.extend(quoted_groups(&contents.list, &[]));
        mark += &format_command(2, &groups);
    }
    if mark.is_empty() {
        mark += "  :\n";
    }
    format!("\nmark_{number}() {{\n{mark}}}\n")
}

/// The purpose of [`CONFIRM`].
const CONFIRM_PURPOSE: &str =
    "parses the flags, and asks for confirmation before it deletes anything";

/// The purpose of the last line.
const DELETE_PURPOSE: &str = "deletes the existing resources in reverse order of creation";
