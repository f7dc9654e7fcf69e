//! What an image's name says of the CUDA in it, and which names there are none of.

use std::fmt;

use gpuc_schema::config::DriverOwner;
use gpuc_schema::gpu::cuda::{DriverVersion, RELEASES, drives, min_branch_for};

use super::demand::Image;
use super::{Answer, Demand, Reason, Why, ngc};
use crate::model::Pool;

/// The CUDA in an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cuda {
    /// 12 in 12.4.
    pub major: u8,
    /// 4 in 12.4, where the name says it.
    pub minor: Option<u8>,
    /// Whether the image brings NVIDIA's package for older drivers of data center cards.
    pub has_compat: bool,
}

impl fmt::Display for Cuda {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.major)?;
        self.minor.map_or(Ok(()), |minor| write!(f, ".{minor}"))
    }
}

/// The parts of an image's name, without what a registry's host or a digest say.
struct Name<'n> {
    repository: &'n str,
    tag: &'n str,
}

fn parse(name: &str) -> Name<'_> {
    let name = name.split('@').next().unwrap_or(name);
    // A colon before the last slash is a registry's port.
    let after = name.rfind('/').map_or(0, |slash| slash + 1);
    let (repository, tag) = match name[after..].split_once(':') {
        Some((last, tag)) => (&name[..after + last.len()], tag),
        None => (name, ""),
    };
    Name { repository, tag }
}

/// The registries whose tags are NVIDIA's own.
const REGISTRIES: &[&str] = &["docker.io", "index.docker.io", "nvcr.io"];

impl Name<'_> {
    /// Whether it is in a registry of which others than NVIDIA choose the tags.
    fn is_mirrored(&self) -> bool {
        let host = self.repository.split_once('/').map(|it| it.0);
        // What has neither a dot nor a port is a user of Docker Hub.
        let host = host.filter(|host| host.contains(['.', ':']) || *host == "localhost");
        host.is_some_and(|host| !REGISTRIES.contains(&host))
    }

    /// Whether it is this repository, in whichever registry or mirror.
    fn is(&self, repository: &str) -> bool {
        let rest = self.repository.strip_suffix(repository);
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
    }
}

/// Frameworks of which NVIDIA makes an image every month, all on the same CUDA.
const MONTHLY: &[&str] = &[
    "nvidia/pytorch",
    "nvidia/tensorflow",
    "nvidia/tritonserver",
    "nvidia/jax",
    "nvidia/cuda-dl-base",
    "nvidia/vllm",
    "nvidia/sglang",
];

/// The CUDA in an image, where its name says so.
pub fn cuda_of(name: &str) -> Option<Cuda> {
    let name = parse(name);
    if name.is("nvidia/cuda") {
        return version(name.tag, true);
    }
    if MONTHLY.iter().any(|repository| name.is(repository)) {
        return ngc::cuda(name.tag);
    }
    let mut words = name.tag.split(['-', '_']);
    words.find_map(word)
}

/// `12.4.1-base-ubuntu22.04`, from its start.
fn version(text: &str, has_compat: bool) -> Option<Cuda> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let mut parts = text[..end.unwrap_or(text.len())].split('.');
    let major = parts.next()?.parse().ok()?;
    let minor = parts.next().and_then(|minor| minor.parse().ok());
    Some(Cuda {
        major,
        minor,
        has_compat,
    })
}

/// `cuda12.4` or `cu124`, a word of a tag.
fn word(word: &str) -> Option<Cuda> {
    if let Some(rest) = word.strip_prefix("cuda") {
        return version(rest, false);
    }
    let digits = word.strip_prefix("cu")?;
    let is_number = digits.len() == 3 && digits.bytes().all(|byte| byte.is_ascii_digit());
    let (major, minor) = is_number.then(|| digits.split_at(2))?;
    Some(Cuda {
        major: major.parse().ok()?,
        minor: minor.parse().ok(),
        has_compat: false,
    })
}

/// A name that no image has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gone {
    /// Why, in words that follow the name.
    pub why: &'static str,
    /// What to write.
    pub instead: String,
}

