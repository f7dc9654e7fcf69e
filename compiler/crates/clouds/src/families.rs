//! Families of machine types without GPUs: which names exist, which can be new, and which are typos.
//!
//! Clouds add families faster than a table is updated. A name that is not in the table is new if it follows the cloud's
//! naming convention and its generation is recent. Otherwise, if it is one letter away from a family, it is a typo.

use gpuc_syntax::diag::phrases::one_edit_away;

/// The parts of a family's name: `m7gd` is series m, generation 7, attributes g and d.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Family<'n> {
    /// The series.
    pub(crate) series: &'n str,
    /// The generation.
    pub(crate) generation: u32,
    /// The attributes, one letter each.
    pub(crate) attributes: &'n str,
}

/// The families of a cloud, and how it names them.
pub(crate) struct Families {
    /// The names.
    pub(crate) names: &'static [&'static str],
    /// The parts of a name, if it follows the convention.
    pub(crate) parse: for<'n> fn(&'n str) -> Option<Family<'n>>,
    /// The letters of attributes.
    pub(crate) attributes: &'static str,
}

/// The classification of a family's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FamilyName {
    /// It is in the table.
    Known,
    /// It is not in the table, and can be new.
    Unknown,
    /// It is a typo of one of these families.
    Mistyped(Vec<&'static str>),
}

impl Families {
    /// Classifies a name.
    pub(crate) fn classify(&self, name: &str) -> FamilyName {
        if self.names.contains(&name) {
            return FamilyName::Known;
        }
        if self.is_recent(name) {
            return FamilyName::Unknown;
        }
        let similar = one_edit_away(name, self.names.iter().copied());
        if similar.is_empty() {
            FamilyName::Unknown
        } else {
            FamilyName::Mistyped(similar)
        }
    }

    /// Whether a name follows the convention, in a known series and a recent generation: the last two, or the next
    /// two. Families with new attributes are added to the generation before the last, such as m8idb after m9g.
    fn is_recent(&self, name: &str) -> bool {
        let Some(family) = (self.parse)(name) else {
            return false;
        };
        let known = self.names.iter().filter_map(|name| (self.parse)(name));
        let newest = known
            .filter(|known| known.series == family.series)
            .map(|known| known.generation)
            .max();
        let attributes = family.attributes;
        let is_repeated = |(at, letter): (usize, char)| attributes[..at].contains(letter);
        newest.is_some_and(|newest| {
            (newest.saturating_sub(1)..=newest + 2).contains(&family.generation)
        }) && attributes.chars().all(|it| self.attributes.contains(it))
            && !attributes.char_indices().any(is_repeated)
    }
}

/// The parts of a name of letters, digits and attributes: `m7gd`, `n4a`.
pub(crate) fn parse_family(name: &str) -> Option<Family<'_>> {
    let is_digit = |c: char| c.is_ascii_digit();
    let (series, rest) = name.split_at(name.find(is_digit)?);
    let attributes = rest.trim_start_matches(is_digit);
    let generation = rest[..rest.len() - attributes.len()].parse().ok()?;
    let is_word = |text: &str| text.bytes().all(|b| b.is_ascii_lowercase());
    (!series.is_empty() && is_word(series) && is_word(attributes)).then_some(Family {
        series,
        generation,
        attributes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    static FAMILIES: Families = Families {
        names: &["m6i", "m6id", "m7i", "m8g", "m8gd", "x1e"],
        parse: parse_family,
        attributes: "abdegin",
    };

    #[test]
    fn recent_names_can_be_new() {
        for name in ["m9g", "m10i", "m8ib", "m7gn", "q3"] {
            assert_eq!(FAMILIES.classify(name), FamilyName::Unknown, "{name}");
        }
        assert_eq!(FAMILIES.classify("m7i"), FamilyName::Known);
    }

    #[test]
    fn similar_names_are_typos() {
        for (name, families) in [
            ("m7ii", &["m7i"][..]),
            ("mi7", &["m7i"]),
            ("m6i2", &["m6i", "m6id"]),
            ("m7x", &["m7i"]),
            ("m77i", &["m7i"]),
        ] {
            let expected = FamilyName::Mistyped(families.to_vec());
            assert_eq!(FAMILIES.classify(name), expected, "{name}");
        }
    }

    #[test]
    fn names_have_parts() {
        let family = parse_family("c8gd").expect("a family");
        assert_eq!(
            (family.series, family.generation, family.attributes),
            ("c", 8, "gd")
        );
        for name in ["m", "7i", "m7-flex", "M7", ""] {
            assert_eq!(parse_family(name), None, "{name}");
        }
    }
}
