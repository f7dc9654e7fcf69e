//! Writes a tree to disk, and computes the changes first. gpuc owns the files in its lock. Without `--force`, it never
//! changes other files, nor its own files if they were edited by hand. First it writes a lock with both the old and the
//! new digests. Then it writes each file with a rename, and the lock of the new tree last. A run can be killed at any
//! time, and the next run completes it.

mod compare;
mod disk;

use std::collections::BTreeSet;
use std::fmt::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Result;
use gpuc_compile::lock::{LOCK_FILE, Lock};
use gpuc_syntax::tree::Tree;

use compare::Action;
pub(crate) use compare::{Changes, plan_write};
pub(crate) use disk::{NOT_REGULAR, read_regular, write_atomically};

/// The difference of a file with correct contents and the wrong mode.
pub(crate) const ONLY_MODE: &str = "only the executable bit differs";

/// The maximum number of paths that an error lists by name.
const MAX_NAMED: usize = 20;

/// The lock of a cluster's folder, if there is one.
pub(crate) fn read_lock(folder: &Path) -> Result<Option<Lock>> {
    let path = folder.join(LOCK_FILE);
    let Some(text) = disk::read_text(&path)? else {
        return Ok(None);
    };
    let lock = Lock::parse(&text);
    let lock = lock.map_err(|error| {
        let help = "restore it from Git, or build with `--force` to replace it";
        anyhow::anyhow!("{} cannot be read: {error}\nhelp: {help}", path.display())
    })?;
    Ok(Some(lock))
}

/// The changes of a build, without applying them.
pub(crate) fn check(folder: &Path, tree: &Tree, lock: &Lock) -> Result<Changes> {
    disk::refuse_link(folder)?;
    let old = read_lock(folder)?;
    let mut changes = plan_write(folder, tree, old.as_ref())?;
    changes.lock = lock_change_reason(old.as_ref(), lock);
    Ok(changes)
}

/// Writes the tree of a cluster into its folder. With `force`, files that were edited by hand or not written by gpuc
/// are overwritten. Otherwise nothing is written if there are such files, and the error lists them.
pub(crate) fn write(folder: &Path, tree: &Tree, lock: &Lock, force: bool) -> Result<Changes> {
    disk::refuse_link(folder)?;
    disk::create_folder(folder)?;
    let _turn = disk::lock_folder(folder);
    // With force, an unreadable lock is ignored: conflicting files are overwritten, and no other file is deleted.
    let old = match read_lock(folder) {
        Err(_) if force => None,
        old => old?,
    };
    let mut changes = plan_write(folder, tree, old.as_ref())?;
    changes.lock = lock_change_reason(old.as_ref(), lock);
    if !force {
        refuse_overwrites(folder, &changes)?;
    }
    disk::delete_temporary_files(folder, tree, old.as_ref())?;
    if !changes.actions.is_empty() {
        let intent = lock.with_pending(old.as_ref());
        disk::write_atomically(&folder.join(LOCK_FILE), &intent.to_json(), false)?;
        apply(folder, tree, &changes)?;
    }
    let owned = old.iter().flat_map(Lock::paths);
    for orphan in owned.filter(|path| tree.get(path).is_none()) {
        // Also for files that a killed run had already deleted.
        disk::remove_empty_parents(folder, orphan);
    }
    if changes.lock.is_some() {
        disk::write_atomically(&folder.join(LOCK_FILE), &lock.to_json(), false)?;
    }
    Ok(changes)
}

/// Deletes gpuc's files in the folder of a deleted cluster, the lock last, and the folder if it is empty.
pub(crate) fn remove(folder: &Path, force: bool) -> Result<Changes> {
    disk::refuse_link(folder)?;
    let _turn = disk::lock_folder(folder);
    let Some(old) = read_lock(folder)? else {
        return Ok(Changes::default());
    };
    let nothing = Tree::default();
    let changes = plan_write(folder, &nothing, Some(&old))?;
    if !force {
        refuse_overwrites(folder, &changes)?;
    }
    disk::delete_temporary_files(folder, &nothing, Some(&old))?;
    apply(folder, &nothing, &changes)?;
    disk::remove(&folder.join(LOCK_FILE))?;
    disk::remove_if_empty(folder);
    Ok(changes)
}

/// The folders in `out` with a lock, by name: the clusters that were built there.
pub(crate) fn built_folders(out: &Path) -> Result<Vec<PathBuf>> {
    let mut folders = disk::subfolders(out)?;
    folders.retain(|folder| folder.join(LOCK_FILE).is_file());
    Ok(folders)
}

/// The reason why the lock changes; `None` if it does not.
fn lock_change_reason(old: Option<&Lock>, new: &Lock) -> Option<&'static str> {
    let Some(old) = old else {
        return Some("the tree had no lock");
    };
    let reasons = [
        (!old.pending.is_empty(), "a build was interrupted"),
        (old.gpuc != new.gpuc, "written by another version of gpuc"),
        (old.input != new.input, "the input changed"),
        (old.from != new.from, "the input file moved"),
        (
            old.pins != new.pins,
            "charts, images or machine types changed",
        ),
    ];
    let reason = reasons.iter().find(|(holds, _)| *holds);
    let reason = reason.map_or("the generated files changed", |(_, reason)| reason);
    (old != new).then_some(reason)
}

/// Applies the changes. Deletions come first, because a folder can be replaced by a file or a file by a folder.
fn apply(folder: &Path, tree: &Tree, changes: &Changes) -> Result<()> {
    for (path, action) in &changes.actions {
        if *action == Action::Remove {
            disk::remove(&folder.join(path))?;
            disk::remove_empty_parents(folder, path);
        }
    }
    let mut created = BTreeSet::new();
    for (path, action) in &changes.actions {
        let Some(file) = tree.get(path) else {
            continue;
        };
        let target = folder.join(path);
        match action {
            Action::Write => {
                let parent = target.parent().unwrap_or(folder);
                if created.insert(parent.to_owned()) {
                    disk::create_folder(parent)?;
                }
                disk::write_atomically(&target, &file.contents, file.executable)?;
            }
            Action::Mode => disk::set_mode(&target, file.executable)?,
            Action::Remove => unreachable!("files of the tree are not deleted"),
        }
    }
    Ok(())
}

/// The files that gpuc does not overwrite without `--force`, one per line.
#[derive(Debug)]
pub(crate) struct OverwriteRefused(String);

impl std::error::Error for OverwriteRefused {}

impl fmt::Display for OverwriteRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "tree not written, because these files would be overwritten:{}\n\
             help: save their contents elsewhere, then build with `--force`",
            self.0
        )
    }
}

fn refuse_overwrites(folder: &Path, changes: &Changes) -> Result<()> {
    let mut message = String::new();
    let reasons = [
        (&changes.edited_by_hand, "edited by hand"),
        (&changes.foreign, "not written by gpuc"),
    ];
    for (paths, reason) in reasons {
        for path in paths.iter().take(MAX_NAMED) {
            let path = folder.join(path);
            write!(message, "\n  {}: {reason}", path.display()).expect("a String takes everything");
        }
        if paths.len() > MAX_NAMED {
            let more = paths.len() - MAX_NAMED;
            write!(message, "\n  and {more} more: {reason}").expect("a String takes everything");
        }
    }
    if !message.is_empty() {
        return Err(OverwriteRefused(message).into());
    }
    Ok(())
}

#[cfg(test)]
mod tests;
