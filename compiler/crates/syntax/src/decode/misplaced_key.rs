//! Finds the correct location of a misplaced key.

use crate::diag::phrases;
use crate::node::{Entry, Node, Value};
use crate::schema;
use crate::source::Span;

/// The maximum number of locations to list.
const MAX_LISTED: usize = 3;

/// The maximum number of locations elsewhere that are listed: a name such as `version` or `name` has many meanings.
const MAX_ELSEWHERE: usize = 1;

/// A phrase with the locations of keys of this name: below `location` if there are any, otherwise anywhere, if the name
/// has only one meaning.
pub(super) fn location_help(key: &str, location: &str) -> Option<String> {
    let written_location = location;
    let location = without_indexes(location);
    let end = format!(".{key}");
    let paths = paths_to(key);
    // If the same relative path also exists at the root, show the full path.
    let is_ambiguous = |path: &&str| paths.iter().any(|known| known == path);
    let nested: Vec<_> = paths_below(&paths, &location)
        .iter()
        .map(|path| {
            if is_ambiguous(path) && !written_location.is_empty() {
                format!("{written_location}.{path}")
            } else {
                (*path).to_owned()
            }
        })
        .collect();
    if !nested.is_empty() {
        return Some(format!(
            "move it to {}",
            phrases::quoted_list(&nested, MAX_LISTED)
        ));
    }
    let mut paths = paths;
    // A key directly below `location` is another option of the same choice.
    paths.retain(|path| *path != format!("{location}{end}"));
    (1..=MAX_ELSEWHERE).contains(&paths.len()).then(|| {
        format!(
            "the key belongs in {}",
            phrases::quoted_list(&paths, MAX_LISTED)
        )
    })
}

/// The paths of keys with this name.
fn paths_to(key: &str) -> Vec<String> {
    let end = format!(".{key}");
    let mut paths = schema::key_paths();
    paths.retain(|path| path.ends_with(&end) || path == key);
    paths
}

/// The paths below a location, relative to it.
fn paths_below<'p>(paths: &'p [String], location: &str) -> Vec<&'p str> {
    let start = format!("{location}.");
    if location.is_empty() {
        return paths.iter().map(String::as_str).collect();
    }
    paths
        .iter()
        .filter_map(|path| path.strip_prefix(&start))
        .collect()
}

/// The document with an unknown key corrected as probably intended: replaced by the similar key, or moved to its
/// location, if there is exactly one below.
pub fn correct_key(root: &Node, key: Span, near: Option<&str>) -> Option<Node> {
    let mut corrected = root.clone();
    correct_in_place(&mut corrected, "", key, near).then_some(corrected)
}

/// Corrects the key; returns whether anything changed.
fn correct_in_place(node: &mut Node, location: &str, key: Span, near: Option<&str>) -> bool {
    match &mut node.value {
        Value::Scalar(_) => false,
        Value::Sequence(items) => {
            let corrected = items
                .iter_mut()
                .map(|item| correct_in_place(item, location, key, near));
            corrected.fold(false, |one, other| one | other)
        }
        Value::Mapping(entries) => {
            let mut corrected = false;
            for entry in entries.iter_mut() {
                let location = match location {
                    "" => entry.key.clone(),
                    location => format!("{location}.{}", entry.key),
                };
                corrected |= correct_in_place(&mut entry.value, &location, key, near);
            }
            let Some(index) = entries.iter().position(|it| it.key_span == key) else {
                return corrected;
            };
            let Some(near) = near else {
                let paths = paths_to(&entries[index].key);
                return match paths_below(&paths, location)[..] {
                    [only] if only.contains('.') => move_entry(entries, index, only),
                    _ => corrected,
                };
            };
            if entries.iter().any(|it| it.key == near) {
                return corrected;
            }
            near.clone_into(&mut entries[index].key);
            true
        }
    }
}

/// Inserts an entry at a path, unless the path is occupied.
fn move_entry(entries: &mut Vec<Entry>, index: usize, path: &str) -> bool {
    let entry = entries[index].clone();
    let mut target = &mut *entries;
    let keys: Vec<_> = path.split('.').collect();
    for key in &keys[..keys.len() - 1] {
        let found = target.iter().position(|it| it.key == *key);
        let found = found.unwrap_or_else(|| {
            target.push(Entry {
                key: (*key).to_owned(),
                key_span: entry.key_span,
                value: Node {
                    value: Value::Mapping(Vec::new()),
                    origin: entry.value.origin.clone(),
                },
            });
            target.len() - 1
        });
        let Value::Mapping(below) = &mut target[found].value.value else {
            return false;
        };
        target = below;
    }
    if target.iter().any(|it| it.key == entry.key) {
        return false;
    }
    target.push(entry);
    entries.remove(index);
    true
}

/// A path in the notation of the schema: `nodePools[2].sharing` is `nodePools.sharing`.
pub(super) fn without_indexes(path: &str) -> String {
    let parts = path.split('.').map(|part| part.split('[').next());
    parts.flatten().collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_below_come_first() {
        let found = |key, location| location_help(key, location);
        let spot = Some("move it to `capacity.spot`".to_owned());
        assert_eq!(found("spot", "nodePools[0]"), spot);
        let expected = Some("move it to `nodePools[1].stack.allocation`".to_owned());
        assert_eq!(found("allocation", "nodePools[1]"), expected);
        let machine = Some("the key belongs in `nodePools.machine`".to_owned());
        assert_eq!(found("machine", "metadata"), machine);
        assert_eq!(found("zzz", "nodePools[0]"), None);
    }
}
