//! Checks the CUDA versions of images, and detects image names that do not exist.

use gpuc_schema::config::DriverOwner;
use gpuc_schema::gpu::cuda::{DriverVersion, RELEASES, min_branch_for, supports};

use super::cuda::{Cuda, MONTHLY_FRAMEWORKS};
use super::demand::Image;
use super::image_name::{ImageName, parse_image_name};
use super::{Demand, Feasibility, MisfitCause, Reason};
use crate::Pool;

/// The problem with an image name that does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NonexistentImage {
    /// The problem, as a predicate that follows the name.
    pub reason: &'static str,
    /// The help.
    pub help: String,
}

/// Why an image of this name does not exist, for names that often appear in outdated documentation.
///
/// Sources: NVIDIA/libnvidia-container#181, NVIDIA/nvidia-docker#1735, NVIDIA/dgx-spark-playbooks#4 (`nvidia/cuda`);
/// the releases of NVIDIA/dcgm-exporter and NVIDIA/k8s-device-plugin.
pub fn find_nonexistent(name: &str) -> Option<NonexistentImage> {
    let name = parse_image_name(name);
    if name.is_mirrored() {
        return None;
    }
    let nonexistent = |reason, instead| {
        Some(NonexistentImage {
            reason,
            help: instead,
        })
    };
    let repository = name.repository;
    if name.is_repository("nvidia/cuda") {
        let example = format!("write a tag such as `{repository}:12.8.1-base-ubuntu24.04`");
        if matches!(name.tag, "" | "latest") {
            return nonexistent("has no tag `latest`", example);
        }
        let mut parts = name.tag.split('-');
        let version = parts.next().unwrap_or_default();
        let is_numbers = version
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.');
        if !is_numbers {
            return None;
        }
        // Older versions had tags without an operating system. These versions are deleted.
        if !parts.any(|part| part.bytes().any(|b| b.is_ascii_digit()) && !part.starts_with("cudnn"))
        {
            return nonexistent(
                "has a tag without an operating system, which does not exist",
                example,
            );
        }
        if is_nonexistent(version) {
            return nonexistent("has a CUDA version that does not exist", example);
        }
        let is_recent = cuda_major_of_driver(version) >= Some(11);
        if is_recent && version.split('.').count() < 3 {
            return nonexistent("has a version of two parts, but tags have three", example);
        }
    }
    if let Some(instead) = month_format_help(&name) {
        return nonexistent("has a tag that is not a valid month", instead);
    }
    let plain = name.tag.strip_prefix('v');
    if name.is_repository("nvidia/k8s/dcgm-exporter")
        && let Some(plain) = plain
    {
        let instead = format!("write `{repository}:{plain}`");
        return nonexistent(
            "has a tag with the prefix `v`, which does not exist",
            instead,
        );
    }
    let starts_with_digit = name.tag.starts_with(|c: char| c.is_ascii_digit());
    if name.is_repository("nvidia/k8s-device-plugin") && starts_with_digit {
        let instead = format!("write `{repository}:v{}`", name.tag);
        return nonexistent(
            "has a tag without the prefix `v`, which does not exist",
            instead,
        );
    }
    None
}

/// The help for a monthly image whose tag does not have a month of two digits.
fn month_format_help(name: &ImageName<'_>) -> Option<String> {
    if !MONTHLY_FRAMEWORKS
        .iter()
        .any(|repository| name.is_repository(repository))
    {
        return None;
    }
    let (year, rest) = name.tag.split_once('.')?;
    let (month, suffix) = rest.split_at(rest.find('-').unwrap_or(rest.len()));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    let is_dated = year.len() == 2 && is_number(year) && is_number(month) && month.len() <= 2;
    let number: u8 = month.parse().ok().filter(|_| is_dated)?;
    let is_month = (1..=12).contains(&number);
    if is_month && month.len() == 2 {
        return None;
    }
    if !is_month {
        return Some("write a month from `01` to `12` after the year".to_owned());
    }
    let repository = name.repository;
    let suffix = if suffix.is_empty() { "-py3" } else { suffix };
    Some(format!("write `{repository}:{year}.{number:02}{suffix}`"))
}

