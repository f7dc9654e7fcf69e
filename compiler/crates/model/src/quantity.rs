//! Quantities of CPU, memory and storage, parsed once.

use gpuc_schema::config::{Amounts as FileAmounts, Quantity as FileQuantity};
use gpuc_schema::{Span, Spanned};

/// A quantity of CPU, memory or storage.
#[derive(Clone, Debug)]
pub struct Quantity {
    /// The notation in the file. The output keeps it: Kubernetes accepts several notations of an amount.
    pub text: String,
    /// The location in the file; [`Span::NONE`] for a default.
    pub span: Span,
    thousandths: Option<u64>,
}

impl Quantity {
    /// The amount in thousandths of a core or of a byte; `None` if the notation is invalid, which a rule reports.
    pub fn thousandths(&self) -> Option<u64> {
        self.thousandths
    }

    /// The amount in bytes, rounded down.
    pub fn bytes(&self) -> Option<u64> {
        Some(self.thousandths? / 1000)
    }
}

impl From<&Spanned<FileQuantity>> for Quantity {
    fn from(quantity: &Spanned<FileQuantity>) -> Self {
        Self {
            text: quantity.value.0.clone(),
            span: quantity.span,
            thousandths: quantity.thousandths(),
        }
    }
}

/// Quantities of CPU and memory.
#[derive(Clone, Debug, Default)]
pub struct Amounts {
    /// CPU cores.
    pub cpu: Option<Quantity>,
    /// Main memory.
    pub memory: Option<Quantity>,
}

impl From<&FileAmounts> for Amounts {
    fn from(FileAmounts { cpu, memory }: &FileAmounts) -> Self {
        Self {
            cpu: cpu.as_ref().map(Quantity::from),
            memory: memory.as_ref().map(Quantity::from),
        }
    }
}
