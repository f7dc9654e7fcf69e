//! The lifecycle of the control daemon: started, configured, monitored, and restarted after a failure.

use std::fs;
use std::future::Future;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, Command};
use tracing::{error, info, warn};

use super::Folders;

/// Timeout of the first response of a daemon.
const START_TIMEOUT: Duration = Duration::from_secs(10);

/// Timeout of a response to a command.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(3);

/// Timeout of the end of a daemon that has accepted `quit`. Together with [`COMMAND_TIMEOUT`], it is less than the
/// grace period of the pod, which is 10 s.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(3);

/// A command that changes nothing.
const QUESTION: &str = "get_default_active_thread_percentage";

/// Interval of the checks whether the daemon responds.
pub const CHECK_INTERVAL: Duration = Duration::from_secs(10);

/// The number of failed checks that are only logged: a restart of the daemon ends its clients.
const MAX_FAILURES: u32 = 2;

/// Backoff before a restart: initial and maximum.
const BACKOFF: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// A daemon that has run for this time counts as started successfully.
const STABLE_AFTER: Duration = Duration::from_mins(1);

/// The settings of a control daemon.
#[derive(Clone, Debug)]
pub struct ControlDaemon {
    /// The path of `nvidia-cuda-mps-control`.
    pub program: PathBuf,
    /// A directory of additional libraries.
    pub libraries: Option<PathBuf>,
    /// The UUIDs of its GPUs.
    pub gpus: Vec<String>,
    /// The commands that set its limits.
    pub limits: Vec<String>,
    /// Its directories.
    pub folders: Folders,
    /// Interval of the checks whether it responds, [`CHECK_INTERVAL`] on a node.
    pub check_interval: Duration,
}

/// Runs the daemon until `shutdown` resolves, and restarts it after failures. The readiness file exists
/// only while the daemon responds.
pub async fn run(control: &ControlDaemon, shutdown: impl Future<Output = ()>) -> Result<()> {
    tokio::pin!(shutdown);
    let Folders { pipe, log, .. } = &control.folders;
    for folder in [pipe, log] {
        fs::create_dir_all(folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
    }
    let mut wait = BACKOFF.0;
    loop {
        control.folders.remove_ready_file()?;
        let start = tokio::time::Instant::now();
        let mut child = control.start()?;
        let outcome = tokio::select! {
            outcome = control.serve(&mut child) => outcome,
            () = &mut shutdown => {
                control.folders.remove_ready_file()?;
                return control.shut_down(child).await;
            }
        };
        control.folders.remove_ready_file()?;
        if let Err(error) = outcome {
            error!("restarting the MPS control daemon in {wait:?}: {error:#}");
        }
        // A hanging daemon must end before the next one starts.
        let _ = child.kill().await;
        if start.elapsed() > STABLE_AFTER {
            wait = BACKOFF.0;
        }
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = &mut shutdown => return Ok(()),
        }
        wait = (wait * 2).min(BACKOFF.1);
    }
}

impl ControlDaemon {
    /// Sets the limits of a new daemon, creates the readiness file, and waits for the end of the daemon.
    async fn serve(&self, child: &mut Child) -> Result<()> {
        tokio::select! {
            greeted = tokio::time::timeout(START_TIMEOUT, self.wait_and_configure()) => {
                greeted.context("it is not responding")??;
            }
            status = child.wait() => bail!("it exited at once: {}", status?),
        }
        let _ready = self.folders.write_ready_file(&self.gpus)?;
        info!(gpus = self.gpus.len(), "the MPS control daemon is ready");
        tokio::select! {
            error = self.wait_until_unresponsive() => Err(error),
            status = child.wait() => bail!("it exited: {}", status?),
        }
    }

    /// Waits until the daemon does not respond several times in a row.
    async fn wait_until_unresponsive(&self) -> anyhow::Error {
        let mut failures = 0;
        loop {
            tokio::time::sleep(self.check_interval).await;
            match self.send_command(QUESTION).await {
                Ok(_) => failures = 0,
                Err(error) if failures >= MAX_FAILURES => return error,
                Err(error) => {
                    failures += 1;
                    warn!("the MPS control daemon does not respond: {error:#}");
                }
            }
        }
    }

