//! Finds records inside the JSON of log services: as objects, or as JSON in texts.

use serde_json::{Deserializer, Value, json};

/// Starts of documents that are records themselves: an audit event and a watch event, as the API server writes them.
const RECORD_STARTS: [&[u8]; 3] = [
    b"{\"kind\":\"Event\"",
    b"{\"kind\":\"EventList\"",
    b"{\"type\":\"",
];

const WATCH_EVENTS: [&str; 5] = ["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"];

/// HTTP codes of `google.rpc.Code`, by number.
const HTTP_CODES: [u16; 17] = [
    200, 499, 500, 400, 504, 404, 409, 403, 429, 400, 409, 400, 501, 500, 503, 500, 401,
];

/// Returns the records, one per line, that a document contains anywhere but at the top: audit events and watch events in arrays, in
/// members, and as JSON in texts, also behind a prefix; log entries of Google Cloud as audit events; and the objects of an array.
/// [`None`] if there are none, or the document is a record itself.
pub fn embedded_records(document: &[u8]) -> Option<Vec<u8>> {
    let document = document.trim_ascii();
    let element = array_element(document);
    let may_embed = || {
        let quotes = memchr::memchr_iter(b'"', document);
        let mut texts = quotes.filter_map(|at| document.get(at.saturating_add(1)..));
        let marks = ["audit.k8s.io/", "protoPayload"].into_iter();
        let marks: Vec<_> = marks.chain(WATCH_EVENTS).map(str::as_bytes).collect();
        texts.any(|text| marks.iter().any(|mark| text.starts_with(mark)))
    };
    if element.is_some_and(<[u8]>::is_empty) {
        return Some(Vec::new());
    }
    let is_array = element.is_some() || document.starts_with(b"[");
    let is_record_itself = || RECORD_STARTS.iter().any(|it| document.starts_with(it));
    if !is_array && (is_record_itself() || !may_embed()) {
        return None;
    }
    // Firehose writes no line ends between objects.
    let values = Deserializer::from_slice(element.unwrap_or(document)).into_iter::<Value>();
    let values: Vec<_> = values.collect::<Result<_, _>>().ok()?;
    if element.is_none() && values.iter().all(is_record) {
        return None;
    }
    let mut records = Vec::new();
    let mut found = false;
    for value in &values {
        let objects = match value {
            Value::Array(objects) => objects,
            object => std::slice::from_ref(object),
        };
        let is_array = element.is_some() || value.is_array();
        for object in objects {
            let is_object = is_array
                && ["apiVersion", "kind"]
                    .iter()
                    .all(|it| object[it].is_string());
            if is_object {
                write(object, &mut records);
            }
            found |= is_object || add(object, &mut records);
        }
    }
    found.then_some(records)
}

/// Returns the element of a part of an array that has an element on each line.
fn array_element(document: &[u8]) -> Option<&[u8]> {
    match (document.first()?, document.last()?) {
        (b'[', end) if *end != b']' => document.strip_suffix(b",").or(Some(document))?.get(1..),
        (b'{', b',') => document.strip_suffix(b","),
        (b'{', b']') => document.strip_suffix(b"]"),
        _ => None,
    }
}

fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn is_record(value: &Value) -> bool {
    let is_watch_event = WATCH_EVENTS.contains(&text(value, "/type"));
    text(value, "/apiVersion").starts_with("audit.k8s.io/")
        || is_watch_event && value.get("object").is_some_and(Value::is_object)
}

fn write(record: &Value, records: &mut Vec<u8>) {
    records.extend_from_slice(record.to_string().as_bytes());
    records.push(b'\n');
}

