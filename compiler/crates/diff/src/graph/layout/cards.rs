//! Draws a node with its GPUs to scale: the width of a partition is proportional to its part of the GPU.

use super::{Anchor, Frame, Ink, Role, SMALL, TINY, Text, stack};
use crate::graph::scene::count;
use crate::graph::view::{Card, Cards, Cut, Slice};

/// The padding of the machine around its GPUs.
const AROUND: f64 = 10.0;

/// The maximum number of GPUs in a row.
const IN_A_ROW: u32 = 8;

/// The gap between GPUs.
const BETWEEN: f64 = 6.0;

/// The height of a GPU without MIG devices.
const HEIGHT: f64 = 40.0;

/// A node with its GPUs.
pub(super) fn node(cards: &Cards, width: f64) -> Frame {
    let room = width - 2.0 * AROUND;
    let mut parts = vec![caption(
        &format!("{} × {}", cards.per_node, cards.model),
        &memory(cards),
        room,
    )];
    for run in &cards.runs {
        if cards.runs.len() > 1 {
            parts.push(caption(&which(run), "", room));
        }
        parts.push(match &run.cut {
            Cut::Slices { of, slices } => sliced(*of, slices, room),
            _ => tiles(cards, run, room),
        });
    }
    let parts = stack(parts, 5.0);
    let mut machine = Frame::of(Role::Inset, width, parts.h() + 2.0 * AROUND).round(8.0);
    machine.put(parts, AROUND, AROUND);
    machine
}

/// `GPUs 0–3, each`.
fn which(run: &Card) -> String {
    let last = run.first + run.count.saturating_sub(1);
    match run.count {
        1 => format!("GPU {}", run.first),
        _ => format!("GPUs {}–{last}, each", run.first),
    }
}

/// The sharing mode of the GPUs and the memory of each.
fn memory(cards: &Cards) -> String {
    let each = if cards.per_node > 1 { " each" } else { "" };
    let gb = format!("{} GB{each}", cards.memory_gb);
    let what = match cards.runs.as_slice() {
        [run] => match &run.cut {
            Cut::Turns(number) => format!("{number} × time-slicing · "),
            Cut::Shares(number) => format!("{number} × MPS · "),
            Cut::Slices { .. } if run.count > 1 => "same MIG geometry · ".to_owned(),
            _ => String::new(),
        },
        _ => String::new(),
    };
    what + &gb
}

/// The caption of GPUs: their model on the left, details on the right.
fn caption(what: &str, of_them: &str, room: f64) -> Frame {
    let mut row = Frame::group(room, 15.0);
    let of_them = Text::new(of_them, SMALL, Ink::Soft, room * 0.6);
    let left = room - of_them.width() - 12.0;
    row.write(of_them.at(room, 11.5, Anchor::End));
    row.write(Text::new(what, SMALL, Ink::Soft, left).at(0.0, 11.5, Anchor::Start));
    row
}

/// One GPU for a whole run, over the full width, with its MIG devices at their placements.
fn sliced(of: u8, slices: &[Slice], room: f64) -> Frame {
    const HIGH: f64 = 30.0;
    let unit = (room - 4.0) / f64::from(of.max(1));
    let mut card = Frame::of(Role::Card, room, HIGH + 6.0).round(5.0);
    let mut place = |role: Role, start: u8, size: u8, name: &str, title: &str| {
        let width = f64::from(size) * unit - 2.0;
        let mut slice = Frame::of(role, width, HIGH).title(title);
        let text = Text::new(name, TINY, Ink::Strong, width - 3.0);
        slice.write(text.at(width / 2.0, 19.0, Anchor::Middle));
        card.put(slice, f64::from(start) * unit + 3.0, 3.0);
    };
    let mut next = 0;
    for slice in slices {
        if slice.start > next {
            place(Role::Free, next, slice.start - next, "", UNUSED);
        }
        place(
            Role::Slice,
            slice.start,
            slice.size,
            &slice.profile,
            &slice.words,
        );
        next = slice.start.saturating_add(slice.size);
    }
    if next < of {
        place(Role::Free, next, of - next, "", UNUSED);
    }
    card
}

