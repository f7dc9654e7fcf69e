//! Validation by operators of their own job kinds.

use gpuc_syntax::diag;
use gpuc_syntax::node::Node;

use super::scalar::{Read, read, text, whole};
use super::{Extent, Refused, Step, words};

/// The replica types of a `PyTorchJob`, and the container name that its operator requires.
///
/// Source: kubeflow/training-operator@45666717 `pkg/webhooks/pytorch/pytorchjob_webhook.go`,
/// `validatePyTorchReplicaSpecs`.
const PARTS: &[&str] = &["Master", "Worker"];
const CONTAINER: &str = "pytorch";

/// Reports the violations that the operator of a job rejects.
pub(super) fn validate(api_version: &str, kind: &str, root: &Node, extent: Extent) -> Vec<Refused> {
    let mut found = Vec::new();
    if api_version.starts_with("ray.io/") && kind == "RayJob" {
        return ray_job(root, extent).into_iter().collect();
    }
    if (api_version, kind) != ("kubeflow.org/v1", "PyTorchJob") {
        return found;
    }
    let way = ["spec", "pytorchReplicaSpecs"].map(Step::from);
    let parts = root
        .get("spec")
        .and_then(|spec| spec.get("pytorchReplicaSpecs"));
    for entry in parts.map_or(&[][..], Node::entries) {
        let mut path = way.to_vec();
        path.push(Step::from(entry.key.as_str()));
        if !PARTS.contains(&entry.key.as_str()) {
            found.push(Refused {
                message: format!("a PyTorchJob has no `{}`", words(&path)),
                of_key: true,
                path: path.clone(),
                help: format!("write {}", diag::words::all(PARTS, "or")),
                meant: diag::words::nearest(&entry.key, PARTS.iter().copied()).map(str::to_owned),
                unknown_to: None,
                rule_of: None,
            });
        }
        if entry.key == "Master" && whole(&entry.value, "replicas").is_some_and(|it| it != 1) {
            let below = below(&path, &["replicas"]);
            found.push(Refused {
                message: format!("`{}` must be 1", words(&below)),
                of_key: false,
                path: below,
                help: "write `1`, and the other replicas as `Worker`".to_owned(),
                meant: None,
                unknown_to: None,
                rule_of: None,
            });
        }
        if extent == Extent::Whole {
            found.extend(container(&entry.value, &path));
        }
    }
    found
}

/// Reports a TTL of a Ray cluster that is not shut down.
///
/// Source: ray-project/kuberay `ray-operator/controllers/ray/utils/validation.go`, `validateDeletionConfiguration`
/// (read 2026-11-22): the operator gives the job the status `ValidationFailed`.
fn ray_job(root: &Node, extent: Extent) -> Option<Refused> {
    const STAYS: &str = "shutdownAfterJobFinishes";
    let spec = root.get("spec")?;
    let seconds = whole(spec, "ttlSecondsAfterFinished").filter(|it| *it > 0)?;
    let goes = match spec.get(STAYS).map(read) {
        None | Some(Read::Nothing) if extent == Extent::Whole => false,
        Some(Read::Switch(goes)) => goes,
        _ => return None,
    };
    let path = ["spec", "ttlSecondsAfterFinished"].map(Step::from).to_vec();
    (!goes).then(|| Refused {
        message: format!(
            "`{}` is {seconds}, but `{STAYS}` is not `true`",
            words(&path)
        ),
        of_key: false,
        path,
        help: format!("add `{STAYS}: true`, or remove it"),
        meant: None,
        unknown_to: None,
        rule_of: None,
    })
}

/// Reports replicas without the container that the operator requires.
fn container(part: &Node, path: &[Step]) -> Option<Refused> {
    let spec = part.get("template").and_then(|it| it.get("spec"))?;
    let containers = spec.get("containers").map_or(&[][..], Node::items);
    let names = containers.iter().map(|it| text(it, "name"));
    // A name that is filled in later can be any name.
    let names: Vec<_> = names.collect::<Option<_>>()?;
    if names.is_empty() || names.contains(&CONTAINER) {
        return None;
    }
    let mut path = below(path, &["template", "spec", "containers"]);
    let message = format!("`{}` has no container `{CONTAINER}`", words(&path));
    path.extend([Step::from(0), Step::from("name")]);
    let is_one = names.len() == 1 && matches!(read(containers[0].get("name")?), Read::Text(_));
    Some(Refused {
        message,
        of_key: false,
        path,
        help: format!(
            "rename the training container to `{CONTAINER}`: the operator configures the container with this name"
        ),
        meant: is_one.then(|| CONTAINER.to_owned()),
        unknown_to: None,
        rule_of: None,
    })
}

fn below(path: &[Step], keys: &[&str]) -> Vec<Step> {
    let keys = keys.iter().map(|key| Step::from(*key));
    path.iter().cloned().chain(keys).collect()
}
