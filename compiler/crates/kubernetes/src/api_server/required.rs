//! Strings that must not be empty.

use super::ObjectContext;
use super::field_path::Step;
use super::scalar::{ParsedValue, get_non_null, parse_value};
use super::types::fields_of_type;

/// Required strings, for which an empty string counts as missing, by type and field.
///
/// Source: kubernetes `pkg/apis/core/validation/validation.go` (`field.Required` in `ValidateEnv`,
/// `validateHostPathVolumeSource`, `validateNFSVolumeSource`, `ValidateVolumeMounts`, `ValidateVolumeDevices`,
/// `validateKeyToPath`, `validateDownwardAPIVolumeFile`, `validateProjectionSources`, `validateCSIVolumeSource`,
/// `validatePodAffinityTerm`, `ValidateTopologyKeyField`), `ValidateRuntimeClassName`.
const NONEMPTY_FIELDS: &[(&str, &str)] = &[
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
    let name = ctx.type_name;
    let own = NONEMPTY_FIELDS
        .iter()
        .filter(|it| it.0 == name)
        .map(|it| it.1);
    let of_custom = fields_of_type(name)
        .iter()
        .filter(|it| it.constraints.is_nonempty);
    for field in own.chain(of_custom.map(|it| it.name)) {
        let is_empty =
            get_non_null(ctx.node, field).is_some_and(|value| match parse_value(value) {
                ParsedValue::Mapping => ctx.is_complete && value.entries().is_empty(),
                ParsedValue::List => value.items().is_empty(),
                ParsedValue::Text(text) => text.is_empty(),
                _ => false,
            });
        if is_empty {
            ctx.report(
                [Step::from(field)],
                |path| format!("`{path}` is empty"),
                "write a value, or remove it",
            );
        }
    }
}
