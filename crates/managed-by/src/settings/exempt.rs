//! `exempt`: who is let through where a site rule would deny, for emergencies.

use std::borrow::Cow;

use super::problem::Problems;
use super::reading::{List, Reading, declare_keys};
use super::{Settings, names};
use crate::decode::Path;
use crate::request::UserInfo;
use crate::upstream::go;

const PATH: Path<'_> = Path::Member(&Path::Root, "exempt");

declare_keys!(Key {
    "groups" => Groups,
    "users" => Users,
});

const USERS_LIST: List<'_> = List::of("a list of users", &names::wrong_user);

const GROUPS_LIST: List<'_> = List::of("a list of groups", &names::wrong_group);

/// Who is listed.
#[derive(Default)]
pub(super) struct Exempt<'a> {
    users: Vec<Cow<'a, str>>,
    groups: Vec<Cow<'a, str>>,
}

impl<'a> Settings<'a> {
    /// Reads the section, and notes everything that is wrong with it.
    #[inline(never)]
    pub(super) fn exempt(&self, reading: &mut Reading) -> Exempt<'a> {
        let mut exempt = Exempt::default();
        if let Some(section) = self.exempt {
            reading.fields(section, &PATH, Key::ALL, |reading, value, key, path| {
                let (field, list) = match key {
                    Key::Users => (&mut exempt.users, &USERS_LIST),
                    Key::Groups => (&mut exempt.groups, &GROUPS_LIST),
                };
                *field = reading.strings(value, path, list);
            });
        }
        exempt
    }

    /// As what somebody is exempt from site-specific rules, if they are: as a user, else as the first of the groups that are
    /// listed.
    pub(crate) fn exemption(&self, user: &UserInfo<'_>) -> Result<Option<String>, Problems> {
        let mut reading = Reading::lazy();
        let exempt = self.exempt(&mut reading);
        let exempt = reading.end(exempt)?;
        if exempt.users.contains(&user.username) {
            return Ok(Some(format!("user {}", go::quote(&user.username))));
        }
        let mut groups = exempt.groups.iter();
        let group = groups.find(|name| user.groups.contains(name));
        Ok(group.map(|name| format!("group {}", go::quote(name))))
    }
}
