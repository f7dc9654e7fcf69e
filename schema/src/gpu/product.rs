//! The value of the node label `nvidia.com/gpu.product`, as GPU feature discovery writes it.
//!
//! The rule is that of NVIDIA/k8s-device-plugin@1b826acc `internal/lm/resource.go` and `mig-strategy_test.go`.

/// The product label for the driver's name of a GPU: characters that are invalid in labels are dropped, spaces become
/// `-`.
pub fn from_driver_name(name: &str) -> String {
    let allowed =
        |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') || c.is_whitespace();
    let kept: String = name.chars().filter(allowed).collect();
    kept.split_whitespace().collect::<Vec<_>>().join("-")
}

/// The product label of a GPU that is shared under its own resource name.
pub fn shared_label(product: &str) -> String {
    format!("{product}-SHARED")
}

/// The product label of a GPU whose MIG devices are advertised as `nvidia.com/gpu` (strategy `single`).
/// [`from_driver_name`] applies to the profile as well, so that `+` is dropped.
pub fn mig_label(product: &str, profile: &str) -> String {
    format!("{product}-MIG-{}", from_driver_name(profile))
}

/// The product label of a GPU whose MIG geometry is invalid with the strategy `single`.
pub fn invalid_mig_label(product: &str) -> String {
    format!("{product}-MIG-INVALID")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::MODELS;

    #[test]
    fn driver_names_become_products() {
        for (name, product) in [
            ("Tesla T4", "Tesla-T4"),
            ("NVIDIA A100-SXM4-40GB", "NVIDIA-A100-SXM4-40GB"),
            ("NVIDIA H100 80GB HBM3", "NVIDIA-H100-80GB-HBM3"),
            ("NVIDIA  A100 (80GB)", "NVIDIA-A100-80GB"),
        ] {
            assert_eq!(from_driver_name(name), product);
        }
    }

    #[test]
    fn catalog_products_are_valid_labels() {
        for product in MODELS.iter().flat_map(|model| model.products) {
            assert_eq!(from_driver_name(product), *product);
            assert!(product.len() <= 63);
        }
    }

    #[test]
    fn suffixes_describe_the_sharing() {
        assert_eq!(shared_label("Tesla-T4"), "Tesla-T4-SHARED");
        let product = "NVIDIA-A100-SXM4-40GB";
        assert_eq!(
            mig_label(product, "1g.5gb"),
            "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb"
        );
        assert_eq!(
            invalid_mig_label(product),
            "NVIDIA-A100-SXM4-40GB-MIG-INVALID"
        );
    }
}
