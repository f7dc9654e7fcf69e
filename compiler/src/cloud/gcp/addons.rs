//! Add-ons of GKE that mount volumes. None is switched off where nothing asks for it: volumes may be left.

use gpuc_schema::Span;
use serde_json::json;

use super::cluster_fields::{FILESTORE, FUSE};
use super::place::Place;
use super::setting::Setting;
use super::{created, storage};
use crate::check::Checked;
use crate::plan::{FieldKind, IdentityCheck};

/// An add-on.
struct Addon {
    /// As gcloud calls it.
    name: &'static str,
    /// What it is, for people.
    what: &'static str,
    /// Where a cluster shows it.
    shown: &'static str,
    /// The field of the cluster.
    field: &'static FieldKind,
}

static ADDONS: [Addon; 2] = [
    Addon {
        name: storage::FILESTORE,
        what: "Filestore's driver in the GKE cluster",
        shown: "addonsConfig.gcpFilestoreCsiDriverConfig.enabled",
        field: &FILESTORE,
    },
    Addon {
        name: storage::FUSE,
        what: "Cloud Storage's driver in the GKE cluster",
        shown: "addonsConfig.gcsFuseCsiDriverConfig.enabled",
        field: &FUSE,
    },
];

/// What GKE switches on when nobody names an add-on.
///
/// Source: gcloud container clusters create --help (`--addons`), Google Cloud SDK 528.0.0.
const DEFAULTS: [&str; 3] = [
    "GcePersistentDiskCsiDriver",
    "HorizontalPodAutoscaling",
    "HttpLoadBalancing",
];

/// The add-ons that the file asks for, each with a place that it follows from.
fn wanted(cluster: Checked<'_>) -> Vec<(&'static Addon, Span)> {
    let asked = storage::STORAGE.addons(&cluster.written);
    let wanted = ADDONS.iter().filter_map(|addon| {
        let spans = asked.get(addon.name)?;
        Some((addon, spans.first().copied().unwrap_or(Span::NONE)))
    });
    wanted.collect()
}

/// Nobody but the owner of a cluster switches its add-ons on.
pub(super) fn of_others(cluster: Checked<'_>, place: Place<'_>) -> Vec<IdentityCheck> {
    if created(&cluster.written).is_some() {
        return Vec::new();
    }
    let check = |(addon, _): (&Addon, Span)| IdentityCheck {
        is_place: false,
        what: addon.what,
        ask: (place.cluster("describe")).with([format!("--format=value({})", addon.shown)]),
        want: "True".to_owned(),
        otherwise: format!(
            "switch it on: gcloud container clusters update {} --update-addons={}=ENABLED",
            place.cluster, addon.name
        ),
    };
    wanted(cluster).into_iter().map(check).collect()
}

/// The fields of a cluster that gpuc makes. The flag of creation names every add-on there shall be, so that it stands
/// once, and GKE's own defaults are in it too.
pub(super) fn settings(cluster: Checked<'_>, place: Place<'_>) -> Vec<Setting> {
    let wanted = wanted(cluster);
    let mut names: Vec<_> = wanted.iter().map(|(addon, _)| addon.name).collect();
    names.extend(DEFAULTS);
    names.sort_unstable();
    let mut flag = Some(format!("--addons={}", names.join(",")));
    let setting = |(addon, span): (&'static Addon, Span)| {
        let update = format!("--update-addons={}=ENABLED", addon.name);
        Setting::new(addon.field, json!(true), span)
            .flags(flag.take())
            .update(place.cluster("update").with([update]))
    };
    wanted.into_iter().map(setting).collect()
}
