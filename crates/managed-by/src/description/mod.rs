//! What people know a rule by: its name, its source, its documentation. What it does is in [`crate::rule`].

#[cfg(feature = "docs")]
pub(crate) mod page;

use std::fmt;

use crate::kind::Kind;
use crate::release::Release;

/// What happens when a rule fires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enforcement {
    /// The request is denied.
    Deny,
    /// The client is warned.
    Warn,
    /// Nothing; the rule does not run.
    Off,
}

impl Enforcement {
    /// All of them, as settings name them.
    pub const ALL: &[Self] = &[Self::Deny, Self::Warn, Self::Off];

    /// The word for it in settings.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Warn => "warn",
            Self::Off => "off",
        }
    }
}

/// Where a rule comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// A check of kube-apiserver. The rule gives the same verdict and the same error text.
    Upstream {
        /// The function in `k8s.io/kubernetes` that checks it.
        function: &'static str,
        /// The option that switches it on, unless nothing does.
        option: Option<&'static str>,
        /// The first release that does.
        since: Release,
        /// The last one, unless it is still there.
        until: Option<Release>,
        /// The intended difference from kube-apiserver, if there is one.
        deviation: Option<&'static str>,
    },
    /// A check of this project.
    Ours {
        /// The API comment, KEP section or observation that it rests on.
        source: &'static str,
    },
}

/// The line "Source" of the rule's page: where kube-apiserver has the check and in which releases, or why this project has it.
impl fmt::Display for Anchor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Upstream {
                function,
                option,
                since,
                until,
                ..
            } => {
                write!(f, "kube-apiserver: `{function}`")?;
                if let Some(option) = option {
                    write!(f, " with `{option}`")?;
                }
                write!(f, ", releases {since} to {}", until.unwrap_or_default())
            }
            Self::Ours { source } => write!(f, "this project: {source}"),
        }
    }
}

/// A request that shows what a rule does. Tests run it, on the library and in the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Example {
    /// Settings, as JSON.
    pub settings: &'static str,
    /// Admission request, as JSON. The words `(1 MiB of text)` stand for that much text.
    pub request: &'static str,
}

/// What people read about a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Documentation {
    /// One line for tables.
    pub title: &'static str,
    /// What it checks, when it runs, and why.
    pub text: &'static str,
    /// What to do about what it finds.
    pub fix: &'static str,
    /// A request that the rule accepts.
    pub accepted: Example,
    /// A request that it fires on, and nothing else does.
    pub rejected: Example,
}

/// A check of kube-apiserver, as the releases have it.
#[derive(Clone, Copy)]
#[cfg_attr(not(feature = "docs"), expect(dead_code, reason = "people read it"))]
pub(crate) struct Upstream {
    function: &'static str,
    option: Option<&'static str>,
    since: Release,
    until: Option<Release>,
    changes: bool,
}

impl Upstream {
    /// One that all supported releases make, in this function of `k8s.io/kubernetes`.
    pub(crate) const fn in_function(function: &'static str) -> Self {
        Self {
            function,
            option: None,
            since: Release::OLDEST,
            until: None,
            changes: false,
        }
    }

    /// The option that switches it on.
    pub(crate) const fn with_option(self, option: &'static str) -> Self {
        Self {
            option: Some(option),
            ..self
        }
    }

    /// The first release that has it.
    pub(crate) const fn since(self, since: Release) -> Self {
        Self { since, ..self }
    }

    /// The last release that has it.
    pub(crate) const fn until(self, until: Release) -> Self {
        Self {
            until: Some(until),
            ..self
        }
    }

    /// It denies something else since some release.
    pub(crate) const fn that_changes(self) -> Self {
        Self {
            changes: true,
            ..self
        }
    }
}

/// One named check, as people know it.
pub struct Rule {
    pub(crate) id: &'static str,
    /// Since when kube-apiserver checks it, and until when; of a check of this project nothing.
    upstream: Option<(Release, Option<Release>)>,
    /// See [`Rule::is_disputed`].
    is_disputed: bool,
    pub(crate) default: Enforcement,
    pub(crate) scope: Scope,
    #[cfg(feature = "docs")]
    about: About,
}

