//! The control daemon's life: started, told its limits, asked whether it answers, started again when it dies.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use std::{fs, io};

use anyhow::{Context, Result, bail, ensure};
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, Command};
use tracing::{error, info, warn};

use super::Folders;

/// How long a daemon has to answer for the first time.
const START: Duration = Duration::from_secs(10);

/// How long a daemon gets to end by itself.
const END: Duration = Duration::from_secs(5);

/// How long to wait before it is started again: at first, and at most.
const BACK_OFF: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// A daemon that has run for so long did not fail at its start.
const STEADY: Duration = Duration::from_mins(1);

/// What a control daemon is started with.
#[derive(Clone, Debug)]
pub struct Control {
    /// `nvidia-cuda-mps-control`.
    pub program: PathBuf,
    /// A folder of libraries that it needs beside the system's.
    pub libraries: Option<PathBuf>,
    /// The UUIDs of the GPUs it serves.
    pub gpus: Vec<String>,
    /// What it is told when it answers.
    pub limits: Vec<String>,
    /// Its folders.
    pub folders: Folders,
}

/// Runs the daemon until `shutdown` is done, whatever happens to it in between. The file that says it is ready is there
/// only while it answers.
pub async fn run(control: &Control, shutdown: impl Future<Output = ()>) -> Result<()> {
    tokio::pin!(shutdown);
    let Folders { pipe, log, ready } = &control.folders;
    for folder in [pipe, log] {
        fs::create_dir_all(folder)
            .with_context(|| format!("{} cannot be made", folder.display()))?;
    }
    let mut wait = BACK_OFF.0;
    loop {
        withdraw(ready)?;
        let begin = tokio::time::Instant::now();
        let mut child = control.start()?;
        let outcome = tokio::select! {
            outcome = control.serve(&mut child) => outcome,
            () = &mut shutdown => {
                withdraw(ready)?;
                return control.end(child).await;
            }
        };
        withdraw(ready)?;
        if let Err(trouble) = outcome {
            error!("the MPS control daemon is started again in {wait:?}: {trouble:#}");
        }
        // One that hangs is not left beside the next one.
        let _ = child.kill().await;
        if begin.elapsed() > STEADY {
            wait = BACK_OFF.0;
        }
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = &mut shutdown => return Ok(()),
        }
        wait = (wait * 2).min(BACK_OFF.1);
    }
}

impl Control {
    /// Tells a new daemon its limits, says that it is ready, and waits for its end.
    async fn serve(&self, child: &mut Child) -> Result<()> {
        tokio::select! {
            greeted = tokio::time::timeout(START, self.greet()) => {
                greeted.context("it does not answer")??;
            }
            status = child.wait() => bail!("it ended at once: {}", status?),
        }
        let ready = &self.folders.ready;
        fs::write(ready, self.gpus.join("\n"))
            .with_context(|| format!("{} cannot be written", ready.display()))?;
        info!(gpus = self.gpus.len(), "the MPS control daemon is ready");
        let status = child.wait().await?;
        bail!("it ended: {status}")
    }

    /// Waits until the daemon answers, then sets the limits.
    async fn greet(&self) -> Result<()> {
        let mut pause = Duration::from_millis(20);
        while let Err(trouble) = self.tell("get_default_active_thread_percentage").await {
            tracing::debug!("not yet: {trouble:#}");
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(500));
        }
        for command in &self.limits {
            self.tell(command).await?;
        }
        Ok(())
    }

    /// Gives the daemon a command through its own client, and returns the answer.
    async fn tell(&self, command: &str) -> Result<String> {
        let mut client = self
            .command()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        if let Some(mut input) = client.stdin.take() {
            input.write_all(format!("{command}\n").as_bytes()).await?;
        }
        let output = client.wait_with_output().await?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(
            output.status.success(),
            "{command}: {}: {}",
            output.status,
            said.trim()
        );
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    fn start(&self) -> Result<Child> {
        let program = self.program.display();
        self.command()
            .arg("-f")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .with_context(|| format!("{program} cannot be started"))
    }

    async fn end(&self, mut child: Child) -> Result<()> {
        if let Err(trouble) = self.tell("quit").await {
            warn!("the MPS control daemon does not take its leave: {trouble:#}");
        }
        if tokio::time::timeout(END, child.wait()).await.is_err() {
            child.kill().await?;
        }
        Ok(())
    }

    fn command(&self) -> Command {
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

/// Takes the file away that says the daemon is ready.
fn withdraw(ready: &Path) -> Result<()> {
    match fs::remove_file(ready) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("{} cannot be removed", ready.display()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use tempfile::TempDir;
    use tokio::sync::oneshot;

    use super::*;

    /// A control daemon as far as its callers see it: `-f` stays until told to quit, a client without arguments sends
    /// one command to it.
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
case $line in quit) rm "$pipe/alive" ;; esac
"#;

    fn control(folder: &TempDir) -> Control {
        let program = folder.path().join("nvidia-cuda-mps-control");
        fs::write(&program, PROGRAM).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        Control {
            program,
            libraries: None,
            gpus: vec!["GPU-1".to_owned(), "GPU-2".to_owned()],
            limits: vec!["set_default_active_thread_percentage 25".to_owned()],
            folders: Folders::of(folder.path(), "nvidia.com/gpu"),
        }
    }

    async fn until(mut what: impl FnMut() -> bool) {
        let waiting = async {
            while !what() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(20), waiting).await;
        waited.expect("it comes to pass within twenty seconds");
    }

    fn log(control: &Control) -> Vec<String> {
        let log = fs::read_to_string(control.folders.pipe.join("log")).unwrap_or_default();
        log.lines()
            .map(str::to_owned)
            .filter(|line| !line.starts_with("get_"))
            .collect()
    }

    #[tokio::test]
    async fn a_daemon_is_ready_once_it_has_its_limits_and_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let control = control(&folder);
        let (stop, stopped) = oneshot::channel::<()>();
        let running = control.clone();
        let task = tokio::spawn(async move { run(&running, async { drop(stopped.await) }).await });
        until(|| control.folders.ready.exists()).await;
        let told = [
            "start GPU-1,GPU-2",
            "set_default_active_thread_percentage 25",
        ];
        assert_eq!(log(&control), told);
        stop.send(()).unwrap();
        task.await.unwrap().unwrap();
        assert!(!control.folders.ready.exists());
        assert_eq!(log(&control).last().map(String::as_str), Some("quit"));
    }

    #[tokio::test]
    async fn a_daemon_that_dies_is_started_again_and_is_not_ready_meanwhile() {
        let folder = tempfile::tempdir().unwrap();
        let control = control(&folder);
        let running = control.clone();
        let task = tokio::spawn(async move { run(&running, std::future::pending()).await });
        until(|| control.folders.ready.exists()).await;
        fs::write(control.folders.pipe.join("broken"), "").unwrap();
        fs::remove_file(control.folders.pipe.join("alive")).unwrap();
        until(|| !control.folders.ready.exists()).await;
        fs::remove_file(control.folders.pipe.join("broken")).unwrap();
        until(|| control.folders.ready.exists()).await;
        assert!(
            log(&control)
                .iter()
                .filter(|line| line.starts_with("start"))
                .count()
                >= 2
        );
        task.abort();
    }

    #[tokio::test]
    async fn a_program_that_is_not_there_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let mut control = control(&folder);
        control.program = folder.path().join("missing");
        let error = run(&control, std::future::pending()).await.unwrap_err();
        assert!(
            error.to_string().contains("missing cannot be started"),
            "{error}"
        );
    }
}
