//! Phrases that readers stumbled over, and what to write instead. A test looks for them in everything that people read.

/// A phrase, as whole words in lower case, and what to write instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Phrase {
    /// The words, with one blank between them.
    pub words: &'static str,
    /// What says the same.
    pub instead: &'static str,
}

const fn phrase(words: &'static str, instead: &'static str) -> Phrase {
    Phrase { words, instead }
}

/// All of them. They come from two unfriendly readings of the documentation.
pub const PHRASES: &[Phrase] = &[
    phrase("anew", "again, or: a new one"),
    phrase("nobody runs it", "it is orphaned"),
    phrase("those that", "name the things"),
    phrase("those of your site", "site-specific rules"),
    phrase("lets pass", "allows"),
    phrase("let pass", "allowed"),
    phrase("lets it pass", "allows it"),
    phrase("let it pass", "allow it"),
    phrase("in its words", "with its error text"),
    phrase("its words", "its error text"),
    phrase("and so do we", "the policy does the same"),
    phrase("no rule of ours", "no rule"),
    phrase("of yours", "your"),
    phrase("of ours", "this project's"),
    phrase("your site", "your cluster, or: site-specific"),
    phrase("rules of a site", "site-specific rules"),
    phrase("foreign api servers", "API servers that are not upstream's"),
    phrase("stands in the way", "blocks"),
    phrase("it checks:", "Checked upstream:"),
    phrase("we deny:", "Denied here:"),
    phrase("nobody can:", "Known gaps:"),
    phrase("has its being", "exists"),
    phrase("cannot be had", "is not available"),
    phrase("be it", "whether"),
    phrase("will do", "is enough"),
    phrase("for it to", "so that it"),
    phrase("to the last detail", "exactly"),
    phrase("so long as", "while"),
    phrase("where there is none", "if it is unset"),
    phrase("take it out", "remove it"),
];

/// Where a text has such phrases: the number of the line, and the phrase.
pub fn stumbles(text: &str) -> Vec<(usize, Phrase)> {
    let mut found = Vec::new();
    let mut is_code = false;
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        }
        if is_code {
            continue;
        }
        let line = line.to_lowercase();
        let words = |c: char| c.is_alphanumeric() || c == '\'' || c == ':';
        let spaced: String = line
            .chars()
            .map(|c| if words(c) { c } else { ' ' })
            .collect();
        let spaced = spaced.split_whitespace().collect::<Vec<_>>().join(" ");
        let padded = format!(" {spaced} ");
        for phrase in PHRASES {
            if padded.contains(&format!(" {} ", phrase.words)) {
                found.push((number, *phrase));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::stumbles;

    #[test]
    fn phrases_are_found_as_whole_words_outside_of_code() {
        let found = |text: &str| -> Vec<(usize, &str)> {
            stumbles(text)
                .iter()
                .map(|(line, phrase)| (*line, phrase.words))
                .collect()
        };
        assert_eq!(
            found("Create it anew.\n\nThe policy *lets it pass*."),
            [(1, "anew"), (3, "lets it pass")]
        );
        assert_eq!(found("- It checks: the form."), [(1, "it checks:")]);
        assert_eq!(found("A renewal is a new one."), []);
        assert_eq!(found("```text\ncreate it anew\n```\nfine"), []);
    }
}
