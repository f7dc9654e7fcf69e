//! `teams`: who may use how much.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Quantity;
use crate::Spanned;

/// People who share namespaces and a quota.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Team {
    /// The team's name.
    #[schemars(extend("examples" = ["research"]))]
    pub name: Spanned<String>,
    /// The team's namespaces. Default: one called like the team.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<Spanned<String>>,
    /// Who belongs to the team.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<Spanned<Member>>,
    /// How much the team may use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota: Option<Quota>,
}

/// Somebody who belongs to a team, as the API server knows them.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Member {
    /// A group.
    Group(Spanned<String>),
    /// A user.
    User(Spanned<String>),
}

/// How much a team may use, over all of its namespaces.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Quota {
    /// GPUs, slices and shares.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gpus: Vec<Spanned<GpuQuota>>,
    /// CPU cores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<Spanned<Quantity>>,
    /// Main memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Spanned<Quantity>>,
}

/// How much of a pool's GPUs a team may use.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GpuQuota {
    /// The pool.
    pub pool: Spanned<String>,
    /// The MIG profile, on a pool with strategy `mixed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Spanned<String>>,
    /// GPUs or slices that the team has for sure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guaranteed: Option<Spanned<u32>>,
    /// GPUs or slices that the team may have when others leave them idle. Default: `guaranteed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Spanned<u32>>,
    /// Shares, on a pool with time-slicing or MPS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shares: Option<Spanned<u32>>,
}
