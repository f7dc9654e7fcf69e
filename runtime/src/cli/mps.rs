//! `gpuc-runtime mps`.

use std::fs;
use std::future::Future;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail, ensure};
use gpuc_runtime::args::NodeArgs;
use gpuc_runtime::config::NodeConfig;
use gpuc_runtime::device::{self, GPU, Gpu, Inventory};
use gpuc_runtime::host::Roots;
use gpuc_runtime::mps::{
    CHECK_INTERVAL, ControlDaemon, Folders, SharedGpu, limit_commands, run as run_daemon,
    shared_memory,
};
use gpuc_runtime::nvml::{MpsControl, Nvml, Real};
use gpuc_runtime::run::CALL_TIMEOUT;
use gpuc_schema::node_config::NodeSharing;
use tokio::signal::unix::{SignalKind, signal};
use tracing::{info, warn};

use super::{CommandOutcome, deadline, host_roots, load_config, open_driver};

/// Time limit of a change of the compute mode. At the end, all GPUs are changed at the same time, after the control
/// daemon has ended, which takes up to 6 s; the grace period of the pod is 10 s.
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
    let NodeSharing::Mps { root, rename, .. } = &config.sharing else {
        bail!("pool {} does not share its GPUs with MPS", config.pool);
    };
    let resource = if *rename {
        format!("{GPU}.shared")
    } else {
        GPU.to_owned()
    };
    let folders = Folders::for_resource(Path::new(root), &resource);
    // One that was killed has left it.
    folders.remove_ready_file()?;
    let roots = host_roots(args, &config);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the async runtime")?;
    let exclusive = ExclusiveGpus::default();
    let ended = runtime.block_on(async {
        let stopped = stop_signal()?;
        tokio::pin!(stopped);
        let added = exclusive.clone();
        let prepared =
            tokio::task::spawn_blocking(move || prepare(&config, &roots, folders, &added));
        let control = tokio::select! {
            prepared = prepared => prepared??,
            signal = &mut stopped => {
                info!("shutting down: {signal}");
                return Ok(());
            }
        };
        let shutdown = async {
            let signal = stopped.await;
            info!("shutting down: {signal}");
        };
        run_daemon(&control, shutdown).await
    });
    exclusive.reset();
    // A driver call that never returns must not block the shutdown.
    runtime.shutdown_background();
    ended.map(|()| CommandOutcome::Success)
}

/// Returns a future of the first termination signal.
fn stop_signal() -> Result<impl Future<Output = &'static str>> {
    let mut terminated = signal(SignalKind::terminate())?;
    let mut interrupted = signal(SignalKind::interrupt())?;
    let mut quit = signal(SignalKind::quit())?;
    let mut hung_up = signal(SignalKind::hangup())?;
    Ok(async move {
        tokio::select! {
            _ = terminated.recv() => "SIGTERM",
            _ = interrupted.recv() => "SIGINT",
            _ = quit.recv() => "SIGQUIT",
            _ = hung_up.recv() => "SIGHUP",
        }
    })
}

/// Switches the GPUs to exclusive-process mode, and returns the control daemon that serves them.
fn prepare(
    config: &NodeConfig,
    roots: &Roots,
    folders: Folders,
    exclusive: &ExclusiveGpus,
) -> Result<ControlDaemon> {
    let NodeSharing::Mps {
        replicas,
        root,
        refuse_more_than_one,
        ..
    } = &config.sharing
    else {
        unreachable!("the pool shares its GPUs with MPS");
    };
    let driver = open_driver(roots)?;
    let inventory = discover(&driver, roots)?;
    let mut gpus = shared_gpus(&inventory, &config.sharing);
    if gpus.is_empty() {
        bail!("no GPU found to share with MPS");
    }
    // Rejects invalid limits before the first change.
    limits(&gpus, *replicas, *refuse_more_than_one)?;
    gpus.retain(|(index, _)| match exclusive.add(&driver, *index) {
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
    let shared = shared_memory(Path::new(root));
    create_world_writable(&shared).with_context(|| shared.display().to_string())?;
    info!(gpus = gpus.len(), replicas, "sharing GPUs with MPS");
    Ok(ControlDaemon {
        libraries: find_library_folder(&roots.driver, &program),
        program,
        gpus: gpus.iter().map(|(_, gpu)| gpu.uuid.clone()).collect(),
        limits: limits(&gpus, *replicas, *refuse_more_than_one)?,
        folders,
        check_interval: CHECK_INTERVAL,
    })
}

/// Returns the GPUs that can be shared, by index. The daemon lists the others as unhealthy.
fn shared_gpus(inventory: &Inventory, sharing: &NodeSharing) -> Vec<(u32, SharedGpu)> {
    let unusable = device::unusable_gpus(inventory, sharing);
    let responding = inventory.gpus.iter().filter_map(|gpu| match gpu {
        Gpu::Responding { info, .. } => match unusable.get(&info.uuid) {
            None => Some(info),
            Some(reason) => {
                warn!("skipped: {reason}");
                None
            }
        },
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

/// The GPUs in exclusive-process mode. Clones share them.
#[derive(Clone, Default)]
struct ExclusiveGpus(Arc<Mutex<Changes>>);

#[derive(Default)]
struct Changes {
    driver: Option<Arc<Real>>,
    indexes: Vec<u32>,
    /// Whether the modes have been reset: no other GPU is changed.
    is_ended: bool,
}

impl ExclusiveGpus {
    /// Switches the mode on.
    fn add(&self, driver: &Arc<Real>, index: u32) -> Result<()> {
        {
            let mut changes = self.lock();
            ensure!(!changes.is_ended, "shutting down");
            changes.driver = Some(Arc::clone(driver));
            // Also for a call that does not answer, which may still take effect.
            changes.indexes.push(index);
        }
        set_mode(driver, index, true)
    }

    /// Switches the mode off for all GPUs at the same time: one that hangs does not delay the others.
    fn reset(&self) {
        let (driver, indexes) = {
            let mut changes = self.lock();
            changes.is_ended = true;
            (changes.driver.take(), std::mem::take(&mut changes.indexes))
        };
        let Some(driver) = driver else {
            return;
        };
        let resets: Vec<_> = indexes
            .into_iter()
            .map(|index| {
                let driver = Arc::clone(&driver);
                (
                    index,
                    thread::spawn(move || set_mode(&driver, index, false)),
                )
            })
            .collect();
        for (index, reset) in resets {
            let result = reset.join().unwrap_or_else(|_| Err(anyhow!("a bug")));
            if let Err(error) = result {
                warn!(
                    "cannot reset the compute mode of GPU {index}, it may stay in exclusive-process mode until \
                     `nvidia-smi -i {index} -c 0`: {error:#}"
                );
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Changes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn set_mode(driver: &Arc<Real>, index: u32, on: bool) -> Result<()> {
    let driver = Arc::clone(driver);
    let set = move || driver.set_exclusive_process(index, on);
    Ok(deadline::run_within(
        MODE_TIMEOUT,
        &format!("GPU {index}"),
        set,
    )??)
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
