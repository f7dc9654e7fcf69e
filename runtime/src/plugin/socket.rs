//! A plugin's socket: its name, its file, and its connections.

use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

use super::connection::{Connection, Connections};
use crate::kubelet::FileId;

/// Maximum length of a file name: the path of a socket has at most 107 bytes (`sun_path` in unix(7)), of which the
/// usual directory takes 33.
const MAX_NAME_LENGTH: usize = 64;

/// Returns the file name of a resource's socket: `gpuc-nvidia.com_gpu.sock`. Names are unique: the domain of a resource
/// contains no `_`, and a truncated name ends in a digest.
pub fn file_name(resource: &str) -> String {
    let name = format!("gpuc-{}.sock", resource.replace('/', "_"));
    if name.len() <= MAX_NAME_LENGTH {
        return name;
    }
    let tail = format!("-{:016x}.sock", digest(resource));
    let head = name.floor_char_boundary(MAX_NAME_LENGTH - tail.len());
    format!("{}{tail}", &name[..head])
}

/// FNV-1a: the same in every version of the daemon, so that a new version finds the socket of an old one.
fn digest(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// A listening socket. Its file is removed on drop, unless it was replaced.
#[derive(Debug)]
pub(super) struct Socket {
    path: PathBuf,
    id: FileId,
    accept: AbortHandle,
}

/// The state of a socket's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SocketState {
    /// It exists.
    Owned,
    /// It was removed.
    Missing,
    /// Another file has its name.
    Replaced,
}

impl Socket {
    /// Listens and forwards each connection. An existing socket is considered stale and removed.
    pub(super) fn bind(
        path: PathBuf,
        connections: mpsc::Sender<io::Result<Connection>>,
    ) -> io::Result<Self> {
        if fs::symlink_metadata(&path).is_ok_and(|found| found.file_type().is_socket()) {
            fs::remove_file(&path)?;
        }
        let listener = UnixListener::bind(&path)?;
        let id = FileId::from_path(&path).ok_or(io::ErrorKind::NotFound)?;
        let accept = tokio::spawn(async move { accept(&listener, &connections).await });
        Ok(Self {
            path,
            id,
            accept: accept.abort_handle(),
        })
    }

    pub(super) fn state(&self) -> SocketState {
        match FileId::from_path(&self.path) {
            Some(id) if id == self.id => SocketState::Owned,
            Some(_) => SocketState::Replaced,
            None => SocketState::Missing,
        }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.accept.abort();
        if self.state() == SocketState::Owned {
            // The next start removes a file that cannot be removed now.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Whether a process is listening on the socket.
pub(super) async fn is_alive(path: &Path) -> bool {
    let connected = timeout(Duration::from_secs(1), UnixStream::connect(path)).await;
    // A timeout means that the backlog of a listening socket is full.
    connected.is_err() || connected.is_ok_and(|stream| stream.is_ok())
}

async fn accept(listener: &UnixListener, connections: &mpsc::Sender<io::Result<Connection>>) {
    let mut open = Connections::default();
    loop {
        let accepted = listener.accept().await;
        match accepted.and_then(|(stream, _)| open.admit(stream)) {
            Ok(connection) => {
                if connections.send(Ok(connection)).await.is_err() {
                    return;
                }
            }
            // Too many open files: without a pause, the next attempt would fail at once.
            Err(error) => {
                tracing::warn!("cannot accept a connection: {error}");
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_short_and_unique() {
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
            let path = format!("{}/{name}", crate::kubelet::DEVICE_PLUGIN_FOLDER);
            assert!(
                path.len() < 108 && !name.contains('/'),
                "{path} is no socket"
            );
        }
    }

    #[tokio::test]
    async fn drop_removes_only_its_own_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gpuc-x.sock");
        let (sender, _connections) = mpsc::channel(1);
        let first = Socket::bind(path.clone(), sender.clone()).unwrap();
        let second = Socket::bind(path.clone(), sender.clone()).unwrap();
        assert_eq!(first.state(), SocketState::Replaced);
        drop(first);
        assert_eq!(second.state(), SocketState::Owned);
        assert!(is_alive(&path).await);
        drop(second);
        assert!(!path.exists());
        // A file that is not a socket is left alone.
        fs::write(&path, "notes").unwrap();
        assert!(Socket::bind(path.clone(), sender).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "notes");
    }
}
