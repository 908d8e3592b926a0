//! Random values of the chart: Helm accepts only those whose settings the library accepts, and rejects the others with sentences.

use std::{env, thread};

use managed_by_parity::generate::Generator;
use managed_by_testing::chart;
use managed_by_testing::library::settings_error;
use serde::Deserialize as _;
use serde_json::Value;

/// Words of JSON Schema that tell users nothing about their values.
const NOISE: [&str; 5] = [
    "' failed",
    ": got 0",
    "minLength",
    "maxLength",
    "does not match pattern",
];

/// Returns the settings of the policies in rendered manifests.
fn settings(manifests: &str) -> Vec<Value> {
    let documents = serde_yaml_ng::Deserializer::from_str(manifests)
        .map(|document| Value::deserialize(document).unwrap());
    let settings = documents
        .filter(|document| document["spec"]["module"].is_string())
        .map(|mut document| document["spec"]["settings"].take());
    settings.collect()
}

/// `VALUES` is the number of random values, and `SEED` the first seed. `PROBLEMS=1` prints the number of values for each of Helm's errors.
#[test]
fn helm_accepts_only_valid_settings() {
    let number = |name, default| env::var(name).map_or(default, |text| text.parse().unwrap());
    let (count, seed) = (number("VALUES", 40_u64), number("SEED", 1_u64));
    let grammar: Value = serde_yaml_ng::from_str(include_str!("values.yml")).unwrap();
    let evaluate = |number: u64| {
        let mut generator = Generator::new(seed.wrapping_mul(1_000_003).wrapping_add(number));
        let mut values = generator.derive(&grammar);
        values.as_object_mut().unwrap().remove("pools");
        let cluster = *generator.one_of(&["offline", "all-projects"]);
        let rendered = chart::render(cluster, "", &values).unwrap()?;
        let problem = match &rendered {
            Ok(manifests) => settings(manifests).iter().find_map(settings_error),
            Err(message) => NOISE
                .into_iter()
                .find(|noise| message.contains(noise))
                .map(|_| message.clone()),
        };
        Some((
            rendered.err(),
            problem.map(|problem| format!("{cluster} {values}: {problem}")),
        ))
    };
    let results = thread::scope(|scope| {
        let halves = [0, 1].map(|half| {
            scope.spawn(move || {
                (0..count)
                    .filter(|n| n % 2 == half)
                    .map(&evaluate)
                    .collect::<Option<Vec<_>>>()
            })
        });
        halves.map(|half| half.join().unwrap())
    });
    let [Some(left), Some(right)] = results else {
        return;
    };
    let results = [left, right].concat();
    let problems: Vec<_> = results
        .iter()
        .filter_map(|(_, problem)| problem.as_ref())
        .collect();
    let accepted = results.iter().filter(|(error, _)| error.is_none()).count();
    println!(
        "{count} values: {accepted} accepted, {} problems",
        problems.len()
    );
    if env::var_os("PROBLEMS").is_some() {
        for problem in &problems {
            println!("{problem}");
        }
    }
    assert!(
        problems.is_empty(),
        "{} problems: {}",
        problems.len(),
        problems[0]
    );
    assert!(
        accepted > usize::try_from(count).unwrap() / 10,
        "{accepted}"
    );
}
