//! The input of the resolution.

use std::collections::BTreeMap;

use gpuc_schema::config::GpuCluster;

use crate::Registry;
use crate::cloud::Cloud;

/// Machine types that gpuc selected in earlier runs, by pool. A selection that still fits is kept, so that an extended
/// catalog does not replace nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choices {
    /// The machine type of each pool without `machine`.
    pub machines: BTreeMap<String, String>,
}

/// The input of the resolution of a pool.
#[derive(Clone, Copy)]
pub(super) struct Inputs<'i> {
    /// The file.
    pub(super) config: &'i GpuCluster,
    /// The clouds and rules.
    pub(super) registry: &'static Registry,
    /// The cluster's cloud.
    pub(super) cloud: &'static dyn Cloud,
    /// The machine types of an earlier build.
    pub(super) choices: &'i Choices,
}
