//! `gpuc-runtime mps`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use gpuc_runtime::args::NodeArgs;
use gpuc_runtime::device::{self, Gpu, Inventory};
use gpuc_runtime::host::Roots;
use gpuc_runtime::mps::{
    ControlDaemon, Folders, SharedGpu, limit_commands, run as run_daemon, shared_memory,
};
use gpuc_runtime::nvml::{MpsControl, Nvml, Real};
use gpuc_runtime::run::CALL_TIMEOUT;
use gpuc_schema::node_config::NodeSharing;
use tokio::signal::unix::{SignalKind, signal};
use tracing::{info, warn};

use super::{CommandOutcome, deadline, host_roots, load_config, open_driver};

/// Time limit of a change of the compute mode. The grace period of the pod is 10 s, for all GPUs together.
const MODE_TIMEOUT: Duration = Duration::from_secs(2);

/// The program of the control daemon.
const PROGRAM: &str = "nvidia-cuda-mps-control";

/// Directories of the driver's programs and libraries, relative to the driver root.
const PROGRAM_FOLDERS: &[&str] = &["usr/bin", "bin", "usr/local/bin"];
const LIBRARY_FOLDERS: &[&str] = &[
    "usr/lib64",
    "usr/lib/x86_64-linux-gnu",
    "usr/lib/aarch64-linux-gnu",
    "lib64",
];

/// Runs the control daemon until a termination signal. Every GPU is in exclusive-process mode meanwhile: only the MPS
/// server can open it, so that no client bypasses its limits.
pub(crate) fn run(args: &NodeArgs) -> Result<CommandOutcome> {
    let config = load_config(args)?;
    let NodeSharing::Mps {
        replicas,
        root,
        refuse_more_than_one,
        ..
    } = &config.sharing
    else {
        bail!("pool {} does not share its GPUs with MPS", config.pool);
    };
    let roots = host_roots(args, &config);
    let driver = open_driver(&roots)?;
    let inventory = discover(&driver, &roots)?;
    let advertised = device::advertised_resources(&inventory, &config.sharing);
    let Some(resource) = advertised.first() else {
        bail!("no GPU found to share with MPS");
    };
    let mut gpus = shared_gpus(&inventory);
    // Rejects invalid limits before the first change.
    limits(&gpus, *replicas, *refuse_more_than_one)?;
    let mut exclusive = ExclusiveGpus {
        driver,
        indexes: Vec::new(),
    };
    gpus.retain(|(index, _)| match exclusive.add(*index) {
        Ok(()) => true,
        Err(error) => {
            warn!("GPU {index} is skipped: cannot set exclusive-process mode: {error:#}");
            false
        }
    });
    if gpus.is_empty() {
        bail!("none of the GPUs can be shared with MPS");
    }
    let program = find_program(&roots.driver);
    let control = ControlDaemon {
        libraries: find_library_folder(&roots.driver, &program),
        program,
        gpus: gpus.iter().map(|(_, gpu)| gpu.uuid.clone()).collect(),
        limits: limits(&gpus, *replicas, *refuse_more_than_one)?,
        folders: Folders::for_resource(Path::new(root), &resource.resource),
    };
    let shared = shared_memory(Path::new(root));
    create_world_writable(&shared).with_context(|| shared.display().to_string())?;
    info!(gpus = gpus.len(), replicas, "sharing GPUs with MPS");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the async runtime")?;
    let ended = runtime.block_on(async {
        let mut terminated = signal(SignalKind::terminate())?;
        let mut interrupted = signal(SignalKind::interrupt())?;
        let shutdown = async {
            tokio::select! {
                _ = terminated.recv() => {}
                _ = interrupted.recv() => {}
            }
        };
        run_daemon(&control, shutdown).await
    });
    drop(exclusive);
    ended.map(|()| CommandOutcome::Success)
}

/// Returns the GPUs that respond, by index. The daemon lists the others as unhealthy.
fn shared_gpus(inventory: &Inventory) -> Vec<(u32, SharedGpu)> {
    let responding = inventory.gpus.iter().filter_map(|gpu| match gpu {
        Gpu::Responding { info, .. } => Some(info),
        Gpu::Unresponsive { index, error, .. } => {
            warn!("GPU {index} is not responding and is skipped: {error}");
            None
        }
    });
    let to_shared = responding.map(|info| {
        let shared_gpu = SharedGpu {
            uuid: info.uuid.clone(),
            memory_bytes: info.memory_bytes,
            compute_capability: info.compute_capability,
        };
        (info.index, shared_gpu)
    });
    to_shared.collect()
}

/// Returns the commands that set the limits of the clients.
fn limits(
    gpus: &[(u32, SharedGpu)],
    replicas: u32,
    refuse_more_than_one: bool,
) -> Result<Vec<String>> {
    let gpus: Vec<_> = gpus.iter().map(|(_, gpu)| gpu.clone()).collect();
    Ok(limit_commands(&gpus, replicas, refuse_more_than_one)?)
}

/// GPUs in exclusive-process mode, which ends on drop.
struct ExclusiveGpus {
    driver: Arc<Real>,
    indexes: Vec<u32>,
}

impl ExclusiveGpus {
    /// Switches the mode on.
    fn add(&mut self, index: u32) -> Result<()> {
        // Also after a call that has not answered, which may still take effect.
        self.indexes.push(index);
        self.set_mode(index, true)
    }

    fn set_mode(&self, index: u32, on: bool) -> Result<()> {
        let driver = Arc::clone(&self.driver);
        let set = move || driver.set_exclusive_process(index, on);
        Ok(deadline::run_within(
            MODE_TIMEOUT,
            &format!("GPU {index}"),
            set,
        )??)
    }
}

impl Drop for ExclusiveGpus {
    fn drop(&mut self) {
        for index in &self.indexes {
            if let Err(error) = self.set_mode(*index, false) {
                warn!(
                    "cannot reset the compute mode of GPU {index}, it may stay in exclusive-process mode: {error:#}"
                );
            }
        }
    }
}

/// Discovers the GPUs.
fn discover(driver: &Arc<Real>, roots: &Roots) -> Result<Inventory> {
    let driver: Arc<dyn Nvml> = driver.clone();
    let roots = roots.clone();
    deadline::query(&driver, CALL_TIMEOUT, move |driver| {
        device::discover(driver, &roots, None)
    })
}

/// Finds the program. NVIDIA's container runtime puts it on the `PATH`; otherwise it is below the driver root.
fn find_program(driver: &Path) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|folder| folder.join(PROGRAM));
    let below = PROGRAM_FOLDERS
        .iter()
        .map(|folder| driver.join(folder).join(PROGRAM));
    on_path
        .chain(below)
        .find(|program| program.is_file())
        .unwrap_or_else(|| PROGRAM.into())
}

/// Returns a directory that contains only the driver's libraries, as on GKE. A directory with a C library belongs to
/// another system, whose libraries would break programs of this one. For a program on the `PATH`, no directory is
/// needed.
fn find_library_folder(driver: &Path, program: &Path) -> Option<PathBuf> {
    let folders = LIBRARY_FOLDERS.iter().map(|folder| driver.join(folder));
    let mut folders = folders.filter(|folder| !folder.join("libc.so.6").exists());
    folders.find(|folder| program.starts_with(driver) && folder.join("libcuda.so.1").exists())
}

/// Creates a world-writable directory with the sticky bit, like `/dev/shm`: clients run as any user.
fn create_world_writable(folder: &Path) -> std::io::Result<()> {
    fs::create_dir_all(folder)?;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o1777))
}
