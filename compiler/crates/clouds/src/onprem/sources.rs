//! The package sources of hosts: NVIDIA's own repositories, or mirrors.

use gpuc_schema::Spanned;
use gpuc_schema::config::{HostPackages, PackageSource};

/// NVIDIA's CUDA repository, which has the driver.
///
/// Source: NVIDIA's driver installation guide, docs.nvidia.com/datacenter/tesla/driver-installation-guide, 2026-11.
const CUDA: &str =
    "https://developer.download.nvidia.com/compute/cuda/repos/{distribution}/{architecture}";

/// NVIDIA's repositories of the Container Toolkit. apt replaces `$(ARCH)`, and dnf `$basearch`.
///
/// Source: NVIDIA/cloud-native-docs container-toolkit/install-guide.md@01f0197c, and the files that it downloads, in
/// copies of 2026-11.
const TOOLKIT_DEB: &str = "https://nvidia.github.io/libnvidia-container/stable/deb/$(ARCH)";
const TOOLKIT_RPM: &str = "https://nvidia.github.io/libnvidia-container/stable/rpm/$basearch";

/// The placeholders in the URL of a mirror of the CUDA repository.
pub(super) const CUDA_PLACEHOLDERS: &[&str] = &["{distribution}", "{architecture}"];

/// The placeholders in the URL of a mirror of the Container Toolkit.
pub(super) const TOOLKIT_PLACEHOLDERS: &[&str] = &["{format}", "{architecture}"];

/// The hosts that a source is for.
#[derive(Clone, Copy)]
pub(super) struct Target<'a> {
    /// The name in NVIDIA's repositories, such as `ubuntu2404`.
    pub(super) distribution: &'a str,
    pub(super) is_arm64: bool,
}

/// The sources of a script.
pub(super) struct Sources<'a> {
    pub(super) cuda: Source<'a>,
    pub(super) toolkit: Source<'a>,
    /// The proxy for NVIDIA's own repositories; empty if there is none.
    pub(super) proxy: &'a str,
}

pub(super) struct Source<'a> {
    /// The URL of the repository.
    pub(super) url: String,
    /// The URL or the path of the key of a mirror; empty for NVIDIA's own repository.
    pub(super) key: &'a str,
}

/// The sources for hosts.
pub(super) fn resolve<'a>(
    packages: Option<&'a Spanned<HostPackages>>,
    target: Target<'_>,
) -> Sources<'a> {
    let source = |mirror: Option<&'a Spanned<PackageSource>>, own: &str, expand: Expand| Source {
        url: expand(
            mirror.map_or(own, |mirror| mirror.url.trim_end_matches('/')),
            target,
        ),
        key: mirror.map_or("", |mirror| mirror.key.as_str()),
    };
    let mirror = |select: fn(&HostPackages) -> Option<&Spanned<PackageSource>>| {
        packages.and_then(|packages| select(packages))
    };
    let own_toolkit = if target.is_rpm() {
        TOOLKIT_RPM
    } else {
        TOOLKIT_DEB
    };
    Sources {
        cuda: source(mirror(|packages| packages.cuda.as_ref()), CUDA, expand_cuda),
        toolkit: source(
            mirror(|packages| packages.toolkit.as_ref()),
            own_toolkit,
            expand_toolkit,
        ),
        proxy: packages
            .and_then(|packages| packages.proxy.as_ref())
            .map_or("", |proxy| proxy.trim_end_matches('/')),
    }
}

type Expand = fn(&str, Target<'_>) -> String;

/// The URL of the CUDA repository for hosts.
pub(super) fn expand_cuda(url: &str, target: Target<'_>) -> String {
    let architecture = if target.is_arm64 { "sbsa" } else { "x86_64" };
    url.replace("{distribution}", target.distribution)
        .replace("{architecture}", architecture)
}

/// The URL of the Container Toolkit's repository for hosts.
pub(super) fn expand_toolkit(url: &str, target: Target<'_>) -> String {
    let (format, architecture) = match (target.is_rpm(), target.is_arm64) {
        (false, false) => ("deb", "amd64"),
        (false, true) => ("deb", "arm64"),
        (true, false) => ("rpm", "x86_64"),
        (true, true) => ("rpm", "aarch64"),
    };
    url.replace("{format}", format)
        .replace("{architecture}", architecture)
}

impl Target<'_> {
    fn is_rpm(self) -> bool {
        self.distribution.starts_with("rhel")
    }
}
