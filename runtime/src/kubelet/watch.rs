//! Notices what happens in the kubelet's folder: its socket made or gone, other sockets taken away, the folder itself
//! wiped and made again.
//!
//! What is published is a state, not a list of events: nobody can miss one, and a hundred changes that nobody had time
//! for are one. inotify says only that something happened, and whether a file was another one in between.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use inotify::{EventMask, Inotify, WatchDescriptor, WatchMask};
use tokio::io::unix::AsyncFd;
use tokio::sync::watch;
use tokio::task::AbortHandle;

use super::{FileId, SOCKET};

/// How often the folder is looked at while nothing would tell of a change: it is not there, or the node has no inotify
/// instance left for us.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// The kubelet's folder at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Folder {
    /// Whether it is there. A folder that was removed under a bind mount is not.
    pub present: bool,
    /// The kubelet whose socket is in it.
    pub kubelet: Option<Life>,
    /// Grows when another socket in it was taken away or replaced: whoever has one there looks after it.
    pub disturbed: u64,
}

/// From one making of the kubelet's socket to the next: to a plugin, a restarted kubelet is a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Life {
    /// Counts the sockets seen, from 1 on.
    pub number: u64,
    /// The socket's file.
    pub socket: FileId,
}

/// A watch on a folder; it ends when this is dropped.
#[derive(Debug)]
pub struct FolderWatch {
    /// What is seen.
    pub folder: watch::Receiver<Folder>,
    task: AbortHandle,
}

impl FolderWatch {
    /// Watches a folder, which need not be there yet. What it holds now is seen when this returns. Must be called on a
    /// tokio runtime.
    pub fn start(folder: &Path) -> Self {
        let mut eye = Eye::new(folder);
        eye.look();
        let (sender, receiver) = watch::channel(eye.seen);
        let task = tokio::spawn(async move { eye.follow(&sender).await }).abort_handle();
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
    reason = "tokio has no safe way to wait for a file descriptor of its caller's"
)]
fn registered(inotify: Inotify) -> io::Result<AsyncFd<Inotify>> {
    // SAFETY: the descriptor stays open and the same as long as it is registered: `Inotify` owns it, shows it only by
    // reference, and closes it when it is dropped, which `AsyncFd` does after the registration ended.
    unsafe { AsyncFd::register(inotify) }.map_err(io::Error::from)
}

/// What the events since the last look say.
#[derive(Default)]
struct News {
    /// The kubelet's socket was taken away, so that one found now is another one.
    kubelet_left: bool,
    /// Another socket was taken away or replaced.
    disturbed: bool,
    /// The folder came, went, or is another one.
    folder: bool,
}

struct Eye {
    folder: PathBuf,
    name: OsString,
    inotify: Option<AsyncFd<Inotify>>,
    /// The folder that is watched, by its watch and its device and inode.
    inside: Option<(WatchDescriptor, (u64, u64))>,
    /// The folder above, which tells of the folder's coming and going.
    above: Option<WatchDescriptor>,
    lives: u64,
    seen: Folder,
}

