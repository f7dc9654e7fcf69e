//! The layout: arranges the content as rectangles with text.

mod cards;
mod chips;
mod layers;
mod legend;
mod order;
mod pools;
mod quotas;
mod teams;
mod top;

use super::measure::Font;
use super::palette::{Ink, Role};
use super::scene::{Anchor, Frame, Text, grouped};
use super::view::View;

/// The width of a picture.
pub const WIDTH: f64 = 960.0;

/// The outer margin.
const MARGIN: f64 = 24.0;

/// The gap between panels.
const GAP: f64 = 16.0;

/// The width between the margins.
const INSIDE: f64 = WIDTH - 2.0 * MARGIN;

/// The width of a panel if two are in a row.
const COLUMN: f64 = (INSIDE - GAP) / 2.0;

/// The padding of a panel.
const PAD: f64 = 16.0;

/// The maximum number of panels of one kind: larger pictures are slow and not useful.
const MOST_CARDS: usize = 60;

const NAME: Font = Font {
    size: 15.0,
    bold: true,
};
const HEADING: Font = Font {
    size: 13.0,
    bold: true,
};
const BODY: Font = Font {
    size: 12.0,
    bold: false,
};
const STRESSED: Font = Font {
    size: 12.0,
    bold: true,
};
const SMALL: Font = Font {
    size: 11.0,
    bold: false,
};
const TINY: Font = Font {
    size: 10.0,
    bold: false,
};

/// The whole picture: a cluster, or the clusters of a fleet one below the other.
pub fn picture(views: &[View]) -> Frame {
    let clusters = views.iter().map(cluster).collect();
    let mut parts = vec![stack(clusters, 2.0 * MARGIN)];
    parts.extend(legend::legend(&parts));
    let all = stack(parts, MARGIN);
    let mut page = Frame::of(Role::Page, WIDTH, all.h() + 2.0 * MARGIN).round(12.0);
    page.put(all, MARGIN, MARGIN);
    page
}

fn cluster(view: &View) -> Frame {
    let parts = [
        Some(top::top(view)),
        Some(section("Node pools", pools::pools(view))),
        teams::teams(view).map(|it| section("Teams", it)),
        quotas::quotas(view).map(|it| section("Quotas and capacity", it)),
        order::order(view).map(|it| section("Install order", it)),
    ];
    stack(parts.into_iter().flatten().collect(), 24.0)
}

fn section(heading: &str, content: Frame) -> Frame {
    let mut head = Frame::group(INSIDE, 18.0);
    head.write(Text::new(heading, HEADING, Ink::Soft, INSIDE).at(0.0, 14.0, Anchor::Start));
    stack(vec![head, content], 8.0)
}

/// Stacks frames vertically.
fn stack(parts: Vec<Frame>, gap: f64) -> Frame {
    let w = parts.iter().map(Frame::w).fold(0.0, f64::max);
    let mut all = Frame::group(w, 0.0);
    for (index, part) in parts.into_iter().enumerate() {
        let y = if index == 0 { 0.0 } else { all.rect.h + gap };
        all.rect.h = y + part.h();
        all.put(part, 0.0, y);
    }
    all
}

/// Arranges panels in columns of equal width, each in the shortest column.
fn columns(cards: Vec<Frame>, number: usize, width: f64, gap: f64) -> Frame {
    let mut heights = vec![0.0_f64; number];
    let mut all = Frame::group(INSIDE, 0.0);
    for card in cards {
        let shortest = (0..number).fold(0, |best, it| {
            // Differences below a pixel are ignored.
            if heights[it] + 1.0 < heights[best] {
                it
            } else {
                best
            }
        });
        let (x, y) = (
            super::scene::count(shortest) * (width + gap),
            heights[shortest],
        );
        heights[shortest] = y + card.h() + gap;
        all.rect.h = all.rect.h.max(y + card.h());
        all.put(card, x, y);
    }
    all
}

/// A panel with the number of omitted panels.
fn more(width: f64, number: usize, what: &str) -> Frame {
    let mut card = Frame::of(Role::Card, width, 44.0).round(10.0);
    let number = grouped(u64::try_from(number).unwrap_or(u64::MAX));
    let text = format!("and {number} more {what}");
    card.write(Text::new(&text, BODY, Ink::Soft, width - 2.0 * PAD).at(PAD, 27.0, Anchor::Start));
    card
}
