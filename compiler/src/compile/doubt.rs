//! What is found only because a value could not be read is not said: the mistake is told once, where it is.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::check;
use crate::decode::{self, Guess, codes::UNKNOWN_KEY};
use crate::diag::{Diagnostic, Report};
use crate::load::Loaded;
use crate::node::Node;
use crate::resolve::{Choices, resolve};

/// How many names and how many choices are tried in the place of what was made up.
const TRIES: usize = 12;

/// Takes back what was found, after so many findings, of values that decoding made up, wherever it shows: it is about a
/// part of the file in which such a value stands, or with another value in its place it is not found, or with other
/// words. Tried are a large one, a few, names of which findings speak or which the file gives, and one choice after the
/// other. So it goes with what is not found once a key that means nothing is where it belongs.
pub(super) fn doubt(loaded: &Loaded, choices: &Choices, decoded: usize, report: &mut Report) {
    let mut later = report.diagnostics_mut().split_off(decoded);
    let unknown = report.diagnostics().iter();
    let unknown = unknown.filter(|it| it.code.id == UNKNOWN_KEY.id);
    for root in unknown.filter_map(|it| put_right(loaded, it)) {
        keep_known(&mut later, (loaded, &root), choices, Guess::Little);
    }
    let made_up = report.poisoned();
    later.retain(|found| {
        let mut within = made_up.iter();
        !within.any(|span| found.primary.span.contains(*span))
    });
    let spoken = later.iter().map(|found| found.message.as_str());
    let spoken = spoken.flat_map(|text| text.split('`').skip(1).step_by(2));
    let spoken: BTreeSet<_> = spoken.map(str::to_owned).collect();
    let mut own = BTreeSet::new();
    // Nothing names a workload or what is in one.
    let named = loaded.root.entries().iter();
    for entry in named.filter(|entry| entry.key != "workloads") {
        own_names(&entry.value, &mut own);
    }
    let names = spoken.iter().take(TRIES).chain(own.iter().take(TRIES));
    let names = names.map(|name| Guess::Text(name));
    let each = (1..TRIES).map(Guess::Choice);
    let numbers = [Guess::Much, Guess::Several].into_iter();
    for guess in numbers.chain(names).chain(each) {
        if later.is_empty() || made_up.is_empty() {
            break;
        }
        keep_known(&mut later, (loaded, &loaded.root), choices, guess);
    }
    report.diagnostics_mut().append(&mut later);
}

/// The document with a key that means nothing as it was probably meant.
fn put_right(loaded: &Loaded, unknown: &Diagnostic) -> Option<Node> {
    let edits = unknown.fix.as_ref().map(|fix| fix.edits.as_slice());
    let near = edits.and_then(|edits| Some(edits.first()?.text.as_str()));
    decode::put_right(&loaded.root, unknown.primary.span, near)
}

/// Keeps of some findings those that are found as well in another document, or with a guess.
fn keep_known(
    later: &mut Vec<Diagnostic>,
    (loaded, root): (&Loaded, &Node),
    choices: &Choices,
    guess: Guess<'_>,
) {
    let mut other = Report::default();
    for span in &loaded.poisoned {
        other.poison(*span);
    }
    let Some(config) = decode::other_cluster(root, guess, &mut other) else {
        return;
    };
    let cluster = resolve(Arc::new(config), choices, &mut other);
    check::check(&cluster, &mut other);
    let known = other.diagnostics();
    later.retain(|it| known.iter().any(|other| it.says_the_same(other)));
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
