//! Parses the documents of a recorded history.

mod audit;
mod state;

use serde_json::Deserializer;

use crate::json::{Members, NO_RECORD, elements, error_text};
use crate::skipped::{SkipReason, SkippedRecord};

pub use audit::RejectedWrite;
pub(crate) use audit::{AuditedWrite, Write, truncated};
pub(crate) use state::State;

/// A record in a document.
#[derive(Debug)]
pub(crate) enum Record<'a> {
    /// An object from a watch or a list.
    State(WatchEventType, Box<State<'a>>),
    /// A write from an audit log, with the resulting object.
    Write(Box<Write<'a>>),
    /// A write that the API server rejected.
    Rejected(Box<RejectedWrite<'a>>),
    /// A record without a write: a bookmark, a read, the start of a request.
    Ignored,
}

/// Contents of a document, before audit events are classified.
enum Content<'a> {
    /// Anything other than an audit event.
    Record(Record<'a>),
    AuditEvent(Members<'a>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WatchEventType {
    Added,
    Modified,
    Deleted,
    /// An object without an event.
    Listed,
}

impl WatchEventType {
    fn new(name: &str) -> Option<Self> {
        match name {
            "ADDED" => Some(Self::Added),
            "MODIFIED" => Some(Self::Modified),
            "DELETED" => Some(Self::Deleted),
            _ => None,
        }
    }
}

/// Parses the records in one part of a stream. The callback gets the number of lines in the part before a JSON error, and 0 for any
/// other record. Values need not be separated by newlines.
pub(crate) fn read<'a>(
    bytes: &'a [u8],
    mut each: impl FnMut(usize, Result<Record<'a>, SkippedRecord>),
) {
    documents(bytes, |lines, content| {
        let mut record = content.and_then(|content| match content {
            Content::Record(record) => Ok(record),
            Content::AuditEvent(event) => audit::record(event),
        });
        // Objects are parsed here, because this runs in parallel.
        match &mut record {
            Ok(Record::State(_, state)) => state.cache_object(),
            Ok(Record::Write(write)) => write.state.cache_object(),
            Ok(Record::Rejected(write)) => {
                if let Some(sent) = &mut write.sent {
                    sent.cache_object();
                }
            }
            Ok(Record::Ignored) | Err(_) => {}
        }
        each(lines, record);
    });
}

/// Parses the writes in one part of an audit log, like [`read`]. Objects and watch events are errors, because they do not
/// identify the writer.
pub(crate) fn read_audited<'a>(
    bytes: &'a [u8],
    mut each: impl FnMut(usize, Result<AuditedWrite<'a>, SkippedRecord>),
) {
    documents(bytes, |lines, content| match content {
        Ok(Content::AuditEvent(event)) => {
            if let Some(audited) = AuditedWrite::new(event) {
                each(lines, Ok(audited));
            }
        }
        Ok(Content::Record(Record::Ignored)) => {}
        Ok(Content::Record(_)) => {
            let text = "expected an audit event: objects and watch events do not name the writer";
            each(lines, Err(unknown_document(text)));
        }
        Err(skipped) => each(lines, Err(skipped)),
    });
}

/// Parses the documents in one part of a stream.
fn documents<'a>(bytes: &'a [u8], mut each: impl FnMut(usize, Result<Content<'a>, SkippedRecord>)) {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let Ok(text) = std::str::from_utf8(bytes) else {
        return each(0, Err(SkippedRecord::new(SkipReason::NotJson, "not UTF-8")));
    };
    if let Some((event, text)) = watch_event_line(text)
        && let Some(state) = State::parse(text)
    {
        let record = Record::State(event, Box::new(state));
        return each(0, Ok(Content::Record(record)));
    }
    let mut documents = Deserializer::from_str(text).into_iter::<Members<'a>>();
    loop {
        let start = documents.byte_offset();
        let members = match documents.next() {
            None => return,
            Some(Ok(members)) => members,
            Some(Err(error)) => {
                let skipped = SkippedRecord::new(SkipReason::NotJson, error_text(&error));
                return each(lines_before(text, &error), Err(skipped));
            }
        };
        let document = text.get(start..documents.byte_offset()).unwrap_or_default();
        classify(document.trim_ascii(), members, &mut |content| {
            each(0, content);
        });
    }
}

/// Returns the number of lines before the position of an error.
fn lines_before(text: &str, error: &serde_json::Error) -> usize {
    if error.is_eof() {
        // Truncated input ends before trailing empty lines.
        return text.trim_ascii_end().matches('\n').count();
    }
    // serde_json reports an error at a newline as column 0 of the next line. A value of the wrong type may start there too.
    let past = usize::from(error.column() == 0 && !error.is_data());
    error.line().saturating_sub(past).saturating_sub(1)
}

/// Splits a watch event, formatted as kube-apiserver writes it, into type and object. Returns [`None`] for other layouts and event
/// types. This avoids parsing the event to find the object, which takes an eighth of a replay's time.
fn watch_event_line(text: &str) -> Option<(WatchEventType, &str)> {
    let rest = text.strip_prefix("{\"type\":\"")?;
    let (event, rest) = rest.split_once('"')?;
    let object = rest.strip_prefix(",\"object\":")?;
    let object = object.trim_ascii_end().strip_suffix('}')?;
    Some((WatchEventType::new(event)?, object.trim_ascii()))
}

/// Classifies a document as an object, a list, a watch event or an audit event.
fn classify<'a>(
    text: &'a str,
    members: Members<'a>,
    each: &mut impl FnMut(Result<Content<'a>, SkippedRecord>),
) {
    let object = members.iter().filter(|(name, _)| name == "object").last();
    if let Some((_, object)) = object {
        let event_type = members.string("type");
        return each(watch_event(event_type.as_deref(), object).map(Content::Record));
    }
    let state = State::new(text, &members, None);
    let is_audit = state.group == "audit.k8s.io";
    match (&*state.kind, state.items) {
        ("Event", _) if is_audit => each(Ok(Content::AuditEvent(members))),
        (kind, Some(items)) if kind.ends_with("List") => {
            let Some(items) = elements(items) else {
                return each(Err(unknown_document("expected an array of items")));
            };
            for item in items {
                each(match Members::parse(item) {
                    Some(members) if is_audit => Ok(Content::AuditEvent(members)),
                    Some(members) => Ok(listed(State::new(item, &members, Some(&state)))),
                    None => Err(unknown_document("expected an object as an item")),
                });
            }
        }
        ("", _) => each(Err(unknown_document(NO_RECORD))),
        _ => each(Ok(listed(state))),
    }
}

fn listed(state: State<'_>) -> Content<'_> {
    Content::Record(Record::State(WatchEventType::Listed, Box::new(state)))
}

fn unknown_document(text: &str) -> SkippedRecord {
    SkippedRecord::new(SkipReason::UnknownDocument, text)
}

fn not_an_object() -> SkippedRecord {
    SkippedRecord::new(SkipReason::NotJson, "expected a JSON object")
}

fn watch_event<'a>(event: Option<&str>, object: &'a str) -> Result<Record<'a>, SkippedRecord> {
    let state = State::parse(object).ok_or_else(not_an_object)?;
    if let Some(event) = event.and_then(WatchEventType::new) {
        return Ok(Record::State(event, Box::new(state)));
    }
    match event {
        Some("BOOKMARK") => Ok(Record::Ignored),
        Some("ERROR") => {
            let status = Members::parse(object).unwrap_or_default();
            let message = status.string("message").unwrap_or_default();
            let message: String = message.chars().take(200).collect();
            let text = format!("the watch ended with an error: {message}");
            Err(SkippedRecord::new(SkipReason::WatchError, text))
        }
        _ => {
            let text = "expected a watch event of type ADDED, MODIFIED, DELETED, BOOKMARK or ERROR";
            Err(unknown_document(text))
        }
    }
}
