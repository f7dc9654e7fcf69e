//! The device selectors of DeviceClasses, as CEL expressions.

use gpuc_model::{DeviceClass, DeviceKind, Pool};
use gpuc_schema::gpu::{Basis, GpuModel};

use super::DRIVER;

/// The expressions of a class: a device must match all of them.
///
/// The attributes are those that NVIDIA's driver publishes of GPUs and of slices alike:
/// kubernetes-sigs/dra-driver-nvidia-gpu `cmd/gpu-kubelet-plugin/deviceinfo.go` and `partitions.go`, 2026-11-21.
pub(crate) fn selectors(pool: &Pool, class: &DeviceClass) -> Vec<String> {
    let attribute = |name: &str| format!("device.attributes['{DRIVER}'].{name}");
    let mut conditions = vec![format!("device.driver == '{DRIVER}'")];
    match class.device_kind {
        DeviceKind::FullGpu => conditions.push(format!("{} == 'gpu'", attribute("type"))),
        DeviceKind::MigDevice(profile) => {
            conditions.push(format!("{} == 'mig'", attribute("type")));
            conditions.push(format!("{} == '{}'", attribute("profile"), profile.name));
        }
    }
    if let Some(gpus) = pool.gpus.expect_resolved() {
        conditions.push(gpu_model_selector(gpus.model, attribute));
    }
    // One expression: the parts after the first are asked only of this driver's devices, which have the attributes.
    vec![conditions.join(" && ")]
}

/// Selects the GPU model by the driver's product name if that is documented, otherwise by compute capability.
fn gpu_model_selector(model: &GpuModel, attribute: impl Fn(&str) -> String) -> String {
    if model.product_basis > Basis::Documented {
        let version = format!("semver('{}.0')", model.compute_capability);
        let attribute = attribute("cudaComputeCapability");
        return format!("{attribute}.compareTo({version}) == 0");
    }
    // The catalog has names as labels have them, with `-` for spaces.
    let name = format!(
        "{}.lowerAscii().replace(' ', '-')",
        attribute("productName")
    );
    let products: Vec<_> = (model.products.iter())
        .map(|product| format!("'{}'", product.to_ascii_lowercase()))
        .collect();
    match products.as_slice() {
        [product] => format!("{name} == {product}"),
        products => format!("{name} in [{}]", products.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use gpuc_schema::gpu::{B300_SXM6_270GB, V100_SXM2_16GB};

    use super::*;

    #[test]
    fn gpu_model_is_selected_by_product_or_capability() {
        let attribute = |name: &str| name.to_owned();
        assert_eq!(
            gpu_model_selector(&V100_SXM2_16GB, attribute),
            "productName.lowerAscii().replace(' ', '-') in \
             ['tesla-v100-sxm2-16gb', 'nvidia-v100-sxm2-16gb']"
        );
        assert_eq!(
            gpu_model_selector(&B300_SXM6_270GB, attribute),
            "cudaComputeCapability.compareTo(semver('10.3.0')) == 0"
        );
    }
}
