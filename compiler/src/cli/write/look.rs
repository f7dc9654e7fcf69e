//! Compares a tree with what is on disk.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use gpuc::lock::{self, Lock};
use gpuc::tree::{Tree, TreeFile};

use super::disk;

/// What writing a tree changes. Paths are seen from the cluster's folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    /// Files that were not there.
    pub(crate) added: Vec<String>,
    /// Files of gpuc's with other contents, or that can be run when they ought not to, or the other way around.
    pub(crate) changed: Vec<String>,
    /// Files of gpuc's that it writes no longer.
    pub(crate) removed: Vec<String>,
    /// How many files stay as they are.
    pub(crate) unchanged: usize,
    /// Files of gpuc's that somebody has changed.
    pub(crate) edited_by_hand: Vec<String>,
    /// Files that are not gpuc's and stand where it writes one.
    pub(crate) foreign: Vec<String>,
    /// Why the lock changes, if it does. Only [`check`](super::check) and [`write`](super::write) look.
    pub(crate) lock: Option<&'static str>,
    /// What is to be done, with force.
    pub(super) actions: Vec<(String, Action)>,
}

/// What is to be done with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Write,
    Mode,
    Remove,
}

impl Changes {
    /// Whether the tree on disk is the tree.
    pub(crate) fn is_empty(&self) -> bool {
        self.actions.is_empty() && self.lock.is_none()
    }

    /// Whether every file is as it would be written, whatever the lock says.
    pub(crate) fn has_no_files(&self) -> bool {
        self.actions.is_empty()
    }

    /// Whether a file has the right contents and the wrong mode.
    pub(crate) fn is_only_mode(&self, path: &str) -> bool {
        let mut actions = self.actions.iter();
        actions.any(|(of, action)| of == path && *action == Action::Mode)
    }
}

/// What writing the tree into the folder would change, given the lock that is there.
///
/// It is an error where something stands in the way that gpuc must not touch: a link, a folder where a file belongs, a
/// file where a folder belongs.
pub(crate) fn plan_write(folder: &Path, tree: &Tree, old: Option<&Lock>) -> Result<Changes> {
    refuse_home_of_flux(folder, tree)?;
    let mut looking = Looking {
        folder,
        tree,
        old,
        owned: old.map(Lock::paths).unwrap_or_default(),
        parents: BTreeMap::new(),
        changes: Changes::default(),
    };
    for (path, file) in tree.files() {
        ensure!(
            lock::is_inside(path),
            "`{path}` is no path for a generated file"
        );
        looking.look_at(path, file)?;
    }
    for path in looking.owned.clone() {
        if tree.get(path).is_none() {
            looking.look_at_orphan(path)?;
        }
    }
    Ok(looking.changes)
}

/// The folder that `flux bootstrap` commits, for Flux to bring itself
/// (<https://fluxcd.io/flux/installation/bootstrap/generic-git-server/>, read 2026-11-21).
const FLUX_ITSELF: &str = "flux-system";

/// Where Flux brings itself from the folder, a kustomization that does not name that part would make it remove itself.
fn refuse_home_of_flux(folder: &Path, tree: &Tree) -> Result<()> {
    let flux = folder.join(FLUX_ITSELF);
    let is_named = tree.get("kustomization.yaml").is_none();
    ensure!(
        is_named || fs::symlink_metadata(&flux).is_err(),
        "{}: Flux brings itself from this folder, and with the tree's kustomization.yaml in it would remove itself\n\
         help: build into the folder, with `-o {}`, so that the tree lies below it",
        flux.display(),
        folder.display()
    );
    Ok(())
}

struct Looking<'a> {
    folder: &'a Path,
    tree: &'a Tree,
    old: Option<&'a Lock>,
    owned: BTreeSet<&'a str>,
    /// Whether a folder is there.
    parents: BTreeMap<&'a str, bool>,
    changes: Changes,
}

