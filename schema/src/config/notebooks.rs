//! `notebooks`: notebooks for people.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Quantity;
use crate::Spanned;

/// Notebooks for people.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Notebooks {
    /// `JupyterHub`, by the Zero to `JupyterHub` chart.
    JupyterHub(JupyterHub),
}

/// `JupyterHub`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct JupyterHub {
    /// What people choose from when they start a notebook.
    #[schemars(length(min = 1))]
    pub profiles: Vec<Spanned<NotebookProfile>>,
}

/// One choice of notebook.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NotebookProfile {
    /// What people see.
    pub name: Spanned<String>,
    /// The pool. Default: every pool that can hold it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<Spanned<String>>,
    /// How many GPUs or shares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpus: Option<Spanned<u32>>,
    /// The MIG profile, on a pool with strategy `mixed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Spanned<String>>,
    /// CPU cores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<Spanned<Quantity>>,
    /// Main memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Spanned<Quantity>>,
}
