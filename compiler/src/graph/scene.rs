//! A picture before it is drawn: rectangles in rectangles, with text in them.
//!
//! What is written as SVG and what tests look at is this tree. A frame's place is counted from the corner of the frame
//! around it, that of its text from its own.

use super::measure::{self, ASCENT, DESCENT, Font};
use super::palette::{Ink, Role};

/// A rectangle.
#[derive(Clone, Copy, Debug)]
pub struct Rect {
    /// Its left edge.
    pub x: f64,
    /// Its upper edge.
    pub y: f64,
    /// How wide it is.
    pub w: f64,
    /// How high it is.
    pub h: f64,
}

impl Rect {
    /// The same rectangle elsewhere.
    #[must_use]
    pub fn moved(self, x: f64, y: f64) -> Self {
        Self {
            x: self.x + x,
            y: self.y + y,
            ..self
        }
    }

    /// Whether the other lies inside, edges among it.
    pub fn holds(&self, other: &Self) -> bool {
        const SLACK: f64 = 0.01;
        other.x >= self.x - SLACK
            && other.y >= self.y - SLACK
            && other.x + other.w <= self.x + self.w + SLACK
            && other.y + other.h <= self.y + self.h + SLACK
    }

    /// Whether they have more than an edge in common.
    pub fn overlaps(&self, other: &Self) -> bool {
        const SLACK: f64 = 0.01;
        self.x + SLACK < other.x + other.w
            && other.x + SLACK < self.x + self.w
            && self.y + SLACK < other.y + other.h
            && other.y + SLACK < self.y + self.h
    }
}

/// Where text stands at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// To the right of it.
    Start,
    /// Around it.
    Middle,
    /// To the left of it.
    End,
}

/// A line of text.
#[derive(Clone, Debug)]
pub struct Text {
    /// What it is anchored to, across.
    pub x: f64,
    /// Its baseline.
    pub y: f64,
    /// Where it stands at its place.
    pub anchor: Anchor,
    /// Its size and weight.
    pub font: Font,
    /// Its colour.
    pub ink: Ink,
    /// What is shown.
    pub shown: String,
    /// All of it, where less is shown.
    pub full: Option<String>,
}

impl Text {
    /// Text that takes as much of the room as it needs, and no more.
    pub fn new(text: &str, font: Font, ink: Ink, room: f64) -> Self {
        let text = measure::clean(text);
        let shown = measure::shorten(&text, font, room);
        Self {
            x: 0.0,
            y: 0.0,
            anchor: Anchor::Start,
            font,
            ink,
            full: (shown != text).then_some(text),
            shown,
        }
    }

    /// The text at a place, by its baseline.
    #[must_use]
    pub fn at(self, x: f64, y: f64, anchor: Anchor) -> Self {
        Self {
            x,
            y,
            anchor,
            ..self
        }
    }

    /// How wide it is at most.
    pub fn width(&self) -> f64 {
        measure::width(&self.shown, self.font)
    }

    /// What it covers.
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

/// A line from one place to another, behind what lies on it.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// Where it begins.
    pub from: (f64, f64),
    /// Where it ends.
    pub to: (f64, f64),
}

/// A rectangle with what is in it.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Where it lies.
    pub rect: Rect,
    /// What it stands for; one without is not drawn.
    pub role: Option<Role>,
    /// Whether its edge is dashed.
    pub dashed: bool,
    /// The radius of its corners.
    pub round: f64,
    /// What is told of it when somebody points at it.
    pub title: Option<String>,
    /// Lines, behind everything else.
    pub lines: Vec<Line>,
    /// Text.
    pub texts: Vec<Text>,
    /// What lies in it.
    pub frames: Vec<Frame>,
}

impl Frame {
    /// One that is not drawn.
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

    /// One that stands for something.
    pub fn of(role: Role, w: f64, h: f64) -> Self {
        Self {
            role: Some(role),
            dashed: matches!(role, Role::Later | Role::Free),
            round: 3.0,
            ..Self::group(w, h)
        }
    }

    /// With such corners.
    #[must_use]
    pub fn round(self, round: f64) -> Self {
        Self { round, ..self }
    }

    /// With something to tell.
    #[must_use]
    pub fn title(self, title: &str) -> Self {
        Self {
            title: Some(measure::clean(title)),
            ..self
        }
    }

    /// Puts another into it.
    pub fn put(&mut self, mut frame: Self, x: f64, y: f64) {
        frame.rect = frame.rect.moved(x, y);
        self.frames.push(frame);
    }

    /// Writes into it.
    pub fn write(&mut self, text: Text) {
        self.texts.push(text);
    }

    /// How wide it is.
    pub fn w(&self) -> f64 {
        self.rect.w
    }

    /// How high it is.
    pub fn h(&self) -> f64 {
        self.rect.h
    }
}

/// A count as a length. What is counted here never comes near what a picture can hold.
pub(super) fn count(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}

/// A large count as a length.
pub(super) fn amount(number: u64) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}

/// `4`, or `2–4`.
pub(super) fn range(least: u64, most: u64) -> String {
    if least == most {
        grouped(most)
    } else {
        format!("{}–{}", grouped(least), grouped(most))
    }
}

/// A number with a narrow gap every three digits, from five digits on.
pub(super) fn grouped(number: u64) -> String {
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
    fn numbers_are_short() {
        assert_eq!(range(4, 4), "4");
        assert_eq!(range(0, 24_000), "0–24,000");
        assert_eq!(grouped(1_234_567), "1,234,567");
    }

    #[test]
    fn what_touches_does_not_overlap() {
        let one = Rect {
            x: 0.0,
            y: 0.0,
            w: 10.0,
            h: 10.0,
        };
        assert!(!one.overlaps(&one.moved(10.0, 0.0)));
        assert!(one.overlaps(&one.moved(9.0, 9.0)));
        assert!(one.holds(&one) && !one.holds(&one.moved(1.0, 0.0)));
    }
}
