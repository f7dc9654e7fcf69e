//! Facts about GPUs: every GPU model in gpuc's catalog, its capabilities and its MIG profiles.
//!
//! Sources, read 2026-11-21, unless a model gives another source. Product names, families and MPS limits:
//! NVIDIA/k8s-device-plugin @1b826acc (`internal/lm/resource.go`, `cmd/mps-control-daemon/mps/device.go`). PCI ids: the
//! device filters of NVIDIA/mig-parted@bd7160f4 and the pci.ids database. Memory and driver branches: general
//! knowledge, unless a model gives another source; sufficient for warnings, not for errors.

mod ada_lovelace;
mod ampere;
mod blackwell;
pub mod cuda;
pub mod driver_branches;
mod hopper;
pub mod mig;
pub mod mig_tables;
mod pascal;
pub mod placement;
pub mod product;
mod turing;
mod volta;

use std::fmt;

pub use ada_lovelace::*;
pub use ampere::*;
pub use blackwell::*;
pub use hopper::*;
pub use mig::{Mig, MigProfile};
pub use pascal::*;
pub use turing::*;
pub use volta::*;

/// A GPU model: one NVIDIA product with one memory size.
#[derive(Debug)]
pub struct GpuModel {
    /// The key in gpuc's catalog: `a100-sxm4-40gb`.
    pub key: &'static str,
    /// Other common names. A name that several models share is ambiguous.
    pub aliases: &'static [&'static str],
    /// The values of the node label `nvidia.com/gpu.product`, the usual one first.
    pub products: &'static [&'static str],
    /// How well `products` is known.
    pub product_basis: Basis,
    /// Memory in GB, as in the product's name.
    pub memory_gb: u32,
    /// Memory in MiB as the driver reports it, the value of the node label `nvidia.com/gpu.memory`.
    pub memory_mib: u32,
    /// How well `memory_mib` is known.
    pub memory_basis: Basis,
    /// The GPU architecture.
    pub architecture: GpuArchitecture,
    /// The compute capability.
    pub compute_capability: ComputeCapability,
    /// PCI ids, device above vendor: `0x20B0_10DE`.
    pub pci_ids: &'static [u32],
    /// The MIG profiles, if the model supports MIG.
    pub mig: Option<&'static Mig>,
    /// The first driver branch that supports the model. General knowledge.
    pub min_driver_branch: u16,
    /// The last driver branch that supports the model, if support ended. General knowledge.
    pub max_driver_branch: Option<u16>,
    /// The last CUDA version that supports the model, if support ended: CUDA 13 dropped everything before Turing.
    pub max_cuda: Option<&'static str>,
    /// Whether only the open kernel modules support the model.
    pub open_kernel_modules: bool,
    /// Whether its hosts have 64-bit Arm CPUs: Grace, or AWS Graviton with the T4G.
    pub arm64_host: bool,
    /// A note for users.
    pub note: Option<&'static str>,
    /// Sources in addition to those of the module.
    pub source: &'static str,
}

/// The GPU models with multi-node NVLink, which provide IMEX channels.
///
/// Source: docs.nvidia.com/multi-node-nvlink-systems/imex-guide; docs.nvidia.com/base-command-manager, the chapter on
/// NVLink (GB200 and GB300), 2026-11-21.
pub static MULTI_NODE_NVLINK_MODELS: &[&GpuModel] = &[&GB200_186GB, &GB300_279GB];

/// The GPU model for which the bandwidth of NVLink inside a node is documented, with eight GPUs and `NVSwitch`.
///
/// Source: NVIDIA/nccl-tests issues 290 and 212, 2026-11-28.
pub const NVLINK_BENCHMARK_MODEL: &str = "h100-sxm5-80gb";

impl GpuModel {
    /// Whether NVLink connects GPUs of different nodes. Containers use it through IMEX channels.
    ///
    /// Source: NVIDIA/k8s-dra-driver-gpu README.md (multi-node NVLink on GB200 and similar systems), 2026-11-21.
    pub fn has_multi_node_nvlink(&self) -> bool {
        MULTI_NODE_NVLINK_MODELS
            .iter()
            .any(|model| model.key == self.key)
    }
}

/// The basis of a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Basis {
    /// Observed on such a GPU.
    Observed,
    /// Documented by the vendor.
    Documented,
    /// Derived from a GPU with the same die, or from the rule for such values.
    Derived,
    /// Common knowledge, not verified.
    General,
    /// The number in the name; the actual value is slightly smaller.
    Nominal,
}

