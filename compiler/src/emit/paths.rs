//! Where in a tree the parts of a plan stand.

use super::{helm, manifest, name};
use crate::plan::{Object, Release};

/// The file of each object, in their order.
pub fn objects(objects: &[Object]) -> Vec<String> {
    let files = objects.iter().zip(manifest::files(objects));
    let path = |(object, file): (&Object, String)| {
        let component = name::part(&object.component);
        format!("{}/{component}/{file}", manifest::FOLDER)
    };
    files.map(path).collect()
}

/// The values of a release, where they have a file of their own.
pub fn values(release: &Release) -> String {
    helm::values_path(release)
}

/// The file of an object of the tool that brings the tree, whose objects stand in this folder.
pub fn sync(folder: &str, object: &Object) -> String {
    let kind = object.identity.kind.to_lowercase();
    let file = format!("{kind}-{}.yaml", name::part(&object.identity.name));
    match object.component.as_str() {
        "" => format!("{folder}/{file}"),
        component => format!("{folder}/{}/{file}", name::part(component)),
    }
}
