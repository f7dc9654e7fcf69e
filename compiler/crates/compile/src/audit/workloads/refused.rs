//! Applies the rules for manifests to patched objects.

use std::collections::BTreeSet;

use gpuc_kubernetes::api_server::{Step, place};
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

use super::{Problem, patch_of};
use crate::lower::workloads::{made, patched};

/// The errors that a workload has only with its patches.
pub(super) fn check(cluster: &Checked<'_>, workload: &Spanned<Workload>) -> BTreeSet<Problem> {
    let own = errors(cluster, &made(cluster, workload), Span::NONE);
    let own: BTreeSet<_> = own.into_iter().map(|it| it.message).collect();
    let mut now = errors(cluster, &patched(cluster, workload), patch_of(workload));
    now.retain(|it| !own.contains(&it.message));
    now
}

fn errors(cluster: &Checked<'_>, objects: &[Object], patch: Span) -> BTreeSet<Problem> {
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
    let errors = errors.filter(|found| !manifests::is_audited(found.code));
    let problems = errors.map(|found| {
        let span = found.primary.span;
        let mut read = manifests.objects.iter().zip(objects);
        let place = read.find_map(|(read, object)| {
            let mut path = Vec::new();
            find(&read.root, span, &mut path).then(|| place(&object.node, &path, false))
        });
        Problem {
            span: place.flatten().unwrap_or(patch),
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
fn find(node: &Node, span: Span, path: &mut Vec<Step>) -> bool {
    if node.span() == span {
        return true;
    }
    for entry in node.entries() {
        path.push(Step::Key(entry.key.clone()));
        if entry.key_span == span || find(&entry.value, span, path) {
            return true;
        }
        path.pop();
    }
    for (index, item) in node.items().iter().enumerate() {
        path.push(Step::Item(index));
        if find(item, span, path) {
            return true;
        }
        path.pop();
    }
    false
}
