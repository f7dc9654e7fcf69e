//! Where a key belongs that means nothing where it stands.

use crate::diag::words;
use crate::schema;

/// How many places are named before the rest is counted.
const NAMED: usize = 3;

/// The places of keys of this name, in words: below `place` if it has any, as seen from there; else anywhere.
pub(super) fn belongs(key: &str, place: &str) -> Option<String> {
    let place = without_indexes(place);
    let end = format!(".{key}");
    let mut paths = schema::paths();
    paths.retain(|path| path.ends_with(&end) || path == key);
    let below = format!("{place}.");
    let here: Vec<_> = paths
        .iter()
        .filter_map(|path| path.strip_prefix(&below))
        .collect();
    if !here.is_empty() {
        return Some(format!("it goes here: {}", words::some(&here, NAMED)));
    }
    // Without a level between, the place is the same choice that was made otherwise.
    paths.retain(|path| *path != format!("{place}{end}"));
    (!paths.is_empty()).then(|| format!("it goes elsewhere: {}", words::some(&paths, NAMED)))
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
        let machine = Some("it goes elsewhere: `nodePools.machine`".to_owned());
        assert_eq!(found("machine", "metadata"), machine);
        assert_eq!(found("zzz", "nodePools[0]"), None);
    }
}
