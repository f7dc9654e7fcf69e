//! Watches the configuration file for changes.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use inotify::{Inotify, WatchMask};
use tokio::sync::mpsc::UnboundedSender;
use tokio_stream::StreamExt;

use super::{ConfigError, LoadedConfig, parse_known, read_regular};

/// How long the directory must be quiet before the file is read: the kubelet replaces a ConfigMap in several steps.
const SETTLE_TIME: Duration = Duration::from_millis(50);

/// Delay before a missing directory or an unreadable file is retried.
const RETRY_DELAY: Duration = Duration::from_secs(5);

/// Sends each new content of the file, starting from `known`. Only the content counts: a symbolic link to another file
/// with the same text is not a change, and a different text behind the same link is. A file that cannot be read, also
/// because it was deleted, is reported once.
pub async fn watch(
    path: PathBuf,
    known: Result<String, ConfigError>,
    changes: UnboundedSender<Result<LoadedConfig, ConfigError>>,
) {
    let mut known = known.map_err(|error| error.io_kind());
    loop {
        let Some(mut events) = subscribe(&path) else {
            if let Some(change) = poll_change(&path, &mut known)
                && changes.send(change).is_err()
            {
                return;
            }
            tokio::time::sleep(RETRY_DELAY).await;
            continue;
        };
        loop {
            if let Some(change) = poll_change(&path, &mut known)
                && changes.send(change).is_err()
            {
                return;
            }
            let next = events.next();
            let update = match &known {
                Ok(_) => next.await,
                // The cause, such as permissions or a lack of file descriptors, may end without an event.
                Err(_) => match tokio::time::timeout(RETRY_DELAY, next).await {
                    Ok(more) => more,
                    Err(_) => continue,
                },
            };
            if !matches!(update, Some(Ok(_))) {
                break;
            }
            let quiet = async { while let Some(Ok(_)) = events.next().await {} };
            // Either more events arrive and the file is read once for all of them, or none does.
            let _ = tokio::time::timeout(SETTLE_TIME, quiet).await;
            if !parent_folder(&path).is_some_and(Path::exists) {
                break;
            }
        }
    }
}

/// Returns the change of the file, if any. `known` is the last text, or the last error.
fn poll_change(
    path: &Path,
    known: &mut Result<String, io::ErrorKind>,
) -> Option<Result<LoadedConfig, ConfigError>> {
    let found = match read_regular(path) {
        Err(ConfigError::Unreadable(error)) => Err(error),
        Err(error) => return Some(Err(error)),
        Ok(text) => Ok(text),
    };
    let next = found.as_ref().map(Clone::clone).map_err(io::Error::kind);
    if next == *known {
        return None;
    }
    *known = next;
    Some(match found {
        Ok(text) => parse_known(&text),
        Err(error) => Err(ConfigError::Unreadable(error)),
    })
}

/// Returns the directory of the file. For a file name without a directory, it is the working directory.
fn parent_folder(path: &Path) -> Option<&Path> {
    let folder = path.parent()?;
    if folder.as_os_str().is_empty() {
        return Some(Path::new("."));
    }
    Some(folder)
}

/// Subscribes to all events in the file's directory: a ConfigMap file is a link through another link, and only the
/// latter is replaced.
fn subscribe(path: &Path) -> Option<inotify::EventStream<[u8; 1024]>> {
    let inotify = Inotify::init().ok()?;
    let mask = WatchMask::CREATE
        | WatchMask::MOVED_TO
        | WatchMask::CLOSE_WRITE
        | WatchMask::DELETE
        | WatchMask::DELETE_SELF;
    inotify.watches().add(parent_folder(path)?, mask).ok()?;
    inotify.into_event_stream([0; 1024]).ok()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

    use super::super::tests::CONFIG;
    use super::*;

    async fn next_change(
        changes: &mut UnboundedReceiver<Result<LoadedConfig, ConfigError>>,
    ) -> Result<LoadedConfig, ConfigError> {
        let next = tokio::time::timeout(Duration::from_secs(10), changes.recv()).await;
        next.expect("a change within ten seconds")
            .expect("the watch continues")
    }

    /// Writes a text like the kubelet writes a ConfigMap: into a new folder to which the link `..data` points.
    fn publish_config_map(folder: &Path, version: &str, text: &str) {
        fs::create_dir(folder.join(version)).unwrap();
        fs::write(folder.join(version).join("node.json"), text).unwrap();
        let next = folder.join("..data_tmp");
        symlink(version, &next).unwrap();
        fs::rename(&next, folder.join("..data")).unwrap();
    }

    #[tokio::test]
    async fn only_changed_content_is_sent() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("node.json");
        publish_config_map(folder.path(), "..1", CONFIG);
        symlink("..data/node.json", &path).unwrap();
        let (sender, mut changes) = unbounded_channel();
        let watching = tokio::spawn(watch(path, Ok(CONFIG.to_owned()), sender));

        publish_config_map(folder.path(), "..2", CONFIG);
        tokio::time::sleep(SETTLE_TIME * 4).await;
        assert!(changes.try_recv().is_err(), "the same text is not a change");

        publish_config_map(
            folder.path(),
            "..3",
            &CONFIG.replace("\"demo\"", "\"other\""),
        );
        assert_eq!(
            next_change(&mut changes).await.unwrap().config.cluster,
            "other"
        );

        publish_config_map(folder.path(), "..4", "{");
        assert!(matches!(
            next_change(&mut changes).await,
            Err(ConfigError::Malformed(_))
        ));

        publish_config_map(folder.path(), "..5", CONFIG);
        assert_eq!(
            next_change(&mut changes).await.unwrap().config.cluster,
            "demo"
        );
        watching.abort();
    }

    #[tokio::test]
    async fn unreadable_file_is_reported_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("node.json");
        fs::write(&path, CONFIG).unwrap();
        let (sender, mut changes) = unbounded_channel();
        let watching = tokio::spawn(watch(path.clone(), Ok(CONFIG.to_owned()), sender));
        tokio::time::sleep(SETTLE_TIME).await;

        fs::write(&path, b"\xff\xfe").unwrap();
        let error = next_change(&mut changes).await.unwrap_err();
        assert!(matches!(error, ConfigError::Unreadable(_)), "{error}");
        fs::write(folder.path().join("other"), "").unwrap();
        tokio::time::sleep(SETTLE_TIME * 4).await;
        assert!(changes.try_recv().is_err(), "the error is reported once");
        fs::remove_file(&path).unwrap();
        let error = next_change(&mut changes).await.unwrap_err().to_string();
        assert!(error.contains("No such file"), "{error}");
        fs::create_dir(&path).unwrap();
        let error = next_change(&mut changes).await.unwrap_err().to_string();
        assert!(error.contains("not a regular file"), "{error}");
        fs::remove_dir(&path).unwrap();
        next_change(&mut changes).await.unwrap_err();

        // The last configuration is valid again.
        fs::write(&path, CONFIG).unwrap();
        assert_eq!(
            next_change(&mut changes).await.unwrap().config.cluster,
            "demo"
        );
        watching.abort();
    }

    #[tokio::test]
    async fn late_folder_is_watched() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("node.json");
        fs::write(&path, CONFIG).unwrap();
        let (sender, mut changes) = unbounded_channel();
        // Changes before the watch starts are reported too.
        let watching = tokio::spawn(watch(path, Ok(String::new()), sender));
        assert_eq!(
            next_change(&mut changes).await.unwrap().config.cluster,
            "demo"
        );
        watching.abort();
    }
}
