//! Names and quantities of resources, as the API server reads them.

use gpuc_model::{Cluster, KubernetesVersion};
use gpuc_syntax::node::{Node, Scalar, Value};
use gpuc_syntax::yaml::core_schema::Core;

/// The alpha GPU resource that preceded device plugins.
pub(super) const ALPHA: &str = "alpha.kubernetes.io/nvidia-gpu";

/// Common names for NVIDIA GPUs with a wrong domain.
pub(super) const MISNAMED: &[&str] = &[
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
pub(super) const OF_CLASS: &str = "deviceclass.resource.kubernetes.io/";

/// Whether a resource is, or seems intended as, NVIDIA GPUs or parts of them.
pub(super) fn is_gpu(name: &str) -> bool {
    let own = name
        .strip_prefix("nvidia.com/")
        .map(str::to_ascii_lowercase);
    name == ALPHA
        || MISNAMED.contains(&name.to_ascii_lowercase().as_str())
        || name.starts_with(OF_CLASS)
        || own.is_some_and(|own| own.starts_with("mig-") || own.contains("gpu"))
}

/// Whether a resource is extended, so that requests and limits must be equal whole numbers.
///
/// Source: kubernetes `pkg/apis/core/v1/helper/helpers.go`, `IsExtendedResourceName` and `IsNativeResource`
/// (from memory).
pub(super) fn is_extended(name: &str) -> bool {
    name.contains('/') && !name.contains("kubernetes.io/") && !name.starts_with("requests.")
}

/// The resources that the pools advertise, each name once, in the order of the pools.
pub(super) fn offered(cluster: &Cluster) -> Vec<&str> {
    let mut names = Vec::new();
    for pool in &cluster.pools {
        let offers = pool.offers.get().into_iter().flatten();
        for offer in offers.chain(&pool.fabric) {
            if !names.contains(&offer.resource.as_str()) {
                names.push(offer.resource.as_str());
            }
        }
    }
    names
}

/// Whether a GPU resource is not advertised by any pool.
pub(super) fn is_unknown(cluster: &Cluster, name: &str) -> bool {
    if let Some(class) = name.strip_prefix(OF_CLASS) {
        let mut classes = cluster.pools.iter().flat_map(|pool| &pool.classes);
        return class.ends_with(".gpuc.dev") && !classes.any(|known| known.name == class);
    }
    // Later versions map this name to claims if NVIDIA's DRA driver allocates the GPUs.
    let version = cluster.kubernetes.get().map(|version| version.value);
    let is_bridged = name == "nvidia.com/gpu"
        && cluster.pools_claimed().next().is_some()
        && version >= Some(KubernetesVersion::FIRST_WITH_BRIDGE);
    is_gpu(name) && !is_bridged && !offered(cluster).contains(&name)
}

/// A quantity of an extended resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Amount {
    /// A whole number.
    Whole(u64),
    /// A quantity that the API server rejects: a fraction, a negative number, or an invalid one.
    Refused,
    /// A template placeholder.
    Open,
}

/// Parses a quantity.
pub(super) fn amount(node: &Node) -> Amount {
    if let Value::Scalar(scalar @ Scalar::Written { plain: true, .. }) = &node.value
        && let Core::Integer(count) = scalar.core()
    {
        return u64::try_from(count).map_or(Amount::Refused, Amount::Whole);
    }
    let Some(text) = node.text() else {
        return Amount::Refused;
    };
    if ["{{", "${", "$("].iter().any(|mark| text.contains(mark)) {
        return Amount::Open;
    }
    let text = text.strip_prefix('+').unwrap_or(text).to_owned();
    match gpuc_schema::config::Quantity(text).thousandths() {
        Some(thousandths) if thousandths % 1000 == 0 => Amount::Whole(thousandths / 1000),
        _ => Amount::Refused,
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
            amount(&Node::written(value, Span::NONE))
        };
        assert_eq!(read("8"), Amount::Whole(8));
        assert_eq!(read("2000m"), Amount::Whole(2));
        assert_eq!(read("1k"), Amount::Whole(1000));
        assert_eq!(read("0x1"), Amount::Whole(1));
        for text in ["0.5", "500m", "-1", "one", "", "1/2"] {
            assert_eq!(read(text), Amount::Refused, "{text}");
        }
        assert_eq!(read("${GPUS}"), Amount::Open);
    }

    #[test]
    fn gpu_names_are_recognized() {
        for name in [
            "nvidia.com/gpu",
            "nvidia.com/gpu.type",
            "nvidia.com/mig-1g.5gb",
            "nvidia.com/GPU",
            ALPHA,
        ] {
            assert!(is_gpu(name), "{name}");
        }
        for name in ["cpu", "amd.com/gpu", "rdma/hca", "nvidia.com/hostdev"] {
            assert!(!is_gpu(name), "{name}");
        }
        assert!(is_gpu("nvidia/gpu") && is_gpu("kubernetes.io/gpu"));
        assert!(is_extended("rdma/hca") && is_extended("nvidia.com/gpu"));
        assert!(!is_extended("memory") && !is_extended("hugepages-2Mi") && !is_extended(ALPHA));
    }
}
