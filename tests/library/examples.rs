//! What every front end answers to each file of `examples/`, as its answer file says. PolicyServer
//! gives the library's answers (`e2e/server.bats`).
//!
//! `UPDATE_EXAMPLES=1 cargo test --test library examples::` writes the answers.

use xtask::{examples, root};

use crate::support::review;

#[test]
fn each_example_gets_its_answer() {
    let is_update = std::env::var_os("UPDATE_EXAMPLES").is_some();
    for example in examples::all().unwrap() {
        let answer = review(&example.request, &example.settings);
        let response = answer.response(&example.request["uid"]);
        if is_update {
            let file = root(format!("examples/{}.answer.json", example.name));
            std::fs::write(file, format!("{response:#}\n")).unwrap();
        } else {
            assert_eq!(response, example.answer, "{}", example.name);
        }
    }
}
