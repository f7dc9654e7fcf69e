//! Pictures of clusters: pools with their machines, GPUs and slices, who may use them, what is brought in what order.
//!
//! [`View`] is what there is to show, [`layout`] says where it lies as rectangles with text, and [`svg()`] and
//! [`html()`] write that down. [`mermaid()`] is a smaller picture, for where Markdown is.

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

/// Clusters as one SVG that needs nothing but itself.
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

/// Clusters as one page of HTML that needs nothing but itself: a picture and a table each.
pub fn html(views: &[View]) -> String {
    html::html(views)
}
