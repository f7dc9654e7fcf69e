//! CUDA versions of images, from their names.

use std::fmt;

use super::image_name::parse_image_name;
use super::ngc;

/// The CUDA version of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cuda {
    /// The major version: 12 in 12.4.
    pub major: u8,
    /// The minor version: 4 in 12.4, if the name contains it.
    pub minor: Option<u8>,
    /// Whether the image contains NVIDIA's compatibility package for older drivers of data center GPUs.
    pub has_compat: bool,
}

impl fmt::Display for Cuda {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.major)?;
        self.minor.map_or(Ok(()), |minor| write!(f, ".{minor}"))
    }
}

/// Frameworks with a monthly image from NVIDIA, all with the same CUDA version.
pub(super) const MONTHLY_FRAMEWORKS: &[&str] = &[
    "nvidia/pytorch",
    "nvidia/tensorflow",
    "nvidia/tritonserver",
    "nvidia/jax",
    "nvidia/cuda-dl-base",
    "nvidia/vllm",
    "nvidia/sglang",
];

/// The CUDA version of an image, if its name contains one.
pub fn cuda_version(name: &str) -> Option<Cuda> {
    let name = parse_image_name(name);
    if name.is_repository("nvidia/cuda") {
        return parse_version(name.tag, true);
    }
    if MONTHLY_FRAMEWORKS
        .iter()
        .any(|repository| name.is_repository(repository))
    {
        return ngc::cuda(name.tag);
    }
    let mut parts = name.tag.split(['-', '_']);
    parts.find_map(parse_tag_part)
}

/// Parses the version at the start of a tag such as `12.4.1-base-ubuntu22.04`.
fn parse_version(text: &str, has_compat: bool) -> Option<Cuda> {
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

/// Parses a part of a tag such as `cuda12.4` or `cu124`.
fn parse_tag_part(part: &str) -> Option<Cuda> {
    if let Some(rest) = part.strip_prefix("cuda") {
        return parse_version(rest, false);
    }
    let digits = part.strip_prefix("cu")?;
    let is_number = digits.len() == 3 && digits.bytes().all(|byte| byte.is_ascii_digit());
    let (major, minor) = is_number.then(|| digits.split_at(2))?;
    Some(Cuda {
        major: major.parse().ok()?,
        minor: minor.parse().ok(),
        has_compat: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuda_versions_are_parsed_from_names() {
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
            let found = cuda_version(&name).map(|cuda| cuda.to_string());
            assert_eq!(found.as_deref(), expected, "{name}");
        }
    }
}
