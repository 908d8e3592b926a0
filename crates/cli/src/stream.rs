//! Streams, read while what came before is judged: files, also packed ones, and pipes that others write to for hours.

use std::io::{self, BufReader, Read};
use std::sync::mpsc::{self, RecvTimeoutError, SyncSender};
use std::thread;

use flate2::read::MultiGzDecoder;
use indicatif::ProgressBar;
use managed_by_offline::{MalformedText, complete};
use serde::de::IgnoredAny;

use crate::diagnostic::Diagnostic;
use crate::input::Input;
use crate::stop;

/// So much of a file is handed on at once.
const CHUNK: usize = 2 << 20;

/// The size of a read. What comes through a pipe is handed on at once.
const READ: usize = 256 << 10;

/// No document is longer: an object of Kubernetes has at most 1.5 MiB, and a list of 20 thousand of them is cut by kubectl.
const MAX_DOCUMENT: usize = 64 << 20;

/// So many pieces of a pipe wait for the judge, fewer if they are longer than [`CHUNK`]. Of a file the next one is read meanwhile.
const WAITING: usize = 16;

/// A piece of a file that ends with a document.
pub(crate) struct Piece<'p> {
    /// The number of the file.
    pub(crate) source: usize,
    /// How many lines of the file are before it.
    pub(crate) lines_before: u64,
    pub(crate) bytes: &'p [u8],
}

