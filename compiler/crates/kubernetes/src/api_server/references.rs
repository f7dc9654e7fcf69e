//! References within a pod: names must be unique, and referenced names must exist.

use std::collections::BTreeSet;

use gpuc_syntax::diag::phrases::closest_match;
use gpuc_syntax::node::Node;

use super::ObjectContext;
use super::field_path::Step;
use super::scalar::{get_bool, get_integer, get_non_null, get_text, indexed_items};

/// Sources: kubernetes `pkg/apis/core/validation/validation.go`, `ValidateVolumes`, `ValidateVolumeMounts`,
/// `ValidateVolumeDevices`, `validateContainers`, `validateInitContainers`, `validateContainerPorts`,
/// `validatePodResourceClaims`, `validatePodHostNetworkDeps`, `AccumulateUniqueHostPorts`.
pub(super) fn validate(ctx: &mut ObjectContext<'_, '_>) {
    if ctx.type_name == "Container" {
        check_unique(ctx, "ports", "name");
        check_unique(ctx, "volumeMounts", "mountPath");
        check_unique(ctx, "volumeDevices", "name");
        check_unique(ctx, "volumeDevices", "devicePath");
        return;
    }
    if ctx.type_name != "PodSpec" {
        return;
    }
    check_unique(ctx, "volumes", "name");
    check_unique(ctx, "resourceClaims", "name");
    check_unique(ctx, "schedulingGates", "name");
    check_container_names(ctx);
    check_host_ports(ctx);
    if ctx.is_complete {
        check_mounts(ctx);
        check_claim_names(ctx);
    }
}

/// The names of a list's items must be unique.
fn check_unique(ctx: &mut ObjectContext<'_, '_>, list: &'static str, key: &'static str) {
    let mut seen = BTreeSet::new();
    for (index, item) in indexed_items(ctx.node, list) {
        let Some(name) = get_text(item, key) else {
            continue;
        };
        if !seen.insert(name) {
            report_duplicate(ctx, vec![list.into(), index.into(), key.into()], name);
        }
    }
}

fn report_duplicate(ctx: &mut ObjectContext<'_, '_>, below: Vec<Step>, name: &str) {
    ctx.report(
        below,
        |path| format!("`{path}` is `{name}`, which is already used"),
        "remove one of the two, or write another",
    );
}

const CONTAINER_LISTS: &[&str] = &["containers", "initContainers"];

fn check_container_names(ctx: &mut ObjectContext<'_, '_>) {
    let mut seen = BTreeSet::new();
    for list in CONTAINER_LISTS {
        for (index, container) in indexed_items(ctx.node, list) {
            if let Some(name) = get_text(container, "name")
                && !seen.insert(name)
            {
                report_duplicate(ctx, vec![(*list).into(), index.into(), "name".into()], name);
            }
        }
    }
}

/// All containers with their paths.
fn containers_with_index(pod: &Node) -> impl Iterator<Item = (&'static str, usize, &Node)> {
    CONTAINER_LISTS.iter().flat_map(move |list| {
        indexed_items(pod, list).map(move |(index, container)| (*list, index, container))
    })
}

fn check_mounts(ctx: &mut ObjectContext<'_, '_>) {
    let volumes =
        indexed_items(ctx.node, "volumes").filter_map(|(_, volume)| get_text(volume, "name"));
    // StatefulSets and LeaderWorkerSets add volumes, and so do JobSets with policies.
    let ancestor_nodes = || ctx.ancestors.iter().map(|(_, node)| *node);
    let policies = ancestor_nodes().flat_map(|it| indexed_items(it, "volumeClaimPolicies"));
    let claims = ancestor_nodes().flat_map(|it| indexed_items(it, "volumeClaimTemplates"));
    let claims = claims.chain(policies.flat_map(|(_, policy)| indexed_items(policy, "templates")));
    let claims = claims.filter_map(|(_, claim)| get_text(claim.get("metadata")?, "name"));
    let Some(added) = ctx.added_volumes else {
        return;
    };
    let known: BTreeSet<_> = volumes.chain(claims).chain(added.iter().copied()).collect();
    // A name that is filled in later can be any name.
    let mut volumes_of_pod = indexed_items(ctx.node, "volumes");
    if volumes_of_pod.any(|(_, volume)| {
        get_non_null(volume, "name").is_some() && get_text(volume, "name").is_none()
    }) {
        return;
    }
    check_volume_devices(ctx);
    for (list, at, container) in containers_with_index(ctx.node) {
        for mounted in ["volumeMounts", "volumeDevices"] {
            for (index, mount) in indexed_items(container, mounted) {
                let Some(name) = get_text(mount, "name").filter(|name| !known.contains(name))
                else {
                    continue;
                };
                if ctx.is_full() {
                    return;
                }
                let help = match closest_match(name, known.iter().copied()) {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None => {
                        format!("add a volume `{name}` to the pod's `volumes`, or remove the mount")
                    }
                };
                ctx.report(
                    [
                        list.into(),
                        at.into(),
                        mounted.into(),
                        index.into(),
                        "name".into(),
                    ],
                    |path| {
                        format!("`{path}` is `{name}`, but the pod has no volume with this name")
                    },
                    help,
                );
            }
        }
    }
}

