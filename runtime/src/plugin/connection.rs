//! The connections to a plugin's socket, of which only so many are open that a client that leaks them cannot exhaust
//! the daemon's memory or file descriptors.

use std::collections::VecDeque;
use std::io;
use std::net::Shutdown;
use std::os::unix::net::UnixStream as BlockingStream;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::UnixStream;
use tonic::transport::server::Connected;

/// Maximum number of open connections of a socket. The kubelet has one.
pub(super) const MAX_CONNECTIONS: usize = 16;

/// A connection to a plugin's socket.
#[derive(Debug)]
pub(super) struct Connection {
    stream: UnixStream,
    usage: ConnectionUsage,
}

/// What a connection is used for; the server has it in each request.
#[derive(Clone, Debug, Default)]
pub(super) struct ConnectionUsage {
    /// The number of open ListAndWatch calls.
    lists: Arc<AtomicUsize>,
}

/// Counts a ListAndWatch call until it is dropped.
pub(super) struct OpenList(ConnectionUsage);

/// The open connections of a socket, oldest first.
#[derive(Default)]
pub(super) struct Connections {
    open: VecDeque<OpenConnection>,
    /// Whether the limit was exceeded; logged once.
    was_full: bool,
}

struct OpenConnection {
    lists: Weak<AtomicUsize>,
    /// A duplicate, with which the connection can be closed.
    stream: BlockingStream,
}

impl Connections {
    /// Takes a new connection. If too many are open, the oldest one on which no client watches devices is closed: a
    /// connection that the kubelet uses is watched, and a new one of a restarted kubelet must not be refused.
    pub(super) fn admit(&mut self, stream: UnixStream) -> io::Result<Connection> {
        let duplicate = rustix::io::dup(&stream)?;
        self.open
            .retain(|connection| connection.lists.strong_count() > 0);
        if self.open.len() >= MAX_CONNECTIONS {
            self.close_oldest();
        }
        let usage = ConnectionUsage::default();
        self.open.push_back(OpenConnection {
            lists: Arc::downgrade(&usage.lists),
            stream: BlockingStream::from(duplicate),
        });
        Ok(Connection { stream, usage })
    }

    fn close_oldest(&mut self) {
        let mut open = self.open.iter();
        let unused = open.position(|connection| {
            let lists = connection.lists.upgrade();
            lists.is_none_or(|lists| lists.load(Ordering::Relaxed) == 0)
        });
        if !std::mem::replace(&mut self.was_full, true) {
            tracing::warn!(
                "more than {MAX_CONNECTIONS} connections to a plugin: closing the oldest"
            );
        }
        if let Some(closed) = self.open.remove(unused.unwrap_or(0)) {
            // The client may have closed it.
            let _ = closed.stream.shutdown(Shutdown::Both);
        }
    }
}

impl ConnectionUsage {
    /// Records that a client watches devices on this connection.
    pub(super) fn watch(&self) -> OpenList {
        self.lists.fetch_add(1, Ordering::Relaxed);
        OpenList(self.clone())
    }
}

impl Drop for OpenList {
    fn drop(&mut self) {
        self.0.lists.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Connected for Connection {
    type ConnectInfo = ConnectionUsage;

    fn connect_info(&self) -> ConnectionUsage {
        self.usage.clone()
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
