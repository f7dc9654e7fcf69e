//! A plugin's socket: its name, its file, and whoever connects to it.

use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

use crate::kubelet::FileId;

/// Names longer than this are cut: the path of a socket has at most 107 bytes (`sun_path` in unix(7)), of which the
/// usual folder takes 33.
const LONGEST_NAME: usize = 64;

/// The file name of a resource's socket: `gpuc-nvidia.com_gpu.sock`. No two resources have the same one: the domain of
/// a resource has no `_`, and what is cut off leaves its digest.
pub fn file_name(resource: &str) -> String {
    let name = format!("gpuc-{}.sock", resource.replace('/', "_"));
    if name.len() <= LONGEST_NAME {
        return name;
    }
    let tail = format!("-{:016x}.sock", digest(resource));
    let head = name.floor_char_boundary(LONGEST_NAME - tail.len());
    format!("{}{tail}", &name[..head])
}

/// FNV-1a: the same in every version of the daemon, so that a new one finds the socket that an old one left.
fn digest(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// A socket that is listened on. Its file goes with it, if it is still its own.
#[derive(Debug)]
pub(super) struct Socket {
    path: PathBuf,
    id: FileId,
    accept: AbortHandle,
}

/// What became of a socket's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It is there.
    Ours,
    /// It is gone.
    Gone,
    /// Another file has its name.
    Replaced,
}

impl Socket {
    /// Listens, and hands each connection on. A socket that is there already is taken to be left over.
    pub(super) fn bind(
        path: PathBuf,
        connections: mpsc::Sender<io::Result<UnixStream>>,
    ) -> io::Result<Self> {
        if fs::symlink_metadata(&path).is_ok_and(|found| found.file_type().is_socket()) {
            fs::remove_file(&path)?;
        }
        let listener = UnixListener::bind(&path)?;
        let id = FileId::of(&path).ok_or(io::ErrorKind::NotFound)?;
        let accept = tokio::spawn(async move { accept(&listener, &connections).await });
        Ok(Self {
            path,
            id,
            accept: accept.abort_handle(),
        })
    }

    pub(super) fn standing(&self) -> Standing {
        match FileId::of(&self.path) {
            Some(id) if id == self.id => Standing::Ours,
            Some(_) => Standing::Replaced,
            None => Standing::Gone,
        }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.accept.abort();
        if self.standing() == Standing::Ours {
            // Whoever starts next removes what could not be removed now.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Whether somebody listens there.
pub(super) async fn is_alive(path: &Path) -> bool {
    let connected = timeout(Duration::from_secs(1), UnixStream::connect(path)).await;
    // A backlog that is full has somebody behind it.
    connected.is_err() || connected.is_ok_and(|stream| stream.is_ok())
}

async fn accept(listener: &UnixListener, connections: &mpsc::Sender<io::Result<UnixStream>>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                if connections.send(Ok(stream)).await.is_err() {
                    return;
                }
            }
            // Too many open files: the next try would fail at once, and so would any other answer.
            Err(error) => {
                tracing::warn!("a connection could not be accepted: {error}");
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_and_no_two_are_alike() {
        assert_eq!(file_name("nvidia.com/gpu"), "gpuc-nvidia.com_gpu.sock");
        let long = format!("nvidia.com/{}", "a".repeat(63));
        let resources = [
            "nvidia.com/mig-1g.10gb",
            "nvidia.com/mig-1g-10gb",
            "nvidia.com/gpu.shared",
            &long,
            &format!("{long}b"),
            &"ä".repeat(200),
        ];
        let names: std::collections::BTreeSet<_> =
            resources.iter().map(|it| file_name(it)).collect();
        assert_eq!(names.len(), resources.len());
        for name in names {
            let path = format!("{}/{name}", crate::kubelet::FOLDER);
            assert!(
                path.len() < 108 && !name.contains('/'),
                "{path} is no socket"
            );
        }
    }

    #[tokio::test]
    async fn a_socket_removes_its_own_file_and_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gpuc-x.sock");
        let (sender, _connections) = mpsc::channel(1);
        let first = Socket::bind(path.clone(), sender.clone()).unwrap();
        let second = Socket::bind(path.clone(), sender.clone()).unwrap();
        assert_eq!(first.standing(), Standing::Replaced);
        drop(first);
        assert_eq!(second.standing(), Standing::Ours);
        assert!(is_alive(&path).await);
        drop(second);
        assert!(!path.exists());
        // What is no socket was put there by somebody for a reason.
        fs::write(&path, "notes").unwrap();
        assert!(Socket::bind(path.clone(), sender).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "notes");
    }
}
