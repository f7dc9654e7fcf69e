//! The script that removes what the others made.

use serde_json::Value;

use super::resource::{observe, run};
use super::{head, preconditions};
use crate::emit::header::Header;
use crate::plan::{Plan, Resource};
use crate::shell::quote;

/// Flags and the question.
const ASK: &str = include_str!("teardown.sh");

/// A script that deletes every resource, the last one made first. Clusters and pools that are not gpuc's are no
/// resources.
pub(super) fn teardown(plan: &Plan, header: &Header) -> String {
    let about = format!(
        "Deletes what the scripts beside it made for cluster {}. It asks first.",
        plan.cluster
    );
    let mut text = head(header, &[&about]);
    text += &format!("cluster={}\n{ASK}\n", quote(&plan.cluster));
    text += &preconditions(&plan.provisioning);
    text += "confirm\n";
    let resources = plan.provisioning.resources.iter().rev();
    let resources: Vec<&Resource> = resources
        .filter(|resource| !resource.delete.is_empty())
        .collect();
    for (index, resource) in resources.iter().enumerate() {
        let number = index + 1;
        text += &format!("\nlook_{number}() {{\n{}}}\n", observe(resource));
        let delete = run(2, &resource.delete, &Value::Null);
        text += &format!("\ndelete_{number}() {{\n{delete}}}\n");
    }
    text += &format!("\ntake_down {}\n", resources.len());
    text
}
