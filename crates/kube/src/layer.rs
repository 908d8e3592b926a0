//! Tower layer that evaluates the writes of a client.

use std::error::Error;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response, StatusCode, Uri};
use http_body::Body;
use http_body_util::{BodyExt as _, Either, Full};
use managed_by::{OwnedSettings, ReleaseSet};
use serde_json::Value;
use tokio::sync::Mutex;
use tower_layer::Layer;
use tower_service::Service;

use crate::checker::{Checker, Denial, Options, is_stale, kind_of};
use crate::write::{ResultSource, Write, merged};

type BoxError = Box<dyn Error + Send + Sync>;

/// Layer that evaluates the writes of a client.
///
/// If a release denies a write, the code under test gets the API server's error, and the write is not sent. Server-side applies and
/// strategic merge patches are sent first, because only the API server can compute their result. See the [crate](crate).
///
/// Clones share the recorded results, and the layers that its methods return don't.
#[derive(Debug, Clone)]
pub struct WriteCheckLayer {
    checker: Arc<Checker>,
}

/// Evaluates the releases in which `managedBy` is on by default.
impl Default for WriteCheckLayer {
    fn default() -> Self {
        Self::new(ReleaseSet::with_managed_by_on_by_default())
    }
}

impl WriteCheckLayer {
    /// Creates a layer for a release or a set of releases.
    pub fn new(releases: impl Into<ReleaseSet>) -> Self {
        let options = Options {
            releases: releases.into(),
            ..Options::default()
        };
        Self {
            checker: Arc::new(Checker::new(options)),
        }
    }

    fn with(self, change: impl FnOnce(&mut Options)) -> Self {
        let mut options = self.checker.options.clone();
        change(&mut options);
        Self {
            checker: Arc::new(Checker::new(options)),
        }
    }

    /// Uses the policy's settings, for example `custom_kinds`, `status_writers` or the enforcement of rules. Ignores their
    /// `kubernetes_version`.
    #[must_use]
    pub fn with_settings(self, settings: OwnedSettings) -> Self {
        self.with(|options| options.settings = Some(settings))
    }

    /// Sets the user who makes the writes, for settings that list status writers.
    #[must_use]
    pub fn with_user(self, username: impl Into<String>, groups: &[&str]) -> Self {
        self.with(|options| {
            options.username = username.into();
            options.groups = groups.iter().map(|&group| group.to_owned()).collect();
        })
    }

    /// Makes updates of objects that name another controller, or none, failures.
    #[must_use]
    pub fn for_controller(self, name: impl Into<String>) -> Self {
        self.with(|options| options.controller = Some(name.into()))
    }

    /// Permits a test without an evaluated write.
    #[must_use]
    pub fn allow_no_writes(self) -> Self {
        self.with(|options| options.allow_no_writes = true)
    }

    /// Returns the findings that make a release, or known early patch releases of it, deny a write, and the API server's own errors if it
    /// rejects a write of a kind with rules as invalid. Each starts with the method and path of the write.
    pub fn failures(&self) -> Vec<String> {
        self.checker.record().failures.clone()
    }

    /// Returns the findings that only warn, such as likely typos of `managedBy` and statuses that the API server accepts and clients
    /// misinterpret, and changes that the API server ignores, because they need a write of the status, or of the object. Each starts with the method and path of the write.
    pub fn warnings(&self) -> Vec<String> {
        self.checker.record().warnings.clone()
    }

    /// Returns the writes that the layer could not evaluate, each with the reason.
    pub fn not_evaluated(&self) -> Vec<String> {
        self.checker.record().not_evaluated.clone()
    }

    /// Checks that at least one write was evaluated, that each write with rules was evaluated, and that no release denies one.
    ///
    /// # Panics
    /// If one of these checks fails. The message lists the failures.
    #[track_caller]
    pub fn assert_conforms(&self) {
        let (failures, not_evaluated) = (self.failures(), self.not_evaluated());
        assert!(
            failures.is_empty(),
            "denied writes:\n{}",
            failures.join("\n")
        );
        assert!(
            not_evaluated.is_empty(),
            "writes that were not evaluated:\n{}",
            not_evaluated.join("\n")
        );
        assert!(
            self.evaluated_count() > 0 || self.checker.options.allow_no_writes,
            "no write was evaluated: the code under test uses another client, or the API server rejected its writes"
        );
    }

    /// Checks that there are no [warnings](Self::warnings).
    ///
    /// # Panics
    /// If there are. The message lists them.
    #[track_caller]
    pub fn assert_no_warnings(&self) {
        let warnings = self.warnings();
        assert!(warnings.is_empty(), "warnings:\n{}", warnings.join("\n"));
    }

    /// Returns the number of evaluated writes. If it is 0, the code under test uses another client, or no write could be evaluated.
    pub fn evaluated_count(&self) -> usize {
        self.checker.record().evaluated_count
    }
}

impl<S> Layer<S> for WriteCheckLayer {
    type Service = WriteCheckService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        WriteCheckService {
            checker: Arc::clone(&self.checker),
            inner: Arc::new(Mutex::new(inner)),
        }
    }
}

/// Service of a [`WriteCheckLayer`].
#[derive(Debug, Clone)]
pub struct WriteCheckService<S> {
    checker: Arc<Checker>,
    /// Shared, because an update takes two requests: the first gets the stored object.
    inner: Arc<Mutex<S>>,
}

/// A response from the inner service or from the layer.
type LayerResponse<B> = Response<Either<B, Full<Bytes>>>;

