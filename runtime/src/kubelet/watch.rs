//! Watches the kubelet's device plugin directory: creation and removal of the kubelet's socket, removal of other
//! sockets, and replacement of the directory.
//!
//! The result is a state, not a list of events: no change is missed, and many changes at once are processed together.
//! inotify only signals that something changed, and whether a file was replaced in between.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use inotify::{EventMask, Inotify, WatchDescriptor, WatchMask};
use tokio::io::unix::AsyncFd;
use tokio::sync::watch;
use tokio::task::AbortHandle;

use super::{FileId, KUBELET_SOCKET};

/// Polling interval while no events are available: the directory does not exist, or the node has no inotify
/// instance left.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The state of the kubelet's directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FolderState {
    /// Whether it exists. A directory that was removed under a bind mount does not.
    pub present: bool,
    /// The kubelet instance whose socket is in it.
    pub kubelet: Option<KubeletInstance>,
    /// Increases when another socket in it was removed or replaced, so that the owners check theirs.
    pub socket_changes: u64,
}

/// A kubelet instance, from one creation of its socket to the next: to a plugin, a restarted kubelet is a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KubeletInstance {
    /// The number of the instance, from 1 on.
    pub number: u64,
    /// The socket's file.
    pub socket: FileId,
}

/// A watch on a directory; it ends on drop.
#[derive(Debug)]
pub struct FolderWatch {
    /// The current state.
    pub folder: watch::Receiver<FolderState>,
    task: AbortHandle,
}

impl FolderWatch {
    /// Watches a directory, which does not need to exist yet. The state is valid when this returns. Must be called on a
    /// tokio runtime.
    pub fn start(folder: &Path) -> Self {
        let mut observer = FolderObserver::new(folder);
        observer.update();
        let (sender, receiver) = watch::channel(observer.state);
        let task = tokio::spawn(async move { observer.run(&sender).await }).abort_handle();
        Self {
            folder: receiver,
            task,
        }
    }
}

impl Drop for FolderWatch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[expect(
    unsafe_code,
    reason = "tokio has no safe way to wait for a file descriptor that the caller owns"
)]
fn register_with_tokio(inotify: Inotify) -> io::Result<AsyncFd<Inotify>> {
    // SAFETY: the descriptor stays open and the same as long as it is registered: `Inotify` owns it, shows it only by
    // reference, and closes it when it is dropped, which `AsyncFd` does after the registration ended.
    unsafe { AsyncFd::register(inotify) }.map_err(io::Error::from)
}

/// Summary of the events since the last update.
#[derive(Default)]
struct FolderChanges {
    /// The kubelet's socket was removed, so that an existing one is a new one.
    kubelet_socket_removed: bool,
    /// Another socket was removed or replaced.
    socket_changed: bool,
    /// The directory was created, removed or replaced.
    folder_changed: bool,
}

struct FolderObserver {
    folder: PathBuf,
    name: OsString,
    inotify: Option<AsyncFd<Inotify>>,
    /// The watched directory: its watch, and its device and inode.
    folder_watch: Option<(WatchDescriptor, (u64, u64))>,
    /// The watch on the parent directory, for the creation and removal of the directory.
    parent_watch: Option<WatchDescriptor>,
    instances_seen: u64,
    state: FolderState,
}

impl FolderObserver {
    fn new(folder: &Path) -> Self {
        let inotify = Inotify::init().and_then(register_with_tokio);
        if let Err(error) = &inotify {
            tracing::warn!(
                "cannot watch {}: {error}; polling every {POLL_INTERVAL:?} instead: raise \
                 fs.inotify.max_user_instances on this node",
                folder.display()
            );
        }
        Self {
            folder: folder.to_owned(),
            name: folder.file_name().unwrap_or_default().to_owned(),
            inotify: inotify.ok(),
            folder_watch: None,
            parent_watch: None,
            instances_seen: 0,
            state: FolderState::default(),
        }
    }

    async fn run(mut self, sender: &watch::Sender<FolderState>) {
        loop {
            let is_watched = self.folder_watch.is_some();
            tokio::select! {
                () = self.wait_for_events() => {}
                () = tokio::time::sleep(POLL_INTERVAL), if !is_watched => {}
                () = sender.closed() => return,
            }
            self.update();
            sender.send_if_modified(|folder| {
                let modified = *folder != self.state;
                *folder = self.state;
                modified
            });
        }
    }

    /// Waits for inotify events.
    async fn wait_for_events(&mut self) {
        let ready = match &mut self.inotify {
            Some(inotify) => inotify.readable_mut().await,
            None => std::future::pending().await,
        };
        match ready {
            Ok(mut ready) => ready.clear_ready(),
            // The runtime is shutting down.
            Err(_) => std::future::pending().await,
        }
    }

