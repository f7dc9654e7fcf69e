//! Cron schedules of Kubernetes, and the names of time zones.
//!
//! Source: robfig/cron@v3.0.1 `parser.go` (`ParseStandard`) and `spec.go` (`dayMatches`); kubernetes
//! `pkg/apis/batch/validation/validation.go` (`validateScheduleFormat`, `validateTimeZone`) (both from memory).

use gpuc_syntax::diag::phrases::closest_match;

/// The message and the help of an invalid schedule.
pub(crate) type Problem = (String, String);

/// The predefined schedules.
const DESCRIPTORS: &[&str] = &[
    "@yearly",
    "@annually",
    "@monthly",
    "@weekly",
    "@daily",
    "@midnight",
    "@hourly",
];

const MONTHS: &[&str] = &[
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];

const WEEKDAYS: &[&str] = &["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// The maximum number of days in each month.
const MAX_DAYS_IN_MONTH: [u32; 12] = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/// A field of a schedule: its unit, its range, and the names of its values.
struct Field {
    unit: &'static str,
    min: u32,
    max: u32,
    names: &'static [&'static str],
}

const fn field(unit: &'static str, min: u32, max: u32, names: &'static [&'static str]) -> Field {
    Field {
        unit,
        min,
        max,
        names,
    }
}

const FIELDS: [Field; 5] = [
    field("minute", 0, 59, &[]),
    field("hour", 0, 23, &[]),
    field("day of the month", 1, 31, &[]),
    field("month", 1, 12, MONTHS),
    field("weekday", 0, 6, WEEKDAYS),
];

/// The numbers that a field selects, and whether it is `*`.
struct Selection {
    numbers: Vec<u32>,
    is_any: bool,
}

/// Validates a schedule; `None` if it is valid.
pub fn schedule_problem(schedule: &str) -> Option<Problem> {
    let help = "write minute, hour, day, month and weekday: `0 3 * * *`".to_owned();
    if let Some(every) = schedule.strip_prefix("@every ") {
        let message = format!("invalid interval `{every}` between runs");
        let help = "write a duration, such as `@every 1h30m`".to_owned();
        return (!is_duration(every)).then_some((message, help));
    }
    if DESCRIPTORS.contains(&schedule) {
        return None;
    }
    let written: Vec<_> = schedule.split_whitespace().collect();
    if written.len() != FIELDS.len() {
        return Some((format!("invalid schedule `{schedule}`"), help));
    }
    let mut selections = Vec::new();
    for (field, written) in FIELDS.iter().zip(written) {
        match field.parse(written) {
            Ok(selection) => selections.push(selection),
            Err(problem) => return Some(problem),
        }
    }
    let [_, _, days, months, weekdays] = selections.as_slice() else {
        return None;
    };
    // If both a day and a weekday are set, the schedule runs when either matches.
    let by_date = weekdays.is_any && !days.is_any;
    let has_selected_day = |month: &u32| {
        let longest = usize::try_from(*month)
            .ok()
            .and_then(|it| MAX_DAYS_IN_MONTH.get(it - 1));
        let mut days = days.numbers.iter();
        longest.is_some_and(|longest| days.any(|day| day <= longest))
    };
    let never = by_date && !months.numbers.iter().any(has_selected_day);
    never.then(|| {
        let message =
            format!("the schedule `{schedule}` never runs: no selected month has a selected day");
        (message, "write a day that exists in the month".to_owned())
    })
}

impl Field {
    /// Parses the field: a list of numbers and ranges, each with an optional step.
    fn parse(&self, written: &str) -> Result<Selection, Problem> {
        let mut selection = Selection {
            numbers: Vec::new(),
            is_any: false,
        };
        for part in written.split(',') {
            let (range, step) = match part.split_once('/') {
                Some((range, step)) => (range, Some(step)),
                None => (part, None),
            };
            let by = match step.map(str::parse::<u32>) {
                None => 1,
                Some(Ok(step)) if step > 0 => step,
                Some(_) => {
                    let message = format!("invalid step in the {} `{part}`", self.unit);
                    return Err((message, "write 1 or more after the `/`".to_owned()));
                }
            };
            let is_any = range == "*" || range == "?";
            let (first, last) = match range.split_once('-') {
                _ if is_any => (self.min, self.max),
                Some((first, last)) => (self.parse_number(first)?, self.parse_number(last)?),
                None => {
                    let first = self.parse_number(range)?;
                    (first, if step.is_some() { self.max } else { first })
                }
            };
            if first > last {
                let message = format!("the range `{range}` ends before it starts");
                return Err((message, format!("write `{last}-{first}`, or two ranges")));
            }
            selection.is_any |= is_any && by == 1;
            let by = usize::try_from(by).unwrap_or(usize::MAX);
            selection.numbers.extend((first..=last).step_by(by));
        }
        Ok(selection)
    }

    /// Parses a number or a name within the range of the field.
    fn parse_number(&self, written: &str) -> Result<u32, Problem> {
        let lower = written.to_lowercase();
        let position = self.names.iter().position(|name| *name == lower);
        let position = position.and_then(|position| u32::try_from(position).ok());
        let is_numeric = !written.is_empty() && written.bytes().all(|it| it.is_ascii_digit());
        let number = match position {
            Some(position) => Some(position + self.min),
            None => written.parse().ok().filter(|_| is_numeric),
        };
        let (min, max) = (self.min, self.max);
        number
            .filter(|number| (min..=max).contains(number))
            .ok_or_else(|| {
                let message = format!("invalid {} `{written}`", self.unit);
                let help = if self.unit == "weekday" && written == "7" {
                    "write `0` for Sunday".to_owned()
                } else {
                    format!("write {min} to {max}, or `*` for all")
                };
                (message, help)
            })
    }
}

/// The units of a Go duration, in nanoseconds. The prefix of microseconds is the micro sign or the Greek letter.
const UNITS: &[(&str, u128)] = &[
    ("ns", 1),
    ("us", 1_000),
    ("\u{b5}s", 1_000),
    ("\u{3bc}s", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Whether a text is a Go duration: a sign, and decimal numbers with a unit. Without a unit, only `0` is valid. Every
/// valid duration is a valid interval, because a schedule rounds those below one second up.
///
/// Source: golang/go `src/time/format.go` (`ParseDuration`); robfig/cron@v3.0.1 `constantdelay.go` (`Every`) (both from
/// memory).
fn is_duration(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if unsigned.is_empty() || unsigned == "0" {
        return unsigned == "0";
    }
    let mut total = 0_u128;
    let mut rest = unsigned;
    while !rest.is_empty() {
        let Some((nanoseconds, after)) = leading_duration(rest) else {
            return false;
        };
        total = total.saturating_add(nanoseconds);
        rest = after;
    }
    // The range of a signed number of 64 bits.
    let max = (1_u128 << 63) - u128::from(!text.starts_with('-'));
    total <= max
}

/// The nanoseconds of the number and unit at the beginning of a text, and the rest of the text.
fn leading_duration(text: &str) -> Option<(u128, &str)> {
    let (whole, rest) = leading_digits(text);
    let (fraction, rest) = rest.strip_prefix('.').map_or(("", rest), leading_digits);
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let end = rest.find(|c: char| c == '.' || c.is_ascii_digit());
    let (unit, rest) = rest.split_at(end.unwrap_or(rest.len()));
    let (_, unit) = UNITS.iter().find(|(name, _)| *name == unit)?;
    let number = |digits: &str| match digits {
        "" => Some(0),
        digits => digits.parse::<u128>().ok(),
    };
    // More digits are less than a nanosecond.
    let (fraction, _) = fraction.split_at(fraction.len().min(18));
    let scale = 10_u128.pow(u32::try_from(fraction.len()).ok()?);
    let fraction_nanos = number(fraction)? * unit / scale;
    let whole = number(whole)?.checked_mul(*unit)?;
    Some((whole.checked_add(fraction_nanos)?, rest))
}

/// The digits at the beginning of a text, and the rest of the text.
fn leading_digits(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit());
    text.split_at(end.unwrap_or(text.len()))
}

/// The names of time zones without `/`.
///
/// Source: the time zone database, 2025b (from memory).
const ZONES_WITHOUT_AREA: &[&str] = &[
    "CET",
    "CST6CDT",
    "Cuba",
    "EET",
    "EST",
    "EST5EDT",
    "Egypt",
    "Eire",
    "GB",
    "GB-Eire",
    "GMT",
    "GMT+0",
    "GMT-0",
    "GMT0",
    "Greenwich",
    "HST",
    "Hongkong",
    "Iceland",
    "Iran",
    "Israel",
    "Jamaica",
    "Japan",
    "Kwajalein",
    "Libya",
    "MET",
    "MST",
    "MST7MDT",
    "NZ",
    "NZ-CHAT",
    "Navajo",
    "PRC",
    "PST8PDT",
    "Poland",
    "Portugal",
    "ROC",
    "ROK",
    "Singapore",
    "Turkey",
    "UCT",
    "UTC",
    "Universal",
    "W-SU",
    "WET",
    "Zulu",
];

/// The first parts of the names of time zones with `/`.
///
/// Source: the time zone database, 2025b (from memory).
const AREAS: &[&str] = &[
    "Africa",
    "America",
    "Antarctica",
    "Arctic",
    "Asia",
    "Atlantic",
    "Australia",
    "Brazil",
    "Canada",
    "Chile",
    "Etc",
    "Europe",
    "Indian",
    "Mexico",
    "Pacific",
    "US",
];

/// The locations in each area.
const ZONES: &str = include_str!("zones.txt");

/// The likely time zone for a misspelled name. A name that resembles no known zone may be the name of a newer one.
pub fn closest_time_zone(name: &str) -> Option<String> {
    let (area, location) = name.split_once('/')?;
    let mut current_area = "";
    let locations: Vec<_> = ZONES
        .lines()
        .filter(|line| !line.starts_with('#'))
        .flat_map(|line| line.split_whitespace().map(move |word| (line, word)))
        .filter(|(line, word)| {
            // The area is at the beginning of its line.
            let is_area = std::ptr::eq(line.as_ptr(), word.as_ptr());
            if is_area {
                current_area = word;
            }
            !is_area && current_area == area
        })
        .map(|(_, word)| word)
        .collect();
    if locations.contains(&location) {
        return None;
    }
    let closest = closest_match(location, locations)?;
    Some(format!("{area}/{closest}"))
}

/// Whether a name is, as far as is known, the name of a time zone.
pub fn is_time_zone(name: &str) -> bool {
    has_zone_syntax(name) && closest_time_zone(name).is_none()
}

fn has_zone_syntax(name: &str) -> bool {
    let Some((area, location)) = name.split_once('/') else {
        return ZONES_WITHOUT_AREA.contains(&name);
    };
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '+' | '-');
    let is_part = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_uppercase()) && part.chars().all(is_allowed)
    };
    AREAS.contains(&area) && location.split('/').all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(schedule: &str, expected: Option<&str>) {
        let found = schedule_problem(schedule).map(|it| it.0);
        assert_eq!(found.as_deref(), expected, "{schedule}");
    }

    #[test]
    fn valid_schedules_pass() {
        for schedule in [
            "0 3 * * *",
            "*/5 0-6 1,15 * MON-FRI",
            "5/15 * ? jan,Feb *",
            "0 0 29 2 *",
            "0 0 30 2 1",
            "0 0 31 2,3 *",
            "@daily",
            "@every 1h30m",
        ] {
            check(schedule, None);
        }
    }

    #[test]
    fn invalid_schedules_are_rejected() {
        check("0 3 * *", Some("invalid schedule `0 3 * *`"));
        check(
            "TZ=UTC 0 3 * * *",
            Some("invalid schedule `TZ=UTC 0 3 * * *`"),
        );
        check("60 * * * *", Some("invalid minute `60`"));
        check("0 24 * * *", Some("invalid hour `24`"));
        check("0 0 0 * *", Some("invalid day of the month `0`"));
        check("0 0 * 13 *", Some("invalid month `13`"));
        check("0 0 * * 7", Some("invalid weekday `7`"));
        check("0 0 * * $", Some("invalid weekday `$`"));
        check("+1 0 * * *", Some("invalid minute `+1`"));
        check("1, 0 * * *", Some("invalid minute ``"));
        check("*/0 * * * *", Some("invalid step in the minute `*/0`"));
        check(
            "30-10 * * * *",
            Some("the range `30-10` ends before it starts"),
        );
        check("@every 1d", Some("invalid interval `1d` between runs"));
        let never = "the schedule `0 0 30 2 *` never runs: no selected month has a selected day";
        check("0 0 30 2 *", Some(never));
    }

    #[test]
    fn intervals_are_go_durations() {
        for valid in [
            "1h30m",
            "1.5h",
            "500ms",
            "1.s",
            ".5m",
            "1h0.5m10s",
            "100us",
            "100\u{b5}s",
            "100\u{3bc}s",
            "90ns",
            "+1h",
            "-1h",
            "0",
            "0s",
            "1000000000s",
            "0.00000000000000000000000000000000000000000000000001h",
            "9223372036854775807ns",
            "-9223372036854775808ns",
        ] {
            check(&format!("@every {valid}"), None);
        }
        for invalid in [
            "",
            "1",
            "-",
            "+",
            ".s",
            ".",
            "1.",
            "h",
            "1 h",
            " 1h",
            "1h ",
            "1d",
            "1H",
            "1.5.h",
            "--1h",
            "1h-1m",
            "1e3s",
            "9223372036854775808ns",
            "2562048h",
            "99999999999999999999999999999999999999999999h",
        ] {
            let message = format!("invalid interval `{invalid}` between runs");
            check(&format!("@every {invalid}"), Some(&message));
        }
    }

    #[test]
    fn time_zones_are_recognized_by_name() {
        for name in [
            "UTC",
            "Europe/Berlin",
            "Etc/GMT+1",
            "America/Argentina/Buenos_Aires",
            "America/Indiana/Indianapolis",
            "Pacific/Atlantis",
        ] {
            assert!(is_time_zone(name), "{name}");
        }
        for name in [
            "Local",
            "",
            "Berlin",
            "CEST",
            "Europe/",
            "Europe/berlin",
            "+02:00",
            "../UTC",
            "Europe/Berln",
            "America/New_york",
        ] {
            assert!(!is_time_zone(name), "{name}");
        }
        assert_eq!(closest_time_zone("Europe/Berln").unwrap(), "Europe/Berlin");
        assert_eq!(
            closest_time_zone("America/New_york").unwrap(),
            "America/New_York"
        );
        assert_eq!(closest_time_zone("Berlin"), None);
    }
}
