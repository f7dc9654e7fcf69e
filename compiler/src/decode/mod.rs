//! A tree to the types of the configuration, with every shape error found in one run.
//!
//! A node that does not fit is noted and a made-up value takes its place, so that the rest is decoded all the same.
//! Type, range, names and keys are checked before serde's visitor sees them. Only what serde alone knows, which keys a
//! type needs and what a type with rules of its own refuses, comes as an error: it is learned, and decoding starts
//! again. What is learned holds for a type, not for one node, so that a large file takes hardly more passes than a
//! small one.

mod access;
mod choice;
pub mod codes;
mod cursor;
mod deserialize;
mod elsewhere;
mod identity;
mod learned;
mod made_up;
mod path;
mod ranges;
mod run;

use gpuc_schema::config::GpuCluster;
use serde::de::DeserializeOwned;

use crate::diag::Report;
use crate::node::Node;
use cursor::Cursor;
pub use elsewhere::put_right;
use learned::Learned;
pub use made_up::Guess;
use made_up::MadeUp;
use path::Path;
pub use ranges::ranges;
use run::Run;

/// How many problems of one document are reported.
pub const MOST_PROBLEMS: usize = 100;

/// The cluster that a document describes.
///
/// A document that describes something else altogether is reported as that. `None` when nothing can be made of it.
pub fn cluster(root: &Node, report: &mut Report) -> Option<GpuCluster> {
    if identity::is_something_else(root, report) {
        return None;
    }
    decode(root, report)
}

/// The cluster that [`cluster`] makes of a document, with other values where some have to be made up.
pub fn other_cluster(root: &Node, guess: Guess<'_>, report: &mut Report) -> Option<GpuCluster> {
    decode_with(root, guess, report)
}

/// A value of a type from a tree. What does not fit is reported and made up, and its place poisoned.
///
/// `None` when there are more problems than are worth reading, or a value refuses what is made up for it.
pub fn decode<T: DeserializeOwned>(root: &Node, report: &mut Report) -> Option<T> {
    decode_with(root, Guess::Little, report)
}

fn decode_with<T: DeserializeOwned>(
    root: &Node,
    guess: Guess<'_>,
    report: &mut Report,
) -> Option<T> {
    let mut learned = Learned::default();
    loop {
        let run = Run::new(&learned, MadeUp(guess));
        let decoded = T::deserialize(Cursor {
            node: root,
            path: &Path::ROOT,
            run: &run,
        });
        match decoded {
            Ok(value) => return run.finish(report).then_some(value),
            Err(problem) => {
                let noted = run.into_noted();
                let why = problem.to_string();
                if !learned.add(problem) {
                    noted.give_up(root, &why, report);
                    return None;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
