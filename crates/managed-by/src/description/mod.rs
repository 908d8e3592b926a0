//! Descriptions of rules: id, source, defaults and documentation. The checks are in [`crate::rule`].

#[cfg(feature = "docs")]
pub(crate) mod page;

use std::fmt;

use crate::kind::Kind;
use crate::release::Release;

/// URL of the repository's files at the tag of this version.
#[cfg(feature = "docs")]
pub const FILES_URL: &str = concat!(
    env!("CARGO_PKG_REPOSITORY"),
    "/blob/v",
    env!("CARGO_PKG_VERSION")
);

/// Makes the links in a text of the documentation absolute. Relative links lead through the root of the repository.
#[cfg(feature = "docs")]
pub fn with_absolute_links(text: &str) -> String {
    let mut parts = text.split("](../");
    let mut absolute = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let link = part.trim_start_matches("../");
        absolute.push_str("](");
        absolute.push_str(FILES_URL);
        absolute.push('/');
        absolute.push_str(link);
    }
    absolute
}

/// Effect of a rule's findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enforcement {
    /// The request is denied.
    Deny,
    /// The client gets a warning.
    Warn,
    /// The rule does not run.
    Off,
}

impl Enforcement {
    /// All values, in the order of the documentation.
    pub const ALL: &[Self] = &[Self::Deny, Self::Warn, Self::Off];

    /// Returns the value in settings.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Warn => "warn",
            Self::Off => "off",
        }
    }
}

/// Source of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleSource {
    /// A check of kube-apiserver. The rule has the same verdict and the same message.
    Upstream {
        /// Function in `k8s.io/kubernetes`.
        function: &'static str,
        /// Validation option that enables the check, if there is one.
        option: Option<&'static str>,
        /// First release with the check.
        since: Release,
        /// Last release with the check, unless the newest one has it.
        until: Option<Release>,
        /// Intended difference from kube-apiserver, if there is one.
        deviation: Option<&'static str>,
    },
    /// A check of this project.
    Policy {
        /// API comment, KEP section or observation that justifies it.
        source: &'static str,
    },
}

/// Formats the line "Source" of the rule's page.
impl fmt::Display for RuleSource {
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
            Self::Policy { source } => write!(f, "this project: {source}"),
        }
    }
}

/// Example request of a rule. Tests run it in the library and in the Wasm module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Example {
    /// Settings, as JSON.
    pub settings: &'static str,
    /// Admission request on the page: see [`Example::request`].
    pub(crate) on_page: &'static str,
}

/// Documentation of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Documentation {
    /// One line for tables.
    pub title: &'static str,
    /// Description of the check, when it runs, and why.
    pub text: &'static str,
    /// Instructions to fix a finding.
    pub fix: &'static str,
    /// Request that the rule accepts.
    pub accepted: Example,
    /// Request that violates this rule only.
    pub rejected: Example,
}

/// Check of kube-apiserver.
#[derive(Clone, Copy)]
#[cfg_attr(
    not(feature = "docs"),
    expect(dead_code, reason = "only in the documentation")
)]
pub(crate) struct Upstream {
    function: &'static str,
    option: Option<&'static str>,
    since: Release,
    until: Option<Release>,
    has_changed: bool,
}

impl Upstream {
    /// Creates a check in a function of `k8s.io/kubernetes` that all supported releases have.
    pub(crate) const fn in_function(function: &'static str) -> Self {
        Self {
            function,
            option: None,
            since: Release::OLDEST,
            until: None,
            has_changed: false,
        }
    }

    /// Sets the validation option that enables the check.
    pub(crate) const fn with_option(self, option: &'static str) -> Self {
        Self {
            option: Some(option),
            ..self
        }
    }

    /// Sets the first release with the check.
    pub(crate) const fn since(self, since: Release) -> Self {
        Self { since, ..self }
    }

    /// Sets the last release with the check.
    pub(crate) const fn until(self, until: Release) -> Self {
        Self {
            until: Some(until),
            ..self
        }
    }

    /// Marks the check as changed in a release, so that releases may have different verdicts.
    pub(crate) const fn changed_in(self, _: Release) -> Self {
        Self {
            has_changed: true,
            ..self
        }
    }
}

