//! Draws the install order from left to right.

use gpuc_model::plan::StepKind;

use super::super::palette::{Ink, Role};
use super::super::scene::{Anchor, Frame, Text};
use super::dimensions::{INNER_WIDTH, PANEL_PADDING, SMALL};
use super::layers::{Layers, Slot, StepGroup, arrange_in_layers};
use crate::graph::scene::{Line, length_of_count};
use crate::graph::view::{StepView, View};

/// The inner width of the panel.
const PANEL_WIDTH: f64 = INNER_WIDTH - 2.0 * PANEL_PADDING;

/// The height of the column numbers.
const NUMBERS_HEIGHT: f64 = 22.0;

/// The heights of a step and of a passing line.
const STEP_HEIGHT: f64 = 32.0;
const LINE_HEIGHT: f64 = 12.0;

/// The gap between slots of a column.
const SLOT_GAP: f64 = 10.0;

/// The maximum width of a step.
const MAX_STEP_WIDTH: f64 = 220.0;

/// The maximum number of drawn steps.
const MAX_STEPS: usize = 150;

pub(super) fn draw_install_order(view: &View) -> Option<Frame> {
    if view.steps.is_empty() {
        return None;
    }
    let steps = &view.steps[..view.steps.len().min(MAX_STEPS)];
    let layers = arrange_in_layers(steps);
    let mut parts = Vec::new();
    if !layers.columns.is_empty() {
        parts.push(draw_dependent_steps(steps, &layers));
    }
    if !layers.independent.is_empty() {
        let head = if parts.is_empty() {
            "In any order"
        } else {
            "At any time"
        };
        parts.push(draw_independent_steps(steps, &layers, head));
    }
    if view.steps.len() > MAX_STEPS {
        let mut note = Frame::group(PANEL_WIDTH, 16.0);
        let text = format!(
            "and {}",
            gpuc_syntax::diag::phrases::pluralize(view.steps.len() - MAX_STEPS, "more step")
        );
        note.add_text(Text::new(&text, SMALL, Ink::Soft, PANEL_WIDTH).positioned(
            0.0,
            12.0,
            Anchor::Start,
        ));
        parts.push(note);
    }
    let parts = super::arrangement::stack_frames(parts, 14.0);
    let mut card =
        Frame::with_role(Role::Panel, INNER_WIDTH, parts.h() + 2.0 * PANEL_PADDING).round(10.0);
    card.add_frame(parts, PANEL_PADDING, PANEL_PADDING);
    Some(card)
}

/// The steps with dependencies or dependents: a column for each layer, over the full width.
fn draw_dependent_steps(steps: &[StepView], layers: &Layers) -> Frame {
    let number = length_of_count(layers.columns.len());
    let width = (PANEL_WIDTH / number * 0.78).min(MAX_STEP_WIDTH);
    // Long lines are hard to follow.
    let gap = ((PANEL_WIDTH - width * number) / (number - 1.0).max(1.0)).min(180.0);
    let tallest = layers.columns.iter().map(|it| column_height(it));
    let tallest = tallest.fold(0.0, f64::max);
    let mut content = Frame::group(PANEL_WIDTH, NUMBERS_HEIGHT + tallest);
    for (layer, column) in layers.columns.iter().enumerate() {
        let x = length_of_count(layer) * (width + gap);
        let number = Text::new(&(layer + 1).to_string(), SMALL, Ink::Soft, width);
        content.add_text(number.positioned(x + width / 2.0, 11.0, Anchor::Middle));
        for slot in column {
            let y = slot_middle(layers, layer, *slot, tallest);
            match slot {
                Slot::Group(group) => {
                    let step = draw_step(steps, &layers.groups[*group], width);
                    content.add_frame(step, x, y - STEP_HEIGHT / 2.0);
                }
                Slot::Line(_) => content.lines.push(Line {
                    from: (x, y),
                    to: (x + width, y),
                }),
            }
        }
    }
    for (layer, from, to) in &layers.lines {
        let x = length_of_count(*layer) * (width + gap) + width;
        content.lines.push(Line {
            from: (x, slot_middle(layers, *layer, *from, tallest)),
            to: (x + gap, slot_middle(layers, layer + 1, *to, tallest)),
        });
    }
    content
}

/// The steps without dependencies and dependents, in rows.
fn draw_independent_steps(steps: &[StepView], layers: &Layers, head: &str) -> Frame {
    let across = 4;
    let width = (PANEL_WIDTH - 3.0 * SLOT_GAP) / 4.0;
    let rows = layers.independent.len().div_ceil(across);
    let mut all = Frame::group(
        PANEL_WIDTH,
        NUMBERS_HEIGHT + length_of_count(rows) * (STEP_HEIGHT + SLOT_GAP) - SLOT_GAP,
    );
    all.add_text(Text::new(head, SMALL, Ink::Soft, PANEL_WIDTH).positioned(
        0.0,
        11.0,
        Anchor::Start,
    ));
    for (index, group) in layers.independent.iter().enumerate() {
        let step = draw_step(steps, &layers.groups[*group], width);
        let (x, y) = (
            length_of_count(index % across),
            length_of_count(index / across),
        );
        all.add_frame(
            step,
            x * (width + SLOT_GAP),
            NUMBERS_HEIGHT + y * (STEP_HEIGHT + SLOT_GAP),
        );
    }
    all
}

fn slot_height(slot: Slot) -> f64 {
    match slot {
        Slot::Group(_) => STEP_HEIGHT,
        Slot::Line(_) => LINE_HEIGHT,
    }
}

fn column_height(column: &[Slot]) -> f64 {
    let places: f64 = column.iter().map(|slot| slot_height(*slot)).sum();
    places + SLOT_GAP * (length_of_count(column.len()) - 1.0)
}

/// The vertical middle of a slot; columns are centered on the tallest one.
fn slot_middle(layers: &Layers, layer: usize, slot: Slot, tallest: f64) -> f64 {
    let column = &layers.columns[layer];
    let above = column.iter().take_while(|it| **it != slot);
    let above: f64 = above.map(|it| slot_height(*it) + SLOT_GAP).sum();
    NUMBERS_HEIGHT + (tallest - column_height(column)) / 2.0 + above + slot_height(slot) / 2.0
}

fn draw_step(steps: &[StepView], group: &StepGroup, width: f64) -> Frame {
    let (role, round, kind) = match group.kind {
        StepKind::Component => (Role::Objects, 4.0, "Kubernetes objects"),
        StepKind::Release => (Role::Chart, STEP_HEIGHT / 2.0, "Helm release"),
    };
    let members = group.members.iter().map(|it| &steps[*it]);
    let names: Vec<_> = members
        .clone()
        .take(40)
        .map(|it| it.name.as_str())
        .collect();
    let first = group.members.first().map(|it| &steps[*it]);
    let name = match (group.members.len(), first) {
        (1, Some(first)) => first.name.clone(),
        (number, _) => format!("{} × {number}", group.stem),
    };
    let after = first.map_or(&[][..], |first| first.dependencies.as_slice());
    let after = after.iter().take(20).map(|(need, reason)| {
        let name = &steps[*need].name;
        format!("after {name}: {reason}")
    });
    let mut title = vec![format!("{}, {kind}", names.join(", "))];
    title.extend(after);
    let mut frame = Frame::with_role(role, width, STEP_HEIGHT)
        .round(round)
        .title(&title.join("; "));
    let text = Text::new(&name, SMALL, Ink::Strong, width - 18.0);
    frame.add_text(text.positioned(width / 2.0, 20.0, Anchor::Middle));
    frame
}
