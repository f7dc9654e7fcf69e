//! Draws node pools: a panel each, with the GPUs of a node, the nodes, advertised resources, taints and workloads.

use super::chips::{Chip, chip, labelled};
use super::{
    Anchor, BODY, COLUMN, Frame, GAP, Ink, MOST_CARDS, NAME, PAD, Role, SMALL, STRESSED, Text,
};
use super::{cards, columns, more, stack};
use crate::graph::scene::{grouped, range};
use crate::graph::view::{PoolView, View};

/// The inner width of a panel.
const ROOM: f64 = COLUMN - 2.0 * PAD;

/// The maximum number of workloads listed on a pool.
const MOST_NAMED: usize = 10;

pub(super) fn pools(view: &View) -> Frame {
    let drawn = view.pools.iter().take(MOST_CARDS);
    let mut all: Vec<_> = drawn.map(pool).collect();
    let rest = &view.pools[view.pools.len().min(MOST_CARDS)..];
    if !rest.is_empty() {
        let rest = View {
            pools: rest.to_vec(),
            ..View::default()
        };
        let (nodes, gpus) = (
            rest.sum(PoolView::node_count),
            rest.sum(PoolView::gpu_count),
        );
        let what = format!(
            "pools, {} nodes, {} GPUs",
            range(nodes.0, nodes.1),
            range(gpus.0, gpus.1)
        );
        all.push(more(COLUMN, rest.pools.len(), &what));
    }
    columns(all, 2, COLUMN, GAP)
}

fn pool(pool: &PoolView) -> Frame {
    let mut parts = vec![head(pool)];
    parts.extend(pool.cards.as_ref().map(|it| cards::node(it, ROOM)));
    parts.push(nodes(pool));
    let lines = [offers(pool), taints(pool), workloads(pool)];
    parts.extend(lines.into_iter().flatten());
    let parts = stack(parts, 10.0);
    let mut card = Frame::of(Role::Card, COLUMN, parts.h() + 2.0 * PAD).round(10.0);
    if !pool.served.is_empty() {
        card = card.title(&format!("{}: {}", pool.name, pool.served));
    }
    card.put(parts, PAD, PAD);
    card
}

/// The pool's name, marks and machine; on the right the number of nodes and GPUs.
fn head(pool: &PoolView) -> Frame {
    let mut head = Frame::group(ROOM, 38.0);
    let ((few, many), (least, most)) = (pool.node_count(), pool.gpu_count());
    let word = if many == 1 { "node" } else { "nodes" };
    let nodes = format!("{} {word}", range(few, many));
    let nodes = Text::new(&nodes, STRESSED, Ink::Strong, 140.0);
    let mut room = ROOM - nodes.width() - 12.0;
    head.write(nodes.at(ROOM, 15.0, Anchor::End));
    let name = Text::new(&pool.name, NAME, Ink::Strong, room);
    let mut x = name.width() + 10.0;
    head.write(name.at(0.0, 15.0, Anchor::Start));
    for mark in &pool.marks {
        // A mark that does not fit moves to the second line.
        if room - x < 60.0 {
            break;
        }
        let mark = Chip {
            role: Role::Offer,
            text: mark.clone(),
            title: None,
        };
        let mark = chip(&mark, room - x);
        let next = x + mark.w() + 6.0;
        head.put(mark, x, 0.0);
        x = next;
    }
    room = ROOM;
    if most > 0 {
        let word = if most == 1 { "GPU" } else { "GPUs" };
        let text = format!("{} {word}", range(least, most));
        let gpus = Text::new(&text, BODY, Ink::Soft, 140.0);
        room -= gpus.width() + 12.0;
        head.write(gpus.at(ROOM, 34.0, Anchor::End));
    }
    let marks = pool.marks.iter().skip(head.frames.len());
    let words = [&pool.machine, &pool.sharing]
        .into_iter()
        .filter(|it| !it.is_empty());
    let words: Vec<_> = words.chain(marks).map(String::as_str).collect();
    head.write(Text::new(&words.join(" · "), BODY, Ink::Soft, room).at(0.0, 34.0, Anchor::Start));
    head
}

/// A small square for each node; for many nodes, one square with their number.
fn nodes(pool: &PoolView) -> Frame {
    const LABEL: f64 = 56.0;
    const SIDE: f64 = 14.0;
    const MOST_DRAWN: u64 = 16;
    let mut row = Frame::group(ROOM, 20.0);
    row.write(Text::new("Nodes", SMALL, Ink::Soft, LABEL).at(0.0, 14.0, Anchor::Start));
    let (least, most) = pool.node_count();
    let kinds = [
        (Role::Node, least, "always running", "minimum"),
        (
            Role::Later,
            most - least,
            "added when pods are pending",
            "on demand",
        ),
    ];
    let mut x = LABEL;
    for (role, number, title, words) in kinds.into_iter().filter(|it| it.1 > 0) {
        let drawn = if most <= MOST_DRAWN { number } else { 1 };
        for _ in 0..drawn {
            row.put(Frame::of(role, SIDE, SIDE).title(title), x, 3.0);
            x += SIDE + 4.0;
        }
        if most > MOST_DRAWN {
            let text = format!("× {} {words}", grouped(number));
            let text = Text::new(&text, SMALL, Ink::Strong, 150.0);
            let width = text.width();
            row.write(text.at(x + 2.0, 14.0, Anchor::Start));
            x += width + 18.0;
        }
    }
    if most <= MOST_DRAWN && most > least {
        let text = format!("min {least}, max {most}");
        row.write(Text::new(&text, SMALL, Ink::Soft, ROOM - x - 4.0).at(
            x + 4.0,
            14.0,
            Anchor::Start,
        ));
    }
    row
}

fn offers(pool: &PoolView) -> Option<Frame> {
    let offer = |offer: &crate::graph::view::OfferView| Chip {
        role: Role::Offer,
        text: format!("{} × {}", grouped(offer.per_node.into()), offer.name),
        title: Some(format!(
            "{}: {} per node, {} in the pool",
            offer.name,
            grouped(offer.per_node.into()),
            range(offer.min, offer.max)
        )),
    };
    let chips: Vec<_> = pool.offers.iter().map(offer).collect();
    line("Per node", &chips)
}

fn taints(pool: &PoolView) -> Option<Frame> {
    let taint = |taint: &String| Chip {
        role: Role::Taint,
        text: taint.clone(),
        title: Some(format!("requires a toleration of {taint}")),
    };
    let chips: Vec<_> = pool.taints.iter().map(taint).collect();
    line("Taints", &chips)
}

fn workloads(pool: &PoolView) -> Option<Frame> {
    let named = pool.workloads.iter().take(MOST_NAMED);
    let mut chips: Vec<_> = named
        .map(|placed| Chip {
            role: Role::Workload,
            text: match placed.asks.as_str() {
                "" => placed.name.clone(),
                asks => format!("{}: {asks}", placed.name),
            },
            title: None,
        })
        .collect();
    let rest = &pool.workloads[pool.workloads.len().min(MOST_NAMED)..];
    if !rest.is_empty() {
        let names: Vec<_> = rest.iter().take(100).map(|it| it.name.as_str()).collect();
        chips.push(Chip {
            role: Role::Workload,
            text: format!("and {} more", rest.len()),
            title: Some(names.join(", ")),
        });
    }
    line("Runs", &chips)
}

fn line(label: &str, chips: &[Chip]) -> Option<Frame> {
    (!chips.is_empty()).then(|| labelled(label, chips, ROOM))
}