/// Does something with each piece of files, one file after another, and with what is wrong with a file. What is done with a piece
/// counts its lines.
pub(crate) fn each_piece(
    inputs: &[Input],
    bar: &ProgressBar,
    mut each: impl FnMut(Result<Piece<'_>, Diagnostic>) -> io::Result<u64>,
) -> io::Result<()> {
    for (source, input) in inputs.iter().enumerate() {
        let mut lines_before = 0_u64;
        let malformed = pieces(input, bar, |bytes| {
            let lines = each(Ok(Piece {
                source,
                lines_before,
                bytes,
            }))?;
            lines_before = lines_before.saturating_add(lines);
            Ok(())
        })?;
        if let Some(malformed) = malformed {
            each(Err(malformed))?;
        }
        if stop::is_asked() {
            break;
        }
    }
    Ok(())
}

/// Reads a file in pieces that end with a document, and hands out each while the next one is read. The bar shows how much was
/// read, before it is unpacked. What comes through a pipe is handed out when it comes. Returns what is wrong with the file.
fn pieces(
    input: &Input,
    bar: &ProgressBar,
    mut each: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<Option<Diagnostic>> {
    let (file, size) = match input.open() {
        Ok(file) => file,
        Err(unjudged) => return Ok(Some(unjudged)),
    };
    let file = bar.wrap_read(file);
    let (chunk, waiting) = if size.is_some() {
        (CHUNK, 0)
    } else {
        (0, WAITING)
    };
    let (to, from) = mpsc::sync_channel(waiting);
    // Who wants an end does not wait for this thread: it may wait for a pipe into which nothing comes.
    let reader = thread::spawn(move || pump(file, chunk, &to));
    loop {
        match from.recv_timeout(stop::INTERVAL) {
            Ok(mut piece) => {
                // What came meanwhile is judged with it, on all cores.
                while piece.len() < CHUNK / 2
                    && let Ok(more) = from.try_recv()
                {
                    piece.extend_from_slice(&more);
                }
                if !piece.is_empty() {
                    each(&piece)?;
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                let malformed = reader
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                return Ok(malformed.map(|malformed| Diagnostic::new(&input.name, malformed)));
            }
        }
        if stop::is_asked() {
            // What has come until now is judged still: what waits, and what the reader holds.
            let come: Vec<_> = from.try_iter().take(waiting.saturating_add(1)).collect();
            let piece = come.concat();
            if !piece.is_empty() {
                each(&piece)?;
            }
            return Ok(None);
        }
    }
}

/// Bytes that came, and were not handed out.
#[derive(Default)]
struct Pieces {
    bytes: Vec<u8>,
    /// So many of them hold no complete document.
    known: usize,
}

impl Pieces {
    /// The documents that are complete.
    fn next(&mut self, is_last: bool) -> Result<Vec<u8>, MalformedText> {
        // A document may begin with the first new byte.
        let from = self.known.saturating_sub(1);
        let new = self.bytes.get(from..).unwrap_or_default();
        let mut end = match complete(new, is_last) {
            0 => 0,
            found => from.saturating_add(found),
        };
        let rest = self.bytes.get(end..).unwrap_or_default();
        if !is_last && is_document(rest) {
            end = self.bytes.len();
        }
        if end == 0 && self.bytes.len() > MAX_DOCUMENT {
            let text = format!("holds a document of more than {} MiB", MAX_DOCUMENT >> 20);
            return Err(MalformedText::whole(text));
        }
        let rest = self.bytes.get(end..).unwrap_or_default();
        self.known = rest.len();
        if end == 0 {
            return Ok(Vec::new());
        }
        // What follows is about as long.
        let mut behind = Vec::with_capacity(self.bytes.len());
        behind.extend_from_slice(rest);
        self.bytes.truncate(end);
        Ok(std::mem::replace(&mut self.bytes, behind))
    }
}

/// Whether bytes are one document to the end of a line, so that nothing more needs to come.
fn is_document(bytes: &[u8]) -> bool {
    bytes.ends_with(b"}\n") && serde_json::from_slice::<IgnoredAny>(bytes).is_ok()
}

/// Reads a file, and puts what it unpacks where it is taken from. Returns what is wrong with the file.
fn pump(file: impl Read + Send, chunk: usize, to: &SyncSender<Vec<u8>>) -> Option<MalformedText> {
    let mut file = BufReader::with_capacity(1 << 16, file);
    let mut start = Vec::new();
    if let Err(e) = file.by_ref().take(4).read_to_end(&mut start) {
        return Some(cannot_be_read("", &e));
    }
    let whole = |start: &[u8], file| io::Cursor::new(start.to_owned()).chain(file);
    match &*start {
        [] => Some(MalformedText::whole("is empty")),
        [0x1f, 0x8b, ..] => pump_plain(
            MultiGzDecoder::new(whole(&start, file)),
            "gzip",
            &[],
            chunk,
            to,
        ),
        [0x28, 0xb5, 0x2f, 0xfd] => match zstd::Decoder::new(whole(&start, file)) {
            Ok(unpacked) => pump_plain(unpacked, "zstd", &[], chunk, to),
            Err(e) => Some(MalformedText::whole(format!("is no zstd: {e}"))),
        },
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => {
            Some(MalformedText::whole("is UTF-16, expected UTF-8"))
        }
        _ => pump_plain(file, "", &start, chunk, to),
    }
}

/// The same of a file that is not packed, or unpacked already, whose first bytes were read.
fn pump_plain(
    mut file: impl Read,
    packed: &str,
    start: &[u8],
    chunk: usize,
    to: &SyncSender<Vec<u8>>,
) -> Option<MalformedText> {
    // What was read already stands before what comes first.
    let mut pieces = Pieces {
        bytes: start.to_owned(),
        ..Pieces::default()
    };
    let mut is_first = true;
    let mut buffer = vec![0; READ];
    loop {
        let (read, malformed) = match file.read(&mut buffer) {
            Ok(read) => (read, None),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => (0, Some(cannot_be_read(packed, &e))),
        };
        pieces
            .bytes
            .extend_from_slice(buffer.get(..read).unwrap_or_default());
        let is_over = read == 0;
        if is_first && pieces.bytes.iter().take(8192).any(|byte| *byte == 0) {
            return Some(MalformedText::whole("is a binary file, expected JSON"));
        }
        is_first = false;
        if !is_over && pieces.bytes.len() < chunk {
            continue;
        }
        let piece = match pieces.next(is_over) {
            Ok(piece) => piece,
            Err(malformed) => return Some(malformed),
        };
        if !piece.is_empty() {
            // Each chunk of a long one takes a place: as many empty pieces come before it.
            let mut places = piece.chunks(CHUNK).skip(1);
            let taken = places.try_for_each(|_| to.send(Vec::new()));
            // Where nobody takes it any more, nobody wants to know what is wrong either.
            if taken.and_then(|()| to.send(piece)).is_err() {
                return malformed;
            }
        }
        if is_over {
            return malformed;
        }
    }
}

fn cannot_be_read(packed: &str, e: &io::Error) -> MalformedText {
    MalformedText::whole(match packed {
        "" => format!("cannot be read to its end: {e}"),
        packed => format!("is {packed} that was cut or damaged: {e}"),
    })
}

#[cfg(test)]
mod tests {
    use super::Pieces;

    /// What is handed out when something comes.
    fn pieces(coming: &[&str]) -> Vec<String> {
        let mut pieces = Pieces::default();
        let mut handed_out = Vec::new();
        let mut coming = coming.iter().peekable();
        while let Some(bytes) = coming.next() {
            pieces.bytes.extend_from_slice(bytes.as_bytes());
            let piece = pieces.next(coming.peek().is_none()).unwrap();
            handed_out.push(String::from_utf8(piece).unwrap());
        }
        handed_out
    }

    #[test]
    fn a_document_is_handed_out_when_it_has_come() {
        // Lines, as kube-apiserver writes them.
        assert_eq!(
            pieces(&["{\"a\":1}\n{\"b\"", ":2}\n", "{\"c\":3}", "\n", ""]),
            ["{\"a\":1}\n", "{\"b\":2}\n", "", "{\"c\":3}\n", ""]
        );
        // Many lines, as kubectl writes them. What looks complete is looked at.
        assert_eq!(
            pieces(&["{\n  \"a\": {", "\n  }\n", "}\n{\n  \"b\": 1\n", "}\n"]),
            ["", "", "{\n  \"a\": {\n  }\n}\n", "{\n  \"b\": 1\n}\n"]
        );
        // The end of a line and the next document come apart.
        assert_eq!(
            pieces(&["{\"a\":1} \n", "{\"b\":2} \n", ""]),
            ["", "{\"a\":1} \n", "{\"b\":2} \n"]
        );
    }

    /// What was looked at is not looked at again: a list may come in a thousand pieces.
    #[test]
    fn what_is_known_to_be_incomplete_is_remembered() {
        let mut pieces = Pieces::default();
        pieces.bytes.extend_from_slice(b"{\n  \"items\": [\n");
        for _ in 0..100 {
            pieces.bytes.extend_from_slice(b"    {\n    },\n");
            assert_eq!(pieces.next(false).unwrap(), b"");
            assert_eq!(pieces.known, pieces.bytes.len());
        }
    }
}
