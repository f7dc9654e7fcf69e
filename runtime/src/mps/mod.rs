//! CUDA's Multi-Process Service: the control daemon that lets processes of several containers use one GPU side by side.
//!
//! `gpuc-runtime mps` runs beside `gpuc-runtime serve` in a container of its own, because it needs more rights. They
//! meet in a folder: the daemon's pipes, and a file that is there while the daemon answers.

mod daemon;
mod limits;

use std::path::{Path, PathBuf};

pub use daemon::{Control, run};
pub use limits::{Card, LimitError, limits};

/// The folders of the daemon that serves one resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folders {
    /// The daemon's pipes: `CUDA_MPS_PIPE_DIRECTORY`, for the daemon and for its clients.
    pub pipe: PathBuf,
    /// Its logs: `CUDA_MPS_LOG_DIRECTORY`.
    pub log: PathBuf,
    /// There while the daemon answers.
    pub ready: PathBuf,
}

impl Folders {
    /// Those below `root` for a resource: `/run/gpuc/mps/nvidia.com/gpu/pipe`.
    pub fn of(root: &Path, resource: &str) -> Self {
        let folder = root.join(resource);
        Self {
            pipe: folder.join("pipe"),
            log: folder.join("log"),
            ready: folder.join("ready"),
        }
    }
}

/// Whether the daemon for a resource answers.
pub fn is_ready(root: &Path, resource: &str) -> bool {
    Folders::of(root, resource).ready.exists()
}

/// Shared memory of the daemon and its clients: `/dev/shm` in their containers.
pub fn shared_memory(root: &Path) -> PathBuf {
    root.join("shm")
}
