//! Default resource requests of containers that set none.

use crate::{Cluster, Quantity};

use super::demand::Amount;

/// The `defaultRequest` of a namespace's LimitRange. The API server adds it to every container that sets neither a
/// request nor a limit: a limit without a request is also the request.
///
/// Source: kubernetes `plugin/pkg/admission/limitranger/admission.go`, `mergeContainerResources`, and
/// `pkg/apis/core/v1/defaults.go`, `SetDefaults_Pod`, which comes before it (from memory).
#[derive(Clone, Copy, Debug, Default)]
pub struct DefaultRequests {
    /// CPU in thousandths of a core.
    pub cpu: Option<Amount>,
    /// Main memory in bytes.
    pub memory: Option<Amount>,
}

impl DefaultRequests {
    /// The defaults of a namespace. gpuc creates a LimitRange in the namespaces of teams.
    pub fn for_namespace(cluster: &Cluster, namespace: &str) -> Self {
        let Some((team, _)) = cluster.team_of_namespace(namespace) else {
            return Self::default();
        };
        let defaults = &team.default_request;
        let amount = |quantity: Option<&Quantity>, unit| {
            let quantity = quantity?;
            let thousandths = quantity.thousandths()?;
            Some(Amount::new(thousandths, unit, quantity.span, true))
        };
        Self {
            cpu: amount(defaults.cpu.as_ref(), 1),
            memory: amount(defaults.memory.as_ref(), 1000),
        }
    }
}