/// Description of a rule.
pub struct Rule {
    pub(crate) id: &'static str,
    /// First and last release with the check; [`None`] for a check of this project.
    upstream: Option<(Release, Option<Release>)>,
    is_version_dependent: bool,
    pub(crate) default: Enforcement,
    pub(crate) category: RuleCategory,
    #[cfg(feature = "docs")]
    docs: OptionalDocs,
}

/// Parts of a description that only tools use. They would increase the size of the Wasm module by half.
#[cfg(feature = "docs")]
struct OptionalDocs {
    documentation: Documentation,
    source: RuleSource,
    applies: fn(&Kind<'_>) -> bool,
    /// True if the rule checks the text of a manifest, which admission requests lack.
    is_for_manifests: bool,
    /// Variables that implement the rule in the chart's `ValidatingAdmissionPolicies`.
    cel_variables: &'static [&'static str],
}

/// Category of a rule, which determines its defaults and exceptions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleCategory {
    /// Rules of the API, which are the same in every cluster.
    Api,
    /// Rules of the API that also deny for kinds from `custom_kinds`. Other rules of the API are based on the behavior of a known
    /// project, so they only warn for these kinds.
    ApiAndCustomKinds,
    /// Rules that the admin configures for a cluster. They don't run on objects that are being deleted, so that they never block a
    /// deletion, except checks with `applies_during_deletion`. They don't deny exempt users.
    ClusterSpecific,
    /// Like [`RuleCategory::ClusterSpecific`], for writes that would prevent the policy from enforcing the admin's configuration.
    /// Warns by default, and denies if the settings configure delegation (`role`, `controllers`, `namespaces`).
    PolicyBypass,
}

