//! The pictures that are drawn from facts: the kinds, the rules, the answers of the library, and a recording of a real cluster.
//! The others in `docs/pictures/` are drawn by hand.

#![expect(
    clippy::arithmetic_side_effects,
    reason = "coordinates of a picture, far from any limit"
)]

mod canvas;
mod kinds;
mod releases;
pub mod terminal;

use anyhow::Result;

use crate::generated::Generated;

/// Every picture.
///
/// # Errors
/// If what a picture shows cannot be read, or the library does not answer.
pub fn generated() -> Result<Vec<Generated>> {
    Ok(vec![
        Generated::new("docs/pictures/kinds.svg", kinds::draw()?),
        Generated::new("docs/pictures/releases.svg", releases::draw()?),
        Generated::new("docs/pictures/first-screen.svg", terminal::draw()?),
    ])
}
