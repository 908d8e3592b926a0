//! The form of the value: `validateJobSpec` with `IsDomainPrefixedPath`, one Job created for each string.

use super::{Field, create, job};
use crate::vector::Case;

/// Strings with a point of their own.
const STRINGS: &[(&str, &str)] = &[
    ("empty", ""),
    ("a space", " "),
    ("a slash", "/"),
    ("two slashes", "//"),
    ("no slash", "acme.io"),
    ("a word", "multikueue"),
    ("no path", "acme.io/"),
    ("no host", "/runner"),
    ("plain", "acme.io/runner"),
    ("multikueue", "kueue.x-k8s.io/multikueue"),
    ("reserved", "kubernetes.io/job-controller"),
    ("a path of many parts", "acme.io/a/b/c"),
    ("an empty part inside", "acme.io/a//b"),
    ("an empty part first", "acme.io//a"),
    ("a slash at the end", "acme.io/a/"),
    ("a path of slashes", "acme.io///"),
    ("a path of dots", "acme.io/.."),
    ("a host of one letter", "a/b"),
    ("a host of one digit", "1/b"),
    ("a host of digits and dots", "127.0.0.1/x"),
    ("a host without dots", "localhost/x"),
    ("a host with a port", "acme.io:8080/x"),
    ("a scheme", "https://acme.io/x"),
    ("user and host", "me@acme.io/x"),
    ("an upper-case host", "ACME.io/x"),
    ("one upper-case letter in the host", "acme.iO/x"),
    ("an upper-case path", "acme.io/RUNNER"),
    ("an underscore in the host", "ac_me.io/x"),
    ("an underscore in the path", "acme.io/a_b"),
    ("a dot first in the host", ".acme.io/x"),
    ("a dot last in the host", "acme.io./x"),
    ("two dots in the host", "acme..io/x"),
    ("a host that is a dot", "./x"),
    ("a hyphen first in the host", "-acme.io/x"),
    ("a hyphen last in the host", "acme.io-/x"),
    ("a hyphen first in a label", "acme.-io/x"),
    ("a hyphen last in a label", "acme-.io/x"),
    ("a host that is a hyphen", "-/x"),
    ("hyphens inside a label", "a--b.io/x"),
    ("a punycode host", "xn--bcher-kva.example/x"),
    ("a wildcard host", "*.acme.io/x"),
    ("a space first", " acme.io/x"),
    ("a space last", "acme.io/x "),
    ("a space in the host", "ac me.io/x"),
    ("a space in the path", "acme.io/a b"),
    ("a path that is a space", "acme.io/ "),
    ("a tab in the path", "acme.io/a\tb"),
    ("a newline last", "acme.io/x\n"),
    ("a newline last in the host", "acme.io\n/x"),
    ("a newline alone in the path", "acme.io/\n"),
    ("a carriage return", "acme.io/a\rb"),
    ("a NUL", "acme.io/\0"),
    ("a NUL in the host", "acme\0.io/x"),
    ("a bell and its kin", "acme.io/\u{7}\u{8}\u{b}\u{c}\u{1b}"),
    ("DEL", "acme.io/\u{7f}"),
    ("a percent escape", "acme.io/a%20b"),
    ("half a percent escape", "acme.io/a%2"),
    ("a percent sign alone", "acme.io/%"),
    ("a percent escape of nonsense", "acme.io/%zz"),
    ("a percent escape in the host", "acme%2eio/x"),
    ("a query", "acme.io/a?b=c"),
    ("a fragment", "acme.io/a#b"),
    ("sub-delimiters", "acme.io/!$&'()*+,;="),
    ("unreserved characters", "acme.io/-._~"),
    ("a colon in the path", "acme.io/a:b"),
    ("an at sign in the path", "acme.io/a@b"),
    ("square brackets in the path", "acme.io/[a]"),
    ("a backslash in the path", r"acme.io/a\b"),
    ("a backslash for a slash", r"acme.io\x"),
    ("a double quote in the path", "acme.io/\"a\""),
    ("HTML in the path", "acme.io/<b>&amp;</b>"),
    ("braces in the path", "acme.io/{{.Values.x}}"),
    ("a template for a value", "{{ .Values.managedBy }}"),
    ("a backtick in the path", "acme.io/`a`"),
    ("an accent in the host", "acmé.io/x"),
    ("an accent in the path", "acme.io/é"),
    ("a combining accent", "acme.io/e\u{301}"),
    ("a German host", "bücher.example/x"),
    ("a Cyrillic a in the host", "\u{430}cme.io/x"),
    ("Chinese", "例え.jp/任務"),
    ("Arabic", "acme.io/مهمة"),
    ("an emoji", "acme.io/🙂"),
    ("an emoji with a joiner", "acme.io/👩\u{200d}💻"),
    ("a full-width solidus", "acme.io\u{ff0f}x"),
    ("a division slash", "acme.io\u{2215}x"),
    ("a no-break space", "acme.io/\u{a0}"),
    ("a zero-width space", "acme.io/a\u{200b}b"),
    ("a soft hyphen", "acme.io/a\u{ad}b"),
    ("a byte-order mark", "\u{feff}acme.io/x"),
    ("a line separator", "acme.io/\u{2028}"),
    ("a paragraph separator", "acme.io/\u{2029}"),
    ("an ideographic space", "acme.io/\u{3000}"),
    ("a next-line control", "acme.io/\u{85}"),
    ("a right-to-left override", "acme.io/\u{202e}x"),
    ("a replacement character", "acme.io/\u{fffd}"),
    ("a private-use character", "acme.io/\u{e000}"),
    ("a noncharacter", "acme.io/\u{ffff}"),
    ("the last code point", "acme.io/\u{10ffff}"),
    ("an unassigned code point", "acme.io/\u{378}"),
    ("a character of Unicode 15", "acme.io/\u{1fae8}"),
    ("a character of Unicode 16", "acme.io/\u{1c89}"),
    ("a tag character", "acme.io/\u{e0041}"),
    ("a variation selector", "acme.io/a\u{fe0f}"),
    ("a musical symbol", "acme.io/𝄞"),
    ("a dotless i", "acme.io/ı"),
    ("a Kelvin sign in the host", "\u{212a}ube.io/x"),
    ("a long s in the host", "acme.io\u{17f}/x"),
];

