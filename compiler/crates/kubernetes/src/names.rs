//! The syntax of label keys and values, taints, object names and image references.
//!
//! Sources, read 2026-11-21: kubernetes.io/docs/concepts/overview/working-with-objects/labels (label keys and values);
//! .../names (DNS names); kubernetes/apimachinery `pkg/util/validation/validation.go`; distribution/reference
//! `regexp.go` (images).

/// The maximum length of the name of a Helm release.
///
/// Source: helm/helm@d9ffe37d `pkg/chartutil/validate_name.go`, `maxNameLen`.
pub const MAX_RELEASE_NAME: usize = 53;

/// A path as the kernel resolves it: without a trailing `/`, duplicate `/`, or `.`.
pub fn normalized_path(path: &str) -> String {
    let parts = path.split('/').filter(|it| !it.is_empty() && *it != ".");
    let parts: Vec<_> = parts.flat_map(|part| ["/", part]).collect();
    parts.concat()
}

/// The problem with the key of a label or taint; `None` if it is valid.
pub fn label_key_problem(key: &str) -> Option<String> {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    if let Some(prefix) = prefix {
        if prefix.is_empty() {
            return Some("the part before the `/` must be a DNS name".to_owned());
        }
        if prefix.len() > 253 {
            return Some("the part before the `/` must have at most 253 characters".to_owned());
        }
        if !is_dns_subdomain(prefix) {
            return Some(
                "the part before the `/` must be a DNS name: lower-case letters, digits, `-` and `.`"
                    .to_owned(),
            );
        }
    }
    let subject = match prefix {
        Some(_) => "the part after the `/`",
        None => "a key",
    };
    if name.is_empty() {
        return Some(format!("{subject} must not be empty"));
    }
    if name.contains('/') {
        return Some("a key must have at most one `/`".to_owned());
    }
    name_problem(name, subject)
}

/// The problem with the value of a label or taint; `None` if it is valid.
pub fn label_value_problem(value: &str) -> Option<String> {
    if value.is_empty() {
        return None;
    }
    name_problem(value, "a value")
}

/// The problem with a value or the name part of a key, which follow the same rule.
fn name_problem(name: &str, subject: &str) -> Option<String> {
    if name.len() > 63 {
        return Some(format!("{subject} must have at most 63 characters"));
    }
    let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if !name.chars().all(inner) {
        return Some(format!(
            "{subject} must consist of letters, digits, `-`, `_` and `.`"
        ));
    }
    if !edge(name.chars().next()) || !edge(name.chars().last()) {
        return Some(format!(
            "{subject} must begin and end with a letter or a digit"
        ));
    }
    None
}

/// Whether this is a DNS name of lower-case labels joined by dots, of at most 253 characters (RFC 1123).
pub fn is_dns_subdomain(name: &str) -> bool {
    name.len() <= 253 && name.split('.').all(is_label)
}

/// The help for one lower-case label of a DNS name.
pub const LABEL_HELP: &str =
    "write at most 63 lower-case letters, digits and `-`, with a letter or a digit first and last";

/// Whether this is one lower-case label of a DNS name, of at most 63 characters (RFC 1123).
pub fn is_dns_label(name: &str) -> bool {
    name.len() <= 63 && is_label(name)
}

fn is_label(name: &str) -> bool {
    let alphanumeric = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let bytes = name.as_bytes();
    let edges = bytes.first().zip(bytes.last());
    edges.is_some_and(|(first, last)| alphanumeric(*first) && alphanumeric(*last))
        && bytes.iter().all(|b| alphanumeric(*b) || *b == b'-')
}

/// The parts of an image reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Image<'a> {
    /// Registry and repository.
    pub name: &'a str,
    /// The part after the `:`.
    pub tag: Option<&'a str>,
    /// The part after the `@`.
    pub digest: Option<&'a str>,
}

/// Parses an image reference. The error describes the problem.
pub fn parse_image(text: &str) -> Result<Image<'_>, &'static str> {
    let (rest, digest) = match text.split_once('@') {
        Some((rest, digest)) => (rest, Some(digest)),
        None => (text, None),
    };
    // A colon before the last slash belongs to the registry's port.
    let (name, tag) = match rest.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => (name, Some(tag)),
        _ => (rest, None),
    };
    if digest.is_some_and(|digest| !is_digest(digest)) {
        return Err("a digest must be `sha256:` and 64 lower-case hexadecimal digits");
    }
    if tag.is_some_and(|tag| !is_tag(tag)) {
        return Err(
            "a tag must have at most 128 letters, digits, `_`, `.` and `-`, and must not start with `.` or `-`",
        );
    }
    if name.len() > 255 {
        return Err("registry and repository must have at most 255 characters");
    }
    let path = match name.split_once('/') {
        Some((registry, path)) if is_registry(registry) => path,
        _ => name,
    };
    if !path.split('/').all(is_repository_part) {
        return Err(
            "a repository must have lower-case letters and digits, joined by `.`, `_`, `-` and `/`, without `https://`",
        );
    }
    Ok(Image { name, tag, digest })
}

