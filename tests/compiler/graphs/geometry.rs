//! Every element is inside its container, and no elements overlap.

use gpuc_diff::graph::layout::{WIDTH, draw_picture};
use gpuc_diff::graph::scene::{Frame, Rect};

use super::{all_views, view_with_name};

#[test]
fn nothing_overlaps_or_overflows() {
    let mut wrong = Vec::new();
    for (name, views) in all_views() {
        let page = draw_picture(&views);
        assert!((page.w() - WIDTH).abs() < 0.01, "{name}");
        check_frame(&page, (0.0, 0.0), &name, &mut wrong);
    }
    assert!(
        wrong.is_empty(),
        "{} places: {:#?}",
        wrong.len(),
        &wrong[..wrong.len().min(20)]
    );
}

/// Checks a frame whose upper left corner is at this position.
fn check_frame(frame: &Frame, corner: (f64, f64), name: &str, wrong: &mut Vec<String>) {
    let own = Rect {
        x: 0.0,
        y: 0.0,
        ..frame.rect
    };
    let here = |what: &str| {
        format!(
            "{name}: {what}, in the frame at {corner:?} of {:?}",
            frame.role
        )
    };
    let sound = |it: &Rect| [it.x, it.y, it.w, it.h].iter().all(|it| it.is_finite()) && it.w >= 0.0;
    for (index, inner) in frame.frames.iter().enumerate() {
        if !sound(&inner.rect) || !own.contains(&inner.rect) {
            wrong.push(here(&format!("{:?} sticks out", inner.rect)));
        }
        for other in &frame.frames[index + 1..] {
            if inner.rect.overlaps(&other.rect) {
                wrong.push(here(&format!(
                    "{:?} and {:?} overlap",
                    inner.rect, other.rect
                )));
            }
        }
    }
    for (index, text) in frame.texts.iter().enumerate() {
        let rect = text.rect();
        if !own.contains(&rect) {
            wrong.push(here(&format!("`{}` sticks out: {rect:?}", text.content)));
        }
        let others = frame.texts[index + 1..]
            .iter()
            .map(gpuc_diff::graph::scene::Text::rect);
        let inner = frame.frames.iter().map(|it| it.rect);
        for other in others.chain(inner).filter(|other| other.overlaps(&rect)) {
            wrong.push(here(&format!(
                "`{}` at {rect:?} lies on {other:?}",
                text.content
            )));
        }
    }
    for line in &frame.lines {
        let ((x1, y1), (x2, y2)) = (line.from, line.to);
        let rect = Rect {
            x: x1.min(x2),
            y: y1.min(y2),
            w: (x2 - x1).abs(),
            h: (y2 - y1).abs(),
        };
        if !own.contains(&rect) {
            wrong.push(here(&format!("a line sticks out: {rect:?}")));
        }
        for inner in &frame.frames {
            if inner.rect.overlaps(&rect) && rect.w > 0.1 && is_crossing(line, &inner.rect) {
                wrong.push(here(&format!("a line crosses {:?}", inner.rect)));
            }
        }
    }
    for inner in &frame.frames {
        let corner = (corner.0 + inner.rect.x, corner.1 + inner.rect.y);
        check_frame(inner, corner, name, wrong);
    }
}

/// Whether a connector, which is horizontal at both ends, crosses a rectangle.
fn is_crossing(line: &gpuc_diff::graph::scene::Line, rect: &Rect) -> bool {
    (0..=40).any(|step| {
        let t = f64::from(step) / 40.0;
        let bend = |a: f64, b: f64, c: f64, d: f64| {
            let u = 1.0 - t;
            u * u * u * a + 3.0 * u * u * t * b + 3.0 * u * t * t * c + t * t * t * d
        };
        let ((x1, y1), (x2, y2)) = (line.from, line.to);
        let middle = f64::midpoint(x1, x2);
        let (x, y) = (bend(x1, middle, middle, x2), bend(y1, y1, y2, y2));
        let inside = |at: f64, from: f64, long: f64| at > from + 0.5 && at < from + long - 0.5;
        inside(x, rect.x, rect.w) && inside(y, rect.y, rect.h)
    })
}

/// The width of a MIG device is proportional to its share of the GPU's memory.
#[test]
fn mig_devices_are_drawn_to_scale() {
    use gpuc_diff::graph::palette::Role;
    let page = draw_picture(&super::example("eks-queues"));
    let mut widths = Vec::new();
    collect(&page, &mut |frame| {
        if frame.role == Some(Role::MigDevice) && frame.texts.len() == 1 {
            widths.push((frame.texts[0].content.clone(), frame.w()));
        }
    });
    let width = |name: &str| widths.iter().find(|it| it.0 == name).unwrap().1;
    // The ratio is 4:1, because 3g.20gb has four of the eight memory slices. The gaps between the boxes are added
    // first.
    let ratio = (width("3g.20gb") + 2.0) / (width("1g.5gb") + 2.0);
    assert!((ratio - 4.0).abs() < 0.01, "{ratio}: {widths:?}");
}

fn collect(frame: &Frame, each: &mut dyn FnMut(&Frame)) {
    each(frame);
    for inner in &frame.frames {
        collect(inner, each);
    }
}

/// A truncated text has its full content as a tooltip.
#[test]
fn truncated_names_have_a_full_title() {
    let long = "a-very-long-name-".repeat(20);
    let page = draw_picture(&[view_with_name(&long)]);
    let mut truncated = 0;
    collect(&page, &mut |frame| {
        for text in frame.texts.iter().filter(|it| it.content.ends_with('…')) {
            let full = text.full_text.as_ref();
            assert!(
                full.is_some_and(|it| it.contains(&long)),
                "{}",
                text.content
            );
            truncated += 1;
        }
    });
    assert!(truncated > 20, "{truncated}");
}
