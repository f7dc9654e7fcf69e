//! A field of a resource together with the flags that set it at creation.

use gpuc_schema::Span;
use serde_json::Value;

use gpuc_model::plan::{Command, Field, FieldKind};
use gpuc_syntax::node::{DerivationReason, Origin};

/// A field, and the flags that set it when gpuc creates the resource.
pub(super) struct Setting {
    /// Flags of the creation command.
    pub(super) flags: Vec<String>,
    /// The field.
    pub(super) field: Field,
}

impl Setting {
    /// Creates a setting from the desired value and the location in the file that determines it.
    pub(super) fn new(kind: &'static FieldKind, desired: Value, span: Span) -> Self {
        let because = if span.is_written() {
            DerivationReason::Written
        } else {
            DerivationReason::Default
        };
        Self {
            flags: Vec::new(),
            field: Field {
                kind,
                desired,
                update: Vec::new(),
                lookup: None,
                is_set_after_creation: false,
                external_entries: None,
                origin: Origin::derived([span], because),
            },
        }
    }

    /// Adds a flag of the creation command.
    pub(super) fn with_flag(mut self, flag: impl Into<String>) -> Self {
        self.flags.push(flag.into());
        self
    }

    /// Adds flags of the creation command.
    pub(super) fn with_flags(mut self, flags: impl IntoIterator<Item = String>) -> Self {
        self.flags.extend(flags);
        self
    }

    /// Adds a command that changes the field.
    pub(super) fn with_update(mut self, command: Command) -> Self {
        self.field.update.push(command);
        self
    }
    /// Sets the program that lists externally managed entries of the field.
    pub(super) fn with_external(mut self, program: &'static str) -> Self {
        self.field.external_entries = Some(program);
        self
    }
}
