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
    let devices: Vec<_> = advertised
        .devices
        .iter()
        .filter(|device| requested.remove(device.id.as_str()))
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
    if advertised.replicas > 1 && devices.len() > 1 && refuses_more_than_one(&state.config.sharing)
    {
        return Err(AllocationError::TooMany {
            resource: resource(),
            requested: devices.len(),
        });
    }
    let unhealthy: Vec<_> = devices
        .iter()
        .filter_map(|device| Some((device.id.clone(), unusable_reason(state, device)?)))
        .collect();
    if !unhealthy.is_empty() {
        return Err(AllocationError::Unhealthy {
            resource: resource(),
            ids: unhealthy,
        });
    }
    Ok(devices)
}

/// Returns why a device must not be used: it is unhealthy, or its GPU does not respond, even if its health is not
/// updated yet.
fn unusable_reason(state: &State, device: &KubeletDevice) -> Option<String> {
    if let Some(reason) = state.unhealthy_reason(device) {
        return Some(reason.to_owned());
    }
    match state.inventory.gpu(device.gpu) {
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
    devices: &[&KubeletDevice],
) -> Result<Vec<PhysicalDevice<'s>>, AllocationError> {
    let mut seen = BTreeSet::new();
    let (mut physical_devices, mut missing) = (Vec::new(), Vec::new());
    for device in devices {
        if !seen.insert(device.physical_device.as_str()) {
            continue;
        }
        match state.inventory.physical_device(&device.physical_device) {
            Some(physical_device) => physical_devices.push(physical_device),
            None => missing.push(device.id.clone()),
        }
    }
    if missing.is_empty() {
        return Ok(physical_devices);
    }
    Err(AllocationError::Unknown {
        resource: advertised.resource.clone(),
        ids: missing,
    })
}
