//! What people know a rule by: its name, its source, its documentation. What it does is in [`crate::rule`].

use std::fmt;

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

/// In words, with code in backticks: who checks it where, in which releases; or what it rests on.
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

/// What a request of an [`Example`] says instead of a text that no page has room for.
#[cfg(feature = "docs")]
const MUCH_TEXT: &str = "(1 MiB of text)";

#[cfg(feature = "docs")]
impl Example {
    /// The request as it is sent, with all of its text.
    pub fn full_request(&self) -> String {
        self.request.replace(MUCH_TEXT, &"x".repeat(1 << 20))
    }
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

/// A rule's documentation where the feature `docs` asks for it. A policy has no use for it, and would be half as big
/// again with it.
pub(crate) struct Docs {
    #[cfg(feature = "docs")]
    documentation: Documentation,
}

impl Docs {
    #[cfg(feature = "docs")]
    pub(crate) const fn new(documentation: Documentation) -> Self {
        Self { documentation }
    }

    #[cfg(not(feature = "docs"))]
    pub(crate) const fn new(_: Documentation) -> Self {
        Self {}
    }
}

/// A rule's anchor: in which releases it holds, and the rest for people, as with [`Docs`].
pub(crate) struct Anchored {
    #[cfg(feature = "docs")]
    anchor: Anchor,
    /// Since when kube-apiserver checks it, and until when; of a check of this project nothing.
    upstream: Option<(Release, Option<Release>)>,
    /// See [`Rule::is_disputed`].
    is_disputed: bool,
}

impl Anchored {
    pub(crate) const fn new(anchor: Anchor) -> Self {
        let upstream = match anchor {
            Anchor::Upstream { since, until, .. } => Some((since, until)),
            Anchor::Ours { .. } => None,
        };
        Self {
            upstream,
            is_disputed: !matches!(upstream, None | Some((Release::OLDEST, None))),
            #[cfg(feature = "docs")]
            anchor,
        }
    }

    /// The same of a check that all releases have, and that denies something else since some release.
    pub(crate) const fn changing(anchor: Anchor) -> Self {
        Self {
            is_disputed: true,
            ..Self::new(anchor)
        }
    }
}

/// One named check, as people know it.
pub struct Rule {
    pub(crate) id: &'static str,
    #[cfg_attr(not(feature = "docs"), expect(dead_code, reason = "holds nothing"))]
    pub(crate) docs: Docs,
    pub(crate) anchor: Anchored,
    pub(crate) default: Enforcement,
    pub(crate) scope: Scope,
}

/// What a rule is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// The API's own rules: what they deny is wrong for everybody.
    Api,
    /// What the admin chose for the cluster. Objects that are being deleted are left alone, so that nothing is stuck there,
    /// and the exempt may do what it denies.
    Site,
    /// As [`Scope::Site`], of a write that takes the admin's choice away from the policy. The default is a warning. Where
    /// the settings say who delegates (`role`, `controllers`, `namespaces`), it is a denial.
    Guard,
}

impl Rule {
    /// Stable name; users write it in settings and read it in messages.
    pub fn id(&self) -> &'static str {
        self.id
    }

    /// Where it comes from.
    #[cfg(feature = "docs")]
    pub fn anchor(&self) -> &Anchor {
        &self.anchor.anchor
    }

    /// What happens when it fires with settings that choose nothing.
    pub fn default_enforcement(&self) -> Enforcement {
        self.default
    }

    /// What people read about it.
    #[cfg(feature = "docs")]
    pub fn documentation(&self) -> &Documentation {
        &self.docs.documentation
    }

    /// Whether this is a check of kube-apiserver, so that its error texts are kept.
    pub fn is_upstream(&self) -> bool {
        self.anchor.upstream.is_some()
    }

    /// Whether a release has the rule. This project's own rules hold in all.
    pub fn holds_in(&self, release: Release) -> bool {
        self.anchor.upstream.is_none_or(|(since, until)| {
            since <= release && until.is_none_or(|until| release <= until)
        })
    }

    /// Whether the supported releases disagree on what the rule denies: not all have it, or its condition has changed.
    pub(crate) fn is_disputed(&self) -> bool {
        self.anchor.is_disputed
    }

    /// Whether this rule is the admin's to give, rather than the API's.
    pub fn is_site_specific(&self) -> bool {
        self.scope != Scope::Api
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
