//! Draws a node with its GPUs to scale: the width of a partition is proportional to its part of the GPU.

use super::super::palette::{Ink, Role};
use super::super::scene::{Anchor, Frame, Text};
use super::arrangement::stack_frames;
use super::dimensions::{SMALL, TINY};
use crate::graph::scene::length_of_count;
use crate::graph::view::{GpuRun, MigDevice, NodeGpus, Partitioning};

/// The padding of the machine around its GPUs.
const MACHINE_PADDING: f64 = 10.0;

/// The maximum number of GPUs in a row.
const MAX_GPUS_PER_ROW: u32 = 8;

/// The gap between GPUs.
const GPU_GAP: f64 = 6.0;

/// The height of a GPU without MIG devices.
const GPU_HEIGHT: f64 = 40.0;

/// A node with its GPUs.
pub(super) fn draw_node(gpus: &NodeGpus, width: f64) -> Frame {
    let room = width - 2.0 * MACHINE_PADDING;
    let mut parts = vec![draw_caption(
        &format!("{} × {}", gpus.per_node, gpus.model),
        &memory_text(gpus),
        room,
    )];
    for run in &gpus.runs {
        if gpus.runs.len() > 1 {
            parts.push(draw_caption(&run_label(run), "", room));
        }
        parts.push(match &run.partitioning {
            Partitioning::Mig {
                memory_slices,
                devices,
            } => draw_mig_gpu(*memory_slices, devices, room),
            _ => draw_gpus(gpus, run, room),
        });
    }
    let parts = stack_frames(parts, 5.0);
    let mut machine =
        Frame::with_role(Role::Inset, width, parts.h() + 2.0 * MACHINE_PADDING).round(8.0);
    machine.add_frame(parts, MACHINE_PADDING, MACHINE_PADDING);
    machine
}

/// `GPUs 0–3, each`.
fn run_label(run: &GpuRun) -> String {
    let last = run.first + run.count.saturating_sub(1);
    match run.count {
        1 => format!("GPU {}", run.first),
        _ => format!("GPUs {}–{last}, each", run.first),
    }
}

/// The sharing mode of the GPUs and the memory of each.
fn memory_text(gpus: &NodeGpus) -> String {
    let suffix = if gpus.per_node > 1 { " each" } else { "" };
    let gb = format!("{} GB{suffix}", gpus.memory_gb);
    let sharing = match gpus.runs.as_slice() {
        [run] => match &run.partitioning {
            Partitioning::TimeSlicing(number) => format!("{number} × time-slicing · "),
            Partitioning::Mps(number) => format!("{number} × MPS · "),
            Partitioning::Mig { .. } if run.count > 1 => "same MIG geometry · ".to_owned(),
            _ => String::new(),
        },
        _ => String::new(),
    };
    sharing + &gb
}

/// The caption of GPUs: their model on the left, details on the right.
fn draw_caption(model: &str, details: &str, room: f64) -> Frame {
    let mut row = Frame::group(room, 15.0);
    let details = Text::new(details, SMALL, Ink::Soft, room * 0.6);
    let remaining_width = room - details.width() - 12.0;
    row.add_text(details.positioned(room, 11.5, Anchor::End));
    row.add_text(
        Text::new(model, SMALL, Ink::Soft, remaining_width).positioned(0.0, 11.5, Anchor::Start),
    );
    row
}

/// One GPU for a whole run, over the full width, with its MIG devices at their placements.
fn draw_mig_gpu(of: u8, slices: &[MigDevice], room: f64) -> Frame {
    const MIG_HEIGHT: f64 = 30.0;
    let unit = (room - 4.0) / f64::from(of.max(1));
    let mut card = Frame::with_role(Role::Panel, room, MIG_HEIGHT + 6.0).round(5.0);
    let mut add_slice = |role: Role, start: u8, size: u8, name: &str, title: &str| {
        let width = f64::from(size) * unit - 2.0;
        let mut slice = Frame::with_role(role, width, MIG_HEIGHT).title(title);
        let text = Text::new(name, TINY, Ink::Strong, width - 3.0);
        slice.add_text(text.positioned(width / 2.0, 19.0, Anchor::Middle));
        card.add_frame(slice, f64::from(start) * unit + 3.0, 3.0);
    };
    let mut next = 0;
    for slice in slices {
        if slice.start > next {
            add_slice(Role::Unused, next, slice.start - next, "", UNUSED_TITLE);
        }
        add_slice(
            Role::MigDevice,
            slice.start,
            slice.size,
            &slice.profile,
            &slice.description,
        );
        next = slice.start.saturating_add(slice.size);
    }
    if next < of {
        add_slice(Role::Unused, next, of - next, "", UNUSED_TITLE);
    }
    card
}

