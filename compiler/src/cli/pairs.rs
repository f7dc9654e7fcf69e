//! Which cluster of the base became which of the run: the one of the same name, or, where one name left a file and one
//! came to it, that one.

use std::collections::BTreeMap;

use gpuc::compile::Compilation;
use gpuc::load::STDIN;
use gpuc::source::Sources;

use super::base::{Base, Before};

/// A cluster by its name, as it was and as it is.
pub(super) type Sides<'a> = (String, Option<&'a Compilation>, Option<&'a Compilation>);

/// Every cluster of either side, by name.
pub(super) fn pairs<'a>(
    base: &Base,
    sources: &Sources,
    before: &'a Before,
    after: &'a [Compilation],
) -> Vec<Sides<'a>> {
    let mut pairs: BTreeMap<String, (Option<&Compilation>, Option<&Compilation>)> = BTreeMap::new();
    for one in &before.compilations {
        pairs.entry(name(one)).or_default().0 = Some(one);
    }
    for one in after {
        let name = name(one);
        let sides = pairs.entry(name.clone()).or_default();
        sides.1 = Some(one);
        if before.same.contains_key(&name) {
            sides.0 = Some(one);
        }
    }
    let path = |one: &Compilation| {
        sources
            .get(one.loaded.source)
            .map(gpuc::source::Source::path)
    };
    // By the file, as it is called in the run: the names that left it, and those that came.
    let mut of_files: BTreeMap<&str, [Vec<String>; 2]> = BTreeMap::new();
    for (name, sides) in &pairs {
        match sides {
            (Some(old), None) => {
                let Some(was) = path(old).and_then(|path| base.path_of(path)) else {
                    continue;
                };
                let now = before.renamed.iter().find(|(_, old)| old == was);
                let now = now.map_or(was, |(now, _)| now.as_str());
                of_files.entry(now).or_default()[0].push(name.clone());
            }
            (None, Some(new)) => {
                let Some(now) = path(new) else { continue };
                of_files.entry(now).or_default()[1].push(name.clone());
            }
            _ => {}
        }
    }
    for [left, came] in of_files.into_values() {
        if let ([old], [new]) = (left.as_slice(), came.as_slice())
            && let Some((was, _)) = pairs.remove(old)
            && let Some(sides) = pairs.get_mut(new)
        {
            sides.0 = was;
        }
    }
    let pairs = pairs.into_iter();
    pairs
        .map(|(name, (before, after))| (name, before, after))
        .collect()
}

/// The cluster's name; its file's where it has none.
pub(super) fn name(compilation: &Compilation) -> String {
    let config = compilation.config.as_ref();
    let file = || {
        let file = compilation.loaded.file.clone();
        file.unwrap_or_else(|| STDIN.to_owned())
    };
    config.map_or_else(file, |config| config.metadata.name.value.clone())
}
