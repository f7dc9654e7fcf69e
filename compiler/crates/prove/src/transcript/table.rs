//! The table of results of nccl-tests.

use crate::judgement::Evidence;

/// A row of results.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The size of the message in bytes.
    pub bytes: u64,
    /// The data type: `float`.
    pub data_type: String,
    /// The reduction: `sum`; empty if the test prints none.
    pub reduction: String,
    /// The results with different buffers, if they were measured.
    pub out_of_place: Option<Columns>,
    /// The results with the same buffer, if they were measured.
    pub in_place: Option<Columns>,
    /// The line.
    pub evidence: Evidence,
}

/// The results of a measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Columns {
    /// The time in microseconds.
    pub microseconds: f64,
    /// The algorithm bandwidth in GB/s.
    pub algorithm_bandwidth: f64,
    /// The bus bandwidth in GB/s.
    pub bus_bandwidth: f64,
    /// The number of wrong values; `None` if they were not verified.
    pub wrong: Option<u64>,
}

impl Row {
    /// The results that are judged: out of place, or in place if only these were measured.
    pub fn results(&self) -> Option<Columns> {
        self.out_of_place.or(self.in_place)
    }

    /// The number of wrong values, of both measurements.
    pub fn wrong(&self) -> u64 {
        let columns = self.out_of_place.iter().chain(&self.in_place);
        columns
            .filter_map(|it| it.wrong)
            .fold(0, u64::saturating_add)
    }

    /// Whether all measured values were verified.
    pub fn is_verified(&self) -> bool {
        let mut columns = self.out_of_place.iter().chain(&self.in_place);
        columns.all(|it| it.wrong.is_some())
    }
}

/// A row: size, count, type, reduction and root (which some tests and versions omit), and twice the time, the algorithm
/// bandwidth, the bus bandwidth and the number of wrong values.
pub(super) fn row(text: &str, evidence: impl Fn() -> Evidence) -> Option<Row> {
    if !text
        .trim_start()
        .starts_with(|it: char| it.is_ascii_digit())
    {
        return None;
    }
    let words: Vec<&str> = text.split_ascii_whitespace().take(20).collect();
    if !(11..=13).contains(&words.len()) {
        return None;
    }
    let (labels, columns) = words.split_at(words.len() - 8);
    let bytes = labels[0].parse().ok()?;
    let _count: u64 = labels[1].parse().ok()?;
    let data_type = labels[2];
    if !data_type.starts_with(|it: char| it.is_ascii_alphabetic()) {
        return None;
    }
    let out_of_place = Measurement::read(&columns[..4])?.columns();
    let in_place = Measurement::read(&columns[4..])?.columns();
    if out_of_place.is_none() && in_place.is_none() {
        return None;
    }
    Some(Row {
        bytes,
        data_type: data_type.chars().take(20).collect(),
        reduction: labels.get(3).unwrap_or(&"").chars().take(20).collect(),
        out_of_place,
        in_place,
        evidence: evidence(),
    })
}

/// A measurement with or without one of the buffers.
enum Measurement {
    Made(Columns),
    NotMade,
}

impl Measurement {
    /// Reads four columns.
    fn read(words: &[&str]) -> Option<Self> {
        let [time, algorithm, bus, wrong] = words else {
            return None;
        };
        if *time == "N/A" {
            return Some(Self::NotMade);
        }
        let number = |text: &str| {
            let number = text.parse::<f64>().ok();
            number.filter(|it| it.is_finite() && *it >= 0.0)
        };
        Some(Self::Made(Columns {
            microseconds: number(time)?,
            algorithm_bandwidth: number(algorithm)?,
            bus_bandwidth: number(bus)?,
            wrong: match *wrong {
                "N/A" => None,
                text => Some(wrong_values(number(text)?)),
            },
        }))
    }

    fn columns(self) -> Option<Columns> {
        match self {
            Self::Made(columns) => Some(columns),
            Self::NotMade => None,
        }
    }
}

/// Old versions print the largest error, such as `1e-07`, which must round to 0 for tests with float; newer versions
/// print a number of values.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the number is not negative, and a float that is too large becomes the largest integer"
)]
fn wrong_values(number: f64) -> u64 {
    const OLD_TOLERANCE: f64 = 1e-3;
    if number < OLD_TOLERANCE {
        0
    } else {
        number.ceil() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::{Row, row};
    use crate::judgement::Evidence;

    fn read(text: &str) -> Option<Row> {
        row(text, || Evidence {
            line: 1,
            text: String::new(),
        })
    }

    #[test]
    fn rows_of_all_versions_are_read() {
        let new = read(
            "  1048576  262144  float  sum  -1  105.9  9.90  17.33  0  105.7  9.92  17.37  N/A",
        )
        .unwrap();
        assert_eq!((new.bytes, new.reduction.as_str()), (1_048_576, "sum"));
        assert!((new.results().unwrap().bus_bandwidth - 17.33).abs() < 1e-9);
        assert!(!new.is_verified());
        let old = read("67108864 16777216 float sum 77875 0.86 0.91 0e+00 77864 0.86 0.86 1e-07")
            .unwrap();
        assert_eq!(old.wrong(), 0);
        let torch = read("8 2 float sum -1 N/A N/A N/A N/A 20.1 0.00 0.01 3").unwrap();
        assert_eq!(torch.wrong(), 3);
        assert!((torch.results().unwrap().bus_bandwidth - 0.01).abs() < 1e-9);
    }

    #[test]
    fn half_rows_are_no_rows() {
        let full = "1048576 262144 float sum -1 105.9 9.90 17.33 0 105.7 9.92 17.37 0";
        assert!(read(full).is_some());
        // Without the last column, the words are those of an old row with numbers as names.
        for end in 0..full.len() {
            let half = read(&full[..end]);
            assert!(half.is_none(), "{:?}", &full[..end]);
        }
        assert!(read("1 2 float sum -1 N/A N/A N/A N/A N/A N/A N/A N/A").is_none());
        assert!(read("1 2 float sum -1 NaN 1 1 0 1 1 inf 0").is_none());
    }
}
