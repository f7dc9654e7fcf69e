//! Today's date.

use std::env;

use anyhow::{Context, Result};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

/// The environment variable with the date to use instead of today's.
///
/// Source: <https://reproducible-builds.org/specs/source-date-epoch/>, 2026-11-23.
const VARIABLE: &str = "SOURCE_DATE_EPOCH";

/// Today's date in UTC, or the date in `SOURCE_DATE_EPOCH`. Only findings about dated facts depend on it.
///
/// # Errors
///
/// If the variable is set and is not a number of seconds since 1970.
pub(super) fn today() -> Result<Date> {
    let now = match env::var_os(VARIABLE).filter(|value| !value.is_empty()) {
        Some(value) => {
            let seconds = value.to_str().and_then(|text| text.parse().ok());
            let time = seconds.and_then(|seconds| Timestamp::from_second(seconds).ok());
            time.with_context(|| {
                let value = value.to_string_lossy();
                format!(
                    "invalid {VARIABLE}: expected a number of seconds since 1970, not `{value}`"
                )
            })?
        }
        None => Timestamp::now(),
    };
    Ok(Zoned::new(now, TimeZone::UTC).date())
}

/// The current time in RFC 3339, in seconds.
pub(super) fn now() -> String {
    let now = Timestamp::now().as_second();
    Timestamp::from_second(now).map_or_else(|_| String::new(), |now| now.to_string())
}