/// Why there is no image of this name, for the names that people copy from old pages.
///
/// Sources: NVIDIA/libnvidia-container#181, NVIDIA/nvidia-docker#1735, NVIDIA/dgx-spark-playbooks#4 (`nvidia/cuda`);
/// the releases of NVIDIA/dcgm-exporter and NVIDIA/k8s-device-plugin.
pub fn gone(name: &str) -> Option<Gone> {
    let name = parse(name);
    if name.is_mirrored() {
        return None;
    }
    let gone = |why, instead| Some(Gone { why, instead });
    let repository = name.repository;
    if name.is("nvidia/cuda") {
        let example = format!("write a tag such as `{repository}:12.8.1-base-ubuntu24.04`");
        if matches!(name.tag, "" | "latest") {
            return gone("has no tag `latest`", example);
        }
        let mut words = name.tag.split('-');
        let version = words.next().unwrap_or_default();
        let is_numbers = version
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.');
        if !is_numbers {
            return None;
        }
        // Older ones had tags without a system; they are deleted with their versions.
        if !words.any(|word| word.bytes().any(|b| b.is_ascii_digit()) && !word.starts_with("cudnn"))
        {
            return gone(
                "does not name an operating system, as every tag does",
                example,
            );
        }
        if never_was(version) {
            return gone("is of a CUDA that there never was", example);
        }
        let is_recent = cuda_of_version(version) >= Some(11);
        if is_recent && version.split('.').count() < 3 {
            return gone("has a version of two parts, where tags have three", example);
        }
    }
    if let Some(instead) = month(&name) {
        return gone("has a tag of no month", instead);
    }
    let plain = name.tag.strip_prefix('v');
    if name.is("nvidia/k8s/dcgm-exporter")
        && let Some(plain) = plain
    {
        let instead = format!("write `{repository}:{plain}`");
        return gone("begins with `v`, as no tag does", instead);
    }
    let starts_with_digit = name.tag.starts_with(|c: char| c.is_ascii_digit());
    if name.is("nvidia/k8s-device-plugin") && starts_with_digit {
        let instead = format!("write `{repository}:v{}`", name.tag);
        return gone("does not begin with `v`, as every tag does", instead);
    }
    None
}

/// What to write for a monthly image whose tag has no month of two digits.
fn month(name: &Name<'_>) -> Option<String> {
    if !MONTHLY.iter().any(|repository| name.is(repository)) {
        return None;
    }
    let (year, rest) = name.tag.split_once('.')?;
    let (month, suffix) = rest.split_at(rest.find('-').unwrap_or(rest.len()));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    let is_dated = year.len() == 2 && is_number(year) && is_number(month) && month.len() <= 2;
    let number: u8 = month.parse().ok().filter(|_| is_dated)?;
    let is_one = (1..=12).contains(&number);
    if is_one && month.len() == 2 {
        return None;
    }
    if !is_one {
        return Some("write a month from `01` to `12` behind the year".to_owned());
    }
    let repository = name.repository;
    let suffix = if suffix.is_empty() { "-py3" } else { suffix };
    Some(format!("write `{repository}:{year}.{number:02}{suffix}`"))
}

/// The most that a CUDA's third number may be: the highest there was is 4, of 11.4 (NVIDIA's archive of the toolkit,
/// from memory).
const LAST_UPDATE: u8 = 5;

/// Whether there is no CUDA of this major and minor version: between or after those of a major version that has a
/// successor. Of the newest one there may be later ones.
fn never_was(version: &str) -> bool {
    let mut parts = version.split('.').map(str::parse::<u8>);
    let (Some(Ok(major)), Some(Ok(minor))) = (parts.next(), parts.next()) else {
        return false;
    };
    if parts
        .next()
        .is_some_and(|update| update.is_ok_and(|it| it > LAST_UPDATE))
    {
        return true;
    }
    let of_major = RELEASES.iter().filter(|release| release.major == major);
    let minors: Vec<_> = of_major.map(|release| release.minor).collect();
    let is_closed = RELEASES.iter().any(|release| release.major > major);
    let is_after_first = minors.iter().min().is_some_and(|first| minor > *first);
    is_closed && is_after_first && !minors.contains(&minor)
}

fn cuda_of_version(version: &str) -> Option<u8> {
    version.split('.').next()?.parse().ok()
}

