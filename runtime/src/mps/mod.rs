//! The CUDA Multi-Process Service (MPS): the control daemon with which processes of several containers share one GPU.
//!
//! `gpuc-runtime mps` runs in a separate container next to `gpuc-runtime serve`, because it needs more permissions.
//! They share a directory with the daemon's pipes and its readiness file.

mod daemon;
mod limits;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

pub use daemon::{ControlDaemon, run};
pub use limits::{LimitError, SharedGpu, limit_commands};

/// The directories of the daemon of one resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folders {
    /// The daemon's pipes: `CUDA_MPS_PIPE_DIRECTORY`, for the daemon and for its clients.
    pub pipe: PathBuf,
    /// Its logs: `CUDA_MPS_LOG_DIRECTORY`.
    pub log: PathBuf,
    /// Exists while the daemon responds, with the UUIDs of its GPUs.
    pub ready: PathBuf,
}

impl Folders {
    /// Returns the directories of a resource below `root`: `/run/gpuc/mps/nvidia.com/gpu/pipe`.
    pub fn for_resource(root: &Path, resource: &str) -> Self {
        let folder = root.join(resource);
        Self {
            pipe: folder.join("pipe"),
            log: folder.join("log"),
            ready: folder.join("ready"),
        }
    }
}

/// Returns the UUIDs of the GPUs that the daemon of a resource serves, or `None` if it is not ready.
pub fn served_gpus(root: &Path, resource: &str) -> Option<BTreeSet<String>> {
    let list = fs::read_to_string(Folders::for_resource(root, resource).ready).ok()?;
    Some(list.lines().map(str::to_owned).collect())
}

/// Returns the shared memory of the daemon and its clients: `/dev/shm` in their containers.
pub fn shared_memory(root: &Path) -> PathBuf {
    root.join("shm")
}
