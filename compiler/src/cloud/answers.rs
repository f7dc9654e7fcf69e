//! What clouds answer where a name and a number are not enough.

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

/// Why a pool's nodes have no network cards for RDMA, or no networks for GPUDirect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoRdma {
    /// Why, in words.
    pub why: String,
    /// What to write instead.
    pub help: &'static str,
}
