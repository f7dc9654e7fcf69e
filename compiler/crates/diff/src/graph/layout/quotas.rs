//! Draws the quotas of teams as bars below the capacity.

use gpuc_model::plan::{PromiseSummary, PromisedSummary};

use super::{
    Anchor, BODY, COLUMN, Frame, GAP, HEADING, Ink, MOST_CARDS, PAD, Role, SMALL, Text, columns,
    more, stack,
};
use crate::graph::scene::{amount, range};
use crate::graph::view::View;

const ROOM: f64 = COLUMN - 2.0 * PAD;

/// The width of the labels before the bars.
const LABEL: f64 = 112.0;

/// The width of the numbers after the bars.
const NUMBERS: f64 = 96.0;

/// The width of the bars.
const BAR: f64 = ROOM - LABEL - NUMBERS;

/// The height of a bar.
const HIGH: f64 = 16.0;

pub(super) fn quotas(view: &View) -> Option<Frame> {
    if view.promises.is_empty() {
        return None;
    }
    let mut all: Vec<_> = view.promises.iter().take(MOST_CARDS).map(promise).collect();
    let rest = view.promises.len().saturating_sub(MOST_CARDS);
    if rest > 0 {
        all.push(more(COLUMN, rest, "quotas"));
    }
    Some(columns(all, 2, COLUMN, GAP))
}

fn promise(promise: &PromiseSummary) -> Frame {
    let mut head = Frame::group(ROOM, 18.0);
    let name = Text::new(&promise.pool, HEADING, Ink::Strong, ROOM * 0.45);
    let x = name.width() + 10.0;
    head.write(name.at(0.0, 13.0, Anchor::Start));
    head.write(Text::new(&promise.resource, BODY, Ink::Soft, ROOM - x).at(x, 13.0, Anchor::Start));
    // One scale for all bars: a limit above the capacity is a longer bar.
    let limits = promise.teams.iter().take(MOST_CARDS).map(|it| it.limit);
    let whole = limits.chain([promise.max, 1]).max().unwrap_or(1);
    let mut rows = vec![head, capacity(promise, whole)];
    let teams = promise.teams.iter().take(MOST_CARDS);
    rows.extend(teams.map(|team| promised(team, whole)));
    let rows = stack(rows, 7.0);
    let mut card = Frame::of(Role::Card, COLUMN, rows.h() + 2.0 * PAD).round(10.0);
    card.put(rows, PAD, PAD);
    card
}

fn long(part: u64, whole: u64) -> f64 {
    BAR * amount(part) / amount(whole)
}

fn row(label: &str, numbers: &str, title: &str) -> Frame {
    let mut row = Frame::group(ROOM, HIGH).title(title);
    row.write(Text::new(label, SMALL, Ink::Strong, LABEL - 10.0).at(0.0, 12.0, Anchor::Start));
    row.write(Text::new(numbers, SMALL, Ink::Soft, NUMBERS - 8.0).at(ROOM, 12.0, Anchor::End));
    row
}

/// The capacity: the minimum, and the nodes that the autoscaler may add.
fn capacity(promise: &PromiseSummary, whole: u64) -> Frame {
    let (least, most) = (promise.min, promise.max);
    let numbers = range(least, most);
    let title = format!("{}: the pool has {numbers}", promise.resource);
    let mut row = row("capacity", &numbers, &title);
    let always = long(least, whole);
    if least > 0 {
        row.put(Frame::of(Role::Node, always, HIGH), LABEL, 0.0);
    }
    if most > least {
        let added = long(most - least, whole);
        row.put(Frame::of(Role::Later, added, HIGH), LABEL + always, 0.0);
    }
    row
}

/// The limit of a team, with its guaranteed quota inside.
fn promised(team: &PromisedSummary, whole: u64) -> Frame {
    let (kept, limit) = (team.guaranteed, team.limit.max(team.guaranteed));
    let numbers = format!("{}, max {}", range(kept, kept), range(limit, limit));
    let title = format!("{}: {kept} guaranteed, max {limit}", team.name);
    let mut row = row(&team.name, &numbers, &title);
    // The sum of all limits may exceed the scale: the bar is cut off there.
    let (kept, limit) = (kept.min(whole), limit.min(whole));
    if limit > 0 {
        let mut bar = Frame::of(Role::Limit, long(limit, whole), HIGH);
        if kept > 0 {
            let inner = (long(kept, whole) - 4.0).max(1.0).min(bar.w());
            let x = if bar.w() > 4.0 { 2.0 } else { 0.0 };
            bar.put(
                Frame::of(Role::Kept, inner.min(bar.w() - x), HIGH - 4.0).round(2.0),
                x,
                2.0,
            );
        }
        row.put(bar, LABEL, 0.0);
    }
    row
}
