//! Unwraps audit logs from the formats of container runtimes, `OpenShift` and AWS, and converts YAML.

use serde::Deserialize;

use crate::document::Document;

/// Extracts audit events from their wrappers: the line prefix of a container runtime (CRI), of a `CloudWatch` export or of
/// `oc adm node-logs`, the JSON of Docker's log driver, or the output of `aws logs filter-log-events`. Converts the documents of
/// `kubectl get --watch -o yaml` to JSON. Each event or document is written on the line where it ends, and the other lines become
/// empty. Other input is copied unchanged.
#[derive(Debug, Default)]
pub struct Unwrapper {
    format: Option<Format>,
    /// The start of an incomplete line.
    line: Vec<u8>,
    /// The start of an event that continues on the next line.
    event: Vec<u8>,
    /// True if the incomplete event was written to standard error.
    is_stderr: bool,
}

#[derive(Debug, Clone, Copy)]
enum Format {
    Plain,
    TimestampPrefix,
    /// `NODE {...}`, as `oc adm node-logs` prints the audit logs of several nodes.
    NodePrefix,
    Docker,
    FilterLogEvents,
    Yaml,
}

/// The starts of YAML: the first keys of an object and of a watch event, which kubectl sorts, a separator and a comment.
const YAML_STARTS: [&[u8]; 5] = [b"apiVersion:", b"object:", b"type:", b"---", b"#"];

/// Maximum size of a YAML document. A longer one is passed on unconverted, so that it is reported.
const MAX_YAML: usize = 64 << 20;

/// Number of bytes needed to detect the format.
const SNIFFED: usize = 24;

/// A line of Docker's `json-file` driver.
#[derive(Deserialize)]
struct DockerLine {
    log: String,
    #[serde(default)]
    stream: String,
}

/// The text of a line, without its wrapper.
#[derive(Default)]
struct Line {
    text: Vec<u8>,
    /// True if the next line continues the text.
    continues: bool,
    is_stderr: bool,
}

impl From<Vec<u8>> for Line {
    fn from(text: Vec<u8>) -> Self {
        Self {
            text,
            ..Self::default()
        }
    }
}

impl Unwrapper {
    /// Unwraps the next chunk of input and appends the result to `to`. `is_last` flushes an incomplete line or event.
    pub fn push(&mut self, bytes: &[u8], is_last: bool, to: &mut Vec<u8>) {
        let Some(format) = self.format else {
            self.line.extend_from_slice(bytes);
            if self.line.len() >= SNIFFED || is_last {
                self.format = Some(Format::detect(&self.line));
                let start = std::mem::take(&mut self.line);
                self.push(&start, is_last, to);
            }
            return;
        };
        if matches!(format, Format::Plain) {
            to.extend_from_slice(bytes);
            return;
        }
        let mut rest = bytes;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let (line, behind) = rest.split_at_checked(end).unwrap_or_default();
            self.line.extend_from_slice(line);
            self.end_line(format, to);
            rest = behind.get(1..).unwrap_or_default();
        }
        self.line.extend_from_slice(rest);
        if is_last && !self.line.is_empty() {
            self.end_line(format, to);
        }
        if is_last && matches!(format, Format::Yaml) {
            self.end_yaml(to);
        }
        if is_last {
            to.append(&mut self.event);
        }
    }

    /// Converts the document before a separator or the end.
    fn end_yaml(&mut self, to: &mut Vec<u8>) {
        let text = std::mem::take(&mut self.event);
        let documents = std::str::from_utf8(&text).map(Document::parse_all);
        match documents.map(|all| all.into_iter().collect::<Result<Vec<_>, _>>()) {
            Ok(Ok(documents)) => {
                for document in documents {
                    to.extend_from_slice(document.json().as_bytes());
                }
            }
            // The error is reported when the line is parsed.
            Ok(Err(_)) | Err(_) => to.extend(text.iter().map(|&byte| match byte {
                b'\n' => b' ',
                _ => byte,
            })),
        }
    }

    fn end_line(&mut self, format: Format, to: &mut Vec<u8>) {
        let line = std::mem::take(&mut self.line);
        if matches!(format, Format::Yaml) {
            if line.trim_ascii_end() == b"---" || self.event.len() > MAX_YAML {
                self.end_yaml(to);
            } else {
                self.event.extend_from_slice(&line);
                self.event.push(b'\n');
            }
            return to.push(b'\n');
        }
        let line = match format {
            Format::Plain | Format::Yaml => line.into(),
            Format::TimestampPrefix => parse_prefixed_line(&line),
            Format::NodePrefix => parse_node_line(line),
            Format::Docker => parse_docker_line(&line),
            Format::FilterLogEvents => parse_message_line(&line).into(),
        };
        // Lines of the other stream may interrupt an event.
        if !self.event.is_empty() && line.is_stderr != self.is_stderr {
            return to.push(b'\n');
        }
        self.is_stderr = line.is_stderr;
        // Other programs may write to the same log.
        if !self.event.is_empty() || line.text.starts_with(b"{") {
            self.event.extend_from_slice(&line.text);
        }
        if !line.continues {
            to.append(&mut self.event);
        }
        to.push(b'\n');
    }
}

