//! `gpuc snapshot`: writes the state of a running cluster to a folder.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use gpuc_collect::{Collection, Page};

use super::args::{Cli, SnapshotArgs};
use super::{Exit, Usage, live, output};

/// Reads the cluster, and writes the folder. The folder appears when it is complete.
pub(crate) fn run(cli: &Cli, args: &SnapshotArgs) -> Result<Exit> {
    let out = &args.out;
    if fs::symlink_metadata(out).is_ok() {
        let message = format!(
            "`{}` exists already\nhelp: name a new folder",
            out.display()
        );
        return Err(Usage(message).into());
    }
    let partial = partial_path(out);
    // A run that was interrupted leaves it.
    if partial.is_dir() {
        fs::remove_dir_all(&partial)
            .with_context(|| format!("cannot remove `{}`", partial.display()))?;
    }
    let collection = live::collect_pages(args.context.as_deref(), |page| {
        store(&partial, &page).map_err(|error| format!("{error:#}"))
    })?;
    fs::rename(&partial, out).with_context(|| format!("cannot write `{}`", out.display()))?;
    if !cli.quiet {
        report(out, &collection);
    }
    Ok(Exit::Success)
}

/// The folder that is written first, next to the final one.
fn partial_path(out: &Path) -> PathBuf {
    let mut name = out.as_os_str().to_owned();
    name.push(".partial");
    name.into()
}

fn store(folder: &Path, page: &Page) -> Result<()> {
    let path = folder.join(&page.path);
    let parent = path.parent().unwrap_or(folder);
    fs::create_dir_all(parent).with_context(|| format!("cannot create `{}`", parent.display()))?;
    fs::write(&path, &page.bytes).with_context(|| format!("cannot write `{}`", path.display()))
}

/// Prints what was read, and what was not.
fn report(out: &Path, collection: &Collection) {
    let kinds = &collection.manifest.kinds;
    let objects: usize = kinds.values().map(|entry| entry.count).sum();
    for (name, entry) in kinds {
        let reason = entry.reason.as_deref().unwrap_or_default();
        match entry.state.as_str() {
            "complete" | "notServed" => {}
            "forbidden" => output::print_message(&format!("warning: {name}: forbidden")),
            state => output::print_message(&format!("warning: {name}: {state}: {reason}")),
        }
    }
    if collection.state.unread_logs > 0 {
        let count = collection.state.unread_logs;
        output::print_message(&format!(
            "warning: {count} container logs could not be read"
        ));
    }
    output::print_message(&format!(
        "{objects} objects and {} logs in {}\nnext: gpuc doctor --from {}",
        collection.state.logs.len(),
        out.display(),
        out.display()
    ));
}
