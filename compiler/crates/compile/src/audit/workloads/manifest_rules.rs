//! Applies the rules for manifests to patched objects.

use std::collections::BTreeSet;

use gpuc_kubernetes::api_server::{Step, locate_path};
use gpuc_manifests as manifests;
use gpuc_manifests::Manifests;
use gpuc_model::check::Checked;
use gpuc_model::plan::Object;
use gpuc_schema::Spanned;
use gpuc_schema::config::Workload;
use gpuc_syntax::diag::{Report, Severity};
use gpuc_syntax::node::Node;
use gpuc_syntax::source::{Sources, Span};
use gpuc_syntax::yaml::to_yaml;

use super::{Problem, patch_span};
use crate::lower::workloads::{patched_objects, unpatched_objects};

/// The errors that a workload has only with its patches.
pub(super) fn check(cluster: &Checked<'_>, workload: &Spanned<Workload>) -> BTreeSet<Problem> {
    let own = manifest_errors(cluster, &unpatched_objects(cluster, workload), Span::NONE);
    let own: BTreeSet<_> = own.into_iter().map(|it| it.message).collect();
    let mut now = manifest_errors(
        cluster,
        &patched_objects(cluster, workload),
        patch_span(workload),
    );
    now.retain(|it| !own.contains(&it.message));
    now
}

fn manifest_errors(cluster: &Checked<'_>, objects: &[Object], patch: Span) -> BTreeSet<Problem> {
    let (mut sources, mut report) = (Sources::default(), Report::default());
    let mut manifests = Manifests::default();
    for object in objects {
        let name = &object.identity.name;
        let text = to_yaml(&object.node);
        manifests.read(name, &text, &mut sources, &mut report);
    }
    manifests::check(cluster, &manifests, &sources, &mut report);
    let errors = report.diagnostics().iter();
    let errors = errors.filter(|found| found.severity == Severity::Error);
    let errors = errors.filter(|found| !manifests::is_reported_by_audit(found.code));
    let problems = errors.map(|found| {
        let span = found.primary.span;
        let mut read = manifests.objects.iter().zip(objects);
        let located = read.find_map(|(read, object)| {
            let mut path = Vec::new();
            find_path(&read.root, span, &mut path).then(|| locate_path(&object.node, &path, false))
        });
        Problem {
            span: located.flatten().unwrap_or(patch),
            message: format!("with its patch, {}", found.message),
            help: found
                .help
                .clone()
                .unwrap_or_else(|| "change the patch".to_owned()),
        }
    });
    problems.collect()
}

/// Finds the node at a span and stores its path.
fn find_path(node: &Node, span: Span, path: &mut Vec<Step>) -> bool {
    if node.span() == span {
        return true;
    }
    for entry in node.entries() {
        path.push(Step::Key(entry.key.clone()));
        if entry.key_span == span || find_path(&entry.value, span, path) {
            return true;
        }
        path.pop();
    }
    for (index, item) in node.items().iter().enumerate() {
        path.push(Step::Item(index));
        if find_path(item, span, path) {
            return true;
        }
        path.pop();
    }
    false
}
