//! Draws the head of a cluster: its name, location and totals.

use super::super::palette::{Ink, Role};
use super::super::scene::{Anchor, Frame, Text};
use super::arrangement::stack_frames;
use super::dimensions::{BODY, GAP, INNER_WIDTH};
use crate::graph::measure::Font;
use crate::graph::scene::{format_range, length_of_count};
use crate::graph::view::{PoolView, View};

const TITLE: Font = Font {
    size: 24.0,
    bold: true,
};
const NUMBER: Font = Font {
    size: 20.0,
    bold: true,
};

pub(super) fn draw_header(view: &View) -> Frame {
    let mut head = Frame::group(INNER_WIDTH, 54.0);
    head.add_text(
        Text::new(&view.name, TITLE, Ink::Strong, INNER_WIDTH).positioned(0.0, 25.0, Anchor::Start),
    );
    let facts = view.facts.join("  ·  ");
    head.add_text(Text::new(&facts, BODY, Ink::Soft, INNER_WIDTH).positioned(
        0.0,
        48.0,
        Anchor::Start,
    ));
    stack_frames(vec![head, draw_totals(view)], 14.0)
}

fn draw_totals(view: &View) -> Frame {
    let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    let fixed_range = |count: usize| (number(count), number(count));
    let all = [
        (fixed_range(view.pools.len()), "pool", "pools"),
        (view.sum(PoolView::node_count), "node", "nodes"),
        (view.sum(PoolView::gpu_count), "GPU", "GPUs"),
        (fixed_range(view.teams.len()), "team", "teams"),
        (fixed_range(view.workloads), "workload", "workloads"),
    ];
    // Totals of zero are omitted.
    let shown: Vec<_> = all
        .into_iter()
        .filter(|((_, most), ..)| *most > 0)
        .collect();
    let number = length_of_count(shown.len());
    let width = (INNER_WIDTH - GAP * (number - 1.0)) / number;
    let mut row = Frame::group(INNER_WIDTH, 58.0);
    for (index, ((least, most), one, several)) in shown.into_iter().enumerate() {
        let mut tile = Frame::with_role(Role::Panel, width, 58.0).round(10.0);
        let room = width - 32.0;
        let text = format_range(least, most);
        tile.add_text(Text::new(&text, NUMBER, Ink::Strong, room).positioned(
            16.0,
            29.0,
            Anchor::Start,
        ));
        let word = if most == 1 { one } else { several };
        tile.add_text(Text::new(word, BODY, Ink::Soft, room).positioned(16.0, 48.0, Anchor::Start));
        row.add_frame(tile, length_of_count(index) * (width + GAP), 0.0);
    }
    row
}
