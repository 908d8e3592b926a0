//! Tests recordings compressed with gzip or zstd. The results must match the uncompressed file. A truncated file is evaluated up to
//! the truncation, and is reported as an error.

use std::fs;
use std::io::Write as _;

use managed_by_testing::root;

use crate::support::run;

fn compress(bytes: &[u8]) -> [(&'static str, Vec<u8>); 2] {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(bytes).unwrap();
    let zstd = zstd::encode_all(bytes, 1).unwrap();
    [("gzip", gzip.finish().unwrap()), ("zstd", zstd)]
}

#[test]
fn compressed_recording_has_the_same_result() {
    let text = fs::read(root("parity/traces/child-jobs.ndjson")).unwrap();
    let args = ["replay", "--kubernetes", "1.30"];
    let plain = run(&args, &text);
    assert_eq!(plain.code, 1, "{plain:?}");
    for (name, bytes) in compress(&text) {
        let ran = run(&args, &bytes);
        assert_eq!((ran.code, &ran.out), (1, &plain.out), "{name}");
    }
}

#[test]
fn truncated_archive_is_evaluated_up_to_its_end() {
    let text = fs::read(root("parity/traces/child-jobs.ndjson")).unwrap();
    for (name, bytes) in compress(&text) {
        let (half, _) = bytes.split_at(bytes.len() / 2);
        let cut = run(&["replay", "--kubernetes", "1.30"], half);
        assert_eq!(cut.code, 2, "{name}: {cut:?}");
        let expected = format!("error: stdin: truncated or damaged {name}: ");
        assert!(cut.err.contains(&expected), "{}", cut.err);
        assert!(cut.out.contains("job-status/"), "{name}: {cut:?}");
    }
}
