//! References within a pod: names must be unique, and referenced names must exist.

use std::collections::BTreeSet;

use gpuc_syntax::diag::words::nearest;
use gpuc_syntax::node::Node;

use super::ObjectContext;
use super::field_path::Step;
use super::scalar::{get, items, switch, text, whole};

/// Sources: kubernetes `pkg/apis/core/validation/validation.go`, `ValidateVolumes`, `ValidateVolumeMounts`,
/// `ValidateVolumeDevices`, `validateContainers`, `validateInitContainers`, `validateContainerPorts`,
/// `validatePodResourceClaims`, `validatePodHostNetworkDeps`, `AccumulateUniqueHostPorts`.
pub(super) fn validate(ctx: &mut ObjectContext<'_, '_>) {
    if ctx.name == "Container" {
        once(ctx, "ports", "name");
        once(ctx, "volumeMounts", "mountPath");
        once(ctx, "volumeDevices", "name");
        once(ctx, "volumeDevices", "devicePath");
        return;
    }
    if ctx.name != "PodSpec" {
        return;
    }
    once(ctx, "volumes", "name");
    once(ctx, "resourceClaims", "name");
    once(ctx, "schedulingGates", "name");
    containers(ctx);
    host_ports(ctx);
    if ctx.is_whole {
        mounts(ctx);
        claims(ctx);
    }
}

/// The names of a list's items must be unique.
fn once(ctx: &mut ObjectContext<'_, '_>, list: &'static str, key: &'static str) {
    let mut seen = BTreeSet::new();
    for (index, item) in items(ctx.node, list) {
        let Some(name) = text(item, key) else {
            continue;
        };
        if !seen.insert(name) {
            twice(ctx, vec![list.into(), index.into(), key.into()], name);
        }
    }
}

fn twice(ctx: &mut ObjectContext<'_, '_>, below: Vec<Step>, name: &str) {
    ctx.refuse(
        below,
        |path| format!("`{path}` is `{name}`, which is already used"),
        "remove one of the two, or write another",
    );
}

const LISTS: &[&str] = &["containers", "initContainers"];

fn containers(ctx: &mut ObjectContext<'_, '_>) {
    let mut seen = BTreeSet::new();
    for list in LISTS {
        for (index, container) in items(ctx.node, list) {
            if let Some(name) = text(container, "name")
                && !seen.insert(name)
            {
                twice(ctx, vec![(*list).into(), index.into(), "name".into()], name);
            }
        }
    }
}

/// All containers with their paths.
fn each(pod: &Node) -> impl Iterator<Item = (&'static str, usize, &Node)> {
    LISTS.iter().flat_map(move |list| {
        items(pod, list).map(move |(index, container)| (*list, index, container))
    })
}

fn mounts(ctx: &mut ObjectContext<'_, '_>) {
    let volumes = items(ctx.node, "volumes").filter_map(|(_, volume)| text(volume, "name"));
    // StatefulSets and LeaderWorkerSets add volumes, and so do JobSets with policies.
    let around = || ctx.above.iter().map(|(_, node)| *node);
    let policies = around().flat_map(|it| items(it, "volumeClaimPolicies"));
    let claims = around().flat_map(|it| items(it, "volumeClaimTemplates"));
    let claims = claims.chain(policies.flat_map(|(_, policy)| items(policy, "templates")));
    let claims = claims.filter_map(|(_, claim)| text(claim.get("metadata")?, "name"));
    let known: BTreeSet<_> = volumes.chain(claims).collect();
    // A name that is filled in later can be any name.
    let mut open = items(ctx.node, "volumes");
    if open.any(|(_, volume)| get(volume, "name").is_some() && text(volume, "name").is_none()) {
        return;
    }
    devices(ctx);
    for (list, at, container) in each(ctx.node) {
        for mounted in ["volumeMounts", "volumeDevices"] {
            for (index, mount) in items(container, mounted) {
                let Some(name) = text(mount, "name").filter(|name| !known.contains(name)) else {
                    continue;
                };
                let help = match nearest(name, known.iter().copied()) {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None => {
                        format!("add a volume `{name}` to the pod's `volumes`, or remove the mount")
                    }
                };
                ctx.refuse(
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
fn devices(ctx: &mut ObjectContext<'_, '_>) {
    let claims = ["persistentVolumeClaim", "ephemeral"];
    let others = items(ctx.node, "volumes")
        .filter(|(_, it)| claims.iter().all(|key| get(it, key).is_none()));
    let others: BTreeSet<_> = others
        .filter_map(|(_, volume)| text(volume, "name"))
        .collect();
    for (list, at, container) in each(ctx.node) {
        let mounted = items(container, "volumeMounts").filter_map(|(_, mount)| text(mount, "name"));
        let mounted: BTreeSet<_> = mounted.collect();
        for (index, device) in items(container, "volumeDevices") {
            let Some(name) = text(device, "name") else {
                continue;
            };
            let problem = if others.contains(name) {
                "not a `persistentVolumeClaim`"
            } else if mounted.contains(name) {
                "also in `volumeMounts`"
            } else {
                continue;
            };
            ctx.refuse(
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

fn claims(ctx: &mut ObjectContext<'_, '_>) {
    let known = items(ctx.node, "resourceClaims").filter_map(|(_, claim)| text(claim, "name"));
    let known: BTreeSet<_> = known.collect();
    let mut found = Vec::new();
    for (list, at, container) in each(ctx.node) {
        let Some(resources) = container.get("resources") else {
            continue;
        };
        for (index, claim) in items(resources, "claims") {
            if let Some(name) = text(claim, "name").filter(|name| !known.contains(name)) {
                found.push((list, at, index, name));
            }
        }
    }
    for (list, at, index, name) in found {
        ctx.refuse(
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

fn host_ports(ctx: &mut ObjectContext<'_, '_>) {
    let on_host = switch(ctx.node, "hostNetwork") == Some(true);
    let mut seen = BTreeSet::new();
    for (at, container) in items(ctx.node, "containers") {
        for (index, port) in items(container, "ports") {
            let Some(host) = whole(port, "hostPort").filter(|port| *port != 0) else {
                continue;
            };
            let below: [Step; 5] = [
                "containers".into(),
                at.into(),
                "ports".into(),
                index.into(),
                "hostPort".into(),
            ];
            let protocol = text(port, "protocol").unwrap_or("TCP");
            let ip = text(port, "hostIP").unwrap_or_default();
            if !seen.insert((protocol, ip, host)) {
                twice(ctx, below.to_vec(), &host.to_string());
            }
            let own = whole(port, "containerPort");
            if on_host && own.is_some_and(|own| own != host) {
                ctx.refuse(
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