impl<'a> Looking<'a> {
    fn look_at(&mut self, path: &'a str, file: &TreeFile) -> Result<()> {
        let found = if self.parent_is_there(path)? {
            self.metadata(path)?
        } else {
            None
        };
        let Some(found) = found.filter(|found| !(found.is_dir() && self.gives_way(path))) else {
            self.changes.added.push(path.to_owned());
            self.act(path, Action::Write);
            return Ok(());
        };
        let shown = self.folder.join(path);
        let shown = shown.display();
        ensure!(
            !found.is_symlink(),
            "{shown}: is a link; gpuc writes no files through links"
        );
        ensure!(
            !found.is_dir(),
            "{shown}: is a folder where gpuc writes a file"
        );
        ensure!(found.is_file(), "{shown}: is no ordinary file");
        self.compare(path, file, &found)
    }

    fn compare(&mut self, path: &str, file: &TreeFile, found: &Metadata) -> Result<()> {
        let bytes = disk::read(&self.folder.join(path))?;
        if bytes == file.contents.as_bytes() {
            if disk::has_mode(found, file.executable) {
                self.changes.unchanged += 1;
            } else {
                self.changes.changed.push(path.to_owned());
                self.act(path, Action::Mode);
            }
            return Ok(());
        }
        let list = match self.old.filter(|old| old.owns(path)) {
            None => &mut self.changes.foreign,
            Some(old) if old.wrote(path, &lock::digest(&bytes)) => &mut self.changes.changed,
            Some(_) => &mut self.changes.edited_by_hand,
        };
        list.push(path.to_owned());
        self.act(path, Action::Write);
        Ok(())
    }

    /// A file that gpuc wrote and writes no longer.
    fn look_at_orphan(&mut self, path: &'a str) -> Result<()> {
        if !self.parent_is_there(path)? {
            return Ok(());
        }
        let Some(found) = self.metadata(path)? else {
            return Ok(());
        };
        if found.is_dir() {
            // Somebody made it; a folder holds nothing of gpuc's but files that are in the lock themselves.
            return Ok(());
        }
        let is_ours = found.is_file() && {
            let digest = lock::digest(&disk::read(&self.folder.join(path))?);
            self.old.is_some_and(|old| old.wrote(path, &digest))
        };
        let list = if is_ours {
            &mut self.changes.removed
        } else {
            &mut self.changes.edited_by_hand
        };
        list.push(path.to_owned());
        self.act(path, Action::Remove);
        Ok(())
    }

    /// Whether the folder of a file is there. It is an error if a link or a file stands in its place.
    fn parent_is_there(&mut self, path: &'a str) -> Result<bool> {
        let Some((parent, _)) = path.rsplit_once('/') else {
            return Ok(true);
        };
        if let Some(known) = self.parents.get(parent) {
            return Ok(*known);
        }
        let is_there = self.parent_is_there(parent)? && self.is_folder(parent)?;
        self.parents.insert(parent, is_there);
        Ok(is_there)
    }

    fn is_folder(&self, path: &str) -> Result<bool> {
        let Some(found) = self.metadata(path)? else {
            return Ok(false);
        };
        let shown = self.folder.join(path);
        let shown = shown.display();
        ensure!(
            !found.is_symlink(),
            "{shown}: is a link; gpuc writes no files through links"
        );
        if found.is_dir() {
            return Ok(true);
        }
        if self.owned.contains(path) && self.tree.get(path).is_none() {
            return Ok(false);
        }
        bail!("{shown}: is a file where gpuc needs a folder");
    }

    /// Whether a folder holds files of gpuc's that it removes, so that a file may take its place.
    fn gives_way(&self, path: &str) -> bool {
        let below = format!("{path}/");
        let first = self.owned.range(below.as_str()..).next();
        first.is_some_and(|owned| owned.starts_with(&below))
    }

    fn metadata(&self, path: &str) -> Result<Option<Metadata>> {
        let path = self.folder.join(path);
        match fs::symlink_metadata(&path) {
            Ok(found) => Ok(Some(found)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(|| path.display().to_string()),
        }
    }

    fn act(&mut self, path: &str, action: Action) {
        self.changes.actions.push((path.to_owned(), action));
    }
}
