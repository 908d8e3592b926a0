//! Parses the option `releases`.

use managed_by::ReleaseSet;
use managed_by_offline::ReleaseSelector;

use crate::error::Error;

/// Releases to evaluate.
#[derive(Debug, Default)]
pub(crate) struct ReleasesOption {
    /// The releases; [`None`] uses the settings.
    pub(crate) releases: Option<ReleaseSet>,
    /// Notes about versions that are newer than each known patch release.
    pub(crate) notes: Vec<String>,
}

impl ReleasesOption {
    /// Parses the option, like `--kubernetes` of the command line.
    ///
    /// # Errors
    /// If the text does not select releases.
    pub(crate) fn parse(text: Option<&str>) -> Result<Self, Error> {
        let Some(text) = text else {
            return Ok(Self::default());
        };
        let selector: ReleaseSelector = text
            .parse()
            .map_err(|e: String| Error::invalid_argument("options.releases", &e))?;
        Ok(Self {
            releases: Some(selector.selection.releases()),
            notes: selector.notes,
        })
    }
}
