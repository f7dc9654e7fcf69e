//! Where a key belongs that means nothing where it stands.

use crate::diag::words;
use crate::node::{Entry, Node, Value};
use crate::schema;
use crate::source::Span;

/// How many places are named before the rest is counted.
const NAMED: usize = 3;

/// The places of keys of this name, in words: below `place` if it has any, as seen from there; else anywhere.
pub(super) fn belongs(key: &str, place: &str) -> Option<String> {
    let given = place;
    let place = without_indexes(place);
    let end = format!(".{key}");
    let paths = paths_to(key);
    // Where the same path leads somewhere from the document, too, the whole of it is said.
    let whole = |path: &&str| paths.iter().any(|it| it == path);
    let here = below(&paths, &place);
    let here: Vec<_> = here
        .iter()
        .map(|path| {
            if whole(path) {
                format!("{given}.{path}")
            } else {
                (*path).to_owned()
            }
        })
        .collect();
    let mut paths = paths.clone();
    if !here.is_empty() {
        return Some(format!("it goes here: {}", words::some(&here, NAMED)));
    }
    // Without a level between, the place is the same choice that was made otherwise.
    paths.retain(|path| *path != format!("{place}{end}"));
    (!paths.is_empty()).then(|| format!("it goes elsewhere: {}", words::some(&paths, NAMED)))
}

/// The paths of keys of a name.
fn paths_to(key: &str) -> Vec<String> {
    let end = format!(".{key}");
    let mut paths = schema::paths();
    paths.retain(|path| path.ends_with(&end) || path == key);
    paths
}

/// Those that lead there from a place, as seen from it.
fn below<'p>(paths: &'p [String], place: &str) -> Vec<&'p str> {
    let start = format!("{place}.");
    let mut here: Vec<_> = paths
        .iter()
        .filter_map(|it| it.strip_prefix(&start))
        .collect();
    if place.is_empty() {
        here = paths.iter().map(String::as_str).collect();
    }
    here
}

/// A document as it was probably meant, where a key that means nothing is written: with the key that is called nearly
/// so in its place, or with the key where it belongs, if there is but one such place below.
pub fn put_right(root: &Node, key: Span, near: Option<&str>) -> Option<Node> {
    let mut right = root.clone();
    mend(&mut right, "", key, near).then_some(right)
}

/// Whether anything was mended.
fn mend(node: &mut Node, place: &str, key: Span, near: Option<&str>) -> bool {
    match &mut node.value {
        Value::Scalar(_) => false,
        Value::Sequence(items) => {
            let mended = items.iter_mut().map(|item| mend(item, place, key, near));
            mended.fold(false, |one, other| one | other)
        }
        Value::Mapping(entries) => {
            let mut mended = false;
            for entry in entries.iter_mut() {
                let place = match place {
                    "" => entry.key.clone(),
                    place => format!("{place}.{}", entry.key),
                };
                mended |= mend(&mut entry.value, &place, key, near);
            }
            let Some(index) = entries.iter().position(|it| it.key_span == key) else {
                return mended;
            };
            let Some(near) = near else {
                let paths = paths_to(&entries[index].key);
                return match below(&paths, place)[..] {
                    [only] if only.contains('.') => move_to(entries, index, only),
                    _ => mended,
                };
            };
            if entries.iter().any(|it| it.key == near) {
                return mended;
            }
            near.clone_into(&mut entries[index].key);
            true
        }
    }
}

/// Puts an entry where a path leads, unless something is there.
fn move_to(entries: &mut Vec<Entry>, index: usize, path: &str) -> bool {
    let entry = entries[index].clone();
    let mut holder = &mut *entries;
    let keys: Vec<_> = path.split('.').collect();
    for key in &keys[..keys.len() - 1] {
        let found = holder.iter().position(|it| it.key == *key);
        let found = found.unwrap_or_else(|| {
            holder.push(Entry {
                key: (*key).to_owned(),
                key_span: entry.key_span,
                value: Node {
                    value: Value::Mapping(Vec::new()),
                    origin: entry.value.origin.clone(),
                },
            });
            holder.len() - 1
        });
        let Value::Mapping(below) = &mut holder[found].value.value else {
            return false;
        };
        holder = below;
    }
    if holder.iter().any(|it| it.key == entry.key) {
        return false;
    }
    holder.push(entry);
    entries.remove(index);
    true
}

/// A path as the schema has it: `nodePools[2].sharing` is `nodePools.sharing`.
fn without_indexes(path: &str) -> String {
    let parts = path.split('.').map(|part| part.split('[').next());
    parts.flatten().collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_looked_for_below_first() {
        let found = |key, place| belongs(key, place);
        let spot = Some("it goes here: `capacity.spot`".to_owned());
        assert_eq!(found("spot", "nodePools[0]"), spot);
        let whole = Some("it goes here: `nodePools[1].stack.allocation`".to_owned());
        assert_eq!(found("allocation", "nodePools[1]"), whole);
        let machine = Some("it goes elsewhere: `nodePools.machine`".to_owned());
        assert_eq!(found("machine", "metadata"), machine);
        assert_eq!(found("zzz", "nodePools[0]"), None);
    }
}
