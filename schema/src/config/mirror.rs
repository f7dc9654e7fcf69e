//! `mirror` and `digests`: where charts and images are pulled from, and what they must be.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Spanned;

/// Registries of your own that stand in front of everybody else's, for sites without a way out.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Mirror {
    /// The registry, a host or a host and a path, that images are pulled from. What follows the host in an image's
    /// name stays: `nvcr.io/nvidia/k8s-device-plugin` becomes `registry.acme.dev/mirror/nvidia/k8s-device-plugin`.
    /// Images that you name yourself, such as `stack.runtimeImage`, are left as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["registry.acme.dev/mirror"]))]
    pub images: Option<Spanned<String>>,
    /// The registry that charts are pulled from, each below this by its name, in its own version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^oci://[^/]+(/[^/]+)*$"), extend("examples" = ["oci://registry.acme.dev/charts"]))]
    pub charts: Option<Spanned<String>>,
}

impl Mirror {
    /// Whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.images.is_none() && self.charts.is_none()
    }
}
