//! Streams input while earlier documents are evaluated: plain and compressed files, and pipes that stay open for hours.

use std::collections::VecDeque;
use std::io::{self, BufReader, Read};
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::thread::{self, JoinHandle};

use flate2::read::MultiGzDecoder;
use indicatif::ProgressBar;
use managed_by_offline::{
    SourceDocument, Unwrapper, complete_len, embedded_records, next_start, received_time,
    split_documents,
};
use serde::de::IgnoredAny;

use crate::diagnostic::Diagnostic;
use crate::input::Input;
use crate::interrupt;

/// Amount of a file that is passed on at once, in bytes.
const CHUNK: usize = 2 << 20;

/// The size of a read. Data from a pipe is passed on immediately.
const READ: usize = 256 << 10;

/// Maximum size of a document. A Kubernetes object is at most 1.5 MiB, but kubectl prints a list as a single document.
pub const MAX_DOCUMENT: usize = 64 << 20;

/// The error about a text without JSON.
const NO_RECORDS: &str = "no JSON in any line, expected objects, watch events or audit events; decode or cut out their JSON";

/// Maximum number of queued pieces of a pipe, fewer if they are longer than [`CHUNK`]. For a file, only the next piece is
/// read ahead.
const MAX_QUEUED: usize = 16;

/// Number of documents with a write that are held back for sorting, because API servers log audit events in completion
/// order.
const REORDER_WINDOW: usize = 64;

/// Documents of files, in order.
#[derive(Default)]
pub struct Batch {
    documents: Vec<DocumentRange>,
    /// Maximum number of documents at the end that may be held back.
    pub reorder_window: usize,
}

/// A document, as a range in a piece of a file.
struct DocumentRange {
    piece: Arc<Vec<u8>>,
    range: Range<usize>,
    source: usize,
    lines_before: u64,
}

impl Batch {
    pub fn documents(&self) -> Vec<SourceDocument<'_>> {
        let documents = self.documents.iter().map(|entry| SourceDocument {
            bytes: entry.piece.get(entry.range.clone()).unwrap_or_default(),
            source: entry.source,
            lines_before: entry.lines_before,
        });
        documents.collect()
    }
}

/// Passes the documents of files to a callback, and returns errors about files. A single file is read in its own order;
/// several files are merged by audit event time, because each API server writes its own. The callback returns the indexes
/// of documents to hold back.
pub fn each_batch(
    inputs: &[Input],
    bar: &ProgressBar,
    mut each: impl FnMut(&Batch) -> io::Result<Vec<usize>>,
) -> io::Result<Vec<Diagnostic>> {
    let (mut sources, mut errors) = (Vec::new(), Vec::new());
    for (number, input) in inputs.iter().enumerate() {
        match Source::new(number, input, bar, inputs.len() > 1) {
            Ok(source) => sources.push(source),
            Err(error) => errors.push(error),
        }
    }
    let mut batch = Batch::default();
    loop {
        // Documents from a single pipe are evaluated immediately. For files and merged sources, some may be held back.
        let is_live = matches!(&*sources, [source] if !source.is_file);
        for source in &mut sources {
            errors.extend(source.fill(is_live));
        }
        let is_interrupted = interrupt::is_interrupted();
        let is_finished = is_interrupted || sources.iter().all(Source::is_finished);
        merge_by_time(&mut sources, &mut batch);
        batch.reorder_window = if is_finished || is_live {
            0
        } else {
            REORDER_WINDOW
        };
        if !batch.documents.is_empty() {
            let held_back = each(&batch)?;
            let documents = std::mem::take(&mut batch.documents).into_iter();
            let documents = documents
                .enumerate()
                .filter(|(index, _)| held_back.contains(index));
            batch.documents = documents.map(|(_, document)| document).collect();
        }
        if is_interrupted || is_finished && sources.iter().all(|source| source.documents.is_empty())
        {
            return Ok(errors);
        }
    }
}

/// Moves documents to the batch in order of time, until an unfinished source has none left.
fn merge_by_time(sources: &mut [Source], batch: &mut Batch) {
    while sources
        .iter()
        .all(|source| source.is_finished() || !source.documents.is_empty())
    {
        let first = sources
            .iter_mut()
            .filter(|source| !source.documents.is_empty());
        // If times are equal, the first source wins.
        let Some(first) = first.min_by(|a, b| a.time().cmp(b.time())) else {
            return;
        };
        batch
            .documents
            .extend(first.documents.pop_front().map(|(_, document)| document));
    }
}

