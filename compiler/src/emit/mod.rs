//! A plan to the files of a cluster: this part only prints.
use crate::{plan::Plan, tree::Tree};
/// x
pub fn emit(_: &Plan) -> Tree {
    Tree::default()
}