/// What only tools ask of a rule. A policy has no use for it, and would be half as big again with it.
#[cfg(feature = "docs")]
struct About {
    documentation: Documentation,
    anchor: Anchor,
    applies: fn(&Kind<'_>) -> bool,
}

/// What a rule is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// The API's own rules: what they deny is wrong for everybody.
    Api,
    /// As [`Scope::Api`], and it denies for kinds that the settings declare, too. The other rules of the API follow from what
    /// a known project does, so they only warn about a declared kind.
    Promise,
    /// What the admin chose for the cluster. The rule does not run on objects that are being deleted, so that deletion never
    /// hangs, and exempt users may do what it denies.
    Site,
    /// As [`Scope::Site`], for a write after which the policy could no longer enforce the admin's choice. It warns by
    /// default, and denies if the settings say who delegates (`role`, `controllers`, `namespaces`).
    Guard,
}

/// A rule denies by default, is the API's, and judges every kind, unless it says otherwise.
impl Rule {
    /// A check of kube-apiserver, with the text of its page.
    pub(crate) const fn upstream(
        id: &'static str,
        #[cfg_attr(not(feature = "docs"), expect(unused, reason = "people read it"))]
        page: &'static str,
        check: Upstream,
    ) -> Self {
        let Upstream { since, until, .. } = check;
        Self {
            id,
            upstream: Some((since, until)),
            is_disputed: check.changes || !matches!((since, until), (Release::OLDEST, None)),
            default: Enforcement::Deny,
            scope: Scope::Api,
            #[cfg(feature = "docs")]
            about: About {
                documentation: page::documentation(page),
                anchor: Anchor::Upstream {
                    function: check.function,
                    option: check.option,
                    since,
                    until,
                    deviation: page::deviation(page),
                },
                applies: |_| true,
            },
        }
    }

    /// A check of this project, with the text of its page.
    pub(crate) const fn ours(
        id: &'static str,
        #[cfg_attr(not(feature = "docs"), expect(unused, reason = "people read it"))]
        page: &'static str,
    ) -> Self {
        Self {
            id,
            upstream: None,
            is_disputed: false,
            default: Enforcement::Deny,
            scope: Scope::Api,
            #[cfg(feature = "docs")]
            about: About {
                documentation: page::documentation(page),
                anchor: Anchor::Ours {
                    source: page::source(page),
                },
                applies: |_| true,
            },
        }
    }

    /// It does something else by default.
    pub(crate) const fn by_default(self, default: Enforcement) -> Self {
        Self { default, ..self }
    }

    /// It is about something else than the API's own rules.
    pub(crate) const fn in_scope(self, scope: Scope) -> Self {
        Self { scope, ..self }
    }

    /// Names the kinds that the rule judges, for tools. The check itself needs no such list, because other kinds lack the fields
    /// that it reads.
    pub(crate) const fn of_kinds(
        self,
        #[cfg_attr(not(feature = "docs"), expect(unused, reason = "only tools ask"))]
        applies: fn(&Kind<'_>) -> bool,
    ) -> Self {
        Self {
            #[cfg(feature = "docs")]
            about: About {
                applies,
                ..self.about
            },
            ..self
        }
    }

    /// Stable name; users write it in settings and read it in messages.
    pub fn id(&self) -> &'static str {
        self.id
    }

    /// Where it comes from.
    #[cfg(feature = "docs")]
    pub fn anchor(&self) -> &Anchor {
        &self.about.anchor
    }

    /// What happens when it fires with settings that choose nothing.
    pub fn default_enforcement(&self) -> Enforcement {
        self.default
    }

    /// What people read about it.
    #[cfg(feature = "docs")]
    pub fn documentation(&self) -> &Documentation {
        &self.about.documentation
    }

    /// Whether it judges objects of a kind.
    #[cfg(feature = "docs")]
    pub fn applies_to(&self, kind: &Kind<'_>) -> bool {
        (self.about.applies)(kind)
    }

    /// Whether this is a check of kube-apiserver, so that its error texts are kept.
    pub fn is_upstream(&self) -> bool {
        self.upstream.is_some()
    }

    /// Whether a release has the rule. This project's own rules hold in all.
    pub fn holds_in(&self, release: Release) -> bool {
        self.upstream.is_none_or(|(since, until)| {
            since <= release && until.is_none_or(|until| release <= until)
        })
    }

    /// Whether the supported releases disagree on what the rule denies: not all have it, or its condition has changed.
    pub(crate) fn is_disputed(&self) -> bool {
        self.is_disputed
    }

    /// Whether this rule is the admin's to give, rather than the API's.
    pub fn is_site_specific(&self) -> bool {
        matches!(self.scope, Scope::Site | Scope::Guard)
    }

    /// Whether it denies by default where the settings say who delegates, and only warns elsewhere.
    pub fn is_guard(&self) -> bool {
        self.scope == Scope::Guard
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id)
    }
}

/// Each rule is a static of its own: it is equal to itself alone.
impl PartialEq for Rule {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Rule {}
