//! Durations in the format of kubectl.

use chrono::TimeDelta;

/// Formats a duration like `HumanDuration` of `k8s.io/apimachinery`: `59s`, `3m5s`, `2h`.
pub(crate) fn duration(duration: TimeDelta) -> String {
    let seconds = duration.num_seconds().max(0);
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    let two = |major: i64, unit: char, minor: i64, minor_unit: char| match minor {
        0 => format!("{major}{unit}"),
        minor => format!("{major}{unit}{minor}{minor_unit}"),
    };
    match seconds {
        0..120 => format!("{seconds}s"),
        120..600 => two(minutes, 'm', seconds % 60, 's'),
        600..10_800 => format!("{minutes}m"),
        10_800..28_800 => two(hours, 'h', minutes % 60, 'm'),
        28_800..172_800 => format!("{hours}h"),
        172_800..691_200 => two(days, 'd', hours % 24, 'h'),
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