/// A file that is being read.
struct Source {
    number: usize,
    name: Arc<str>,
    is_file: bool,
    /// True if documents are merged by time.
    is_merged: bool,
    from: Receiver<Vec<u8>>,
    reader: Option<JoinHandle<Option<Diagnostic>>>,
    lines: u64,
    /// Documents that are not taken yet, each with its time or the time of its predecessor.
    documents: VecDeque<(Vec<u8>, DocumentRange)>,
    /// Time of the last document that has one.
    time: Vec<u8>,
}

impl Source {
    fn new(
        number: usize,
        input: &Input,
        bar: &ProgressBar,
        is_merged: bool,
    ) -> Result<Self, Diagnostic> {
        let (file, size) = input.open()?;
        let file = bar.wrap_read(file);
        let (chunk, waiting) = if size.is_some() {
            (CHUNK, 0)
        } else {
            (0, MAX_QUEUED)
        };
        let (to, from) = mpsc::sync_channel(waiting);
        // On an interrupt, this thread is not joined: it may block on a pipe without data.
        let input = input.clone();
        let name = Arc::clone(&input.name);
        let reader = Some(thread::spawn(move || {
            let error = pump(file, chunk, &to)?;
            // An error about an empty file has no text.
            Some(match &*error {
                "" => input.empty_file_error(),
                _ => Diagnostic::of_file(&input.name, error),
            })
        }));
        Ok(Self {
            number,
            name,
            is_file: size.is_some(),
            is_merged,
            from,
            reader,
            lines: 0,
            documents: VecDeque::new(),
            time: Vec::new(),
        })
    }

    fn is_finished(&self) -> bool {
        self.reader.is_none()
    }

    fn time(&self) -> &[u8] {
        self.documents.front().map_or(&[], |(time, _)| time)
    }

    /// Waits for documents if there are none. Returns the error of a document that is too large, or, at the end of the file, its own.
    fn fill(&mut self, is_live: bool) -> Option<Diagnostic> {
        while self.documents.is_empty() && self.reader.is_some() {
            match self.from.recv_timeout(interrupt::INTERVAL) {
                Ok(mut piece) => {
                    // Data that arrived meanwhile is evaluated together, on all cores.
                    while is_live && piece.len() < CHUNK / 2 {
                        let Ok(more) = self.from.try_recv() else {
                            break;
                        };
                        piece.extend_from_slice(&more);
                    }
                    if let Some(error) = self.add(piece) {
                        return Some(error);
                    }
                }
                Err(RecvTimeoutError::Timeout) if interrupt::is_interrupted() => {
                    // Data received so far is still evaluated: queued pieces, and the piece that the reader holds.
                    let received = self.from.try_iter().take(MAX_QUEUED.saturating_add(1));
                    let received: Vec<_> = received.collect();
                    return self.add(received.concat());
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    let result = self.reader.take()?.join();
                    return result.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                }
            }
        }
        None
    }

    /// Adds the documents in a piece, without those that are too large.
    fn add(&mut self, piece: Vec<u8>) -> Option<Diagnostic> {
        let mut error = None;
        let piece = Arc::new(piece);
        let (documents, lines) = split_documents(&piece, self.number, self.lines);
        for document in documents {
            if document.bytes.len() > MAX_DOCUMENT {
                error = Some(Diagnostic::of_file(&self.name, document_too_large()));
                continue;
            }
            if self.is_merged
                && let Some(time) = received_time(document.bytes)
            {
                time.clone_into(&mut self.time);
            }
            let address = document.bytes.as_ptr().addr();
            let start = address.saturating_sub(piece.as_ptr().addr());
            let range = start..start.saturating_add(document.bytes.len());
            let mut add = |piece: Arc<Vec<u8>>, range| {
                let entry = DocumentRange {
                    piece,
                    range,
                    source: document.source,
                    lines_before: document.lines_before,
                };
                self.documents.push_back((self.time.clone(), entry));
            };
            // Embedded events are at the line of the document.
            match embedded_records(document.bytes) {
                None => add(Arc::clone(&piece), range),
                Some(events) => {
                    let events = events.split(|byte| *byte == b'\n');
                    for event in events.filter(|event| !event.is_empty()) {
                        add(Arc::new(event.to_vec()), 0..event.len());
                    }
                }
            }
        }
        self.lines = self.lines.saturating_add(lines);
        error
    }
}

