//! Names and quantities of resources, as the API server reads them.

use gpuc_model::Cluster;
use gpuc_syntax::node::{Node, Scalar, Value};
use gpuc_syntax::variables::has_placeholder;
use gpuc_syntax::yaml::core_schema::CoreValue;

/// The alpha GPU resource that preceded device plugins.
pub(super) const ALPHA_GPU: &str = "alpha.kubernetes.io/nvidia-gpu";

/// Common names for NVIDIA GPUs with a wrong domain.
pub(super) const MISNAMED_GPUS: &[&str] = &[
    "nvidia/gpu",
    "nvidia/gpus",
    "nvidia.io/gpu",
    "nvidia.net/gpu",
    "nvidia.org/gpu",
    "kubernetes.io/gpu",
    "kubernetes.io/nvidia-gpu",
    "k8s.io/gpu",
];

/// The prefix of the implicit extended resources of DeviceClasses, for pods without a claim.
pub(super) const DEVICE_CLASS_PREFIX: &str = "deviceclass.resource.kubernetes.io/";

/// Whether a resource is, or seems intended as, NVIDIA GPUs or parts of them.
pub(super) fn is_gpu_name(name: &str) -> bool {
    let own = name
        .strip_prefix("nvidia.com/")
        .map(str::to_ascii_lowercase);
    name == ALPHA_GPU
        || MISNAMED_GPUS.contains(&name.to_ascii_lowercase().as_str())
        || name.starts_with(DEVICE_CLASS_PREFIX)
        || own.is_some_and(|own| own.starts_with("mig-") || own.contains("gpu"))
}

/// Whether a resource is extended, so that requests and limits must be equal whole numbers.
///
/// Source: kubernetes `pkg/apis/core/v1/helper/helpers.go`, `IsExtendedResourceName` and `IsNativeResource`
/// (from memory).
pub(super) fn is_extended_resource(name: &str) -> bool {
    name.contains('/') && !name.contains("kubernetes.io/") && !name.starts_with("requests.")
}

/// The resources that pods can request from the pools, each name once, in the order of the pools: those of device
/// plugins, and of DeviceClasses with `extendedResources`.
pub(super) fn advertised_resources(cluster: &Cluster) -> Vec<&str> {
    let mut names = Vec::new();
    for pool in &cluster.pools {
        let advertised = pool.advertised.get().into_iter().flatten();
        let advertised = advertised.chain(&pool.interconnect);
        let classes = pool.classes.iter();
        let named = classes.filter_map(|class| class.extended_resource.as_deref());
        for name in advertised.map(|it| it.name.as_str()).chain(named) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}

/// Whether a GPU resource is not advertised by any pool.
pub(super) fn is_unadvertised_gpu(cluster: &Cluster, name: &str) -> bool {
    // Later versions create claims for these names if NVIDIA's DRA driver allocates the GPUs.
    let creates_claims = cluster.bridges_extended_resources();
    if let Some(class) = name.strip_prefix(DEVICE_CLASS_PREFIX) {
        let mut classes = cluster.pools.iter().flat_map(|pool| &pool.classes);
        let is_known = classes.any(|known| known.name == class);
        return class.ends_with(".gpuc.dev") && !(is_known && creates_claims);
    }
    let is_mapped_to_claims =
        name == "nvidia.com/gpu" && cluster.dra_pools().next().is_some() && creates_claims;
    is_gpu_name(name) && !is_mapped_to_claims && !advertised_resources(cluster).contains(&name)
}

/// A quantity of an extended resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ResourceCount {
    /// A whole number.
    Whole(u64),
    /// A quantity that the API server rejects: a fraction, a negative number, or an invalid one.
    Invalid,
    /// A template placeholder.
    Templated,
}

/// Parses a quantity.
pub(super) fn parse_count(node: &Node) -> ResourceCount {
    if let Value::Scalar(scalar @ Scalar::Written { plain: true, .. }) = &node.value
        && let CoreValue::Integer(count) = scalar.core_value()
    {
        return u64::try_from(count).map_or(ResourceCount::Invalid, ResourceCount::Whole);
    }
    let Some(text) = node.text() else {
        return ResourceCount::Invalid;
    };
    if has_placeholder(text) {
        return ResourceCount::Templated;
    }
    let text = text.strip_prefix('+').unwrap_or(text).to_owned();
    match gpuc_schema::config::Quantity(text).thousandths() {
        Some(thousandths) if thousandths % 1000 == 0 => ResourceCount::Whole(thousandths / 1000),
        _ => ResourceCount::Invalid,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpuc_syntax::source::Span;

    #[test]
    fn quantities_are_parsed_like_the_api_server() {
        let read = |text: &str| {
            let text = text.to_owned();
            let value = Value::Scalar(Scalar::Written { text, plain: true });
            parse_count(&Node::written(value, Span::NONE))
        };
        assert_eq!(read("8"), ResourceCount::Whole(8));
        assert_eq!(read("2000m"), ResourceCount::Whole(2));
        assert_eq!(read("1k"), ResourceCount::Whole(1000));
        assert_eq!(read("0x1"), ResourceCount::Whole(1));
        for text in ["0.5", "500m", "-1", "one", "", "1/2"] {
            assert_eq!(read(text), ResourceCount::Invalid, "{text}");
        }
        assert_eq!(read("${GPUS}"), ResourceCount::Templated);
    }

    #[test]
    fn gpu_names_are_recognized() {
        for name in [
            "nvidia.com/gpu",
            "nvidia.com/gpu.type",
            "nvidia.com/mig-1g.5gb",
            "nvidia.com/GPU",
            ALPHA_GPU,
        ] {
            assert!(is_gpu_name(name), "{name}");
        }
        for name in ["cpu", "amd.com/gpu", "rdma/hca", "nvidia.com/hostdev"] {
            assert!(!is_gpu_name(name), "{name}");
        }
        assert!(is_gpu_name("nvidia/gpu") && is_gpu_name("kubernetes.io/gpu"));
        assert!(is_extended_resource("rdma/hca") && is_extended_resource("nvidia.com/gpu"));
        assert!(
            !is_extended_resource("memory")
                && !is_extended_resource("hugepages-2Mi")
                && !is_extended_resource(ALPHA_GPU)
        );
    }
}
