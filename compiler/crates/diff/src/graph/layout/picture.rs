//! The whole picture, and the sections of a cluster.

use super::super::palette::{Ink, Role};
use super::super::scene::{Anchor, Frame, Text};
use super::super::view::View;
use super::arrangement::stack_frames;
use super::dimensions::{HEADING, INNER_WIDTH, MARGIN, WIDTH};
use super::{header, install_order, legend, pools, quotas, teams};

/// The whole picture: a cluster, or the clusters of a fleet one below the other.
pub fn draw_picture(views: &[View]) -> Frame {
    let clusters = views.iter().map(draw_cluster).collect();
    let mut parts = vec![stack_frames(clusters, 2.0 * MARGIN)];
    parts.extend(legend::draw_legend(&parts));
    let all = stack_frames(parts, MARGIN);
    let mut page = Frame::with_role(Role::Background, WIDTH, all.h() + 2.0 * MARGIN).round(12.0);
    page.add_frame(all, MARGIN, MARGIN);
    page
}

fn draw_cluster(view: &View) -> Frame {
    let parts = [
        Some(header::draw_header(view)),
        Some(draw_section("Node pools", pools::draw_pools(view))),
        teams::draw_teams(view).map(|it| draw_section("Teams", it)),
        quotas::draw_quotas(view).map(|it| draw_section("Quotas and capacity", it)),
        install_order::draw_install_order(view).map(|it| draw_section("Install order", it)),
    ];
    stack_frames(parts.into_iter().flatten().collect(), 24.0)
}

fn draw_section(heading: &str, content: Frame) -> Frame {
    let mut head = Frame::group(INNER_WIDTH, 18.0);
    head.add_text(
        Text::new(heading, HEADING, Ink::Soft, INNER_WIDTH).positioned(0.0, 14.0, Anchor::Start),
    );
    stack_frames(vec![head, content], 8.0)
}
