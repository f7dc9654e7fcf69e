//! What clouds answer where a name and a number are not enough.

use gpuc_schema::Span;

use crate::model::Pool;

/// How large a disk may be, in GiB.
#[derive(Clone, Copy, Debug)]
pub struct DiskRange {
    /// The smallest.
    pub least: u32,
    /// Why none is smaller, in words.
    pub smaller: &'static str,
    /// The largest.
    pub most: u32,
    /// Why none is larger, in words.
    pub larger: &'static str,
}

/// The disk of a node that holds images, what containers write, logs and `emptyDir` volumes.
#[derive(Clone, Copy, Debug)]
pub struct NodeDisk {
    /// How many bytes it has, before the file system and what Kubernetes keeps take some: no pod can ask for more.
    pub bytes: u64,
    /// Where the user says which disk that is, or how large.
    pub said: Option<Span>,
}

impl NodeDisk {
    /// The boot disk that a pool asks for.
    pub(super) fn boot(pool: &Pool) -> Self {
        let disk = pool.written.disk_gib;
        Self {
            bytes: u64::from(disk.value) << 30,
            said: disk.span.is_written().then_some(disk.span),
        }
    }
}

/// Why a pool's nodes have no network cards for RDMA, or no networks for GPUDirect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoRdma {
    /// Why, in words.
    pub why: String,
    /// What to write instead.
    pub help: &'static str,
}
