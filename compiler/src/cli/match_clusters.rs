//! Matches clusters of the base with clusters of the run: by name, or, if exactly one cluster was removed from a file
//! and one was added to it, as a rename.

use std::collections::BTreeMap;

use gpuc_compile::compile::Compilation;
use gpuc_syntax::load::STDIN;
use gpuc_syntax::source::Sources;

use super::base::{Base, BaseRun};

/// A cluster by its name, before and after the change.
pub(super) type ClusterPair<'a> = (String, Option<&'a Compilation>, Option<&'a Compilation>);

/// All clusters of both sides, by name.
pub(super) fn pair_clusters<'a>(
    base: &Base,
    sources: &Sources,
    before: &'a BaseRun,
    after: &'a [Compilation],
) -> Vec<ClusterPair<'a>> {
    let mut pairs: BTreeMap<String, (Option<&Compilation>, Option<&Compilation>)> = BTreeMap::new();
    for one in &before.compilations {
        pairs.entry(display_name(one)).or_default().0 = Some(one);
    }
    for one in after {
        let name = display_name(one);
        let sides = pairs.entry(name.clone()).or_default();
        sides.1 = Some(one);
        if before.unchanged.contains_key(&name) {
            sides.0 = Some(one);
        }
    }
    let path = |one: &Compilation| {
        sources
            .get(one.loaded.source)
            .map(gpuc_syntax::source::Source::path)
    };
    // The removed and added cluster names by file, with the file's path in the run.
    let mut of_files: BTreeMap<&str, [Vec<String>; 2]> = BTreeMap::new();
    for (name, sides) in &pairs {
        match sides {
            (Some(old), None) => {
                let Some(was) = path(old).and_then(|path| base.path_from_display(path)) else {
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
    for [removed, added] in of_files.into_values() {
        if let ([old], [new]) = (removed.as_slice(), added.as_slice())
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

/// The cluster's name, or its file if it has no name.
pub(super) fn display_name(compilation: &Compilation) -> String {
    let config = compilation.config.as_ref();
    let file = || {
        let file = compilation.loaded.file.clone();
        file.unwrap_or_else(|| STDIN.to_owned())
    };
    config.map_or_else(file, |config| config.metadata.name.value.clone())
}
