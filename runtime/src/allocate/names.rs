//! CDI device names for container runtimes.

use std::collections::BTreeMap;

use gpuc_schema::node_config::Extra;

use super::injected_components;
use crate::cdi;
use crate::device::{AdvertisedResource, PhysicalDevice};
use crate::state::State;

/// Returns the CDI names of all devices, GPUs first.
pub(super) fn qualified_names(
    state: &State,
    physical_devices: &[PhysicalDevice<'_>],
) -> Vec<String> {
    let mut names: Vec<_> = physical_devices
        .iter()
        .map(|physical_device| cdi::qualified_name(cdi::Class::Gpu, physical_device.uuid()))
        .collect();
    for (extra, _) in injected_components(state) {
        names.push(match extra {
            Extra::Gdrcopy => cdi::qualified_name(cdi::Class::Gdrcopy, cdi::ALL_DEVICES),
            Extra::Gds => cdi::qualified_name(cdi::Class::Gds, cdi::ALL_DEVICES),
            Extra::Mofed => cdi::qualified_name(cdi::Class::Mofed, cdi::ALL_DEVICES),
            Extra::Imex => cdi::qualified_name(cdi::Class::ImexChannel, "0"),
        });
    }
    names
}

/// Returns the annotation that names CDI devices. A container may get several, one for each resource, so the key must
/// be unique. NVIDIA's plugin uses a random number; here it is a digest of the names, so that the same request has the
/// same response.
pub(super) fn cdi_annotation(
    advertised: &AdvertisedResource,
    names: &[String],
) -> BTreeMap<String, String> {
    let names = names.join(",");
    let digest = digest([advertised.resource.as_str(), &names]);
    let key = format!("cdi.k8s.io/nvidia-device-plugin_{digest:032x}");
    BTreeMap::from([(key, names)])
}

/// FNV-1a with 128 bits (RFC 9923): it is not used for security, and it is the same on every machine.
fn digest<'t>(texts: impl IntoIterator<Item = &'t str>) -> u128 {
    const BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0100_0000_0000_0000_0000_013b;
    let step = |hash: u128, byte: u8| (hash ^ u128::from(byte)).wrapping_mul(PRIME);
    // A byte that no string contains separates the strings.
    let bytes = texts
        .into_iter()
        .flat_map(|text| text.bytes().chain([0xff]));
    bytes.fold(BASIS, step)
}
