//! A reader of JSON that borrows from its input, decodes what it is asked for and checks the rest in passing.
//!
//! The policy runs in a fresh instance for every request, and most of a request is a pod template that no rule reads.
//! So there is no tree: callers walk into the objects they know and [`Reader::skip`] the others, in one pass over the
//! bytes. What is skipped is still checked to be JSON. Nothing recurses on input, and nesting ends where it does for
//! kube-apiserver (`sigs.k8s.io/json`: 10,000 levels).
//!
//! Where a key stands twice in an object, the caller sees both in turn; taking the last is the convention here, as in
//! `PolicyServer`'s own decoder.

mod malformed;
mod repeats;
mod scan;
mod types;

use std::borrow::Cow;

pub use malformed::Malformed;
use repeats::Repeats;
use scan::{Expected, Stop};
pub use types::Type;

/// The depth at which kube-apiserver's decoder gives up (`maxNestingDepth` of `sigs.k8s.io/json`, all releases).
pub const MAX_DEPTH: usize = 10_000;

/// What reading gives.
pub type Result<T> = std::result::Result<T, Malformed>;

/// A place in a document.
#[derive(Debug, Clone, Copy)]
pub struct Mark {
    at: usize,
    nesting: Nesting,
}

/// Reads one JSON document from front to back.
#[derive(Debug)]
pub struct Reader<'a> {
    /// UTF-8; checked once, at the start.
    bytes: &'a [u8],
    at: usize,
    nesting: Nesting,
    /// The words of nesting that the current one has pushed out, outermost first.
    outer: Vec<u64>,
    repeats: Repeats,
}

/// How deep a reader is: one bit for each of the innermost containers, the innermost lowest, set for an object.
#[derive(Debug, Clone, Copy, Default)]
struct Nesting {
    depth: usize,
    bits: u64,
}

impl<'a> Reader<'a> {
    /// A reader at the start of `bytes`, which must be UTF-8.
    ///
    /// # Errors
    /// If they are not.
    pub fn new(bytes: &'a [u8]) -> Result<Self> {
        if !scan::is_ascii(bytes)
            && let Err(e) = std::str::from_utf8(bytes)
        {
            return Err(Malformed::syntax(e.valid_up_to(), "UTF-8"));
        }
        Ok(Self {
            bytes,
            at: 0,
            nesting: Nesting::default(),
            outer: Vec::new(),
            repeats: Repeats::default(),
        })
    }

