//! The parts of an image name.

/// The repository and tag of an image name, without the digest.
pub(super) struct ImageName<'n> {
    pub(super) repository: &'n str,
    pub(super) tag: &'n str,
}

pub(super) fn parse_image_name(name: &str) -> ImageName<'_> {
    let name = name.split('@').next().unwrap_or(name);
    // A colon before the last slash is a registry's port.
    let after = name.rfind('/').map_or(0, |slash| slash + 1);
    let (repository, tag) = match name[after..].split_once(':') {
        Some((last, tag)) => (&name[..after + last.len()], tag),
        None => (name, ""),
    };
    ImageName { repository, tag }
}

/// The registries where NVIDIA publishes its tags.
const REGISTRIES: &[&str] = &["docker.io", "index.docker.io", "nvcr.io"];

impl ImageName<'_> {
    /// Whether it is in another registry, where NVIDIA does not control the tags.
    pub(super) fn is_mirrored(&self) -> bool {
        let host = self.repository.split_once('/').map(|it| it.0);
        // A first part with neither a dot nor a port is a user of Docker Hub.
        let host = host.filter(|host| host.contains(['.', ':']) || *host == "localhost");
        host.is_some_and(|host| !REGISTRIES.contains(&host))
    }

    /// Whether it is this repository, in any registry or mirror.
    pub(super) fn is_repository(&self, repository: &str) -> bool {
        let rest = self.repository.strip_suffix(repository);
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
    }
}
