//! Admission requests: the fields that rules read, borrowed from the JSON. All entry points decode them here.

mod change;
mod decoded_object;
mod decoding;
mod identity;
mod request_object;
mod review;
mod source;

use std::borrow::Cow;

#[cfg(feature = "k8s-openapi")]
use k8s_openapi::api::batch::v1::Job;

use crate::decode::{Collect, Raw, Result, decode};
use crate::kind::Kind;
use crate::object::Object;
use crate::object::pod::Pod;
use crate::release::{Release, ReleaseSet};
use decoding::{ObjectDecoding, RequestFields};
use request_object::RequestObject;
#[cfg(feature = "manifests")]
pub(crate) use source::ManifestTexts;
pub(crate) use source::RequestSource;

pub use change::Change;
pub use decoded_object::DecodedObject;
pub(crate) use identity::GroupVersionKind;
pub use identity::UserInfo;
pub use review::AdmissionReview;

#[derive(Debug)]
pub(crate) enum RequestTarget<'a> {
    /// A request that no rule applies to: a deletion, a connection, an update of a pod, or a subresource other than `status`.
    Skipped,
    /// An object of an unknown kind, which `custom_kinds` may declare.
    UnknownKind(Box<UndecodedChange<'a>>),
    Pod(Pod<'a>),
    /// A change to an object of a known kind.
    Change(&'a Kind<'a>, Change<Object<'a>>),
}

/// Change to an object of an unknown kind.
#[derive(Debug)]
pub(crate) struct UndecodedChange<'a>(Change<RequestObject<'a>>);

/// Admission request (`AdmissionRequest` of `admission.k8s.io/v1`), with the fields that rules read.
#[derive(Debug)]
pub struct AdmissionRequest<'a> {
    /// Kind of the object.
    pub(crate) kind: GroupVersionKind<'a>,
    operation: &'static str,
    sub_resource: Cow<'a, str>,
    pub(crate) name: Cow<'a, str>,
    pub(crate) namespace: Cow<'a, str>,
    /// The API version that the client used.
    pub(crate) version: Cow<'a, str>,
    pub(crate) user: UserInfo<'a>,
    pub(crate) target: RequestTarget<'a>,
    /// The document that contains the request.
    pub(crate) source: RequestSource<'a>,
}

impl<'a> AdmissionRequest<'a> {
    /// Decodes a JSON document with a request.
    ///
    /// # Errors
    /// Fails if the document is not JSON, a required member is missing, or a field that rules read has the wrong type. Ignores parts
    /// that no rule reads, such as the object of a deletion.
    pub fn from_json(bytes: &'a [u8]) -> Result<Self> {
        ObjectDecoding::read(|objects| {
            let fields = decode(bytes, Collect(RequestFields::new(objects)))?;
            fields.finish(RequestSource::Request(bytes))
        })
    }

    /// Creates a request with an empty namespace. The name in the object takes precedence over `name`.
    fn new(
        kind: GroupVersionKind<'a>,
        name: Cow<'a, str>,
        user: UserInfo<'a>,
        target: RequestTarget<'a>,
        source: RequestSource<'a>,
    ) -> Self {
        let object_name = match &target {
            RequestTarget::Pod(pod) => Some(pod.name()),
            RequestTarget::Change(_, change) => Some(&change.object().metadata.name),
            RequestTarget::Skipped | RequestTarget::UnknownKind(_) => None,
        };
        let object_name = object_name.filter(|name| !name.is_empty());
        let (operation, sub_resource) = match &target {
            RequestTarget::Change(_, change) => change.operation(),
            RequestTarget::UnknownKind(undecoded) => undecoded.0.operation(),
            RequestTarget::Skipped | RequestTarget::Pod(_) => ("CREATE", ""),
        };
        Self {
            name: object_name.cloned().unwrap_or(name),
            namespace: Cow::default(),
            version: kind.version.clone(),
            kind,
            operation,
            sub_resource: sub_resource.into(),
            user,
            target,
            source,
        }
    }