    /// Updates `state`. The state is consistent: no event arrived between the last one read and the check.
    fn update(&mut self) {
        let mut changes = FolderChanges::default();
        self.read_events(&mut changes);
        let (present, kubelet) = loop {
            let present = self.watch_current_folder(&mut changes);
            let kubelet = FileId::from_path(&self.folder.join(KUBELET_SOCKET)).filter(|_| present);
            if !self.read_events(&mut changes) {
                break (present, kubelet);
            }
        };
        let is_same_instance = |life: &KubeletInstance| {
            Some(life.socket) == kubelet && !changes.kubelet_socket_removed
        };
        let kubelet = kubelet.map(|socket| {
            self.state
                .kubelet
                .filter(is_same_instance)
                .unwrap_or_else(|| {
                    self.instances_seen += 1;
                    KubeletInstance {
                        number: self.instances_seen,
                        socket,
                    }
                })
        });
        // Without inotify, changes of the sockets are unknown, so that each poll makes the owners check.
        let disturbed = changes.socket_changed || changes.folder_changed || self.inotify.is_none();
        self.state = FolderState {
            present,
            kubelet,
            socket_changes: self.state.socket_changes + u64::from(disturbed),
        };
    }

    /// Watches the current directory, and returns whether it exists.
    fn watch_current_folder(&mut self, changes: &mut FolderChanges) -> bool {
        use std::os::unix::fs::MetadataExt;
        let found = fs::metadata(&self.folder).ok();
        let found = found.filter(|found| found.is_dir() && found.nlink() > 0);
        let found = found.map(|found| (found.dev(), found.ino()));
        let Some(inotify) = &self.inotify else {
            return found.is_some();
        };
        let mut watches = inotify.get_ref().watches();
        if self.parent_watch.is_none() {
            let mask = WatchMask::CREATE | WatchMask::DELETE | WatchMask::MOVE | WatchMask::ONLYDIR;
            let parent = self.folder.parent();
            self.parent_watch = parent.and_then(|parent| watches.add(parent, mask).ok());
        }
        if self.folder_watch.as_ref().map(|(_, id)| *id) == found {
            return found.is_some();
        }
        changes.folder_changed = true;
        if let Some((old, _)) = self.folder_watch.take() {
            // The watch no longer exists if the directory was removed.
            let _ = watches.remove(old);
        }
        if let Some(id) = found {
            let mask = WatchMask::CREATE
                | WatchMask::DELETE
                | WatchMask::MOVE
                | WatchMask::DELETE_SELF
                | WatchMask::MOVE_SELF
                | WatchMask::ONLYDIR;
            match watches.add(&self.folder, mask) {
                Ok(watch) => self.folder_watch = Some((watch, id)),
                Err(error) => tracing::warn!("cannot watch {}: {error}", self.folder.display()),
            }
        }
        found.is_some()
    }

    /// Reads all pending events, and returns whether there were any.
    fn read_events(&mut self, changes: &mut FolderChanges) -> bool {
        let Some(inotify) = &mut self.inotify else {
            return false;
        };
        let mut buffer = [0; 4096];
        let mut any = false;
        // An error ends the loop: it is almost always `WouldBlock`.
        while let Ok(events) = inotify.get_mut().read_events(&mut buffer) {
            any = true;
            for event in events {
                let inside = self.folder_watch.as_ref().map(|(watch, _)| watch);
                if event.mask.contains(EventMask::Q_OVERFLOW) {
                    *changes = FolderChanges {
                        kubelet_socket_removed: changes.kubelet_socket_removed,
                        socket_changed: true,
                        folder_changed: true,
                    };
                } else if Some(&event.wd) == inside {
                    if is_removal(event.mask) {
                        self.folder_watch = None;
                        changes.folder_changed = true;
                    } else if let Some(name) = event.name {
                        changes.record_event(name, event.mask);
                    }
                } else if Some(&event.wd) == self.parent_watch.as_ref() {
                    if is_removal(event.mask) {
                        self.parent_watch = None;
                    }
                    changes.folder_changed |= event.name == Some(self.name.as_os_str());
                }
            }
        }
        any
    }
}

impl FolderChanges {
    /// Processes the creation or removal of a file in the directory.
    fn record_event(&mut self, name: &OsStr, mask: EventMask) {
        let is_creation = mask.contains(EventMask::CREATE);
        if name == KUBELET_SOCKET {
            self.kubelet_socket_removed |= !is_creation;
        } else if Path::new(name).extension() == Some(OsStr::new("sock")) {
            self.socket_changed |= !is_creation;
        }
    }
}

