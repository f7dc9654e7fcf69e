//! The label file that Node Feature Discovery reads (`features.d`): one label per line, `name=value`.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;
use std::{fs, process};

/// Writes the file atomically by a rename; an unchanged file is not written. Node Feature Discovery ignores files whose
/// names begin with a dot, so that it does not read the temporary file.
pub(super) fn write(path: &Path, labels: &BTreeMap<String, String>) -> io::Result<()> {
    let mut text = String::new();
    for (key, value) in labels {
        text += &format!("{key}={value}\n");
    }
    if fs::read_to_string(path).is_ok_and(|before| before == text) {
        return Ok(());
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let temporary = folder.join(format!(".{name}.{}", process::id()));
    let mut file = fs::File::create(&temporary)?;
    file.write_all(text.as_bytes())?;
    fs::rename(&temporary, path)
}

/// Removes the file, if it exists.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_is_written_atomically_on_change() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("features.d/gpuc");
        let label =
            |count: &str| BTreeMap::from([("nvidia.com/gpu.count".to_owned(), count.to_owned())]);
        write(&path, &label("8")).unwrap();
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            "nvidia.com/gpu.count=8\n"
        );
        let written = fs::metadata(&path).unwrap().modified().unwrap();
        write(&path, &label("8")).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), written);
        write(&path, &label("7")).unwrap();
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            "nvidia.com/gpu.count=7\n"
        );
        assert_eq!(
            fs::read_dir(folder.path().join("features.d"))
                .unwrap()
                .count(),
            1
        );
    }
}
