//! Converts manifests to admission requests.

use managed_by::{DecodeError, Kind, UserInfo};

use crate::document::Document;
use crate::evaluator::Evaluator;
use crate::json::{Members, elements, is_equal};
use crate::object_ref::ObjectRef;
use crate::operation::Operation;
use crate::path::Path;
use crate::placeholder;
use crate::record::State;
use crate::recreation;
use crate::request::{Request, RequestUser};
use crate::text::MalformedText;

/// Maximum depth of nested lists.
const MAX_LIST_DEPTH: usize = 8;

/// An object in a document.
#[derive(Debug)]
pub struct Object<'d> {
    state: State<'d>,
    /// Path of the object in the document: empty, or `items[2]`.
    path: String,
}

impl Object<'_> {
    /// Returns the API group; empty for the core group.
    pub fn group(&self) -> &str {
        &self.state.group
    }

    /// Returns the kind; empty if it is missing.
    pub fn kind(&self) -> &str {
        &self.state.kind
    }

    /// Returns the name; empty if it is missing.
    pub fn name(&self) -> &str {
        &self.state.metadata.name
    }

    /// Returns the namespace; empty if it is missing.
    pub fn namespace(&self) -> &str {
        &self.state.metadata.namespace
    }

    /// Returns the full name, with a default namespace if the kind may have one. An object with `generateName` is named `prefix-*`.
    pub fn full_name(&self, namespace: &str) -> ObjectRef {
        let mut name = self.state.object_ref();
        if name.namespace.is_empty() && self.known_kind().is_none_or(Kind::is_namespaced) {
            namespace.clone_into(&mut name.namespace);
        }
        if name.name.is_empty() {
            let members = Members::parse(self.json()).unwrap_or_default();
            let prefix = members.object("metadata").string("generateName");
            name.name.extend(prefix.map(|prefix| format!("{prefix}*")));
        }
        name
    }

    pub fn is_supported(&self) -> bool {
        self.known_kind().is_some()
    }

    fn known_kind(&self) -> Option<&'static Kind<'static>> {
        Kind::find(self.group(), &self.state.version, self.kind())
    }

    /// Returns true if the object has a status that is not empty.
    pub fn has_status(&self) -> bool {
        self.state.has_status()
    }

    pub fn json(&self) -> &str {
        self.state.text
    }

    /// Returns a text about the first placeholder of a template in a field that rules read, and the field's path. The object must be
    /// rendered before it is evaluated.
    pub fn placeholder(&self) -> Option<(String, String)> {
        placeholder::find(self.json())
    }

    /// Parses the object like the library, without evaluating it.
    pub fn check(&self, evaluator: &Evaluator<'_>) -> Result<(), DecodeError> {
        let user = UserInfo::default();
        let request = self.request_for(Operation::Create, None, "", &user);
        request
            .with_request(|request| evaluator.check(request))
            .flatten()
    }

    /// Converts a path in the object to a path in the document.
    pub fn document_path(&self, path: &str) -> Path {
        Path::parse(&self.path).join(&Path::parse(path))
    }

    /// Returns the request for a single object, with a default namespace. An object with a status and server-set metadata,
    /// as `kubectl get` prints it, is a stored object. Any other object is a create without its status, which the API
    /// server drops.
    pub fn request<'o>(&'o self, namespace: &'o str, user: &'o UserInfo<'o>) -> Request<'o> {
        let (operation, note) = match (self.state.has_status(), self.state.is_from_server()) {
            (false, _) => (Operation::Create, None),
            (true, true) => (
                Operation::Stored,
                Some("evaluated as a stored object, with its status"),
            ),
            (true, false) => (
                Operation::Create,
                Some("the API server drops the status of a create"),
            ),
        };
        let request = self.request_for(operation, None, namespace, user);
        Request { note, ..request }
    }

    /// Returns the request that evaluates the object as stored in the cluster, whether it has a status or not.
    pub fn stored_request<'o>(&'o self, user: &'o UserInfo<'o>) -> Request<'o> {
        let request = self.request_for(Operation::Stored, None, "", user);
        Request {
            is_manifest: false,
            ..request
        }
    }

    fn request_for<'o>(
        &'o self,
        operation: Operation,
        old: Option<&'o State<'o>>,
        namespace: &'o str,
        user: &'o UserInfo<'o>,
    ) -> Request<'o> {
        let own = self.namespace();
        Request {
            operation,
            note: None,
            state: &self.state,
            old,
            is_split_update: false,
            is_manifest: true,
            namespace: if own.is_empty() { namespace } else { own },
            user: RequestUser::Given(user),
        }
    }
}

