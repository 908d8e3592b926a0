//! Times as parsed and formatted by Kubernetes (`metav1.Time`).

use std::fmt;

const DAY: i64 = 24 * 60 * 60;

/// Days from 1 January 0000 to 1 January 1970.
const DAYS_TO_1970: i64 = 719_528;

/// Instant: seconds since 1970 in UTC, and nanoseconds. The offset is not kept (`metav1.Time`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Time {
    seconds: i64,
    nanoseconds: u32,
}

impl Time {
    /// Parses RFC 3339 like `metav1.Time`, with `time.Parse(time.RFC3339, ...)`. Go accepts more than the standard: a one-digit
    /// hour, a comma before a fraction, offsets of up to 24:60.
    ///
    /// Also parses years before 0 and after 9999. Go rejects them, but `metav1.Time` marshals such times to UTC, so webhooks
    /// receive them for `9999-12-31T23:59:59-01:00`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut at = Cursor(text.as_bytes());
        let year = at.year()?;
        at.byte(b'-')?;
        let month = at.number(2).filter(|m| (1..=12).contains(m))?;
        at.byte(b'-')?;
        let day = at.number(2)?;
        at.byte(b'T')?;
        let hour = at.number(2).or_else(|| at.number(1)).filter(|h| *h < 24)?;
        at.byte(b':')?;
        let minute = at.number(2).filter(|m| *m < 60)?;
        at.byte(b':')?;
        let second = at.number(2).filter(|s| *s < 60)?;
        let nanoseconds = at.fraction();
        let offset = at.offset()?;
        if !at.0.is_empty() || !(1..=days_in(year, month)).contains(&day) {
            return None;
        }
        let days = days_before(year, month).wrapping_add(day).wrapping_sub(1);
        let second_of_day = hour
            .wrapping_mul(60)
            .wrapping_add(minute)
            .wrapping_mul(60)
            .wrapping_add(second);
        let seconds = days.wrapping_sub(DAYS_TO_1970).checked_mul(DAY)?;
        Some(Self {
            seconds: seconds.checked_add(second_of_day)?.checked_sub(offset)?,
            nanoseconds,
        })
    }

    #[cfg(feature = "k8s-openapi")]
    pub(crate) fn from_unix(seconds: i64) -> Self {
        let nanoseconds = 0;
        Self {
            seconds,
            nanoseconds,
        }
    }

    pub(crate) fn add_seconds(self, seconds: i64) -> Self {
        let seconds = self.seconds.saturating_add(seconds);
        Self { seconds, ..self }
    }

    /// Drops the fraction of a second, like the API server when it stores the time.
    pub(crate) fn whole_seconds(self) -> Self {
        Self {
            nanoseconds: 0,
            ..self
        }
    }

    /// Returns true for Go's zero time, which `metav1.Time` marshals as `null`.
    fn is_zero(self) -> bool {
        let year_1 = days_before(1, 1)
            .wrapping_sub(DAYS_TO_1970)
            .wrapping_mul(DAY);
        self.seconds == year_1 && self.nanoseconds == 0
    }

    /// Marshals to JSON like `metav1.Time`: whole seconds in UTC, and `null` for the zero time.
    pub(crate) fn json(self) -> String {
        if self.is_zero() {
            return "null".to_owned();
        }
        format!("\"{}Z\"", self.date_and_time('T'))
    }

    /// Formats like Go's `time.Time.String` on a server in UTC.
    pub(crate) fn go_string(self) -> String {
        let fraction = format!(".{:09}", self.nanoseconds);
        let fraction = fraction.trim_end_matches('0').trim_end_matches('.');
        format!("{}{fraction} +0000 UTC", self.date_and_time(' '))
    }

    fn date_and_time(self, separator: char) -> String {
        let Civil {
            year,
            month,
            day,
            hour,
            minute,
            second,
        } = self.civil();
        format!("{year}-{month:02}-{day:02}{separator}{hour:02}:{minute:02}:{second:02}")
    }

    fn civil(self) -> Civil {
        let days = self.seconds.div_euclid(DAY).wrapping_add(DAYS_TO_1970);
        let second_of_day = self.seconds.rem_euclid(DAY);
        // 400 years have 146,097 days. The estimate can be a year too low, and the loop corrects one that is too high.
        let years = days.wrapping_mul(400).div_euclid(146_097);
        let mut year = years.wrapping_add(1);
        while days_before(year, 1) > days {
            year = year.wrapping_sub(1);
        }
        let mut month = 12;
        while days_before(year, month) > days {
            month = month.wrapping_sub(1);
        }
        Civil {
            year: Year(year),
            month,
            day: days.wrapping_sub(days_before(year, month)).wrapping_add(1),
            hour: second_of_day.div_euclid(3600),
            minute: second_of_day.div_euclid(60).rem_euclid(60),
            second: second_of_day.rem_euclid(60),
        }
    }
}

struct Civil {
    year: Year,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
}

/// Year with at least four digits, which don't include the sign, as in Go.
struct Year(i64);

impl fmt::Display for Year {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        write!(f, "{sign}{:04}", self.0.unsigned_abs())
    }
}

