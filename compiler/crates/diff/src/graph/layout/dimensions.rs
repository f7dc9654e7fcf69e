//! The dimensions of the picture and its fonts.

use super::super::measure::Font;

/// The width of a picture.
pub const WIDTH: f64 = 960.0;

/// The outer margin.
pub(super) const MARGIN: f64 = 24.0;

/// The gap between panels.
pub(super) const GAP: f64 = 16.0;

/// The width between the margins.
pub(super) const INNER_WIDTH: f64 = WIDTH - 2.0 * MARGIN;

/// The width of a panel if two are in a row.
pub(super) const COLUMN_WIDTH: f64 = (INNER_WIDTH - GAP) / 2.0;

/// The padding of a panel.
pub(super) const PANEL_PADDING: f64 = 16.0;

/// The maximum number of panels of one kind: larger pictures are slow and not useful.
pub(super) const MAX_PANELS: usize = 60;

pub(super) const NAME: Font = Font {
    size: 15.0,
    bold: true,
};
pub(super) const HEADING: Font = Font {
    size: 13.0,
    bold: true,
};
pub(super) const BODY: Font = Font {
    size: 12.0,
    bold: false,
};
pub(super) const STRESSED: Font = Font {
    size: 12.0,
    bold: true,
};
pub(super) const SMALL: Font = Font {
    size: 11.0,
    bold: false,
};
pub(super) const TINY: Font = Font {
    size: 10.0,
    bold: false,
};
