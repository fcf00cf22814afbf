//! Dates of ISO 8601 in HAR files: `2020-12-25T18:11:59.995Z`, `...+01:00`.

/// Milliseconds since the beginning of 1970; `None` if the text is not a date.
pub(super) fn millis(text: &str) -> Option<f64> {
    let (date, time) = text.trim().split_once(['T', 't', ' '])?;
    let mut parts = date.splitn(3, '-').map(whole);
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let (clock, zone) = time.split_at(time.find(['Z', 'z', '+', '-']).unwrap_or(time.len()));
    let mut parts = clock.splitn(3, ':');
    let hour = whole(parts.next()?)?;
    let minute = whole(parts.next()?)?;
    let second = parts.next().map_or(Some(0.0), seconds)?;
    let valid = (1..=12).contains(&month) && (1..=31).contains(&day) && hour < 25 && minute < 60;
    if !valid || !(1970..10_000).contains(&year) || second >= 61.0 {
        return None;
    }
    let minutes = (days(year, month, day) * 24 + hour) * 60 + minute - zone_minutes(zone)?;
    Some(minutes as f64 * 60_000.0 + second * 1e3)
}

fn whole(digits: &str) -> Option<i64> {
    let all = !digits.is_empty() && digits.len() <= 4;
    (all && digits.bytes().all(|byte| byte.is_ascii_digit())).then(|| digits.parse().ok())?
}

fn seconds(text: &str) -> Option<f64> {
    // ISO 8601 permits a decimal comma.
    let text = text.replacen(',', ".", 1);
    let digits = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    digits.then(|| text.parse().ok())?
}

/// Offset from UTC; a time without a zone is UTC.
fn zone_minutes(zone: &str) -> Option<i64> {
    let sign = match zone.bytes().next() {
        None | Some(b'Z' | b'z') => return Some(0),
        Some(b'-') => -1,
        _ => 1,
    };
    let digits: String = zone[1..].chars().filter(|c| *c != ':').collect();
    let value = whole(&digits)?;
    let minutes = if digits.len() > 2 { value / 100 * 60 + value % 100 } else { value * 60 };
    Some(sign * minutes)
}

/// Days from 1970-01-01 in the Gregorian calendar; years begin in March here, so that the leap day
/// is their last.
const fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let month = (month + 9) % 12;
    let in_year = (153 * month + 2) / 5 + day - 1;
    year * 365 + year / 4 - year / 100 + year / 400 + in_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_milliseconds_since_1970() {
        for (text, expected) in [
            ("1970-01-01T00:00:00Z", 0.0),
            ("2000-03-01T00:00:00.000Z", 951_868_800_000.0),
            ("2020-12-25T18:11:59.995Z", 1_608_919_919_995.0),
            ("2015-08-29T14:43:11.082+00:00", 1_440_859_391_082.0),
            ("2015-08-29T16:43:11.082+0200", 1_440_859_391_082.0),
            ("2015-08-29T09:13:11.082-05:30", 1_440_859_391_082.0),
            ("2020-12-25T18:11:59,995Z", 1_608_919_919_995.0),
            ("2024-02-29T12:00", 1_709_208_000_000.0),
        ] {
            assert_eq!(millis(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_date_is_nothing() {
        for text in [
            "",
            "yesterday",
            "2020-13-01T00:00Z",
            "2020-1-1",
            "2020-01-01T99:00Z",
            "T",
            "-T:",
            "2020-01-01T00:00:00+",
            "2020-01-01T00:00:1e9Z",
            "2020-01-01T00:00:01,5,5Z",
            "99999-01-01T00:00Z",
        ] {
            assert_eq!(millis(text), None, "{text}");
        }
    }
}