/// Whether an event signals that the watched directory is gone.
fn is_removal(mask: EventMask) -> bool {
    mask.intersects(
        EventMask::DELETE_SELF | EventMask::MOVE_SELF | EventMask::IGNORED | EventMask::UNMOUNT,
    )
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    fn bind_kubelet_socket(folder: &Path) -> UnixListener {
        UnixListener::bind(folder.join(KUBELET_SOCKET)).unwrap()
    }

    #[tokio::test]
    async fn each_socket_is_a_new_instance() {
        let folder = tempfile::tempdir().unwrap();
        let mut observer = FolderObserver::new(folder.path());
        observer.update();
        assert_eq!(
            (observer.state.present, observer.state.kubelet),
            (true, None)
        );
        for number in 1..=50 {
            let kubelet = bind_kubelet_socket(folder.path());
            observer.update();
            observer.update();
            assert_eq!(observer.state.kubelet.unwrap().number, number);
            drop(kubelet);
            fs::remove_file(folder.path().join(KUBELET_SOCKET)).unwrap();
            // With odd numbers, the removal and the next socket are observed together.
            if number % 2 == 0 {
                observer.update();
                assert_eq!(observer.state.kubelet, None);
            }
        }
        assert_eq!(
            observer.state.socket_changes, 1,
            "the creation of the folder counts once"
        );
    }

    #[tokio::test]
    async fn existing_socket_is_one_instance() {
        let folder = tempfile::tempdir().unwrap();
        let _kubelet = bind_kubelet_socket(folder.path());
        let mut observer = FolderObserver::new(folder.path());
        observer.update();
        let first = observer.state;
        observer.update();
        assert_eq!(observer.state, first);
        assert_eq!(first.kubelet.unwrap().number, 1);
    }

    /// File systems reuse inodes immediately, and not all of them have birth times.
    #[tokio::test]
    async fn returned_socket_is_a_new_instance() {
        let folder = tempfile::tempdir().unwrap();
        let _kubelet = bind_kubelet_socket(folder.path());
        let mut observer = FolderObserver::new(folder.path());
        observer.update();
        let (socket, moved) = (
            folder.path().join(KUBELET_SOCKET),
            folder.path().join("moved"),
        );
        fs::rename(&socket, &moved).unwrap();
        fs::rename(&moved, &socket).unwrap();
        observer.update();
        assert_eq!(observer.state.kubelet.unwrap().number, 2);
    }

    /// An open handle of the directory suppresses the event of its deletion.
    #[tokio::test]
    async fn recreated_open_folder_is_watched() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("device-plugins");
        fs::create_dir(&folder).unwrap();
        let mut observer = FolderObserver::new(&folder);
        observer.update();
        let _open = fs::File::open(&folder).unwrap();
        fs::remove_dir(&folder).unwrap();
        fs::create_dir(&folder).unwrap();
        observer.update();
        let _kubelet = bind_kubelet_socket(&folder);
        observer.update();
        assert_eq!(observer.state.kubelet.unwrap().number, 1);
        fs::remove_file(folder.join(KUBELET_SOCKET)).unwrap();
        let _kubelet = bind_kubelet_socket(&folder);
        let has_events = observer.read_events(&mut FolderChanges::default());
        assert!(has_events, "the new folder is not watched");
    }

    #[tokio::test]
    async fn only_removed_sockets_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        let mut observer = FolderObserver::new(folder.path());
        observer.update();
        let before = observer.state.socket_changes;
        fs::write(folder.path().join("gpuc-x.sock"), "").unwrap();
        fs::write(folder.path().join("kubelet_internal_checkpoint"), "").unwrap();
        fs::remove_file(folder.path().join("kubelet_internal_checkpoint")).unwrap();
        observer.update();
        assert_eq!(observer.state.socket_changes, before);
        fs::remove_file(folder.path().join("gpuc-x.sock")).unwrap();
        observer.update();
        assert_eq!(observer.state.socket_changes, before + 1);
    }

    #[tokio::test]
    async fn recreated_folder_is_watched() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("kubelet/device-plugins");
        let watch = FolderWatch::start(&folder);
        let mut seen = watch.folder.clone();
        assert!(!seen.borrow().present);
        for number in 1..=5 {
            fs::create_dir_all(&folder).unwrap();
            let _kubelet = bind_kubelet_socket(&folder);
            let found = |folder: &FolderState| {
                folder
                    .kubelet
                    .is_some_and(|instance| instance.number == number)
            };
            with_timeout(seen.wait_for(found)).await.unwrap();
            fs::remove_dir_all(parent.path().join("kubelet")).unwrap();
            let gone = |folder: &FolderState| !folder.present && folder.kubelet.is_none();
            with_timeout(seen.wait_for(gone)).await.unwrap();
        }
    }

    async fn with_timeout<T>(future: impl Future<Output = T>) -> T {
        tokio::time::timeout(Duration::from_secs(10), future)
            .await
            .expect("the future resolves")
    }
}
