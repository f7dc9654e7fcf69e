//! The layout: arranges the content as rectangles with text.
//!
//! `picture.rs` combines the sections, one per file; `arrangement.rs` and `dimensions.rs` are shared by all of them.

mod arrangement;
mod chips;
mod dimensions;
mod header;
mod install_order;
mod layers;
mod legend;
mod node_gpus;
mod picture;
mod pools;
mod quotas;
mod teams;

pub use dimensions::WIDTH;
pub use picture::draw_picture;
