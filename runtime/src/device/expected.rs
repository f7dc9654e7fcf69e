//! Compares the GPUs of a node with the expected ones.

use std::fmt;

use gpuc_schema::gpu::{GpuModel, MODELS, product};
use gpuc_schema::node_config::ExpectedGpus;

use super::{Gpu, Inventory};
use crate::nvml::GpuInfo;

/// A difference between the GPUs of a node and the expected ones.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HardwareDifference {
    /// The number differs.
    Count {
        /// The number of GPUs, including unresponsive ones.
        found: usize,
        /// The expected number.
        expected: u32,
    },
    /// The model differs.
    Model {
        /// The driver's index.
        gpu: u32,
        /// The key of the GPU model in gpuc's catalog, or the driver's name if the catalog does not have it.
        found: String,
        /// The key of the expected GPU model.
        expected: String,
    },
}

impl fmt::Display for HardwareDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count { found, expected } => {
                let noun = if *found == 1 { "GPU" } else { "GPUs" };
                write!(f, "found {found} {noun} instead of {expected}")
            }
            Self::Model {
                gpu,
                found,
                expected,
            } => write!(f, "GPU {gpu} is {found} instead of {expected}"),
        }
    }
}

/// Returns the differences between the node and the expected GPUs.
pub fn hardware_differences(
    inventory: &Inventory,
    expected: &ExpectedGpus,
) -> Vec<HardwareDifference> {
    let mut differences = Vec::new();
    let found = inventory.gpus.len();
    if u32::try_from(found) != Ok(expected.count) {
        differences.push(HardwareDifference::Count {
            found,
            expected: expected.count,
        });
    }
    for info in inventory.gpus.iter().filter_map(Gpu::info) {
        let model = find_model(info);
        if model.is_some_and(|model| model.key == expected.model) {
            continue;
        }
        differences.push(HardwareDifference::Model {
            gpu: info.index,
            found: model.map_or_else(|| info.name.clone(), |model| model.key.to_owned()),
            expected: expected.model.clone(),
        });
    }
    differences
}

/// Finds the GPU model in gpuc's catalog: by PCI ID, or else by the driver's name. A partial GPU of a cloud
/// provider has the name of the model with its size in GB (`NVIDIA A10-8Q`).
pub fn find_model(info: &GpuInfo) -> Option<&'static GpuModel> {
    let by_id = |model: &&&GpuModel| model.pci_ids.contains(&info.pci_id);
    let product = product::from_driver_name(&info.name);
    let full_gpu_product = without_partition_size(&product);
    let by_name = |model: &&&GpuModel| {
        model.products.contains(&product.as_str()) || model.products.contains(&full_gpu_product)
    };
    let mut models = MODELS.iter();
    models
        .find(by_id)
        .or_else(|| MODELS.iter().find(by_name))
        .copied()
}

/// Returns the product without the size of a partial GPU.
fn without_partition_size(product: &str) -> &str {
    let split = product.rsplit_once('-').filter(|(_, suffix)| {
        let size = suffix.strip_suffix('Q').unwrap_or_default();
        !size.is_empty() && size.bytes().all(|byte| byte.is_ascii_digit())
    });
    split.map_or(product, |(base, _)| base)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::testing;
    use crate::nvml::{Nvml, fake::Fake};

    fn differences(words: &str, model: &str, count: u32) -> Vec<String> {
        let expected = ExpectedGpus {
            model: model.to_owned(),
            count,
        };
        hardware_differences(&testing::inventory(words), &expected)
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn expected_gpus_have_no_differences() {
        for model in MODELS {
            assert_eq!(differences(model.key, model.key, 1), [""; 0]);
        }
    }

    #[test]
    fn other_models_and_counts_differ() {
        assert_eq!(
            differences("h100", "h100-sxm5-80gb", 2),
            ["found 1 GPU instead of 2"]
        );
        assert_eq!(
            differences("a100-sxm4-40gb+a100-sxm4-80gbx2", "a100-sxm4-80gb", 2),
            [
                "found 3 GPUs instead of 2",
                "GPU 0 is a100-sxm4-40gb instead of a100-sxm4-80gb"
            ],
        );
    }

    #[test]
    fn model_is_found_by_pci_id_or_name() {
        let model_key = |name: &str, pci_id| {
            let mut info = Fake::from_description("l4")
                .expect("a machine")
                .gpu(0)
                .expect("a GPU");
            name.clone_into(&mut info.name);
            info.pci_id = pci_id;
            find_model(&info).map(|model| model.key)
        };
        assert_eq!(model_key("whatever", 0x2330_10DE), Some("h100-sxm5-80gb"));
        assert_eq!(
            model_key("NVIDIA A100-SXM4-40GB", 0x10DE),
            Some("a100-sxm4-40gb")
        );
        assert_eq!(model_key("NVIDIA A10-8Q", 0x10DE), Some("a10-24gb"));
        assert_eq!(model_key("NVIDIA A10-8C", 0x10DE), None);
        assert_eq!(model_key("NVIDIA TITAN V", 0x10DE), None);
        assert_eq!(model_key("-Q", 0x10DE), None);
    }
}
