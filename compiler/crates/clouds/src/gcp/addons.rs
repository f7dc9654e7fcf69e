//! GKE add-ons that mount volumes. gpuc never disables an add-on, because volumes may remain.

use gpuc_model::check::Checked;
use gpuc_model::plan::{FieldKind, IdentityCheck};
use gpuc_schema::Span;
use serde_json::json;

use super::cluster_fields::{FILESTORE, FUSE};
use super::location::Target;
use super::setting::Setting;
use super::{create_section, storage};

/// A GKE add-on.
struct Addon {
    /// Its name in gcloud.
    name: &'static str,
    /// Its name in messages.
    title: &'static str,
    /// Path of its state in the description of a cluster.
    state_path: &'static str,
    /// The corresponding field of the cluster.
    field: &'static FieldKind,
}

static ADDONS: [Addon; 2] = [
    Addon {
        name: storage::FILESTORE,
        title: "Filestore CSI driver of the GKE cluster",
        state_path: "addonsConfig.gcpFilestoreCsiDriverConfig.enabled",
        field: &FILESTORE,
    },
    Addon {
        name: storage::FUSE,
        title: "Cloud Storage FUSE CSI driver of the GKE cluster",
        state_path: "addonsConfig.gcsFuseCsiDriverConfig.enabled",
        field: &FUSE,
    },
];

/// Add-ons that GKE enables by default.
///
/// Source: gcloud container clusters create --help (`--addons`), Google Cloud SDK 528.0.0.
const DEFAULT_ADDONS: [&str; 3] = [
    "GcePersistentDiskCsiDriver",
    "HorizontalPodAutoscaling",
    "HttpLoadBalancing",
];

/// The add-ons that the file requires, each with a location that requires it.
fn required_addons(cluster: Checked<'_>) -> Vec<(&'static Addon, Span)> {
    let spans_by_addon = storage::STORAGE.addons(&cluster.config);
    let required = ADDONS.iter().filter_map(|addon| {
        let spans = spans_by_addon.get(addon.name)?;
        Some((addon, spans.first().copied().unwrap_or(Span::NONE)))
    });
    required.collect()
}

/// Checks that an existing cluster has the add-ons: gpuc does not enable add-ons in clusters that it does not create.
pub(super) fn existing_cluster_checks(
    cluster: Checked<'_>,
    target: Target<'_>,
) -> Vec<IdentityCheck> {
    if create_section(&cluster.config).is_some() {
        return Vec::new();
    }
    let check = |(addon, _): (&Addon, Span)| IdentityCheck {
        is_location: false,
        subject: addon.title,
        query: (target.cluster_command("describe"))
            .with_arguments([format!("--format=value({})", addon.state_path)]),
        expected: "True".to_owned(),
        mismatch_message: format!(
            "enable it: gcloud container clusters update {} --update-addons={}=ENABLED",
            target.cluster, addon.name
        ),
    };
    required_addons(cluster).into_iter().map(check).collect()
}

/// The fields of a cluster that gpuc creates. The creation flag lists all add-ons once, including the defaults of GKE.
pub(super) fn addon_settings(cluster: Checked<'_>, target: Target<'_>) -> Vec<Setting> {
    let required = required_addons(cluster);
    let mut names: Vec<_> = required.iter().map(|(addon, _)| addon.name).collect();
    names.extend(DEFAULT_ADDONS);
    names.sort_unstable();
    let mut flag = Some(format!("--addons={}", names.join(",")));
    let setting = |(addon, span): (&'static Addon, Span)| {
        let update = format!("--update-addons={}=ENABLED", addon.name);
        Setting::new(addon.field, json!(true), span)
            .with_flags(flag.take())
            .with_update(target.cluster_command("update").with_arguments([update]))
    };
    required.into_iter().map(setting).collect()
}
