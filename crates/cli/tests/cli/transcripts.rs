//! What stands in `docs/cli.md` is what the program prints.

use xtask::root;

#[test]
fn the_documentation_shows_what_is_printed() {
    // The transcripts run where the files that they name are.
    std::env::set_current_dir(root("examples/manifests")).unwrap();
    let cases = trycmd::TestCases::new();
    cases.env("NO_COLOR", "1");
    cases.env("COLUMNS", "100");
    cases.case(root("docs/cli.md"));
    cases.case(root("docs/cli-help.md"));
    cases.run();
}
