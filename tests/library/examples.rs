//! The responses in `examples/`. `UPDATE_EXPECT=1 cargo test --test library examples::` updates them.

use std::{env, fs};

use managed_by_testing::{examples, root};

use crate::support::review;

#[test]
fn each_example_contains_the_policy_response() {
    let is_update = env::var_os("UPDATE_EXPECT").is_some();
    let examples = examples::all().unwrap();
    assert!(examples.len() > 50);
    for example in examples {
        let response = review(&example.request, &example.settings);
        let response = response.response(&example.request["uid"]);
        if is_update {
            let file = root(format!("examples/{}.json", example.name));
            let text = fs::read_to_string(&file).unwrap();
            let request = text.split(",\n  \"response\": ").next().unwrap();
            let request = request.trim_end().trim_end_matches("\n}");
            let response = format!("{response:#}").replace('\n', "\n  ");
            fs::write(
                file,
                format!("{request},\n  \"response\": {response}\n}}\n"),
            )
            .unwrap();
        } else {
            assert_eq!(response, example.response, "{}", example.name);
        }
    }
}
