//! A field of a resource together with the flags that create it so.

use gpuc_schema::Span;
use serde_json::Value;

use crate::node::{Because, Origin};
use crate::plan::{Command, Field, FieldKind};

/// A field, and the flags that set it when the resource is made.
pub(super) struct Setting {
    /// The flags at creation.
    pub(super) flags: Vec<String>,
    /// The field.
    pub(super) field: Field,
}

impl Setting {
    /// A wanted value, and where the user wrote what it follows from.
    pub(super) fn new(kind: &'static FieldKind, want: Value, span: Span) -> Self {
        let because = if span.is_written() {
            Because::Written
        } else {
            Because::Default
        };
        Self {
            flags: Vec::new(),
            field: Field {
                kind,
                want,
                update: Vec::new(),
                others: None,
                origin: Origin::made([span], because),
            },
        }
    }

    /// Adds a flag at creation.
    pub(super) fn flag(mut self, flag: impl Into<String>) -> Self {
        self.flags.push(flag.into());
        self
    }

    /// Adds flags at creation.
    pub(super) fn flags(mut self, flags: impl IntoIterator<Item = String>) -> Self {
        self.flags.extend(flags);
        self
    }

    /// Adds a command that changes it.
    pub(super) fn update(mut self, command: Command) -> Self {
        self.field.update.push(command);
        self
    }
    /// Says that others add to it, and by which program theirs are listed.
    pub(super) fn others(mut self, program: &'static str) -> Self {
        self.field.others = Some(program);
        self
    }
}