/// A volume device must be a `persistentVolumeClaim`, and must not be mounted as a directory as well.
fn check_volume_devices(ctx: &mut ObjectContext<'_, '_>) {
    let claims = ["persistentVolumeClaim", "ephemeral"];
    let non_claim_volumes = indexed_items(ctx.node, "volumes")
        .filter(|(_, it)| claims.iter().all(|key| get_non_null(it, key).is_none()));
    let others: BTreeSet<_> = non_claim_volumes
        .filter_map(|(_, volume)| get_text(volume, "name"))
        .collect();
    for (list, at, container) in containers_with_index(ctx.node) {
        let mounted = indexed_items(container, "volumeMounts")
            .filter_map(|(_, mount)| get_text(mount, "name"));
        let mounted: BTreeSet<_> = mounted.collect();
        for (index, device) in indexed_items(container, "volumeDevices") {
            let Some(name) = get_text(device, "name") else {
                continue;
            };
            let problem = if others.contains(name) {
                "not a `persistentVolumeClaim`"
            } else if mounted.contains(name) {
                "also in `volumeMounts`"
            } else {
                continue;
            };
            ctx.report(
                [
                    list.into(),
                    at.into(),
                    "volumeDevices".into(),
                    index.into(),
                    "name".into(),
                ],
                |path| format!("`{path}` is `{name}`, which is {problem}"),
                "write the name of a `persistentVolumeClaim` that is only used as a device",
            );
        }
    }
}

fn check_claim_names(ctx: &mut ObjectContext<'_, '_>) {
    let known =
        indexed_items(ctx.node, "resourceClaims").filter_map(|(_, claim)| get_text(claim, "name"));
    let known: BTreeSet<_> = known.collect();
    let mut found = Vec::new();
    for (list, at, container) in containers_with_index(ctx.node) {
        let Some(resources) = container.get("resources") else {
            continue;
        };
        for (index, claim) in indexed_items(resources, "claims") {
            if let Some(name) = get_text(claim, "name").filter(|name| !known.contains(name)) {
                found.push((list, at, index, name));
            }
        }
    }
    for (list, at, index, name) in found {
        ctx.report(
            [
                list.into(),
                at.into(),
                "resources".into(),
                "claims".into(),
                index.into(),
                "name".into(),
            ],
            |path| format!("`{path}` is `{name}`, but the pod has no claim with this name"),
            "add it to the pod's `resourceClaims`",
        );
    }
}

fn check_host_ports(ctx: &mut ObjectContext<'_, '_>) {
    let on_host = get_bool(ctx.node, "hostNetwork") == Some(true);
    let mut seen = BTreeSet::new();
    for (at, container) in indexed_items(ctx.node, "containers") {
        for (index, port) in indexed_items(container, "ports") {
            let Some(host) = get_integer(port, "hostPort").filter(|port| *port != 0) else {
                continue;
            };
            let below: [Step; 5] = [
                "containers".into(),
                at.into(),
                "ports".into(),
                index.into(),
                "hostPort".into(),
            ];
            let protocol = get_text(port, "protocol").unwrap_or("TCP");
            let ip = get_text(port, "hostIP").unwrap_or_default();
            if !seen.insert((protocol, ip, host)) {
                report_duplicate(ctx, below.to_vec(), &host.to_string());
            }
            let own = get_integer(port, "containerPort");
            if on_host && own.is_some_and(|own| own != host) {
                ctx.report(
                    below,
                    |path| {
                        format!(
                            "`{path}` is {host}, but must equal `containerPort` with `hostNetwork`"
                        )
                    },
                    "remove it: with `hostNetwork` the pod uses the host's ports",
                );
            }
        }
    }
}
