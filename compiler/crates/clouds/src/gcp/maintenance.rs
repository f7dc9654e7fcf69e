//! Maintenance windows of a cluster.

use gpuc_model::Cluster;
use gpuc_model::plan::{Argument, Command};
use gpuc_schema::Span;
use gpuc_schema::config::{ExclusionScope, GcpCreate, Maintenance, MaintenanceExclusion, Weekday};
use serde_json::{Value, json};

use super::location::Target;
use super::setting::Setting;
use super::{cluster_fields as kinds, create_section};

/// The maintenance window of a cluster, or its removal.
pub(super) fn maintenance_setting(create: &GcpCreate, target: Target<'_>) -> Setting {
    let Some(maintenance) = &create.maintenance else {
        let clear = target
            .cluster_command("update")
            .with_arguments(["--clear-maintenance-window"]);
        return Setting::new(&kinds::MAINTENANCE, Value::Null, Span::NONE)
            .with_update(clear)
            .with_external(kinds::OTHER_MAINTENANCE);
    };
    let window = Window::new(maintenance);
    let flags = [
        format!("--maintenance-window-start={}", window.start),
        format!("--maintenance-window-end={}", window.end),
        format!("--maintenance-window-recurrence={}", window.recurrence),
    ];
    let desired = json!({
        "start": window.start, "end": window.end, "recurrence": window.recurrence,
    });
    Setting::new(&kinds::MAINTENANCE, desired, maintenance.span)
        .with_flags(flags.clone())
        .with_update(target.cluster_command("update").with_arguments(flags))
}

/// The exclusion of automatic upgrades, or its removal. GKE has no flag for it at creation.
pub(super) fn exclusion_setting(create: &GcpCreate, target: Target<'_>) -> Setting {
    let update = || target.cluster_command("update");
    // The flag refuses an exclusion whose name exists.
    let remove = update()
        .with_arguments(["--remove-maintenance-exclusion"])
        .with_argument(Argument::ObservedOptional(kinds::EXCLUSION_NAME.to_owned()));
    let Some(exclusion) = &create.maintenance_exclusion else {
        return Setting::new(&kinds::MAINTENANCE_EXCLUSION, Value::Null, Span::NONE)
            .with_update(remove);
    };
    let desired = exclusion_value(exclusion);
    Setting::new(&kinds::MAINTENANCE_EXCLUSION, desired, exclusion.span)
        .with_update(remove)
        .with_update(update().with_arguments(exclusion_flags(exclusion)))
}

/// The command that adds the exclusion after the cluster was created.
pub(super) fn add_exclusion(create: &GcpCreate, target: Target<'_>) -> Option<Command> {
    let exclusion = create.maintenance_exclusion.as_ref()?;
    let update = target.cluster_command("update");
    Some(update.with_arguments(exclusion_flags(exclusion)))
}

fn exclusion_flags(exclusion: &MaintenanceExclusion) -> Vec<String> {
    let mut flags = vec![
        "--add-maintenance-exclusion-name=gpuc".to_owned(),
        format!(
            "--add-maintenance-exclusion-scope={}",
            scope_name(exclusion)
        ),
    ];
    match period(exclusion) {
        Some((start, end)) => flags.extend([
            format!("--add-maintenance-exclusion-start={start}"),
            format!("--add-maintenance-exclusion-end={end}"),
        ]),
        None => flags.push("--add-maintenance-exclusion-until-end-of-support".to_owned()),
    }
    flags
}

fn exclusion_value(exclusion: &MaintenanceExclusion) -> Value {
    let scope = scope_name(exclusion);
    match period(exclusion) {
        Some((start, end)) => json!({"scope": scope, "start": start, "end": end}),
        None => json!({"scope": scope}),
    }
}

/// The start and the end, if the exclusion has them.
fn period(exclusion: &MaintenanceExclusion) -> Option<(String, String)> {
    let (start, end) = exclusion.start.as_ref().zip(exclusion.end.as_ref())?;
    Some((format!("{start}T00:00:00Z"), format!("{end}T00:00:00Z")))
}

/// The scope in the words of gcloud.
fn scope_name(exclusion: &MaintenanceExclusion) -> &'static str {
    match exclusion.scope.value {
        ExclusionScope::NoUpgrades => "no_upgrades",
        ExclusionScope::NoMinorUpgrades => "no_minor_upgrades",
        ExclusionScope::NoMinorOrNodeUpgrades => "no_minor_or_node_upgrades",
    }
}

/// What upgrades the node images of a cluster that gpuc creates.
pub(super) fn node_image_notes(cluster: &Cluster) -> Vec<String> {
    let Some(create) = create_section(&cluster.config) else {
        return Vec::new();
    };
    let scope = create.maintenance_exclusion.as_ref();
    let when = match (&create.maintenance, scope.map(|it| it.scope.value)) {
        (_, Some(ExclusionScope::NoUpgrades | ExclusionScope::NoMinorOrNodeUpgrades)) => {
            ", except during the maintenance exclusion"
        }
        (Some(_), _) => ", in the maintenance window",
        (None, _) => ", at any time",
    };
    vec![format!(
        "Node images: GKE upgrades them automatically{when}."
    )]
}

/// A window in the format of GKE: its first occurrence and its recurrence.
struct Window {
    start: String,
    end: String,
    recurrence: String,
}

impl Window {
    /// The first occurrence is in the week of Monday, January 6, 2025. GKE uses only its weekday and time; by the week,
    /// the scripts recognize the windows that they set.
    fn new(maintenance: &Maintenance) -> Self {
        let mut days: Vec<_> = maintenance.days.iter().map(|day| day.value).collect();
        days.sort_unstable();
        days.dedup();
        let first = days.first().copied().unwrap_or(Weekday::Monday);
        let date = 6 + first as u32;
        let (hour, minute) = maintenance.start.split_once(':').unwrap_or(("00", "00"));
        let hour: u32 = hour.parse().unwrap_or_default();
        let end = hour + maintenance.hours.value;
        let moment = |hours: u32| {
            format!(
                "2025-01-{:02}T{:02}:{minute}:00Z",
                date + hours / 24,
                hours % 24
            )
        };
        let days: Vec<_> = days.into_iter().map(day_code).collect();
        Self {
            start: moment(hour),
            end: moment(end),
            recurrence: format!("FREQ=WEEKLY;BYDAY={}", days.join(",")),
        }
    }
}

/// Code of a day in RFC 5545.
fn day_code(day: Weekday) -> &'static str {
    match day {
        Weekday::Monday => "MO",
        Weekday::Tuesday => "TU",
        Weekday::Wednesday => "WE",
        Weekday::Thursday => "TH",
        Weekday::Friday => "FR",
        Weekday::Saturday => "SA",
        Weekday::Sunday => "SU",
    }
}

#[cfg(test)]
mod tests {
    use gpuc_schema::Spanned;

    use super::*;

    #[test]
    fn window_can_end_on_the_next_day() {
        let window = Window::new(&Maintenance {
            days: vec![
                Spanned::without_span(Weekday::Sunday),
                Spanned::without_span(Weekday::Saturday),
            ],
            start: Spanned::without_span("22:30".to_owned()),
            hours: Spanned::without_span(6),
        });
        // January 11, 2025 was a Saturday.
        assert_eq!(window.start, "2025-01-11T22:30:00Z");
        assert_eq!(window.end, "2025-01-12T04:30:00Z");
        assert_eq!(window.recurrence, "FREQ=WEEKLY;BYDAY=SA,SU");
    }
}
