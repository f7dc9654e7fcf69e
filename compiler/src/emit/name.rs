//! Names of Kubernetes and of users, as names of files.

use std::fmt::Write;

use crate::lock::digest;

/// The most characters of a part of a file name. Names of files have at most 255 bytes, and a Kubernetes name alone may
/// have 253.
const MOST: usize = 120;

/// A name as part of a file name: different names stay different, on file systems that ignore case too.
pub(super) fn part(name: &str) -> String {
    let mut part = String::new();
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' => part.push(char::from(byte)),
            b'.' if !part.is_empty() => part.push('.'),
            _ => write!(part, "_{byte:02x}").expect("a String takes everything"),
        }
    }
    if part.len() > MOST {
        let digest = digest(name.as_bytes());
        part.truncate(MOST - 17);
        // A `~` stands in no other part.
        write!(part, "~{}", &digest[7..23]).expect("a String takes everything");
    }
    part
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn common_names_stay_as_they_are() {
        for name in ["gpuc-runtime", "nvidia.com", "a.b-c9"] {
            assert_eq!(part(name), name);
        }
        assert_eq!(part("system:node"), "system_3anode");
    }

    #[test]
    fn different_names_stay_different_and_lead_nowhere() {
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
        let parts: BTreeSet<String> = names.map(|name| part(name).to_lowercase()).into();
        assert_eq!(parts.len(), names.len());
        for part in parts {
            assert!(
                part.len() <= MOST && !part.starts_with('.') && !part.contains(['/', ' ', '\n']),
                "{part}"
            );
        }
    }
}
