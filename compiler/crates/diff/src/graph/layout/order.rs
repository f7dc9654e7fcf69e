//! Draws the install order from left to right.

use gpuc_model::plan::What;

use super::layers::{Group, Layers, Slot, layers};
use super::{Anchor, Frame, INSIDE, Ink, PAD, Role, SMALL, Text};
use crate::graph::scene::{Line, count};
use crate::graph::view::{StepView, View};

/// The inner width of the panel.
const ROOM: f64 = INSIDE - 2.0 * PAD;

/// The height of the column numbers.
const HEAD: f64 = 22.0;

/// The heights of a step and of a passing line.
const STEP: f64 = 32.0;
const PASS: f64 = 12.0;

/// The gap between slots of a column.
const BETWEEN: f64 = 10.0;

/// The maximum width of a step.
const WIDEST: f64 = 220.0;

/// The maximum number of drawn steps.
const MOST: usize = 150;

pub(super) fn order(view: &View) -> Option<Frame> {
    if view.steps.is_empty() {
        return None;
    }
    let steps = &view.steps[..view.steps.len().min(MOST)];
    let layers = layers(steps);
    let mut parts = Vec::new();
    if !layers.columns.is_empty() {
        parts.push(tied(steps, &layers));
    }
    if !layers.loose.is_empty() {
        let head = if parts.is_empty() {
            "In any order"
        } else {
            "At any time"
        };
        parts.push(loose(steps, &layers, head));
    }
    if view.steps.len() > MOST {
        let mut note = Frame::group(ROOM, 16.0);
        let text = format!("and {} more steps", view.steps.len() - MOST);
        note.write(Text::new(&text, SMALL, Ink::Soft, ROOM).at(0.0, 12.0, Anchor::Start));
        parts.push(note);
    }
    let parts = super::stack(parts, 14.0);
    let mut card = Frame::of(Role::Card, INSIDE, parts.h() + 2.0 * PAD).round(10.0);
    card.put(parts, PAD, PAD);
    Some(card)
}

/// The steps with dependencies or dependents: a column for each layer, over the full width.
fn tied(steps: &[StepView], layers: &Layers) -> Frame {
    let number = count(layers.columns.len());
    let width = (ROOM / number * 0.78).min(WIDEST);
    // Long lines are hard to follow.
    let gap = ((ROOM - width * number) / (number - 1.0).max(1.0)).min(180.0);
    let tallest = layers.columns.iter().map(|it| height(it));
    let tallest = tallest.fold(0.0, f64::max);
    let mut content = Frame::group(ROOM, HEAD + tallest);
    for (layer, column) in layers.columns.iter().enumerate() {
        let x = count(layer) * (width + gap);
        let number = Text::new(&(layer + 1).to_string(), SMALL, Ink::Soft, width);
        content.write(number.at(x + width / 2.0, 11.0, Anchor::Middle));
        for slot in column {
            let y = middle(layers, layer, *slot, tallest);
            match slot {
                Slot::Step(group) => {
                    let step = step(steps, &layers.groups[*group], width);
                    content.put(step, x, y - STEP / 2.0);
                }
                Slot::Pass(_) => content.lines.push(Line {
                    from: (x, y),
                    to: (x + width, y),
                }),
            }
        }
    }
    for (layer, from, to) in &layers.lines {
        let x = count(*layer) * (width + gap) + width;
        content.lines.push(Line {
            from: (x, middle(layers, *layer, *from, tallest)),
            to: (x + gap, middle(layers, layer + 1, *to, tallest)),
        });
    }
    content
}

/// The steps without dependencies and dependents, in rows.
fn loose(steps: &[StepView], layers: &Layers, head: &str) -> Frame {
    let across = 4;
    let width = (ROOM - 3.0 * BETWEEN) / 4.0;
    let rows = layers.loose.len().div_ceil(across);
    let mut all = Frame::group(ROOM, HEAD + count(rows) * (STEP + BETWEEN) - BETWEEN);
    all.write(Text::new(head, SMALL, Ink::Soft, ROOM).at(0.0, 11.0, Anchor::Start));
    for (index, group) in layers.loose.iter().enumerate() {
        let step = step(steps, &layers.groups[*group], width);
        let (x, y) = (count(index % across), count(index / across));
        all.put(step, x * (width + BETWEEN), HEAD + y * (STEP + BETWEEN));
    }
    all
}

fn high(slot: Slot) -> f64 {
    match slot {
        Slot::Step(_) => STEP,
        Slot::Pass(_) => PASS,
    }
}

fn height(column: &[Slot]) -> f64 {
    let places: f64 = column.iter().map(|slot| high(*slot)).sum();
    places + BETWEEN * (count(column.len()) - 1.0)
}

/// The vertical middle of a slot; columns are centered on the tallest one.
fn middle(layers: &Layers, layer: usize, slot: Slot, tallest: f64) -> f64 {
    let column = &layers.columns[layer];
    let above = column.iter().take_while(|it| **it != slot);
    let above: f64 = above.map(|it| high(*it) + BETWEEN).sum();
    HEAD + (tallest - height(column)) / 2.0 + above + high(slot) / 2.0
}

fn step(steps: &[StepView], group: &Group, width: f64) -> Frame {
    let (role, round, kind) = match group.what {
        What::Component => (Role::Objects, 4.0, "Kubernetes objects"),
        What::Release => (Role::Chart, STEP / 2.0, "Helm release"),
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
    let after = first.map_or(&[][..], |first| first.needs.as_slice());
    let after = after.iter().take(20).map(|(need, because)| {
        let name = &steps[*need].name;
        format!("after {name}: {because}")
    });
    let mut title = vec![format!("{}, {kind}", names.join(", "))];
    title.extend(after);
    let mut frame = Frame::of(role, width, STEP)
        .round(round)
        .title(&title.join("; "));
    let text = Text::new(&name, SMALL, Ink::Strong, width - 18.0);
    frame.write(text.at(width / 2.0, 20.0, Anchor::Middle));
    frame
}
