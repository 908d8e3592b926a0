//! `exempt`: users and groups that cluster-specific rules don't deny, for emergencies.

use std::borrow::Cow;

use super::error::SettingsErrors;
use super::parser::{ListSchema, Parser, declare_keys};
use super::{Settings, names};
use crate::decode::Path;
use crate::request::UserInfo;
use crate::upstream::go;

const PATH: Path<'_> = Path::Member(&Path::Root, "exempt");

declare_keys!(Key {
    "groups" => Groups,
    "users" => Users,
});

const USERS_LIST: ListSchema<'_> = ListSchema::new("a list of users", &names::validate_user);

const GROUPS_LIST: ListSchema<'_> = ListSchema::new("a list of groups", &names::validate_group);

#[derive(Default)]
pub(super) struct Exempt<'a> {
    users: Vec<Cow<'a, str>>,
    groups: Vec<Cow<'a, str>>,
}

impl<'a> Settings<'a> {
    /// Parses the section, and reports its problems.
    #[inline(never)]
    pub(super) fn read_exempt(&self, parser: &mut Parser) -> Exempt<'a> {
        let mut exempt = Exempt::default();
        if let Some(section) = self.exempt {
            parser.parse_object(section, &PATH, Key::ALL, |parser, value, key, path| {
                let (field, list) = match key {
                    Key::Users => (&mut exempt.users, &USERS_LIST),
                    Key::Groups => (&mut exempt.groups, &GROUPS_LIST),
                };
                *field = parser.parse_string_list(value, path, list);
            });
        }
        exempt
    }

    /// Returns the reason why a user is exempt from cluster-specific rules: the user, or else the first group in the list.
    pub(crate) fn exemption(&self, user: &UserInfo<'_>) -> Result<Option<String>, SettingsErrors> {
        let mut parser = Parser::without_duplicate_checks();
        let exempt = self.read_exempt(&mut parser);
        let exempt = parser.finish(exempt)?;
        if exempt.users.contains(&user.username) {
            return Ok(Some(format!("user {}", go::quote(&user.username))));
        }
        let mut groups = exempt.groups.iter();
        let group = groups.find(|name| user.groups.contains(name));
        Ok(group.map(|name| format!("group {}", go::quote(name))))
    }
}
