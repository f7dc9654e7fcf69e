//! The script that deletes the resources that the other scripts created.

use gpuc_model::plan::{Plan, Resource};
use gpuc_syntax::shell::quote;
use serde_json::Value;

use super::resource::{observe, run};
use super::segments::{Doing, Part, Parts};
use super::{head, preconditions};
use crate::emit::header::Header;

/// The shell code that parses the flags and asks for confirmation.
const CONFIRM: &str = include_str!("teardown.sh");

/// A script that deletes every resource, in reverse order of creation. Clusters and pools that gpuc does not manage are
/// not resources.
pub(super) fn teardown<'p>(plan: &'p Plan, header: &Header) -> Parts<'p> {
    let about = format!(
        "Deletes what the other scripts created for cluster {}, after confirmation.",
        plan.cluster
    );
    let mut parts = head(header, &[&about]);
    parts.add(Part::Cluster, format!("cluster={}\n", quote(&plan.cluster)));
    parts.add(Part::Fixed(CONFIRM_PURPOSE), format!("{CONFIRM}\n"));
    parts.extend(preconditions(&plan.provisioning));
    parts.add(Part::Fixed(CONFIRM_PURPOSE), "confirm\n");
    let resources: Vec<&Resource> = plan
        .provisioning
        .resources
        .iter()
        .rev()
        .filter(|resource| !resource.delete.is_empty())
        .collect();
    for (index, resource) in resources.iter().enumerate() {
        let number = index + 1;
        let look = format!("\nlook_{number}() {{\n{}}}\n", observe(resource));
        parts.add(Part::Resource(resource, Doing::Looks), look);
        let delete = run(2, &resource.delete, &Value::Null);
        let delete = format!("\ndelete_{number}() {{\n{delete}}}\n");
        parts.add(Part::Resource(resource, Doing::Removes), delete);
    }
    let run = format!("\ntake_down {}\n", resources.len());
    parts.add(Part::Fixed(TAKE_DOWN_PURPOSE), run);
    parts
}

/// The purpose of [`CONFIRM`].
const CONFIRM_PURPOSE: &str =
    "parses the flags, and asks for confirmation before it deletes anything";

/// The purpose of the last line.
const TAKE_DOWN_PURPOSE: &str = "deletes the existing resources in reverse order of creation";
