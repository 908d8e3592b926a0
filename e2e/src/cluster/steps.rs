//! Checks that are data: each is a sentence and steps, in `e2e/cluster/*.yml`. A step asks the API server and says what must come
//! back.

mod filling;

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail, ensure};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::api_server::{ADMIN, ApiServer, CRON_JOBS, JOBSET, KUEUE, POLICY_SERVER, USERS};
use super::audit::annotation;
use super::hook::{TEAM, job};
use super::jobs::ended;
use crate::deploy;
use crate::http::Answer;
use crate::kube::{APPLY, JSON, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, path, plural, text};
use crate::kubelet::now;
use crate::process::until;
use crate::report;

/// How much of a request or an answer is printed.
const SHOWN: usize = 320;

/// The kinds that steps name, with their version.
const KINDS: [(&str, &str); 12] = [
    ("Job", "batch/v1"),
    ("CronJob", "batch/v1"),
    ("JobSet", "jobset.x-k8s.io/v1alpha2"),
    ("AppWrapper", "workload.codeflare.dev/v1beta2"),
    ("RayCluster", "ray.io/v1"),
    ("Workflow", "argoproj.io/v1alpha1"),
    ("PyTorchJob", "kubeflow.org/v1"),
    ("MPIJob", "kubeflow.org/v2beta1"),
    ("Workload", "kueue.x-k8s.io/v1beta2"),
    ("NetworkPolicy", "networking.k8s.io/v1"),
    ("Pod", "v1"),
    ("Namespace", "v1"),
];

/// Such a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    vars: Map<String, Value>,
    parts: Vec<Part>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Part {
    name: String,
    /// Who asks where no step says it.
    user: String,
    /// Whether what was asked and answered is printed also where nothing failed.
    #[serde(default)]
    shown: bool,
    checks: Vec<Check>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Check {
    /// Sets of variables: the check is made for each of them.
    #[serde(default)]
    each: Value,
    says: String,
    /// Each a [`Step`], or `each` with `steps`: the steps once for each of these sets of variables.
    steps: Vec<Value>,
}

/// What is asked, and what must come back.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct Step {
    /// Something that is written in Rust.
    act: Option<String>,
    /// `HOW KIND[/VERSION][@NAMESPACE] NAME[/SUBRESOURCE][?QUERY]`. Without a name it is the list.
    ask: String,
    /// Which cluster is asked, if there are two.
    on: Option<String>,
    /// Who asks.
    r#as: Option<String>,
    headers: BTreeMap<String, String>,
    /// What is sent: a whole body, a file, or the parts of an object.
    body: Value,
    file: Option<String>,
    metadata: Value,
    spec: Value,
    /// Changes of it, by place.
    with: BTreeMap<String, Value>,
    without: Vec<String>,

    /// The code of the answer, `refused` for any of a refusal, or `any`. Otherwise it must be a success.
    code: Value,
    /// What is in its message, and in its warnings.
    said: Vec<String>,
    warned: Vec<String>,
    /// There are no warnings.
    silent: bool,
    /// How the Job in the answer has ended.
    end: Option<String>,
    /// The message is shorter than this.
    shorter: Option<usize>,
    /// Neither the answer nor the audit log has control characters.
    quoted: bool,
    /// What the policy put into the audit log: a text, `{contains: TEXT}`, or null for nothing.
    audit: BTreeMap<String, Value>,
    /// What is in the answer, and what is stored then, by place; or whether nothing is.
    answered: BTreeMap<String, Value>,
    stored: BTreeMap<String, Value>,
    gone: bool,
    /// Whether PolicyServer has looked something up for it.
    lookup: Option<bool>,
    /// Variables for the next steps, each with a place in the answer.
    keep: BTreeMap<String, String>,
    /// The seconds in which it must come true.
    within: u64,
}

/// What a step may have in Rust: it gets the name of the act.
pub(crate) type Act<'a> = &'a mut dyn FnMut(&str) -> Result<()>;

/// For parts that have nothing in Rust.
pub(crate) fn no_act(name: &str) -> Result<()> {
    bail!("no act {name}")
}

/// Runs the checks of a part of `e2e/cluster/FILE.yml` with more variables, on the first of some clusters unless a step names another
/// one by its folder.
pub(crate) fn run(clusters: &[&ApiServer], file: &str, part: &str, more: &Value, act: Act<'_>) {
    let (mut vars, part) = match load(file, part) {
        Ok(loaded) => loaded,
        Err(error) => {
            report::check(&format!("e2e/cluster/{file}.yml: {part}"), Err(error));
            return;
        }
    };
    vars.extend(more.as_object().cloned().unwrap_or_default());
    let mut runner = Runner {
        clusters,
        user: part.user,
        vars,
        said: Vec::new(),
        act,
    };
    for check in part.checks {
        // Without sets of variables a check is made once.
        let sets = match &check.each {
            Value::Null => Ok(vec![Map::new()]),
            each => filling::each(&runner.vars, each),
        };
        for set in sets.unwrap_or_else(|error| {
            report::check(&check.says, Err(error));
            Vec::new()
        }) {
            runner.vars.insert("now".to_owned(), now().into());
            runner.vars.extend(set);
            let says = filling::filled_text(&runner.vars, &check.says);
            let outcome = runner.steps(&check.steps);
            let passed = report::check(text(&says), outcome);
            for line in runner.said.drain(..).filter(|_| part.shown || !passed) {
                report::note(&line);
            }
        }
    }
}

