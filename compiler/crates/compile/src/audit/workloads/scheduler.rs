//! Checks the scheduler that a patch names.

use std::collections::BTreeSet;

use gpuc_kubernetes::api_server::DEFAULT_SCHEDULER;
use gpuc_manifests as manifests;
use gpuc_model::check::Checked;
use gpuc_schema::Spanned;
use gpuc_schema::config::Workload;
use gpuc_syntax::diag::Report;

use super::patch_span;
use crate::lower::workloads::{patched_objects, pod_specs};

/// Reports the unknown schedulers in patches.
pub(super) fn check(cluster: &Checked<'_>, workload: &Spanned<Workload>, report: &mut Report) {
    let mut reported = BTreeSet::new();
    for object in patched_objects(cluster, workload) {
        for spec in pod_specs(&object.node) {
            let Some(named) = spec.get("schedulerName") else {
                continue;
            };
            let name = named.text().unwrap_or_default();
            let is_known = name.is_empty() || name == DEFAULT_SCHEDULER;
            if is_known || !reported.insert(name.to_owned()) {
                continue;
            }
            let span = Some(named.span()).filter(|span| span.is_written());
            let message = format!(
                "with its patch, workload `{}` uses scheduler `{name}`, which gpuc does not install",
                workload.name
            );
            let span = span.unwrap_or_else(|| patch_span(workload));
            let builder = report.diagnostic(manifests::scheduler_unknown_code(), span, message);
            let help = "remove `schedulerName`; if the scheduler is installed, add the finding's name to `allow`";
            builder.help(help).emit();
        }
    }
}
