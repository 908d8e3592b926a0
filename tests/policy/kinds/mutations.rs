//! Each transition that real controllers made, broken in each named way that fits it: all denied, by the rule that is to,
//! where it is to.

use serde_json::json;
use xtask::kinds::broken::{self, ways};

use crate::support::everywhere;

#[test]
fn every_transition_broken_in_every_way_is_denied() {
    let broken = broken::all().unwrap();
    for case in &broken {
        let answer = everywhere(&case.request, &json!({}));
        assert_eq!(answer.denied(), [&*case.denied], "{}", case.name);
        assert!(!answer.allowed, "{}", case.name);
    }
    // A way that fits nothing that was recorded would show nothing.
    for way in ways() {
        assert!(broken.iter().any(|case| case.way == way), "{way}");
    }
    assert!(broken.len() > 900, "{}", broken.len());
}
