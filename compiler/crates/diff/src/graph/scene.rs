//! The scene graph of a picture: nested rectangles with text.
//!
//! The SVG is rendered from this tree, and tests check it. The position of a frame is relative to its parent, and that
//! of text to its frame.

use super::measure;
use super::measure::{ASCENT, DESCENT, Font};
use super::palette::{Ink, Role};

/// A rectangle.
#[derive(Clone, Copy, Debug)]
pub struct Rect {
    /// The left edge.
    pub x: f64,
    /// The top edge.
    pub y: f64,
    /// The width.
    pub w: f64,
    /// The height.
    pub h: f64,
}

impl Rect {
    /// The rectangle, translated.
    #[must_use]
    pub fn translated(self, x: f64, y: f64) -> Self {
        Self {
            x: self.x + x,
            y: self.y + y,
            ..self
        }
    }

    /// Whether the other is inside, including edges.
    pub fn contains(&self, other: &Self) -> bool {
        const SLACK: f64 = 0.01;
        other.x >= self.x - SLACK
            && other.y >= self.y - SLACK
            && other.x + other.w <= self.x + self.w + SLACK
            && other.y + other.h <= self.y + self.h + SLACK
    }

    /// Whether they share more than an edge.
    pub fn overlaps(&self, other: &Self) -> bool {
        const SLACK: f64 = 0.01;
        self.x + SLACK < other.x + other.w
            && other.x + SLACK < self.x + self.w
            && self.y + SLACK < other.y + other.h
            && other.y + SLACK < self.y + self.h
    }
}

/// The horizontal alignment of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// Starts at the position.
    Start,
    /// Centered on the position.
    Middle,
    /// Ends at the position.
    End,
}

/// A line of text.
#[derive(Clone, Debug)]
pub struct Text {
    /// The horizontal position of the anchor.
    pub x: f64,
    /// The baseline.
    pub y: f64,
    /// The horizontal alignment.
    pub anchor: Anchor,
    /// The size and weight.
    pub font: Font,
    /// The color.
    pub ink: Ink,
    /// The displayed text.
    pub content: String,
    /// The full text, if the displayed one is shortened.
    pub full_text: Option<String>,
}

impl Text {
    /// A text, shortened to the available width.
    pub fn new(text: &str, font: Font, ink: Ink, room: f64) -> Self {
        let text = measure::to_single_line(text);
        let shown = measure::shorten(&text, font, room);
        Self {
            x: 0.0,
            y: 0.0,
            anchor: Anchor::Start,
            font,
            ink,
            full_text: (shown != text).then_some(text),
            content: shown,
        }
    }

    /// Positions the text by its baseline.
    #[must_use]
    pub fn positioned(self, x: f64, y: f64, anchor: Anchor) -> Self {
        Self {
            x,
            y,
            anchor,
            ..self
        }
    }

    /// The maximum width.
    pub fn width(&self) -> f64 {
        measure::text_width(&self.content, self.font)
    }

    /// The bounding rectangle.
    pub fn rect(&self) -> Rect {
        let (w, size) = (self.width(), self.font.size);
        let x = match self.anchor {
            Anchor::Start => self.x,
            Anchor::Middle => self.x - w / 2.0,
            Anchor::End => self.x - w,
        };
        Rect {
            x,
            y: self.y - ASCENT * size,
            w,
            h: (ASCENT + DESCENT) * size,
        }
    }
}

/// A line in the background.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// The start.
    pub from: (f64, f64),
    /// The end.
    pub to: (f64, f64),
}

/// A rectangle with its content.
#[derive(Clone, Debug)]
pub struct Frame {
    /// The position and size.
    pub rect: Rect,
    /// The meaning; a frame without a role is not drawn.
    pub role: Option<Role>,
    /// Whether the stroke is dashed.
    pub dashed: bool,
    /// The radius of the corners.
    pub round: f64,
    /// The tooltip.
    pub title: Option<String>,
    /// Lines, in the background.
    pub lines: Vec<Line>,
    /// Texts.
    pub texts: Vec<Text>,
    /// Nested frames.
    pub frames: Vec<Frame>,
}

impl Frame {
    /// An invisible frame.
    pub fn group(w: f64, h: f64) -> Self {
        Self {
            rect: Rect {
                x: 0.0,
                y: 0.0,
                w,
                h,
            },
            role: None,
            dashed: false,
            round: 0.0,
            title: None,
            lines: Vec::new(),
            texts: Vec::new(),
            frames: Vec::new(),
        }
    }

    /// A visible frame with a role.
    pub fn with_role(role: Role, w: f64, h: f64) -> Self {
        Self {
            role: Some(role),
            dashed: matches!(role, Role::OptionalNode | Role::Unused),
            round: 3.0,
            ..Self::group(w, h)
        }
    }

    /// Sets the radius of the corners.
    #[must_use]
    pub fn round(self, round: f64) -> Self {
        Self { round, ..self }
    }

    /// Sets the tooltip.
    #[must_use]
    pub fn title(self, title: &str) -> Self {
        Self {
            title: Some(measure::to_single_line(title)),
            ..self
        }
    }

    /// Adds a nested frame.
    pub fn add_frame(&mut self, mut frame: Self, x: f64, y: f64) {
        frame.rect = frame.rect.translated(x, y);
        self.frames.push(frame);
    }

    /// Adds a text.
    pub fn add_text(&mut self, text: Text) {
        self.texts.push(text);
    }

    /// The width.
    pub fn w(&self) -> f64 {
        self.rect.w
    }

    /// The height.
    pub fn h(&self) -> f64 {
        self.rect.h
    }
}

/// Converts a count to a length. Counts here are far below the limits of a picture.
pub(super) fn length_of_count(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}

/// Converts a large count to a length.
pub(super) fn length_of_amount(number: u64) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}

/// `4`, or `2–4`.
pub(super) fn format_range(least: u64, most: u64) -> String {
    if least == most {
        format_grouped(most)
    } else {
        format!("{}–{}", format_grouped(least), format_grouped(most))
    }
}

/// A number with thousands separators, from five digits on.
pub(super) fn format_grouped(number: u64) -> String {
    let digits = number.to_string();
    if digits.len() < 5 {
        return digits;
    }
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_thousands_separators() {
        assert_eq!(format_range(4, 4), "4");
        assert_eq!(format_range(0, 24_000), "0–24,000");
        assert_eq!(format_grouped(1_234_567), "1,234,567");
    }

    #[test]
    fn touching_rectangles_do_not_overlap() {
        let one = Rect {
            x: 0.0,
            y: 0.0,
            w: 10.0,
            h: 10.0,
        };
        assert!(!one.overlaps(&one.translated(10.0, 0.0)));
        assert!(one.overlaps(&one.translated(9.0, 9.0)));
        assert!(one.contains(&one) && !one.contains(&one.translated(1.0, 0.0)));
    }
}