/// The driver branches on which NVIDIA's images of a later CUDA run on data center cards all the same, by the package
/// that they bring.
///
/// Source: docs.nvidia.com/deeplearning, release notes of Triton 23.05 and 25.08 and of `SGLang`
/// 25.10, «Driver Requirements», 2026-11-21.
const FORWARD: &[u16] = &[450, 470, 510, 515, 525, 535, 545, 550];

/// Holds the CUDA of the images against the pool's card and driver.
pub(super) fn look(demand: &Demand, pool: &Pool, reasons: &mut Vec<Reason>) {
    let Some(Some(gpus)) = pool.gpus.get() else {
        return;
    };
    let asks = |name: &str| name.starts_with("nvidia.com/");
    let mut requests = demand.resources.iter();
    let uses = requests.any(|request| request.count > 0 && asks(&request.resource))
        || !demand.claims.is_empty();
    if !uses {
        return;
    }
    for (image, cuda) in demand.images.iter().filter_map(with_cuda) {
        let name = image.name.value.clone();
        let (why, answer, place) = if !drives(cuda.major, gpus.model.architecture) {
            let card = gpus.model.key;
            let why = Why::Card {
                image: name,
                cuda,
                card,
            };
            (why, Answer::No, gpus.chosen)
        } else if let Some((driver, place)) = driver(pool)
            && let Some(needed) = min_branch_for(cuda.major)
            && driver.branch < needed
        {
            let helps = cuda.has_compat && FORWARD.contains(&driver.branch);
            let why = Why::Driver {
                image: name,
                cuda,
                branch: driver.branch,
                needed,
            };
            (why, if helps { Answer::Perhaps } else { Answer::No }, place)
        } else {
            continue;
        };
        reasons.push(Reason {
            why,
            answer,
            asked: image.name.span,
            place,
        });
    }
}

fn with_cuda(image: &Image) -> Option<(&Image, Cuda)> {
    Some((image, image.cuda?))
}

/// The driver that something of gpuc's installs, where the file says which.
fn driver(pool: &Pool) -> Option<(DriverVersion, gpuc_schema::Span)> {
    let written = pool.driver_version.as_ref()?;
    let installed = pool.driver.value != DriverOwner::Preinstalled;
    let version = DriverVersion::parse(written)?;
    installed.then_some((version, written.span))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_which_cuda_is_in_an_image() {
        let digest = "sha256:0123";
        for (name, expected) in [
            ("nvidia/cuda:12.4.1-base-ubuntu22.04", Some("12.4")),
            ("docker.io/nvidia/cuda:11.8.0-devel-ubi8", Some("11.8")),
            (
                "mirror.local:5000/nvidia/cuda:13.0.1-base-ubuntu24.04",
                Some("13.0"),
            ),
            ("nvcr.io/nvidia/cuda:12.8.1-base-ubuntu24.04", Some("12.8")),
            ("nvcr.io/nvidia/pytorch:24.05-py3", Some("12.4")),
            ("nvcr.io/nvidia/tritonserver:25.08-py3", Some("13.0")),
            (
                "pytorch/pytorch:2.4.0-cuda12.4-cudnn9-runtime",
                Some("12.4"),
            ),
            (
                "pytorch/pytorch:2.4.0-cuda12.4-cudnn9-runtime@DIGEST",
                Some("12.4"),
            ),
            ("example.com/train:1.0_cu118", Some("11.8")),
            ("example.com/train:cuda12", Some("12")),
            ("tensorflow/tensorflow:2.15.0-gpu", None),
            ("nvidia/cuda", None),
            ("nvidia/cuda:latest", None),
            ("mynvidia/cuda:12.4.1-base-ubuntu22.04", None),
            ("registry:5000/custom", None),
            ("vllm/vllm-openai:v0.11.0", None),
        ] {
            let name = name.replace("DIGEST", digest);
            let found = cuda_of(&name).map(|cuda| cuda.to_string());
            assert_eq!(found.as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn names_that_no_image_has() {
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
                Some("write a month from `01` to `12` behind the year"),
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
            let found = gone(name).map(|gone| gone.instead);
            assert_eq!(found.as_deref(), instead, "{name}");
        }
    }
}
