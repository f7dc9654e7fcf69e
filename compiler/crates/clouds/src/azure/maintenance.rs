//! Maintenance windows for upgrades of a cluster: a schedule for Kubernetes, and one for node images.

use gpuc_model::Cluster;
use gpuc_model::plan::{Change, Field, FieldKind, Observation, Resource, ResourceKind};
use gpuc_schema::config::{AzureCreate, Maintenance, Weekday};
use gpuc_syntax::node::{DerivationReason, Origin};
use serde_json::json;

use super::az_command;

/// A maintenance schedule of AKS.
pub(super) static SCHEDULE: ResourceKind = ResourceKind {
    name: "AKS maintenance schedule",
    protection: None,
    fields: &[WINDOW],
    definitions: "",
    state: None,
    mark: None,
};

const WINDOW: FieldKind = FieldKind {
    name: "maintenance window",
    read: r#".maintenanceWindow // {} | {day: (.schedule.weekly.dayOfWeek // ""), every: (.schedule.weekly.intervalWeeks // 0),
        start: (.startTime // ""), hours: (.durationHours // 0), offset: (.utcOffset // "+00:00")}"#,
    create_flag: Some("--schedule-type"),
    change: Change::InPlace,
    source: "azure-cli 2.91.0, az aks maintenanceconfiguration; learn.microsoft.com/azure/aks/planned-maintenance, 2026-11-21",
};

/// The names that AKS requires for the two schedules.
const SCHEDULE_NAMES: [&str; 2] = [
    "aksManagedAutoUpgradeSchedule",
    "aksManagedNodeOSUpgradeSchedule",
];

/// Both schedules, if the file sets a maintenance window.
pub(super) fn resources(cluster: &Cluster, create: &AzureCreate) -> Vec<Resource> {
    let window = create.maintenance.as_ref();
    let schedules = window.map(|window| SCHEDULE_NAMES.map(|name| schedule(cluster, name, window)));
    schedules.into_iter().flatten().collect()
}

fn schedule(cluster: &Cluster, name: &str, window: &gpuc_schema::Spanned<Maintenance>) -> Resource {
    let az =
        |verb: &str| {
            az_command(&cluster.config, &["aks", "maintenanceconfiguration", verb])
                .with_arguments(["--cluster-name", &cluster.name, "--name", name])
        };
    // `aks-one-maintenance-day` rejects any other number of days.
    let day = window
        .days
        .first()
        .map_or("Monday", |day| day_name(day.value));
    let hours = window.hours.value;
    let set = |verb: &str| {
        az(verb)
            .with_arguments(["--schedule-type", "Weekly", "--interval-weeks", "1"])
            .with_arguments(["--day-of-week", day, "--start-time", &window.start])
            .with_arguments(["--duration", &hours.to_string(), "--utc-offset", "+00:00"])
            .with_arguments(["--output", "none"])
    };
    let origin = Origin::derived([window.span], DerivationReason::Written);
    let desired = json!({
        "day": day, "every": 1, "start": window.start.value, "hours": hours, "offset": "+00:00",
    });
    Resource {
        kind: &SCHEDULE,
        name: name.to_owned(),
        script: "cluster".to_owned(),
        description: format!(
            "Sets the maintenance window for automatic upgrades of AKS cluster {}.",
            cluster.name
        ),
        observation: Observation {
            command: az("show").with_arguments(["--output", "json"]),
            absent_pattern: "\\(((Parent)?Resource(Group)?)?NotFound\\)",
        },
        create: vec![set("add")],
        contents: None,
        manual_delete: Vec::new(),
        remnant: None,
        recovery: Vec::new(),
        created_with: None,
        fields: vec![Field {
            kind: &WINDOW,
            desired,
            update: vec![set("update")],
            lookup: None,
            is_set_after_creation: false,
            external_entries: None,
            origin: origin.clone(),
        }],
        // It is deleted together with its cluster.
        delete: Vec::new(),
        origin,
    }
}

/// Name of a day in the AKS API.
fn day_name(day: Weekday) -> &'static str {
    match day {
        Weekday::Monday => "Monday",
        Weekday::Tuesday => "Tuesday",
        Weekday::Wednesday => "Wednesday",
        Weekday::Thursday => "Thursday",
        Weekday::Friday => "Friday",
        Weekday::Saturday => "Saturday",
        Weekday::Sunday => "Sunday",
    }
}