/// The maximum update number of a CUDA version: the highest so far is 4, of 11.4 (NVIDIA's archive of the toolkit,
/// from memory).
const MAX_UPDATE: u8 = 5;

/// Whether a CUDA release of this version does not exist: a minor version that is missing in a major version with a
/// successor. The newest major version may get later releases.
fn is_nonexistent(version: &str) -> bool {
    let mut parts = version.split('.').map(str::parse::<u8>);
    let (Some(Ok(major)), Some(Ok(minor))) = (parts.next(), parts.next()) else {
        return false;
    };
    if parts
        .next()
        .is_some_and(|update| update.is_ok_and(|it| it > MAX_UPDATE))
    {
        return true;
    }
    let of_major = RELEASES.iter().filter(|release| release.major == major);
    let minors: Vec<_> = of_major.map(|release| release.minor).collect();
    let is_closed = RELEASES.iter().any(|release| release.major > major);
    let is_after_first = minors.iter().min().is_some_and(|first| minor > *first);
    is_closed && is_after_first && !minors.contains(&minor)
}

fn cuda_major_of_driver(version: &str) -> Option<u8> {
    version.split('.').next()?.parse().ok()
}

/// The driver branches on which NVIDIA's images with a later CUDA version run on data center GPUs, with the
/// compatibility package that the images contain.
///
/// Source: docs.nvidia.com/deeplearning, release notes of Triton 23.05 and 25.08 and of `SGLang`
/// 25.10, «Driver Requirements», 2026-11-21.
const FORWARD_COMPATIBLE_BRANCHES: &[u16] = &[450, 470, 510, 515, 525, 535, 545, 550];

/// Checks the CUDA versions of the images against the pool's GPU model and driver.
pub(super) fn check(demand: &Demand, pool: &Pool, reasons: &mut Vec<Reason>) {
    let Some(Some(gpus)) = pool.gpus.get() else {
        return;
    };
    let is_gpu = |name: &str| name.starts_with("nvidia.com/");
    let mut requests = demand.resources.iter();
    let uses = requests.any(|request| request.count > 0 && is_gpu(&request.resource))
        || !demand.claims.is_empty();
    if !uses {
        return;
    }
    for (image, cuda) in demand.images.iter().filter_map(with_cuda) {
        let name = image.name.value.clone();
        let (cause, feasibility, pool_span) = if !supports(cuda.major, gpus.model.architecture) {
            let gpu_model = gpus.model.key;
            let cause = MisfitCause::GpuModel {
                image: name,
                cuda,
                gpu_model,
            };
            (cause, Feasibility::DoesNotFit, gpus.span)
        } else if let Some((driver, pool_span)) = driver_version(pool)
            && let Some(min_branch) = min_branch_for(cuda.major)
            && driver.branch < min_branch
        {
            let has_forward_compatibility =
                cuda.has_compat && FORWARD_COMPATIBLE_BRANCHES.contains(&driver.branch);
            let cause = MisfitCause::Driver {
                image: name,
                cuda,
                branch: driver.branch,
                min_branch,
            };
            (
                cause,
                if has_forward_compatibility {
                    Feasibility::Unknown
                } else {
                    Feasibility::DoesNotFit
                },
                pool_span,
            )
        } else {
            continue;
        };
        reasons.push(Reason {
            cause,
            feasibility,
            request_span: image.name.span,
            pool_span,
        });
    }
}

fn with_cuda(image: &Image) -> Option<(&Image, Cuda)> {
    Some((image, image.cuda?))
}