    /// A reader of bytes that [`Reader::raw`] gave: they need no second look.
    pub(crate) fn again(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            at: 0,
            nesting: Nesting::default(),
            outer: Vec::new(),
            repeats: Repeats::default(),
        }
    }

    /// What comes next is an object that another one after it may repeat, or that one: what is skipped in both is looked
    /// at once.
    pub(crate) fn expect_repeats(&mut self) {
        self.repeats.advance();
    }

    /// The type of the value that comes next, which is left in place.
    ///
    /// # Errors
    /// If no value comes next.
    pub fn peek(&mut self) -> Result<Type> {
        match self.significant() {
            b'{' => Ok(Type::Object),
            b'[' => Ok(Type::Array),
            b'"' => Ok(Type::String),
            b'-' | b'0'..=b'9' => Ok(Type::Number),
            b't' | b'f' => Ok(Type::Bool),
            b'n' => Ok(Type::Null),
            _ => Err(self.expected("a value")),
        }
    }

    /// Reads an object: `field` is called with each key and must read or skip its value.
    ///
    /// # Errors
    /// If the next value is no object, if it is not JSON, and whatever `field` says.
    pub fn object(&mut self, mut field: impl FnMut(&mut Self, &[u8]) -> Result<()>) -> Result<()> {
        self.members(|reader, key| field(reader, &key))
    }

    /// As [`Reader::object`], with keys that may be kept.
    ///
    /// # Errors
    /// As [`Reader::object`].
    pub fn members(
        &mut self,
        mut field: impl FnMut(&mut Self, Cow<'a, [u8]>) -> Result<()>,
    ) -> Result<()> {
        self.require(Type::Object, "an object")?;
        self.open(true)?;
        if self.significant() == b'}' {
            self.close();
            return Ok(());
        }
        loop {
            if self.significant() != b'"' {
                return Err(self.expected("a key"));
            }
            let key = self.key()?;
            self.at = scan::colon(self.bytes, self.at)?;
            field(self, key)?;
            match self.significant() {
                b',' => self.at = scan::after(self.at),
                b'}' => {
                    self.close();
                    return Ok(());
                }
                _ => return Err(self.expected("`,` or `}`")),
            }
        }
    }

    /// Reads an object, or `null`, which Kubernetes' decoder takes for an absent one.
    ///
    /// # Errors
    /// As [`Reader::object`].
    pub fn object_or_null(
        &mut self,
        field: impl FnMut(&mut Self, &[u8]) -> Result<()>,
    ) -> Result<()> {
        if self.peek()? == Type::Null {
            self.skip()
        } else {
            self.object(field)
        }
    }

    /// Reads an array: `item` is called before each element with its index, and must read or skip it.
    ///
    /// # Errors
    /// If the next value is no array, if it is not JSON, and whatever `item` says.
    pub fn array(&mut self, mut item: impl FnMut(&mut Self, usize) -> Result<()>) -> Result<()> {
        self.require(Type::Array, "an array")?;
        self.open(false)?;
        if self.significant() == b']' {
            self.close();
            return Ok(());
        }
        for index in 0.. {
            item(self, index)?;
            match self.significant() {
                b',' => self.at = scan::after(self.at),
                b']' => break,
                _ => return Err(self.expected("`,` or `]`")),
            }
        }
        self.close();
        Ok(())
    }

    /// Reads a string, borrowed unless it holds escapes. A lone surrogate becomes U+FFFD, as in Go.
    ///
    /// # Errors
    /// If the next value is no string, or not JSON.
    pub fn string(&mut self) -> Result<Cow<'a, str>> {
        self.require(Type::String, "a string")?;
        self.string_body()
    }

    /// Reads a string; `null` is [`None`], as for a pointer in Go.
    ///
    /// # Errors
    /// As [`Reader::string`].
    pub fn string_or_null(&mut self) -> Result<Option<Cow<'a, str>>> {
        if self.peek()? == Type::Null {
            self.skip().map(|()| None)
        } else {
            self.string().map(Some)
        }
    }

    /// Reads an integer of 32 bits; `null` is [`None`]. As in Go, `1.0` and `1e2` are none.
    ///
    /// # Errors
    /// If the next value is no such integer, or not JSON.
    pub fn int32_or_null(&mut self) -> Result<Option<i32>> {
        match self.peek()? {
            Type::Null => self.skip().map(|()| None),
            Type::Number => {
                let start = self.at;
                self.skip()?;
                let number = self.slice(start, self.at).parse();
                let other = |_| Malformed::shape("a 32-bit integer", "another number");
                number.map(Some).map_err(other)
            }
            other => Err(Malformed::shape("a 32-bit integer", other.name())),
        }
    }

    /// Reads a boolean; `null` is [`None`].
    ///
    /// # Errors
    /// If the next value is no boolean, or not JSON.
    pub fn bool_or_null(&mut self) -> Result<Option<bool>> {
        match self.peek()? {
            Type::Null => self.skip().map(|()| None),
            Type::Bool => {
                let value = scan::byte(self.bytes, self.at) == b't';
                self.skip().map(|()| Some(value))
            }
            other => Err(Malformed::shape("a boolean", other.name())),
        }
    }

    /// Passes over the next value, whatever it is, checking that it is JSON.
    ///
    /// # Errors
    /// If it is not.
    pub fn skip(&mut self) -> Result<()> {
        let is_container = matches!(self.significant(), b'{' | b'[');
        if self.repeats.is_off() || !is_container {
            self.at = self.skip_from(self.at)?;
            return Ok(());
        }
        let (start, depth) = (self.at, self.nesting.depth);
        if let Some(end) = self.repeats.recognize(self.bytes, start, depth) {
            self.at = end;
            return Ok(());
        }
        self.at = self.skip_from(start)?;
        self.repeats.remember(start, self.at, depth);
        Ok(())
    }

    /// Most of a request is skipped: the place is kept in a local, and all of this is one function.
    fn skip_from(&mut self, mut at: usize) -> std::result::Result<usize, Stop> {
        let bytes = self.bytes;
        let floor = self.nesting.depth;
        let mut in_object = false;
        loop {
            let first;
            (at, first) = scan::significant(bytes, at);
            at = match first {
                _ if first == b'"' => scan::string(bytes, scan::after(at))?,
                b'{' => {
                    self.push(true, at)?;
                    in_object = true;
                    let (next, second) = scan::significant(bytes, scan::after(at));
                    if second != b'}' {
                        at = scan::key(bytes, next)?;
                        continue;
                    }
                    in_object = self.pop();
                    scan::after(next)
                }
                b'[' => {
                    self.push(false, at)?;
                    in_object = false;
                    let (next, second) = scan::significant(bytes, scan::after(at));
                    if second != b']' {
                        at = next;
                        continue;
                    }
                    in_object = self.pop();
                    scan::after(next)
                }
                b'-' | b'0'..=b'9' => scan::number(bytes, at)?,
                b't' => scan::word(bytes, at, "true")?,
                b'f' => scan::word(bytes, at, "false")?,
                b'n' => scan::word(bytes, at, "null")?,
                _ => return Err(Stop::new(at, "a value")),
            };
            // A value has ended; so may the containers around it.
            loop {
                if self.nesting.depth == floor {
                    return Ok(at);
                }
                let next;
                (at, next) = scan::significant(bytes, at);
                match (next, in_object) {
                    (b',', true) => {
                        at = scan::key(bytes, scan::after(at))?;
                        break;
                    }
                    (b',', false) => {
                        at = scan::after(at);
                        break;
                    }
                    (b'}', true) | (b']', false) => {
                        at = scan::after(at);
                        in_object = self.pop();
                    }
                    (_, true) => return Err(Stop::new(at, "`,` or `}`")),
                    (_, false) => return Err(Stop::new(at, "`,` or `]`")),
                }
            }
        }
    }

    /// Passes over the next value and gives its bytes.
    ///
    /// # Errors
    /// As [`Reader::skip`].
    pub fn raw(&mut self) -> Result<&'a [u8]> {
        self.significant();
        let start = self.at;
        self.skip()?;
        Ok(self.bytes.get(start..self.at).unwrap_or_default())
    }

    /// As [`Reader::raw`], but of a container it looks only for the end. Whoever reads it will judge it.
    ///
    /// # Errors
    /// If it has no end, or is no value.
    pub(crate) fn raw_container(&mut self) -> Result<&'a [u8]> {
        let (b'{' | b'[') = self.significant() else {
            return self.raw();
        };
        let start = self.at;
        self.at = scan::container(self.bytes, start)?;
        Ok(self.bytes.get(start..self.at).unwrap_or_default())
    }

    /// The bytes passed over since a mark was made.
    pub(crate) fn since(&self, mark: Mark) -> &'a [u8] {
        self.bytes.get(mark.at..self.at).unwrap_or_default()
    }

    /// The place where the reader stands.
    pub fn mark(&self) -> Mark {
        Mark {
            at: self.at,
            nesting: self.nesting,
        }
    }

    /// Goes back to a mark made earlier at this depth or outside of it.
    pub fn rewind(&mut self, mark: Mark) {
        self.at = mark.at;
        self.nesting = mark.nesting;
        self.outer
            .truncate(mark.nesting.depth.saturating_sub(1) / 64);
    }

    /// Makes sure that nothing but white space is left.
    ///
    /// # Errors
    /// If something is.
    pub fn end(&mut self) -> Result<()> {
        self.significant();
        if self.at < self.bytes.len() {
            return Err(self.expected("the end"));
        }
        Ok(())
    }

    fn require(&mut self, wanted: Type, expected: &'static str) -> Result<()> {
        let got = self.peek()?;
        if got == wanted {
            return Ok(());
        }
        Err(Malformed::shape(expected, got.name()))
    }

    #[cold]
    fn expected(&self, expected: Expected) -> Malformed {
        Malformed::syntax(self.at, expected)
    }

    /// Moves to the next byte that is not white space, which it gives.
    fn significant(&mut self) -> u8 {
        let byte;
        (self.at, byte) = scan::significant(self.bytes, self.at);
        byte
    }

    /// Only called between two bytes that stand for themselves in UTF-8, so the text is always there.
    fn slice(&self, start: usize, end: usize) -> &'a str {
        let bytes = self.bytes.get(start..end).unwrap_or_default();
        std::str::from_utf8(bytes).unwrap_or_default()
    }

    fn open(&mut self, object: bool) -> Result<()> {
        self.push(object, self.at)?;
        self.at = scan::after(self.at);
        Ok(())
    }

    fn close(&mut self) {
        self.at = scan::after(self.at);
        self.pop();
    }

    /// Enters a container that begins at a place.
    #[inline]
    fn push(&mut self, object: bool, at: usize) -> std::result::Result<(), Stop> {
        let Nesting { depth, bits } = self.nesting;
        if depth >= MAX_DEPTH {
            return Err(Stop::new(at, "at most 10,000 levels of nesting"));
        }
        if depth.is_multiple_of(64) && depth > 0 {
            self.outer.push(bits);
        }
        self.nesting = Nesting {
            depth: depth.wrapping_add(1),
            bits: bits << 1 | u64::from(object),
        };
        Ok(())
    }

    /// Leaves a container and tells whether the one around it is an object.
    #[inline]
    fn pop(&mut self) -> bool {
        self.nesting.depth = self.nesting.depth.wrapping_sub(1);
        self.nesting.bits >>= 1;
        if self.nesting.depth.is_multiple_of(64)
            && let Some(bits) = self.outer.pop()
        {
            self.nesting.bits = bits;
        }
        self.nesting.bits & 1 == 1
    }

    /// The key whose opening quote comes next. Keys are compared, not shown: bytes will do.
    fn key(&mut self) -> Result<Cow<'a, [u8]>> {
        let start = scan::after(self.at);
        if let (end, b'"') = scan::run(self.bytes, start) {
            self.at = scan::after(end);
            return Ok(Cow::Borrowed(
                self.bytes.get(start..end).unwrap_or_default(),
            ));
        }
        let key = self.string_body()?;
        Ok(Cow::Owned(key.into_owned().into_bytes()))
    }

    /// The string whose opening quote comes next.
    fn string_body(&mut self) -> Result<Cow<'a, str>> {
        let bytes = self.bytes;
        let mut start = scan::after(self.at);
        let mut decoded: Option<String> = None;
        loop {
            let (end, last) = scan::run(bytes, start);
            let chunk = self.slice(start, end);
            match last {
                b'"' => {
                    self.at = scan::after(end);
                    return Ok(match decoded {
                        None => Cow::Borrowed(chunk),
                        Some(mut text) => {
                            text.push_str(chunk);
                            Cow::Owned(text)
                        }
                    });
                }
                b'\\' => {
                    let escaped;
                    (start, escaped) = scan::escape(bytes, end)?;
                    let text = decoded.get_or_insert_default();
                    text.push_str(chunk);
                    text.push(escaped);
                }
                _ => return Err(scan::not_in_string(bytes, end).into()),
            }
        }
    }
}

#[cfg(test)]
mod tests;
