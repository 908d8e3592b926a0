//! Each transition that real controllers made, broken in each named way that fits it: all denied, by the rule that is to,
//! where it is to.

use serde_json::json;
use xtask::kinds::broken::{self, ways};

use crate::support::{everywhere, natively};

#[test]
fn every_transition_broken_in_every_way_is_denied() {
    let broken = broken::all().unwrap();
    for (index, case) in broken.iter().enumerate() {
        // The engines agree on some of them; the library is asked all.
        let everywhere = if index % 16 == 0 {
            everywhere
        } else {
            natively
        };
        let answer = everywhere(&case.delegated, &json!({}));
        assert_eq!(answer.denied(), [&*case.denied], "{}", case.name);
        let Some(standard) = &case.standard else {
            continue;
        };
        // Nothing comes between a project's own controller and its own objects, unless an admin wants it to.
        let is_status = case.rule.starts_with("status/");
        let answer = everywhere(standard, &json!({}));
        assert_eq!(answer.allowed, is_status, "{}: {answer:?}", case.name);
        if is_status && !case.is_recorded() {
            assert!(answer.warned().contains(&&*case.denied), "{}", case.name);
            let answer = everywhere(standard, &case.settings());
            assert_eq!(answer.denied(), [&*case.denied], "{}", case.name);
        }
    }
    // A way that fits nothing that was recorded would show nothing.
    for way in ways() {
        assert!(broken.iter().any(|case| case.way == way), "{way}");
    }
    assert!(broken.len() > 900, "{}", broken.len());
}
