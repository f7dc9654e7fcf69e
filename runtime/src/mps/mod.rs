//! The CUDA Multi-Process Service (MPS): the control daemon with which processes of several containers share one GPU.
//!
//! `gpuc-runtime mps` runs in a separate container next to `gpuc-runtime serve`, because it needs more permissions.
//! They share a directory with the daemon's pipes and its readiness file.

mod daemon;
mod limits;

use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};

pub use daemon::{CHECK_INTERVAL, ControlDaemon, run};
pub use limits::{LimitError, SharedGpu, limit_commands};

/// The directories of the daemon of one resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folders {
    /// The daemon's pipes: `CUDA_MPS_PIPE_DIRECTORY`, for the daemon and for its clients.
    pub pipe: PathBuf,
    /// Its logs: `CUDA_MPS_LOG_DIRECTORY`.
    pub log: PathBuf,
    /// Exists while the daemon responds, with the UUIDs of its GPUs. The process that wrote it holds a lock on it:
    /// without one, the process was killed.
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

    /// Deletes the readiness file.
    ///
    /// # Errors
    ///
    /// The file cannot be deleted.
    pub fn remove_ready_file(&self) -> Result<()> {
        match fs::remove_file(&self.ready) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(error).with_context(|| format!("cannot remove {}", self.ready.display()))
            }
            _ => Ok(()),
        }
    }

    /// Writes the readiness file with the UUIDs of these GPUs. It is valid until the returned file is closed.
    ///
    /// # Errors
    ///
    /// The file cannot be written or locked.
    pub fn write_ready_file(&self, gpus: &[String]) -> Result<File> {
        let unfinished = self.ready.with_extension("new");
        let write = || {
            let mut file = File::create(&unfinished)?;
            file.lock()?;
            file.write_all(gpus.join("\n").as_bytes())?;
            fs::rename(&unfinished, &self.ready)?;
            Ok(file)
        };
        write()
            .map_err(|error: io::Error| anyhow!("cannot write {}: {error}", self.ready.display()))
    }
}

/// Returns the UUIDs of the GPUs that the daemon of a resource serves, or `None` if it is not ready.
pub fn served_gpus(root: &Path, resource: &str) -> Option<BTreeSet<String>> {
    let mut file = File::open(Folders::for_resource(root, resource).ready).ok()?;
    if !matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)) {
        return None;
    }
    let mut list = String::new();
    file.read_to_string(&mut list).ok()?;
    Some(list.lines().map(str::to_owned).collect())
}

/// Returns the shared memory of the daemon and its clients: `/dev/shm` in their containers.
pub fn shared_memory(root: &Path) -> PathBuf {
    root.join("shm")
}
