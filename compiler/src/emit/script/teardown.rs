//! The script that removes what the others made.

use serde_json::Value;

use super::parts::{Doing, Part, Parts};
use super::resource::{observe, run};
use super::{head, preconditions};
use crate::emit::header::Header;
use crate::plan::{Plan, Resource};
use crate::shell::quote;

/// Flags and the question.
const ASK: &str = include_str!("teardown.sh");

/// A script that deletes every resource, the last one made first. Clusters and pools that are not gpuc's are no
/// resources.
pub(super) fn teardown<'p>(plan: &'p Plan, header: &Header) -> Parts<'p> {
    let about = format!(
        "Deletes what the scripts beside it made for cluster {}. It asks first.",
        plan.cluster
    );
    let mut parts = head(header, &[&about]);
    parts.add(Part::Cluster, format!("cluster={}\n", quote(&plan.cluster)));
    parts.add(Part::Fixed(ASKS), format!("{ASK}\n"));
    parts.extend(preconditions(&plan.provisioning));
    parts.add(Part::Fixed(ASKS), "confirm\n");
    let resources = plan.provisioning.resources.iter().rev();
    let resources: Vec<&Resource> = resources
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
    parts.add(Part::Fixed(TAKES_DOWN), run);
    parts
}

/// What the lines with the question are for.
const ASKS: &str = "reads the flags, and asks before anything is removed";

/// What the last line is for.
const TAKES_DOWN: &str = "removes what is there, the last one made first";