const UNUSED_TITLE: &str = "GPU memory without a MIG device";

/// The GPUs of a run next to each other.
fn draw_gpus(gpus: &NodeGpus, run: &GpuRun, room: f64) -> Frame {
    let across = run.count.clamp(1, MAX_GPUS_PER_ROW);
    let number = f64::from(across);
    let width = ((room - GPU_GAP * (number - 1.0)) / number).min(124.0);
    let high = match run.partitioning {
        Partitioning::TimeSlicing(_) | Partitioning::Mps(_) => GPU_HEIGHT + 14.0,
        _ => GPU_HEIGHT,
    };
    let rows = run.count.div_ceil(MAX_GPUS_PER_ROW);
    let mut all = Frame::group(room, f64::from(rows) * (high + GPU_GAP) - GPU_GAP);
    for index in 0..run.count {
        let (x, y) = (
            f64::from(index % MAX_GPUS_PER_ROW),
            f64::from(index / MAX_GPUS_PER_ROW),
        );
        let gpu = draw_gpu(gpus, run, run.first + index, (width, high));
        all.add_frame(gpu, x * (width + GPU_GAP), y * (high + GPU_GAP));
    }
    all
}

fn draw_gpu(gpus: &NodeGpus, run: &GpuRun, index: u32, (width, high): (f64, f64)) -> Frame {
    let title = format!("GPU {index}: {}", gpus.model);
    if gpus.fraction < 1.0 {
        return draw_partial_gpu(gpus, width, &title);
    }
    let mut gpu = Frame::with_role(Role::Gpu, width, high)
        .round(4.0)
        .title(&title);
    let inside = width - 8.0;
    let pattern = match run.partitioning {
        Partitioning::TimeSlicing(number) => Some(draw_time_slices(number, inside)),
        Partitioning::Mps(number) => Some(draw_mps_replicas(number, inside)),
        _ => None,
    };
    let name = Text::new(&index.to_string(), TINY, Ink::Strong, width - 6.0);
    let y = if pattern.is_some() {
        13.0
    } else {
        high / 2.0 + 4.0
    };
    gpu.add_text(name.positioned(width / 2.0, y, Anchor::Middle));
    if let Some(pattern) = pattern {
        gpu.add_frame(pattern, 4.0, high - PATTERN_HEIGHT - 4.0);
    }
    gpu
}

/// A part of a GPU: the rest of the GPU belongs to other nodes.
fn draw_partial_gpu(gpus: &NodeGpus, width: f64, title: &str) -> Frame {
    let percent = gpus.fraction * 100.0;
    let title = format!("{title}, {percent:.0} % of a GPU");
    let mut card = Frame::with_role(Role::Unused, width, GPU_HEIGHT)
        .round(4.0)
        .title(&title);
    let own_width = (width - 4.0) * gpus.fraction;
    card.add_frame(
        Frame::with_role(Role::Gpu, own_width, GPU_HEIGHT - 4.0),
        2.0,
        2.0,
    );
    card
}

/// The height of the sharing pattern.
const PATTERN_HEIGHT: f64 = 32.0;

/// Time-slicing: each replica has the full GPU, one after the other, so each is as wide as the GPU.
fn draw_time_slices(number: u32, width: f64) -> Frame {
    let drawn = number.clamp(1, 6);
    let step = PATTERN_HEIGHT / f64::from(drawn);
    let mut all = Frame::group(width, PATTERN_HEIGHT);
    for index in 0..drawn {
        let turn = Frame::with_role(Role::TimeSlice, width, step - 2.0).round(1.5);
        all.add_frame(turn, 0.0, f64::from(index) * step + 1.0);
    }
    all
}

/// MPS: each replica has its part of the GPU at the same time, so each is as wide as its part.
fn draw_mps_replicas(number: u32, width: f64) -> Frame {
    let number = usize::try_from(number.max(1)).unwrap_or(1);
    let step = width / length_of_count(number);
    let mut all = Frame::group(width, PATTERN_HEIGHT);
    // Too many replicas are drawn as one.
    if step < 3.0 {
        all.add_frame(
            Frame::with_role(Role::MpsReplica, width, PATTERN_HEIGHT).round(1.0),
            0.0,
            0.0,
        );
        return all;
    }
    for index in 0..number {
        let gap = (step * 0.3).min(1.5);
        let share = Frame::with_role(Role::MpsReplica, step - gap, PATTERN_HEIGHT).round(1.0);
        all.add_frame(share, length_of_count(index) * step + gap / 2.0, 0.0);
    }
    all
}
