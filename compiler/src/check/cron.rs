//! Schedules as Kubernetes reads them, and the names of time zones.
//!
//! Source: robfig/cron@v3.0.1 `parser.go` (`ParseStandard`) and `spec.go` (`dayMatches`); kubernetes
//! `pkg/apis/batch/validation/validation.go` (`validateScheduleFormat`, `validateTimeZone`) (both from memory).

use crate::diag::words::nearest;

/// What is wrong, and what to write.
pub(crate) type Problem = (String, String);

/// The words that stand for schedules.
const WORDS: &[&str] = &[
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

/// The days that a month has at the most.
const DAYS: [u32; 12] = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/// A field of a schedule: what it counts, and between which numbers.
struct Field {
    what: &'static str,
    least: u32,
    most: u32,
    names: &'static [&'static str],
}

const fn field(what: &'static str, least: u32, most: u32, names: &'static [&'static str]) -> Field {
    Field {
        what,
        least,
        most,
        names,
    }
}

const FIELDS: [Field; 5] = [
    field("minute", 0, 59, &[]),
    field("hour", 0, 23, &[]),
    field("day of a month", 1, 31, &[]),
    field("month", 1, 12, MONTHS),
    field("weekday", 0, 6, WEEKDAYS),
];

/// The numbers that a field takes, and whether it takes all because nothing is asked of it.
struct Taken {
    numbers: Vec<u32>,
    is_any: bool,
}

/// What is wrong with a schedule; `None` when nothing is.
pub(crate) fn schedule_problem(schedule: &str) -> Option<Problem> {
    let help = "write minute, hour, day, month and weekday: `0 3 * * *`".to_owned();
    if let Some(every) = schedule.strip_prefix("@every ") {
        let wrong = format!("`{every}` is no time between runs");
        return (!is_duration(every)).then(|| (wrong, "write such as `@every 1h30m`".to_owned()));
    }
    if WORDS.contains(&schedule) {
        return None;
    }
    let written: Vec<_> = schedule.split_whitespace().collect();
    if written.len() != FIELDS.len() {
        return Some((format!("`{schedule}` is no schedule"), help));
    }
    let mut taken = Vec::new();
    for (field, written) in FIELDS.iter().zip(written) {
        match field.read(written) {
            Ok(numbers) => taken.push(numbers),
            Err(problem) => return Some(problem),
        }
    }
    let [_, _, days, months, weekdays] = taken.as_slice() else {
        return None;
    };
    // Of a day and a weekday that are both asked for, one is enough.
    let by_date = weekdays.is_any && !days.is_any;
    let exists = |month: &u32| {
        let longest = usize::try_from(*month).ok().and_then(|it| DAYS.get(it - 1));
        let mut days = days.numbers.iter();
        longest.is_some_and(|longest| days.any(|day| day <= longest))
    };
    let never = by_date && !months.numbers.iter().any(exists);
    never.then(|| {
        let message = format!("`{schedule}` never comes: no such month has such a day");
        (message, "write a day that the month has".to_owned())
    })
}

impl Field {
    fn read(&self, written: &str) -> Result<Taken, Problem> {
        let mut taken = Taken {
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
                    let message =
                        format!("`{part}` has no step from one {} to the next", self.what);
                    return Err((message, "write 1 or more after the `/`".to_owned()));
                }
            };
            let is_any = range == "*" || range == "?";
            let (first, last) = match range.split_once('-') {
                _ if is_any => (self.least, self.most),
                Some((first, last)) => (self.number(first)?, self.number(last)?),
                None => {
                    let first = self.number(range)?;
                    (first, if step.is_some() { self.most } else { first })
                }
            };
            if first > last {
                let message = format!("`{range}` ends before it starts");
                return Err((message, format!("write `{last}-{first}`, or two ranges")));
            }
            taken.is_any |= is_any && by == 1;
            let by = usize::try_from(by).unwrap_or(usize::MAX);
            taken.numbers.extend((first..=last).step_by(by));
        }
        Ok(taken)
    }

    fn number(&self, written: &str) -> Result<u32, Problem> {
        let lower = written.to_lowercase();
        let named = self.names.iter().position(|name| *name == lower);
        let named = named.and_then(|place| u32::try_from(place).ok());
        let digits = !written.is_empty() && written.bytes().all(|it| it.is_ascii_digit());
        let number = match named {
            Some(place) => Some(place + self.least),
            None => written.parse().ok().filter(|_| digits),
        };
        let (least, most) = (self.least, self.most);
        let fits = number.filter(|number| (least..=most).contains(number));
        fits.ok_or_else(|| {
            let message = format!("`{written}` is no {}", self.what);
            let help = if self.what == "weekday" && written == "7" {
                "write `0` for Sunday".to_owned()
            } else {
                format!("write {least} to {most}, or `*` for all")
            };
            (message, help)
        })
    }
}

