//! Draws node pools: a panel each, with the GPUs of a node, the nodes, advertised resources, taints and workloads.

use super::super::palette::{Ink, Role};
use super::super::scene::{Anchor, Frame, Text};
use super::arrangement::{arrange_columns, draw_omitted_panel, stack_frames};
use super::chips::{Chip, draw_chip, draw_labelled};
use super::dimensions::{
    BODY, COLUMN_WIDTH, GAP, MAX_PANELS, NAME, PANEL_PADDING, SMALL, STRESSED,
};
use super::node_gpus;
use crate::graph::scene::{format_grouped, format_range};
use crate::graph::view::{PoolView, View};

/// The inner width of a panel.
const PANEL_WIDTH: f64 = COLUMN_WIDTH - 2.0 * PANEL_PADDING;

/// The maximum number of workloads listed on a pool.
const MAX_LISTED_WORKLOADS: usize = 10;

pub(super) fn draw_pools(view: &View) -> Frame {
    let drawn = view.pools.iter().take(MAX_PANELS);
    let mut all: Vec<_> = drawn.map(draw_pool).collect();
    let rest = &view.pools[view.pools.len().min(MAX_PANELS)..];
    if !rest.is_empty() {
        let rest = View {
            pools: rest.to_vec(),
            ..View::default()
        };
        let (nodes, gpus) = (
            rest.sum(PoolView::node_count),
            rest.sum(PoolView::gpu_count),
        );
        let sums = format!(
            ", nodes: {}, GPUs: {}",
            format_range(nodes.0, nodes.1),
            format_range(gpus.0, gpus.1)
        );
        all.push(draw_omitted_panel(
            COLUMN_WIDTH,
            rest.pools.len(),
            "pool",
            &sums,
        ));
    }
    arrange_columns(all, 2, COLUMN_WIDTH, GAP)
}

fn draw_pool(pool: &PoolView) -> Frame {
    let mut parts = vec![draw_head(pool)];
    parts.extend(
        pool.node_gpus
            .as_ref()
            .map(|it| node_gpus::draw_node(it, PANEL_WIDTH)),
    );
    parts.push(draw_nodes(pool));
    let lines = [
        draw_advertised(pool),
        draw_taints(pool),
        draw_workloads(pool),
    ];
    parts.extend(lines.into_iter().flatten());
    let parts = stack_frames(parts, 10.0);
    let mut card =
        Frame::with_role(Role::Panel, COLUMN_WIDTH, parts.h() + 2.0 * PANEL_PADDING).round(10.0);
    if !pool.provided_by.is_empty() {
        card = card.title(&format!("{}: {}", pool.name, pool.provided_by));
    }
    card.add_frame(parts, PANEL_PADDING, PANEL_PADDING);
    card
}

/// The pool's name, marks and machine; on the right the number of nodes and GPUs.
fn draw_head(pool: &PoolView) -> Frame {
    let mut head = Frame::group(PANEL_WIDTH, 38.0);
    let ((few, many), (least, most)) = (pool.node_count(), pool.gpu_count());
    let word = if many == 1 { "node" } else { "nodes" };
    let nodes = format!("{} {word}", format_range(few, many));
    let nodes = Text::new(&nodes, STRESSED, Ink::Strong, 140.0);
    let mut room = PANEL_WIDTH - nodes.width() - 12.0;
    head.add_text(nodes.positioned(PANEL_WIDTH, 15.0, Anchor::End));
    let name = Text::new(&pool.name, NAME, Ink::Strong, room);
    let mut x = name.width() + 10.0;
    head.add_text(name.positioned(0.0, 15.0, Anchor::Start));
    for mark in &pool.marks {
        // A mark that does not fit moves to the second line.
        if room - x < 60.0 {
            break;
        }
        let mark = Chip {
            role: Role::Advertised,
            text: mark.clone(),
            title: None,
        };
        let mark = draw_chip(&mark, room - x);
        let next = x + mark.w() + 6.0;
        head.add_frame(mark, x, 0.0);
        x = next;
    }
    room = PANEL_WIDTH;
    if most > 0 {
        let word = if most == 1 { "GPU" } else { "GPUs" };
        let text = format!("{} {word}", format_range(least, most));
        let gpus = Text::new(&text, BODY, Ink::Soft, 140.0);
        room -= gpus.width() + 12.0;
        head.add_text(gpus.positioned(PANEL_WIDTH, 34.0, Anchor::End));
    }
    let marks = pool.marks.iter().skip(head.frames.len());
    let words = [&pool.machine, &pool.sharing]
        .into_iter()
        .filter(|it| !it.is_empty());
    let words: Vec<_> = words.chain(marks).map(String::as_str).collect();
    head.add_text(
        Text::new(&words.join(" · "), BODY, Ink::Soft, room).positioned(0.0, 34.0, Anchor::Start),
    );
    head
}

