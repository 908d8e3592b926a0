//! What several releases say to one request, each thing once.

mod json;

use std::fmt;

use crate::catalogue;
use crate::description::{Enforcement, Rule};
use crate::finding::{ErrorType, FieldError, Finding};
use crate::release::{Release, ReleaseSet};
use crate::request::AdmissionRequest;
use crate::verdict::{Decision, Verdict, answer_of_all};

/// The answer to a request, with everything that the releases find that were asked. [`judge`](crate::judge) makes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement<'a> {
    verdict: Verdict<'a>,
    findings: Vec<JudgedFinding<'a>>,
    opinions: Vec<Opinion<'a>>,
}

/// Releases that give one answer, and the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Opinion<'a> {
    /// The releases.
    pub releases: ReleaseSet,
    /// What the policy answers with `kubernetes_version` set to any of them.
    pub verdict: Verdict<'a>,
}

/// One thing that is wrong with a request, and which releases say so in which words.
///
/// Two releases find the same thing if the rule, what it does and the path are the same, and as many findings of the rule at
/// that path go before it.
#[derive(Clone, PartialEq, Eq)]
pub struct JudgedFinding<'a> {
    enforcement: Enforcement,
    place: usize,
    /// The newest of the releases that find it, with what it finds.
    newest: (Release, Finding<'a>),
    /// The findings of the releases, the oldest first. Releases with equal data share an entry.
    said: Vec<(ReleaseSet, Finding<'a>)>,
}

/// An error as some releases write it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Words {
    /// The releases.
    pub releases: ReleaseSet,
    /// The kind of trouble.
    #[serde(rename = "type")]
    pub error_type: ErrorType,
    /// The whole error: path, type, value, detail.
    pub text: String,
    /// What is wrong, and what would do.
    pub detail: String,
}

impl<'a> Judgement<'a> {
    /// Of a verdict that settings give without being asked for a release.
    pub(crate) fn of_settings(verdict: Verdict<'a>, release: Release) -> Self {
        Self {
            findings: merged(&[(release.into(), &verdict.findings)]),
            verdict,
            opinions: Vec::new(),
        }
    }

    /// The same answer from all releases that are asked: no rule was. With no set, it is the answer of the settings.
    pub fn of_all(verdict: Verdict<'a>, releases: Option<ReleaseSet>) -> Self {
        Self {
            findings: merged(&[(releases.unwrap_or_default(), &verdict.findings)]),
            opinions: releases
                .map(|releases| Opinion {
                    releases,
                    verdict: verdict.clone(),
                })
                .into_iter()
                .collect(),
            verdict,
        }
    }

    /// Of what each release says, the oldest first. Releases that say the same share an opinion.
    pub(crate) fn of_releases(
        request: &AdmissionRequest<'_>,
        verdicts: Vec<(ReleaseSet, Verdict<'a>)>,
    ) -> Self {
        let mut opinions: Vec<Opinion<'a>> = Vec::new();
        for (releases, verdict) in verdicts {
            match opinions.iter_mut().find(|known| known.verdict == verdict) {
                Some(known) => known.releases = known.releases.union(releases),
                None => opinions.push(Opinion { releases, verdict }),
            }
        }
        let said = opinions.iter();
        let said: Vec<_> = said.map(|o| (o.releases, &*o.verdict.findings)).collect();
        let findings = merged(&said);
        let verdict = match &*opinions {
            [only] => only.verdict.clone(),
            opinions => {
                let verdicts: Vec<&Verdict<'a>> = opinions.iter().map(|o| &o.verdict).collect();
                let told = findings.iter().flat_map(JudgedFinding::told);
                answer_of_all(request, &verdicts, told.collect())
            }
        };
        Self {
            verdict,
            findings,
            opinions,
        }
    }

    /// The same, with nothing borrowed.
    pub(crate) fn into_owned(self) -> Judgement<'static> {
        let opinions = self.opinions.into_iter().map(|opinion| Opinion {
            releases: opinion.releases,
            verdict: opinion.verdict.into_owned(),
        });
        let findings = self.findings.into_iter().map(JudgedFinding::into_owned);
        Judgement {
            verdict: self.verdict.into_owned(),
            findings: findings.collect(),
            opinions: opinions.collect(),
        }
    }

    /// The answer as one: a denial if one of the releases denies, whose message tells what any of them finds.
    pub fn verdict(&self) -> &Verdict<'a> {
        &self.verdict
    }

    /// Everything that was found, in the order of the catalogue.
    pub fn findings(&self) -> &[JudgedFinding<'a>] {
        &self.findings
    }

    /// The answers of the releases that were asked, the oldest first. Releases with equal answers share an entry. Empty if the
    /// settings choose the release.
    pub fn opinions(&self) -> &[Opinion<'a>] {
        &self.opinions
    }

    /// What one of the releases says that were asked, as if the settings chose it.
    pub fn only(&self, release: Release) -> Option<Self> {
        let opinion = self.opinions.iter().find(|o| o.releases.contains(release));
        opinion.map(|opinion| Self::of_settings(opinion.verdict.clone(), release))
    }

    /// The releases that deny the request, of those that were asked.
    pub fn denied_by(&self) -> ReleaseSet {
        self.releases_where(|decision| !decision.is_allowed())
    }

    /// The releases that accept it.
    pub fn accepted_by(&self) -> ReleaseSet {
        self.releases_where(Decision::is_allowed)
    }

    fn releases_where(&self, matches: impl Fn(&Decision) -> bool) -> ReleaseSet {
        let opinions = self.opinions.iter();
        let matching = opinions.filter(|opinion| matches(&opinion.verdict.decision));
        matching.fold(ReleaseSet::default(), |set, o| set.union(o.releases))
    }
}