pub(super) fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    let mut add = |name: String, value: &str| {
        let name = format!("format: {name}");
        cases.push(create(name, job(&Field::string(value))));
    };
    for (name, value) in STRINGS {
        add((*name).to_owned(), value);
    }
    // Every ASCII character, in the middle of the host and of the path.
    for byte in 0_u8..0x80 {
        let c = char::from(byte);
        add(format!("U+{byte:04X} in the host"), &format!("a{c}b.io/x"));
        add(
            format!("U+{byte:04X} in the path"),
            &format!("acme.io/a{c}b"),
        );
    }
    // Lengths count bytes, not characters.
    for len in [1_usize, 54, 55, 56, 57, 120, 300] {
        add(
            format!("a path of {len} bytes"),
            &format!("acme.io/{}", "x".repeat(len)),
        );
    }
    for len in [26_usize, 27, 28, 60] {
        add(
            format!("a path of {len} two-byte letters"),
            &format!("acme.io/{}", "é".repeat(len)),
        );
    }
    for len in [63_usize, 64] {
        add(format!("{len} bytes without a slash"), &"a".repeat(len));
        add(
            format!("{len} bytes with an empty path"),
            &format!("{}/", "a".repeat(len.saturating_sub(1))),
        );
    }
    for len in [61_usize, 62, 63, 64, 252, 253, 254, 260] {
        add(
            format!("a host of {len} letters"),
            &format!("{}/x", "a".repeat(len)),
        );
        add(
            format!("a bad host of {len} bytes"),
            &format!("{}_/x", "a".repeat(len.saturating_sub(1))),
        );
    }
    add(
        "everything wrong at once".to_owned(),
        &format!("{}_/ {}", "a".repeat(260), "é".repeat(40)),
    );
    cases
}
