//! The kubelet as the daemon meets it: its APIs, its socket, its folder.

pub mod api;
pub mod pod_resources;
pub mod register;
pub mod watch;

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::SystemTime;
use std::{fs, io};

use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;
use tonic::transport::{Channel, Endpoint};

/// The kubelet's folder for plugins and their sockets, on every distribution that leaves the kubelet's root alone.
pub const FOLDER: &str = "/var/lib/kubelet/device-plugins";

/// The kubelet's own socket in that folder.
pub const SOCKET: &str = "kubelet.sock";

/// Tells one file from another that has the same path later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileId {
    device: u64,
    inode: u64,
    made: Option<SystemTime>,
}

impl FileId {
    /// The file that is there now, links not followed.
    pub fn of(path: &Path) -> Option<Self> {
        fs::symlink_metadata(path).ok().map(Self::from)
    }
}

impl From<Metadata> for FileId {
    fn from(found: Metadata) -> Self {
        Self {
            device: found.dev(),
            inode: found.ino(),
            // Inodes are used again at once on ext4. The time of birth does not change while a file lives, as the time
            // of change does.
            made: found.created().ok(),
        }
    }
}

/// A channel over a connection that stands. The authority is `localhost`: a path is none, and servers refuse it.
async fn channel(stream: UnixStream) -> Result<Channel, tonic::transport::Error> {
    let mut stream = Some(stream);
    let connect = tower::service_fn(move |_| {
        let stream = stream.take().map(TokioIo::new);
        // The channel is given up with its connection; the next one begins with a new file.
        std::future::ready(stream.ok_or_else(|| io::Error::from(io::ErrorKind::NotConnected)))
    });
    Endpoint::from_static("http://localhost")
        .connect_with_connector(connect)
        .await
}
