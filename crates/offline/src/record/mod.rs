//! Parses the documents of a recorded history.

mod audit;
mod state;

use serde_json::Deserializer;

use crate::json::{Members, elements, what};
use crate::unjudged::{Unjudged, Why};

pub(crate) use audit::{Audited, Write};
pub(crate) use state::State;

/// A record in a document.
#[derive(Debug)]
pub(crate) enum Record<'a> {
    /// An object from a watch or a list.
    State(Event, Box<State<'a>>),
    /// A write from an audit log, with the resulting object.
    Write(Box<Write<'a>>),
    /// A write that the API server rejected.
    Refused,
    /// A record without a write: a bookmark, a read, the start of a request.
    Nothing,
}

/// Contents of a document, before audit events are classified.
enum Held<'a> {
    /// Anything other than an audit event.
    Record(Record<'a>),
    /// The members of an audit event.
    Audit(Members<'a>),
}

impl Record<'_> {
    /// Parses the object of the record for evaluation.
    fn with_object(mut self) -> Self {
        match &mut self {
            Self::State(_, state) => state.read_object(),
            Self::Write(write) => write.state.read_object(),
            Self::Refused | Self::Nothing => {}
        }
        self
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    Added,
    Modified,
    Deleted,
    /// An object without an event.
    Listed,
}

/// Parses the records in one part of a stream, each with the number of preceding lines. Values need not be separated by
/// line ends.
pub(crate) fn read<'a>(bytes: &'a [u8], mut each: impl FnMut(usize, Result<Record<'a>, Unjudged>)) {
    documents(bytes, |lines, held| {
        let record = held.and_then(|held| match held {
            Held::Record(record) => Ok(record),
            Held::Audit(event) => audit::record(event),
        });
        each(lines, record.map(Record::with_object));
    });
}

/// Parses the writes in one part of an audit log, like [`read`]. Objects and watch events are errors, because they do not
/// identify the writer.
pub(crate) fn read_audited<'a>(
    bytes: &'a [u8],
    mut each: impl FnMut(usize, Result<Audited<'a>, Unjudged>),
) {
    documents(bytes, |lines, held| match held {
        Ok(Held::Audit(event)) => {
            if let Some(audited) = Audited::of(event) {
                each(lines, Ok(audited));
            }
        }
        Ok(Held::Record(Record::Nothing)) => {}
        Ok(Held::Record(_)) => each(lines, Err(Unjudged::new(Why::Unknown, NO_AUDIT))),
        Err(unjudged) => each(lines, Err(unjudged)),
    });
}

/// The message for a record that does not identify the writer.
const NO_AUDIT: &str =
    "expected an audit event, got an object or a watch event, which does not say who wrote it";

/// Parses the documents in one part of a stream.
fn documents<'a>(bytes: &'a [u8], mut each: impl FnMut(usize, Result<Held<'a>, Unjudged>)) {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let Ok(text) = std::str::from_utf8(bytes) else {
        return each(0, Err(Unjudged::new(Why::NotJson, "is not UTF-8")));
    };
    if let Some((event, text)) = line_of_watch(text)
        && let Some(state) = State::read(text)
    {
        return each(0, Ok(Held::Record(Record::State(event, Box::new(state)))));
    }
    let mut documents = Deserializer::from_str(text).into_iter::<Members<'a>>();
    loop {
        let start = documents.byte_offset();
        let members = match documents.next() {
            None => return,
            Some(Ok(members)) => members,
            Some(Err(error)) => {
                let lines = lines_before(text, &error);
                return each(lines, Err(Unjudged::new(Why::NotJson, what(text, &error))));
            }
        };
        let document = text.get(start..documents.byte_offset()).unwrap_or_default();
        of_document(document.trim_ascii(), members, &mut |held| each(0, held));
    }
}

/// Returns the number of lines before the position of an error.
fn lines_before(text: &str, error: &serde_json::Error) -> usize {
    if error.is_eof() {
        // Truncated input ends before trailing empty lines.
        return text.trim_ascii_end().matches('\n').count();
    }
    // A line end counts towards the next line, where a value of another type may also begin.
    let past = usize::from(error.column() == 0 && !error.is_data());
    error.line().saturating_sub(past).saturating_sub(1)
}

/// Splits a watch event as kube-apiserver writes it into type and object, if the rest of the line is the object. Parsing
/// the event only to find the object takes an eighth of a replay.
fn line_of_watch(text: &str) -> Option<(Event, &str)> {
    let rest = text.strip_prefix("{\"type\":\"")?;
    let (event, rest) = rest.split_at_checked(rest.bytes().position(|byte| byte == b'"')?)?;
    let object = rest.strip_prefix("\",\"object\":")?;
    let object = object.trim_ascii_end().strip_suffix('}')?;
    let event = match event {
        "ADDED" => Event::Added,
        "MODIFIED" => Event::Modified,
        "DELETED" => Event::Deleted,
        _ => return None,
    };
    Some((event, object.trim_ascii()))
}

/// Classifies a document as an object, a list, a watch event or an audit event.
fn of_document<'a>(
    text: &'a str,
    members: Members<'a>,
    each: &mut impl FnMut(Result<Held<'a>, Unjudged>),
) {
    if let Some((_, object)) = members.find("object") {
        let of_type = members.string("type");
        let parts = Members::of(object).ok_or_else(not_an_object);
        let event = parts.and_then(|parts| of_event(of_type.as_deref(), object, &parts));
        return each(event.map(Held::Record));
    }
    let state = State::of(text, &members);
    match (&*state.group, &*state.kind, state.items) {
        ("audit.k8s.io", "Event", _) => each(Ok(Held::Audit(members))),
        (group, kind, Some(items)) if kind.ends_with("List") => {
            let is_audit = group == "audit.k8s.io";
            let Some(items) = elements(items) else {
                return each(Err(Unjudged::new(
                    Why::Unknown,
                    "a list whose items are no array",
                )));
            };
            for item in items {
                each(match Members::of(item) {
                    Some(members) if is_audit => Ok(Held::Audit(members)),
                    Some(members) => {
                        Ok(Held::Record(listed(State::of_item(item, &members, &state))))
                    }
                    None => Err(Unjudged::new(Why::Unknown, "an item that is no object")),
                });
            }
        }
        (_, "", _) => each(Err(Unjudged::new(
            Why::Unknown,
            "expected an object, a watch event or an audit event, got none of them",
        ))),
        _ => each(Ok(Held::Record(listed(state)))),
    }
}

fn listed(state: State<'_>) -> Record<'_> {
    Record::State(Event::Listed, Box::new(state))
}

fn not_an_object() -> Unjudged {
    Unjudged::new(Why::NotJson, "not JSON: expected an object")
}

fn of_event<'a>(
    event: Option<&str>,
    text: &'a str,
    members: &Members<'a>,
) -> Result<Record<'a>, Unjudged> {
    let event = match event {
        Some("ADDED") => Event::Added,
        Some("MODIFIED") => Event::Modified,
        Some("DELETED") => Event::Deleted,
        Some("BOOKMARK") => return Ok(Record::Nothing),
        Some("ERROR") => {
            let message = members.string("message").unwrap_or_default();
            let message: String = message.chars().take(200).collect();
            let text = format!("the watch ended with an error: {message}");
            return Err(Unjudged::new(Why::WatchError, text));
        }
        _ => {
            return Err(Unjudged::new(
                Why::Unknown,
                "a watch event of a type other than ADDED, MODIFIED, DELETED, BOOKMARK and ERROR",
            ));
        }
    };
    Ok(Record::State(event, Box::new(State::of(text, members))))
}