/// A small square for each node; for many nodes, one square with their number.
fn draw_nodes(pool: &PoolView) -> Frame {
    const LABEL: f64 = 56.0;
    const SIDE: f64 = 14.0;
    const MAX_DRAWN_NODES: u64 = 16;
    let mut row = Frame::group(PANEL_WIDTH, 20.0);
    row.add_text(Text::new("Nodes", SMALL, Ink::Soft, LABEL).positioned(0.0, 14.0, Anchor::Start));
    let (least, most) = pool.node_count();
    let kinds = [
        (Role::Node, least, "always running", "minimum"),
        (
            Role::OptionalNode,
            most - least,
            "added when pods are pending",
            "on demand",
        ),
    ];
    let mut x = LABEL;
    for (role, number, title, words) in kinds.into_iter().filter(|it| it.1 > 0) {
        let drawn = if most <= MAX_DRAWN_NODES { number } else { 1 };
        for _ in 0..drawn {
            row.add_frame(Frame::with_role(role, SIDE, SIDE).title(title), x, 3.0);
            x += SIDE + 4.0;
        }
        if most > MAX_DRAWN_NODES {
            let text = format!("× {} {words}", format_grouped(number));
            let text = Text::new(&text, SMALL, Ink::Strong, 150.0);
            let width = text.width();
            row.add_text(text.positioned(x + 2.0, 14.0, Anchor::Start));
            x += width + 18.0;
        }
    }
    if most <= MAX_DRAWN_NODES && most > least {
        let text = format!("min {least}, max {most}");
        row.add_text(
            Text::new(&text, SMALL, Ink::Soft, PANEL_WIDTH - x - 4.0).positioned(
                x + 4.0,
                14.0,
                Anchor::Start,
            ),
        );
    }
    row
}

fn draw_advertised(pool: &PoolView) -> Option<Frame> {
    let chip = |resource: &crate::graph::view::AdvertisedView| Chip {
        role: Role::Advertised,
        text: format!(
            "{} × {}",
            format_grouped(resource.per_node.into()),
            resource.name
        ),
        title: Some(format!(
            "{}: {} per node, {} in the pool",
            resource.name,
            format_grouped(resource.per_node.into()),
            format_range(resource.min, resource.max)
        )),
    };
    let chips: Vec<_> = pool.advertised.iter().map(chip).collect();
    draw_labelled_chips("Per node", &chips)
}

fn draw_taints(pool: &PoolView) -> Option<Frame> {
    let taint = |taint: &String| Chip {
        role: Role::Taint,
        text: taint.clone(),
        title: Some(format!("requires a toleration of {taint}")),
    };
    let chips: Vec<_> = pool.taints.iter().map(taint).collect();
    draw_labelled_chips("Taints", &chips)
}

fn draw_workloads(pool: &PoolView) -> Option<Frame> {
    let named = pool.workloads.iter().take(MAX_LISTED_WORKLOADS);
    let mut chips: Vec<_> = named
        .map(|placed| Chip {
            role: Role::Workload,
            text: match placed.requests.as_str() {
                "" => placed.name.clone(),
                asks => format!("{}: {asks}", placed.name),
            },
            title: None,
        })
        .collect();
    let rest = &pool.workloads[pool.workloads.len().min(MAX_LISTED_WORKLOADS)..];
    if !rest.is_empty() {
        let names: Vec<_> = rest.iter().take(100).map(|it| it.name.as_str()).collect();
        chips.push(Chip {
            role: Role::Workload,
            text: format!("and {} more", rest.len()),
            title: Some(names.join(", ")),
        });
    }
    draw_labelled_chips("Runs", &chips)
}

fn draw_labelled_chips(label: &str, chips: &[Chip]) -> Option<Frame> {
    (!chips.is_empty()).then(|| draw_labelled(label, chips, PANEL_WIDTH))
}
