//! The script that deletes the resources that the other scripts created.

use gpuc_model::plan::{Plan, Resource};
use gpuc_syntax::shell::quote;
use serde_json::Value;

use super::resource::{change_commands, observation_call};
use super::segments::{Operation, Segment, Segments};
use super::{preconditions, script_head};
use crate::emit::header::Header;

/// The shell code that parses the flags and asks for confirmation.
const CONFIRM: &str = include_str!("teardown.sh");

/// A script that deletes every resource, in reverse order of creation. Clusters and pools that gpuc does not manage are
/// not resources.
pub(super) fn teardown_script<'p>(plan: &'p Plan, header: &Header) -> Segments<'p> {
    let about = format!(
        "Deletes what the other scripts created for cluster {}, after confirmation.",
        plan.cluster
    );
    let mut parts = script_head(header, &[&about]);
    parts.push(
        Segment::Cluster,
        format!("cluster={}\n", quote(&plan.cluster)),
    );
    parts.push(
        Segment::Boilerplate(CONFIRM_PURPOSE),
        format!("{CONFIRM}\n"),
    );
    parts.extend(preconditions(&plan.provisioning));
    parts.push(Segment::Boilerplate(CONFIRM_PURPOSE), "confirm\n");
    let resources: Vec<&Resource> = plan
        .provisioning
        .resources
        .iter()
        .rev()
        .filter(|resource| !resource.delete.is_empty())
        .collect();
    for (index, resource) in resources.iter().enumerate() {
        let number = index + 1;
        let look = format!("\nlook_{number}() {{\n{}}}\n", observation_call(resource));
        parts.push(Segment::Resource(resource, Operation::Read), look);
        let delete = change_commands(2, &resource.delete, &Value::Null);
        let delete = format!("\ndelete_{number}() {{\n{delete}}}\n");
        parts.push(Segment::Resource(resource, Operation::Delete), delete);
    }
    let run = format!("\ntake_down {}\n", resources.len());
    parts.push(Segment::Boilerplate(DELETE_PURPOSE), run);
    parts
}

/// The purpose of [`CONFIRM`].
const CONFIRM_PURPOSE: &str =
    "parses the flags, and asks for confirmation before it deletes anything";

/// The purpose of the last line.
const DELETE_PURPOSE: &str = "deletes the existing resources in reverse order of creation";
