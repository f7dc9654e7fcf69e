//! Validates the requests of the kubelet.

use std::collections::BTreeSet;

use gpuc_schema::node_config::NodeSharing;

use super::Refusal;
use crate::device::{Gpu, Offer, Part, Share};
use crate::state::State;

/// Returns the requested devices in the order of the resource, regardless of the request.
pub(super) fn check<'o>(
    state: &State,
    offer: &'o Offer,
    ids: &[String],
) -> Result<Vec<&'o Share>, Refusal> {
    let resource = || offer.resource.clone();
    if ids.is_empty() {
        return Err(Refusal::Empty {
            resource: resource(),
        });
    }
    let mut wanted = BTreeSet::new();
    let repeated: Vec<_> = ids
        .iter()
        .filter(|id| !wanted.insert(id.as_str()))
        .collect();
    let shares: Vec<_> = offer
        .shares
        .iter()
        .filter(|share| wanted.remove(share.id.as_str()))
        .collect();
    if !wanted.is_empty() {
        return Err(Refusal::Unknown {
            resource: resource(),
            ids: wanted.into_iter().map(str::to_owned).collect(),
        });
    }
    if !repeated.is_empty() {
        return Err(Refusal::Repeated {
            resource: resource(),
            ids: repeated.into_iter().cloned().collect(),
        });
    }
    if offer.replicas > 1 && shares.len() > 1 && refuses_more_than_one(&state.config.sharing) {
        return Err(Refusal::MoreThanOne {
            resource: resource(),
            asked: shares.len(),
        });
    }
    let unhealthy: Vec<_> = shares
        .iter()
        .filter_map(|share| Some((share.id.clone(), trouble(state, share)?)))
        .collect();
    if !unhealthy.is_empty() {
        return Err(Refusal::Unhealthy {
            resource: resource(),
            ids: unhealthy,
        });
    }
    Ok(shares)
}

/// Returns why a device must not be used: it is unhealthy, or its GPU does not respond, even if its health is not
/// updated yet.
fn trouble(state: &State, share: &Share) -> Option<String> {
    if let Some(reason) = state.trouble(share) {
        return Some(reason.to_owned());
    }
    match state.inventory.gpu(share.gpu) {
        Some(Gpu::Silent { error, .. }) => Some(error.to_string()),
        Some(Gpu::Known { .. }) => None,
        None => Some("the GPU is no longer present".to_owned()),
    }
}

fn refuses_more_than_one(sharing: &NodeSharing) -> bool {
    match sharing {
        NodeSharing::TimeSlicing {
            refuse_more_than_one,
            ..
        }
        | NodeSharing::Mps {
            refuse_more_than_one,
            ..
        } => *refuse_more_than_one,
        NodeSharing::Exclusive | NodeSharing::Mig { .. } => false,
    }
}

/// Returns the GPUs and MIG devices of these devices, without duplicates.
pub(super) fn parts<'s>(
    state: &'s State,
    offer: &Offer,
    shares: &[&Share],
) -> Result<Vec<Part<'s>>, Refusal> {
    let mut seen = BTreeSet::new();
    let (mut parts, mut gone) = (Vec::new(), Vec::new());
    for share in shares {
        if !seen.insert(share.part.as_str()) {
            continue;
        }
        match state.inventory.part(&share.part) {
            Some(part) => parts.push(part),
            None => gone.push(share.id.clone()),
        }
    }
    if gone.is_empty() {
        return Ok(parts);
    }
    Err(Refusal::Unknown {
        resource: offer.resource.clone(),
        ids: gone,
    })
}
