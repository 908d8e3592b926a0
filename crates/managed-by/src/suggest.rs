//! Suggestions for typos: the nearest known word, and the text that suggests it. Rules and tools use them.

use crate::upstream::go;

/// Maximum length of a word. Longer words are unlikely to be typos, and expensive to compare.
const MAX_LEN: usize = 128;

/// Returns the candidate with the smallest edit distance to `word` (insertions, deletions, substitutions and transpositions,
/// ignoring case), if at most a third of the word has to change. The first candidate wins a tie.
pub fn nearest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    nearest_of(word, &mut candidates.into_iter())
}

/// Implements [`nearest`] without a type parameter, so that the module contains it once.
fn nearest_of<'c>(word: &str, candidates: &mut dyn Iterator<Item = &'c str>) -> Option<&'c str> {
    if word.len() > MAX_LEN {
        return None;
    }
    let word = word.trim().to_ascii_lowercase();
    let near = |edits: usize, c: &str| edits.saturating_mul(3) <= c.len().max(word.len());
    candidates
        // The edit distance is at least the difference of the lengths. Lengths are in bytes, so non-ASCII words may get no
        // suggestion.
        .filter(|c| near(c.len().abs_diff(word.len()), c))
        .map(|c| (strsim::osa_distance(&word, &c.to_ascii_lowercase()), c))
        .filter(|&(edits, c)| near(edits, c))
        .min_by_key(|&(edits, _)| edits)
        .map(|(_, c)| c)
}

/// Returns the nearest candidate like [`nearest`], for names of the form `domain/path`. If no whole name is near, compares only the
/// paths, because the domain may be wrong or missing.
pub fn nearest_name<'c>(
    word: &str,
    names: impl IntoIterator<Item = &'c str> + Clone,
) -> Option<&'c str> {
    nearest(word, names.clone()).or_else(|| {
        let found = nearest(path(word), names.clone().into_iter().map(path))?;
        names.into_iter().find(|name| path(name) == found)
    })
}

/// Formats a suggestion like all messages do: `did you mean "deny"?`. After other text, it follows a semicolon.
pub fn did_you_mean(word: &str) -> String {
    format!("did you mean {}?", go::quote(word))
}

fn path(name: &str) -> &str {
    name.rsplit_once('/').map_or(name, |(_, path)| path)
}

#[cfg(test)]
mod tests {
    use super::{nearest, nearest_name};

    #[test]
    fn ignores_a_wrong_domain() {
        let names = ["acme.io/runner", "kueue.x-k8s.io/multikueue"];
        let [runner, multikueue] = names.map(Some);
        for (word, expected) in [
            ("kueue.x-k8s.io/multikeueu", multikueue),
            ("Kueue.x-k8s.io/MultiKueue", multikueue),
            ("kueue.x-k8s.io/ multikueue", multikueue),
            ("multikueue", multikueue),
            ("kueue.sigs.k8s.io/multikueue", multikueue),
            ("example.com/runer", runner),
            ("example.com/other", None),
            ("", None),
        ] {
            assert_eq!(nearest_name(word, names), expected, "{word}");
        }
    }

    #[test]
    fn finds_nearest_candidate() {
        let words = ["allow", "deny", "reserved_value", "acme.io/controller"];
        let [allow, deny, reserved, controller] = words.map(Some);
        for (word, expected) in [
            ("alow", allow),
            ("alolw", allow),
            ("DENY", deny),
            (" deny ", deny),
            ("reservedValue", reserved),
            ("acme.io/controler", controller),
            ("Acme.io/Controller", controller),
            ("zebra", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, words), expected, "{word:?}");
        }
        let longest = "x".repeat(128);
        assert_eq!(nearest(&longest, [&*longest]), Some(&*longest));
        let longer = "x".repeat(129);
        assert_eq!(nearest(&longer, [&*longer]), None);
    }
}
