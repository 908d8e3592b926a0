//! Whether two JSON texts say the same.

/// Whether two values are equal, however they are laid out. Written by one server they nearly always differ early, or not
/// at all.
pub(crate) fn same(a: Option<&str>, b: Option<&str>) -> bool {
    let (Some(a), Some(b)) = (a, b) else {
        return a.is_none() && b.is_none();
    };
    if a == b {
        return true;
    }
    if a.len() == b.len() && !a.contains(['\n', ' ']) {
        // The order of members may still be another.
        return is_same_value(a, b);
    }
    let is_laid_out = |text: &str| text.contains('\n');
    (is_laid_out(a) || is_laid_out(b)) && is_same_value(a, b)
}

fn is_same_value(a: &str, b: &str) -> bool {
    let value = |text| serde_json::from_str::<serde_json::Value>(text).ok();
    value(a).is_some_and(|a| value(b) == Some(a))
}

#[cfg(test)]
mod tests {
    use super::same;

    #[test]
    fn layout_and_order_do_not_matter() {
        for (a, b, expected) in [
            (None, None, true),
            (Some("{}"), None, false),
            (Some("{\"a\":1}"), Some("{\"a\":1}"), true),
            (Some("{\"a\":1}"), Some("{\"a\":2}"), false),
            (Some("{\"a\":1}"), Some("{\n  \"a\": 1\n}"), true),
            (Some("{\"a\":1,\"b\":2}"), Some("{\"b\":2,\"a\":1}"), true),
            (
                Some("{\"a\":1,\"b\":2}"),
                Some("{\n\"b\":2,\n\"a\":1}"),
                true,
            ),
            (Some("{\"a\":1}"), Some("{\"a\":1,\"b\":2}"), false),
        ] {
            assert_eq!(same(a, b), expected, "{a:?} {b:?}");
        }
    }
}