impl<S, Req, B> Service<Request<Req>> for WriteCheckService<S>
where
    S: Service<Request<Req>, Response = Response<B>> + Send + 'static,
    S::Future: Send,
    S::Error: Into<BoxError>,
    Req: Body<Data = Bytes> + From<Bytes> + Send + 'static,
    Req::Error: Into<BoxError>,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = LayerResponse<B>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<LayerResponse<B>, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        // Each request waits for the inner service.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Req>) -> Self::Future {
        let (checker, inner) = (Arc::clone(&self.checker), Arc::clone(&self.inner));
        Box::pin(async move {
            let write = Write::from_request(&request).filter(|write| checker.applies_to(write));
            let Some(write) = write else {
                // Do not collect the body: a watch does not end.
                return Ok(send(&inner, request).await?.map(Either::Left));
            };
            let (parts, body) = request.into_parts();
            let sent = body.collect().await.map_err(Into::into)?.to_bytes();
            let old = match &write.stored_path {
                Some(path) => match look_up(&inner, path.parse()?).await? {
                    Ok(old) => old,
                    Err(status) => {
                        let reason = format!("failed to get the stored object: {status}");
                        checker.add_not_evaluated(&write, &reason);
                        let request = Request::from_parts(parts, Req::from(sent));
                        return Ok(send(&inner, request).await?.map(Either::Left));
                    }
                },
                None => None,
            };
            let is_computed = write.source == ResultSource::ServerComputed;
            if !is_computed
                && let Some(denial) = check_request(&checker, &write, old.as_ref(), &sent)?
            {
                return respond(&denial);
            }
            let request = Request::from_parts(parts, Req::from(sent.clone()));
            let response = send(&inner, request).await?;
            let is_rejected = write.known_kind().is_some()
                && response.status() == StatusCode::UNPROCESSABLE_ENTITY;
            if !is_computed && !is_rejected {
                return Ok(response.map(Either::Left));
            }
            let (parts, body) = response.into_parts();
            let body = body.collect().await.map_err(Into::into)?.to_bytes();
            match check_response(&checker, &write, old.as_ref(), &sent, parts.status, &body) {
                Some(denial) => respond(&denial),
                None => Ok(Response::from_parts(parts, Either::Right(body.into()))),
            }
        })
    }
}

/// Sends a request when the service is ready, and waits for the response without blocking other requests.
async fn send<S, Req>(inner: &Mutex<S>, request: Request<Req>) -> Result<S::Response, BoxError>
where
    S: Service<Request<Req>>,
    S::Error: Into<BoxError>,
{
    let mut service = inner.lock().await;
    poll_fn(|context| service.poll_ready(context))
        .await
        .map_err(Into::into)?;
    let response = service.call(request);
    drop(service);
    response.await.map_err(Into::into)
}

/// Evaluates a write before it is sent.
fn check_request(
    checker: &Checker,
    write: &Write,
    old: Option<&Value>,
    sent: &[u8],
) -> Result<Option<Denial>, BoxError> {
    if write.stored_path.is_some() && old.is_none() {
        return Ok(None); // The API server reports the missing object.
    }
    let Some(new) = write.result(old, serde_json::from_slice(sent)?) else {
        return Ok(None);
    };
    if old.is_some_and(|old| is_stale(old, &new)) {
        return Ok(None); // The API server reports the conflict.
    }
    Ok(checker.check(write, old, &new, &new))
}

/// Evaluates the object in the API server's response.
fn check_response(
    checker: &Checker,
    write: &Write,
    old: Option<&Value>,
    sent: &[u8],
    status: StatusCode,
    body: &[u8],
) -> Option<Denial> {
    let object: Value = serde_json::from_slice(body).unwrap_or_default();
    if status == StatusCode::UNPROCESSABLE_ENTITY {
        let message = object.get("message").and_then(Value::as_str);
        checker.add_failure(write, message.unwrap_or("rejected by the API server"));
    }
    if !status.is_success() {
        return None;
    }
    let known = write.known_kind().map(managed_by::Kind::name);
    let expected = known.or(old.and_then(kind_of));
    if kind_of(&object).is_none() || expected.is_some_and(|kind| kind_of(&object) != Some(kind)) {
        checker.add_not_evaluated(write, "the response does not contain the object");
        return None;
    }
    if write.is_status && old.is_none() {
        checker.add_not_evaluated(write, "the stored object was not found");
        return None;
    }
    let patch = serde_json::from_slice(sent).unwrap_or_default();
    let sent = old.map_or(Value::Null, |old| merged(old, &patch));
    checker.check(write, old, &sent, &object)
}

/// Returns the stored object, `None` if it does not exist, or the status of any other response, such as 403 if the user may not get the
/// object.
async fn look_up<S, Req, B>(
    inner: &Mutex<S>,
    uri: Uri,
) -> Result<Result<Option<Value>, StatusCode>, BoxError>
where
    S: Service<Request<Req>, Response = Response<B>>,
    S::Error: Into<BoxError>,
    Req: From<Bytes>,
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    let request = Request::get(uri).body(Req::from(Bytes::new()))?;
    let response = send(inner, request).await?;
    let status = response.status();
    let body = response.into_body().collect().await.map_err(Into::into)?;
    Ok(match status {
        StatusCode::OK => Ok(Some(serde_json::from_slice(&body.to_bytes())?)),
        StatusCode::NOT_FOUND => Ok(None),
        _ => Err(status),
    })
}

fn respond<B>(denial: &Denial) -> Result<LayerResponse<B>, BoxError> {
    let body = denial.status().to_string().into_bytes();
    Ok(Response::builder()
        .status(denial.code)
        .body(Either::Right(Full::from(body)))?)
}
