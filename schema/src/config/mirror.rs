//! `mirror`: private registries for charts and images.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Spanned;

/// Private registries that replace the public ones, for sites without internet access.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Mirror {
    /// The registry to pull images from: a host, or a host and a path. It replaces the host in an image's name:
    /// `nvcr.io/nvidia/k8s-device-plugin` becomes `registry.acme.dev/mirror/nvidia/k8s-device-plugin`. Images that you
    /// set yourself, such as `stack.runtimeImage`, are not changed. Two things come from elsewhere: the components that
    /// the cloud or eksctl installs, such as add-ons, and the packages of hosts on premises, whose mirrors
    /// `cloud.onPrem.packages` names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["registry.acme.dev/mirror"]))]
    pub images: Option<Spanned<String>>,
    /// The OCI registry to pull charts from. Each chart keeps its name and version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^oci://[^/]+(/[^/]+)*$"), extend("examples" = ["oci://registry.acme.dev/charts"]))]
    pub charts: Option<Spanned<String>>,
}

impl Mirror {
    /// Whether no registry is set.
    pub fn is_empty(&self) -> bool {
        self.images.is_none() && self.charts.is_none()
    }
}
