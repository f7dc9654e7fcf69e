//! Writes CDI specs to the directory that container runtimes read.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::cdi::{Class, Spec, VENDOR};

/// The changes made to the directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpecChanges {
    /// Files that were created or changed.
    pub written: Vec<PathBuf>,
    /// Files that were deleted.
    pub removed: Vec<PathBuf>,
}

/// Updates the specs in a directory: writes changed specs, deletes obsolete ones, and leaves all other files alone.
/// Container runtimes watch the directory, so a file is replaced atomically, and an unchanged file is not written.
/// Specs of other vendors are not touched. NVIDIA's plugin uses the same file names, because a node runs only one of
/// the two plugins.
pub fn write(folder: &Path, specs: &[(Class, Spec)]) -> io::Result<SpecChanges> {
    fs::create_dir_all(folder).map_err(|error| with_path(folder, &error))?;
    let mut changes = SpecChanges::default();
    for class in Class::ALL {
        let path = folder.join(class.file_name());
        let spec = specs.iter().find(|(of, _)| *of == class);
        if let Some((_, spec)) = spec {
            let text = to_json(spec)?;
            if !has_content(&path, &text) {
                replace(&path, &text).map_err(|error| with_path(&path, &error))?;
                changes.written.push(path);
            }
        } else if remove(&path)? {
            changes.removed.push(path);
        }
    }
    for path in stale_temporary_files(folder)? {
        if remove(&path)? {
            changes.removed.push(path);
        }
    }
    Ok(changes)
}

fn to_json(spec: &Spec) -> io::Result<String> {
    Ok(serde_json::to_string_pretty(spec)? + "\n")
}

fn has_content(path: &Path, text: &str) -> bool {
    fs::read(path).is_ok_and(|found| found == text.as_bytes())
}

/// Writes a temporary file next to the old one and renames it.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let new = temporary_path(path);
    let _ = fs::remove_file(&new);
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true).mode(0o644);
    let written = options.open(&new).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        // The umask of the process must not restrict the permissions.
        file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))?;
        file.sync_all()
    });
    let moved = written.and_then(|()| fs::rename(&new, path));
    if moved.is_err() {
        let _ = fs::remove_file(&new);
    }
    moved
}

/// Returns a name that container runtimes ignore: specs end in `.json` or `.yaml`.
fn temporary_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".gpuc-new");
    name.into()
}

/// Lists the temporary files of a daemon that was killed while it wrote.
fn stale_temporary_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).map_err(|error| with_path(folder, &error))?;
    let is_temporary = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with(VENDOR) && name.ends_with(".gpuc-new"))
    };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    Ok(paths.filter(is_temporary).collect())
}

fn remove(path: &Path) -> io::Result<bool> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(with_path(path, &error)),
    }
}

fn with_path(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    use super::*;
    use crate::cdi::{ContainerEdits, Device};

    fn spec(class: Class, name: &str) -> (Class, Spec) {
        let device = Device {
            name: name.to_owned(),
            container_edits: ContainerEdits::default(),
        };
        let spec = Spec {
            cdi_version: "0.5.0",
            kind: class.kind(),
            devices: vec![device],
            container_edits: ContainerEdits::default(),
        };
        (class, spec)
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn files_are_world_readable() {
        let folder = tempfile::tempdir().unwrap();
        let cdi = folder.path().join("cdi");
        let changes = write(&cdi, &[spec(Class::Gpu, "GPU-1")]).unwrap();
        let path = cdi.join("k8s.device-plugin.nvidia.com-gpu.json");
        assert_eq!(changes.written, std::slice::from_ref(&path));
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o644);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(r#""kind": "k8s.device-plugin.nvidia.com/gpu""#));
        assert_eq!(names(&cdi), ["k8s.device-plugin.nvidia.com-gpu.json"]);
    }

    #[test]
    fn unchanged_file_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let specs = [spec(Class::Gpu, "GPU-1")];
        let first = write(folder.path(), &specs).unwrap();
        let inode = fs::metadata(&first.written[0]).unwrap().ino();
        let second = write(folder.path(), &specs).unwrap();
        assert_eq!(second, SpecChanges::default());
        assert_eq!(fs::metadata(&first.written[0]).unwrap().ino(), inode);
        let third = write(folder.path(), &[spec(Class::Gpu, "GPU-2")]).unwrap();
        assert_eq!(third.written.len(), 1);
    }

    #[test]
    fn only_own_stale_files_are_deleted() {
        let folder = tempfile::tempdir().unwrap();
        let specs = [spec(Class::Gpu, "GPU-1"), spec(Class::ImexChannel, "0")];
        write(folder.path(), &specs).unwrap();
        fs::write(folder.path().join("nvidia.yaml"), "").unwrap();
        let half = "k8s.device-plugin.nvidia.com-gpu.json.gpuc-new";
        fs::write(folder.path().join(half), "{").unwrap();
        let changes = write(folder.path(), &specs[..1]).unwrap();
        assert_eq!(changes.removed.len(), 2);
        let gpu = "k8s.device-plugin.nvidia.com-gpu.json";
        assert_eq!(names(folder.path()), [gpu, "nvidia.yaml"]);
        write(folder.path(), &[]).unwrap();
        assert_eq!(names(folder.path()), ["nvidia.yaml"]);
    }

    #[test]
    fn errors_name_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let error = write(&file.join("cdi"), &[]).unwrap_err();
        assert!(error.to_string().contains("file/cdi"), "{error}");
    }
}
