//! Strings that must not be empty.

use super::ObjectContext;
use super::field_path::Step;
use super::scalar::{Read, get, read};
use super::types::fields;

/// Required strings, for which an empty string counts as missing, by type and field.
///
/// Source: kubernetes `pkg/apis/core/validation/validation.go` (`field.Required` in `ValidateEnv`,
/// `validateHostPathVolumeSource`, `validateNFSVolumeSource`, `ValidateVolumeMounts`, `ValidateVolumeDevices`,
/// `validateKeyToPath`, `validateDownwardAPIVolumeFile`, `validateProjectionSources`, `validateCSIVolumeSource`,
/// `validatePodAffinityTerm`, `ValidateTopologyKeyField`), `ValidateRuntimeClassName`.
const TEXTS: &[(&str, &str)] = &[
    ("CSIVolumeSource", "driver"),
    ("DownwardAPIVolumeFile", "path"),
    ("EnvVar", "name"),
    ("HostPathVolumeSource", "path"),
    ("KeyToPath", "key"),
    ("KeyToPath", "path"),
    ("NFSVolumeSource", "path"),
    ("NFSVolumeSource", "server"),
    ("PodAffinityTerm", "topologyKey"),
    ("PodSpec", "runtimeClassName"),
    ("ServiceAccountTokenProjection", "path"),
    ("TopologySpreadConstraint", "topologyKey"),
    ("VolumeDevice", "devicePath"),
    ("VolumeMount", "mountPath"),
];

pub(super) fn validate(ctx: &mut ObjectContext<'_, '_>) {
    let name = ctx.name;
    let own = TEXTS.iter().filter(|it| it.0 == name).map(|it| it.1);
    let of_custom = fields(name).iter().filter(|it| it.limits.is_filled);
    for field in own.chain(of_custom.map(|it| it.name)) {
        let is_empty = get(ctx.node, field).is_some_and(|value| match read(value) {
            Read::Mapping => ctx.is_whole && value.entries().is_empty(),
            Read::List => value.items().is_empty(),
            Read::Text(text) => text.is_empty(),
            _ => false,
        });
        if is_empty {
            ctx.refuse(
                [Step::from(field)],
                |path| format!("`{path}` is empty"),
                "write a value, or remove it",
            );
        }
    }
}