impl Format {
    fn detect(start: &[u8]) -> Self {
        let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
        let inner = start
            .strip_prefix(b"{")
            .unwrap_or_default()
            .trim_ascii_start();
        if start.starts_with(b"{\"log\":\"") {
            Self::Docker
        } else if inner.starts_with(b"\"events\"") {
            Self::FilterLogEvents
        } else if matches!(
            start,
            [b'0'..=b'9', _, _, _, b'-', _, _, b'-', _, _, b'T', ..]
        ) {
            Self::TimestampPrefix
        } else if YAML_STARTS.iter().any(|key| start.starts_with(key)) {
            Self::Yaml
        } else if starts_with_node(start) {
            Self::NodePrefix
        } else {
            Self::Plain
        }
    }
}

/// Returns true if text starts with the name of a node and an object. The name may be longer than the text.
fn starts_with_node(text: &[u8]) -> bool {
    // `kubectl logs --prefix` prints `[pod/POD/CONTAINER] {...}`.
    if text.starts_with(b"[pod/") {
        return true;
    }
    let is_in_name = |byte: &u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.');
    let len = text.iter().take_while(|byte| is_in_name(byte)).count();
    let (name, rest) = text.split_at_checked(len).unwrap_or_default();
    !name.is_empty() && (rest.starts_with(b" {") || rest.is_empty() && len >= SNIFFED)
}

/// Removes the name of the node from `NODE {...}`.
fn parse_node_line(line: Vec<u8>) -> Line {
    match memchr::memmem::find(&line, b" {") {
        Some(end) if starts_with_node(&line) => line
            .get(end..)
            .unwrap_or_default()
            .trim_ascii_start()
            .to_owned()
            .into(),
        _ => line.into(),
    }
}

/// Parses `2026-11-22T13:10:37.429806Z stdout F {...}`, with `P` instead of `F` if the next line continues the text, and
/// `2026-11-22T13:10:37.429Z {...}`.
fn parse_prefixed_line(line: &[u8]) -> Line {
    let mut words = line.splitn(4, |byte| *byte == b' ');
    let (_, stream, tag, text) = (words.next(), words.next(), words.next(), words.next());
    if let (Some(stream @ (b"stdout" | b"stderr")), Some(tag), Some(text)) = (stream, tag, text) {
        return Line {
            text: text.to_owned(),
            continues: tag.first() == Some(&b'P'),
            is_stderr: stream == b"stderr",
        };
    }
    let start = memchr::memchr(b'{', line).unwrap_or(line.len());
    line.get(start..).unwrap_or_default().to_owned().into()
}

/// Parses `{"log":"{...}\n","stream":"stdout","time":"..."}`. Without a line end in `log`, the next line continues the
/// text.
fn parse_docker_line(line: &[u8]) -> Line {
    // The error is reported when the line is parsed.
    let Ok(DockerLine { log, stream }) = serde_json::from_slice(line) else {
        return line.to_owned().into();
    };
    let text = log.strip_suffix('\n');
    Line {
        continues: text.is_none(),
        text: text.unwrap_or(&log).as_bytes().to_owned(),
        is_stderr: stream == "stderr",
    }
}

/// Returns the event in a line `"message": "{...}",`.
fn parse_message_line(line: &[u8]) -> Vec<u8> {
    let text = line.trim_ascii().strip_prefix(b"\"message\":");
    let text = text.unwrap_or_default().trim_ascii();
    let text = text.strip_suffix(b",").unwrap_or(text);
    let read: Result<String, _> = serde_json::from_slice(text);
    read.map_or_else(|_| text.to_owned(), String::into_bytes)
}