fn is_leap(year: i64) -> bool {
    let divides = |n: i64| year.rem_euclid(n) == 0;
    divides(4) && (!divides(100) || divides(400))
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Returns the days from 1 January 0000 to the first of a month.
fn days_before(year: i64, month: i64) -> i64 {
    let previous_year = year.wrapping_sub(1);
    // The year 0 was a leap year.
    let leap_days = previous_year
        .div_euclid(4)
        .wrapping_sub(previous_year.div_euclid(100))
        .wrapping_add(previous_year.div_euclid(400))
        .wrapping_add(1);
    let years = year.wrapping_mul(365).wrapping_add(leap_days);
    (1..month).fold(years, |days, m| days.wrapping_add(days_in(year, m)))
}

/// Unparsed rest of a text.
struct Cursor<'a>(&'a [u8]);

impl Cursor<'_> {
    fn byte(&mut self, wanted: u8) -> Option<()> {
        let (first, rest) = self.0.split_first()?;
        (*first == wanted).then(|| self.0 = rest)
    }

    /// Parses a year as [`Year`] formats it: four digits, or more without leading zeros.
    fn year(&mut self) -> Option<i64> {
        let is_negative = self.byte(b'-').is_some();
        let digits = self.0.iter().take_while(|b| b.is_ascii_digit()).count();
        let is_padded = self.0.first() == Some(&b'0');
        let digits = Some(digits).filter(|n| *n == 4 || (5..=12).contains(n) && !is_padded)?;
        let year = self.number(digits)?;
        Some(if is_negative {
            year.wrapping_neg()
        } else {
            year
        })
    }

    /// Parses a number with exactly this many digits.
    fn number(&mut self, digits: usize) -> Option<i64> {
        let (number, rest) = self.0.split_at_checked(digits)?;
        let value = number.iter().try_fold(0_i64, |value, b| {
            let digit = b.is_ascii_digit().then(|| i64::from(b & 0xf))?;
            Some(value.wrapping_mul(10).wrapping_add(digit))
        })?;
        self.0 = rest;
        Some(value)
    }

    /// Parses nanoseconds after a point or a comma, and ignores further digits.
    fn fraction(&mut self) -> u32 {
        let [b'.' | b',', first, ..] = self.0 else {
            return 0;
        };
        if !first.is_ascii_digit() {
            return 0;
        }
        self.0 = self.0.get(1..).unwrap_or_default();
        let mut nanoseconds = 0;
        let mut unit = 100_000_000_u32;
        while let Some(digit) = self.number(1) {
            let digit = u32::try_from(digit).unwrap_or_default();
            nanoseconds = unit.wrapping_mul(digit).wrapping_add(nanoseconds);
            unit /= 10;
        }
        nanoseconds
    }

    /// Parses an offset in seconds east of UTC.
    fn offset(&mut self) -> Option<i64> {
        let (sign, rest) = self.0.split_first()?;
        self.0 = rest;
        if *sign == b'Z' {
            return Some(0);
        }
        let hours = self.number(2).filter(|h| *h <= 24)?;
        self.byte(b':')?;
        let minutes = self.number(2).filter(|m| *m <= 60)?;
        let offset = hours
            .wrapping_mul(60)
            .wrapping_add(minutes)
            .wrapping_mul(60);
        match sign {
            b'+' => Some(offset),
            b'-' => Some(offset.wrapping_neg()),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{DAY, DAYS_TO_1970, Time, days_before};

    /// Each row of `times.tsv` is the output of Go.
    #[test]
    fn times_are_parsed_and_formatted_like_in_go() {
        let rows = include_str!("times.tsv").lines();
        for row in rows.filter(|row| row.starts_with('"')) {
            let mut cells = row.split('\t');
            let time = Time::parse(cells.next().unwrap().trim_matches('"'));
            let printed = time.map(|time| (time.go_string(), time.json()));
            let go = cells.next().zip(cells.next());
            let go = go.map(|(text, json)| (text.to_owned(), json.to_owned()));
            assert_eq!(printed, go, "{row}");
            if let Some((_, json)) = go.filter(|(_, json)| json != "null") {
                let marshaled = Time::parse(json.trim_matches('"'));
                assert_eq!(marshaled.map(Time::json), Some(json), "{row}");
            }
        }
    }

    /// A protobuf client can write any second. `parse` rejects only those before the first whole day of the range of an `i64`.
    #[test]
    fn the_first_and_last_days_survive_a_round_trip() {
        for text in [
            "-292277022657-01-28T00:00:00Z",
            "292277026596-12-04T15:30:07Z",
        ] {
            assert_eq!(Time::parse(text).unwrap().json(), format!("\"{text}\""));
        }
    }

    /// `JobChecker` gets such times from `k8s_openapi`.
    #[test]
    fn times_before_the_year_0_are_formatted() {
        for year in [-9998, -1600, -4, -1] {
            let days = days_before(year, 6) - DAYS_TO_1970;
            let printed = Time {
                seconds: days * DAY,
                nanoseconds: 0,
            }
            .go_string();
            let expected = format!("-{:04}-06-01 00:00:00 +0000 UTC", -year);
            assert_eq!(printed, expected);
        }
    }

    #[test]
    fn every_day_of_eight_centuries_survives_a_round_trip() {
        let mut last = Time::parse("1599-12-31T00:00:00Z").unwrap();
        for year in 1600..2400 {
            for month in 1..=12 {
                for day in 1..=31 {
                    let text = format!("{year}-{month:02}-{day:02}T00:00:00Z");
                    let Some(time) = Time::parse(&text) else {
                        continue;
                    };
                    assert_eq!(time.seconds - last.seconds, 86_400, "{text}");
                    assert_eq!(time.json(), format!("\"{text}\""));
                    last = time;
                }
            }
        }
    }
}
