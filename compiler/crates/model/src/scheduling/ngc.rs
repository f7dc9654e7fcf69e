//! CUDA versions of NVIDIA's monthly framework images, such as `nvcr.io/nvidia/pytorch:24.05-py3`.
//!
//! Source: the release notes of Triton, `PyTorch`, `MXNet`, DGL, `SGLang` and CUDA DL on docs.nvidia.com/deeplearning,
//! «Driver Requirements» of each release listed here, read 2026-11-21. All images of a month have the same CUDA
//! version.

use super::cuda::Cuda;

/// A year and month, or a major and a minor version.
type Pair = (u8, u8);

/// Year and month of a release, and the CUDA version of its images; oldest first.
static RELEASES: &[(Pair, Pair)] = &[
    ((20, 6), (11, 0)),
    ((20, 10), (11, 1)),
    ((20, 12), (11, 1)),
    ((21, 5), (11, 3)),
    ((21, 12), (11, 5)),
    ((22, 3), (11, 6)),
    ((22, 5), (11, 7)),
    ((23, 5), (12, 1)),
    ((23, 7), (12, 1)),
    ((23, 12), (12, 3)),
    ((24, 5), (12, 4)),
    ((25, 3), (12, 8)),
    ((25, 6), (12, 9)),
    ((25, 8), (13, 0)),
    ((25, 10), (13, 0)),
    ((25, 12), (13, 1)),
    ((26, 3), (13, 2)),
];

/// The CUDA version of a tag such as `24.05-py3`. Between two listed releases of the same major version, the major
/// version is known and the minor version is not.
pub(super) fn cuda(tag: &str) -> Option<Cuda> {
    let (year, rest) = tag.split_once('.')?;
    let month = rest.split('-').next()?;
    let release_month: Pair = (year.parse().ok()?, month.parse().ok()?);
    let before = RELEASES
        .iter()
        .rfind(|(release, _)| *release <= release_month)?;
    let after = RELEASES
        .iter()
        .find(|(release, _)| *release >= release_month)?;
    let (major, minor) = before.1;
    (major == after.1.0).then_some(Cuda {
        major,
        minor: (before.1 == after.1).then_some(minor),
        has_compat: true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn month_between_releases_has_their_major_version() {
        let cuda = |tag| cuda(tag).map(|cuda| cuda.to_string());
        assert_eq!(cuda("24.05-py3").as_deref(), Some("12.4"));
        assert_eq!(cuda("24.12-py3").as_deref(), Some("12"));
        assert_eq!(cuda("25.09-py3").as_deref(), Some("13.0"));
        assert_eq!(cuda("25.07-py3"), None, "between 12.9 and 13.0");
        assert_eq!(cuda("22.12-py3"), None);
        assert_eq!(cuda("26.10-py3"), None, "newer than the list");
        assert_eq!(cuda("19.03-py3"), None);
        assert_eq!(cuda("latest"), None);
        assert!(RELEASES.is_sorted());
    }
}