fn is_digest(digest: &str) -> bool {
    let hex = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
    digest
        .strip_prefix("sha256:")
        .is_some_and(|digits| digits.len() == 64 && digits.bytes().all(hex))
}

fn is_tag(tag: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    (1..=128).contains(&tag.len())
        && tag.starts_with(is_word)
        && tag.chars().all(|c| is_word(c) || matches!(c, '.' | '-'))
}

/// Whether the first part of a name is a registry: it contains a dot or a port, or is `localhost`.
fn is_registry(part: &str) -> bool {
    let (host, number) = match part.rsplit_once(':') {
        Some((host, number)) => (host, Some(number)),
        None => (part, None),
    };
    let has_registry_form = part.contains(['.', ':']) || part == "localhost";
    let port_is_number = number
        .is_none_or(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()));
    has_registry_form && port_is_number && host.to_ascii_lowercase().split('.').all(is_label)
}

fn is_repository_part(part: &str) -> bool {
    let is_separator = |separator: &str| {
        matches!(separator, "." | "_" | "__")
            || (!separator.is_empty() && separator.bytes().all(|b| b == b'-'))
    };
    let alphanumeric = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    part.starts_with(alphanumeric)
        && part.ends_with(alphanumeric)
        && part
            .split(alphanumeric)
            .filter(|separator| !separator.is_empty())
            .all(is_separator)
}

/// The problem of an image reference whose content can change, as a verb phrase.
pub fn floating_tag_problem(image: &Image<'_>) -> Option<&'static str> {
    match (image.digest, image.tag) {
        (None, None) => Some("has no tag"),
        (None, Some("latest")) => Some("has the tag `latest`"),
        (None, Some("main" | "master" | "nightly" | "edge")) => {
            Some("has a tag that moves with each build")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys() {
        for key in [
            "team",
            "app.kubernetes.io/name",
            "MyName",
            "my.name",
            "123-abc",
            "nvidia.com/gpu",
            "a",
            "example.com/My_Name.1",
        ] {
            assert_eq!(label_key_problem(key), None, "{key}");
        }
        for key in [
            "",
            "/name",
            "example.com/",
            "Example.com/name",
            "exa_mple.com/name",
            "-a",
            "a-",
            "a b",
            "a/b/c",
            "team:blue",
            "é",
        ] {
            assert!(label_key_problem(key).is_some(), "{key}");
        }
    }

    #[test]
    fn lengths_are_limited_to_63_and_253() {
        let name = |length| "a".repeat(length);
        let subdomain = |length: usize| format!("{}.{}", "a".repeat(200), "b".repeat(length - 201));
        assert_eq!(label_key_problem(&name(63)), None);
        assert!(label_key_problem(&name(64)).is_some());
        assert_eq!(label_value_problem(&name(63)), None);
        assert!(label_value_problem(&name(64)).is_some());
        assert_eq!(label_key_problem(&format!("{}/a", subdomain(253))), None);
        assert!(label_key_problem(&format!("{}/a", subdomain(254))).is_some());
        assert!(is_dns_label(&name(63)) && !is_dns_label(&name(64)));
    }

    #[test]
    fn values() {
        for value in ["", "MyValue", "my_value", "1.2-3", "0"] {
            assert_eq!(label_value_problem(value), None, "{value}");
        }
        for value in ["my value", "-a", "a.", "_", "a/b", "a=b", "a\n"] {
            assert!(label_value_problem(value).is_some(), "{value}");
        }
    }

    #[test]
    fn image_references_are_parsed() {
        let digest = format!("sha256:{}", "0".repeat(64));
        for (text, name, tag, with_digest) in [
            ("busybox", "busybox", None, false),
            (
                "registry.example.com/a/b:1.0",
                "registry.example.com/a/b",
                Some("1.0"),
                false,
            ),
            ("localhost:5000/a", "localhost:5000/a", None, false),
            (
                "localhost:5000/a__b:x",
                "localhost:5000/a__b",
                Some("x"),
                false,
            ),
            (
                "Registry.example.com/a",
                "Registry.example.com/a",
                None,
                true,
            ),
            ("a.b/c--d:v1", "a.b/c--d", Some("v1"), true),
        ] {
            let full = if with_digest {
                format!("{text}@{digest}")
            } else {
                text.to_owned()
            };
            let digest = with_digest.then_some(digest.as_str());
            assert_eq!(
                parse_image(&full),
                Ok(Image { name, tag, digest }),
                "{full}"
            );
        }
        for text in [
            "",
            ":1.0",
            "a:",
            "a@sha256:00",
            "a@md5:0",
            "Acme/a",
            "a/B",
            "https://registry.example.com/a",
            "a//b",
            "a b",
            "a:-x",
            "a/",
            "registry.example.com:port/a",
        ] {
            assert!(parse_image(text).is_err(), "{text}");
        }
    }
}
