//! Draws teams with their namespaces and members.

use super::{
    Anchor, BODY, Frame, GAP, HEADING, INSIDE, Ink, MOST_CARDS, Role, Text, columns, more,
};
use crate::graph::view::{TeamView, View};

/// The width of a team's panel.
const WIDE: f64 = (INSIDE - 2.0 * GAP) / 3.0;

pub(super) fn teams(view: &View) -> Option<Frame> {
    if view.teams.is_empty() {
        return None;
    }
    let mut all: Vec<_> = view.teams.iter().take(MOST_CARDS).map(team).collect();
    let rest = view.teams.len().saturating_sub(MOST_CARDS);
    if rest > 0 {
        all.push(more(WIDE, rest, "teams"));
    }
    Some(columns(all, 3, WIDE, GAP))
}

fn team(team: &TeamView) -> Frame {
    let mut card = Frame::of(Role::Card, WIDE, 68.0).round(10.0);
    if !team.members.is_empty() {
        card = card.title(&format!("{}: {}", team.name, team.members.join(", ")));
    }
    let room = WIDE - 32.0;
    card.write(Text::new(&team.name, HEADING, Ink::Strong, room).at(16.0, 22.0, Anchor::Start));
    let word = match team.namespaces.len() {
        1 => "namespace",
        _ => "namespaces",
    };
    let namespaces = format!("{word} {}", team.namespaces.join(", "));
    card.write(Text::new(&namespaces, BODY, Ink::Soft, room).at(16.0, 40.0, Anchor::Start));
    let members = match team.members.as_slice() {
        [] => "no members listed".to_owned(),
        members => members.join(", "),
    };
    card.write(Text::new(&members, BODY, Ink::Soft, room).at(16.0, 57.0, Anchor::Start));
    card
}
