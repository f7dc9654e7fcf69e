//! Chips: short texts in rounded boxes, wrapped over several lines.

use super::super::palette::{Ink, Role};
use super::super::scene::{Anchor, Frame, Text};
use super::dimensions::SMALL;

/// The height of a chip.
const CHIP_HEIGHT: f64 = 20.0;

/// The padding on both sides of the text of a chip.
const CHIP_PADDING: f64 = 8.0;

/// The gap between chips.
const CHIP_GAP: f64 = 6.0;

/// A chip.
pub(super) struct Chip {
    pub(super) role: Role,
    pub(super) text: String,
    /// The tooltip; by default the full text, if it is shortened.
    pub(super) title: Option<String>,
}

/// One chip, at most `room` wide.
pub(super) fn draw_chip(chip: &Chip, room: f64) -> Frame {
    let text = Text::new(&chip.text, SMALL, Ink::Strong, room - 2.0 * CHIP_PADDING);
    let mut frame = Frame::with_role(chip.role, text.width() + 2.0 * CHIP_PADDING, CHIP_HEIGHT)
        .round(CHIP_HEIGHT / 2.0);
    if let Some(title) = &chip.title {
        frame = frame.title(title);
    }
    let middle = frame.w() / 2.0;
    frame.add_text(text.positioned(middle, 14.0, Anchor::Middle));
    frame
}

/// Chips wrapped at a width.
pub(super) fn draw_wrapped(chips: &[Chip], width: f64) -> Frame {
    let mut all = Frame::group(width, 0.0);
    let (mut x, mut y) = (0.0, 0.0);
    for one in chips {
        let frame = draw_chip(one, width);
        if x > 0.0 && x + frame.w() > width {
            (x, y) = (0.0, y + CHIP_HEIGHT + CHIP_GAP);
        }
        all.rect.h = y + CHIP_HEIGHT;
        let next = x + frame.w() + CHIP_GAP;
        all.add_frame(frame, x, y);
        x = next;
    }
    all
}

/// Chips with a label.
pub(super) fn draw_labelled(label: &str, chips: &[Chip], width: f64) -> Frame {
    const LABEL: f64 = 56.0;
    let chips = draw_wrapped(chips, width - LABEL);
    let mut row = Frame::group(width, chips.h());
    row.add_text(Text::new(label, SMALL, Ink::Soft, LABEL - 4.0).positioned(
        0.0,
        14.0,
        Anchor::Start,
    ));
    row.add_frame(chips, LABEL, 0.0);
    row
}
