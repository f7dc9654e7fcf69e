//! The legend of the colors in use.

use std::collections::BTreeSet;

use super::super::palette::{Ink, Role};
use super::super::scene::{Anchor, Frame, Text};
use super::dimensions::{INNER_WIDTH, SMALL};

const ROLE_LABELS: [(Role, &str); 13] = [
    (Role::Gpu, "full GPU"),
    (Role::MigDevice, "MIG device"),
    (Role::TimeSlice, "time-slicing replica"),
    (Role::MpsReplica, "MPS replica"),
    (Role::Unused, "unused, or used by other nodes"),
    (Role::Node, "always running"),
    (Role::OptionalNode, "added on demand"),
    (Role::Taint, "taint"),
    (Role::Workload, "workload"),
    (Role::Guaranteed, "guaranteed quota"),
    (Role::Limit, "quota limit"),
    (Role::Objects, "Kubernetes objects"),
    (Role::Chart, "Helm release"),
];

/// The legend of the roles in these frames.
pub(super) fn draw_legend(frames: &[Frame]) -> Option<Frame> {
    let mut used = BTreeSet::new();
    for frame in frames {
        collect_roles(frame, &mut used);
    }
    let entries = ROLE_LABELS.iter().filter(|(role, _)| used.contains(role));
    let mut all = Frame::group(INNER_WIDTH, 0.0);
    let (mut x, mut y) = (0.0, 0.0);
    for (role, words) in entries {
        let entry = draw_entry(*role, words);
        if x > 0.0 && x + entry.w() > INNER_WIDTH {
            (x, y) = (0.0, y + 24.0);
        }
        all.rect.h = y + 18.0;
        let next = x + entry.w() + 20.0;
        all.add_frame(entry, x, y);
        x = next;
    }
    (all.h() > 0.0).then_some(all)
}

fn draw_entry(role: Role, words: &str) -> Frame {
    let text = Text::new(words, SMALL, Ink::Soft, 240.0);
    let mut entry = Frame::group(22.0 + text.width(), 18.0);
    entry.add_frame(Frame::with_role(role, 14.0, 14.0), 0.0, 2.0);
    entry.add_text(text.positioned(22.0, 13.0, Anchor::Start));
    entry
}

fn collect_roles(frame: &Frame, used: &mut BTreeSet<Role>) {
    used.extend(frame.role);
    for inner in &frame.frames {
        collect_roles(inner, used);
    }
}
