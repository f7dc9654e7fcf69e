//! A script as the parts that it is made of, each with what it is there for.

use crate::plan::{Expectation, Field, File, IdentityCheck, Resource, Step};

/// What some lines of a script are there for.
#[derive(Clone, Copy, Debug)]
pub enum Part<'p> {
    /// The first lines: what the script is, where it comes from, and that errors end it.
    Head,
    /// Helper text that is the same in every script of its kind, with what it does.
    Fixed(&'static str),
    /// The name of the cluster.
    Cluster,
    /// The programs that it asks for.
    Tools,
    /// Whether it is about to work in the right place.
    Identity(&'p IdentityCheck),
    /// How it reaches the cluster.
    Credentials,
    /// The scripts that it runs, in order.
    Scripts,
    /// Something that is done with a resource.
    Resource(&'p Resource, Doing),
    /// A field of a resource that is compared or changed.
    Field(&'p Resource, &'p Field),
    /// Something that is looked for in the cluster.
    Expectation(&'p Expectation),
    /// Something that is brought to the cluster.
    Step(&'p Step),
    /// What a file that is no script of resources does.
    File(&'p File),
}

/// What is done with a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// It is looked at.
    Looks,
    /// It is made.
    Makes,
    /// It is changed.
    Changes,
    /// It is removed.
    Removes,
}

/// The parts of a script, in order.
#[derive(Clone, Debug, Default)]
pub struct Parts<'p>(Vec<(Part<'p>, String)>);

impl<'p> Parts<'p> {
    /// Adds lines.
    pub(super) fn add(&mut self, part: Part<'p>, text: impl Into<String>) {
        self.0.push((part, text.into()));
    }

    /// Adds the parts of another.
    pub(super) fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    /// The whole text.
    pub fn text(&self) -> String {
        self.0.iter().map(|(_, text)| text.as_str()).collect()
    }

    /// What each line is there for, in order; of a line that is made of several parts, the first.
    pub fn lines(&self) -> Vec<Part<'p>> {
        let mut lines = Vec::new();
        let mut open = false;
        for (part, text) in &self.0 {
            for line in text.split_inclusive('\n') {
                if !open {
                    lines.push(*part);
                }
                open = !line.ends_with('\n');
            }
        }
        lines
    }
}
