//! "Did you mean ...?"

/// Longer words are no typos, and comparing them would cost more than a hint is worth.
const MAX_LEN: usize = 128;

/// The candidate that `word` was probably meant to be: the one with the fewest edits (insertions, deletions,
/// substitutions, swaps of neighbours; case does not count), if no more than a third of the word has to change. Of
/// equally near ones the first.
pub(crate) fn nearest<'c>(
    word: &str,
    candidates: impl IntoIterator<Item = &'c str>,
) -> Option<&'c str> {
    if word.len() > MAX_LEN {
        return None;
    }
    let word = word.trim().to_ascii_lowercase();
    let near = |edits: usize, c: &str| edits.saturating_mul(3) <= c.len().max(word.len());
    candidates
        .into_iter()
        // There are at least as many edits as the lengths differ by.
        .filter(|c| near(c.len().abs_diff(word.len()), c))
        .filter_map(|c| {
            Some((
                distance(word.as_bytes(), c.to_ascii_lowercase().as_bytes())?,
                c,
            ))
        })
        .filter(|&(edits, c)| near(edits, c))
        .min_by_key(|&(edits, _)| edits)
        .map(|(_, c)| c)
}

/// As [`nearest`], for names of the form `domain/path`: with the right path under a wrong domain, or under none, it is
/// the path that tells.
pub(crate) fn nearest_name<'c>(
    word: &str,
    names: impl IntoIterator<Item = &'c str> + Clone,
) -> Option<&'c str> {
    nearest(word, names.clone()).or_else(|| {
        let found = nearest(path(word), names.clone().into_iter().map(path))?;
        names.into_iter().find(|name| path(name) == found)
    })
}

fn path(name: &str) -> &str {
    name.rsplit_once('/').map_or(name, |(_, path)| path)
}

/// The edits between two words (optimal string alignment), unless there are more than a third of the longer one.
/// Counted in bytes, in three rows of the usual table; a row in which all are too many ends it.
fn distance(word: &[u8], other: &[u8]) -> Option<usize> {
    let most = word.len().max(other.len()) / 3;
    let width = other.len().saturating_add(1);
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..width).collect();
    let mut previous = None;
    for (i, &a) in (1..).zip(word) {
        let mut row = Vec::with_capacity(width);
        row.push(i);
        let (mut left, mut fewest) = (i, i);
        for (j, &b) in other.iter().enumerate() {
            let at = |row: &[usize], j: usize| row.get(j).copied().unwrap_or(usize::MAX);
            let up = at(&last, j.saturating_add(1));
            let mut edits = at(&last, j).saturating_add(usize::from(a != b));
            edits = edits.min(up.min(left).saturating_add(1));
            if let Some(k) = j.checked_sub(1)
                && previous == Some(b)
                && other.get(k) == Some(&a)
            {
                edits = edits.min(at(&before, k).saturating_add(1));
            }
            row.push(edits);
            left = edits;
            fewest = fewest.min(edits);
        }
        if fewest > most {
            return None;
        }
        previous = Some(a);
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied()
}

#[cfg(test)]
mod tests {
    use super::{distance, nearest, nearest_name};

    #[test]
    fn edits_are_counted() {
        for (a, b, edits) in [
            ("", "", Some(0)),
            ("abc", "abc", Some(0)),
            ("abc", "abd", Some(1)),
            ("abc", "ab", Some(1)),
            ("abcd", "abdc", Some(1)),
            ("abc", "xyz", None),
            ("kitten", "sitting", Some(3)),
            ("a cat", "an act", Some(2)),
            ("multikueue", "mutlikueeu", Some(2)),
        ] {
            assert_eq!(distance(a.as_bytes(), b.as_bytes()), edits, "{a} {b}");
        }
    }

    #[test]
    fn a_path_tells_under_a_wrong_domain() {
        let names = ["acme.io/runner", "kueue.x-k8s.io/multikueue"];
        for (word, expected) in [
            (
                "kueue.x-k8s.io/multikeueu",
                Some("kueue.x-k8s.io/multikueue"),
            ),
            (
                "Kueue.x-k8s.io/MultiKueue",
                Some("kueue.x-k8s.io/multikueue"),
            ),
            (
                "kueue.x-k8s.io/ multikueue",
                Some("kueue.x-k8s.io/multikueue"),
            ),
            ("multikueue", Some("kueue.x-k8s.io/multikueue")),
            (
                "kueue.sigs.k8s.io/multikueue",
                Some("kueue.x-k8s.io/multikueue"),
            ),
            ("example.com/runer", Some("acme.io/runner")),
            ("example.com/other", None),
            ("", None),
        ] {
            assert_eq!(nearest_name(word, names), expected, "{word}");
        }
    }

    #[test]
    fn finds_what_was_meant() {
        let words = [
            "allow",
            "deny",
            "reserved_value",
            "kubernetes.io/job-controller",
        ];
        for (word, expected) in [
            ("alow", Some("allow")),
            ("alolw", Some("allow")),
            ("DENY", Some("deny")),
            (" deny ", Some("deny")),
            ("reservedValue", Some("reserved_value")),
            (
                "kubernetes.io/job-controler",
                Some("kubernetes.io/job-controller"),
            ),
            (
                "Kubernetes.io/Job-Controller",
                Some("kubernetes.io/job-controller"),
            ),
            ("zebra", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, words), expected, "{word:?}");
        }
        assert_eq!(nearest(&"x".repeat(1_000_000), words), None);
    }
}
