//! The capabilities of the output device.

/// The capabilities of the output device.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Whether text can have colors.
    pub color: bool,
    /// The maximum number of characters of a source line.
    pub width: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            color: false,
            width: 120,
        }
    }
}
