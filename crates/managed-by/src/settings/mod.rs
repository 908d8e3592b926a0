//! What an admin chooses, and everything that is wrong with it at once.

mod problem;

use crate::catalogue::{self, RULES};
use crate::json::{Reader, Result, Type};
use crate::release::Release;
use crate::rule::{Enforcement, Rule};
use problem::Got;
pub use problem::{Problem, Problems};

/// What the reserved value of a kind means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReservedValue {
    /// The same as no value, as for kube-apiserver.
    #[default]
    Allow,
    /// Not to be written: only no value means the built-in controller.
    Deny,
}

/// The policy's settings. [`Settings::default`] is what `{}` means: kube-apiserver's verdicts of the newest release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// `kubernetes_version`: the release whose rules and words apply.
    pub kubernetes_version: Release,
    /// `reserved_value`: what the reserved value means.
    pub reserved_value: ReservedValue,
    /// `rules`, one for each rule of the catalogue.
    enforcement: [Enforcement; RULES.len()],
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            kubernetes_version: Release::default(),
            reserved_value: ReservedValue::default(),
            enforcement: RULES.map(|rule| rule.default),
        }
    }
}

const KEYS: [&str; 3] = ["kubernetes_version", "reserved_value", "rules"];

impl Settings {
    /// Reads settings from JSON: an object, or `null` for none. A key whose value is `null` is as good as absent.
    ///
    /// # Errors
    /// All problems, in the order in which they stand: unknown keys, keys given twice, values that are not allowed.
    pub fn from_json(bytes: &[u8]) -> std::result::Result<Self, Problems> {
        let mut settings = Self::default();
        let mut problems = Vec::new();
        let read = Reader::new(bytes).and_then(|mut reader| {
            settings.read(&mut reader, &mut problems)?;
            reader.end()
        });
        if let Err(malformed) = read {
            problems.push(Problem::unreadable(&malformed));
        }
        Problems::none_or(problems).map(|()| settings)
    }

    /// Every rule with what it does when it fires, in the order of the catalogue.
    pub fn rules(&self) -> impl Iterator<Item = (&'static Rule, Enforcement)> + '_ {
        RULES.into_iter().zip(self.enforcement.iter().copied())
    }

    fn read(&mut self, reader: &mut Reader<'_>, problems: &mut Vec<Problem>) -> Result<()> {
        match reader.peek()? {
            Type::Null => return reader.skip(),
            Type::Object => {}
            _ => {
                let got = Got::read(reader)?;
                problems.push(Problem::wrong("settings", &got, "an object"));
                return Ok(());
            }
        }
        let mut seen = [false; KEYS.len()];
        reader.object(|reader, key| {
            let index = KEYS.iter().position(|k| k.as_bytes() == key);
            let Some((seen, name)) = index.and_then(|i| seen.get_mut(i).zip(KEYS.get(i))) else {
                problems.push(Problem::unknown_key("", key, "settings", KEYS));
                return reader.skip();
            };
            if std::mem::replace(seen, true) {
                problems.push(Problem::twice((*name).to_owned()));
            }
            if reader.peek()? == Type::Null {
                return reader.skip();
            }
            match *name {
                "kubernetes_version" => self.read_version(reader, problems),
                "reserved_value" => self.read_reserved_value(reader, problems),
                _ => self.read_rules(reader, problems),
            }
        })
    }

    fn read_version(&mut self, reader: &mut Reader<'_>, problems: &mut Vec<Problem>) -> Result<()> {
        let got = Got::read(reader)?;
        match got.string().and_then(Release::parse) {
            Some(release) => self.kubernetes_version = release,
            None => problems.push(Problem::version(&got)),
        }
        Ok(())
    }

    fn read_reserved_value(
        &mut self,
        reader: &mut Reader<'_>,
        problems: &mut Vec<Problem>,
    ) -> Result<()> {
        let got = Got::read(reader)?;
        match got.string() {
            Some("allow") => self.reserved_value = ReservedValue::Allow,
            Some("deny") => self.reserved_value = ReservedValue::Deny,
            _ => problems.push(Problem::not_one_of(
                "reserved_value",
                &got,
                ["allow", "deny"],
            )),
        }
        Ok(())
    }

    fn read_rules(&mut self, reader: &mut Reader<'_>, problems: &mut Vec<Problem>) -> Result<()> {
        if reader.peek()? != Type::Object {
            let got = Got::read(reader)?;
            let expected = "an object of rule ids, each deny, warn or off";
            problems.push(Problem::wrong("rules", &got, expected));
            return Ok(());
        }
        let mut seen = [false; RULES.len()];
        reader.object(|reader, key| {
            let index = RULES.iter().position(|rule| rule.id.as_bytes() == key);
            let slot = index.and_then(|i| seen.get_mut(i).zip(self.enforcement.get_mut(i)));
            let (Some((seen, enforcement)), Some(rule)) = (slot, index.and_then(|i| RULES.get(i)))
            else {
                let ids = RULES.map(|rule| rule.id);
                problems.push(Problem::unknown_key("rules", key, "rules", ids));
                return reader.skip();
            };
            let path = format!("rules[\"{}\"]", rule.id);
            if std::mem::replace(seen, true) {
                problems.push(Problem::twice(path.clone()));
            }
            let got = Got::read(reader)?;
            let word = got.string();
            match Enforcement::ALL
                .into_iter()
                .find(|e| word == Some(e.as_str()))
            {
                Some(chosen) => *enforcement = chosen,
                None if got.is_null() => {}
                None => {
                    let words = Enforcement::ALL.map(Enforcement::as_str);
                    problems.push(Problem::not_one_of(&path, &got, words));
                }
            }
            Ok(())
        })
    }

    /// What a rule does when it fires.
    pub fn enforcement(&self, id: &str) -> Option<Enforcement> {
        let rule = catalogue::find(id)?;
        let found = self.rules().find(|(r, _)| *r == rule);
        found.map(|(_, enforcement)| enforcement)
    }
}

#[cfg(test)]
mod tests;
