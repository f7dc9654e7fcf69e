//! Files and folders: every error names its path.

use std::collections::BTreeSet;
use std::fs::{self, File, Metadata};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use gpuc_compile::lock::{Lock, TEMPORARY_PREFIX};
use gpuc_syntax::tree::Tree;

/// The bytes of a regular file. A pipe can block forever, and a device can be endless.
pub(crate) fn read_regular(path: &Path) -> std::io::Result<Vec<u8>> {
    let found = fs::metadata(path)?;
    if !found.is_file() && !found.is_dir() {
        return Err(std::io::Error::other(NOT_REGULAR));
    }
    fs::read(path)
}

/// The reason why a pipe or a device is not read.
pub(crate) const NOT_REGULAR: &str = "it is a pipe or a device, not a regular file";

/// The bytes of a file.
pub(super) fn read(path: &Path) -> Result<Vec<u8>> {
    read_regular(path).with_context(|| format!("{}: cannot be read", path.display()))
}

/// The text of a file, if there is one.
pub(super) fn read_text(path: &Path) -> Result<Option<String>> {
    let shown = path.display();
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        // A parent is a file: there is nothing below it.
        Err(error) if error.kind() == ErrorKind::NotADirectory => return Ok(None),
        Err(error) => return Err(error).with_context(|| shown.to_string()),
        Ok(found) => ensure!(found.is_file(), "{shown}: is not a regular file"),
    }
    let text = fs::read_to_string(path);
    text.map(Some)
        .with_context(|| format!("{shown}: cannot be read"))
}

/// Writes a file atomically: a temporary file in the same folder is renamed.
pub(crate) fn write_atomically(path: &Path, contents: &str, executable: bool) -> Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let temporary = folder.join(format!("{TEMPORARY_PREFIX}{}", std::process::id()));
    let written = write_temporary(&temporary, contents, executable)
        .and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // Report the first error; the next run deletes leftovers.
        let _ = fs::remove_file(&temporary);
    }
    written.with_context(|| format!("{}: cannot be written", path.display()))
}

fn write_temporary(temporary: &Path, contents: &str, executable: bool) -> std::io::Result<()> {
    // A file with this name is left over from a killed run, and a link must not be followed.
    let mut file = match File::create_new(temporary) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            fs::remove_file(temporary)?;
            File::create_new(temporary)?
        }
        file => file?,
    };
    file.write_all(contents.as_bytes())?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        file.set_permissions(fs::Permissions::from_mode(file_mode(executable)))?;
    }
    Ok(())
}

/// A file's mode, independent of the umask.
#[cfg(unix)]
fn file_mode(executable: bool) -> u32 {
    if executable { 0o755 } else { 0o644 }
}

/// Whether the file's executable bit is as given; always true on platforms without it.
pub(super) fn has_mode(found: &Metadata, executable: bool) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        (found.permissions().mode() & 0o100 != 0) == executable
    }
    #[cfg(not(unix))]
    {
        let _ = (found, executable);
        true
    }
}

/// Sets or clears a file's executable bit, independent of the umask.
pub(super) fn set_mode(path: &Path, executable: bool) -> Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = file_mode(executable);
        fs::set_permissions(path, fs::Permissions::from_mode(mode))
            .with_context(|| format!("{}: cannot be changed to mode {mode:o}", path.display()))?;
    }
    #[cfg(not(unix))]
    {
        let _ = (path, executable);
    }
    Ok(())
}

/// Fails if a folder is a symbolic link, because gpuc would write to another location.
pub(super) fn refuse_link(folder: &Path) -> Result<()> {
    let is_link = fs::symlink_metadata(folder).is_ok_and(|found| found.is_symlink());
    ensure!(
        !is_link,
        "{}: is a link; gpuc writes no files through links",
        folder.display()
    );
    Ok(())
}

/// Makes a folder and those above it.
pub(super) fn create_folder(path: &Path) -> Result<()> {
    fs::create_dir_all(path).with_context(|| format!("{}: cannot be made a folder", path.display()))
}

/// Waits until no other run writes into the folder, and keeps others waiting as long as the answer lives.
///
/// Where the system knows no locks on folders, runs do not wait: every file is whole all the same.
#[must_use]
pub(super) fn lock_folder(folder: &Path) -> Option<File> {
    let folder = File::open(folder).ok()?;
    folder.lock().ok()?;
    Some(folder)
}

/// Deletes a file. It is not an error if the file does not exist.
pub(super) fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        result => result.with_context(|| format!("{}: cannot be deleted", path.display())),
    }
}

/// Deletes a folder if it is empty.
pub(super) fn remove_if_empty(folder: &Path) -> bool {
    fs::remove_dir(folder).is_ok()
}

/// Deletes the empty parent folders of a file, except `folder` itself.
pub(super) fn remove_empty_parents(folder: &Path, path: &str) {
    let mut rest = path;
    while let Some((parent, _)) = rest.rsplit_once('/') {
        if !remove_if_empty(&folder.join(parent)) {
            return;
        }
        rest = parent;
    }
}

/// Deletes the temporary files of a killed run, which is recorded in the lock.
pub(super) fn delete_temporary_files(folder: &Path, tree: &Tree, old: Option<&Lock>) -> Result<()> {
    delete_temporary_files_in(folder)?;
    let Some(old) = old.filter(|old| !old.pending.is_empty()) else {
        return Ok(());
    };
    let paths = old
        .paths()
        .into_iter()
        .chain(tree.files().map(|(path, _)| path));
    let parents = paths.filter_map(|path| Some(path.rsplit_once('/')?.0));
    for parent in parents.collect::<BTreeSet<_>>() {
        delete_temporary_files_in(&folder.join(parent))?;
    }
    Ok(())
}

fn delete_temporary_files_in(folder: &Path) -> Result<()> {
    for entry in entries(folder)? {
        let is_ours = entry
            .file_name()
            .to_string_lossy()
            .starts_with(TEMPORARY_PREFIX);
        if is_ours && entry.file_type().is_ok_and(|kind| kind.is_file()) {
            remove(&entry.path())?;
        }
    }
    Ok(())
}

/// The folders in a folder, by name.
pub(super) fn subfolders(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = entries(folder)?.into_iter();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let mut folders: Vec<PathBuf> = folders.map(|entry| entry.path()).collect();
    folders.sort();
    Ok(folders)
}

/// The entries of a folder; none if it does not exist.
fn entries(folder: &Path) -> Result<Vec<fs::DirEntry>> {
    let read = match fs::read_dir(folder) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        read => read,
    };
    let entries = read.and_then(Iterator::collect);
    entries.with_context(|| format!("{}: cannot be listed", folder.display()))
}
