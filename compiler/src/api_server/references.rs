//! Names within a pod: each once, and each that is used is there.

use std::collections::BTreeSet;

use super::Here;
use super::place::Step;
use super::read::{get, items, switch, text, whole};
use crate::diag::words::nearest;
use crate::node::Node;

/// Sources: kubernetes `pkg/apis/core/validation/validation.go`, `ValidateVolumes`, `ValidateVolumeMounts`,
/// `ValidateVolumeDevices`, `validateContainers`, `validateInitContainers`, `validateContainerPorts`,
/// `validatePodResourceClaims`, `validatePodHostNetworkDeps`, `AccumulateUniqueHostPorts`.
pub(super) fn look(here: &mut Here<'_, '_>) {
    if here.name == "Container" {
        once(here, "ports", "name");
        once(here, "volumeMounts", "mountPath");
        once(here, "volumeDevices", "name");
        once(here, "volumeDevices", "devicePath");
        return;
    }
    if here.name != "PodSpec" {
        return;
    }
    once(here, "volumes", "name");
    once(here, "resourceClaims", "name");
    once(here, "schedulingGates", "name");
    containers(here);
    host_ports(here);
    if here.is_whole {
        mounts(here);
        claims(here);
    }
}

/// Every item of a list has another such name.
fn once(here: &mut Here<'_, '_>, list: &'static str, key: &'static str) {
    let mut seen = BTreeSet::new();
    for (index, item) in items(here.node, list) {
        let Some(name) = text(item, key) else {
            continue;
        };
        if !seen.insert(name) {
            twice(here, vec![list.into(), index.into(), key.into()], name);
        }
    }
}

fn twice(here: &mut Here<'_, '_>, below: Vec<Step>, name: &str) {
    here.refuse(
        below,
        |path| format!("`{path}` is `{name}`, which is there already"),
        "remove one of the two, or write another",
    );
}

const LISTS: &[&str] = &["containers", "initContainers"];

fn containers(here: &mut Here<'_, '_>) {
    let mut seen = BTreeSet::new();
    for list in LISTS {
        for (index, container) in items(here.node, list) {
            if let Some(name) = text(container, "name")
                && !seen.insert(name)
            {
                twice(
                    here,
                    vec![(*list).into(), index.into(), "name".into()],
                    name,
                );
            }
        }
    }
}

/// Every container with its way.
fn each(pod: &Node) -> impl Iterator<Item = (&'static str, usize, &Node)> {
    LISTS.iter().flat_map(move |list| {
        items(pod, list).map(move |(index, container)| (*list, index, container))
    })
}

fn mounts(here: &mut Here<'_, '_>) {
    let volumes = items(here.node, "volumes").filter_map(|(_, volume)| text(volume, "name"));
    // StatefulSets and LeaderWorkerSets bring volumes, and so do JobSets by policies.
    let around = || here.above.iter().map(|(_, node)| *node);
    let policies = around().flat_map(|it| items(it, "volumeClaimPolicies"));
    let claims = around().flat_map(|it| items(it, "volumeClaimTemplates"));
    let claims = claims.chain(policies.flat_map(|(_, policy)| items(policy, "templates")));
    let claims = claims.filter_map(|(_, claim)| text(claim.get("metadata")?, "name"));
    let known: BTreeSet<_> = volumes.chain(claims).collect();
    // A name that is filled in later may be any.
    let mut open = items(here.node, "volumes");
    if open.any(|(_, volume)| get(volume, "name").is_some() && text(volume, "name").is_none()) {
        return;
    }
    devices(here);
    for (list, at, container) in each(here.node) {
        for mounted in ["volumeMounts", "volumeDevices"] {
            for (index, mount) in items(container, mounted) {
                let Some(name) = text(mount, "name").filter(|name| !known.contains(name)) else {
                    continue;
                };
                let help = match nearest(name, known.iter().copied()) {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None => format!(
                        "write a volume `{name}` into the pod's `volumes`, or remove the mount"
                    ),
                };
                here.refuse(
                    [
                        list.into(),
                        at.into(),
                        mounted.into(),
                        index.into(),
                        "name".into(),
                    ],
                    |path| format!("`{path}` is `{name}`, and the pod has no volume of this name"),
                    help,
                );
            }
        }
    }
}

/// What is a device of a container is a claim, and no folder of it too.
fn devices(here: &mut Here<'_, '_>) {
    let claims = ["persistentVolumeClaim", "ephemeral"];
    let others = items(here.node, "volumes")
        .filter(|(_, it)| claims.iter().all(|key| get(it, key).is_none()));
    let others: BTreeSet<_> = others
        .filter_map(|(_, volume)| text(volume, "name"))
        .collect();
    for (list, at, container) in each(here.node) {
        let mounted = items(container, "volumeMounts").filter_map(|(_, mount)| text(mount, "name"));
        let mounted: BTreeSet<_> = mounted.collect();
        for (index, device) in items(container, "volumeDevices") {
            let Some(name) = text(device, "name") else {
                continue;
            };
            let problem = if others.contains(name) {
                "no claim of a volume"
            } else if mounted.contains(name) {
                "among `volumeMounts` too"
            } else {
                continue;
            };
            here.refuse(
                [
                    list.into(),
                    at.into(),
                    "volumeDevices".into(),
                    index.into(),
                    "name".into(),
                ],
                |path| format!("`{path}` is `{name}`, which is {problem}"),
                "write the name of a `persistentVolumeClaim` that is a device alone",
            );
        }
    }
}

fn claims(here: &mut Here<'_, '_>) {
    let known = items(here.node, "resourceClaims").filter_map(|(_, claim)| text(claim, "name"));
    let known: BTreeSet<_> = known.collect();
    let mut found = Vec::new();
    for (list, at, container) in each(here.node) {
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
        here.refuse(
            [
                list.into(),
                at.into(),
                "resources".into(),
                "claims".into(),
                index.into(),
                "name".into(),
            ],
            |path| format!("`{path}` is `{name}`, and the pod has no claim of this name"),
            "write it into the pod's `resourceClaims`",
        );
    }
}

fn host_ports(here: &mut Here<'_, '_>) {
    let on_host = switch(here.node, "hostNetwork") == Some(true);
    let mut seen = BTreeSet::new();
    for (at, container) in items(here.node, "containers") {
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
                twice(here, below.to_vec(), &host.to_string());
            }
            let own = whole(port, "containerPort");
            if on_host && own.is_some_and(|own| own != host) {
                here.refuse(
                    below,
                    |path| {
                        format!(
                            "`{path}` is {host}, and has to be the container's with `hostNetwork`"
                        )
                    },
                    "remove it: the pod has the host's ports",
                );
            }
        }
    }
}
