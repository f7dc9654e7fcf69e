//! A script as a sequence of segments, each with its purpose.

use gpuc_model::plan::{Expectation, Field, File, IdentityCheck, Resource, Step};

/// The purpose of some lines of a script.
#[derive(Clone, Copy, Debug)]
pub enum Segment<'p> {
    /// The first lines: the description of the script, its origin, and the shell options.
    Head,
    /// Text that is the same in every script of its kind, with its purpose.
    Boilerplate(&'static str),
    /// The name of the cluster.
    Cluster,
    /// The check for required programs.
    Tools,
    /// The check that the script targets the right environment.
    Identity(&'p IdentityCheck),
    /// The credentials for the cluster.
    Credentials,
    /// The scripts that it runs, in order.
    Scripts,
    /// An operation on a resource.
    Resource(&'p Resource, Operation),
    /// A field of a resource that is compared or updated.
    Field(&'p Resource, &'p Field),
    /// A check of the cluster.
    Expectation(&'p Expectation),
    /// A step that deploys to the cluster.
    Step(&'p Step),
    /// The contents of a script that does not manage resources.
    File(&'p File),
}

/// An operation on a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Reads it.
    Read,
    /// Creates it.
    Create,
    /// Updates it.
    Update,
    /// Deletes it.
    Delete,
}

/// The segments of a script, in order.
#[derive(Clone, Debug, Default)]
pub struct Segments<'p>(Vec<(Segment<'p>, String)>);

impl<'p> Segments<'p> {
    /// Appends a segment.
    pub(super) fn push(&mut self, segment: Segment<'p>, text: impl Into<String>) {
        self.0.push((segment, text.into()));
    }

    /// Appends all segments of another script.
    pub(super) fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    /// The text of the script.
    pub fn text(&self) -> String {
        self.0.iter().map(|(_, text)| text.as_str()).collect()
    }

    /// The purpose of each line, in order. A line that consists of several segments has the purpose of the first.
    pub fn line_purposes(&self) -> Vec<Segment<'p>> {
        let mut lines = Vec::new();
        let mut open = false;
        for (segment, text) in &self.0 {
            for line in text.split_inclusive('\n') {
                if !open {
                    lines.push(*segment);
                }
                open = !line.ends_with('\n');
            }
        }
        lines
    }
}
