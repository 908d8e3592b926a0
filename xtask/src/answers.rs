//! The lines that every door is held to: what the library says to the examples, the vectors, the recordings, and generated requests.

use std::collections::BTreeSet;
use std::io::Write;

use anyhow::Result;
use managed_by::{AdmissionRequest, Offline, Release, ReleaseSet, Settings, judge};
use managed_by_conformance::generate::Generator;
use managed_by_conformance::{trace, vector};
use managed_by_testing::answers::Line;
use managed_by_testing::judge::judge_in;
use serde_json::{Value, json};

use crate::examples;

/// A name, a request and its settings.
type Asked = (String, Value, Value);

/// Every example with its settings, and every vector and recorded request with the default settings.
fn kept() -> Result<Vec<Asked>> {
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

/// A request by a user under settings that other requests have: half of them changes of Jobs as upstream is asked about, half of them
/// a kept request with something else in a few places.
struct Mixed {
    generator: Generator,
    kept: Vec<Asked>,
    users: Vec<Value>,
    settings: Vec<Value>,
}

impl Mixed {
    fn new(seed: u64, kept: Vec<Asked>) -> Self {
        let distinct = |values: &mut dyn Iterator<Item = &Value>| {
            let mut known = BTreeSet::new();
            let first = values.filter(|value| known.insert(value.to_string()));
            first.cloned().collect::<Vec<_>>()
        };
        let mut settings = distinct(&mut kept.iter().map(|(_, _, settings)| settings));
        let releases = Release::ALL.iter().map(|release| release.as_str());
        settings.extend(releases.map(|release| json!({"kubernetes_version": release})));
        Self {
            generator: Generator::new(seed),
            users: distinct(&mut kept.iter().map(|(_, request, _)| &request["userInfo"])),
            settings,
            kept,
        }
    }

    fn next(&mut self, number: u64) -> Asked {
        let mut request = if number.is_multiple_of(2) {
            self.generator.any_case(number).request()
        } else {
            let mut request = self.generator.one_of(&self.kept).1.clone();
            self.generator.change(&mut request);
            request
        };
        request["userInfo"] = self.generator.one_of(&self.users).clone();
        let settings = self.generator.one_of(&self.settings).clone();
        (format!("mixed: {number}"), request, settings)
    }
}

/// Writes the lines, with so many generated ones.
///
/// # Errors
/// If a file of requests cannot be read, or the lines cannot be written.
pub fn write(out: &mut impl Write, generated: u64, seed: u64) -> Result<()> {
    let kept = kept()?;
    for asked in &kept {
        writeln!(out, "{}", serde_json::to_string(&line(asked)?)?)?;
    }
    let mut mixed = Mixed::new(seed, kept);
    for number in 0..generated {
        let line = line(&mixed.next(number))?;
        writeln!(out, "{}", serde_json::to_string(&line)?)?;
    }
    Ok(out.flush()?)
}

fn line((name, request, settings): &Asked) -> Result<Line> {
    let (request, text) = (request.to_string(), settings.to_string());
    Ok(Line {
        name: name.clone(),
        answer: serde_json::to_value(judge_in(&Offline, &request, &text))?,
        judgement: judgement(&request, &text)?,
        request,
        settings: settings.clone(),
    })
}

/// What the releases say with all rules, as tools have them; `null` if nobody can judge it.
fn judgement(request: &str, settings: &str) -> Result<Value> {
    let settings = Settings::from_json(settings.as_bytes()).map(Settings::for_tools);
    let request = AdmissionRequest::from_json(request.as_bytes());
    let (Ok(settings), Ok(request)) = (settings, request) else {
        return Ok(Value::Null);
    };
    let judgement = judge(&request, &settings, Some(ReleaseSet::all()));
    Ok(serde_json::to_value(&judgement)?)
}
