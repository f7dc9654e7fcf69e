//! Validation by operators of their own job kinds.

use gpuc_syntax::diag;
use gpuc_syntax::node::Node;

use super::scalar::{ParsedValue, get_integer, get_text, parse_value};
use super::{Completeness, Step, Violation, format_path};

/// The replica types of a `PyTorchJob`, and the container name that its operator requires.
///
/// Source: kubeflow/training-operator@45666717 `pkg/webhooks/pytorch/pytorchjob_webhook.go`,
/// `validatePyTorchReplicaSpecs`.
const PYTORCH_REPLICA_TYPES: &[&str] = &["Master", "Worker"];
const PYTORCH_CONTAINER: &str = "pytorch";

/// Reports the violations that the operator of a job rejects.
pub(super) fn validate(
    api_version: &str,
    kind: &str,
    root: &Node,
    extent: Completeness,
) -> Vec<Violation> {
    let mut found = Vec::new();
    if api_version.starts_with("ray.io/") && kind == "RayJob" {
        return validate_ray_job(root, extent).into_iter().collect();
    }
    if (api_version, kind) != ("kubeflow.org/v1", "PyTorchJob") {
        return found;
    }
    let key_path = ["spec", "pytorchReplicaSpecs"].map(Step::from);
    let replica_specs = root
        .get("spec")
        .and_then(|spec| spec.get("pytorchReplicaSpecs"));
    for entry in replica_specs.map_or(&[][..], Node::entries) {
        let mut path = key_path.to_vec();
        path.push(Step::from(entry.key.as_str()));
        if !PYTORCH_REPLICA_TYPES.contains(&entry.key.as_str()) {
            let is_unused = |kind: &&&str| replica_specs.is_none_or(|it| it.entry(kind).is_none());
            let unused: Vec<_> = PYTORCH_REPLICA_TYPES
                .iter()
                .filter(is_unused)
                .copied()
                .collect();
            found.push(Violation {
                message: format!("a PyTorchJob has no `{}`", format_path(&path)),
                is_key: true,
                path: path.clone(),
                help: format!(
                    "{} {}",
                    if unused.is_empty() { "remove" } else { "write" },
                    diag::phrases::quoted_conjunction(&unused, "or")
                ),
                suggestion: diag::phrases::closest_match(&entry.key, unused.iter().copied())
                    .map(str::to_owned),
                unknown_to_project: None,
                rule_owner: None,
            });
        }
        if entry.key == "Master" && get_integer(&entry.value, "replicas").is_some_and(|it| it != 1)
        {
            let below = extended_path(&path, &["replicas"]);
            found.push(Violation {
                message: format!("`{}` must be 1", format_path(&below)),
                is_key: false,
                path: below,
                help: "write `1`, and the other replicas as `Worker`".to_owned(),
                suggestion: None,
                unknown_to_project: None,
                rule_owner: None,
            });
        }
        if extent == Completeness::Complete {
            found.extend(check_container_name(&entry.value, &path));
        }
    }
    found
}

/// Reports a TTL of a Ray cluster that is not shut down.
///
/// Source: ray-project/kuberay `ray-operator/controllers/ray/utils/validation.go`, `validateDeletionConfiguration`
/// (read 2026-11-22): the operator gives the job the status `ValidationFailed`.
fn validate_ray_job(root: &Node, extent: Completeness) -> Option<Violation> {
    const SHUTDOWN_FIELD: &str = "shutdownAfterJobFinishes";
    let spec = root.get("spec")?;
    let seconds = get_integer(spec, "ttlSecondsAfterFinished").filter(|it| *it > 0)?;
    let shuts_down = match spec.get(SHUTDOWN_FIELD).map(parse_value) {
        None | Some(ParsedValue::Null) if extent == Completeness::Complete => false,
        Some(ParsedValue::Bool(value)) => value,
        _ => return None,
    };
    let path = ["spec", "ttlSecondsAfterFinished"].map(Step::from).to_vec();
    (!shuts_down).then(|| Violation {
        message: format!(
            "`{}` is {seconds}, but `{SHUTDOWN_FIELD}` is not `true`",
            format_path(&path)
        ),
        is_key: false,
        path,
        help: format!("add `{SHUTDOWN_FIELD}: true`, or remove it"),
        suggestion: None,
        unknown_to_project: None,
        rule_owner: None,
    })
}

/// Reports replicas without the container that the operator requires.
fn check_container_name(replicas: &Node, path: &[Step]) -> Option<Violation> {
    let spec = replicas.get("template").and_then(|it| it.get("spec"))?;
    let containers = spec.get("containers").map_or(&[][..], Node::items);
    let names = containers.iter().map(|it| get_text(it, "name"));
    // A name that is filled in later can be any name.
    let names: Vec<_> = names.collect::<Option<_>>()?;
    if names.is_empty() || names.contains(&PYTORCH_CONTAINER) {
        return None;
    }
    let mut path = extended_path(path, &["template", "spec", "containers"]);
    let message = format!(
        "`{}` has no container `{PYTORCH_CONTAINER}`",
        format_path(&path)
    );
    path.extend([Step::from(0), Step::from("name")]);
    let is_only_container = names.len() == 1
        && matches!(
            parse_value(containers[0].get("name")?),
            ParsedValue::Text(_)
        );
    Some(Violation {
        message,
        is_key: false,
        path,
        help: format!(
            "rename the training container to `{PYTORCH_CONTAINER}`: the operator configures the container with this name"
        ),
        suggestion: is_only_container.then(|| PYTORCH_CONTAINER.to_owned()),
        unknown_to_project: None,
        rule_owner: None,
    })
}

fn extended_path(path: &[Step], keys: &[&str]) -> Vec<Step> {
    let keys = keys.iter().map(|key| Step::from(*key));
    path.iter().cloned().chain(keys).collect()
}

/// The volumes that the controller of a kind adds to its pods; `None` if they are not known.
///
/// Source: kubeflow/mpi-operator `pkg/controller/mpi_job_controller.go`, `configVolumeName` and `sshAuthVolume`;
/// ray-project/kuberay `ray-operator/controllers/ray/common/pod.go`, `AddRayTokenVolume`; volcano-sh/volcano
/// `pkg/controllers/job/plugins` (read 2026-11-28).
pub(super) fn added_volumes(
    api_version: &str,
    kind: &str,
    root: &Node,
) -> Option<&'static [&'static str]> {
    let group = api_version.rsplit_once('/').map_or("", |it| it.0);
    let has_plugins = || {
        root.get("spec")
            .is_some_and(|it| it.get("plugins").is_some())
    };
    match (group, kind) {
        ("kubeflow.org", "MPIJob") => Some(&["mpi-job-config", "ssh-auth"]),
        ("ray.io", _) => Some(&["ray-token"]),
        ("batch.volcano.sh", _) if has_plugins() => None,
        _ => Some(&[]),
    }
}
