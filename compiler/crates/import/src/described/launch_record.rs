//! What only the launch template of a node group of EKS has: gpuc records it in tags when it creates a node group.
//!
//! Source: `clouds/src/aws/tags.rs`, `launch_template_record`.

use crate::json::{source, text};
use crate::tree::Item;

use super::{Described, Keys};

/// The prefix of the tags.
const PREFIX: &str = "gpuc.dev/";

/// The keys that only a launch template has, and the tag in which gpuc records each.
const SETTINGS: &[(&str, &str)] = &[
    ("capacity", "reservation"),
    ("network.efa", "efa"),
    ("network.placement", "placement-group"),
    ("nodeImage", "image"),
    ("diskGiB", "disk-gib"),
    ("localDisks", "local-disks"),
    ("maxPods", "max-pods"),
];

/// A value of the record.
pub(crate) fn recorded<'v>(value: &'v serde_json::Value, name: &str) -> Option<&'v str> {
    text(value.get("tags")?.get(format!("{PREFIX}{name}"))?, "")
}

/// Sets the keys of the record, or reports that the launch template may set them.
pub(super) fn add(described: &mut Described<'_>, keys: &mut Keys) {
    let value = described.pool.value;
    if recorded(value, "disk-gib").is_none() {
        for (key, _) in SETTINGS {
            let template = "the launch template may set it; gpuc does not read launch templates";
            described.leave_out(key, "/launchTemplate", template);
        }
        return;
    }
    let object = described.pool.object();
    let of_record = |name: &str| {
        let found = recorded(value, name)?;
        Some((
            found,
            source(&object, format!("tags[{PREFIX}{name}]"), found),
        ))
    };
    let number_of = |name: &str| {
        let (found, at) = of_record(name)?;
        Some(Item::number(found.parse::<u32>().ok()?).sure(at))
    };
    let disk = number_of("disk-gib");
    keys.disk = disk.filter(|item| item.value != crate::tree::Value::Plain("100".to_owned()));
    keys.max_pods = number_of("max-pods");
    if let Some((_, at)) = of_record("efa") {
        keys.network.push("efa", Item::map::<String>([]).sure(at));
    }
    if let Some((group, at)) = of_record("placement-group") {
        let group = Item::single("group", Item::text(group).sure(at));
        keys.network.push("placement", group);
    } else if recorded(value, "place").is_some_and(|place| !place.contains(' ')) {
        let reason =
            "a group for compact placement, which eksctl creates, is only in the launch template";
        described.leave_out("network.placement", "/launchTemplate", reason);
    }
    if let Some((disks, at)) = of_record("local-disks") {
        keys.local_disks = Some(Item::text(disks).sure(at));
    }
    match text(value, "/capacityType") {
        Some("CAPACITY_BLOCK") => {
            let reason = "the end of the Capacity Block is not in the node group: add `capacity`";
            described.leave_out("capacity", "/capacityType", reason);
        }
        _ => {
            if let Some((id, at)) = of_record("reservation") {
                let id = Item::single("id", Item::text(id).sure(at));
                keys.capacity = Some(Item::single("reservation", id));
            }
        }
    }
    match of_record("place") {
        Some(("subnets", _)) => {}
        place => {
            keys.subnets.clear();
            if let Some((zones, at)) = place {
                let zones = zones
                    .split(' ')
                    .map(|zone| Item::text(zone).sure(at.clone()));
                keys.zones = zones.collect();
            }
        }
    }
}
