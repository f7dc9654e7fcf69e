//! Chips: short texts in rounded boxes, wrapped over several lines.

use super::{Anchor, Frame, Ink, Role, SMALL, Text};

/// The height of a chip.
const HEIGHT: f64 = 20.0;

/// The padding on both sides of the text of a chip.
const BESIDE: f64 = 8.0;

/// The gap between chips.
const BETWEEN: f64 = 6.0;

/// A chip.
pub(super) struct Chip {
    pub(super) role: Role,
    pub(super) text: String,
    /// The tooltip; by default the full text, if it is shortened.
    pub(super) title: Option<String>,
}

/// One chip, at most `room` wide.
pub(super) fn chip(chip: &Chip, room: f64) -> Frame {
    let text = Text::new(&chip.text, SMALL, Ink::Strong, room - 2.0 * BESIDE);
    let mut frame = Frame::of(chip.role, text.width() + 2.0 * BESIDE, HEIGHT).round(HEIGHT / 2.0);
    if let Some(title) = &chip.title {
        frame = frame.title(title);
    }
    let middle = frame.w() / 2.0;
    frame.write(text.at(middle, 14.0, Anchor::Middle));
    frame
}

/// Chips wrapped at a width.
pub(super) fn flow(chips: &[Chip], width: f64) -> Frame {
    let mut all = Frame::group(width, 0.0);
    let (mut x, mut y) = (0.0, 0.0);
    for one in chips {
        let frame = chip(one, width);
        if x > 0.0 && x + frame.w() > width {
            (x, y) = (0.0, y + HEIGHT + BETWEEN);
        }
        all.rect.h = y + HEIGHT;
        let next = x + frame.w() + BETWEEN;
        all.put(frame, x, y);
        x = next;
    }
    all
}

/// Chips with a label.
pub(super) fn labelled(label: &str, chips: &[Chip], width: f64) -> Frame {
    const LABEL: f64 = 56.0;
    let chips = flow(chips, width - LABEL);
    let mut row = Frame::group(width, chips.h());
    row.write(Text::new(label, SMALL, Ink::Soft, LABEL - 4.0).at(0.0, 14.0, Anchor::Start));
    row.put(chips, LABEL, 0.0);
    row
}
