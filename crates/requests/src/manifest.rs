//! Manifests as requests.

use crate::document::Document;
use crate::json::{Members, elements};
use crate::path::Path;
use crate::record::State;
use crate::request::{Asked, Asks, string, with_status};
use crate::same::same;
use crate::trouble::Trouble;

/// Lists inside lists are followed this deep.
const MAX_LISTS: usize = 8;

/// An object in a document.
#[derive(Debug)]
pub struct Object<'d> {
    state: State<'d>,
    /// Its path in the document: empty, or `items[2]`.
    place: String,
}

/// Who asks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct User {
    /// `username`.
    pub name: String,
    /// `groups`.
    pub groups: Vec<String>,
}

impl User {
    fn json(&self) -> String {
        let mut json = b"{\"username\":".to_vec();
        string(&mut json, &self.name);
        json.extend_from_slice(b",\"groups\":[");
        for (index, group) in self.groups.iter().enumerate() {
            if index > 0 {
                json.push(b',');
            }
            string(&mut json, group);
        }
        json.extend_from_slice(b"]}");
        // It was made of strings.
        String::from_utf8(json).unwrap_or_default()
    }
}

impl Object<'_> {
    /// API group; empty for the core group.
    pub fn group(&self) -> &str {
        &self.state.group
    }

    /// API version.
    pub fn version(&self) -> &str {
        &self.state.version
    }

    /// Its kind; empty if it names none, so that it is no object of Kubernetes.
    pub fn kind(&self) -> &str {
        &self.state.kind
    }

    /// Its name; empty if it has none.
    pub fn name(&self) -> &str {
        &self.state.metadata.name
    }

    /// Its namespace; empty if it names none.
    pub fn namespace(&self) -> &str {
        &self.state.metadata.namespace
    }

    /// Whether the library knows its kind.
    pub fn is_known(&self) -> bool {
        managed_by::Kind::find(self.group(), self.version(), self.kind()).is_some()
    }

    /// The object, as JSON.
    pub fn json(&self) -> &str {
        self.state.text
    }

    /// Where in the document a path of the object is.
    pub fn path_of(&self, path: &str) -> Path {
        Path::parse(&self.place).join(&Path::parse(path))
    }

    /// The request that it stands for alone, in a namespace unless it names one itself: an object with a status and with what
    /// only an API server sets is stored, as `kubectl get` prints it. Any other is to be created, without its status: the
    /// API server drops that.
    pub fn alone(&self, namespace: &str, user: &User) -> Request {
        let (text, state) = (self.state.text, &self.state);
        if !state.has_status() {
            return self.request(Asks::Create, text, None, namespace, user);
        }
        if state.is_from_server() {
            let request = self.request(Asks::Stored, text, None, namespace, user);
            return request.with(Remark::Stored);
        }
        let text = with_status(text, None);
        let request = self.request(Asks::Create, &text, None, namespace, user);
        request.with(Remark::StatusDropped)
    }

    fn request(
        &self,
        asks: Asks,
        object: &str,
        old: Option<&str>,
        namespace: &str,
        user: &User,
    ) -> Request {
        let mut json = Vec::new();
        let own = self.namespace();
        let asked = Asked {
            asks,
            namespace: if own.is_empty() { namespace } else { own },
            user: Some(&user.json()),
            state: &self.state,
            object,
            old,
        };
        asked.write(&mut json);
        Request {
            asks,
            json,
            remark: None,
        }
    }
}

/// A request that was made of a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// What it asks for.
    pub asks: Asks,
    /// The `AdmissionRequest`, as JSON.
    pub json: Vec<u8>,
    /// What there is to say of it beside the verdict.
    pub remark: Option<Remark>,
}

impl Request {
    fn with(self, remark: Remark) -> Self {
        Self {
            remark: Some(remark),
            ..self
        }
    }
}

/// What there is to say of a request beside the verdict. It is no warning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remark {
    /// The manifest has a status, which nobody judges.
    StatusDropped,
    /// The object is judged as it is stored.
    Stored,
}

impl Remark {
    /// The remark as a sentence.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::StatusDropped => "the API server drops the status of a create",
            Self::Stored => "judged as a stored object, with its status",
        }
    }
}

/// The requests that update an object from an old to a new state, in their order. What changes the status and the rest is
/// two: an update with the old status, and then one of the status. A new state without a status says nothing of it. If only
/// the status is meant (`is_status`), there is one: the API server keeps the rest.
pub fn updates(
    old: &Object<'_>,
    new: &Object<'_>,
    is_status: bool,
    namespace: &str,
    user: &User,
) -> Vec<Request> {
    let request =
        |asks, object: &str, old: &str| new.request(asks, object, Some(old), namespace, user);
    let (before, after) = (&old.state, &new.state);
    let changes_status = after.has_status() && !same(before.status, after.status);
    if is_status || changes_status && !after.differs_beside_status(before) {
        return vec![request(Asks::UpdateStatus, after.text, before.text)];
    }
    if !changes_status {
        return vec![request(Asks::Update, after.text, before.text)];
    }
    let between = with_status(after.text, before.status);
    vec![
        request(Asks::Update, &between, before.text),
        request(Asks::UpdateStatus, after.text, &between),
    ]
}

/// The objects of a document: itself, or the items of the list that it is. What is no object is an error that names the place,
/// and costs no other.
pub fn objects<'d>(document: &'d Document<'_>) -> Vec<Result<Object<'d>, Trouble>> {
    let mut objects = Vec::new();
    let json = document.json();
    match elements(json) {
        Some(items) => add_items(&items, "", 0, None, &mut objects),
        None => add(json, String::new(), 0, None, &mut objects),
    }
    let located = |(place, text): NoObject| {
        let located = document.locate(&Path::parse(&place));
        Trouble::at(located.line, located.column, text)
    };
    let objects = objects.into_iter();
    objects.map(|object| object.map_err(located)).collect()
}

/// Where something is no object, and what it should be.
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
    let items = items.and_then(elements);
    match items {
        Some(items) if depth < MAX_LISTS => {
            let place = if place.is_empty() {
                "items".to_owned()
            } else {
                format!("{place}.items")
            };
            let deeper = depth.saturating_add(1);
            add_items(&items, &place, deeper, Some(&state), objects);
        }
        Some(_) => objects.push(Err((place, "a list in a list in a list, and so on"))),
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