/// Numbers with units, as Go writes times.
fn is_duration(text: &str) -> bool {
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let unit = rest.get(digits..digits + 1).unwrap_or_default();
        if digits == 0 || digits > 9 || !matches!(unit, "h" | "m" | "s") {
            return false;
        }
        rest = &rest[digits + 1..];
    }
    !text.is_empty()
}

/// The names of time zones that have no `/`, and what stands before it in the others.
///
/// Source: the time zone database, 2025b (from memory).
const ALONE: &[&str] = &[
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

/// The places in each area.
const ZONES: &str = include_str!("zones.txt");

/// The time zone that is meant by a name that has the shape of one and is but nearly one. A name that is like no other
/// may be that of a newer zone.
pub(crate) fn meant_zone(name: &str) -> Option<String> {
    let (area, place) = name.split_once('/')?;
    let lines = ZONES.lines().filter(|line| !line.starts_with('#'));
    let words = lines.flat_map(|line| line.split_whitespace().map(move |word| (line, word)));
    let mut own = "";
    let places = words.filter(|(line, word)| {
        // An area stands at the beginning of its line.
        let is_area = std::ptr::eq(line.as_ptr(), word.as_ptr());
        if is_area {
            own = word;
        }
        !is_area && own == area
    });
    let places: Vec<_> = places.map(|(_, word)| word).collect();
    if places.contains(&place) {
        return None;
    }
    let meant = nearest(place, places)?;
    Some(format!("{area}/{meant}"))
}

/// Whether a name is that of a time zone, as far as is known.
pub(crate) fn is_time_zone(name: &str) -> bool {
    has_shape(name) && meant_zone(name).is_none()
}

fn has_shape(name: &str) -> bool {
    let Some((area, place)) = name.split_once('/') else {
        return ALONE.contains(&name);
    };
    let letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '+' | '-');
    let fits =
        |part: &str| part.starts_with(|c: char| c.is_ascii_uppercase()) && part.chars().all(letter);
    AREAS.contains(&area) && place.split('/').all(fits)
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
    fn what_kubernetes_reads_is_taken() {
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
    fn what_it_does_not_is_refused() {
        check("0 3 * *", Some("`0 3 * *` is no schedule"));
        check(
            "TZ=UTC 0 3 * * *",
            Some("`TZ=UTC 0 3 * * *` is no schedule"),
        );
        check("60 * * * *", Some("`60` is no minute"));
        check("0 24 * * *", Some("`24` is no hour"));
        check("0 0 0 * *", Some("`0` is no day of a month"));
        check("0 0 * 13 *", Some("`13` is no month"));
        check("0 0 * * 7", Some("`7` is no weekday"));
        check("0 0 * * $", Some("`$` is no weekday"));
        check("+1 0 * * *", Some("`+1` is no minute"));
        check("1, 0 * * *", Some("`` is no minute"));
        check(
            "*/0 * * * *",
            Some("`*/0` has no step from one minute to the next"),
        );
        check("30-10 * * * *", Some("`30-10` ends before it starts"));
        check("@every 1d", Some("`1d` is no time between runs"));
        let never = "`0 0 30 2 *` never comes: no such month has such a day";
        check("0 0 30 2 *", Some(never));
    }

    #[test]
    fn time_zones_have_their_names() {
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
        assert_eq!(meant_zone("Europe/Berln").unwrap(), "Europe/Berlin");
        assert_eq!(meant_zone("America/New_york").unwrap(), "America/New_York");
        assert_eq!(meant_zone("Berlin"), None);
    }
}
