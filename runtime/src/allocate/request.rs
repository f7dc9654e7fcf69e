//! Validates the requests of the kubelet.

use std::collections::BTreeSet;

use gpuc_schema::node_config::NodeSharing;

use super::AllocationError;
use crate::device::{AdvertisedResource, Gpu, KubeletDevice, PhysicalDevice};
use crate::state::State;

/// Returns the requested devices in the order of the resource, regardless of the request.
pub(super) fn validate_request<'o>(
    state: &State,
    advertised: &'o AdvertisedResource,
    ids: &[String],
) -> Result<Vec<&'o KubeletDevice>, AllocationError> {
    let resource = || advertised.resource.clone();
    if ids.is_empty() {
        return Err(AllocationError::Empty {
            resource: resource(),
        });
    }
    let mut requested = BTreeSet::new();
    let repeated: Vec<_> = ids
        .iter()
        .filter(|id| !requested.insert(id.as_str()))
        .collect();
    let shares: Vec<_> = advertised
        .shares
        .iter()
        .filter(|share| requested.remove(share.id.as_str()))
        .collect();
    if !requested.is_empty() {
        return Err(AllocationError::Unknown {
            resource: resource(),
            ids: requested.into_iter().map(str::to_owned).collect(),
        });
    }
    if !repeated.is_empty() {
        return Err(AllocationError::Duplicate {
            resource: resource(),
            ids: repeated.into_iter().cloned().collect(),
        });
    }
    if advertised.replicas > 1 && shares.len() > 1 && refuses_more_than_one(&state.config.sharing) {
        return Err(AllocationError::TooMany {
            resource: resource(),
            asked: shares.len(),
        });
    }
    let unhealthy: Vec<_> = shares
        .iter()
        .filter_map(|share| Some((share.id.clone(), unusable_reason(state, share)?)))
        .collect();
    if !unhealthy.is_empty() {
        return Err(AllocationError::Unhealthy {
            resource: resource(),
            ids: unhealthy,
        });
    }
    Ok(shares)
}

/// Returns why a device must not be used: it is unhealthy, or its GPU does not respond, even if its health is not
/// updated yet.
fn unusable_reason(state: &State, share: &KubeletDevice) -> Option<String> {
    if let Some(reason) = state.unhealthy_reason(share) {
        return Some(reason.to_owned());
    }
    match state.inventory.gpu(share.gpu) {
        Some(Gpu::Unresponsive { error, .. }) => Some(error.to_string()),
        Some(Gpu::Responding { .. }) => None,
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
pub(super) fn physical_devices<'s>(
    state: &'s State,
    advertised: &AdvertisedResource,
    shares: &[&KubeletDevice],
) -> Result<Vec<PhysicalDevice<'s>>, AllocationError> {
    let mut seen = BTreeSet::new();
    let (mut parts, mut gone) = (Vec::new(), Vec::new());
    for share in shares {
        if !seen.insert(share.part.as_str()) {
            continue;
        }
        match state.inventory.physical_device(&share.part) {
            Some(part) => parts.push(part),
            None => gone.push(share.id.clone()),
        }
    }
    if gone.is_empty() {
        return Ok(parts);
    }
    Err(AllocationError::Unknown {
        resource: advertised.resource.clone(),
        ids: gone,
    })
}
