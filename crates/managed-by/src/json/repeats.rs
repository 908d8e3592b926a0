//! What was skipped once and comes again: an update holds its object twice, and most of it is the same both times.

use super::scan;

/// Below that many bytes a comparison saves nothing.
const WORTH: usize = 128;
/// Of more containers than these the first are remembered.
const MAX_SEEN: usize = 64;
/// So many containers may be gone from the second object, or have come into it, before the order is lost.
const LOOK_AHEAD: usize = 8;

/// The containers that were skipped in one object, so that the same bytes need no second look in another.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    mode: Mode,
    seen: Vec<Seen>,
    /// The one after that which came again last: two objects of a kind have their parts in one order.
    next: usize,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Mode {
    #[default]
    Off,
    Remember,
    Recognize,
}

/// A container that was checked to be JSON, and how deep it stands, for nesting has an end.
#[derive(Debug, Clone, Copy)]
struct Seen {
    start: usize,
    end: usize,
    depth: usize,
}

impl Repeats {
    /// Remembers from here on; recognizes, from the second time on.
    pub(super) fn advance(&mut self) {
        self.mode = match self.mode {
            Mode::Off => Mode::Remember,
            Mode::Remember | Mode::Recognize => Mode::Recognize,
        };
    }

    #[inline]
    pub(super) fn is_off(&self) -> bool {
        self.mode == Mode::Off
    }

    /// The end of the container at a place, if it has been seen before.
    pub(super) fn recognize(&mut self, bytes: &[u8], at: usize, depth: usize) -> Option<usize> {
        if self.mode != Mode::Recognize {
            return None;
        }
        let rest = bytes.get(at..)?;
        for (index, seen) in self
            .seen
            .iter()
            .enumerate()
            .skip(self.next)
            .take(LOOK_AHEAD)
        {
            // It ends with the bracket that its first byte opens, so that no value is longer and begins with it.
            let known = bytes.get(seen.start..seen.end)?;
            if seen.depth == depth && scan::starts_with(rest, known) {
                self.next = scan::after(index);
                return Some(at.wrapping_add(known.len()));
            }
        }
        None
    }

    /// Remembers a container that has just been checked.
    pub(super) fn remember(&mut self, start: usize, end: usize, depth: usize) {
        let is_worth_it = end.wrapping_sub(start) >= WORTH;
        if self.mode == Mode::Remember && is_worth_it && self.seen.len() < MAX_SEEN {
            self.seen.push(Seen { start, end, depth });
        }
    }
}