/// Adds the records in a value. Returns true if there are any, even if they are no writes.
fn add(value: &Value, records: &mut Vec<u8>) -> bool {
    match value {
        Value::Object(_) if is_record(value) => {
            write(value, records);
            true
        }
        Value::Object(members) => match members.get("protoPayload") {
            Some(payload) => {
                let event = google_cloud_event(value, payload);
                if let Some(event) = event {
                    write(&event, records);
                }
                true
            }
            None => add_all(members.values(), records),
        },
        Value::Array(values) => add_all(values.iter(), records),
        // Each level of texts is shorter than the one around it.
        Value::String(text) => {
            let json = text.find("{\"").and_then(|start| text.get(start..));
            let value = serde_json::from_str(json.unwrap_or_default().trim_end());
            value.is_ok_and(|value| add(&value, records))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn add_all<'v>(values: impl Iterator<Item = &'v Value>, records: &mut Vec<u8>) -> bool {
    let mut found = false;
    for value in values {
        found |= add(value, records);
    }
    found
}

/// Converts a log entry of GKE to an audit event. [`None`] for other services.
fn google_cloud_event(entry: &Value, payload: &Value) -> Option<Value> {
    // `io.k8s.batch.v1.jobs.status.update` of `batch/v1/namespaces/lab/jobs/crunch`, or `core/v1/nodes/a`.
    let mut method = text(payload, "/methodName").rsplit('.');
    let verb = method.next()?;
    let mut path = text(payload, "/resourceName").split('/');
    let (group, version) = (path.next()?, path.next()?);
    let mut resource = path.next()?;
    let mut namespace = "";
    if resource == "namespaces"
        && let Some(inner) = path.clone().nth(1)
    {
        (namespace, resource) = (path.next()?, inner);
        path.next();
    }
    let subresource = method.next().filter(|name| *name != resource);
    let object = |name| {
        let mut object = payload.get(name).cloned();
        let members = object.as_mut().and_then(Value::as_object_mut);
        members.map(|members| members.remove("@type"));
        object
    };
    let code = payload
        .pointer("/status/code")
        .and_then(Value::as_u64)
        .unwrap_or_default();
    let code = usize::try_from(code)
        .ok()
        .and_then(|code| HTTP_CODES.get(code));
    let code = payload
        .pointer("/response/code")
        .cloned()
        .unwrap_or_else(|| json!(code));
    let has_object = payload.get("response").is_some();
    Some(json!({
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Event",
        "level": if has_object { "RequestResponse" } else { "Metadata" },
        "stage": "ResponseComplete",
        "verb": verb,
        "user": {"username": text(payload, "/authenticationInfo/principalEmail")},
        "objectRef": {
            "apiGroup": if group == "core" { "" } else { group },
            "apiVersion": version,
            "namespace": namespace,
            "resource": resource,
            "name": path.next(),
            "subresource": path.next().or(subresource),
        },
        "responseStatus": {"code": code, "message": text(payload, "/status/message")},
        "requestObject": object("request"),
        "responseObject": object("response"),
        "requestReceivedTimestamp": text(entry, "/timestamp"),
        "annotations": entry.get("labels"),
    }))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::embedded_records;

    fn records(document: &str) -> Option<Vec<Value>> {
        let records = String::from_utf8(embedded_records(document.as_bytes())?).unwrap();
        let records = records
            .lines()
            .map(|line| serde_json::from_str(line).unwrap());
        Some(records.collect())
    }

    #[test]
    fn records_are_found_in_any_shape() {
        let event = json!({"apiVersion": "audit.k8s.io/v1", "kind": "Event", "verb": "create"});
        let watch = json!({"type": "ADDED", "object": {"kind": "Job"}});
        for event in [&event, &watch] {
            let text = event.to_string();
            for document in [
                json!([event, {"a": event}]),
                json!({"data": {"result": [{"values": [["1", text], ["2", format!("2026-10-01T08:00:10Z stdout F {text}")]]}]}}),
                // Vector or fluent-bit, inside a message of Elasticsearch.
                json!({"_source": {"message": json!({"log": text, "other": event}).to_string()}}),
            ] {
                let found = records(&document.to_string());
                assert_eq!(found, Some(vec![event.clone(); 2]), "{document}");
            }
            // Parts of an array with an element on each line.
            for part in ["[\nE", "[E,", "E,", "E\n]"] {
                let found = records(&part.replace('E', &text));
                assert_eq!(found, Some(vec![event.clone()]), "{part}");
            }
        }
        assert_eq!(records("[\n"), Some(Vec::new()));
        let list = json!({"apiVersion": "audit.k8s.io/v1", "kind": "EventList", "items": [event]});
        let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"annotations": {"a": "audit.k8s.io/v1 {"}}});
        for document in [&event, &watch, &list, &job, &json!({"a": 1}), &json!([1])] {
            assert_eq!(records(&document.to_string()), None, "{document}");
        }
        let array = json!([job, job]).to_string();
        assert_eq!(records(&array), Some(vec![job.clone(), job]));
    }

    #[test]
    fn entries_of_google_cloud_become_audit_events() {
        let found = |payload: Value| {
            let entry = json!({"protoPayload": payload, "timestamp": "2026-10-01T08:00:11Z", "labels": {"a": "b"}});
            records(&entry.to_string()).unwrap().pop()
        };
        let event = found(json!({
            "methodName": "io.k8s.batch.v1.jobs.status.update",
            "resourceName": "batch/v1/namespaces/lab/jobs/pi",
            "authenticationInfo": {"principalEmail": "ana@example.org"},
            "request": {"@type": "batch.k8s.io/v1.Job", "kind": "Job"},
            "response": {"@type": "core.k8s.io/v1.Status", "kind": "Status", "code": 422},
            "status": {"code": 3, "message": "invalid"},
        }));
        let event = event.unwrap();
        let object = json!({"apiGroup": "batch", "apiVersion": "v1", "namespace": "lab", "resource": "jobs", "name": "pi", "subresource": "status"});
        assert_eq!(event["objectRef"], object);
        let status = json!({"code": 422, "message": "invalid"});
        assert_eq!(event["responseStatus"], status);
        assert_eq!(event["requestObject"], json!({"kind": "Job"}));
        let event = found(json!({
            "methodName": "io.k8s.core.v1.nodes.patch",
            "resourceName": "core/v1/nodes/n",
            "status": {"code": 7},
        }));
        let event = event.unwrap();
        let object = json!({"apiGroup": "", "apiVersion": "v1", "namespace": "", "resource": "nodes", "name": "n", "subresource": null});
        assert_eq!(event["objectRef"], object);
        assert_eq!(
            (&event["responseStatus"]["code"], &event["level"]),
            (&json!(403), &json!("Metadata"))
        );
        let other = json!({"methodName": "google.container.v1.ClusterManager.UpdateCluster", "resourceName": "projects"});
        assert_eq!(found(other), None);
    }
}