/// The driver version that gpuc installs, if the file sets it.
fn driver_version(pool: &Pool) -> Option<(DriverVersion, gpuc_schema::Span)> {
    let written = pool.driver_version.as_ref()?;
    let installed = pool.driver.value != DriverOwner::Preinstalled;
    let version = DriverVersion::parse(written)?;
    installed.then_some((version, written.span))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonexistent_names_are_found() {
        for (name, instead) in [
            (
                "nvidia/cuda",
                Some("write a tag such as `nvidia/cuda:12.8.1-base-ubuntu24.04`"),
            ),
            (
                "nvidia/cuda:latest",
                Some("write a tag such as `nvidia/cuda:12.8.1-base-ubuntu24.04`"),
            ),
            (
                "nvidia/cuda:11.0-base",
                Some("write a tag such as `nvidia/cuda:12.8.1-base-ubuntu24.04`"),
            ),
            (
                "nvidia/cuda:12.2.0-base",
                Some("write a tag such as `nvidia/cuda:12.8.1-base-ubuntu24.04`"),
            ),
            (
                "nvidia/cuda:12.0-base-ubuntu20.04",
                Some("write a tag such as `nvidia/cuda:12.8.1-base-ubuntu24.04`"),
            ),
            (
                "nvidia/cuda:12.4.1-cudnn9-devel",
                Some("write a tag such as `nvidia/cuda:12.8.1-base-ubuntu24.04`"),
            ),
            (
                "nvidia/cuda:12.7.0-base-ubuntu24.04",
                Some("write a tag such as `nvidia/cuda:12.8.1-base-ubuntu24.04`"),
            ),
            (
                "nvidia/cuda:11.9.1-base-ubuntu22.04",
                Some("write a tag such as `nvidia/cuda:12.8.1-base-ubuntu24.04`"),
            ),
            ("nvidia/cuda:11.2.2-base-ubuntu20.04", None),
            ("nvidia/cuda:11.4.4-base-ubuntu20.04", None),
            (
                "nvidia/cuda:12.9.9-base-ubuntu22.04",
                Some("write a tag such as `nvidia/cuda:12.8.1-base-ubuntu24.04`"),
            ),
            (
                "nvcr.io/nvidia/pytorch:25.13-py3",
                Some("write a month from `01` to `12` after the year"),
            ),
            (
                "nvcr.io/nvidia/pytorch:25.6",
                Some("write `nvcr.io/nvidia/pytorch:25.06-py3`"),
            ),
            ("nvcr.io/nvidia/pytorch:25.06-py3", None),
            ("nvcr.io/nvidia/vllm:v0.10.1", None),
            ("nvidia/cuda:13.9.0-base-ubuntu24.04", None),
            ("nvidia/cuda:12.4.1-base-ubuntu22.04", None),
            ("nvidia/cuda:12.4.1-cudnn-devel-rockylinux9", None),
            ("nvidia/cuda:12.4.1-base-ubi8", None),
            (
                "nvcr.io/nvidia/k8s/dcgm-exporter:v4.5.1-4.8.0",
                Some("write `nvcr.io/nvidia/k8s/dcgm-exporter:4.5.1-4.8.0`"),
            ),
            (
                "nvcr.io/nvidia/k8s/dcgm-exporter:4.5.3-4.8.2-distroless",
                None,
            ),
            (
                "nvcr.io/nvidia/k8s-device-plugin:0.20.0",
                Some("write `nvcr.io/nvidia/k8s-device-plugin:v0.20.0`"),
            ),
            ("nvcr.io/nvidia/k8s-device-plugin:v0.20.0", None),
            ("pytorch/pytorch:latest", None),
            (
                "docker.io/nvidia/cuda:latest",
                Some("write a tag such as `docker.io/nvidia/cuda:12.8.1-base-ubuntu24.04`"),
            ),
            ("registry.example.com/nvidia/cuda:12.4-team", None),
            ("localhost/nvidia/cuda:latest", None),
            ("mirror:5000/nvidia/k8s-device-plugin:0.20.0", None),
        ] {
            let found = find_nonexistent(name).map(|image| image.help);
            assert_eq!(found.as_deref(), instead, "{name}");
        }
    }
}
