//! The pictures of the documentation. A picture of facts is drawn from the facts: the kinds, the rules, the answers of the
//! library, a recording of a real cluster, and measurements.

#![expect(
    clippy::arithmetic_side_effects,
    reason = "coordinates of a picture, far from any limit"
)]

mod canvas;
mod compare;
mod kinds;
mod releases;
mod rollout;
pub mod terminal;
mod two_clusters;

use anyhow::Result;

use crate::generated::Generated;

/// Every picture.
///
/// # Errors
/// If what a picture shows cannot be read, or the library does not answer.
pub fn generated() -> Result<Vec<Generated>> {
    Ok(vec![
        Generated::new("docs/pictures/two-clusters.svg", two_clusters::draw()),
        Generated::new("docs/pictures/rollout.svg", rollout::draw()),
        Generated::new("docs/pictures/kinds.svg", kinds::draw()?),
        Generated::new("docs/pictures/releases.svg", releases::draw()?),
        Generated::new("docs/pictures/compare.svg", compare::draw()?),
        Generated::new("docs/pictures/first-screen.svg", terminal::draw()?),
    ])
}
