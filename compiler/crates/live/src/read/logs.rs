//! The paths of container logs in the supported folders.

use crate::state::ContainerLog;

/// The log at a path, if the path is that of a container log:
///
/// - `logs/NAMESPACE/POD/CONTAINER.log` and `CONTAINER.previous.log` of `gpuc snapshot`;
/// - `pods/logs/NAMESPACE/POD/CONTAINER.log` and `CONTAINER-previous.log` of troubleshoot;
/// - `namespaces/NAMESPACE/pods/POD/CONTAINER/…/logs/current.log` and `previous.log` of must-gather.
///
/// Source: replicatedhq/troubleshoot `pkg/collect/cluster_resources.go` and `logs.go`; openshift/oc
/// `pkg/cli/admin/inspect/pod.go` (from memory), 2026-11-28.
pub(super) fn parse_path(path: &str, text: &str) -> Option<ContainerLog> {
    let parts: Vec<&str> = path.split('/').collect();
    let (namespace, pod, container, is_previous) = gathered_log(&parts).or_else(|| {
        let [.., "logs", namespace, pod, file] = parts[..] else {
            return None;
        };
        let name = file.strip_suffix(".log")?;
        let previous = name
            .strip_suffix(".previous")
            .or_else(|| name.strip_suffix("-previous"));
        Some((namespace, pod, previous.unwrap_or(name), previous.is_some()))
    })?;
    Some(ContainerLog {
        namespace: namespace.to_owned(),
        pod: pod.to_owned(),
        container: container.to_owned(),
        is_previous,
        text: text.to_owned(),
    })
}

/// The parts of the path of a log in a must-gather folder: namespace, pod, container, and whether it is the previous
/// log.
fn gathered_log<'p>(parts: &[&'p str]) -> Option<(&'p str, &'p str, &'p str, bool)> {
    let start = parts.iter().rposition(|part| *part == "namespaces")?;
    let [namespace, "pods", pod, container, .., "logs", file] = parts[start + 1..] else {
        return None;
    };
    let is_previous = match file {
        "current.log" => false,
        "previous.log" => true,
        _ => return None,
    };
    Some((namespace, pod, container, is_previous))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(path: &str) -> Option<String> {
        let log = parse_path(path, "")?;
        let previous = if log.is_previous {
            "previous"
        } else {
            "current"
        };
        Some([&log.namespace, &log.pod, &log.container, previous].join(" "))
    }

    fn log(container: &str, is_previous: bool) -> Option<String> {
        let previous = if is_previous { "previous" } else { "current" };
        Some(format!("ns pod {container} {previous}")).filter(|_| !container.is_empty())
    }

    #[test]
    fn paths_of_snapshots_bundles_and_must_gathers_are_logs() {
        assert_eq!(parse("logs/ns/pod/c.log"), log("c", false));
        assert_eq!(parse("logs/ns/pod/c.previous.log"), log("c", true));
        let bundle = "bundle/cluster-resources/pods/logs/ns/pod";
        assert_eq!(parse(&format!("{bundle}/c.log")), log("c", false));
        assert_eq!(parse(&format!("{bundle}/c-previous.log")), log("c", true));
        let gathered = "must-gather/namespaces/ns/pods/pod/c/c/logs";
        assert_eq!(parse(&format!("{gathered}/current.log")), log("c", false));
        assert_eq!(parse(&format!("{gathered}/previous.log")), log("c", true));
        assert_eq!(parse(&format!("{gathered}/rotated.log")), None);
        assert_eq!(parse("objects/pods.json"), None);
    }
}
