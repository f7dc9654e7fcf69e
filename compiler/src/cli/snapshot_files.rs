//! Reads the folder of a snapshot.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use gpuc_live::read::{ReadProblem, read_files};
use gpuc_live::state::ClusterState;

use super::Usage;

/// The maximum number of files in a snapshot.
const MAX_FILES: usize = 100_000;

/// The maximum size of a file in bytes.
const MAX_BYTES: u64 = 2 << 30;

/// Reads all files in a folder, or one file. Symbolic links to folders are not followed: they may form a circle.
pub(crate) fn read(folder: &Path) -> Result<(ClusterState, Vec<ReadProblem>)> {
    if folder == Path::new("-") && !folder.exists() {
        let message = "`--from` reads a folder or a file, not the standard input\nhelp: write a file per kind into a \
                       folder, such as `kubectl get nodes -o json > case/nodes.json`, then `--from case`";
        return Err(Usage(message.to_owned()).into());
    }
    let info =
        fs::metadata(folder).with_context(|| format!("cannot read `{}`", folder.display()))?;
    let (root, mut paths) = if info.is_dir() {
        let mut paths = Vec::new();
        collect(folder, "", &mut paths)?;
        (folder.to_owned(), paths)
    } else {
        let name = folder.file_name().unwrap_or_default();
        let root = folder.parent().map(Path::to_owned).unwrap_or_default();
        (root, vec![name.to_string_lossy().into_owned()])
    };
    paths.sort();
    let load = |path: &str| load(&root.join(path)).map_err(|error| format!("{error:#}"));
    Ok(read_files(&paths, &load))
}

/// Collects the paths of regular files.
fn collect(folder: &Path, prefix: &str, paths: &mut Vec<String>) -> Result<()> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot read `{}`", folder.display()))?;
    for entry in entries {
        let entry = entry.with_context(|| format!("cannot read `{}`", folder.display()))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{prefix}{name}");
        let kind = entry
            .file_type()
            .with_context(|| format!("cannot read `{path}`"))?;
        if kind.is_dir() {
            collect(&entry.path(), &format!("{path}/"), paths)?;
        } else if kind.is_file() || kind.is_symlink() && entry.path().is_file() {
            paths.push(path);
        }
        if paths.len() > MAX_FILES {
            bail!("the folder contains more than {MAX_FILES} files");
        }
    }
    Ok(())
}

fn load(path: &PathBuf) -> Result<Vec<u8>> {
    let size = fs::metadata(path)?.len();
    if size > MAX_BYTES {
        bail!("the file is larger than 2 GiB");
    }
    Ok(fs::read(path)?)
}
