//! The time during which an EC2 Capacity Block has machines.

use gpuc_schema::config::CapacityBlock;
use gpuc_schema::{Span, Spanned};
use jiff::{SignedDuration, Timestamp};

/// The time between the deletion of the nodes and the end of a block. EKS adds a scheduled action that scales the node
/// group to 0; EC2 terminates the machines 30 minutes before the end.
///
/// Source: awsdocs/amazon-eks-user-guide `nodes/capacity-blocks-mng.adoc` @2ef9e386, read 2026-11-22.
const SCALE_DOWN: SignedDuration = SignedDuration::from_mins(40);

/// The time during which a capacity block has machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapacityPeriod {
    /// Its start.
    pub start: Timestamp,
    /// The time at which EKS deletes the nodes.
    pub scale_down: Timestamp,
    /// The span of the start in the file.
    pub start_span: Span,
    /// The span of the end in the file.
    pub end_span: Span,
}

/// A mistake in the times of a capacity block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeriodError {
    /// This text is not a time.
    Malformed(Span),
    /// The block ends before its nodes could start.
    Reversed,
}

impl CapacityPeriod {
    /// The period of a block.
    ///
    /// # Errors
    ///
    /// A text is not a time with its distance from UTC, such as `2026-12-01T11:30:00Z`, or the end is not at least 40
    /// minutes after the start.
    pub fn from_block(block: &CapacityBlock) -> Result<Self, PeriodError> {
        let (start, end) = (parse_time(&block.start)?, parse_time(&block.end)?);
        let scale_down = end.checked_sub(SCALE_DOWN);
        let scale_down = scale_down.map_err(|_| PeriodError::Reversed)?;
        if scale_down <= start {
            return Err(PeriodError::Reversed);
        }
        Ok(Self {
            start,
            scale_down,
            start_span: block.start.span,
            end_span: block.end.span,
        })
    }
}

impl CapacityPeriod {
    /// Whether a text is a time, such as `2026-12-01T11:30:00Z`.
    pub fn is_time(text: &Spanned<String>) -> bool {
        parse_time(text).is_ok()
    }
}

/// All forms of ISO 8601 that name one point in time are accepted: those of the versions of the AWS CLI differ.
fn parse_time(text: &Spanned<String>) -> Result<Timestamp, PeriodError> {
    let time: Option<Timestamp> = text.parse().ok();
    time.filter(|time| time.subsec_nanosecond() == 0)
        .ok_or(PeriodError::Malformed(text.span))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn period(start: &str, end: &str) -> Result<CapacityPeriod, PeriodError> {
        let text = |text: &str| Spanned::without_span(text.to_owned());
        CapacityPeriod::from_block(&CapacityBlock {
            id: text("cr-0123456789abcdef0"),
            count: Spanned::without_span(1),
            start: text(start),
            end: text(end),
        })
    }

    #[test]
    fn nodes_are_deleted_before_the_end() {
        let found = period("2026-12-01T11:30:00Z", "2026-12-02T11:30:00Z").expect("a period");
        assert_eq!(found.start.to_string(), "2026-12-01T11:30:00Z");
        assert_eq!(found.scale_down.to_string(), "2026-12-02T10:50:00Z");
    }

    #[test]
    fn every_form_of_a_time_is_valid() {
        for text in [
            "2026-12-01T11:30:00Z",
            "2026-12-01T11:30:00+00:00",
            "2026-12-01T11:30:00.000Z",
            "2026-12-01T12:30:00+01:00",
        ] {
            let found = period(text, "2030-01-01T00:00:00Z").expect("a period");
            assert_eq!(found.start.to_string(), "2026-12-01T11:30:00Z", "{text}");
        }
    }

    #[test]
    fn only_points_in_time_are_valid() {
        for text in [
            "2026-12-01",
            "2026-12-01T11:30:00",
            "2026-12-01T11:30:00.5Z",
            "2026-13-01T11:30:00Z",
            "$(date)",
            "",
        ] {
            let found = period(text, "2030-01-01T00:00:00Z");
            assert!(matches!(found, Err(PeriodError::Malformed(_))), "{text}");
        }
    }

    #[test]
    fn end_is_after_the_start() {
        let start = "2026-12-01T11:30:00Z";
        for end in [start, "2026-11-30T00:00:00Z", "2026-12-01T12:10:00Z"] {
            assert_eq!(period(start, end), Err(PeriodError::Reversed), "{end}");
        }
        assert!(period(start, "2026-12-01T12:10:01Z").is_ok());
    }
}
