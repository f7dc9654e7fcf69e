//! Claims of volumes.

use super::Here;
use super::amounts::amount;
use super::place::Step;
use super::read::{Read, get, items, read};

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `ValidatePersistentVolumeClaimSpec`.
pub(super) fn look(here: &mut Here<'_, '_>) {
    if here.name == "PersistentVolumeClaimSpec" {
        modes(here);
        size(here);
    }
}

/// The mode that allows no other beside it.
const ALONE: &str = "ReadWriteOncePod";

fn modes(here: &mut Here<'_, '_>) {
    let modes: Vec<_> = items(here.node, "accessModes")
        .map(|it| read(it.1))
        .collect();
    let is_list = here
        .node
        .get("accessModes")
        .is_none_or(|it| read(it) == Read::List);
    if modes.is_empty() && here.is_whole && is_list {
        let below = here
            .node
            .get("accessModes")
            .map(|_| Step::from("accessModes"));
        here.refuse(
            below,
            |path| {
                let path = path.trim_end_matches(".accessModes");
                format!("`{path}` has no `accessModes`")
            },
            "write one, such as `accessModes: [ReadWriteOnce]`",
        );
    }
    let alone = modes.iter().position(|mode| *mode == Read::Text(ALONE));
    let is_other = |mode: &Read<'_>| !matches!(mode, Read::Text(ALONE) | Read::Open);
    if let Some(index) = alone.filter(|_| modes.iter().any(is_other)) {
        here.refuse(
            [Step::from("accessModes"), Step::from(index)],
            |path| format!("`{path}` is `{ALONE}`, and cannot be with others"),
            "remove it, or the others",
        );
    }
}

fn size(here: &mut Here<'_, '_>) {
    let resources = get(here.node, "resources");
    let requests = resources.and_then(|it| get(it, "requests"));
    let storage = requests.and_then(|it| get(it, "storage"));
    if let Some((0, written)) = storage.and_then(amount) {
        here.refuse(
            ["resources", "requests", "storage"].map(Step::from),
            |path| format!("`{path}` is `{written}`, and has to be more than 0"),
            "write how much is wanted, such as `100Gi`",
        );
    }
    // Below a key that is misspelt it may be said.
    let is_elsewhere = match (resources, requests) {
        (Some(resources), None) => resources.entries().iter().any(|it| it.key != "limits"),
        (_, Some(requests)) => {
            !matches!(read(requests), Read::Mapping) || {
                let mut entries = requests.entries().iter();
                entries.any(|entry| entry.key.contains("{{"))
            }
        }
        (None, None) => false,
    };
    let is_open = resources.is_some_and(|it| !matches!(read(it), Read::Mapping));
    if here.is_whole && storage.is_none() && !is_elsewhere && !is_open {
        let way = [resources.map(|_| "resources"), requests.map(|_| "requests")];
        here.refuse(
            way.into_iter().flatten().map(Step::from),
            |path| {
                let path = path
                    .trim_end_matches(".requests")
                    .trim_end_matches(".resources");
                format!("`{path}` has no `resources.requests.storage`")
            },
            "write how much is wanted, such as `resources: {requests: {storage: 100Gi}}`",
        );
    }
}
