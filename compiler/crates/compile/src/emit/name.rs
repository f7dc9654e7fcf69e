//! File names for Kubernetes names and user-defined names.

use std::fmt::Write;

use crate::lock::digest;

/// The maximum length of a part of a file name. File names have at most 255 bytes, and a Kubernetes name alone can have
/// 253.
const MAX_LENGTH: usize = 120;

/// Encodes a name as part of a file name. Different names stay different, also on case-insensitive file systems.
pub(super) fn file_name_part(name: &str) -> String {
    let mut part = String::new();
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' => part.push(char::from(byte)),
            b'.' if !part.is_empty() => part.push('.'),
            _ => write!(part, "_{byte:02x}").expect("a String takes everything"),
        }
    }
    if part.len() > MAX_LENGTH {
        let digest = digest(name.as_bytes());
        part.truncate(MAX_LENGTH - 17);
        // No other part contains a `~`.
        write!(part, "~{}", &digest[7..23]).expect("a String takes everything");
    }
    part
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn common_names_are_unchanged() {
        for name in ["gpuc-runtime", "nvidia.com", "a.b-c9"] {
            assert_eq!(file_name_part(name), name);
        }
        assert_eq!(file_name_part("system:node"), "system_3anode");
    }

    #[test]
    fn parts_are_unique_and_stay_in_the_folder() {
        let long = "a".repeat(253);
        let names = [
            "a",
            "A",
            "a_",
            "a_5f",
            "a:b",
            "a_3ab",
            "a/b",
            "..",
            ".",
            ".a",
            "",
            "é",
            &long,
            &long[1..],
            "a b",
            "a\nb",
        ];
        let parts: BTreeSet<String> = names.map(|name| file_name_part(name).to_lowercase()).into();
        assert_eq!(parts.len(), names.len());
        for part in parts {
            assert!(
                part.len() <= MAX_LENGTH
                    && !part.starts_with('.')
                    && !part.contains(['/', ' ', '\n']),
                "{part}"
            );
        }
    }
}