/// A GPU architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GpuArchitecture {
    /// Compute capability 6.
    Pascal,
    /// Compute capability 7.0.
    Volta,
    /// Compute capability 7.5.
    Turing,
    /// Compute capability 8.0 to 8.6.
    Ampere,
    /// Compute capability 8.9.
    AdaLovelace,
    /// Compute capability 9.
    Hopper,
    /// Compute capability 10 and 12, including Blackwell Ultra (10.3).
    Blackwell,
}

impl GpuArchitecture {
    /// The value of the node label `nvidia.com/gpu.family`.
    pub fn gfd_family(self) -> &'static str {
        match self {
            Self::Pascal => "pascal",
            Self::Volta => "volta",
            Self::Turing => "turing",
            Self::Ampere => "ampere",
            Self::AdaLovelace => "ada-lovelace",
            Self::Hopper => "hopper",
            Self::Blackwell => "blackwell",
        }
    }
}

impl fmt::Display for GpuArchitecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pascal => "Pascal",
            Self::Volta => "Volta",
            Self::Turing => "Turing",
            Self::Ampere => "Ampere",
            Self::AdaLovelace => "Ada Lovelace",
            Self::Hopper => "Hopper",
            Self::Blackwell => "Blackwell",
        })
    }
}

/// The compute capability: the version of a GPU's instruction set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ComputeCapability {
    /// The major version: the node label `nvidia.com/gpu.compute.major`.
    pub major: u8,
    /// The minor version: the node label `nvidia.com/gpu.compute.minor`.
    pub minor: u8,
}

impl fmt::Display for ComputeCapability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl GpuModel {
    /// The maximum number of concurrent MPS clients per GPU: 48 from Volta on, 16 before.
    pub fn mps_max_clients(&self) -> u32 {
        if self.architecture >= GpuArchitecture::Volta {
            48
        } else {
            16
        }
    }

    /// The maximum number of MPS replicas in the NVIDIA device plugin: 16 below compute capability 7.5, although the
    /// V100 itself supports 48 clients (NVIDIA/k8s-device-plugin `cmd/mps-control-daemon/mps/device.go`).
    pub fn mps_clients_nvidia_plugin(&self) -> u32 {
        if self.compute_capability >= (ComputeCapability { major: 7, minor: 5 }) {
            48
        } else {
            16
        }
    }

    /// The type of kernel modules for the model, as written in NVIDIA's tools: the open modules support Turing and
    /// later, and Blackwell supports only these.
    ///
    /// Source: NVIDIA/open-gpu-kernel-modules README; developer.nvidia.com/blog, «NVIDIA Transitions Fully Towards
    /// Open-Source GPU Kernel Modules», 2024-07.
    pub fn kernel_modules(&self) -> &'static str {
        if self.architecture >= GpuArchitecture::Turing {
            "open"
        } else {
            "proprietary"
        }
    }
}

/// All GPU models, by key.
pub static MODELS: &[&GpuModel] = &[
    &A10_24GB,
    &A100_PCIE_40GB,
    &A100_PCIE_80GB,
    &A100_SXM4_40GB,
    &A100_SXM4_80GB,
    &A10G_24GB,
    &A30_24GB,
    &B200_SXM6_180GB,
    &B300_SXM6_270GB,
    &GB200_186GB,
    &GB300_279GB,
    &GH200_96GB,
    &H100_NVL_94GB,
    &H100_PCIE_80GB,
    &H100_SXM5_80GB,
    &H200_NVL_141GB,
    &H200_SXM5_141GB,
    &L4_24GB,
    &L40_48GB,
    &L40S_48GB,
    &P100_PCIE_16GB,
    &P4_8GB,
    &RTX_PRO_4500_SERVER_32GB,
    &RTX_PRO_6000_SERVER_96GB,
    &T4_16GB,
    &T4G_16GB,
    &V100_PCIE_16GB,
    &V100_SXM2_16GB,
    &V100_SXM2_32GB,
];

