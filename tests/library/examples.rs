//! The responses in `examples/`. `UPDATE_EXPECT=1 cargo test --test library examples::` updates them.

use std::collections::BTreeMap;
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
        if is_update {
            let file = root(format!("examples/{}.yaml", example.name));
            let text = fs::read_to_string(&file).unwrap();
            let (header, objects) = text.split_once("\n---\n").unwrap();
            let header = header.split("\nresponse:").next().unwrap();
            let response = BTreeMap::from([("response", response)]);
            let response = serde_yaml_ng::to_string(&response).unwrap();
            fs::write(file, format!("{header}\n{response}---\n{objects}")).unwrap();
        } else {
            assert_eq!(Some(response), example.response, "{}", example.name);
        }
    }
}
