//! Ranges of IPv4 addresses.

use std::fmt;
use std::net::Ipv4Addr;

/// A range of IPv4 addresses, such as `10.20.0.0/16`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv4Range {
    first: u32,
    prefix: u32,
}

/// Why a text is not a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RangeError {
    /// It does not have the form `ADDRESS/PREFIX`, or its prefix is longer than 32.
    Malformed,
    /// It has host bits; the range without them.
    HostBits(Ipv4Range),
}

impl Ipv4Range {
    /// Reads a range.
    pub fn parse(text: &str) -> Result<Self, RangeError> {
        let (address, prefix) = text.split_once('/').ok_or(RangeError::Malformed)?;
        let address: Ipv4Addr = address.parse().map_err(|_| RangeError::Malformed)?;
        let is_number = prefix.bytes().all(|byte| byte.is_ascii_digit());
        let prefix = prefix
            .parse()
            .ok()
            .filter(|prefix| is_number && *prefix <= 32);
        let prefix: u32 = prefix.ok_or(RangeError::Malformed)?;
        let mask = u32::MAX.checked_shl(32 - prefix).unwrap_or(0);
        let first = address.to_bits() & mask;
        let range = Self { first, prefix };
        if first == address.to_bits() {
            Ok(range)
        } else {
            Err(RangeError::HostBits(range))
        }
    }

    /// Whether the range contains all addresses of another one.
    pub fn contains(self, other: Self) -> bool {
        self.prefix <= other.prefix && self.overlaps(other)
    }

    /// Whether no address of the range is a public address of the internet. Ranges for documentation count as public.
    ///
    /// Source: iana.org/assignments/iana-ipv4-special-registry, 2026-11-28.
    pub fn is_private(self) -> bool {
        const PRIVATE: [(u32, u32); 9] = [
            (0x0000_0000, 8),
            (0x0a00_0000, 8),
            (0x6440_0000, 10),
            (0x7f00_0000, 8),
            (0xa9fe_0000, 16),
            (0xac10_0000, 12),
            (0xc0a8_0000, 16),
            (0xe000_0000, 4),
            (0xf000_0000, 4),
        ];
        let mut private = PRIVATE
            .map(|(first, prefix)| Self { first, prefix })
            .into_iter();
        private.any(|private| private.contains(self))
    }

    /// The length of the prefix.
    pub fn prefix(self) -> u32 {
        self.prefix
    }

    /// Whether two ranges have an address in common.
    pub fn overlaps(self, other: Self) -> bool {
        let shorter = self.prefix.min(other.prefix);
        let network = |range: Self| u64::from(range.first) >> (32 - shorter);
        network(self) == network(other)
    }

    /// One of the ranges with a longer prefix into which this range is divided, by its number from 0.
    #[must_use]
    pub fn part(self, prefix: u32, number: u32) -> Self {
        let first = self.first.saturating_add(number << (32 - prefix));
        Self { first, prefix }
    }

    /// The address at this offset from the first one.
    pub fn address(self, offset: u32) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.first.saturating_add(offset))
    }
}

impl fmt::Display for Ipv4Range {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{}/{}",
            Ipv4Addr::from_bits(self.first),
            self.prefix
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ranges_are_read() {
        for text in ["10.0.0.0/8", "0.0.0.0/0", "10.0.0.1/32", "192.168.4.0/22"] {
            assert_eq!(Ipv4Range::parse(text).unwrap().to_string(), text);
        }
        for text in [
            "",
            "10.0.0.0",
            "10.0.0.0/33",
            "10.0.0.0/+8",
            "10.0.0.0/-1",
            "::/8",
            "10.0.0/8",
        ] {
            assert_eq!(Ipv4Range::parse(text), Err(RangeError::Malformed), "{text}");
        }
        let Err(RangeError::HostBits(range)) = Ipv4Range::parse("10.1.2.3/8") else {
            panic!("host bits");
        };
        assert_eq!(range.to_string(), "10.0.0.0/8");
    }

    #[test]
    fn private_ranges() {
        let is_private = |text| Ipv4Range::parse(text).unwrap().is_private();
        for text in [
            "10.0.0.0/8",
            "172.31.0.0/16",
            "192.168.1.0/24",
            "100.64.0.0/10",
            "0.0.0.0/32",
        ] {
            assert!(is_private(text), "{text}");
        }
        for text in ["0.0.0.0/0", "8.0.0.0/7", "203.0.113.0/24", "172.32.0.0/16"] {
            assert!(!is_private(text), "{text}");
        }
    }

    #[test]
    fn ranges_overlap_if_one_contains_the_other() {
        let overlap = |one, other| {
            let [one, other] = [one, other].map(|text| Ipv4Range::parse(text).unwrap());
            assert_eq!(one.overlaps(other), other.overlaps(one));
            one.overlaps(other)
        };
        assert!(overlap("10.0.0.0/8", "10.244.0.0/16"));
        assert!(overlap("0.0.0.0/0", "10.244.0.0/16"));
        assert!(overlap("10.0.0.0/16", "10.0.0.0/16"));
        assert!(!overlap("10.0.0.0/16", "10.1.0.0/16"));
        assert!(!overlap("10.0.0.0/17", "10.0.128.0/17"));
    }
}
