//! Writes `target/expected.ndjson`: the library's responses to examples, vectors, recordings and generated requests.

use std::collections::BTreeSet;
use std::io::Write;

use anyhow::Result;
use managed_by::{AdmissionRequest, NoCluster, Release, ReleaseSet, Settings, evaluate};
use managed_by_parity::generate::Generator;
use managed_by_parity::{trace, vector};
use managed_by_testing::examples;
use managed_by_testing::expected::ExpectedResult;
use managed_by_testing::library::validate_in;
use serde_json::{Value, json};

/// Name, request and settings.
type Input = (String, Value, Value);

/// Reads all examples with their settings, and all vectors and recorded requests with default settings.
fn committed() -> Result<Vec<Input>> {
    let mut all = Vec::new();
    for example in examples::all()? {
        all.push((example.name, example.request, example.settings));
    }
    let cases = vector::all()?.into_iter().map(|vector| vector.case);
    all.extend(cases.map(|case| (case.name.clone(), case.request(), json!({}))));
    for stream in trace::JOBS.iter().chain(&trace::CUSTOM) {
        let cases = trace::requests(stream)?.into_iter();
        all.extend(cases.map(|case| (case.name.clone(), case.request(), json!({}))));
    }
    Ok(all)
}

/// Generator of requests with random users and settings from the committed ones.
///
/// A third of the requests are generated Job changes, as in the parity tests. A third are mutated committed requests. A third are generated
/// changes of every kind with settings of their own.
struct InputGenerator {
    generator: Generator,
    committed: Vec<Input>,
    users: Vec<Value>,
    settings: Vec<Value>,
}

impl InputGenerator {
    fn new(seed: u64, committed: Vec<Input>) -> Self {
        let distinct = |values: &mut dyn Iterator<Item = &Value>| {
            let mut known = BTreeSet::new();
            let first = values.filter(|value| known.insert(value.to_string()));
            first.cloned().collect::<Vec<_>>()
        };
        let mut settings = distinct(&mut committed.iter().map(|(_, _, settings)| settings));
        let releases = Release::ALL.iter().map(|release| release.as_str());
        settings.extend(releases.map(|release| json!({"kubernetes_version": release})));
        Self {
            generator: Generator::new(seed),
            users: distinct(&mut committed.iter().map(|(_, request, _)| &request["userInfo"])),
            settings,
            committed,
        }
    }

    fn next(&mut self, number: u64) -> Input {
        let mut request = if number.is_multiple_of(3) {
            let (request, settings) = self.generator.delegation_case();
            return (format!("mixed: {number}"), request, settings);
        } else if number.is_multiple_of(2) {
            self.generator.any_case(number).request()
        } else {
            let mut request = self.generator.one_of(&self.committed).1.clone();
            self.generator.mutate_request(&mut request);
            request
        };
        request["userInfo"] = self.generator.one_of(&self.users).clone();
        let settings = self.generator.one_of(&self.settings).clone();
        (format!("mixed: {number}"), request, settings)
    }
}

/// Writes the responses to all committed requests and to the given number of generated ones.
pub(crate) fn write(out: &mut impl Write, generated: u64, seed: u64) -> Result<()> {
    let committed = committed()?;
    for input in &committed {
        writeln!(out, "{}", serde_json::to_string(&line(input)?)?)?;
    }
    let mut mixed = InputGenerator::new(seed, committed);
    for number in 0..generated {
        let line = line(&mixed.next(number))?;
        writeln!(out, "{}", serde_json::to_string(&line)?)?;
    }
    Ok(out.flush()?)
}

fn line((name, request, settings): &Input) -> Result<ExpectedResult> {
    let (request, text) = (request.to_string(), settings.to_string());
    Ok(ExpectedResult {
        name: name.clone(),
        response: serde_json::to_value(validate_in(&NoCluster, &request, &text))?,
        evaluation: evaluation(&request, &text)?,
        request,
        settings: settings.clone(),
    })
}

/// Evaluates the request for all releases, including rules that are off by default. Returns `null` if the request or the settings
/// are invalid.
fn evaluation(request: &str, settings: &str) -> Result<Value> {
    let settings = Settings::from_json(settings.as_bytes()).map(Settings::for_tools);
    let request = AdmissionRequest::from_json(request.as_bytes());
    let (Ok(settings), Ok(request)) = (settings, request) else {
        return Ok(Value::Null);
    };
    let evaluation = evaluate(&request, &settings, Some(ReleaseSet::all()));
    Ok(serde_json::to_value(&evaluation)?)
}
