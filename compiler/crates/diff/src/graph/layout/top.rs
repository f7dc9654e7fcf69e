//! Draws the head of a cluster: its name, location and totals.

use super::{Anchor, BODY, Frame, GAP, INSIDE, Ink, Role, Text, stack};
use crate::graph::measure::Font;
use crate::graph::scene::{count, range};
use crate::graph::view::{PoolView, View};

const TITLE: Font = Font {
    size: 24.0,
    bold: true,
};
const NUMBER: Font = Font {
    size: 20.0,
    bold: true,
};

pub(super) fn top(view: &View) -> Frame {
    let mut head = Frame::group(INSIDE, 54.0);
    head.write(Text::new(&view.name, TITLE, Ink::Strong, INSIDE).at(0.0, 25.0, Anchor::Start));
    let facts = view.facts.join("  ·  ");
    head.write(Text::new(&facts, BODY, Ink::Soft, INSIDE).at(0.0, 48.0, Anchor::Start));
    stack(vec![head, tiles(view)], 14.0)
}

fn tiles(view: &View) -> Frame {
    let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    let same = |count: usize| (number(count), number(count));
    let all = [
        (same(view.pools.len()), "pool", "pools"),
        (view.sum(PoolView::node_count), "node", "nodes"),
        (view.sum(PoolView::gpu_count), "GPU", "GPUs"),
        (same(view.teams.len()), "team", "teams"),
        (same(view.workloads), "workload", "workloads"),
    ];
    // Totals of zero are omitted.
    let shown: Vec<_> = all
        .into_iter()
        .filter(|((_, most), ..)| *most > 0)
        .collect();
    let number = count(shown.len());
    let width = (INSIDE - GAP * (number - 1.0)) / number;
    let mut row = Frame::group(INSIDE, 58.0);
    for (index, ((least, most), one, several)) in shown.into_iter().enumerate() {
        let mut tile = Frame::of(Role::Card, width, 58.0).round(10.0);
        let room = width - 32.0;
        let text = range(least, most);
        tile.write(Text::new(&text, NUMBER, Ink::Strong, room).at(16.0, 29.0, Anchor::Start));
        let word = if most == 1 { one } else { several };
        tile.write(Text::new(word, BODY, Ink::Soft, room).at(16.0, 48.0, Anchor::Start));
        row.put(tile, count(index) * (width + GAP), 0.0);
    }
    row
}