#[cfg(test)]
mod tests {
    use super::Unwrapper;

    /// Returns the unwrapped text, and checks that chunk sizes make no difference.
    fn unwrapped(text: &str) -> String {
        let mut results = Vec::new();
        for size in [1, 7, 30, 10_000] {
            let (mut unwrapper, mut to) = (Unwrapper::default(), Vec::new());
            for bytes in text.as_bytes().chunks(size) {
                unwrapper.push(bytes, false, &mut to);
            }
            unwrapper.push(b"", true, &mut to);
            results.push(String::from_utf8(to).unwrap());
        }
        results.dedup();
        assert_eq!(results.len(), 1, "{results:#?}");
        results.remove(0)
    }

    /// `EVENT`, `START`, `END` and `TIME` stand for an event, its parts and a time, and `QUOTED` for JSON strings of them.
    #[test]
    fn events_keep_line_numbers() {
        let event = "{\"kind\":\"Event\",\"verb\":\"create\"}";
        let (start, end) = event.split_at(9);
        let quoted = |text: &str| serde_json::to_string(text).unwrap();
        let fill = |text: &str| {
            let text = text
                .replace("QUOTED-LINE", &quoted(&format!("{event}\n")))
                .replace("QUOTED-START", &quoted(start));
            let text = text
                .replace("QUOTED-END", &quoted(&format!("{end}\n")))
                .replace("QUOTED", &quoted(event));
            let text = text
                .replace("EVENT", event)
                .replace("START", start)
                .replace("END", end);
            text.replace("TIME", "2026-11-22T13:10:37.429806Z")
        };
        for (text, expected) in [
            ("EVENT\nEVENT", "EVENT\nEVENT"),
            ("TIME stdout F EVENT\n", "EVENT\n"),
            (
                "TIME stderr F I1122 a log line\nTIME stdout P START\nTIME stdout F END\n",
                "\n\nEVENT\n",
            ),
            ("TIME EVENT\nTIME EVENT\n", "EVENT\nEVENT\n"),
            (
                "master-0 EVENT\nip-10-0-131-190.us-east-2.compute.internal EVENT\n",
                "EVENT\nEVENT\n",
            ),
            (
                "[pod/kube-apiserver-a/kube-apiserver] EVENT\n[pod/kube-apiserver-b/kube-apiserver] EVENT\n",
                "EVENT\nEVENT\n",
            ),
            (
                "ip-10-0-131-190.us-east-2.compute.internal EVENT\nEVENT",
                "EVENT\nEVENT\n",
            ),
            (
                "apiVersion: batch/v1\nkind: Job\n---\napiVersion: batch/v1\nkind: Job\nspec: {a: [1]}\n",
                "\n\n{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\"}\n\n\n\n{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"spec\":{\"a\":[1]}}",
            ),
            (
                "type: ADDED\nobject:\n  kind: Job\n---\ntype: [\n",
                "\n\n\n{\"object\":{\"kind\":\"Job\"},\"type\":\"ADDED\"}\n\ntype: [ ",
            ),
            ("---\n# recorded\nkind: Job\n", "\n\n\n{\"kind\":\"Job\"}"),
            ("\u{feff}# recorded\nkind: Job", "\n\n{\"kind\":\"Job\"}"),
            // Truncated in the middle of an event.
            ("TIME stdout P START\n", "\nSTART"),
            ("{\"log\":QUOTED-LINE,\"stream\":\"stdout\"}\n", "EVENT\n"),
            (
                "{\"log\":QUOTED-START,\"time\":\"x\"}\n{\"log\":\"I1122\\n\",\"stream\":\"stderr\"}\n{\"log\":QUOTED-END,\"time\":\"x\"}\n",
                "\n\nEVENT\n",
            ),
            (
                "{\n    \"events\": [\n        {\n            \"message\": QUOTED,\n            \"eventId\": \"1\"\n        }\n    ]\n}\n",
                "\n\n\nEVENT\n\n\n\n\n",
            ),
        ] {
            assert_eq!(unwrapped(&fill(text)), fill(expected), "{text}");
        }
    }
}
