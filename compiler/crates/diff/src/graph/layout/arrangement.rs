//! Arranges frames in columns and rows.

use super::super::palette::{Ink, Role};
use super::super::scene::{Anchor, Frame, Text, format_grouped, length_of_count};
use super::dimensions::{BODY, INNER_WIDTH, PANEL_PADDING};

/// Stacks frames vertically.
pub(super) fn stack_frames(parts: Vec<Frame>, gap: f64) -> Frame {
    let w = parts.iter().map(Frame::w).fold(0.0, f64::max);
    let mut all = Frame::group(w, 0.0);
    for (index, frame) in parts.into_iter().enumerate() {
        let y = if index == 0 { 0.0 } else { all.rect.h + gap };
        all.rect.h = y + frame.h();
        all.add_frame(frame, 0.0, y);
    }
    all
}

/// Arranges panels in columns of equal width, each in the shortest column.
pub(super) fn arrange_columns(cards: Vec<Frame>, number: usize, width: f64, gap: f64) -> Frame {
    let mut heights = vec![0.0_f64; number];
    let mut all = Frame::group(INNER_WIDTH, 0.0);
    for card in cards {
        let shortest = (0..number).fold(0, |best, it| {
            // Differences below a pixel are ignored.
            if heights[it] + 1.0 < heights[best] {
                it
            } else {
                best
            }
        });
        let (x, y) = (length_of_count(shortest) * (width + gap), heights[shortest]);
        heights[shortest] = y + card.h() + gap;
        all.rect.h = all.rect.h.max(y + card.h());
        all.add_frame(card, x, y);
    }
    all
}

/// A panel with the number of omitted panels, and details.
pub(super) fn draw_omitted_panel(width: f64, number: usize, noun: &str, details: &str) -> Frame {
    let mut card = Frame::with_role(Role::Panel, width, 44.0).round(10.0);
    let plural = if number == 1 { "" } else { "s" };
    let number = format_grouped(u64::try_from(number).unwrap_or(u64::MAX));
    let text = format!("and {number} more {noun}{plural}{details}");
    card.add_text(
        Text::new(&text, BODY, Ink::Soft, width - 2.0 * PANEL_PADDING).positioned(
            PANEL_PADDING,
            27.0,
            Anchor::Start,
        ),
    );
    card
}
