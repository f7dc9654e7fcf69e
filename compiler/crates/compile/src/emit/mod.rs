//! Emits the files of a cluster from its plan. This module only formats; it makes no decisions.

pub mod file_index;
mod gitops;
mod header;
mod helm;
mod manifest;
mod name;
mod readme;
mod script;

use gpuc_model::plan::{Delivery, Object, Plan, Release};
use gpuc_syntax::node::Node;
use gpuc_syntax::tree::Tree;
use gpuc_syntax::yaml::write::to_yaml;

use header::Header;

pub use file_index::{FileContent, index_files};
pub use script::{Operation, Segment, Segments, has_apply, has_install};

/// The files of a cluster, by path relative to the cluster's folder. `file` is the name of the input file, if it has
/// one.
pub fn emit(plan: &Plan, file: Option<&str>) -> Tree {
    let header = Header::new(file);
    let mut tree = Tree::default();
    tree.add("README.md", readme::readme(plan, &header));
    script::emit(plan, &header, &mut tree);
    manifest::emit(&plan.objects, &header, &mut tree);
    match &plan.delivery {
        Delivery::Script => helm::emit(&plan.releases, &header, &mut tree),
        // The objects contain the values: a values file is not a manifest, so it must not be in a synced folder.
        Delivery::Gitops {
            folder, objects, ..
        } => gitops::emit(folder, objects, &header, &mut tree),
    }
    tree
}

/// Every object with the path of its file.
pub fn objects_with_paths(plan: &Plan) -> impl Iterator<Item = (String, &Object)> {
    manifest::objects_with_paths(&plan.objects)
}

/// The objects of the GitOps controller that deploys the tree, each with the path of its file; empty without one.
pub fn controller_objects(plan: &Plan) -> Vec<(String, &Object)> {
    match &plan.delivery {
        Delivery::Script => Vec::new(),
        Delivery::Gitops {
            folder, objects, ..
        } => gitops::objects_with_paths(folder, objects).collect(),
    }
}

/// The path of a release's values file, if the values have a file of their own.
pub fn values_path(release: &Release) -> String {
    helm::values_path(release)
}

/// The contents of a YAML file with the header comment.
fn yaml_file(header: &Header, node: &Node) -> String {
    format!("{}{}", header.as_comment(), to_yaml(node))
}
