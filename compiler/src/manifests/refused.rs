//! What the API server refuses of objects, for the rules that say it.

use std::collections::BTreeSet;

use super::read::Object;
use super::{Scene, Why, edit, served};
use crate::api_server::{self, Extent, Refused, Step, place};
use crate::diag::{Code, Edit, Report};
use crate::node::{Node, Value};

/// Groups whose objects hold pods just as Kubernetes has them: nobody adds fields or volumes to them.
const PLAIN: &[&str] = &[
    "kubeflow.org",
    "jobset.x-k8s.io",
    "leaderworkerset.x-k8s.io",
    "ray.io",
    "batch.volcano.sh",
];

/// Reports, as findings of one code, what of the objects is refused and is to be told.
pub(super) fn report(
    scene: &Scene<'_>,
    code: &'static Code,
    is_told: fn(&Refused) -> bool,
    report: &mut Report,
) {
    let before = report.diagnostics().iter();
    let said: BTreeSet<_> = before.map(|found| found.primary.span).collect();
    for object in scene.objects {
        for found in of(scene, object).into_iter().filter(is_told) {
            let Some(span) = place(&object.root, &found.path, found.of_key) else {
                continue;
            };
            // Other rules know more of resources of GPUs, and of text without quotes.
            if said.contains(&span) {
                continue;
            }
            let message = format!("{}: {}", object.title(), found.message);
            let draft = report.draft(code, span, message);
            let draft = draft.help(found.help.clone());
            match edit_of(scene, object, &found) {
                Some(edit) => draft.fix(vec![edit]).emit(),
                None => draft.emit(),
            };
        }
    }
}

/// What was meant, in place of what stands there.
fn edit_of(scene: &Scene<'_>, object: &Object, found: &Refused) -> Option<Edit> {
    let meant = found.meant.as_deref()?;
    let (last, above) = found.path.split_last()?;
    let holder = above
        .iter()
        .try_fold(&object.root, |node, step| match step {
            Step::Key(key) => node.get(key),
            Step::Item(index) => node.items().get(*index),
        })?;
    match last {
        Step::Key(key) if found.of_key => edit::key(scene.sources, holder.entry(key)?, meant),
        Step::Key(key) => edit::value(scene.sources, holder.get(key)?, meant),
        Step::Item(index) => edit::value(scene.sources, holder.items().get(*index)?, meant),
    }
}

fn of(scene: &Scene<'_>, object: &Object) -> Vec<Refused> {
    let (version, kind) = (object.api_version.as_str(), object.kind.as_str());
    // Of a version that is not served the one that is says what Kubernetes takes.
    let served = served::instead(version, kind).and_then(<[_]>::first);
    let version = served.copied().unwrap_or(version);
    let is_plain = PLAIN.iter().any(|group| object.is_of(group));
    if !is_plain && !api_server::knows(version, kind) {
        return Vec::new();
    }
    let is_layered = scene.passed_over.iter().any(|it| match &it.why {
        Why::Kustomization => true,
        Why::Patch(title) => *title == object.title(),
        Why::Template | Why::NoObjects => false,
    });
    let extent = if is_whole(&object.root) && !is_layered {
        Extent::Whole
    } else {
        Extent::Part
    };
    api_server::look(version, kind, &object.root, extent)
}

/// Whether an object has what nobody writes who changes a part of one: an image of each container, or of those of a
/// `TrainJob`, or the resources of a queue.
pub(super) fn is_whole(root: &Node) -> bool {
    let (mut some, mut all) = (false, true);
    images(root, &mut some, &mut all);
    let spec = root.get("spec");
    let at = |keys: &[&str]| {
        let mut keys = keys.iter();
        keys.try_fold(spec?, |node, key| node.get(key))
    };
    let trains = at(&["trainer", "image"]).is_some();
    (some || trains || at(&["resourceGroups"]).is_some()) && all
}

fn images(node: &Node, some: &mut bool, all: &mut bool) {
    match &node.value {
        Value::Scalar(_) => {}
        Value::Sequence(items) => items.iter().for_each(|item| images(item, some, all)),
        Value::Mapping(entries) => {
            for entry in entries {
                if ["containers", "initContainers"].contains(&entry.key.as_str()) {
                    for item in entry.value.items() {
                        *some = true;
                        *all &= item.get("image").is_some();
                    }
                }
                images(&entry.value, some, all);
            }
        }
    }
}
