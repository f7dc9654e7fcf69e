//! File paths, as strings with `/`.

/// The path without `.`, without doubled `/`, and with `..` only at its start.
pub(super) fn normalize(path: &str) -> String {
    let path = path.replace('\\', "/");
    let root = if path.starts_with('/') { "/" } else { "" };
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            // The root has no parent.
            ".." if !root.is_empty() => {}
            _ => parts.push(part),
        }
    }
    format!("{root}{}", parts.join("/"))
}

/// The last part of a path.
pub(super) fn file_name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// Resolves `path` relative to the file `from`.
pub(super) fn resolve_relative(from: &str, path: &str) -> String {
    match from.rsplit_once('/') {
        Some((folder, _)) if !path.starts_with('/') => normalize(&format!("{folder}/{path}")),
        _ => normalize(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_relative_to_the_referring_file() {
        assert_eq!(
            resolve_relative("a/b/c.yaml", "../base.yaml"),
            "a/base.yaml"
        );
        assert_eq!(
            resolve_relative("c.yaml", "../../base.yaml"),
            "../../base.yaml"
        );
        assert_eq!(
            resolve_relative("../c.yaml", "./x//base.yaml"),
            "../x/base.yaml"
        );
        assert_eq!(
            resolve_relative("/a/c.yaml", "../../base.yaml"),
            "/base.yaml"
        );
        assert_eq!(
            resolve_relative("a/c.yaml", "/etc/base.yaml"),
            "/etc/base.yaml"
        );
        assert_eq!(resolve_relative("/c.yaml", "d.yaml"), "/d.yaml");
        assert_eq!(normalize(r"a\b\..\c.yaml"), "a/c.yaml");
    }
}
