//! The value of the node label `nvidia.com/gpu.product`, as GPU feature discovery writes it.
//!
//! The rule is that of NVIDIA/k8s-device-plugin@1b826acc `internal/lm/resource.go` and `mig-strategy_test.go`.

/// The product that the driver's name for a card becomes: what a label cannot hold is dropped, spaces become `-`.
pub fn sanitise(name: &str) -> String {
    let allowed =
        |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') || c.is_whitespace();
    let kept: String = name.chars().filter(allowed).collect();
    kept.split_whitespace().collect::<Vec<_>>().join("-")
}

/// The product of a card that is shared under its own resource name.
pub fn shared(product: &str) -> String {
    format!("{product}-SHARED")
}

/// The product of a card whose MIG instances are offered as `nvidia.com/gpu` (strategy `single`).
///
/// The profile goes through [`sanitise`] like any part of the label, so that a `+` is lost.
pub fn mig(product: &str, profile: &str) -> String {
    format!("{product}-MIG-{}", sanitise(profile))
}

/// The product of a card whose MIG layout the strategy `single` refuses.
pub fn mig_invalid(product: &str) -> String {
    format!("{product}-MIG-INVALID")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::MODELS;

    #[test]
    fn drivers_names_become_products() {
        for (name, product) in [
            ("Tesla T4", "Tesla-T4"),
            ("NVIDIA A100-SXM4-40GB", "NVIDIA-A100-SXM4-40GB"),
            ("NVIDIA H100 80GB HBM3", "NVIDIA-H100-80GB-HBM3"),
            ("NVIDIA  A100 (80GB)", "NVIDIA-A100-80GB"),
        ] {
            assert_eq!(sanitise(name), product);
        }
    }

    #[test]
    fn what_the_tables_say_is_already_a_label() {
        for product in MODELS.iter().flat_map(|model| model.products) {
            assert_eq!(sanitise(product), *product);
            assert!(product.len() <= 63);
        }
    }

    #[test]
    fn suffixes_say_how_it_is_divided() {
        assert_eq!(shared("Tesla-T4"), "Tesla-T4-SHARED");
        let card = "NVIDIA-A100-SXM4-40GB";
        assert_eq!(mig(card, "1g.5gb"), "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb");
        assert_eq!(mig_invalid(card), "NVIDIA-A100-SXM4-40GB-MIG-INVALID");
    }
}
