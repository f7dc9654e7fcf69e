//! Compares a tree with the files on disk.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use gpuc_compile::lock::{self, Lock};
use gpuc_syntax::tree::{Tree, TreeFile};

use super::disk;

/// The changes of writing a tree. Paths are relative to the cluster's folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    /// New files.
    pub(crate) added: Vec<String>,
    /// Files of gpuc with other contents or another executable bit.
    pub(crate) changed: Vec<String>,
    /// Files of gpuc that are no longer generated.
    pub(crate) removed: Vec<String>,
    /// The number of unchanged files.
    pub(crate) unchanged: usize,
    /// Files of gpuc that were edited by hand.
    pub(crate) edited_by_hand: Vec<String>,
    /// Files that gpuc did not write, at paths of generated files.
    pub(crate) foreign: Vec<String>,
    /// The reason why the lock changes, if it does. Only set by [`check`](super::check) and [`write`](super::write).
    pub(crate) lock: Option<&'static str>,
    /// The actions, with force.
    pub(super) actions: Vec<(String, Action)>,
}

/// An action on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Write,
    Mode,
    Remove,
}

impl Changes {
    /// Whether the tree on disk is up to date.
    pub(crate) fn is_empty(&self) -> bool {
        self.actions.is_empty() && self.lock.is_none()
    }

    /// Whether no file changes, except the lock.
    pub(crate) fn has_no_files(&self) -> bool {
        self.actions.is_empty()
    }

    /// Whether a file has correct contents and the wrong mode.
    pub(crate) fn is_only_mode(&self, path: &str) -> bool {
        let mut actions = self.actions.iter();
        actions.any(|(changed, action)| changed == path && *action == Action::Mode)
    }
}

/// The changes of writing the tree into the folder, given the existing lock. It is an error if a path is blocked by
/// something that gpuc must not change: a link, a folder in place of a file, or a file in place of a folder.
pub(crate) fn plan_write(folder: &Path, tree: &Tree, old: Option<&Lock>) -> Result<Changes> {
    refuse_flux_bootstrap_folder(folder, tree)?;
    let mut comparison = Comparison {
        folder,
        tree,
        old,
        owned: old.map(Lock::paths).unwrap_or_default(),
        parents: BTreeMap::new(),
        changes: Changes::default(),
    };
    for (path, file) in tree.files() {
        ensure!(
            lock::is_valid_path(path),
            "`{path}` is not a valid path for a generated file"
        );
        comparison.compare_file(path, file)?;
    }
    for path in comparison.owned.clone() {
        if tree.get(path).is_none() {
            comparison.compare_orphan(path)?;
        }
    }
    Ok(comparison.changes)
}

/// The folder that `flux bootstrap` commits, with which Flux manages itself
/// (<https://fluxcd.io/flux/installation/bootstrap/generic-git-server/>, read 2026-11-21).
const FLUX_BOOTSTRAP_FOLDER: &str = "flux-system";

/// Fails if Flux manages itself from this folder: a kustomization that does not include Flux's manifests would make
/// Flux delete itself.
fn refuse_flux_bootstrap_folder(folder: &Path, tree: &Tree) -> Result<()> {
    let flux = folder.join(FLUX_BOOTSTRAP_FOLDER);
    let is_named = tree.get("kustomization.yaml").is_none();
    ensure!(
        is_named || fs::symlink_metadata(&flux).is_err(),
        "{}: Flux manages itself from this folder; the tree's kustomization.yaml would make Flux delete itself\n\
         help: build into a subfolder with `-o {}`",
        flux.display(),
        folder.display()
    );
    Ok(())
}

struct Comparison<'a> {
    folder: &'a Path,
    tree: &'a Tree,
    old: Option<&'a Lock>,
    owned: BTreeSet<&'a str>,
    /// Whether a folder exists.
    parents: BTreeMap<&'a str, bool>,
    changes: Changes,
}

impl<'a> Comparison<'a> {
    fn compare_file(&mut self, path: &'a str, file: &TreeFile) -> Result<()> {
        let found = if self.parent_exists(path)? {
            self.metadata(path)?
        } else {
            None
        };
        let Some(found) = found.filter(|found| !(found.is_dir() && self.is_replaceable(path)))
        else {
            self.changes.added.push(path.to_owned());
            self.add_action(path, Action::Write);
            return Ok(());
        };
        let shown = self.folder.join(path);
        let shown = shown.display();
        ensure!(
            !found.is_symlink(),
            "{shown}: is a symbolic link; gpuc does not follow links"
        );
        ensure!(
            !found.is_dir(),
            "{shown}: is a folder, but gpuc generates a file with this path"
        );
        ensure!(found.is_file(), "{shown}: is not a regular file");
        self.compare_contents(path, file, &found)
    }

    fn compare_contents(&mut self, path: &str, file: &TreeFile, found: &Metadata) -> Result<()> {
        let bytes = disk::read(&self.folder.join(path))?;
        if bytes == file.contents.as_bytes() {
            if disk::has_mode(found, file.executable) {
                self.changes.unchanged += 1;
            } else {
                self.changes.changed.push(path.to_owned());
                self.add_action(path, Action::Mode);
            }
            return Ok(());
        }
        let list = match self.old.filter(|old| old.owns(path)) {
            None => &mut self.changes.foreign,
            Some(old) if old.has_written(path, &lock::digest(&bytes)) => &mut self.changes.changed,
            Some(_) => &mut self.changes.edited_by_hand,
        };
        list.push(path.to_owned());
        self.add_action(path, Action::Write);
        Ok(())
    }

    /// Compares a file that gpuc wrote but no longer generates.
    fn compare_orphan(&mut self, path: &'a str) -> Result<()> {
        if !self.parent_exists(path)? {
            return Ok(());
        }
        let Some(found) = self.metadata(path)? else {
            return Ok(());
        };
        if found.is_dir() {
            // gpuc did not create this folder: its own files are in the lock individually.
            return Ok(());
        }
        let is_ours = found.is_file() && {
            let digest = lock::digest(&disk::read(&self.folder.join(path))?);
            self.old.is_some_and(|old| old.has_written(path, &digest))
        };
        let list = if is_ours {
            &mut self.changes.removed
        } else {
            &mut self.changes.edited_by_hand
        };
        list.push(path.to_owned());
        self.add_action(path, Action::Remove);
        Ok(())
    }

    /// Whether the parent folder of a file exists. It is an error if it is a link or a file.
    fn parent_exists(&mut self, path: &'a str) -> Result<bool> {
        let Some((parent, _)) = path.rsplit_once('/') else {
            return Ok(true);
        };
        if let Some(known) = self.parents.get(parent) {
            return Ok(*known);
        }
        let is_there = self.parent_exists(parent)? && self.is_folder(parent)?;
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
            "{shown}: is a symbolic link; gpuc does not follow links"
        );
        if found.is_dir() {
            return Ok(true);
        }
        if self.owned.contains(path) && self.tree.get(path).is_none() {
            return Ok(false);
        }
        bail!("{shown}: is a file, but gpuc needs a folder with this path");
    }

    /// Whether a folder contains files that gpuc deletes, so that a file can replace it.
    fn is_replaceable(&self, path: &str) -> bool {
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

    fn add_action(&mut self, path: &str, action: Action) {
        self.changes.actions.push((path.to_owned(), action));
    }
}