/// Returns the error about a document that exceeds [`MAX_DOCUMENT`].
pub fn document_too_large() -> String {
    format!("a document is larger than {} MiB", MAX_DOCUMENT >> 20)
}

/// Bytes that are received but not passed on.
#[derive(Default)]
struct PendingBytes {
    bytes: Vec<u8>,
    /// Number of bytes that contain no complete document.
    scanned: usize,
    /// True in the rest of a document that is too large, of which only the line ends are passed on.
    is_skipping: bool,
    /// True if a document was too large.
    has_skipped: bool,
}

impl PendingBytes {
    /// Returns the complete documents.
    fn next(&mut self, is_last: bool) -> Vec<u8> {
        if self.is_skipping {
            let start = next_start(&self.bytes);
            self.is_skipping = start.is_none();
            self.blank(start.unwrap_or(self.bytes.len()));
        }
        // A document may start at the first new byte.
        let from = self.scanned.saturating_sub(1);
        let new = self.bytes.get(from..).unwrap_or_default();
        let mut end = match complete_len(new, is_last) {
            0 => 0,
            found => from.saturating_add(found),
        };
        let rest = self.bytes.get(end..).unwrap_or_default();
        if !is_last && is_document(rest) {
            end = self.bytes.len();
        }
        if end == 0 && self.bytes.len() > MAX_DOCUMENT {
            (self.is_skipping, self.has_skipped) = (true, true);
            self.blank(self.bytes.len());
        }
        let rest = self.bytes.get(end..).unwrap_or_default();
        self.scanned = rest.len();
        if end == 0 {
            return Vec::new();
        }
        let rest = self.bytes.split_off(end);
        std::mem::replace(&mut self.bytes, rest)
    }

    /// Removes everything but the line ends from the first `len` bytes, so that the following documents keep their line numbers.
    fn blank(&mut self, len: usize) {
        let rest = self.bytes.split_off(len.min(self.bytes.len()));
        let is_in_line = self.bytes.last().is_some_and(|byte| *byte != b'\n');
        self.bytes.retain(|byte| *byte == b'\n');
        // The next byte is not at the start of a line.
        self.bytes.extend(is_in_line.then_some(b' '));
        self.bytes.extend(rest);
        self.scanned = 0;
    }
}

/// Returns true if the bytes are a single complete document, so that there is no need to wait for more.
fn is_document(bytes: &[u8]) -> bool {
    bytes.ends_with(b"}\n") && serde_json::from_slice::<IgnoredAny>(bytes).is_ok()
}

/// Reads a file, decompresses it, and sends it to the receiver. Returns an error about the file; empty for an empty file.
fn pump(file: impl Read + Send, chunk: usize, to: &SyncSender<Vec<u8>>) -> Option<String> {
    let mut file = BufReader::with_capacity(1 << 16, file);
    let mut start = Vec::new();
    if let Err(e) = file.by_ref().take(4).read_to_end(&mut start) {
        return Some(format!("cannot be read: {e}"));
    }
    let whole = io::Cursor::new(start.clone()).chain(file);
    match &*start {
        [] => Some(String::new()),
        [0x1f, 0x8b, ..] => pump_decompressed(MultiGzDecoder::new(whole), "gzip", chunk, to),
        [0x28, 0xb5, 0x2f, 0xfd] => match zstd::Decoder::new(whole) {
            Ok(unpacked) => pump_decompressed(unpacked, "zstd", chunk, to),
            Err(e) => Some(format!("not zstd: {e}")),
        },
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Some("UTF-16, expected UTF-8".to_owned()),
        _ => pump_decompressed(whole, "", chunk, to),
    }
}

