//! Puts a tree on disk, and says first what that changes.
//!
//! gpuc owns the files in its lock. It never touches another, and never one of its own that somebody has changed,
//! unless it is told to. Before the first file it writes a lock that takes both the old and the new digests for its
//! own, each file comes by a rename, and the lock of the new tree comes last: a run may be killed at any moment, and
//! the next one finishes what it began.

mod disk;
mod look;

use std::collections::BTreeSet;
use std::fmt::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Result;
use gpuc::lock::{LOCK_FILE, Lock};
use gpuc::tree::Tree;

pub(crate) use disk::put;
use look::Action;
pub(crate) use look::{Changes, plan_write};

/// What a file differs in that has the right contents and the wrong mode.
pub(crate) const ONLY_MODE: &str = "only whether it can be run";

/// How many paths a refusal names before it counts the rest.
const NAMED: usize = 20;

/// The lock of a cluster's folder, if there is one.
pub(crate) fn read_lock(folder: &Path) -> Result<Option<Lock>> {
    let path = folder.join(LOCK_FILE);
    let Some(text) = disk::read_text(&path)? else {
        return Ok(None);
    };
    let lock = Lock::parse(&text);
    let lock = lock.map_err(|error| {
        let help = "take it from git again, or build with `--force` to write it anew";
        anyhow::anyhow!("{} cannot be read: {error}\nhelp: {help}", path.display())
    })?;
    Ok(Some(lock))
}

/// What a build would change, without changing it.
pub(crate) fn check(folder: &Path, tree: &Tree, lock: &Lock) -> Result<Changes> {
    disk::refuse_link(folder)?;
    let old = read_lock(folder)?;
    let mut changes = plan_write(folder, tree, old.as_ref())?;
    changes.lock = moved(old.as_ref(), lock);
    Ok(changes)
}

/// Writes the tree of a cluster into its folder. With `force`, files that somebody changed or that are not gpuc's are
/// overwritten; without, nothing is written when there is any, and the error lists them.
pub(crate) fn write(folder: &Path, tree: &Tree, lock: &Lock, force: bool) -> Result<Changes> {
    disk::refuse_link(folder)?;
    disk::make_folder(folder)?;
    let _turn = disk::take_turn(folder);
    // With force, a lock that cannot be read is as none: everything in the way is overwritten, and nothing else
    // removed.
    let old = match read_lock(folder) {
        Err(_) if force => None,
        old => old?,
    };
    let mut changes = plan_write(folder, tree, old.as_ref())?;
    changes.lock = moved(old.as_ref(), lock);
    if !force {
        refuse(folder, &changes)?;
    }
    disk::sweep(folder, tree, old.as_ref())?;
    if !changes.actions.is_empty() {
        let intent = lock.intent(old.as_ref());
        disk::put(&folder.join(LOCK_FILE), &intent.to_json(), false)?;
        carry_out(folder, tree, &changes)?;
    }
    let owned = old.iter().flat_map(Lock::paths);
    for orphan in owned.filter(|path| tree.get(path).is_none()) {
        // Also of one that a killed run had removed already.
        disk::remove_empty_parents(folder, orphan);
    }
    if changes.lock.is_some() {
        disk::put(&folder.join(LOCK_FILE), &lock.to_json(), false)?;
    }
    Ok(changes)
}

/// Removes what gpuc owns in the folder of a cluster that is no more, its lock last, and the folder if nothing is left.
pub(crate) fn remove(folder: &Path, force: bool) -> Result<Changes> {
    disk::refuse_link(folder)?;
    let _turn = disk::take_turn(folder);
    let Some(old) = read_lock(folder)? else {
        return Ok(Changes::default());
    };
    let nothing = Tree::default();
    let changes = plan_write(folder, &nothing, Some(&old))?;
    if !force {
        refuse(folder, &changes)?;
    }
    disk::sweep(folder, &nothing, Some(&old))?;
    carry_out(folder, &nothing, &changes)?;
    disk::remove(&folder.join(LOCK_FILE))?;
    disk::remove_if_empty(folder);
    Ok(changes)
}

/// The folders below `out` that have a lock, by name: the clusters that were built there.
pub(crate) fn built(out: &Path) -> Result<Vec<PathBuf>> {
    let mut folders = disk::folders(out)?;
    folders.retain(|folder| folder.join(LOCK_FILE).is_file());
    Ok(folders)
}

/// Why a lock is not the one that is there, in words; `None` if it is.
fn moved(old: Option<&Lock>, new: &Lock) -> Option<&'static str> {
    let Some(old) = old else {
        return Some("there was none");
    };
    let reasons = [
        (!old.pending.is_empty(), "a build was interrupted"),
        (old.gpuc != new.gpuc, "another version of gpuc wrote it"),
        (old.input != new.input, "the input changed"),
        (old.from != new.from, "the input is in another place"),
        (old.pins != new.pins, "other charts, images or machines"),
    ];
    let reason = reasons.iter().find(|(holds, _)| *holds);
    let reason = reason.map_or("its files changed", |(_, reason)| reason);
    (old != new).then_some(reason)
}

/// Removals come first, because a folder may give way to a file or a file to a folder.
fn carry_out(folder: &Path, tree: &Tree, changes: &Changes) -> Result<()> {
    for (path, action) in &changes.actions {
        if *action == Action::Remove {
            disk::remove(&folder.join(path))?;
            disk::remove_empty_parents(folder, path);
        }
    }
    let mut made = BTreeSet::new();
    for (path, action) in &changes.actions {
        let Some(file) = tree.get(path) else {
            continue;
        };
        let target = folder.join(path);
        match action {
            Action::Write => {
                let parent = target.parent().unwrap_or(folder);
                if made.insert(parent.to_owned()) {
                    disk::make_folder(parent)?;
                }
                disk::put(&target, &file.contents, file.executable)?;
            }
            Action::Mode => disk::set_mode(&target, file.executable)?,
            Action::Remove => unreachable!("what is in the tree is not removed"),
        }
    }
    Ok(())
}

/// Files that gpuc does not overwrite unless it is told to, one a line.
#[derive(Debug)]
pub(crate) struct Refused(String);

impl std::error::Error for Refused {}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "not written, because these files would be lost:{}\n\
             help: keep what is in them elsewhere, or build with `--force`",
            self.0
        )
    }
}

fn refuse(folder: &Path, changes: &Changes) -> Result<()> {
    let mut message = String::new();
    let reasons = [
        (&changes.edited_by_hand, "changed since gpuc wrote it"),
        (&changes.foreign, "not written by gpuc"),
    ];
    for (paths, reason) in reasons {
        for path in paths.iter().take(NAMED) {
            let path = folder.join(path);
            write!(message, "\n  {}: {reason}", path.display()).expect("a String takes everything");
        }
        if paths.len() > NAMED {
            let more = paths.len() - NAMED;
            write!(message, "\n  and {more} more: {reason}").expect("a String takes everything");
        }
    }
    if !message.is_empty() {
        return Err(Refused(message).into());
    }
    Ok(())
}

#[cfg(test)]
mod tests;
