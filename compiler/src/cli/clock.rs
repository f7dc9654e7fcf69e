//! Today's date.

use std::env;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

/// Today's date in UTC: that of the environment variable `SOURCE_DATE_EPOCH`, if it is a number of seconds since 1970,
/// otherwise that of the clock. Only findings about dated facts depend on it.
///
/// Source: <https://reproducible-builds.org/specs/source-date-epoch/>, 2026-11-23.
pub(super) fn today() -> Option<Date> {
    let now = match env::var("SOURCE_DATE_EPOCH") {
        Ok(seconds) => Timestamp::from_second(seconds.parse().ok()?).ok()?,
        Err(_) => Timestamp::now(),
    };
    Some(Zoned::new(now, TimeZone::UTC).date())
}
