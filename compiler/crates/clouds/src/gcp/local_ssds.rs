//! Local SSDs of Compute Engine machine types, and their use on a node.

use gpuc_model::cloud::NodeDisk;
use gpuc_model::{MachineType, Pool};
use gpuc_schema::config::LocalDisks;

use super::machines;

/// Prefixes of machine types with GPUs whose local SSDs are optional; gpuc adds none.
///
/// Source: cloud.google.com/compute/docs/gpus, the columns of local SSDs (from memory).
const OPTIONAL_SSD_PREFIXES: &[&str] = &["a2-highgpu-", "a2-megagpu-", "g2-"];

/// Parts of names of machine types without GPUs that always have local SSDs.
///
/// Source: cloud.google.com/compute/docs/disks/local-ssd (from memory).
const BUILT_IN_SSD_PARTS: &[&str] = &["lssd", "z3-"];

/// Supported uses of a pool's local SSDs; empty if the machine type has none that are known.
pub(super) fn supported_uses(pool: &Pool) -> &'static [LocalDisks] {
    match pool.machine.get() {
        Some(MachineType::Catalog(machine)) => {
            let disks = machines::find(machine.name).and_then(|row| row.local_ssd_count);
            match disks {
                Some(_) => &[LocalDisks::Scratch, LocalDisks::Block],
                None => &[],
            }
        }
        _ => &[],
    }
}

/// The disk with the writable layers of containers. If GKE combines the local SSDs into one disk, it replaces the boot
/// disk. GKE may also do so with local SSDs that gpuc does not request.
///
/// Source: cloud.google.com/kubernetes-engine/docs/how-to/persistent-volumes/local-ssd (from memory). A disk of 375 GB
/// has 375 GiB.
pub(super) fn node_disk(pool: &Pool) -> Option<NodeDisk> {
    let boot = NodeDisk::boot(pool);
    let written = pool.settings.local_disks;
    let MachineType::Catalog(machine) = pool.machine.get()? else {
        let name = pool.machine_name.as_ref()?;
        let is_built_in = BUILT_IN_SSD_PARTS
            .iter()
            .any(|part| name.value.contains(part));
        return (!is_built_in).then_some(boot);
    };
    if written.is_some_and(|disks| disks.value == LocalDisks::Block) {
        return Some(boot);
    }
    let row = machines::find(machine.name)?;
    let Some(gib) = row.local_ssd_gb else {
        let has_none = machine.name.ends_with("-nolssd")
            || OPTIONAL_SSD_PREFIXES
                .iter()
                .any(|name| machine.name.starts_with(name));
        return (has_none && row.local_ssd_count.is_none()).then_some(boot);
    };
    Some(NodeDisk {
        bytes: boot.bytes.max(u64::from(gib) << 30),
        span: written.map(|disks| disks.span),
    })
}