/// Reads an uncompressed or decompressed file.
fn pump_decompressed(
    mut file: impl Read,
    compression: &str,
    chunk: usize,
    to: &SyncSender<Vec<u8>>,
) -> Option<String> {
    let mut pieces = PendingBytes::default();
    let mut unwrapper = Unwrapper::default();
    let mut is_first = true;
    let mut buffer = vec![0; READ];
    loop {
        let (read, error) = match file.read(&mut buffer) {
            Ok(read) => (read, None),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) if compression.is_empty() => (0, Some(format!("cannot be read: {e}"))),
            Err(e) => (0, Some(format!("truncated or damaged {compression}: {e}"))),
        };
        let is_finished = read == 0;
        let new = buffer.get(..read).unwrap_or_default();
        unwrapper.push(new, is_finished, &mut pieces.bytes);
        if is_first && pieces.bytes.iter().take(8192).any(|byte| *byte == 0) {
            return Some("binary file, expected JSON".to_owned());
        }
        is_first &= pieces.bytes.is_empty();
        if !is_finished && pieces.bytes.len() < chunk {
            continue;
        }
        let piece = pieces.next(is_finished);
        if !piece.is_empty() {
            // Each chunk of a long piece takes a slot: send as many empty pieces before it.
            let mut slots = piece.chunks(CHUNK).skip(1);
            let sent = slots.try_for_each(|_| to.send(Vec::new()));
            // If the receiver is gone, the error is not needed either.
            if sent.and_then(|()| to.send(piece)).is_err() {
                return error;
            }
        }
        if is_finished {
            let nothing = unwrapper.found_nothing().then(|| NO_RECORDS.to_owned());
            return error
                .or_else(|| pieces.has_skipped.then(document_too_large))
                .or(nothing);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_DOCUMENT, PendingBytes};

    /// Returns the pieces that are passed on for each input.
    fn pieces(input: &[&str]) -> Vec<String> {
        let mut pieces = PendingBytes::default();
        let mut all = Vec::new();
        let mut input = input.iter().peekable();
        while let Some(bytes) = input.next() {
            pieces.bytes.extend_from_slice(bytes.as_bytes());
            let piece = pieces.next(input.peek().is_none());
            all.push(String::from_utf8(piece).unwrap());
        }
        all
    }

    #[test]
    fn document_is_passed_on_when_it_is_complete() {
        // One line per document, as kube-apiserver writes them.
        assert_eq!(
            pieces(&["{\"a\":1}\n{\"b\"", ":2}\n", "{\"c\":3}", "\n", ""]),
            ["{\"a\":1}\n", "{\"b\":2}\n", "", "{\"c\":3}\n", ""]
        );
        // Many lines per document, as kubectl writes them. Possible ends are checked.
        assert_eq!(
            pieces(&["{\n  \"a\": {", "\n  }\n", "}\n{\n  \"b\": 1\n", "}\n"]),
            ["", "", "{\n  \"a\": {\n  }\n}\n", "{\n  \"b\": 1\n}\n"]
        );
        // The line end and the next document arrive separately.
        assert_eq!(
            pieces(&["{\"a\":1} \n", "{\"b\":2} \n", ""]),
            ["", "{\"a\":1} \n", "{\"b\":2} \n"]
        );
    }

    #[test]
    fn documents_after_one_that_is_too_large_keep_their_lines() {
        let mut pieces = PendingBytes::default();
        pieces.bytes.extend_from_slice(b"{\n  \"a\": \n");
        pieces.bytes.resize(MAX_DOCUMENT.saturating_add(1), b'x');
        assert_eq!(pieces.next(false), b"");
        assert_eq!(pieces.bytes, b"\n\n ");
        pieces.bytes.extend_from_slice(b"{x\n}\n");
        assert_eq!(pieces.next(false), b"");
        pieces.bytes.extend_from_slice(b"}\n{\"b\": 1}\n{\"c\"");
        assert_eq!(pieces.next(false), b"\n\n\n\n\n{\"b\": 1}\n");
        assert!(pieces.has_skipped);
        pieces.bytes.extend_from_slice(b": 2}");
        assert_eq!(pieces.next(true), b"{\"c\": 2}");
    }

    /// Checks that bytes are not scanned again: a list may arrive in a thousand pieces.
    #[test]
    fn incomplete_bytes_are_scanned_once() {
        let mut pieces = PendingBytes::default();
        pieces.bytes.extend_from_slice(b"{\n  \"items\": [\n");
        for _ in 0..100 {
            pieces.bytes.extend_from_slice(b"    {\n    },\n");
            assert_eq!(pieces.next(false), b"");
            assert_eq!(pieces.scanned, pieces.bytes.len());
        }
    }
}
