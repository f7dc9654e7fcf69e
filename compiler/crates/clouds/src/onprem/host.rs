//! The script that prepares the hosts of a pool: `cloud/host-<pool>.sh`.

use gpuc_model::plan::{Contents, File};
use gpuc_model::{Pool, PoolGpus};
use gpuc_schema::config::{Distribution, DriverOwner, OnPrem as Section};
use gpuc_schema::gpu::Basis;
use gpuc_schema::gpu::cuda::DriverVersion;
use gpuc_schema::gpu::driver_branches::fixed_version;
use gpuc_syntax::node::Origin;
use gpuc_syntax::shell::quote;

use super::{os, sources};

/// The body of the script; a header with the values of the pool precedes it.
const SCRIPT_BODY: &str = include_str!("host.sh");

/// The long-term support branch that supports all GPU models from Pascal on; it is the last branch for V100 and P100.
///
/// Source: docs.nvidia.com/datacenter/tesla/drivers, 2026-11: R580 is supported until 2028-08.
const DEFAULT_BRANCH: u16 = 580;

/// The oldest version of the NVIDIA Container Toolkit that the script accepts, and the vulnerability that it fixes.
///
/// Source: NVIDIA's security bulletin of 2026-06-30, NVIDIA/product-security `2026/5850/5850.md@dbb4ada0`, read
/// 2026-11-24.
const MIN_TOOLKIT: (&str, &str) = ("1.19.1", "CVE-2026-24260");

/// The script for a pool whose driver is installed by the package manager of the hosts.
pub(super) fn script_file(pool: &Pool, section: &Section) -> Option<File> {
    let gpus = pool.gpus.expect_resolved().as_ref()?;
    if pool.driver.value != DriverOwner::Host {
        return None;
    }
    // NVIDIA has no repository for other families; they are not among the facts, so a rule rejects them.
    let distribution = os::repository_name(pool.os.value)?;
    let header = script_variables(pool, gpus, distribution, section).into_iter();
    let header: Vec<_> = header
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let header = header.join("\n");
    Some(File {
        path: format!("host-{}.sh", pool.name),
        contents: Contents::Script(format!("{header}\n\n{SCRIPT_BODY}")),
        origin: Origin::rule(
            [pool.name.span, pool.driver.span, gpus.span],
            "the hosts of a pool with GPUs need the NVIDIA driver and container toolkit",
        ),
    })
}

/// Whether a script prepares the hosts of a pool.
pub(super) fn has_script(pool: &Pool) -> bool {
    pool.has_gpus()
        && pool.driver.value == DriverOwner::Host
        && os::repository_name(pool.os.value).is_some()
}

/// The driver branch that the script installs by default.
pub(super) fn driver_version(pool: &Pool) -> Option<String> {
    let is_installed_by_script = pool.driver.value == DriverOwner::Host;
    let gpus = pool
        .gpus
        .get()?
        .as_ref()
        .filter(|_| is_installed_by_script)?;
    Some(default_branch(gpus))
}

/// The variables of the script, each value quoted for the shell.
fn script_variables(
    pool: &Pool,
    gpus: &PoolGpus,
    distribution: &str,
    section: &Section,
) -> Vec<(&'static str, String)> {
    let model = gpus.model;
    let version = pool
        .driver_version
        .as_ref()
        .map_or_else(|| default_branch(gpus), |version| version.value.clone());
    let (min_driver, driver_fix) = min_driver(&version).unwrap_or_default();
    let target = sources::Target {
        distribution,
        is_arm64: model.arm64_host,
    };
    let sources = sources::resolve(section.packages.as_ref(), target);
    vec![
        ("pool", quote(&pool.name)),
        (
            "hosts",
            shell_array(pool.settings.hosts.iter().map(|host| host.as_str())),
        ),
        ("distribution", quote(distribution)),
        (
            "architecture",
            quote(if model.arm64_host {
                "aarch64"
            } else {
                "x86_64"
            }),
        ),
        (
            "kubernetes",
            quote(distribution_name(section.distribution.value)),
        ),
        ("context", quote(&section.context)),
        ("cuda_repository", quote(&sources.cuda.url)),
        ("cuda_key", quote(sources.cuda.key)),
        ("toolkit_repository", quote(&sources.toolkit.url)),
        ("toolkit_key", quote(sources.toolkit.key)),
        ("proxy", quote(sources.proxy)),
        ("driver_version", quote(&version)),
        ("min_driver", quote(min_driver)),
        ("driver_fix", quote(driver_fix)),
        ("kernel_modules", quote(model.kernel_modules())),
        ("min_toolkit", quote(MIN_TOOLKIT.0)),
        ("toolkit_fix", quote(MIN_TOOLKIT.1)),
        ("nvlink_subnet", quote(yes_no(needs_nvlink_subnet(gpus)))),
        ("gpus_per_node", quote(&gpus.per_node.to_string())),
        ("gpu_products", shell_array(model.products.iter().copied())),
        (
            "gpu_products_known",
            quote(yes_no(model.product_basis <= Basis::Documented)),
        ),
    ]
}

/// The oldest version of a branch that the script accepts, and the bulletin about older ones. `None` if the file states
/// more than the branch: that version is installed, and a rule warns about its vulnerabilities.
fn min_driver(version: &str) -> Option<(&'static str, &'static str)> {
    let branch = DriverVersion::parse(version)?.branch;
    (branch.to_string() == version)
        .then(|| fixed_version(branch))
        .flatten()
}

/// The newest long-term support branch, unless the GPU model requires an older or newer one.
fn default_branch(gpus: &PoolGpus) -> String {
    let model = gpus.model;
    let newest = model.max_driver_branch.unwrap_or(u16::MAX);
    let branch = DEFAULT_BRANCH.min(newest).max(model.min_driver_branch);
    branch.to_string()
}

/// Whether a subnet manager configures the NVSwitches: boards with eight GPUs and fifth-generation NVLink. The script
/// detects older switches on the PCI bus. In racks with Grace CPUs, the switch trays run the subnet manager.
///
/// Source: docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide, 2026-11.
fn needs_nvlink_subnet(gpus: &PoolGpus) -> bool {
    gpus.model.compute_capability.major == 10 && !gpus.model.arm64_host && gpus.per_node >= 8
}

pub(super) fn distribution_name(distribution: Distribution) -> &'static str {
    match distribution {
        Distribution::Kubeadm => "kubeadm",
        Distribution::K3s => "k3s",
        Distribution::Rke2 => "rke2",
    }
}

fn yes_no(yes: bool) -> &'static str {
    if yes { "yes" } else { "no" }
}

fn shell_array<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let words: Vec<_> = words.map(quote).collect();
    format!("({})", words.join(" "))
}
