//! Names in Kubernetes, for clouds without names of their own.

/// Whether `text` consists of lower-case letters, digits and `-`, with a letter or digit at both ends. The length is
/// not checked.
pub(crate) fn is_dns_label(text: &str) -> bool {
    let is_inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let is_end = |c: Option<char>| c.is_some_and(|c| c != '-' && is_inner(c));
    is_end(text.chars().next()) && is_end(text.chars().next_back()) && text.chars().all(is_inner)
}
