//! Draws the quotas of teams as bars below the capacity.

use gpuc_model::plan::{QuotaTotalSummary, TeamQuotaSummary};

use super::super::palette::{Ink, Role};
use super::super::scene::{Anchor, Frame, Text};
use super::arrangement::{arrange_columns, draw_omitted_panel, stack_frames};
use super::dimensions::{BODY, COLUMN_WIDTH, GAP, HEADING, MAX_PANELS, PANEL_PADDING, SMALL};
use crate::graph::scene::{format_range, length_of_amount};
use crate::graph::view::View;

const PANEL_WIDTH: f64 = COLUMN_WIDTH - 2.0 * PANEL_PADDING;

/// The width of the labels before the bars.
const LABEL_WIDTH: f64 = 112.0;

/// The width of the numbers after the bars.
const NUMBERS_WIDTH: f64 = 96.0;

/// The width of the bars.
const BAR_WIDTH: f64 = PANEL_WIDTH - LABEL_WIDTH - NUMBERS_WIDTH;

/// The height of a bar.
const BAR_HEIGHT: f64 = 16.0;

pub(super) fn draw_quotas(view: &View) -> Option<Frame> {
    if view.quota_totals.is_empty() {
        return None;
    }
    let mut all: Vec<_> = view
        .quota_totals
        .iter()
        .take(MAX_PANELS)
        .map(draw_quota_total)
        .collect();
    let rest = view.quota_totals.len().saturating_sub(MAX_PANELS);
    if rest > 0 {
        all.push(draw_omitted_panel(COLUMN_WIDTH, rest, "quota", ""));
    }
    Some(arrange_columns(all, 2, COLUMN_WIDTH, GAP))
}

fn draw_quota_total(promise: &QuotaTotalSummary) -> Frame {
    let mut head = Frame::group(PANEL_WIDTH, 18.0);
    let name = Text::new(&promise.pool, HEADING, Ink::Strong, PANEL_WIDTH * 0.45);
    let x = name.width() + 10.0;
    head.add_text(name.positioned(0.0, 13.0, Anchor::Start));
    head.add_text(
        Text::new(&promise.resource, BODY, Ink::Soft, PANEL_WIDTH - x).positioned(
            x,
            13.0,
            Anchor::Start,
        ),
    );
    // One scale for all bars: a limit above the capacity is a longer bar.
    let limits = promise.teams.iter().take(MAX_PANELS).map(|it| it.limit);
    let scale_max = limits.chain([promise.max, 1]).max().unwrap_or(1);
    let mut rows = vec![head, draw_capacity(promise, scale_max)];
    let teams = promise.teams.iter().take(MAX_PANELS);
    rows.extend(teams.map(|team| draw_team_quota(team, scale_max)));
    let rows = stack_frames(rows, 7.0);
    let mut card =
        Frame::with_role(Role::Panel, COLUMN_WIDTH, rows.h() + 2.0 * PANEL_PADDING).round(10.0);
    card.add_frame(rows, PANEL_PADDING, PANEL_PADDING);
    card
}

fn bar_length(amount: u64, scale_max: u64) -> f64 {
    BAR_WIDTH * length_of_amount(amount) / length_of_amount(scale_max)
}

fn draw_row(label: &str, numbers: &str, title: &str) -> Frame {
    let mut row = Frame::group(PANEL_WIDTH, BAR_HEIGHT).title(title);
    row.add_text(
        Text::new(label, SMALL, Ink::Strong, LABEL_WIDTH - 10.0).positioned(
            0.0,
            12.0,
            Anchor::Start,
        ),
    );
    row.add_text(
        Text::new(numbers, SMALL, Ink::Soft, NUMBERS_WIDTH - 8.0).positioned(
            PANEL_WIDTH,
            12.0,
            Anchor::End,
        ),
    );
    row
}

/// The capacity: the minimum, and the nodes that the autoscaler may add.
fn draw_capacity(promise: &QuotaTotalSummary, scale_max: u64) -> Frame {
    let (least, most) = (promise.min, promise.max);
    let numbers = format_range(least, most);
    let title = format!("{}: the pool has {numbers}", promise.resource);
    let mut row = draw_row("capacity", &numbers, &title);
    let always = bar_length(least, scale_max);
    if least > 0 {
        row.add_frame(
            Frame::with_role(Role::Node, always, BAR_HEIGHT),
            LABEL_WIDTH,
            0.0,
        );
    }
    if most > least {
        let added = bar_length(most - least, scale_max);
        row.add_frame(
            Frame::with_role(Role::OptionalNode, added, BAR_HEIGHT),
            LABEL_WIDTH + always,
            0.0,
        );
    }
    row
}

/// The limit of a team, with its guaranteed quota inside.
fn draw_team_quota(team: &TeamQuotaSummary, scale_max: u64) -> Frame {
    let (kept, limit) = (team.guaranteed, team.limit.max(team.guaranteed));
    let numbers = format!(
        "{}, max {}",
        format_range(kept, kept),
        format_range(limit, limit)
    );
    let title = format!("{}: {kept} guaranteed, max {limit}", team.name);
    let mut row = draw_row(&team.name, &numbers, &title);
    // The sum of all limits may exceed the scale: the bar is cut off there.
    let (kept, limit) = (kept.min(scale_max), limit.min(scale_max));
    if limit > 0 {
        let mut bar = Frame::with_role(Role::Limit, bar_length(limit, scale_max), BAR_HEIGHT);
        if kept > 0 {
            let inner = (bar_length(kept, scale_max) - 4.0).max(1.0).min(bar.w());
            let x = if bar.w() > 4.0 { 2.0 } else { 0.0 };
            bar.add_frame(
                Frame::with_role(Role::Guaranteed, inner.min(bar.w() - x), BAR_HEIGHT - 4.0)
                    .round(2.0),
                x,
                2.0,
            );
        }
        row.add_frame(bar, LABEL_WIDTH, 0.0);
    }
    row
}
