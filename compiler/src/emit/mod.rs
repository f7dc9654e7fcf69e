//! A plan to the files of a cluster: this part only prints.

mod gitops;
mod header;
mod helm;
mod manifest;
mod name;
pub mod paths;
mod readme;
mod script;

use crate::node::Node;
use crate::plan::{Delivery, Plan};
use crate::tree::Tree;
use crate::yaml::write::to_yaml;
use header::Header;

/// The files of a cluster, by their path below the cluster's folder. `file` is the name of the file that the cluster
/// stands in, if it has one.
pub fn emit(plan: &Plan, file: Option<&str>) -> Tree {
    let header = Header::new(file);
    let mut tree = Tree::default();
    tree.add("README.md", readme::readme(plan, &header));
    script::emit(plan, &header, &mut tree);
    manifest::emit(&plan.objects, &header, &mut tree);
    match &plan.delivery {
        Delivery::Script => helm::emit(&plan.releases, &header, &mut tree),
        // The values stand in the objects: a file of values is no manifest, and a folder that is synced has no place
        // for it.
        Delivery::Gitops {
            folder, objects, ..
        } => gitops::emit(folder, objects, &header, &mut tree),
    }
    tree
}

/// A YAML file.
fn yaml_file(header: &Header, node: &Node) -> String {
    format!("{}{}", header.comment(), to_yaml(node))
}
