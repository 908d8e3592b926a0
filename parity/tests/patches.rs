//! Compares the releases of the library with the table of patch releases that `make patches` writes.

use std::collections::BTreeMap;

use managed_by::Release;

/// A release of the library begins with each patch release with other rules, and only there. Changes have been reviewed, and the newest
/// patch release of each release is the newest in the table.
#[test]
fn releases_match_the_table_of_patch_releases() {
    let mut newest = BTreeMap::new();
    let mut before: Option<Release> = None;
    for line in include_str!("../patches/table.tsv").lines() {
        let mut fields = line.split('\t');
        let (patch, changed) = (fields.next().unwrap(), fields.next().unwrap_or_default());
        let meaning = fields.next().unwrap_or_default();
        if patch.contains('-') {
            // A pre-release is in the table to prepare for its release.
            assert!(meaning.starts_with("unverified: "), "{patch}: not reviewed");
            assert!(Release::is_newer_than_known(patch), "{patch}");
            continue;
        }
        let release: Release = patch.parse().unwrap();
        let is_first = patch.ends_with(".0");
        let differs = before.is_some_and(|before| before != release) && !is_first;
        match meaning.split_once(": ") {
            Some(("differs", _)) => assert!(differs, "{patch}: {release}"),
            Some(("same", _)) => assert!(!differs, "{patch}: {release}"),
            _ => {
                assert!(
                    ["", "not served"].contains(&changed),
                    "{patch}: not reviewed"
                );
                assert!(!differs, "{patch}: {release}");
            }
        }
        newest.insert(release, patch);
        before = Some(release);
    }
    for &release in Release::ALL {
        assert_eq!(newest.get(&release), Some(&&*release.newest_patch()));
    }
}