/// The reason why a name does not identify one GPU model.
#[derive(Clone, Debug)]
pub enum FindError {
    /// Several models have this name.
    Ambiguous(Vec<&'static GpuModel>),
    /// No model has this name; [`accepted_names`] lists the valid names.
    Unknown,
}

/// The GPU model of this name: a key, or an alias in any case.
pub fn find(name: &str) -> Result<&'static GpuModel, FindError> {
    if let Some(model) = MODELS.iter().find(|model| model.key == name) {
        return Ok(model);
    }
    let has_name = |model: &&&'static GpuModel| {
        model.key.eq_ignore_ascii_case(name)
            || model
                .aliases
                .iter()
                .any(|alias| alias.eq_ignore_ascii_case(name))
    };
    let found: Vec<_> = MODELS.iter().filter(has_name).copied().collect();
    match found[..] {
        [] => Err(FindError::Unknown),
        [model] => Ok(model),
        _ => Err(FindError::Ambiguous(found)),
    }
}

/// The GPU models that a name of the driver (`NVIDIA H100 80GB HBM3`), of the label `nvidia.com/gpu.product`
/// (`Tesla-T4`) or of a cloud's accelerator (`nvidia-l4`) can mean.
pub fn find_by_product(name: &str) -> Vec<&'static GpuModel> {
    let product = product::from_driver_name(name).to_lowercase();
    let has_product = |model: &&&'static GpuModel| {
        let mut products = model.products.iter().map(|it| it.to_lowercase());
        products.any(|it| it == product || it.strip_prefix("nvidia-") == Some(&product))
    };
    let found: Vec<_> = MODELS.iter().filter(has_product).copied().collect();
    if !found.is_empty() {
        return found;
    }
    let product = product.replace('_', "-");
    let short = product.strip_prefix("nvidia-").unwrap_or(&product);
    let short = short.strip_prefix("tesla-").unwrap_or(short);
    match find(short) {
        Ok(model) => return vec![model],
        Err(FindError::Ambiguous(models)) => return models,
        Err(FindError::Unknown) => {}
    }
    // `nvidia-h200-141gb` and `h100-sxm` name some parts of the key: the card, the memory, the form factor.
    let parts: Vec<_> = short.split('-').filter(|part| *part != "mega").collect();
    let has_parts = |model: &&&'static GpuModel| {
        let mut own = model.key.split('-');
        own.next() == Some(parts[0])
            && parts[1..].iter().all(|part| {
                let is_form_factor = part.bytes().all(|byte| byte.is_ascii_alphabetic());
                let is_part = |own: &str| own == *part || is_form_factor && own.starts_with(part);
                model.key.split('-').any(is_part)
            })
    };
    MODELS.iter().filter(has_parts).copied().collect()
}

/// Data-center cards that gpuc does not support yet, in lower case. Their names are similar to those of other cards.
///
/// From memory; only the help of a finding depends on it.
const UNSUPPORTED: &[&str] = &[
    "a100x",
    "a16",
    "a2",
    "a30x",
    "a40",
    "a800",
    "h20",
    "h800",
    "k80",
    "l2",
    "l20",
    "m10",
    "m60",
    "p40",
    "rtx-a6000",
];

/// Whether a name is that of an NVIDIA card that gpuc does not support yet.
pub fn is_unsupported(name: &str) -> bool {
    let name = name.to_lowercase().replace([' ', '_'], "-");
    let name = name.strip_prefix("nvidia-").unwrap_or(&name);
    let name = name.strip_prefix("tesla-").unwrap_or(name);
    let card = name.split('-').next().unwrap_or_default();
    UNSUPPORTED.contains(&card) || UNSUPPORTED.contains(&name)
}