    /// Waits until the daemon responds, then sets the limits.
    async fn wait_and_configure(&self) -> Result<()> {
        let mut pause = Duration::from_millis(20);
        while let Err(error) = self.send_command(QUESTION).await {
            tracing::debug!("the MPS control daemon is not ready yet: {error:#}");
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(500));
        }
        for command in &self.limits {
            let sent = self.send_command(command).await;
            sent.with_context(|| format!("`{command}`"))?;
        }
        Ok(())
    }

    /// Sends a command to the daemon, and returns the response.
    async fn send_command(&self, command: &str) -> Result<String> {
        // The client is killed when it is dropped.
        let response = tokio::time::timeout(COMMAND_TIMEOUT, self.run_client(command)).await;
        response.unwrap_or_else(|_| bail!("no response within {COMMAND_TIMEOUT:?}"))
    }

    /// Runs the client of the daemon with a command, and returns the response.
    async fn run_client(&self, command: &str) -> Result<String> {
        let mut client = self
            .base_command()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        if let Some(mut input) = client.stdin.take() {
            input.write_all(format!("{command}\n").as_bytes()).await?;
        }
        let output = client.wait_with_output().await?;
        let message = String::from_utf8_lossy(&output.stderr);
        ensure!(
            output.status.success(),
            "{}: {}",
            output.status,
            message.trim()
        );
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    fn start(&self) -> Result<Child> {
        let program = self.program.display();
        self.base_command()
            .arg("-f")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start {program}"))
    }

    async fn shut_down(&self, mut child: Child) -> Result<()> {
        if let Err(error) = self.send_command("quit").await {
            warn!("the MPS control daemon does not accept `quit`: {error:#}");
        }
        if tokio::time::timeout(SHUTDOWN_TIMEOUT, child.wait())
            .await
            .is_err()
        {
            warn!("the MPS control daemon has not ended within {SHUTDOWN_TIMEOUT:?} and is killed");
            child.kill().await?;
        }
        Ok(())
    }

    fn base_command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .env("CUDA_VISIBLE_DEVICES", self.gpus.join(","))
            .env("CUDA_MPS_PIPE_DIRECTORY", &self.folders.pipe)
            .env("CUDA_MPS_LOG_DIRECTORY", &self.folders.log)
            .kill_on_drop(true);
        if let Some(libraries) = &self.libraries {
            command.env("LD_LIBRARY_PATH", libraries);
        }
        command
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use tempfile::TempDir;
    use tokio::sync::oneshot;

    use super::*;

    /// A fake control daemon: `-f` runs until it receives `quit`; without arguments it forwards one command.
    const PROGRAM: &str = r#"#!/bin/sh
pipe=$CUDA_MPS_PIPE_DIRECTORY
if [ "$1" = -f ]; then
  echo "start $CUDA_VISIBLE_DEVICES" >>"$pipe/log"
  [ -e "$pipe/broken" ] && exit 3
  touch "$pipe/alive"
  while [ -e "$pipe/alive" ]; do sleep 0.01; done
  exit 0
fi
[ -e "$pipe/alive" ] || { echo 'cannot find MPS control daemon' >&2; exit 1; }
read -r line
echo "$line" >>"$pipe/log"
case $line in get_*) [ -e "$pipe/hung" ] && sleep 60 ;; esac
case $line in quit) [ -e "$pipe/stuck" ] && sleep 60; rm "$pipe/alive" ;; esac
"#;

    fn control(folder: &TempDir) -> ControlDaemon {
        let program = folder.path().join("nvidia-cuda-mps-control");
        fs::write(&program, PROGRAM).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        ControlDaemon {
            program,
            libraries: None,
            gpus: vec!["GPU-1".to_owned(), "GPU-2".to_owned()],
            limits: vec!["set_default_active_thread_percentage 25".to_owned()],
            folders: Folders::for_resource(folder.path(), "nvidia.com/gpu"),
            check_interval: Duration::from_millis(20),
        }
    }

    async fn wait_until(mut condition: impl FnMut() -> bool) {
        let waiting = async {
            while !condition() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(20), waiting).await;
        waited.expect("the condition is true within twenty seconds");
    }

    fn log(control: &ControlDaemon) -> Vec<String> {
        let log = fs::read_to_string(control.folders.pipe.join("log")).unwrap_or_default();
        log.lines()
            .map(str::to_owned)
            .filter(|line| !line.starts_with("get_"))
            .collect()
    }

    #[tokio::test]
    async fn daemon_is_ready_after_its_limits_are_set() {
        let folder = tempfile::tempdir().unwrap();
        let control = control(&folder);
        let (stop, stopped) = oneshot::channel::<()>();
        let running = control.clone();
        let task = tokio::spawn(async move { run(&running, async { drop(stopped.await) }).await });
        wait_until(|| control.folders.ready.exists()).await;
        let commands = [
            "start GPU-1,GPU-2",
            "set_default_active_thread_percentage 25",
        ];
        assert_eq!(log(&control), commands);
        stop.send(()).unwrap();
        task.await.unwrap().unwrap();
        assert!(!control.folders.ready.exists());
        assert_eq!(log(&control).last().map(String::as_str), Some("quit"));
    }

    #[tokio::test]
    async fn crashed_daemon_is_restarted() {
        let folder = tempfile::tempdir().unwrap();
        let control = control(&folder);
        let running = control.clone();
        let task = tokio::spawn(async move { run(&running, std::future::pending()).await });
        wait_until(|| control.folders.ready.exists()).await;
        fs::write(control.folders.pipe.join("broken"), "").unwrap();
        fs::remove_file(control.folders.pipe.join("alive")).unwrap();
        wait_until(|| !control.folders.ready.exists()).await;
        fs::remove_file(control.folders.pipe.join("broken")).unwrap();
        wait_until(|| control.folders.ready.exists()).await;
        assert!(
            log(&control)
                .iter()
                .filter(|line| line.starts_with("start"))
                .count()
                >= 2
        );
        task.abort();
    }

    /// A daemon that does not answer is killed, so that the pod ends within its grace period.
    #[tokio::test]
    async fn daemon_that_ignores_quit_is_killed() {
        let folder = tempfile::tempdir().unwrap();
        let control = control(&folder);
        let (stop, stopped) = oneshot::channel::<()>();
        let running = control.clone();
        let task = tokio::spawn(async move { run(&running, async { drop(stopped.await) }).await });
        wait_until(|| control.folders.ready.exists()).await;
        fs::write(control.folders.pipe.join("stuck"), "").unwrap();
        stop.send(()).unwrap();
        let ended = tokio::time::timeout(Duration::from_secs(30), task).await;
        ended.expect("it ends").unwrap().unwrap();
        assert!(!control.folders.ready.exists());
    }

    /// A daemon whose process lives but does not respond serves no client.
    #[tokio::test]
    async fn hung_daemon_is_restarted() {
        let folder = tempfile::tempdir().unwrap();
        let control = control(&folder);
        let running = control.clone();
        let task = tokio::spawn(async move { run(&running, std::future::pending()).await });
        wait_until(|| control.folders.ready.exists()).await;
        fs::write(control.folders.pipe.join("hung"), "").unwrap();
        wait_until(|| !control.folders.ready.exists()).await;
        fs::remove_file(control.folders.pipe.join("hung")).unwrap();
        wait_until(|| control.folders.ready.exists()).await;
        task.abort();
    }

    #[tokio::test]
    async fn missing_program_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let mut control = control(&folder);
        control.program = folder.path().join("missing");
        let error = run(&control, std::future::pending()).await.unwrap_err();
        assert!(format!("{error:#}").contains("missing"), "{error}");
    }
}
