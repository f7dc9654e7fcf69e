//! Index of the emitted files: which part of the plan each file contains.

use std::collections::BTreeMap;

use gpuc_model::plan::{Contents, Delivery, File, Object, Plan, Release, ResourceKind};

use super::header::Header;
use super::script::{self, Segments};
use super::{gitops, helm, manifest};

/// The contents of a file, as a part of the plan.
#[derive(Clone, Debug)]
pub enum FileContent<'p> {
    /// A Kubernetes object.
    Object(&'p Object),
    /// The values of a release.
    Values(&'p Release),
    /// A document or text for the cloud's command-line tools.
    File(&'p File),
    /// A script.
    Script(Segments<'p>),
    /// The shell functions that all scripts share.
    Library,
    /// The jq functions that read a kind of resource.
    Definitions(&'static ResourceKind),
    /// A kustomization, which lists the files and folders next to it.
    Kustomization,
    /// The README.
    Readme,
}

/// The contents of every file of a plan's tree, by path. `file` is the name of the input file, if it has one.
pub fn index_files<'p>(plan: &'p Plan, file: Option<&str>) -> BTreeMap<String, FileContent<'p>> {
    let header = Header::new(file);
    let mut shown = BTreeMap::new();
    shown.insert("README.md".to_owned(), FileContent::Readme);
    let scripts = script::scripts(plan, &header).into_iter();
    shown.extend(scripts.map(|(path, segments)| (path, FileContent::Script(segments))));
    shown.insert(script::LIBRARY_FILE.to_owned(), FileContent::Library);
    let definitions = script::definitions(plan).into_iter();
    shown.extend(definitions.map(|(path, kind)| (path, FileContent::Definitions(kind))));
    let files = plan.provisioning.files.iter();
    let data = files.filter(|file| !matches!(file.contents, Contents::Script(_)));
    shown.extend(data.map(|file| (script::file_path(file), FileContent::File(file))));
    let mut kustomized = Vec::new();
    for (path, object) in manifest::objects_with_paths(&plan.objects) {
        // The folder of all manifests, and the folder of the component.
        let folders = path.match_indices('/').take(2);
        kustomized.extend(folders.map(|(at, _)| path[..at].to_owned()));
        shown.insert(path, FileContent::Object(object));
    }
    match &plan.delivery {
        Delivery::Script => {
            for release in &plan.releases {
                shown.insert(helm::values_path(release), FileContent::Values(release));
            }
        }
        Delivery::Gitops {
            folder, objects, ..
        } => {
            for (path, object) in gitops::objects_with_paths(folder, objects) {
                kustomized.extend(path.rsplit_once('/').map(|(folder, _)| folder.to_owned()));
                shown.insert(path, FileContent::Object(object));
            }
            shown.insert(gitops::ROOT.to_owned(), FileContent::Kustomization);
        }
    }
    for folder in kustomized {
        shown.insert(
            format!("{folder}/kustomization.yaml"),
            FileContent::Kustomization,
        );
    }
    shown
}