/// All names that [`find`] accepts: the keys, then the aliases; a shared alias appears once.
pub fn accepted_names() -> Vec<&'static str> {
    let mut aliases: Vec<_> = MODELS
        .iter()
        .flat_map(|model| model.aliases)
        .copied()
        .collect();
    aliases.sort_unstable();
    aliases.dedup();
    MODELS
        .iter()
        .map(|model| model.key)
        .chain(aliases)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsupported_cards_are_not_models() {
        for name in UNSUPPORTED {
            assert!(find(name).is_err(), "{name}");
            assert!(find_by_product(name).is_empty(), "{name}");
        }
        assert!(is_unsupported("NVIDIA A16") && is_unsupported("Tesla-P40"));
        assert!(!is_unsupported("NVIDIA A100-SXM4-40GB") && !is_unsupported("L4"));
    }

    #[test]
    fn products_and_accelerators_name_models() {
        let keys = |name: &str| -> Vec<_> {
            let models = find_by_product(name);
            models.into_iter().map(|model| model.key).collect()
        };
        for (name, key) in [
            ("h100-sxm", "h100-sxm5-80gb"),
            ("nvidia-tesla-t4", "t4-16gb"),
            ("Tesla-T4", "t4-16gb"),
            ("NVIDIA-A100-SXM4-40GB", "a100-sxm4-40gb"),
            ("NVIDIA H100 80GB HBM3", "h100-sxm5-80gb"),
            ("nvidia-l4", "l4-24gb"),
            ("NVIDIA L4", "l4-24gb"),
        ] {
            assert_eq!(keys(name), [key], "{name}");
        }
        assert!(keys("nvidia-tesla-a100").len() > 1);
        assert_eq!(keys("nvidia-"), [""; 0]);
        assert_eq!(keys("Tesla"), [""; 0]);
        for model in MODELS {
            for product in model.products {
                assert!(keys(product).contains(&model.key), "{product}");
            }
        }
    }

    #[test]
    fn models_are_sorted_and_unique() {
        assert_eq!(MODELS.len(), 29);
        assert!(MODELS.is_sorted_by(|a, b| a.key < b.key));
    }

    #[test]
    fn names_identify_models() {
        for (name, key) in [
            ("a100-sxm4-80gb", "a100-sxm4-80gb"),
            ("T4", "t4-16gb"),
            ("h100", "h100-sxm5-80gb"),
            ("H100-NVL", "h100-nvl-94gb"),
            ("a100-40gb", "a100-sxm4-40gb"),
            ("A100-80GB", "a100-sxm4-80gb"),
            ("v100-32gb", "v100-sxm2-32gb"),
            ("rtx-pro-6000", "rtx-pro-6000-server-96gb"),
        ] {
            assert_eq!(find(name).expect(name).key, key);
        }
        assert!(matches!(find("a1000"), Err(FindError::Unknown)));
    }

    #[test]
    fn names_of_several_memory_sizes_are_ambiguous() {
        for (name, memory) in [
            ("A100", [40, 40, 80, 80].as_slice()),
            ("v100", &[16, 16, 32]),
        ] {
            let Err(FindError::Ambiguous(models)) = find(name) else {
                panic!("{name} is not ambiguous");
            };
            let mut sizes: Vec<_> = models.iter().map(|model| model.memory_gb).collect();
            sizes.sort_unstable();
            assert_eq!(sizes, memory);
        }
    }

    #[test]
    fn every_name_is_found_or_ambiguous() {
        let names = accepted_names();
        assert_eq!(names.iter().filter(|name| **name == "A100").count(), 1);
        for name in names {
            assert!(!matches!(find(name), Err(FindError::Unknown)), "{name}");
        }
    }

    #[test]
    fn pci_ids_and_products_are_unique() {
        let mut ids: Vec<_> = MODELS.iter().flat_map(|model| model.pci_ids).collect();
        let mut products: Vec<_> = MODELS.iter().flat_map(|model| model.products).collect();
        ids.sort_unstable();
        products.sort_unstable();
        assert!(ids.is_sorted_by(|a, b| a < b));
        assert!(products.is_sorted_by(|a, b| a < b));
        assert!(ids.iter().all(|id| *id & 0xFFFF == 0x10DE));
    }

    #[test]
    fn architectures_match_compute_capabilities() {
        use GpuArchitecture::{AdaLovelace, Ampere, Blackwell, Hopper, Pascal, Turing, Volta};
        for model in MODELS {
            let ComputeCapability { major, minor } = model.compute_capability;
            let expected = match (major, minor) {
                (6, _) => Pascal,
                (7, 0..5) => Volta,
                (7, _) => Turing,
                (8, 0..9) => Ampere,
                (8, _) => AdaLovelace,
                (9, _) => Hopper,
                _ => Blackwell,
            };
            assert_eq!(model.architecture, expected, "{}", model.key);
        }
    }

    #[test]
    fn reported_memory_is_close_to_nominal() {
        for model in MODELS {
            let (nominal, reported) = (model.memory_gb * 1024, model.memory_mib);
            // The driver reserves up to 7% for ECC and itself; 141 GB and more are decimal.
            assert!(
                reported * 100 >= nominal * 93 && reported <= nominal,
                "{}",
                model.key
            );
        }
    }

    #[test]
    fn mps_limits_of_gpu_and_plugin_differ() {
        for (name, gpu, plugin) in [("P100", 16, 16), ("V100-PCIE", 48, 16), ("T4", 48, 48)] {
            let model = find(name).expect(name);
            assert_eq!(
                (model.mps_max_clients(), model.mps_clients_nvidia_plugin()),
                (gpu, plugin)
            );
        }
    }
}
