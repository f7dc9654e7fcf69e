//! Pictures of clusters: pools with machines, GPUs and MIG devices, quotas of teams, and the install order.
//!
//! [`View`] is the content, [`layout`] arranges it as rectangles with text, and [`svg()`] and [`html()`] render it.
//! [`mermaid()`] renders a smaller picture for Markdown.

mod html;
pub mod layout;
pub mod measure;
mod mermaid;
pub mod palette;
pub mod scene;
mod svg;
mod view;
mod words;

pub use mermaid::{MERMAID_MOST, mermaid, mermaid_of};
pub use view::{Card, Cards, Cut, OfferView, Placed, PoolView, Slice, StepView, TeamView, View};

/// Clusters as one self-contained SVG.
pub fn svg(views: &[View]) -> String {
    let names: Vec<_> = views
        .iter()
        .take(20)
        .map(|view| view.name.as_str())
        .collect();
    let descriptions = views.iter().take(20).map(words::description);
    let descriptions: Vec<_> = descriptions.collect();
    svg::svg(
        &layout::picture(views),
        "gpuc",
        &format!("GPU cluster {}", names.join(", ")),
        &descriptions.join(" "),
    )
}

/// Clusters as one self-contained HTML page: a picture and a table each.
pub fn html(views: &[View]) -> String {
    html::html(views)
}
