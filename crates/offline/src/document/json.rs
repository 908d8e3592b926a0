//! JSON documents: `serde_json` reads them, and borrowed values tell where they stand.

use serde_json::Deserializer;
use serde_json::value::RawValue;

use super::offset_in;
use crate::json::{Members, elements, what};
use crate::malformed::MalformedText;
use crate::named::Named;
use crate::path::{Path, Segment};
use crate::places::Places;

/// The values of a text that holds JSON values one after another. What cannot be read is an error, and values are read again
/// from the next line that begins with `{`, as in a stream.
pub(super) fn values<'t>(
    places: &Places<'_>,
    part: &'t str,
) -> Vec<Result<&'t str, MalformedText>> {
    let mut values = Vec::new();
    let mut rest = part;
    loop {
        let mut read = Deserializer::from_str(rest).into_iter::<&'t RawValue>();
        let (bad, error) = loop {
            let start = read.byte_offset();
            match read.next() {
                Some(Ok(value)) => values.push(Ok(value.get())),
                Some(Err(error)) => break (start, error),
                None => return values,
            }
        };
        let offset = offset_of(rest, &error);
        let at = offset_in(places.text, rest).saturating_add(offset);
        values.push(Err(places.malformed(at, what(rest, &error))));
        let bad = rest.get(bad..).unwrap_or_default().trim_ascii_start();
        // What begins a line inside an array is no value of its own.
        let after = if bad.starts_with('[') {
            rest.get(offset..).unwrap_or_default()
        } else {
            bad
        };
        let mut lines = memchr::memchr_iter(b'\n', after.as_bytes());
        let next = lines.find_map(|end| {
            let next = after.get(end.saturating_add(1)..)?;
            next.starts_with('{').then_some(next)
        });
        match next {
            Some(next) => rest = next,
            None => return values,
        }
    }
}

/// The byte of a text at which `serde_json` found an error. It counts lines, and bytes in them.
fn offset_of(text: &str, error: &serde_json::Error) -> usize {
    let lines = text
        .split_inclusive('\n')
        .take(error.line().saturating_sub(1));
    let line_start = lines.fold(0_usize, |sum, line| sum.saturating_add(line.len()));
    line_start.saturating_add(error.column().saturating_sub(1))
}

/// The way from a document to a value in it. Paths come object by object, so what two of them share is taken apart once: else
/// each place in a list would cost the whole list.
#[derive(Debug, Default)]
pub(super) struct Way<'t> {
    steps: Vec<Step<'t>>,
}

/// A value on the way.
#[derive(Debug)]
struct Step<'t> {
    /// What leads here from the value before; nothing to the document.
    segment: Option<Segment>,
    /// The name of a member, or else the value.
    key: &'t str,
    value: &'t str,
    /// What is in it, once somebody asked.
    inside: Option<Inside<'t>>,
}

#[derive(Debug)]
enum Inside<'t> {
    Members(Members<'t>, Named<'t, usize>),
    Elements(Vec<&'t str>),
}

impl<'t> Way<'t> {
    /// The value at a path of a document, or the nearest value around it; and whether it was found. Of a member the name, if the
    /// key is meant.
    pub(super) fn find(&mut self, json: &'t str, path: &Path, is_key: bool) -> (&'t str, bool) {
        if self.steps.is_empty() {
            self.steps.push(Step::new(None, (json, json)));
        }
        let known = self.steps.iter().skip(1).map(|step| &step.segment);
        let shared = known
            .zip(path.segments())
            .take_while(|(known, segment)| known.as_ref() == Some(*segment))
            .count();
        self.steps.truncate(shared.saturating_add(1));
        let mut is_exact = true;
        for segment in path.segments().iter().skip(shared) {
            let Some(found) = self.steps.last_mut().and_then(|step| step.to(segment)) else {
                is_exact = false;
                break;
            };
            self.steps.push(Step::new(Some(segment.clone()), found));
        }
        let last = self.steps.last();
        let shown = last.map_or(json, |step| if is_key { step.key } else { step.value });
        (shown, is_exact)
    }
}

impl<'t> Step<'t> {
    const fn new(segment: Option<Segment>, (key, value): (&'t str, &'t str)) -> Self {
        Self {
            segment,
            key,
            value,
            inside: None,
        }
    }

    /// The member or the element at one step from here: its name, or else itself, and itself.
    fn to(&mut self, segment: &Segment) -> Option<(&'t str, &'t str)> {
        match self.inside.get_or_insert_with(|| Inside::of(self.value)) {
            Inside::Members(members, places) => {
                let (name, value) = members.at(*places.get(segment.key())?)?;
                Some((name.strip_prefix('"')?.strip_suffix('"')?, value))
            }
            Inside::Elements(elements) => {
                let element = *elements.get(segment.index()?)?;
                Some((element, element))
            }
        }
    }
}

impl<'t> Inside<'t> {
    /// What is in a value. A scalar has no elements.
    fn of(json: &'t str) -> Self {
        #[cfg(test)]
        tests::TAKEN_APART.set(tests::TAKEN_APART.get().saturating_add(json.len()));
        match Members::of(json) {
            Some(members) => {
                let places = members.places();
                Self::Members(members, places)
            }
            None => Self::Elements(elements(json).unwrap_or_default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::fmt::Write as _;

    use super::Way;
    use crate::path::Path;

    thread_local! {
        /// How many bytes were taken apart.
        pub(super) static TAKEN_APART: Cell<usize> = const { Cell::new(0) };
    }

    /// Places of objects, one after another, take as many steps for each object, however many there are.
    #[test]
    fn what_paths_share_is_taken_apart_once() {
        for count in [10, 1000] {
            let mut list = "{\"kind\":\"List\",\"items\":[".to_owned();
            for index in 0..count {
                let comma = if index > 0 { "," } else { "" };
                write!(
                    list,
                    "{comma}{{\"kind\":\"Job\",\"spec\":{{\"a\":[{index},{{}}]}}}}"
                )
                .unwrap();
            }
            list.push_str("]}");
            let mut way = Way::default();
            TAKEN_APART.set(0);
            for index in 0..count {
                for (path, shown) in [
                    ("spec.a[0]", index.to_string()),
                    ("spec.a[1]", "{}".to_owned()),
                    ("kind", "\"Job\"".to_owned()),
                ] {
                    let path = Path::parse(&format!("items[{index}].{path}"));
                    assert_eq!(way.find(&list, &path, false), (&*shown, true));
                }
            }
            // The list, its items, and each item: itself, its spec, the array in it, and the empty object in that.
            let taken = TAKEN_APART.get();
            assert!(taken < 5 * list.len(), "{taken} of {}", list.len());
        }
    }

    #[test]
    fn a_way_leads_to_any_other_place() {
        let json = "{\"a\":{\"b\":[1,{\"c\":2}],\"b\\n\":3},\"d\":null,\"d\":4}";
        let mut way = Way::default();
        for (path, is_key, expected) in [
            ("a.b[1].c", false, ("2", true)),
            ("a.b[0]", false, ("1", true)),
            ("a.b[0].c", false, ("1", false)),
            ("a.b[7]", false, ("[1,{\"c\":2}]", false)),
            ("a.b", true, ("b", true)),
            ("a[\"b\\n\"]", true, ("b\\n", true)),
            ("a[\"b\\n\"]", false, ("3", true)),
            ("d", false, ("4", true)),
            ("e.f", false, (json, false)),
            ("", true, (json, true)),
            ("a.b[1].c", true, ("c", true)),
        ] {
            assert_eq!(
                way.find(json, &Path::parse(path), is_key),
                expected,
                "{path}"
            );
        }
    }
}
