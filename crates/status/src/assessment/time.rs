//! Durations in the format of kubectl.

use chrono::TimeDelta;

/// Formats a duration like `HumanDuration` of `k8s.io/apimachinery`: `59s`, `3m5s`, `2h`.
pub(crate) fn duration(duration: TimeDelta) -> String {
    let all = duration.num_seconds().max(0);
    let part = |unit: i64, of: i64| {
        all.checked_div(unit)
            .unwrap_or(0)
            .checked_rem(of)
            .unwrap_or(0)
    };
    let (seconds, minutes, hours) = (part(1, 60), part(60, 60), part(3600, 24));
    let days = all.checked_div(86_400).unwrap_or(0);
    let two = |major: i64, unit: char, minor: i64, minor_unit: char| match minor {
        0 => format!("{major}{unit}"),
        minor => format!("{major}{unit}{minor}{minor_unit}"),
    };
    match all {
        0..120 => format!("{all}s"),
        120..600 => two(all.checked_div(60).unwrap_or(0), 'm', seconds, 's'),
        600..10_800 => format!("{}m", all.checked_div(60).unwrap_or(0)),
        10_800..28_800 => two(all.checked_div(3600).unwrap_or(0), 'h', minutes, 'm'),
        28_800..172_800 => format!("{}h", all.checked_div(3600).unwrap_or(0)),
        172_800..691_200 => two(days, 'd', hours, 'h'),
        _ => format!("{days}d"),
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::duration;

    #[test]
    fn durations_are_formatted_as_by_kubectl() {
        for (seconds, text) in [
            (-1, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (185, "3m5s"),
            (600, "10m"),
            (10_799, "179m"),
            (10_860, "3h1m"),
            (28_800, "8h"),
            (172_799, "47h"),
            (176_400, "2d1h"),
            (691_200, "8d"),
        ] {
            assert_eq!(duration(TimeDelta::seconds(seconds)), text);
        }
    }
}