const UNUSED: &str = "GPU memory without a MIG device";

/// The GPUs of a run next to each other.
fn tiles(cards: &Cards, run: &Card, room: f64) -> Frame {
    let across = run.count.clamp(1, IN_A_ROW);
    let number = f64::from(across);
    let width = ((room - BETWEEN * (number - 1.0)) / number).min(124.0);
    let high = match run.cut {
        Cut::Turns(_) | Cut::Shares(_) => HEIGHT + 14.0,
        _ => HEIGHT,
    };
    let rows = run.count.div_ceil(IN_A_ROW);
    let mut all = Frame::group(room, f64::from(rows) * (high + BETWEEN) - BETWEEN);
    for index in 0..run.count {
        let (x, y) = (f64::from(index % IN_A_ROW), f64::from(index / IN_A_ROW));
        let gpu = gpu(cards, run, run.first + index, (width, high));
        all.put(gpu, x * (width + BETWEEN), y * (high + BETWEEN));
    }
    all
}

fn gpu(cards: &Cards, run: &Card, index: u32, (width, high): (f64, f64)) -> Frame {
    let title = format!("GPU {index}: {}", cards.model);
    if cards.part < 1.0 {
        return part(cards, width, &title);
    }
    let mut gpu = Frame::of(Role::Gpu, width, high).round(4.0).title(&title);
    let inside = width - 8.0;
    let pattern = match run.cut {
        Cut::Turns(number) => Some(turns(number, inside)),
        Cut::Shares(number) => Some(shares(number, inside)),
        _ => None,
    };
    let name = Text::new(&index.to_string(), TINY, Ink::Strong, width - 6.0);
    let y = if pattern.is_some() {
        13.0
    } else {
        high / 2.0 + 4.0
    };
    gpu.write(name.at(width / 2.0, y, Anchor::Middle));
    if let Some(pattern) = pattern {
        gpu.put(pattern, 4.0, high - PATTERN - 4.0);
    }
    gpu
}

/// A part of a GPU: the rest of the GPU belongs to other nodes.
fn part(cards: &Cards, width: f64, title: &str) -> Frame {
    let percent = cards.part * 100.0;
    let title = format!("{title}, {percent:.0} % of a GPU");
    let mut card = Frame::of(Role::Free, width, HEIGHT)
        .round(4.0)
        .title(&title);
    let own = (width - 4.0) * cards.part;
    card.put(Frame::of(Role::Gpu, own, HEIGHT - 4.0), 2.0, 2.0);
    card
}

/// The height of the sharing pattern.
const PATTERN: f64 = 32.0;

/// Time-slicing: each replica has the full GPU, one after the other, so each is as wide as the GPU.
fn turns(number: u32, width: f64) -> Frame {
    let drawn = number.clamp(1, 6);
    let step = PATTERN / f64::from(drawn);
    let mut all = Frame::group(width, PATTERN);
    for index in 0..drawn {
        let turn = Frame::of(Role::Turn, width, step - 2.0).round(1.5);
        all.put(turn, 0.0, f64::from(index) * step + 1.0);
    }
    all
}

/// MPS: each replica has its part of the GPU at the same time, so each is as wide as its part.
fn shares(number: u32, width: f64) -> Frame {
    let number = usize::try_from(number.max(1)).unwrap_or(1);
    let step = width / count(number);
    let mut all = Frame::group(width, PATTERN);
    // Too many replicas are drawn as one.
    if step < 3.0 {
        all.put(Frame::of(Role::Share, width, PATTERN).round(1.0), 0.0, 0.0);
        return all;
    }
    for index in 0..number {
        let gap = (step * 0.3).min(1.5);
        let share = Frame::of(Role::Share, step - gap, PATTERN).round(1.0);
        all.put(share, count(index) * step + gap / 2.0, 0.0);
    }
    all
}
