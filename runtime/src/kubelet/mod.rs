//! The kubelet: its APIs, its sockets, and its directories.

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

/// The kubelet's device plugin directory, on every distribution that keeps the kubelet's default root directory.
pub const DEVICE_PLUGIN_FOLDER: &str = "/var/lib/kubelet/device-plugins";

/// The kubelet's registration socket in that directory.
pub const KUBELET_SOCKET: &str = "kubelet.sock";

/// Distinguishes a file from a later one with the same path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileId {
    device: u64,
    inode: u64,
    created: Option<SystemTime>,
}

impl FileId {
    /// Identifies the current file, without following links.
    pub fn from_path(path: &Path) -> Option<Self> {
        fs::symlink_metadata(path).ok().map(Self::from)
    }
}

impl From<Metadata> for FileId {
    fn from(found: Metadata) -> Self {
        Self {
            device: found.dev(),
            inode: found.ino(),
            // ext4 reuses inodes at once. The birth time is constant during the lifetime of a file, unlike the time of
            // its last change.
            created: found.created().ok(),
        }
    }
}

/// Creates a channel over an existing connection. The authority is `localhost`: servers refuse a path as authority.
async fn channel_over(stream: UnixStream) -> Result<Channel, tonic::transport::Error> {
    let mut stream = Some(stream);
    let connect = tower::service_fn(move |_| {
        let stream = stream.take().map(TokioIo::new);
        // The channel is dropped with its connection; the next one uses a new file.
        std::future::ready(stream.ok_or_else(|| io::Error::from(io::ErrorKind::NotConnected)))
    });
    Endpoint::from_static("http://localhost")
        .connect_with_connector(connect)
        .await
}