impl Eye {
    fn new(folder: &Path) -> Self {
        let inotify = Inotify::init().and_then(registered);
        if let Err(error) = &inotify {
            tracing::warn!(
                "cannot watch {}: {error}; looking at it every {LOOK_AGAIN:?} instead. Raise fs.inotify.max_user_instances \
                 on this node",
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
            let told = self.inside.is_some();
            tokio::select! {
                () = self.something() => {}
                () = tokio::time::sleep(LOOK_AGAIN), if !told => {}
                () = sender.closed() => return,
            }
            self.look();
            sender.send_if_modified(|folder| {
                let modified = *folder != self.seen;
                *folder = self.seen;
                modified
            });
        }
    }

    /// Waits until inotify has something to say.
    async fn something(&mut self) {
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

    /// Brings `seen` up to date. It belongs to one moment: no event came between the last that was read and the look.
    fn look(&mut self) {
        let mut news = News::default();
        self.read(&mut news);
        let (present, kubelet) = loop {
            let present = self.aim(&mut news);
            let kubelet = FileId::of(&self.folder.join(SOCKET)).filter(|_| present);
            if !self.read(&mut news) {
                break (present, kubelet);
            }
        };
        let same = |life: &Life| Some(life.socket) == kubelet && !news.kubelet_left;
        let kubelet = kubelet.map(|socket| {
            self.seen.kubelet.filter(same).unwrap_or_else(|| {
                self.lives += 1;
                Life {
                    number: self.lives,
                    socket,
                }
            })
        });
        // Without inotify nobody says whether sockets were disturbed, so each look makes their owners look too.
        let disturbed = news.disturbed || news.folder || self.inotify.is_none();
        self.seen = Folder {
            present,
            kubelet,
            disturbed: self.seen.disturbed + u64::from(disturbed),
        };
    }

    /// Watches the folder that is there now, and answers whether there is one.
    fn aim(&mut self, news: &mut News) -> bool {
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
        news.folder = true;
        if let Some((old, _)) = self.inside.take() {
            // It is no longer there where the folder is gone.
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

    /// Reads all events that are there, and answers whether there was any.
    fn read(&mut self, news: &mut News) -> bool {
        let Some(inotify) = &mut self.inotify else {
            return false;
        };
        let mut buffer = [0; 4096];
        let mut any = false;
        // An error is the end of what is there: almost always that it would block.
        while let Ok(events) = inotify.get_mut().read_events(&mut buffer) {
            any = true;
            for event in events {
                let inside = self.inside.as_ref().map(|(watch, _)| watch);
                if event.mask.contains(EventMask::Q_OVERFLOW) {
                    *news = News {
                        kubelet_left: news.kubelet_left,
                        disturbed: true,
                        folder: true,
                    };
                } else if Some(&event.wd) == inside {
                    if leaves(event.mask) {
                        self.inside = None;
                        news.folder = true;
                    } else if let Some(name) = event.name {
                        news.take(name, event.mask);
                    }
                } else if Some(&event.wd) == self.above.as_ref() {
                    if leaves(event.mask) {
                        self.above = None;
                    }
                    news.folder |= event.name == Some(self.name.as_os_str());
                }
            }
        }
        any
    }
}

impl News {
    /// A file in the folder came or went.
    fn take(&mut self, name: &OsStr, mask: EventMask) {
        let came_new = mask.contains(EventMask::CREATE);
        if name == SOCKET {
            self.kubelet_left |= !came_new;
        } else if Path::new(name).extension() == Some(OsStr::new("sock")) {
            self.disturbed |= !came_new;
        }
    }
}

/// Whether a watch says that what it is on is gone.
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
        let mut eye = Eye::new(folder.path());
        eye.look();
        assert_eq!((eye.seen.present, eye.seen.kubelet), (true, None));
        for number in 1..=50 {
            let kubelet = kubelet_of(folder.path());
            eye.look();
            eye.look();
            assert_eq!(eye.seen.kubelet.unwrap().number, number);
            drop(kubelet);
            fs::remove_file(folder.path().join(SOCKET)).unwrap();
            // Every other time the eye sees only that there was another one in between.
            if number % 2 == 0 {
                eye.look();
                assert_eq!(eye.seen.kubelet, None);
            }
        }
        assert_eq!(eye.seen.disturbed, 1, "the folder was found once");
    }

    #[tokio::test]
    async fn a_socket_found_at_the_start_is_not_met_twice() {
        let folder = tempfile::tempdir().unwrap();
        let _kubelet = kubelet_of(folder.path());
        let mut eye = Eye::new(folder.path());
        eye.look();
        let first = eye.seen;
        eye.look();
        assert_eq!(eye.seen, first);
        assert_eq!(first.kubelet.unwrap().number, 1);
    }

    /// File systems give an inode again at once, and not all know when a file was made.
    #[tokio::test]
    async fn a_socket_that_left_is_another_one_even_if_it_looks_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let _kubelet = kubelet_of(folder.path());
        let mut eye = Eye::new(folder.path());
        eye.look();
        let (here, away) = (folder.path().join(SOCKET), folder.path().join("away"));
        fs::rename(&here, &away).unwrap();
        fs::rename(&away, &here).unwrap();
        eye.look();
        assert_eq!(eye.seen.kubelet.unwrap().number, 2);
    }

    /// Whoever has a folder open keeps its end from being told.
    #[tokio::test]
    async fn a_folder_that_somebody_holds_open_is_watched_again() {
        let above = tempfile::tempdir().unwrap();
        let folder = above.path().join("device-plugins");
        fs::create_dir(&folder).unwrap();
        let mut eye = Eye::new(&folder);
        eye.look();
        let _open = fs::File::open(&folder).unwrap();
        fs::remove_dir(&folder).unwrap();
        fs::create_dir(&folder).unwrap();
        eye.look();
        let _kubelet = kubelet_of(&folder);
        eye.look();
        assert_eq!(eye.seen.kubelet.unwrap().number, 1);
        fs::remove_file(folder.join(SOCKET)).unwrap();
        let _kubelet = kubelet_of(&folder);
        let disturbed = eye.read(&mut News::default());
        assert!(disturbed, "the new folder is not watched");
    }

    #[tokio::test]
    async fn sockets_that_leave_disturb_and_other_files_do_not() {
        let folder = tempfile::tempdir().unwrap();
        let mut eye = Eye::new(folder.path());
        eye.look();
        let before = eye.seen.disturbed;
        fs::write(folder.path().join("gpuc-x.sock"), "").unwrap();
        fs::write(folder.path().join("kubelet_internal_checkpoint"), "").unwrap();
        fs::remove_file(folder.path().join("kubelet_internal_checkpoint")).unwrap();
        eye.look();
        assert_eq!(eye.seen.disturbed, before);
        fs::remove_file(folder.path().join("gpuc-x.sock")).unwrap();
        eye.look();
        assert_eq!(eye.seen.disturbed, before + 1);
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
