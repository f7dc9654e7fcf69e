//! The layout: arranges the content as rectangles with text.

mod chips;
mod header;
mod install_order;
mod layers;
mod legend;
mod node_gpus;
mod pools;
mod quotas;
mod teams;

use super::measure::Font;
use super::palette::{Ink, Role};
use super::scene::{Anchor, Frame, Text, format_grouped};
use super::view::View;

/// The width of a picture.
pub const WIDTH: f64 = 960.0;

/// The outer margin.
const MARGIN: f64 = 24.0;

/// The gap between panels.
const GAP: f64 = 16.0;

/// The width between the margins.
const INNER_WIDTH: f64 = WIDTH - 2.0 * MARGIN;

/// The width of a panel if two are in a row.
const COLUMN_WIDTH: f64 = (INNER_WIDTH - GAP) / 2.0;

/// The padding of a panel.
const PANEL_PADDING: f64 = 16.0;

/// The maximum number of panels of one kind: larger pictures are slow and not useful.
const MAX_PANELS: usize = 60;

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
pub fn draw_picture(views: &[View]) -> Frame {
    let clusters = views.iter().map(draw_cluster).collect();
    let mut parts = vec![stack_frames(clusters, 2.0 * MARGIN)];
    parts.extend(legend::draw_legend(&parts));
    let all = stack_frames(parts, MARGIN);
    let mut page = Frame::with_role(Role::Background, WIDTH, all.h() + 2.0 * MARGIN).round(12.0);
    page.add_frame(all, MARGIN, MARGIN);
    page
}

fn draw_cluster(view: &View) -> Frame {
    let parts = [
        Some(header::draw_header(view)),
        Some(draw_section("Node pools", pools::draw_pools(view))),
        teams::draw_teams(view).map(|it| draw_section("Teams", it)),
        quotas::draw_quotas(view).map(|it| draw_section("Quotas and capacity", it)),
        install_order::draw_install_order(view).map(|it| draw_section("Install order", it)),
    ];
    stack_frames(parts.into_iter().flatten().collect(), 24.0)
}

fn draw_section(heading: &str, content: Frame) -> Frame {
    let mut head = Frame::group(INNER_WIDTH, 18.0);
    head.add_text(
        Text::new(heading, HEADING, Ink::Soft, INNER_WIDTH).positioned(0.0, 14.0, Anchor::Start),
    );
    stack_frames(vec![head, content], 8.0)
}

/// Stacks frames vertically.
fn stack_frames(parts: Vec<Frame>, gap: f64) -> Frame {
    let w = parts.iter().map(Frame::w).fold(0.0, f64::max);
    let mut all = Frame::group(w, 0.0);
    for (index, part) in parts.into_iter().enumerate() {
        let y = if index == 0 { 0.0 } else { all.rect.h + gap };
        all.rect.h = y + part.h();
        all.add_frame(part, 0.0, y);
    }
    all
}

/// Arranges panels in columns of equal width, each in the shortest column.
fn arrange_columns(cards: Vec<Frame>, number: usize, width: f64, gap: f64) -> Frame {
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
        let (x, y) = (
            super::scene::length_of_count(shortest) * (width + gap),
            heights[shortest],
        );
        heights[shortest] = y + card.h() + gap;
        all.rect.h = all.rect.h.max(y + card.h());
        all.add_frame(card, x, y);
    }
    all
}

/// A panel with the number of omitted panels.
fn draw_omitted_panel(width: f64, number: usize, what: &str) -> Frame {
    let mut card = Frame::with_role(Role::Panel, width, 44.0).round(10.0);
    let number = format_grouped(u64::try_from(number).unwrap_or(u64::MAX));
    let text = format!("and {number} more {what}");
    card.add_text(
        Text::new(&text, BODY, Ink::Soft, width - 2.0 * PANEL_PADDING).positioned(
            PANEL_PADDING,
            27.0,
            Anchor::Start,
        ),
    );
    card
}
