//! A reader of JSON that borrows from its input, decodes what it is asked for and checks the rest in passing.
//!
//! The policy runs in a fresh instance for every request, and most of a request is a pod template that no rule reads.
//! So there is no tree: callers walk into the objects they know and [`Reader::skip`] the others, in one pass over the
//! bytes. What is skipped is still checked to be JSON. Nothing recurses on input, and nesting ends where it does for
//! kube-apiserver (`sigs.k8s.io/json`: 10,000 levels).
//!
//! Where a key stands twice in an object, the caller sees both in turn; taking the last is the convention here, as in
//! `PolicyServer`'s own decoder.

use std::borrow::Cow;
use std::fmt;

/// The depth at which kube-apiserver's decoder gives up (`maxNestingDepth` of `sigs.k8s.io/json`, all releases).
pub const MAX_DEPTH: usize = 10_000;

const WORD_BITS: usize = 64;
const NESTING_WORDS: usize = MAX_DEPTH.div_ceil(WORD_BITS);

/// Why bytes could not be read, in one line that never repeats them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed(Box<Reason>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Reason {
    /// Not JSON: what was expected, and the byte offset.
    Syntax {
        offset: usize,
        expected: &'static str,
    },
    /// JSON of the wrong shape at a path, innermost segment first while the error travels up.
    Shape {
        path: Vec<Cow<'static, str>>,
        expected: &'static str,
        got: &'static str,
    },
}

impl Malformed {
    fn syntax(offset: usize, expected: &'static str) -> Self {
        Self(Box::new(Reason::Syntax { offset, expected }))
    }

    /// A value of the wrong type, or one that is missing, at the place where the caller stands.
    pub fn shape(expected: &'static str, got: &'static str) -> Self {
        let path = Vec::new();
        Self(Box::new(Reason::Shape {
            path,
            expected,
            got,
        }))
    }

    /// The same trouble, seen from the object that holds it under `segment`.
    #[must_use]
    pub fn within(mut self, segment: impl Into<Cow<'static, str>>) -> Self {
        if let Reason::Shape { path, .. } = &mut *self.0 {
            path.push(segment.into());
        }
        self
    }

    /// Whether the bytes are no JSON at all, so that nothing after this place can be read.
    pub fn is_syntax(&self) -> bool {
        matches!(*self.0, Reason::Syntax { .. })
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Reason::Syntax { offset, expected } => {
                write!(f, "not JSON: expected {expected} at byte {offset}")
            }
            Reason::Shape {
                path,
                expected,
                got,
            } => {
                for (i, segment) in path.iter().rev().enumerate() {
                    let dot = if i > 0 { "." } else { "" };
                    write!(f, "{dot}{segment}")?;
                }
                let colon = if path.is_empty() { "" } else { ": " };
                write!(f, "{colon}expected {expected}, got {got}")
            }
        }
    }
}

impl std::error::Error for Malformed {}

/// What reading gives.
pub type Result<T> = std::result::Result<T, Malformed>;

/// The type of the JSON value that comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// `{...}`
    Object,
    /// `[...]`
    Array,
    /// `"..."`
    String,
    /// `1`, `-0.5e3`
    Number,
    /// `true`, `false`
    Bool,
    /// `null`
    Null,
}

impl Type {
    /// The type with its article, for messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Object => "an object",
            Self::Array => "an array",
            Self::String => "a string",
            Self::Number => "a number",
            Self::Bool => "a boolean",
            Self::Null => "null",
        }
    }
}

/// A place in a document.
#[derive(Debug, Clone, Copy)]
pub struct Mark {
    at: usize,
    depth: usize,
}

/// Reads one JSON document from front to back.
#[derive(Debug)]
pub struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    /// One bit for each open container: set for an object.
    nesting: [u64; NESTING_WORDS],
}

