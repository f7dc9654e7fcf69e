//! What the colours and lines mean, of those that are there.

use std::collections::BTreeSet;

use super::{Anchor, Frame, INSIDE, Ink, Role, SMALL, Text};

const WORDS: [(Role, &str); 13] = [
    (Role::Gpu, "a whole GPU"),
    (Role::Slice, "a MIG slice"),
    (Role::Turn, "taking turns on a GPU"),
    (Role::Share, "a share by MPS"),
    (Role::Free, "not used, or somebody else's"),
    (Role::Node, "always there"),
    (Role::Later, "added when needed"),
    (Role::Taint, "a taint: keeps pods away"),
    (Role::Workload, "a workload"),
    (Role::Kept, "kept for a team"),
    (Role::Limit, "the most a team may have"),
    (Role::Objects, "objects"),
    (Role::Chart, "a Helm release"),
];

/// The legend of what these frames show.
pub(super) fn legend(frames: &[Frame]) -> Option<Frame> {
    let mut used = BTreeSet::new();
    for frame in frames {
        collect(frame, &mut used);
    }
    let entries = WORDS.iter().filter(|(role, _)| used.contains(role));
    let mut all = Frame::group(INSIDE, 0.0);
    let (mut x, mut y) = (0.0, 0.0);
    for (role, words) in entries {
        let entry = entry(*role, words);
        if x > 0.0 && x + entry.w() > INSIDE {
            (x, y) = (0.0, y + 24.0);
        }
        all.rect.h = y + 18.0;
        let next = x + entry.w() + 20.0;
        all.put(entry, x, y);
        x = next;
    }
    (all.h() > 0.0).then_some(all)
}

fn entry(role: Role, words: &str) -> Frame {
    let text = Text::new(words, SMALL, Ink::Soft, 240.0);
    let mut entry = Frame::group(22.0 + text.width(), 18.0);
    entry.put(Frame::of(role, 14.0, 14.0), 0.0, 2.0);
    entry.write(text.at(22.0, 13.0, Anchor::Start));
    entry
}

fn collect(frame: &Frame, used: &mut BTreeSet<Role>) {
    used.extend(frame.role);
    for inner in &frame.frames {
        collect(inner, used);
    }
}