/// Defaults: a rule denies, has `RuleCategory::Api`, and applies to every kind.
impl Rule {
    /// Creates a rule for a check of kube-apiserver, with its documentation page.
    pub(crate) const fn upstream(
        id: &'static str,
        #[cfg_attr(
            not(feature = "docs"),
            expect(unused, reason = "only in the documentation")
        )]
        page: &'static str,
        check: Upstream,
    ) -> Self {
        let Upstream { since, until, .. } = check;
        Self {
            id,
            upstream: Some((since, until)),
            is_version_dependent: check.has_changed
                || !matches!((since, until), (Release::OLDEST, None)),
            default: Enforcement::Deny,
            category: RuleCategory::Api,
            #[cfg(feature = "docs")]
            docs: OptionalDocs {
                documentation: page::documentation(page),
                source: RuleSource::Upstream {
                    function: check.function,
                    option: check.option,
                    since,
                    until,
                    deviation: page::deviation(page),
                },
                applies: |_| true,
                is_for_manifests: false,
                cel_variables: &[],
            },
        }
    }

    /// Creates a rule of this project, with its documentation page.
    pub(crate) const fn policy(
        id: &'static str,
        #[cfg_attr(
            not(feature = "docs"),
            expect(unused, reason = "only in the documentation")
        )]
        page: &'static str,
    ) -> Self {
        Self {
            id,
            upstream: None,
            is_version_dependent: false,
            default: Enforcement::Deny,
            category: RuleCategory::Api,
            #[cfg(feature = "docs")]
            docs: OptionalDocs {
                documentation: page::documentation(page),
                source: RuleSource::Policy {
                    source: page::source(page),
                },
                applies: |_| true,
                is_for_manifests: false,
                cel_variables: &[],
            },
        }
    }

    pub(crate) const fn with_default(self, default: Enforcement) -> Self {
        Self { default, ..self }
    }

    pub(crate) const fn with_category(self, category: RuleCategory) -> Self {
        Self { category, ..self }
    }

    /// Restricts the documented kinds, for tools. The check itself doesn't use the predicate, because other kinds lack the fields
    /// that it reads.
    pub(crate) const fn for_kinds(
        self,
        #[cfg_attr(not(feature = "docs"), expect(unused, reason = "only for tools"))]
        applies: fn(&Kind<'_>) -> bool,
    ) -> Self {
        Self {
            #[cfg(feature = "docs")]
            docs: OptionalDocs {
                applies,
                ..self.docs
            },
            ..self
        }
    }

    /// Restricts the documented kinds to Job.
    #[expect(
        clippy::redundant_closure_for_method_calls,
        reason = "the method's path is not general over the kind's lifetime"
    )]
    pub(crate) const fn for_jobs(self) -> Self {
        self.for_kinds(|kind| kind.is_job())
    }

    /// Marks a rule about the text of a manifest.
    pub(crate) const fn for_manifests(self) -> Self {
        #[cfg(feature = "docs")]
        let docs = OptionalDocs {
            is_for_manifests: true,
            ..self.docs
        };
        Self {
            #[cfg(feature = "docs")]
            docs,
            ..self
        }
    }

    /// Names the variables that implement the rule in the chart's `ValidatingAdmissionPolicies`. kube-apiserver evaluates the variables of
    /// all rules in the order of the catalog, and reports the first violation.
    pub(crate) const fn with_cel(
        self,
        #[cfg_attr(not(feature = "docs"), expect(unused, reason = "only for tools"))]
        variables: &'static [&'static str],
    ) -> Self {
        Self {
            #[cfg(feature = "docs")]
            docs: OptionalDocs {
                cel_variables: variables,
                ..self.docs
            },
            ..self
        }
    }

    /// Returns the stable id, which is used in settings and messages.
    pub fn id(&self) -> &'static str {
        self.id
    }

    /// Returns the source.
    #[cfg(feature = "docs")]
    pub fn source(&self) -> &RuleSource {
        &self.docs.source
    }

    /// Returns the enforcement with default settings.
    pub fn default_enforcement(&self) -> Enforcement {
        self.default
    }

    /// Returns the documentation.
    #[cfg(feature = "docs")]
    pub fn documentation(&self) -> &Documentation {
        &self.docs.documentation
    }

    /// Returns the path of the rule's page in the repository. The page is in the directory of the rule's family.
    #[cfg(feature = "docs")]
    pub fn page_path(&self) -> String {
        let (family, name) = self.id.split_once('/').unwrap_or_default();
        let directory = family.replace('-', "_");
        format!("crates/managed-by/src/rule/{directory}/{name}.md")
    }

    /// Returns the URL of the rule's page at the tag of this version.
    #[cfg(feature = "docs")]
    pub fn page_url(&self) -> String {
        format!("{FILES_URL}/{}", self.page_path())
    }

    /// Returns true if the rule applies to a kind.
    #[cfg(feature = "docs")]
    pub fn applies_to(&self, kind: &Kind<'_>) -> bool {
        (self.docs.applies)(kind)
    }

    /// Returns true if the rule checks the text of a manifest, so that only tools run it.
    #[cfg(feature = "docs")]
    pub fn is_for_manifests(&self) -> bool {
        self.docs.is_for_manifests
    }

    /// Returns the variables that implement the rule in the chart's `ValidatingAdmissionPolicies`. Without variables, only the policy
    /// module enforces the rule.
    #[cfg(feature = "docs")]
    pub fn cel_variables(&self) -> &'static [&'static str] {
        self.docs.cel_variables
    }

    /// Returns true if the rule implements a check of kube-apiserver, and so must have kube-apiserver's messages.
    pub fn is_upstream(&self) -> bool {
        self.upstream.is_some()
    }

    /// Returns true if the rule exists in a release. Rules of this project exist in all releases.
    pub fn exists_in(&self, release: Release) -> bool {
        self.upstream.is_none_or(|(since, until)| {
            since <= release && until.is_none_or(|until| release <= until)
        })
    }

    /// Returns true if verdicts differ between releases: not all have the check, or its condition has changed.
    pub(crate) fn is_version_dependent(&self) -> bool {
        self.is_version_dependent
    }

    /// Returns the category, which determines the rule's defaults and exceptions.
    pub fn category(&self) -> RuleCategory {
        self.category
    }

    /// Returns true if the admin configures the rule for a cluster.
    pub fn is_cluster_specific(&self) -> bool {
        matches!(
            self.category,
            RuleCategory::ClusterSpecific | RuleCategory::PolicyBypass
        )
    }

    /// Returns true if the rule prevents writes that bypass the policy. By default it warns, and denies only if the settings configure
    /// delegation.
    pub fn prevents_bypass(&self) -> bool {
        self.category == RuleCategory::PolicyBypass
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id)
    }
}

/// Compares addresses, because each rule is a static.
impl PartialEq for Rule {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Rule {}