impl<'a> Reader<'a> {
    /// A reader at the start of `bytes`, which must be UTF-8.
    ///
    /// # Errors
    /// If they are not.
    pub fn new(bytes: &'a [u8]) -> Result<Self> {
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Self::of_text(text)),
            Err(e) => Err(Malformed::syntax(e.valid_up_to(), "UTF-8")),
        }
    }

    /// A reader at the start of `text`.
    pub fn of_text(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            depth: 0,
            nesting: [0; NESTING_WORDS],
        }
    }

    /// The type of the value that comes next, which is left in place.
    ///
    /// # Errors
    /// If no value comes next.
    pub fn peek(&mut self) -> Result<Type> {
        match self.significant() {
            Some(b'{') => Ok(Type::Object),
            Some(b'[') => Ok(Type::Array),
            Some(b'"') => Ok(Type::String),
            Some(b'-' | b'0'..=b'9') => Ok(Type::Number),
            Some(b't' | b'f') => Ok(Type::Bool),
            Some(b'n') => Ok(Type::Null),
            _ => Err(self.expected("a value")),
        }
    }

    /// Reads an object: `field` is called with each key and must read or skip its value.
    ///
    /// # Errors
    /// If the next value is no object, if it is not JSON, and whatever `field` says.
    pub fn object(&mut self, mut field: impl FnMut(&mut Self, &[u8]) -> Result<()>) -> Result<()> {
        self.require(Type::Object, "an object")?;
        self.open(true)?;
        if self.significant() == Some(b'}') {
            self.close();
            return Ok(());
        }
        loop {
            let key = self.key()?;
            field(self, key.as_bytes())?;
            match self.significant() {
                Some(b',') => self.advance(),
                Some(b'}') => {
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
        if self.significant() == Some(b']') {
            self.close();
            return Ok(());
        }
        for index in 0.. {
            item(self, index)?;
            match self.significant() {
                Some(b',') => self.advance(),
                Some(b']') => break,
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

    /// Passes over the next value, whatever it is, checking that it is JSON.
    ///
    /// # Errors
    /// If it is not.
    pub fn skip(&mut self) -> Result<()> {
        let floor = self.depth;
        loop {
            match self.significant() {
                Some(b'"') => self.skip_string()?,
                Some(b'{') => {
                    self.open(true)?;
                    if self.significant() == Some(b'}') {
                        self.close();
                    } else {
                        self.skip_key()?;
                        continue;
                    }
                }
                Some(b'[') => {
                    self.open(false)?;
                    if self.significant() == Some(b']') {
                        self.close();
                    } else {
                        continue;
                    }
                }
                Some(b'-' | b'0'..=b'9') => self.skip_number()?,
                Some(b't') => self.skip_word("true")?,
                Some(b'f') => self.skip_word("false")?,
                Some(b'n') => self.skip_word("null")?,
                _ => return Err(self.expected("a value")),
            }
            // A value has ended; so may the containers around it.
            loop {
                if self.depth == floor {
                    return Ok(());
                }
                let in_object = self.in_object();
                match self.significant() {
                    Some(b',') if in_object => {
                        self.advance();
                        self.skip_key()?;
                        break;
                    }
                    Some(b',') => {
                        self.advance();
                        break;
                    }
                    Some(b'}') if in_object => self.close(),
                    Some(b']') if !in_object => self.close(),
                    _ if in_object => return Err(self.expected("`,` or `}`")),
                    _ => return Err(self.expected("`,` or `]`")),
                }
            }
        }
    }

    /// Passes over the next value and gives its text.
    ///
    /// # Errors
    /// As [`Reader::skip`].
    pub fn raw(&mut self) -> Result<&'a str> {
        self.significant();
        let start = self.at;
        self.skip()?;
        Ok(self.slice(start, self.at))
    }

    /// The place where the reader stands.
    pub fn mark(&self) -> Mark {
        Mark {
            at: self.at,
            depth: self.depth,
        }
    }

    /// Goes back to a mark made earlier at this depth or outside of it.
    pub fn rewind(&mut self, mark: Mark) {
        self.at = mark.at;
        self.depth = mark.depth;
    }

    /// Makes sure that nothing but white space is left.
    ///
    /// # Errors
    /// If something is.
    pub fn end(&mut self) -> Result<()> {
        match self.significant() {
            None => Ok(()),
            Some(_) => Err(self.expected("the end")),
        }
    }

    /// The error for a value of another type than `expected` says.
    ///
    /// # Errors
    /// If no value comes next, that.
    pub fn mismatch(&mut self, expected: &'static str) -> Result<Malformed> {
        Ok(Malformed::shape(expected, self.peek()?.name()))
    }

    fn require(&mut self, wanted: Type, expected: &'static str) -> Result<()> {
        if self.peek()? == wanted {
            return Ok(());
        }
        Err(self.mismatch(expected)?)
    }

    fn expected(&self, expected: &'static str) -> Malformed {
        Malformed::syntax(self.at, expected)
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn advance(&mut self) {
        self.at = self.at.saturating_add(1);
    }

    /// Only called between two bytes that stand for themselves in UTF-8, so the slice is always there.
    fn slice(&self, start: usize, end: usize) -> &'a str {
        self.text.get(start..end).unwrap_or_default()
    }

    /// The next byte that is not white space.
    fn significant(&mut self) -> Option<u8> {
        loop {
            match self.byte() {
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.advance(),
                other => return other,
            }
        }
    }

    fn open(&mut self, object: bool) -> Result<()> {
        let (word, bit) = (self.depth.div_euclid(WORD_BITS), self.depth % WORD_BITS);
        let Some(word) = self
            .nesting
            .get_mut(word)
            .filter(|_| self.depth < MAX_DEPTH)
        else {
            return Err(self.expected("at most 10,000 levels of nesting"));
        };
        let mask = 1_u64.rotate_left(bit as u32);
        *word = if object { *word | mask } else { *word & !mask };
        self.depth = self.depth.saturating_add(1);
        self.advance();
        Ok(())
    }

    fn close(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        self.advance();
    }

    fn in_object(&self) -> bool {
        let innermost = self.depth.saturating_sub(1);
        let (word, bit) = (innermost.div_euclid(WORD_BITS), innermost % WORD_BITS);
        let word = self.nesting.get(word).copied().unwrap_or_default();
        word & 1_u64.rotate_left(bit as u32) != 0
    }

    fn key(&mut self) -> Result<Cow<'a, str>> {
        if self.significant() != Some(b'"') {
            return Err(self.expected("a key"));
        }
        let key = self.string_body()?;
        self.colon()?;
        Ok(key)
    }

    fn skip_key(&mut self) -> Result<()> {
        if self.significant() != Some(b'"') {
            return Err(self.expected("a key"));
        }
        self.skip_string()?;
        self.colon()
    }

    fn colon(&mut self) -> Result<()> {
        if self.significant() != Some(b':') {
            return Err(self.expected("`:`"));
        }
        self.advance();
        Ok(())
    }

    /// Moves to the next byte of a string that does not stand for itself: a quote, a backslash or a control character.
    fn run(&mut self) {
        const ONES: u64 = u64::MAX / 0xff;
        const HIGH: u64 = ONES << 7;
        let bytes = self.text.as_bytes();
        // Eight bytes at a time. A byte's high bit ends up set where the byte is below the limit that was taken from
        // it and had no high bit of its own; borrows can only disturb bytes above the lowest hit, which is the one used.
        while let Some(chunk) = bytes.get(self.at..).and_then(<[u8]>::first_chunk::<8>) {
            let word = u64::from_le_bytes(*chunk);
            let below = |word: u64, limit: u64| word.wrapping_sub(ONES.wrapping_mul(limit)) & !word;
            let quote = below(word ^ ONES.wrapping_mul(u64::from(b'"')), 1);
            let backslash = below(word ^ ONES.wrapping_mul(u64::from(b'\\')), 1);
            let hits = (quote | backslash | below(word, 0x20)) & HIGH;
            if hits != 0 {
                self.at = self.at.saturating_add(hits.trailing_zeros() as usize >> 3);
                return;
            }
            self.at = self.at.saturating_add(chunk.len());
        }
        while let Some(byte) = self.byte() {
            if byte == b'"' || byte == b'\\' || byte < 0x20 {
                return;
            }
            self.advance();
        }
    }

    fn skip_string(&mut self) -> Result<()> {
        self.advance();
        loop {
            self.run();
            match self.byte() {
                Some(b'"') => {
                    self.advance();
                    return Ok(());
                }
                Some(b'\\') => {
                    self.escape()?;
                }
                Some(_) => return Err(self.expected("no control character in a string")),
                None => return Err(self.expected("the end of a string")),
            }
        }
    }

    fn string_body(&mut self) -> Result<Cow<'a, str>> {
        self.advance();
        let mut start = self.at;
        let mut decoded: Option<String> = None;
        loop {
            self.run();
            let chunk = self.slice(start, self.at);
            match self.byte() {
                Some(b'"') => {
                    self.advance();
                    return Ok(match decoded {
                        None => Cow::Borrowed(chunk),
                        Some(mut text) => {
                            text.push_str(chunk);
                            Cow::Owned(text)
                        }
                    });
                }
                Some(b'\\') => {
                    let text = decoded.get_or_insert_default();
                    text.push_str(chunk);
                    let escaped = self.escape()?;
                    decoded.get_or_insert_default().push(escaped);
                    start = self.at;
                }
                Some(_) => return Err(self.expected("no control character in a string")),
                None => return Err(self.expected("the end of a string")),
            }
        }
    }

    /// Reads one escape sequence, or two that make a surrogate pair.
    fn escape(&mut self) -> Result<char> {
        self.advance();
        let plain = match self.byte() {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.advance();
                let first = self.four_hex_digits()?;
                return self.code_point(first);
            }
            _ => return Err(self.expected("an escape sequence")),
        };
        self.advance();
        Ok(plain)
    }

    fn code_point(&mut self, first: u32) -> Result<char> {
        if let Some(c) = char::from_u32(first) {
            return Ok(c);
        }
        // A high surrogate and a low one make one character; any other surrogate is replaced, and what follows it is
        // read on its own.
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        if first < 0xdc00 && rest.starts_with(b"\\u") {
            let before = self.at;
            self.at = self.at.saturating_add(2);
            let second = self.four_hex_digits()?;
            if (0xdc00..0xe000).contains(&second) {
                let offset = (first & 0x3ff) << 10 | (second & 0x3ff);
                let pair = char::from_u32(offset.saturating_add(0x1_0000));
                return Ok(pair.unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = before;
        }
        Ok(char::REPLACEMENT_CHARACTER)
    }

    fn four_hex_digits(&mut self) -> Result<u32> {
        let mut value = 0;
        for _ in 0..4 {
            let digit = self.byte().and_then(|b| char::from(b).to_digit(16));
            let Some(digit) = digit else {
                return Err(self.expected("four hexadecimal digits"));
            };
            value = value << 4 | digit;
            self.advance();
        }
        Ok(value)
    }

    fn skip_word(&mut self, word: &'static str) -> Result<()> {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        if !rest.starts_with(word.as_bytes()) {
            return Err(self.expected(word));
        }
        self.at = self.at.saturating_add(word.len());
        Ok(())
    }

    fn skip_digits(&mut self) -> Result<()> {
        let start = self.at;
        while matches!(self.byte(), Some(b'0'..=b'9')) {
            self.advance();
        }
        if self.at == start {
            return Err(self.expected("a digit"));
        }
        Ok(())
    }

    fn skip_number(&mut self) -> Result<()> {
        if self.byte() == Some(b'-') {
            self.advance();
        }
        if self.byte() == Some(b'0') {
            self.advance();
        } else {
            self.skip_digits()?;
        }
        if self.byte() == Some(b'.') {
            self.advance();
            self.skip_digits()?;
        }
        if matches!(self.byte(), Some(b'e' | b'E')) {
            self.advance();
            if matches!(self.byte(), Some(b'+' | b'-')) {
                self.advance();
            }
            self.skip_digits()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
