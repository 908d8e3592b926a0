//! What holds for site rules whatever the request and the settings.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Ask, CREATE, DELEGATED, RESERVED, STATUS, TYPO, UPDATE, settings};
use crate::support::{GUEST, everywhere, natively, natively_from};

fn value() -> impl Strategy<Value = Option<&'static str>> {
    prop::sample::select(vec![
        None,
        DELEGATED,
        RESERVED,
        TYPO,
        Some("acme.io/runner"),
        Some(""),
    ])
}

fn namespace() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["team-a", "infra-1", "kube-system", "free", ""])
}

fn any_settings() -> impl Strategy<Value = Value> {
    let role = prop::sample::select(vec!["hybrid", "management", "worker"]);
    let keep = prop::collection::vec(any::<bool>(), 4);
    (role, keep, any::<bool>()).prop_map(|(role, keep, reversed)| {
        let mut all = settings();
        all["role"] = role.into();
        let keys = [
            "controllers",
            "namespaces",
            "standard_status_writers",
            "exempt",
        ];
        for (key, _) in keys.iter().zip(keep).filter(|(_, keep)| !keep) {
            all.as_object_mut().unwrap().remove(*key);
        }
        if reversed && let Some(entries) = all["namespaces"].as_array_mut() {
            entries.reverse();
        }
        all
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn an_unchanged_object_is_never_denied_by_a_site_rule(
        value in value(), namespace in namespace(), settings in any_settings(), status in any::<bool>(), active in 0_u8..3,
    ) {
        let sub_resource = if status { "status" } else { "" };
        let ask = Ask { sub_resource, namespace, old: value, new: value, active: [active; 2], ..UPDATE };
        let answer = everywhere(&ask.request(), &settings);
        prop_assert!(answer.allowed, "{answer:?}");
    }

    /// The library reads keys in any order; the host sorts them.
    #[test]
    fn the_order_of_keys_never_changes_a_verdict(
        value in value(), namespace in namespace(), settings in any_settings(), seed in any::<u64>(),
    ) {
        let request = Ask { new: value, namespace, ..CREATE }.request();
        let sorted = natively(&request, &settings);
        let shuffled = natively_from(&request, &shuffled(&settings, seed));
        prop_assert_eq!(sorted, shuffled);
    }

    /// What `validate_settings` takes, `validate` can run with, whatever it is asked.
    #[test]
    fn valid_settings_are_never_a_misconfiguration(
        old in value(), new in value(), namespace in namespace(), settings in any_settings(), operation in 0..3,
    ) {
        let ask = match operation {
            0 => Ask { namespace, new, ..CREATE },
            1 => Ask { namespace, old, new, ..UPDATE },
            _ => Ask { namespace, old, new: old, ..STATUS },
        };
        let code = everywhere(&ask.request(), &settings).code;
        let valid = GUEST.validate_settings(&settings).unwrap();
        prop_assert!(!valid.valid || code != Some(500), "{settings}");
    }
}

/// The settings as text, with the keys of every object in another order.
fn shuffled(value: &Value, seed: u64) -> String {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(key, _)| {
                let sum: u64 = key.bytes().map(u64::from).sum();
                sum.wrapping_mul(seed | 1)
            });
            let member = |(key, value): &(&String, &Value)| {
                format!("{}:{}", json!(key), shuffled(value, seed))
            };
            let members: Vec<String> = members.iter().map(member).collect();
            format!("{{{}}}", members.join(","))
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| shuffled(item, seed)).collect();
            format!("[{}]", items.join(","))
        }
        other => other.to_string(),
    }
}