/// Returns the requests that update an object from an old to a new state, in order. A change to both the status and other
/// fields becomes two requests: an update that keeps the old status, then a status update. A new state without a status
/// leaves the status unchanged. With `is_status`, only the status update is returned, because the API server ignores the
/// other changes.
///
/// A changed object that kubectl, Helm, Argo CD, Flux or kapp creates anew, according to its metadata, becomes a create.
pub fn updates<'o>(
    old: &'o Object<'o>,
    new: &'o Object<'o>,
    is_status: bool,
    namespace: &'o str,
    user: &'o UserInfo<'o>,
) -> Vec<Request<'o>> {
    let (before, after) = (&old.state, &new.state);
    if !is_status
        && let Some(reason) = recreation::reason(new.json())
        && !is_equal(Some(old.json()), Some(new.json()))
    {
        let request = new.request_for(Operation::Create, None, namespace, user);
        return vec![Request {
            note: Some(reason),
            ..request
        }];
    }
    let changes_status = after.has_status() && !is_equal(before.status, after.status);
    if !is_status && !changes_status {
        return vec![new.request_for(Operation::Update, Some(before), namespace, user)];
    }
    let mut request = new.request_for(Operation::UpdateStatus, Some(before), namespace, user);
    request.is_split_update = !is_status && after.differs_outside_status(before);
    request
        .main_resource_update()
        .into_iter()
        .chain([request])
        .collect()
}

/// Returns the objects of a document: the document itself, or the items of a list. An invalid item or list yields an error with its
/// position; the other items are still returned.
pub fn objects<'d>(document: &'d Document<'_>) -> Vec<Result<Object<'d>, MalformedText>> {
    let mut objects = Vec::new();
    let json = document.json();
    match elements(json) {
        Some(items) => add_items(&items, "", 0, None, &mut objects),
        None => add(json, String::new(), 0, None, &mut objects),
    }
    let locate = |(path, text): InvalidItem| {
        let located = document.locate(&Path::parse(&path));
        MalformedText::at(located.line, located.column, text)
    };
    let objects = objects.into_iter();
    objects.map(|object| object.map_err(locate)).collect()
}

/// The path of a value that is not an object or a valid list, and the error.
type InvalidItem = (String, &'static str);

fn add<'d>(
    json: &'d str,
    path: String,
    depth: usize,
    list: Option<&State<'d>>,
    objects: &mut Vec<Result<Object<'d>, InvalidItem>>,
) {
    let Some(members) = Members::parse(json) else {
        return objects.push(Err((path, "expected an object")));
    };
    let state = State::new(json, &members, list);
    let items = state.items.filter(|_| state.kind.ends_with("List"));
    match items.map(elements) {
        Some(Some(items)) if depth < MAX_LIST_DEPTH => {
            let dot = if path.is_empty() { "" } else { "." };
            let items_path = format!("{path}{dot}items");
            let depth = depth.saturating_add(1);
            add_items(&items, &items_path, depth, Some(&state), objects);
        }
        Some(Some(_)) => objects.push(Err((path, "lists are nested too deeply"))),
        Some(None) => objects.push(Err((path, "expected an array of items"))),
        None => objects.push(Ok(Object { state, path })),
    }
}

fn add_items<'d>(
    items: &[&'d str],
    path: &str,
    depth: usize,
    list: Option<&State<'d>>,
    objects: &mut Vec<Result<Object<'d>, InvalidItem>>,
) {
    for (index, item) in items.iter().enumerate() {
        add(item, format!("{path}[{index}]"), depth, list, objects);
    }
}
