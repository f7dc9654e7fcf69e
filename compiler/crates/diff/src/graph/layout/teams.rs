//! Draws teams with their namespaces and members.

use super::super::palette::{Ink, Role};
use super::super::scene::{Anchor, Frame, Text};
use super::arrangement::{arrange_columns, draw_omitted_panel};
use super::dimensions::{BODY, GAP, HEADING, INNER_WIDTH, MAX_PANELS};
use crate::graph::view::{TeamView, View};

/// The width of a team's panel.
const TEAM_WIDTH: f64 = (INNER_WIDTH - 2.0 * GAP) / 3.0;

pub(super) fn draw_teams(view: &View) -> Option<Frame> {
    if view.teams.is_empty() {
        return None;
    }
    let mut all: Vec<_> = view.teams.iter().take(MAX_PANELS).map(draw_team).collect();
    let rest = view.teams.len().saturating_sub(MAX_PANELS);
    if rest > 0 {
        all.push(draw_omitted_panel(TEAM_WIDTH, rest, "team", ""));
    }
    Some(arrange_columns(all, 3, TEAM_WIDTH, GAP))
}

fn draw_team(team: &TeamView) -> Frame {
    let mut card = Frame::with_role(Role::Panel, TEAM_WIDTH, 68.0).round(10.0);
    if !team.members.is_empty() {
        card = card.title(&format!("{}: {}", team.name, team.members.join(", ")));
    }
    let room = TEAM_WIDTH - 32.0;
    card.add_text(
        Text::new(&team.name, HEADING, Ink::Strong, room).positioned(16.0, 22.0, Anchor::Start),
    );
    let word = match team.namespaces.len() {
        1 => "namespace",
        _ => "namespaces",
    };
    let namespaces = format!("{word} {}", team.namespaces.join(", "));
    card.add_text(Text::new(&namespaces, BODY, Ink::Soft, room).positioned(
        16.0,
        40.0,
        Anchor::Start,
    ));
    let members = match team.members.as_slice() {
        [] => "no members listed".to_owned(),
        members => members.join(", "),
    };
    card.add_text(Text::new(&members, BODY, Ink::Soft, room).positioned(16.0, 57.0, Anchor::Start));
    card
}
