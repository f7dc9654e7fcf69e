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

use super::{FileId, SOCKET};

/// Polling interval while no events are available: the directory does not exist, or the node has no inotify
/// instance left.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The state of the kubelet's directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Folder {
    /// Whether it exists. A directory that was removed under a bind mount does not.
    pub present: bool,
    /// The kubelet instance whose socket is in it.
    pub kubelet: Option<Life>,
    /// Increases when another socket in it was removed or replaced, so that the owners check theirs.
    pub disturbed: u64,
}

/// A kubelet instance, from one creation of its socket to the next: to a plugin, a restarted kubelet is a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Life {
    /// The number of the instance, from 1 on.
    pub number: u64,
    /// The socket's file.
    pub socket: FileId,
}

/// A watch on a directory; it ends on drop.
#[derive(Debug)]
pub struct FolderWatch {
    /// The current state.
    pub folder: watch::Receiver<Folder>,
    task: AbortHandle,
}

impl FolderWatch {
    /// Watches a directory, which does not need to exist yet. The state is valid when this returns. Must be called on a
    /// tokio runtime.
    pub fn start(folder: &Path) -> Self {
        let mut observer = FolderObserver::new(folder);
        observer.update();
        let (sender, receiver) = watch::channel(observer.seen);
        let task = tokio::spawn(async move { observer.follow(&sender).await }).abort_handle();
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
fn registered(inotify: Inotify) -> io::Result<AsyncFd<Inotify>> {
    // SAFETY: the descriptor stays open and the same as long as it is registered: `Inotify` owns it, shows it only by
    // reference, and closes it when it is dropped, which `AsyncFd` does after the registration ended.
    unsafe { AsyncFd::register(inotify) }.map_err(io::Error::from)
}

/// Summary of the events since the last update.
#[derive(Default)]
struct Changes {
    /// The kubelet's socket was removed, so that an existing one is a new one.
    kubelet_left: bool,
    /// Another socket was removed or replaced.
    disturbed: bool,
    /// The directory was created, removed or replaced.
    folder: bool,
}

struct FolderObserver {
    folder: PathBuf,
    name: OsString,
    inotify: Option<AsyncFd<Inotify>>,
    /// The watched directory: its watch, and its device and inode.
    inside: Option<(WatchDescriptor, (u64, u64))>,
    /// The watch on the parent directory, for the creation and removal of the directory.
    above: Option<WatchDescriptor>,
    lives: u64,
    seen: Folder,
}

impl FolderObserver {
    fn new(folder: &Path) -> Self {
        let inotify = Inotify::init().and_then(registered);
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
            inside: None,
            above: None,
            lives: 0,
            seen: Folder::default(),
        }
    }

    async fn follow(mut self, sender: &watch::Sender<Folder>) {
        loop {
            let is_watched = self.inside.is_some();
            tokio::select! {
                () = self.wait_for_events() => {}
                () = tokio::time::sleep(POLL_INTERVAL), if !is_watched => {}
                () = sender.closed() => return,
            }
            self.update();
            sender.send_if_modified(|folder| {
                let modified = *folder != self.seen;
                *folder = self.seen;
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

    /// Updates `seen`. The state is consistent: no event arrived between the last one read and the check.
    fn update(&mut self) {
        let mut changes = Changes::default();
        self.read(&mut changes);
        let (present, kubelet) = loop {
            let present = self.aim(&mut changes);
            let kubelet = FileId::of(&self.folder.join(SOCKET)).filter(|_| present);
            if !self.read(&mut changes) {
                break (present, kubelet);
            }
        };
        let same = |life: &Life| Some(life.socket) == kubelet && !changes.kubelet_left;
        let kubelet = kubelet.map(|socket| {
            self.seen.kubelet.filter(same).unwrap_or_else(|| {
                self.lives += 1;
                Life {
                    number: self.lives,
                    socket,
                }
            })
        });
        // Without inotify, changes of the sockets are unknown, so that each poll makes the owners check.
        let disturbed = changes.disturbed || changes.folder || self.inotify.is_none();
        self.seen = Folder {
            present,
            kubelet,
            disturbed: self.seen.disturbed + u64::from(disturbed),
        };
    }

    /// Watches the current directory, and returns whether it exists.
    fn aim(&mut self, changes: &mut Changes) -> bool {
        use std::os::unix::fs::MetadataExt;
        let found = fs::metadata(&self.folder).ok();
        let found = found.filter(|found| found.is_dir() && found.nlink() > 0);
        let found = found.map(|found| (found.dev(), found.ino()));
        let Some(inotify) = &self.inotify else {
            return found.is_some();
        };
        let mut watches = inotify.get_ref().watches();
        if self.above.is_none() {
            let mask = WatchMask::CREATE | WatchMask::DELETE | WatchMask::MOVE | WatchMask::ONLYDIR;
            let above = self.folder.parent();
            self.above = above.and_then(|above| watches.add(above, mask).ok());
        }
        if self.inside.as_ref().map(|(_, id)| *id) == found {
            return found.is_some();
        }
        changes.folder = true;
        if let Some((old, _)) = self.inside.take() {
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
                Ok(watch) => self.inside = Some((watch, id)),
                Err(error) => tracing::warn!("cannot watch {}: {error}", self.folder.display()),
            }
        }
        found.is_some()
    }

    /// Reads all pending events, and returns whether there were any.
    fn read(&mut self, changes: &mut Changes) -> bool {
        let Some(inotify) = &mut self.inotify else {
            return false;
        };
        let mut buffer = [0; 4096];
        let mut any = false;
        // An error ends the loop: it is almost always `WouldBlock`.
        while let Ok(events) = inotify.get_mut().read_events(&mut buffer) {
            any = true;
            for event in events {
                let inside = self.inside.as_ref().map(|(watch, _)| watch);
                if event.mask.contains(EventMask::Q_OVERFLOW) {
                    *changes = Changes {
                        kubelet_left: changes.kubelet_left,
                        disturbed: true,
                        folder: true,
                    };
                } else if Some(&event.wd) == inside {
                    if leaves(event.mask) {
                        self.inside = None;
                        changes.folder = true;
                    } else if let Some(name) = event.name {
                        changes.take(name, event.mask);
                    }
                } else if Some(&event.wd) == self.above.as_ref() {
                    if leaves(event.mask) {
                        self.above = None;
                    }
                    changes.folder |= event.name == Some(self.name.as_os_str());
                }
            }
        }
        any
    }
}

impl Changes {
    /// Processes the creation or removal of a file in the directory.
    fn take(&mut self, name: &OsStr, mask: EventMask) {
        let came_new = mask.contains(EventMask::CREATE);
        if name == SOCKET {
            self.kubelet_left |= !came_new;
        } else if Path::new(name).extension() == Some(OsStr::new("sock")) {
            self.disturbed |= !came_new;
        }
    }
}

/// Whether an event signals that the watched directory is gone.
fn leaves(mask: EventMask) -> bool {
    mask.intersects(
        EventMask::DELETE_SELF | EventMask::MOVE_SELF | EventMask::IGNORED | EventMask::UNMOUNT,
    )
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    fn kubelet_of(folder: &Path) -> UnixListener {
        UnixListener::bind(folder.join(SOCKET)).unwrap()
    }

    #[tokio::test]
    async fn each_socket_is_one_life() {
        let folder = tempfile::tempdir().unwrap();
        let mut observer = FolderObserver::new(folder.path());
        observer.update();
        assert_eq!((observer.seen.present, observer.seen.kubelet), (true, None));
        for number in 1..=50 {
            let kubelet = kubelet_of(folder.path());
            observer.update();
            observer.update();
            assert_eq!(observer.seen.kubelet.unwrap().number, number);
            drop(kubelet);
            fs::remove_file(folder.path().join(SOCKET)).unwrap();
            // Every other time the observer sees only that there was another one in between.
            if number % 2 == 0 {
                observer.update();
                assert_eq!(observer.seen.kubelet, None);
            }
        }
        assert_eq!(observer.seen.disturbed, 1, "the folder was found once");
    }

    #[tokio::test]
    async fn a_socket_found_at_the_start_is_not_met_twice() {
        let folder = tempfile::tempdir().unwrap();
        let _kubelet = kubelet_of(folder.path());
        let mut observer = FolderObserver::new(folder.path());
        observer.update();
        let first = observer.seen;
        observer.update();
        assert_eq!(observer.seen, first);
        assert_eq!(first.kubelet.unwrap().number, 1);
    }

    /// File systems give an inode again at once, and not all know when a file was made.
    #[tokio::test]
    async fn a_socket_that_left_is_another_one_even_if_it_looks_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let _kubelet = kubelet_of(folder.path());
        let mut observer = FolderObserver::new(folder.path());
        observer.update();
        let (here, away) = (folder.path().join(SOCKET), folder.path().join("away"));
        fs::rename(&here, &away).unwrap();
        fs::rename(&away, &here).unwrap();
        observer.update();
        assert_eq!(observer.seen.kubelet.unwrap().number, 2);
    }

    /// An open handle of the directory suppresses the event of its deletion.
    #[tokio::test]
    async fn a_recreated_directory_with_an_open_handle_is_watched() {
        let above = tempfile::tempdir().unwrap();
        let folder = above.path().join("device-plugins");
        fs::create_dir(&folder).unwrap();
        let mut observer = FolderObserver::new(&folder);
        observer.update();
        let _open = fs::File::open(&folder).unwrap();
        fs::remove_dir(&folder).unwrap();
        fs::create_dir(&folder).unwrap();
        observer.update();
        let _kubelet = kubelet_of(&folder);
        observer.update();
        assert_eq!(observer.seen.kubelet.unwrap().number, 1);
        fs::remove_file(folder.join(SOCKET)).unwrap();
        let _kubelet = kubelet_of(&folder);
        let disturbed = observer.read(&mut Changes::default());
        assert!(disturbed, "the new folder is not watched");
    }

    #[tokio::test]
    async fn sockets_that_leave_disturb_and_other_files_do_not() {
        let folder = tempfile::tempdir().unwrap();
        let mut observer = FolderObserver::new(folder.path());
        observer.update();
        let before = observer.seen.disturbed;
        fs::write(folder.path().join("gpuc-x.sock"), "").unwrap();
        fs::write(folder.path().join("kubelet_internal_checkpoint"), "").unwrap();
        fs::remove_file(folder.path().join("kubelet_internal_checkpoint")).unwrap();
        observer.update();
        assert_eq!(observer.seen.disturbed, before);
        fs::remove_file(folder.path().join("gpuc-x.sock")).unwrap();
        observer.update();
        assert_eq!(observer.seen.disturbed, before + 1);
    }

    #[tokio::test]
    async fn a_folder_that_is_wiped_and_made_again_is_watched_again() {
        let above = tempfile::tempdir().unwrap();
        let folder = above.path().join("kubelet/device-plugins");
        let watch = FolderWatch::start(&folder);
        let mut seen = watch.folder.clone();
        assert!(!seen.borrow().present);
        for number in 1..=5 {
            fs::create_dir_all(&folder).unwrap();
            let _kubelet = kubelet_of(&folder);
            let found = |folder: &Folder| folder.kubelet.is_some_and(|life| life.number == number);
            within(seen.wait_for(found)).await.unwrap();
            fs::remove_dir_all(above.path().join("kubelet")).unwrap();
            let gone = |folder: &Folder| !folder.present && folder.kubelet.is_none();
            within(seen.wait_for(gone)).await.unwrap();
        }
    }

    async fn within<T>(future: impl Future<Output = T>) -> T {
        tokio::time::timeout(Duration::from_secs(10), future)
            .await
            .expect("it hangs")
    }
}
