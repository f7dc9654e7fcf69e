//! What is found only because a value could not be read is not said: the mistake is told once, where it is.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::check;
use crate::decode::{self, Guess};
use crate::diag::Report;
use crate::load::Loaded;
use crate::node::Node;
use crate::resolve::{Choices, resolve};

/// How many names and how many choices are tried in the place of what was made up.
const TRIES: usize = 12;

/// Takes back what was found, after so many findings, of values that decoding made up, wherever it shows: it is about a
/// part of the file in which such a value stands, or with another value in its place it is not found, or with other
/// words. Tried are a large one, a few, names of which findings speak or which the file gives, and one choice after the
/// other.
pub(super) fn doubt(loaded: &Loaded, choices: &Choices, decoded: usize, report: &mut Report) {
    let mut later = report.diagnostics_mut().split_off(decoded);
    let made_up = report.poisoned();
    later.retain(|found| {
        let mut within = made_up.iter();
        !within.any(|span| found.primary.span.contains(*span))
    });
    let spoken = later.iter().map(|found| found.message.as_str());
    let spoken = spoken.flat_map(|text| text.split('`').skip(1).step_by(2));
    let spoken: BTreeSet<_> = spoken.map(str::to_owned).collect();
    let mut own = BTreeSet::new();
    own_names(&loaded.root, &mut own);
    let names = spoken.iter().take(TRIES).chain(own.iter().take(TRIES));
    let names = names.map(|name| Guess::Text(name));
    let each = (1..TRIES).map(Guess::Choice);
    let numbers = [Guess::Much, Guess::Several].into_iter();
    for guess in numbers.chain(names).chain(each) {
        if later.is_empty() {
            break;
        }
        let mut other = Report::default();
        for span in &loaded.poisoned {
            other.poison(*span);
        }
        let Some(config) = decode::other_cluster(&loaded.root, guess, &mut other) else {
            continue;
        };
        let cluster = resolve(Arc::new(config), choices, &mut other);
        check::check(&cluster, &mut other);
        let known = other.diagnostics();
        later.retain(|it| known.iter().any(|other| it.says_the_same(other)));
    }
    report.diagnostics_mut().append(&mut later);
}

/// What things are called in a file.
fn own_names(node: &Node, names: &mut BTreeSet<String>) {
    for entry in node.entries() {
        match entry.value.text() {
            Some(name) if entry.key == "name" => _ = names.insert(name.to_owned()),
            _ => own_names(&entry.value, names),
        }
    }
    for item in node.items() {
        own_names(item, names);
    }
}
