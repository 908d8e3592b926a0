//! `exempt`: who is let through where a site rule would deny, for emergencies.

use std::borrow::Cow;
use std::fmt;

use super::names;
use super::problem::Problems;
use super::reading::{List, MAX_ITEMS, Reading};
use crate::decode::{Path, Raw};
use crate::request::UserInfo;
use crate::upstream::go;

const PATH: Path<'_> = Path::Member(&Path::Root, "exempt");

const KEYS: [&str; 2] = ["groups", "users"];

const USERS_LIST: List<'_> = List {
    expected: "a list of users",
    wrong: &names::wrong_user,
    is_semantic: false,
    covers: str::eq,
    at_most: MAX_ITEMS,
    instead_of_none: None,
};

const GROUPS_LIST: List<'_> = List {
    expected: "a list of groups",
    wrong: &names::wrong_group,
    is_semantic: false,
    covers: str::eq,
    at_most: MAX_ITEMS,
    instead_of_none: None,
};

/// The section, unread until somebody is about to be denied.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Exempt<'a> {
    pub(super) section: Option<Raw<'a>>,
}

/// As what somebody is exempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Exemption<'a> {
    User(Cow<'a, str>),
    Group(Cow<'a, str>),
}

impl fmt::Display for Exemption<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, name) = match self {
            Self::User(name) => ("user", name),
            Self::Group(name) => ("group", name),
        };
        write!(f, "{what} {}", go::quote(name))
    }
}

#[derive(Default)]
struct Listed<'a> {
    users: Vec<Cow<'a, str>>,
    groups: Vec<Cow<'a, str>>,
}

impl<'a> Exempt<'a> {
    fn read(self, reading: &mut Reading) -> Listed<'a> {
        let mut listed = Listed::default();
        if let Some(section) = self.section {
            reading.fields(section, &PATH, &KEYS, |reading, value, name, path| {
                let (field, list) = match name {
                    "users" => (&mut listed.users, &USERS_LIST),
                    _ => (&mut listed.groups, &GROUPS_LIST),
                };
                *field = reading.strings(value, path, list);
            });
        }
        listed
    }

    /// As what somebody is exempt, if they are: as a user, else as the first of the groups that are listed.
    pub(super) fn covers(self, user: &UserInfo<'_>) -> Result<Option<Exemption<'a>>, Problems> {
        let mut reading = Reading::lazy();
        let listed = self.read(&mut reading);
        let listed = reading.end(listed)?;
        let mut users = listed.users.into_iter();
        if let Some(name) = users.find(|name| *name == user.username) {
            return Ok(Some(Exemption::User(name)));
        }
        let mut groups = listed.groups.into_iter();
        let group = groups.find(|name| user.groups.contains(name));
        Ok(group.map(Exemption::Group))
    }

    /// Notes everything that is wrong.
    pub(super) fn check(self, reading: &mut Reading) {
        self.read(reading);
    }
}
