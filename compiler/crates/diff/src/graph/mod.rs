//! Pictures of clusters: pools with machines, GPUs and MIG devices, quotas of teams, and the install order.
//!
//! [`View`] is the content, [`layout`] arranges it as rectangles with text, and [`svg()`] and [`html()`] render it.
//! [`mermaid()`] renders a smaller picture for Markdown.

mod description;
mod html;
pub mod layout;
pub mod measure;
mod mermaid;
pub mod palette;
pub mod scene;
mod svg;
mod view;

pub use mermaid::{MAX_MERMAID_LENGTH, cluster_mermaid, mermaid};
pub use view::{
    AdvertisedView, GpuRun, MigDevice, NodeGpus, Partitioning, PlacedWorkload, PoolView, StepView,
    TeamView, View,
};

/// Clusters as one self-contained SVG.
pub fn svg(views: &[View]) -> String {
    let names: Vec<_> = views
        .iter()
        .take(20)
        .map(|view| view.name.as_str())
        .collect();
    let descriptions = views.iter().take(20).map(description::describe_view);
    let descriptions: Vec<_> = descriptions.collect();
    svg::svg(
        &layout::draw_picture(views),
        "gpuc",
        &format!("GPU cluster {}", names.join(", ")),
        &descriptions.join(" "),
    )
}

/// Clusters as one self-contained HTML page: a picture and a table each.
pub fn html(views: &[View]) -> String {
    html::html(views)
}
