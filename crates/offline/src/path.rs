//! Field paths in the library's notation: `spec.replicatedJobs[0].template.spec.managedBy`, `rules["managed-by/format"]`.

/// A parsed field path: member names, array indexes and user-defined keys.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Path(Vec<String>);

impl Path {
    /// Parses a path. Malformed paths are parsed as far as possible.
    pub fn parse(text: &str) -> Self {
        let mut segments = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            rest = rest.strip_prefix('.').unwrap_or(rest);
            let (segment, after) = if let Some(bracket) = rest.strip_prefix('[') {
                bracketed(bracket)
            } else if rest.starts_with('"') {
                quoted(rest)
            } else {
                let end = rest.find(['.', '[']).unwrap_or(rest.len());
                let (name, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
                if name.is_empty() {
                    break;
                }
                (name.to_owned(), after)
            };
            segments.push(segment);
            rest = after;
        }
        Self(segments)
    }

    /// Appends a path that is relative to the value at `self`.
    #[must_use]
    pub fn join(&self, inner: &Self) -> Self {
        Self(self.0.iter().chain(&inner.0).cloned().collect())
    }

    pub(crate) fn segments(&self) -> &[String] {
        &self.0
    }
}

/// Splits the contents of open brackets from the rest.
fn bracketed(text: &str) -> (String, &str) {
    if text.starts_with('"') {
        let (key, after) = quoted(text);
        return (key, after.strip_prefix(']').unwrap_or(after));
    }
    match text.split_once(']') {
        Some((key, after)) => (key.to_owned(), after),
        None => (text.to_owned(), ""),
    }
}

/// Splits a quoted string at the start of a text from the rest.
fn quoted(text: &str) -> (String, &str) {
    let mut is_escaped = false;
    let end = text.char_indices().skip(1).find_map(|(at, c)| {
        let ends = c == '"' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        ends.then(|| at.saturating_add(1))
    });
    let end = end.unwrap_or(text.len());
    let (literal, after) = text.split_at_checked(end).unwrap_or((text, ""));
    // Go's and JSON's quoting differ only for characters that no manifest key has.
    let key =
        serde_json::from_str(literal).unwrap_or_else(|_| literal.trim_matches('"').to_owned());
    (key, after)
}

#[cfg(test)]
mod tests {
    use super::Path;

    #[test]
    fn all_notations_are_parsed() {
        for (text, expected) in [
            ("", &[][..]),
            ("spec.managedBy", &["spec", "managedBy"]),
            ("items[2].spec", &["items", "2", "spec"]),
            (
                "rules[\"managed-by/format\"]",
                &["rules", "managed-by/format"],
            ),
            ("\"a.b\"", &["a.b"]),
            (
                "status.replicaStatuses[a.b/c-d].active",
                &["status", "replicaStatuses", "a.b/c-d", "active"],
            ),
            ("x[\"]\\\"[\"].y", &["x", "]\"[", "y"]),
            ("x[", &["x", ""]),
            ("..", &[]),
        ] {
            let path = Path::parse(text);
            assert_eq!(path.segments(), expected, "{text}");
        }
    }
}
