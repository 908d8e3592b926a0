//! Compares JSON texts by value.

use crate::json::{Members, elements, string};

/// Returns true if two values are equal, whatever their layout. Values written by the same server usually differ early or
/// not at all.
pub(crate) fn same(a: Option<&str>, b: Option<&str>) -> bool {
    let (Some(a), Some(b)) = (a, b) else {
        return a.is_none() && b.is_none();
    };
    if a == b {
        return true;
    }
    if a.len() == b.len() && !a.contains(['\n', ' ']) {
        // The order of members may still differ.
        return is_same_value(a, b);
    }
    let is_laid_out = |text: &str| text.contains('\n');
    (is_laid_out(a) || is_laid_out(b)) && is_same_value(a, b)
}

fn is_same_value(a: &str, b: &str) -> bool {
    is_same_within(a, b, MAX_DEPTH)
}

/// Maximum depth, the same as in `serde_json`. Deeper values are compared as text.
const MAX_DEPTH: usize = 128;

fn is_same_within(a: &str, b: &str, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else {
        return a == b;
    };
    match (a.as_bytes().first(), b.as_bytes().first()) {
        (Some(b'['), Some(b'[')) => {
            let (Some(a), Some(b)) = (elements(a), elements(b)) else {
                return false;
            };
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same_within(a, b, depth))
        }
        (Some(b'{'), Some(b'{')) => {
            let (Some(a), Some(b)) = (Members::of(a), Members::of(b)) else {
                return false;
            };
            if a.len() != b.len() {
                return false;
            }
            // The members usually have the same order.
            if a.iter().zip(b.iter()).all(|((a, _), (b, _))| a == b) {
                let mut values = a.iter().zip(b.iter());
                return values.all(|((_, a), (_, b))| is_same_within(a, b, depth));
            }
            let places = b.places();
            a.iter().all(|(name, value)| {
                let other = places.get(&name).and_then(|place| b.at(*place));
                other.is_some_and(|(_, other)| is_same_within(value, other, depth))
            })
        }
        (Some(b'"'), Some(b'"')) => a == b || string(a).is_some_and(|a| Some(a) == string(b)),
        _ => a == b,
    }
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