impl<'a> JudgedFinding<'a> {
    /// The rule that fired.
    pub fn rule(&self) -> &'static Rule {
        self.newest.1.rule()
    }

    /// What it does.
    pub fn enforcement(&self) -> Enforcement {
        self.enforcement
    }

    /// The field's path: `status.startTime`.
    pub fn path(&self) -> &str {
        self.error().path()
    }

    /// What is wrong, and what would do.
    pub fn detail(&self) -> &str {
        self.error().detail()
    }

    /// How many findings of the rule at this path go before it.
    pub fn place(&self) -> usize {
        self.place
    }

    /// Of the releases that were asked, the ones that find it. If the settings choose, [`Finding::releases`], or else the release
    /// whose error text it has.
    pub fn releases(&self) -> ReleaseSet {
        let sets = self.said.iter().map(|(releases, _)| *releases);
        sets.fold(ReleaseSet::default(), ReleaseSet::union)
    }

    /// The finding of the newest of these releases.
    pub fn finding(&self) -> &Finding<'a> {
        &self.newest.1
    }

    /// The error that the newest of these releases has.
    pub fn error(&self) -> &FieldError<'a> {
        self.newest.1.error()
    }

    /// The error in the words of the newest of these releases.
    pub fn text(&self) -> String {
        self.error().text(self.newest.0)
    }

    /// The error text of each of these releases, the oldest first. Releases with the same text share an entry.
    pub fn texts(&self) -> Vec<Words> {
        let mut texts: Vec<Words> = Vec::new();
        for (releases, finding) in &self.said {
            let error = finding.error();
            for release in releases.iter() {
                let text = error.text(release);
                match texts.iter_mut().find(|known| known.text == text) {
                    Some(known) => known.releases = known.releases.union(release.into()),
                    None => texts.push(Words {
                        releases: release.into(),
                        error_type: error.error_type(),
                        text,
                        detail: error.detail().to_owned(),
                    }),
                }
            }
        }
        texts
    }

    /// The findings for a message about all releases: that of the newest release, and those of older releases whose error type
    /// differs.
    fn told(&self) -> Vec<(Enforcement, Finding<'a>, Release)> {
        let (newest, finding) = &self.newest;
        let mut told = vec![(self.enforcement, finding.clone(), *newest)];
        for (releases, finding) in self.said.iter().rev() {
            let error_type = finding.error().error_type();
            let is_told = told
                .iter()
                .any(|(_, known, _)| known.error().error_type() == error_type);
            if let (false, Some(release)) = (is_told, releases.newest()) {
                told.push((self.enforcement, finding.clone(), release));
            }
        }
        told
    }

    /// The same, with nothing borrowed.
    pub(crate) fn into_owned(self) -> JudgedFinding<'static> {
        let said = self.said.into_iter();
        JudgedFinding {
            enforcement: self.enforcement,
            place: self.place,
            newest: (self.newest.0, self.newest.1.into_owned()),
            said: said.map(|(set, f)| (set, f.into_owned())).collect(),
        }
    }

    /// Takes in that more releases find it.
    fn add(&mut self, releases: ReleaseSet, finding: &Finding<'a>) {
        match self.said.iter_mut().find(|(_, said)| said == finding) {
            Some((set, _)) => *set = set.union(releases),
            None => self.said.push((releases, finding.clone())),
        }
        let newest = releases.newest().unwrap_or_default();
        if newest > self.newest.0 {
            self.newest = (newest, finding.clone());
        }
    }
}

/// For each text of it a line: the releases, the error in their words, and the rule.
impl fmt::Display for JudgedFinding<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let warning = match self.enforcement {
            Enforcement::Warn => "warning: ",
            _ => "",
        };
        let id = self.rule().id();
        for (index, said) in self.texts().iter().enumerate() {
            let Words { releases, text, .. } = said;
            let line_break = if index > 0 { "\n" } else { "" };
            write!(f, "{line_break}{releases}: {warning}{text} [{id}]")?;
        }
        Ok(())
    }
}

/// As it is told: an assertion that fails prints it.
impl fmt::Debug for JudgedFinding<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JudgedFinding({self})")
    }
}

/// Whether two findings are of one rule at one path.
fn is_same_place(one: &Finding<'_>, other: &Finding<'_>) -> bool {
    one.rule() == other.rule() && one.error().path() == other.error().path()
}

/// What releases find, each thing once, in the order of the catalogue. A list of findings counts for the releases beside it, and a
/// finding that names its releases for these.
pub(crate) fn merged<'a>(
    said: &[(ReleaseSet, &[(Enforcement, Finding<'a>)])],
) -> Vec<JudgedFinding<'a>> {
    let mut all: Vec<JudgedFinding<'a>> = Vec::new();
    for (set, findings) in said {
        for (index, (enforcement, finding)) in findings.iter().enumerate() {
            let before = findings.iter().take(index);
            let place = before.filter(|(_, f)| is_same_place(f, finding)).count();
            let releases = finding.releases().unwrap_or(*set);
            let is_same = |known: &&mut JudgedFinding<'_>| {
                (known.enforcement, known.place) == (*enforcement, place)
                    && is_same_place(known.finding(), finding)
            };
            if let Some(known) = all.iter_mut().find(is_same) {
                known.add(releases, finding);
                continue;
            }
            let rank = catalogue::place(finding.rule());
            let at = all.partition_point(|known| catalogue::place(known.rule()) <= rank);
            let found = JudgedFinding {
                enforcement: *enforcement,
                place,
                newest: (releases.newest().unwrap_or_default(), finding.clone()),
                said: vec![(releases, finding.clone())],
            };
            all.insert(at, found);
        }
    }
    all
}