fn load(file: &str, part: &str) -> Result<(Map<String, Value>, Part)> {
    let text = deploy::yaml(format!("e2e/cluster/{file}.yml"))?[0].take();
    let File { mut vars, parts } = serde_json::from_value(text)?;
    let pod = job(TEAM, "x", &json!({}))["spec"]["template"].take();
    vars.insert("pod".to_owned(), pod);
    let part = parts.into_iter().find(|p| p.name == part);
    Ok((vars, part.context("no such part")?))
}

struct Runner<'a> {
    clusters: &'a [&'a ApiServer],
    user: String,
    vars: Map<String, Value>,
    /// What was asked and answered.
    said: Vec<String>,
    act: Act<'a>,
}

impl Runner<'_> {
    fn steps(&mut self, steps: &[Value]) -> Result<()> {
        for step in steps {
            let Value::Array(below) = &step["steps"] else {
                let step = filling::filled(&self.vars, step)?;
                let step: Step =
                    serde_json::from_value(step.clone()).with_context(|| step.to_string())?;
                self.step(&step).with_context(|| step.ask.clone())?;
                continue;
            };
            for set in filling::each(&self.vars, &step["each"])? {
                let what = brief(&Value::from(set.clone()).to_string());
                self.vars.extend(set);
                self.steps(below).context(what)?;
            }
        }
        Ok(())
    }

    fn step(&mut self, step: &Step) -> Result<()> {
        if let Some(act) = &step.act {
            return (self.act)(act);
        }
        let limit = std::time::Duration::from_secs(step.within);
        match step.within {
            0 => self.ask(step),
            _ => until("such answer", limit, || self.ask(step).map(Some)),
        }
    }

    fn ask(&mut self, step: &Step) -> Result<()> {
        let mut words = step.ask.splitn(3, ' ');
        let mut word = || words.next().context("HOW KIND NAME");
        let (how, kind, target) = (word()?, word()?, word()?);
        let (kind, namespace) = kind.split_once('@').unwrap_or((kind, TEAM));
        let (kind, version) = kind.split_once('/').unwrap_or((kind, ""));
        let found = KINDS.iter().find(|known| known.0 == kind);
        let (_, usual) = found.with_context(|| format!("no kind {kind}"))?;
        let group = usual.split('/').next().unwrap_or_default();
        let api_version = match version {
            "" => (*usual).to_owned(),
            version => format!("{group}/{version}"),
        };
        let namespace = if kind == "Namespace" { "" } else { namespace };
        let list = path(&api_version, namespace, &plural(kind));
        let (target, mut query) = target.split_once('?').unwrap_or((target, ""));
        if how == "apply" {
            query = "fieldManager=e2e&force=true";
        }
        let name = target.split('/').next().unwrap_or_default();
        let own = format!("{}/{name}", path(usual, namespace, &plural(kind)));

        let body = filling::body(step, how, kind, &api_version, namespace, name)?;
        let (method, media_type) = match how {
            "create" => ("POST", JSON),
            "replace" => ("PUT", JSON),
            "json" => ("PATCH", JSON_PATCH),
            "merge" => ("PATCH", MERGE_PATCH),
            "strategic" => ("PATCH", STRATEGIC_PATCH),
            "apply" => ("PATCH", APPLY),
            "delete" => ("DELETE", JSON),
            "get" => ("GET", JSON),
            _ => bail!("no way to ask: {how}"),
        };
        let mut place = list;
        if how != "create" && !target.is_empty() {
            place = format!("{place}/{target}");
        }
        if !query.is_empty() {
            place = format!("{place}?{query}");
        }
        let before = self.lookups(step)?;
        let answer = self.send(step, method, media_type, &place, &body)?;
        let after = self.lookups(step)?;
        if let Some(lookup) = step.lookup {
            ensure!((after > before) == lookup, "{} look-ups", after - before);
        }
        self.check(step, &answer, name, &own)?;
        for (variable, place) in &step.keep {
            let kept = answer.body.pointer(place).cloned();
            self.vars.insert(variable.clone(), kept.unwrap_or_default());
        }
        Ok(())
    }

    fn cluster(&self, step: &Step) -> Result<&ApiServer> {
        let is_it = |cluster: &&&ApiServer| match &step.on {
            Some(name) => cluster.folder.ends_with(name),
            None => true,
        };
        self.clusters.iter().find(is_it).copied().context("nowhere")
    }

    /// How often PolicyServer has asked for a Job.
    fn lookups(&self, step: &Step) -> Result<usize> {
        if step.lookup.is_none() {
            return Ok(0);
        }
        let audit = self.cluster(step)?.audit()?;
        let events = audit.by(POLICY_SERVER);
        Ok(events.filter(|event| event["verb"] == "get").count())
    }

    /// Asks, and notes down the question and the answer.
    fn send(
        &mut self,
        step: &Step,
        method: &str,
        media_type: &str,
        place: &str,
        body: &Value,
    ) -> Result<Answer> {
        let name = step.r#as.as_ref().unwrap_or(&self.user);
        let user = match name.as_str() {
            "kueue" => KUEUE,
            "jobset" => JOBSET,
            "cronjobs" => CRON_JOBS,
            // A person is called so.
            name => name,
        };
        let is_known = USERS.iter().any(|(known, _)| *known == user);
        ensure!(is_known, "nobody is called {name}");
        let mut client = self.cluster(step)?.client(user);
        client.headers.clone_from(&step.headers);
        let answer = client.request(method, place, media_type, body)?;
        let headers = match &step.headers {
            headers if headers.is_empty() => String::new(),
            headers => format!(" {headers:?}"),
        };
        let how = match media_type {
            JSON => method.to_owned(),
            media_type => format!("{method} ({media_type})"),
        };
        let sent = match body {
            Value::Null => String::new(),
            body => brief(&body.to_string()),
        };
        let asked = format!("{name}{headers}: {how} {place} {sent}");
        let answered = format!("  {} {}", answer.code, brief(&answer.said()));
        self.said.extend([asked, answered]);
        Ok(answer)
    }

    fn check(&self, step: &Step, answer: &Answer, name: &str, own: &str) -> Result<()> {
        let (code, warnings, said) = (answer.code, &answer.warnings, brief(&answer.said()));
        let as_wanted = match &step.code {
            Value::Null => code < 300,
            Value::String(word) if word == "any" => true,
            Value::String(_) => (400..500).contains(&code),
            wanted => *wanted == code,
        };
        ensure!(as_wanted, "the code is {code}: {said}");
        if let Some(end) = &step.end {
            ended(answer, end)?;
        }
        for word in &step.said {
            ensure!(answer.message().contains(word), "not said: {word}: {said}");
        }
        for word in &step.warned {
            let warned = warnings.iter().any(|warning| warning.contains(word));
            ensure!(warned, "not warned: {word}: {said}");
        }
        ensure!(!step.silent || warnings.is_empty(), "{warnings:?}");
        let length = answer.message().len();
        let is_short = step.shorter.is_none_or(|limit| length < limit);
        ensure!(is_short, "{length} bytes of text");
        for (place, value) in &step.answered {
            let found = answer.body.pointer(place).unwrap_or(&Value::Null);
            ensure!(matches(found, value), "{place} of the answer is {found}");
        }
        if !step.stored.is_empty() || step.gone {
            let stored = self.cluster(step)?.client(ADMIN).get(own)?;
            let is_gone = stored.code == 404;
            ensure!(is_gone == step.gone, "GET {own}: {}", stored.code);
            for (place, value) in &step.stored {
                let found = stored.body.pointer(place).unwrap_or(&Value::Null);
                ensure!(matches(found, value), "{place} is {found}");
            }
        }
        if !step.audit.is_empty() || step.quoted {
            let audit = self.cluster(step)?.audit()?;
            let event = audit.last(name);
            for (key, value) in &step.audit {
                let found = json!(event.and_then(|event| annotation(event, key)));
                ensure!(matches(&found, value), "{key} in the audit log: {found}");
            }
            if step.quoted {
                quoted(event.context("not in the audit log")?, answer)?;
            }
        }
        Ok(())
    }
}

/// Whether something is this value, or its text contains what it says.
fn matches(found: &Value, wanted: &Value) -> bool {
    match (found, wanted["contains"].as_str()) {
        (Value::String(found), Some(text)) => found.contains(text),
        (found, Some(text)) => found.to_string().contains(text),
        _ => found == wanted,
    }
}

/// No control character is in what was said or put down.
fn quoted(event: &Value, answer: &Answer) -> Result<()> {
    let annotations = event["annotations"].as_object().context("no annotations")?;
    let mut texts: Vec<_> = answer.warnings.iter().map(String::as_str).collect();
    texts.push(answer.message());
    texts.extend(
        annotations
            .iter()
            .flat_map(|(key, value)| [key, text(value)]),
    );
    for text in texts {
        ensure!(!text.chars().any(char::is_control), "{text:?}");
    }
    Ok(())
}

/// A text in a line, not too long.
fn brief(text: &str) -> String {
    let mut line = String::new();
    for letter in text.chars().take(SHOWN) {
        if letter.is_control() {
            line.extend(letter.escape_default());
        } else {
            line.push(letter);
        }
    }
    match text.len() {
        0..=SHOWN => line,
        length => format!("{line}... ({length} bytes)"),
    }
}
