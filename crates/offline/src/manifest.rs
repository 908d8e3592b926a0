//! Converts manifests to admission requests.

use managed_by::{Malformed, UserInfo};

use crate::asks::Asks;
use crate::document::Document;
use crate::json::{Members, elements};
use crate::malformed::MalformedText;
use crate::object_name::ObjectName;
use crate::path::Path;
use crate::record::State;
use crate::request::{Remark, Request, Who};
use crate::same::same;

/// Maximum depth of nested lists.
const MAX_LISTS: usize = 8;

/// An object in a document.
#[derive(Debug)]
pub struct Object<'d> {
    state: State<'d>,
    /// Path of the object in the document: empty, or `items[2]`.
    place: String,
}

impl Object<'_> {
    /// Returns the API group; empty for the core group.
    pub fn group(&self) -> &str {
        &self.state.group
    }

    /// Returns the API version.
    pub fn version(&self) -> &str {
        &self.state.version
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

    /// Returns the full name, with a default namespace. An object with `generateName` is named `prefix-*`.
    pub fn full_name(&self, namespace: &str) -> ObjectName {
        let mut name = ObjectName::of(&self.state);
        if name.namespace.is_empty() {
            namespace.clone_into(&mut name.namespace);
        }
        if name.name.is_empty() {
            let metadata = Members::of(self.json()).map(|members| members.object("metadata"));
            let prefix = metadata.and_then(|metadata| metadata.string("generateName"));
            name.name.extend(prefix.map(|prefix| format!("{prefix}*")));
        }
        name
    }

    /// Returns true if the library supports the kind.
    pub fn is_known(&self) -> bool {
        managed_by::Kind::find(self.group(), self.version(), self.kind()).is_some()
    }

    /// Returns the object as JSON.
    pub fn json(&self) -> &str {
        self.state.text
    }

    /// Parses the object as the library does, without evaluating it.
    ///
    /// # Errors
    /// Returns an error if a field has the wrong type.
    pub fn check(&self) -> Result<(), Malformed> {
        let user = UserInfo::default();
        let request = self.request(Asks::Create, None, "", &user);
        request.read(|_| ())
    }

    /// Converts a path in the object to a path in the document.
    pub fn path_of(&self, path: &str) -> Path {
        Path::parse(&self.place).join(&Path::parse(path))
    }

    /// Returns the request for a single object, with a default namespace. An object with a status and server-set metadata,
    /// as `kubectl get` prints it, is a stored object. Any other object is a create without its status, which the API
    /// server drops.
    pub fn alone<'o>(&'o self, namespace: &'o str, user: &'o UserInfo<'o>) -> Request<'o> {
        let (asks, remark) = match (self.state.has_status(), self.state.is_from_server()) {
            (false, _) => (Asks::Create, None),
            (true, true) => (Asks::Stored, Some(Remark::Stored)),
            (true, false) => (Asks::Create, Some(Remark::StatusDropped)),
        };
        let request = self.request(asks, None, namespace, user);
        Request { remark, ..request }
    }

    fn request<'o>(
        &'o self,
        asks: Asks,
        old: Option<&'o State<'o>>,
        namespace: &'o str,
        user: &'o UserInfo<'o>,
    ) -> Request<'o> {
        let own = self.namespace();
        Request {
            asks,
            remark: None,
            state: &self.state,
            before: old,
            is_half: false,
            namespace: if own.is_empty() { namespace } else { own },
            user: Who::Named(user),
        }
    }
}

/// Returns the requests that update an object from an old to a new state, in order. A change of both the status and the
/// rest becomes two requests: an update that keeps the old status, then a status update. A new state without a status
/// leaves the status unchanged. With `is_status`, only the status update is returned, because the API server ignores the
/// other changes.
pub fn updates<'o>(
    old: &'o Object<'o>,
    new: &'o Object<'o>,
    is_status: bool,
    namespace: &'o str,
    user: &'o UserInfo<'o>,
) -> Vec<Request<'o>> {
    let (before, after) = (&old.state, &new.state);
    let changes_status = after.has_status() && !same(before.status, after.status);
    if !is_status && !changes_status {
        return vec![new.request(Asks::Update, Some(before), namespace, user)];
    }
    let mut request = new.request(Asks::UpdateStatus, Some(before), namespace, user);
    request.is_half = !is_status && after.differs_beside_status(before);
    request.first_half().into_iter().chain([request]).collect()
}

/// Returns the objects of a document: the document itself, or the items of a list. An item that is not an object yields an
/// error with its position; the other items are still returned.
pub fn objects<'d>(document: &'d Document<'_>) -> Vec<Result<Object<'d>, MalformedText>> {
    let mut objects = Vec::new();
    let json = document.json();
    match elements(json) {
        Some(items) => add_items(&items, "", 0, None, &mut objects),
        None => add(json, String::new(), 0, None, &mut objects),
    }
    let located = |(place, text): NoObject| {
        let located = document.locate(&Path::parse(&place));
        MalformedText::at(located.line, located.column, text)
    };
    let objects = objects.into_iter();
    objects.map(|object| object.map_err(located)).collect()
}

/// The path of a value that is not an object, and the expected type.
type NoObject = (String, &'static str);

fn add<'d>(
    json: &'d str,
    place: String,
    depth: usize,
    list: Option<&State<'d>>,
    objects: &mut Vec<Result<Object<'d>, NoObject>>,
) {
    let Some(members) = Members::of(json) else {
        objects.push(Err((place, "expected an object")));
        return;
    };
    let state = match list {
        Some(list) => State::of_item(json, &members, list),
        None => State::of(json, &members),
    };
    let items = state.items.filter(|_| state.kind.ends_with("List"));
    match items.map(elements) {
        Some(Some(items)) if depth < MAX_LISTS => {
            let place = if place.is_empty() {
                "items".to_owned()
            } else {
                format!("{place}.items")
            };
            let deeper = depth.saturating_add(1);
            add_items(&items, &place, deeper, Some(&state), objects);
        }
        Some(Some(_)) => objects.push(Err((place, "a list in a list in a list, and so on"))),
        Some(None) => objects.push(Err((place, "a list whose items are no array"))),
        None => objects.push(Ok(Object { state, place })),
    }
}

fn add_items<'d>(
    items: &[&'d str],
    place: &str,
    depth: usize,
    list: Option<&State<'d>>,
    objects: &mut Vec<Result<Object<'d>, NoObject>>,
) {
    for (index, item) in items.iter().enumerate() {
        add(item, format!("{place}[{index}]"), depth, list, objects);
    }
}
