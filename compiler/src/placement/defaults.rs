//! What a container is given that does not say what it asks for.

use crate::model::Cluster;

use super::demand::Amount;

/// The `defaultRequest` of a namespace's `LimitRange`. The API server writes it into every container that says neither
/// what it asks for nor its limit: a limit alone is what a container asks for as well.
///
/// Source: kubernetes `plugin/pkg/admission/limitranger/admission.go`, `mergeContainerResources`, and
/// `pkg/apis/core/v1/defaults.go`, `SetDefaults_Pod`, which comes before it (from memory).
#[derive(Clone, Copy, Debug, Default)]
pub struct Defaults {
    /// CPU in thousandths of a core.
    pub cpu: Option<Amount>,
    /// Main memory in bytes.
    pub memory: Option<Amount>,
}

impl Defaults {
    /// What containers of a namespace are given. gpuc writes a `LimitRange` into those of teams.
    pub fn of(cluster: &Cluster, namespace: &str) -> Self {
        let Some((team, _)) = cluster.team_of(namespace) else {
            return Self::default();
        };
        let given = &team.default_request;
        let amount = |written: Option<&_>, unit| Amount::of(written, unit, true);
        Self {
            cpu: amount(given.cpu.as_ref(), 1),
            memory: amount(given.memory.as_ref(), 1000),
        }
    }
}
