//! What is wrong with patched objects by the rules that hold for everybody's manifests.

use std::collections::BTreeSet;

use gpuc_schema::Spanned;
use gpuc_schema::config::Workload;

use super::{Wrong, patch_of};
use crate::api_server::{Step, place};
use crate::check::Checked;
use crate::diag::{Report, Severity};
use crate::lower::workloads::{made, patched};
use crate::manifests::{self, Manifests};
use crate::node::Node;
use crate::plan::Object;
use crate::source::{Sources, Span};
use crate::yaml::to_yaml;

/// The errors that a workload has with its patches and has not without them.
pub(super) fn look(cluster: &Checked<'_>, workload: &Spanned<Workload>) -> BTreeSet<Wrong> {
    let own = errors(cluster, &made(cluster, workload), Span::NONE);
    let own: BTreeSet<_> = own.into_iter().map(|it| it.message).collect();
    let mut now = errors(cluster, &patched(cluster, workload), patch_of(workload));
    now.retain(|it| !own.contains(&it.message));
    now
}

fn errors(cluster: &Checked<'_>, objects: &[Object], patch: Span) -> BTreeSet<Wrong> {
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
    let wrong = errors.map(|found| {
        let span = found.primary.span;
        let mut read = manifests.objects.iter().zip(objects);
        let place = read.find_map(|(read, object)| {
            let mut path = Vec::new();
            find(&read.root, span, &mut path).then(|| place(&object.node, &path, false))
        });
        Wrong {
            span: place.flatten().unwrap_or(patch),
            message: format!("with its patch, {}", found.message),
            help: found
                .help
                .clone()
                .unwrap_or_else(|| "change the patch".to_owned()),
        }
    });
    wrong.collect()
}

/// Looks for what stands at a place, and says the way there.
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
