//! A plan to the files of a cluster: this part only prints.

mod gitops;
mod header;
mod helm;
mod manifest;
mod name;
mod readme;
mod script;
mod shown;

use crate::node::Node;
use crate::plan::{Delivery, Object, Plan, Release};
use crate::tree::Tree;
use crate::yaml::write::to_yaml;
use header::Header;

pub use script::{Doing, Part, Parts};
pub use shown::{Shown, shown};

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

/// The file of each object, by its path.
pub fn objects(plan: &Plan) -> impl Iterator<Item = (String, &Object)> {
    manifest::paths(&plan.objects)
}

/// The file of each object of the tool that brings the tree, by its path; none without one.
pub fn told(plan: &Plan) -> Vec<(String, &Object)> {
    match &plan.delivery {
        Delivery::Script => Vec::new(),
        Delivery::Gitops {
            folder, objects, ..
        } => gitops::paths(folder, objects).collect(),
    }
}

/// The file of a release's values, where they have one of their own.
pub fn values(release: &Release) -> String {
    helm::values_path(release)
}

/// A YAML file.
fn yaml_file(header: &Header, node: &Node) -> String {
    format!("{}{}", header.comment(), to_yaml(node))
}
