//! Cuts recordings out of the lines of logs, and converts YAML.

use serde::Deserialize;

use crate::document::Document;

/// Cuts JSON out of log lines: behind any prefix, such as of a container runtime (CRI), `oc adm node-logs`, `kubectl logs --prefix`,
/// stern, journald or `CloudWatch`, and out of the JSON of Docker's log driver. Converts the documents of
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
    has_text: bool,
}

#[derive(Debug, Clone, Copy)]
enum Format {
    Json,
    Yaml,
    LogLines,
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
struct Line {
    text: Vec<u8>,
    /// True if the next line continues the text.
    continues: bool,
    is_stderr: bool,
}

impl Unwrapper {
    /// Returns true if the input was the lines of a log, and none contained JSON.
    pub fn found_nothing(&self) -> bool {
        matches!(self.format, Some(Format::LogLines)) && !self.has_text
    }

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
        if matches!(format, Format::Json) {
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
        let line = Line::new(&line);
        // Lines of the other stream may interrupt an event.
        if !self.event.is_empty() && line.is_stderr != self.is_stderr {
            return to.push(b'\n');
        }
        self.is_stderr = line.is_stderr;
        // Other programs may write to the same log.
        if !self.event.is_empty() || line.text.starts_with(b"{\"") {
            self.has_text = true;
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
        let inner = start.strip_prefix(b"[").map(<[u8]>::trim_ascii_start);
        if is_docker_line(start) {
            Self::LogLines
        } else if YAML_STARTS.iter().any(|key| start.starts_with(key)) {
            Self::Yaml
        } else if matches!(start.trim_ascii_start(), [] | [b'{', ..])
            || matches!(inner, Some([] | [b'{' | b'[' | b'"' | b']', ..]))
        {
            Self::Json
        } else {
            Self::LogLines
        }
    }
}

/// Returns true for the start of a line of Docker's `json-file` driver: `{"log":`.
fn is_docker_line(line: &[u8]) -> bool {
    let line = line.strip_prefix(b"{").unwrap_or_default();
    line.trim_ascii_start().starts_with(b"\"log\"")
}

impl Line {
    fn new(line: &[u8]) -> Self {
        // The error is reported when the line is parsed.
        if is_docker_line(line)
            && let Ok(DockerLine { log, stream }) = serde_json::from_slice(line)
        {
            let text = log.strip_suffix('\n');
            return Self {
                continues: text.is_none(),
                text: text.unwrap_or(&log).as_bytes().to_owned(),
                is_stderr: stream == "stderr",
            };
        }
        // `TIME stdout F TEXT`, with `P` instead of `F` if the next line continues the text.
        let mut words = line.splitn(4, |byte| *byte == b' ').skip(1);
        if let (Some(stream @ (b"stdout" | b"stderr")), Some(tag), Some(text)) =
            (words.next(), words.next(), words.next())
        {
            return Self {
                text: text.to_owned(),
                continues: tag.first() == Some(&b'P'),
                is_stderr: stream == b"stderr",
            };
        }
        let mut braces = memchr::memchr_iter(b'{', line);
        let start = braces.find(|at| line.get(at.saturating_add(1)) == Some(&b'"'));
        Self {
            text: line
                .get(start.unwrap_or(line.len())..)
                .unwrap_or_default()
                .to_owned(),
            continues: false,
            is_stderr: false,
        }
    }
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

    /// `EVENT`, `START`, `END` and `TIME` stand for an event, its parts and a time, and `QUOTED-` for JSON strings of them.
    #[test]
    fn events_keep_line_numbers() {
        let event = "{\"kind\":\"Event\",\"verb\":\"create\"}";
        let (start, end) = event.split_at(9);
        let quoted = |text: &str| serde_json::to_string(text).unwrap();
        let fill = |text: &str| {
            let text = text
                .replace("QUOTED-LINE", &quoted(&format!("{event}\n")))
                .replace("QUOTED-START", &quoted(start))
                .replace("QUOTED-END", &quoted(&format!("{end}\n")));
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
            ("{ \"log\" : QUOTED-LINE }\n", "EVENT\n"),
            // stern, journald, logcli.
            (
                "api-0 kube-apiserver EVENT\nOct 1 08:00:10 api-0 api[1]: EVENT\nTIME {pod=\"a\"} EVENT\n",
                "EVENT\nEVENT\nEVENT\n",
            ),
            ("[TIME] EVENT\n[I1122] {a}\n", "EVENT\n\n"),
            ("[ {\"a\":\n1}]", "[ {\"a\":\n1}]"),
        ] {
            assert_eq!(unwrapped(&fill(text)), fill(expected), "{text}");
        }
    }
}
