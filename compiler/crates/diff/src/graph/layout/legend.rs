//! The legend of the colours in use.

use std::collections::BTreeSet;

use super::{Anchor, Frame, INSIDE, Ink, Role, SMALL, Text};

const WORDS: [(Role, &str); 13] = [
    (Role::Gpu, "full GPU"),
    (Role::Slice, "MIG device"),
    (Role::Turn, "time-slicing replica"),
    (Role::Share, "MPS replica"),
    (Role::Free, "unused, or used by other nodes"),
    (Role::Node, "always running"),
    (Role::Later, "added on demand"),
    (Role::Taint, "taint"),
    (Role::Workload, "workload"),
    (Role::Kept, "guaranteed quota"),
    (Role::Limit, "quota limit"),
    (Role::Objects, "Kubernetes objects"),
    (Role::Chart, "Helm release"),
];

/// The legend of the roles in these frames.
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
