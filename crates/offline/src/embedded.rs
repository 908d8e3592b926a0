//! Finds audit events inside the JSON of log services: as objects, or as JSON in texts.

use serde_json::{Deserializer, Value};

/// Beginnings of an event in kube-apiserver's log. A document with one of them is not embedded.
const EVENT_STARTS: [&[u8]; 2] = [b"{\"kind\":\"Event\"", b"{\"kind\":\"EventList\""];

/// Returns the audit events, one per line, that a document contains anywhere but at the top: in arrays, in members, and as JSON in texts,
/// also behind a prefix. [`None`] if there are none, or the document is an event or a list of events.
pub fn embedded_events(document: &[u8]) -> Option<Vec<u8>> {
    let is_event = EVENT_STARTS.iter().any(|start| document.starts_with(start));
    if is_event || memchr::memmem::find(document, b"audit.k8s.io/").is_none() {
        return None;
    }
    // Firehose writes no line ends between objects.
    let values = Deserializer::from_slice(document).into_iter::<Value>();
    let values: Vec<_> = values.collect::<Result<_, _>>().ok()?;
    if values.iter().all(is_audit) {
        return None;
    }
    let mut events = Vec::new();
    for value in &values {
        add(value, &mut events);
    }
    (!events.is_empty()).then_some(events)
}

fn is_audit(value: &Value) -> bool {
    let version = value.get("apiVersion").and_then(Value::as_str);
    version.is_some_and(|version| version.starts_with("audit.k8s.io/"))
}

fn add(value: &Value, events: &mut Vec<u8>) {
    match value {
        Value::Object(_) if is_audit(value) => {
            events.extend_from_slice(value.to_string().as_bytes());
            events.push(b'\n');
        }
        Value::Object(members) => members.values().for_each(|value| add(value, events)),
        Value::Array(values) => values.iter().for_each(|value| add(value, events)),
        // Each level of texts is shorter than the one around it.
        Value::String(text) if text.contains("audit.k8s.io/") => {
            let json = text.find('{').and_then(|start| text.get(start..));
            let json = json.unwrap_or_default().trim_end();
            if let Ok(value) = serde_json::from_str(json) {
                add(&value, events);
            }
        }
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::embedded_events;

    #[test]
    fn events_are_found_in_any_shape() {
        let event = json!({"apiVersion": "audit.k8s.io/v1", "kind": "Event", "verb": "create"});
        let text = event.to_string();
        for document in [
            json!([event, {"a": event}]),
            json!({"records": [{"properties": {"log": text}}, {"properties": {"log": format!("{text}\n")}}]}),
            json!({"logEvents": [{"message": text}, {"message": text}]}),
            json!({"data": {"result": [{"values": [["1", text], ["2", format!("2026-10-01T08:00:10Z stdout F {text}")]]}]}}),
            // Vector or fluent-bit, inside a message of Elasticsearch.
            json!({"_source": {"message": json!({"log": text, "other": event}).to_string()}}),
        ] {
            let events = embedded_events(document.to_string().as_bytes()).unwrap();
            let events = String::from_utf8(events).unwrap();
            let events: Vec<Value> = events
                .lines()
                .map(|line| serde_json::from_str(line).unwrap())
                .collect();
            assert_eq!(events, [event.clone(), event.clone()], "{document}");
        }
        let list = json!({"apiVersion": "audit.k8s.io/v1", "kind": "EventList", "items": [event]});
        let job = json!({"kind": "Job", "metadata": {"annotations": {"a": "audit.k8s.io/v1 {"}}});
        for document in [event, list, job, json!({"a": 1})] {
            assert_eq!(
                embedded_events(document.to_string().as_bytes()),
                None,
                "{document}"
            );
        }
    }
}