    /// Creates a request to change a typed Job.
    #[cfg(feature = "k8s-openapi")]
    pub(crate) fn from_typed(
        kind: &'a Kind<'a>,
        change: Change<Object<'a>>,
        user: UserInfo<'a>,
        new: &'a Job,
        old: Option<&'a Job>,
    ) -> Self {
        let source = RequestSource::Typed(source::ObjectPair {
            object: new,
            is_create: matches!(change, Change::Create { .. }),
            old,
        });
        let version = kind.versions().first().copied().unwrap_or_default();
        let target = RequestTarget::Change(kind, change);
        let kind = GroupVersionKind {
            group: kind.group().into(),
            version: version.into(),
            kind: kind.name().into(),
        };
        Self {
            namespace: new.metadata.namespace.as_deref().unwrap_or_default().into(),
            ..Self::new(kind, Cow::default(), user, target, source)
        }
    }

    /// Creates a request from decoded objects. It is equivalent to a request in JSON, except that it distinguishes a create with a
    /// status from a stored object. The kind of the new object applies to both.
    ///
    /// # Errors
    /// Fails like [`AdmissionRequest::from_json`].
    pub fn from_objects(
        change: Change<&DecodedObject<'a>>,
        namespace: &'a str,
        user: UserInfo<'a>,
    ) -> Result<Self> {
        let object = *change.object();
        let source = RequestSource::Objects(source::ObjectPair {
            object: object.text,
            is_create: matches!(change, Change::Create { .. }),
            old: change.old().map(|old| old.text),
        });
        let target = if let Some(kind) = object.known_kind() {
            let read = |object: &DecodedObject<'a>, member: &str| {
                object.decode_as(kind).map_err(|e| e.within(member))
            };
            RequestTarget::Change(kind, change.try_map(read)?)
        } else {
            let change = change.try_map(|o, _| Ok(RequestObject::Raw(Raw::new(o.text))))?;
            RequestTarget::UnknownKind(Box::new(UndecodedChange(change)))
        };
        let kind = object.kind.clone();
        Ok(Self {
            namespace: namespace.into(),
            ..Self::new(kind, Cow::default(), user, target, source)
        })
    }

    /// Marks the objects as manifests: as someone wrote them, before the API server drops unknown fields and adds defaults. Rules about
    /// manifests then apply. Has no effect on typed objects, which lack unknown fields.
    #[cfg(feature = "manifests")]
    #[must_use]
    pub fn with_manifests(self) -> Self {
        let manifests = self.source.texts().map(RequestSource::Manifests);
        Self {
            source: manifests.unwrap_or(self.source),
            ..self
        }
    }

    /// Returns the name of the object, or else of the request. Empty if neither has one.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the API group, version and name of the object's kind.
    pub fn kind(&self) -> [&str; 3] {
        [&self.kind.group, &self.kind.version, &self.kind.kind]
    }

    /// Returns the operation: `CREATE`, `UPDATE`, `DELETE` or `CONNECT`.
    pub fn operation(&self) -> &'static str {
        self.operation
    }

    /// Returns the subresource, such as `status`, or an empty string.
    pub fn sub_resource(&self) -> &str {
        &self.sub_resource
    }

    /// Returns the user who makes the request.
    pub fn user(&self) -> &UserInfo<'a> {
        &self.user
    }

    /// Returns the namespace of the object, or an empty string.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Returns the releases that drop `spec.managedBy` from the Job to create, because their feature gate `JobManagedBy` is off by
    /// default. Then the Job is not delegated, and admission policies don't receive the field.
    ///
    /// Source: `PrepareForCreate` in `pkg/registry/batch/job/strategy.go`, 1.30 and 1.31.
    pub fn releases_dropping_managed_by(&self) -> ReleaseSet {
        match &self.target {
            RequestTarget::Change(kind, Change::Create { object })
                if kind.is_job() && object.managed_by.is_some() =>
            {
                Release::JOB_MANAGED_BY_OFF.iter().copied().collect()
            }
            _ => ReleaseSet::default(),
        }
    }

    /// Converts to a request about an object of a kind from `custom_kinds`.
    ///
    /// # Errors
    /// Fails like [`AdmissionRequest::from_json`], in parts that could not be decoded before the kind was known.
    pub(crate) fn with_kind<'k>(
        &'k self,
        undecoded: &'k UndecodedChange<'a>,
        kind: &'k Kind<'k>,
    ) -> Result<AdmissionRequest<'k>>
    where
        'a: 'k,
    {
        let change = undecoded.0.as_ref();
        let change = change.try_map(|object, member| object.read_as(kind, member));
        let change = if self.source.is_request() {
            // The caller converts the error to a verdict and does not prefix the path, so add `request` here.
            change.map_err(|e| e.within("request"))?.detect_stored()
        } else {
            change?
        };
        let (name, user) = (self.name.clone(), self.user.clone());
        let target = RequestTarget::Change(kind, change);
        Ok(AdmissionRequest {
            namespace: self.namespace.clone(),
            version: self.version.clone(),
            ..AdmissionRequest::new(self.kind.clone(), name, user, target, self.source)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{AdmissionRequest, AdmissionReview, Change, DecodedObject, UserInfo};
    use crate::{Settings, evaluate};

    const JOB: &str =
        r#"{"metadata":{"name":"pi"},"spec":{"managedBy":"typo"},"status":{"active":-1}}"#;

    fn fired(request: &AdmissionRequest<'_>) -> Vec<&'static str> {
        let settings = Settings::default();
        let findings = evaluate(request, &settings, None).findings;
        findings.iter().map(|finding| finding.rule.id()).collect()
    }

    const KIND: &str = r#""kind":{"group":"batch","version":"v1","kind":"Job"}"#;

    #[test]
    fn errors_name_the_path_from_the_request() {
        for (members, expected) in [
            (r#""kind":"Job""#, "kind: expected an object, got a string"),
            // The operation determines whether the object must be valid.
            (
                &format!(r#"{KIND},"object":{{"spec":[]}},"operation":"PATCH""#),
                "operation: expected CREATE, UPDATE, DELETE or CONNECT, got another value",
            ),
            (
                &format!(r#""object":{{"spec":[]}},"operation":"CREATE",{KIND}"#),
                "object.spec: expected an object, got an array",
            ),
            (
                &format!(
                    r#"{KIND},"object":{{}},"operation":"CREATE","userInfo":{{"groups":[1]}}"#
                ),
                "userInfo.groups[0]: expected a string, got a number",
            ),
            (
                r#""\ud800":1"#,
                "not JSON: unexpected end of hex escape at line 1 column 9",
            ),
        ] {
            let json = format!("{{{members}}}");
            let request = AdmissionRequest::from_json(json.as_bytes());
            assert_eq!(request.unwrap_err().to_string(), expected, "{json}");
        }
    }

    /// Fields that no rule reads may have any type, and members may occur in any order.
    #[test]
    fn fields_that_no_rule_reads_may_have_any_type() {
        let unknown = r#""kind":{"group":"acme.io","version":"v1","kind":"Run"}"#;
        let malformed = r#""object":{"metadata":7,"spec":[]}"#;
        for members in [
            format!(r#"{KIND},"object":{{"spec":{{"completions":1e999}}}},"operation":"DELETE""#),
            format!(r#"{malformed},"operation":"CONNECT",{KIND}"#),
            format!(r#"{KIND},"object":{{}},"oldObject":{{"spec":7}},"operation":"CREATE""#),
            format!(r#"{unknown},{malformed},"operation":"CREATE""#),
        ] {
            let json = format!("{{{members}}}");
            let request = AdmissionRequest::from_json(json.as_bytes()).unwrap();
            assert_eq!(fired(&request), [""; 0], "{json}");
        }
    }

    /// Only a Job that is created loses the field. A request with a status is about a stored Job.
    #[test]
    fn releases_drop_managed_by_from_created_jobs() {
        let managed_by = r#""spec":{"managedBy":"acme.io/runner"}"#;
        let job_set = r#""kind":{"group":"jobset.x-k8s.io","version":"v1alpha2","kind":"JobSet"}"#;
        let off = "1.30 to 1.31";
        for (kind, operation, object, expected) in [
            (KIND, "CREATE", managed_by.to_owned(), off),
            (KIND, "CREATE", r#""spec":{}"#.to_owned(), ""),
            (
                KIND,
                "CREATE",
                format!(r#"{managed_by},"status":{{"active":1}}"#),
                "",
            ),
            (KIND, "UPDATE", managed_by.to_owned(), ""),
            (job_set, "CREATE", managed_by.to_owned(), ""),
        ] {
            let json = format!(
                r#"{{{kind},"operation":"{operation}","object":{{{object}}},"oldObject":{{}}}}"#
            );
            let request = AdmissionRequest::from_json(json.as_bytes()).unwrap();
            let releases = request.releases_dropping_managed_by();
            assert_eq!(releases.to_string(), expected, "{json}");
        }
    }

    #[test]
    fn users_are_decoded() {
        let user = UserInfo::from_json(r#"{"username":"ana","groups":["people"],"uid":7}"#);
        let user = user.unwrap();
        assert_eq!(
            (&*user.username, &*user.groups),
            ("ana", &["people".into()][..])
        );
        assert_eq!(UserInfo::from_json("null").unwrap().username, "");
        let error = UserInfo::from_json(r#"{"groups":[1]}"#).unwrap_err();
        assert_eq!(error.path(), Some("groups[0]"));
    }

    #[test]
    fn decoded_objects_have_the_given_namespace() {
        let object = DecodedObject::from_json("batch".into(), "v1".into(), "Job".into(), JOB);
        let change = Change::Create { object: &object };
        let request = AdmissionRequest::from_objects(change, "team-a", UserInfo::default());
        assert_eq!(request.unwrap().namespace(), "team-a");
    }

    /// The caller distinguishes created from stored objects. In JSON, only stored objects have a status.
    #[test]
    fn only_stored_objects_have_a_status() {
        let object = DecodedObject::from_json("batch".into(), "v1".into(), "Job".into(), JOB);
        let findings_of = |change| {
            let user = UserInfo::default();
            fired(&AdmissionRequest::from_objects(change, "", user).unwrap())
        };
        let field = ["managed-by/format"];
        let all = ["managed-by/format", "job-status/negative-counter"];
        assert_eq!(findings_of(Change::Create { object: &object }), field);
        assert_eq!(findings_of(Change::Stored { object: &object }), all);
        let json = |object: &str| format!(r#"{{"operation":"CREATE",{KIND},"object":{object}}}"#);
        let stored = json(JOB);
        assert_eq!(
            fired(&AdmissionRequest::from_json(stored.as_bytes()).unwrap()),
            all
        );
        let created = json(&JOB.replace(r#","status":{"active":-1}"#, ""));
        assert_eq!(
            fired(&AdmissionRequest::from_json(created.as_bytes()).unwrap()),
            field
        );
    }

    /// An object of another kind is decoded again as the kind of the new object.
    #[test]
    fn the_kind_of_the_new_object_applies_to_both() {
        let read = |group: &'static str, version: &'static str, kind: &'static str, text| {
            DecodedObject::from_json(group.into(), version.into(), kind.into(), text)
        };
        let text = JOB.replace("-1", "0");
        let object = read("batch", "v1", "Job", JOB);
        for old in [
            read("batch", "v1", "Job", &text),
            read("jobset.x-k8s.io", "v1alpha2", "JobSet", &text),
        ] {
            let change = Change::UpdateStatus {
                object: &object,
                old: &old,
            };
            let request = AdmissionRequest::from_objects(change, "", UserInfo::default());
            assert_eq!(fired(&request.unwrap()), ["job-status/negative-counter"]);
        }
    }

    /// A status that the API server drops is not part of the size.
    #[test]
    fn object_sizes_exclude_dropped_status() {
        const BARE: &str = r#"{"metadata":{"name":"pi"},"spec":{"managedBy":"typo"}}"#;
        let read = |text| DecodedObject::from_json("batch".into(), "v1".into(), "Job".into(), text);
        let (job, bare) = (read(JOB), read(BARE));
        let (all, none) = (JOB.len(), BARE.len());
        for (change, sizes, most) in [
            (Change::Create { object: &job }, [none, 0], all),
            (Change::Create { object: &bare }, [none, 0], none),
            (Change::Stored { object: &job }, [all, 0], all),
            (
                Change::Update {
                    object: &bare,
                    old: &job,
                },
                [none, all],
                none + all,
            ),
        ] {
            let request = AdmissionRequest::from_objects(change, "", UserInfo::default()).unwrap();
            // Escaping can turn one byte into six.
            assert_eq!(request.source.object_sizes(6 * most - 1), sizes);
            assert_eq!(request.source.object_sizes(6 * most), [0, 0]);
        }

        let request =
            format!(r#"{{"operation":"UPDATE",{KIND},"object":{BARE},"oldObject":{JOB}}}"#);
        let review = format!(r#"{{"settings":{{}},"request":{request}}}"#);
        let of_request = AdmissionRequest::from_json(request.as_bytes()).unwrap();
        let of_review = AdmissionReview::from_json(review.as_bytes()).unwrap();
        for (read, text) in [(of_request, &request), (of_review.request, &review)] {
            assert_eq!(read.source.object_sizes(text.len() - 1), [none, all]);
            assert_eq!(read.source.object_sizes(text.len()), [0, 0]);
        }
    }
}
