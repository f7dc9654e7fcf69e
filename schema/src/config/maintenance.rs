//! Maintenance windows for automatic upgrades by the cloud.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Spanned;

/// A maintenance window: when the cloud may upgrade the cluster and its nodes automatically.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Maintenance {
    /// The days of the week. AKS supports one day.
    #[schemars(length(min = 1), extend("examples" = [["saturday", "sunday"]]))]
    pub days: Vec<Spanned<Weekday>>,
    /// The start time, in UTC.
    #[schemars(regex(pattern = r"^([01][0-9]|2[0-3]):[0-5][0-9]$"), extend("examples" = ["02:00"]))]
    pub start: Spanned<String>,
    /// The length of the window in hours.
    #[schemars(range(min = 4, max = 24))]
    pub hours: Spanned<u32>,
}

/// Automatic upgrades that GKE omits, for example during a long training run.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MaintenanceExclusion {
    /// The upgrades that GKE omits.
    pub scope: Spanned<ExclusionScope>,
    /// The day on which the exclusion starts, at 00:00 UTC. Requires `end`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["2026-12-01"]))]
    pub start: Option<Spanned<String>>,
    /// The day on which the exclusion ends, at 00:00 UTC. Default: it lasts until GKE ends the support of the cluster's
    /// minor version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["2026-12-28"]))]
    pub end: Option<Spanned<String>>,
}

/// Upgrades that GKE omits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ExclusionScope {
    /// All automatic upgrades. Requires `start` and `end`.
    NoUpgrades,
    /// Upgrades to another minor version.
    NoMinorUpgrades,
    /// Upgrades to another minor version, and all upgrades of nodes: nodes are not recreated.
    NoMinorOrNodeUpgrades,
}

/// A day of the week.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub enum Weekday {
    /// Monday.
    Monday,
    /// Tuesday.
    Tuesday,
    /// Wednesday.
    Wednesday,
    /// Thursday.
    Thursday,
    /// Friday.
    Friday,
    /// Saturday.
    Saturday,
    /// Sunday.
    Sunday,
}
