//! The scheduler that a patch names.

use std::collections::BTreeSet;

use gpuc_schema::Spanned;
use gpuc_schema::config::Workload;

use super::patch_of;
use crate::api_server::schedulers::{DEFAULT, meant};
use crate::check::Checked;
use crate::diag::Report;
use crate::lower::workloads::{patched, pod_specs};
use crate::manifests;

/// The schedulers that only a patch names, but for those that are misspelt: these are errors.
pub(super) fn look(cluster: &Checked<'_>, workload: &Spanned<Workload>, report: &mut Report) {
    let mut said = BTreeSet::new();
    for object in patched(cluster, workload) {
        for spec in pod_specs(&object.node) {
            let Some(named) = spec.get("schedulerName") else {
                continue;
            };
            let name = named.text().unwrap_or_default();
            let is_known = name.is_empty() || name == DEFAULT || meant(name).is_some();
            if is_known || !said.insert(name.to_owned()) {
                continue;
            }
            let span = Some(named.span()).filter(|span| span.is_written());
            let message = format!(
                "with its patch, workload `{}` waits for the scheduler `{name}`, which gpuc does not install",
                workload.name
            );
            let span = span.unwrap_or_else(|| patch_of(workload));
            let draft = report.draft(manifests::scheduler_unknown(), span, message);
            let help =
                "remove `schedulerName`, or name the finding in `allow` if somebody installs it";
            draft.help(help).emit();
        }
    }
}
