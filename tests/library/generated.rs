//! Compares the generated files with the committed ones. `make generate` updates them.

use expect_test::expect_file;
use xtask::generated::Generated;
use xtask::root;

#[test]
fn generated_files_are_up_to_date() {
    let files = xtask::generated::all().unwrap();
    assert!(files.len() > 50, "{}", files.len());
    for Generated { path, text } in files {
        expect_file![root(path)].assert_eq(&text);
    }
}
