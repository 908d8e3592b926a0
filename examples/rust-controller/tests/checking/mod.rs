//! A layer for the client of kube-rs: every Job that the code under test writes is evaluated before the API server sees it. Copy it into your
//! tests.
//!
//! ```ignore
//! let evaluating = Evaluating::new(JobChecker::default());
//! let client = ClientBuilder::try_from(config)?.with_layer(&evaluating).build();
//! // ... the controller works with this client
//! assert_eq!(evaluating.denied(), [""; 0]);
//! ```

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{Method, Request, Response, StatusCode, Uri};
use http_body_util::BodyExt as _;
use k8s_openapi::api::batch::v1::Job;
use kube::client::Body;
use managed_by::{JobChecker, JobFindings};
use serde_json::{Value, json};
use tower::buffer::Buffer;
use tower::{BoxError, Layer, Service, ServiceExt as _};

/// Evaluates the writes of a client. Writes that a release denies are not sent: the code under test gets a 422 error.
#[derive(Clone)]
pub struct Evaluating {
    checker: Arc<JobChecker<'static>>,
    recorded: Arc<Mutex<Recorded>>,
}

#[derive(Default)]
struct Recorded {
    denied: Vec<String>,
    skipped: Vec<String>,
}

impl Evaluating {
    pub fn new(checker: JobChecker<'static>) -> Self {
        Self {
            checker: Arc::new(checker),
            recorded: Arc::default(),
        }
    }

    /// Returns the denied writes, each with its findings and their releases.
    pub fn denied(&self) -> Vec<String> {
        self.recorded.lock().unwrap().denied.clone()
    }

    /// Returns the Job writes that can't be evaluated in advance, such as strategic merge patches.
    pub fn skipped(&self) -> Vec<String> {
        self.recorded.lock().unwrap().skipped.clone()
    }
}

impl<S, B> Layer<S> for Evaluating
where
    S: Service<Request<Body>, Response = Response<B>> + Send + 'static,
    S::Future: Send,
    S::Error: Into<BoxError> + Send + Sync,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Service = CheckingService<S::Future>;

    fn layer(&self, inner: S) -> Self::Service {
        // A write takes two requests: first, get the stored object.
        CheckingService {
            evaluating: self.clone(),
            inner: Buffer::new(inner, 64),
        }
    }
}

pub struct CheckingService<F> {
    evaluating: Evaluating,
    inner: Buffer<Request<Body>, F>,
}

impl<F, B, E> Service<Request<Body>> for CheckingService<F>
where
    F: Future<Output = Result<Response<B>, E>> + Send + 'static,
    E: Into<BoxError> + 'static,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let (evaluating, inner) = (self.evaluating.clone(), self.inner.clone());
        // Use the service that was polled ready, not the clone.
        let mut send = std::mem::replace(&mut self.inner, inner.clone());
        Box::pin(async move {
            let Some(write) = Write::of(&request) else {
                return plain(send.call(request).await?).await;
            };
            let (parts, body) = request.into_parts();
            let bytes = body.collect_bytes().await?;
            let old = match &write.stored {
                Some(uri) => look_up(inner, uri).await?,
                None => None,
            };
            match evaluating.evaluate(&write, old, &bytes)? {
                Some(denial) => Ok(denial),
                None => plain(send.call(Request::from_parts(parts, bytes.into())).await?).await,
            }
        })
    }
}

impl Evaluating {
    /// Returns the API server's denial, if a release denies the write.
    fn evaluate(
        &self,
        write: &Write,
        old: Option<Value>,
        sent: &[u8],
    ) -> Result<Option<Response<Body>>, BoxError> {
        let sent: Value = serde_json::from_slice(sent)?;
        let (findings, name) = match (&write.how, old) {
            (How::Create, _) => {
                let new: Job = serde_json::from_value(sent)?;
                (self.checker.create(&new), new.metadata.name)
            }
            // The API server reports the missing Job.
            (_, None) => return Ok(None),
            (How::Other(kind), Some(_)) => {
                self.recorded
                    .lock()
                    .unwrap()
                    .skipped
                    .push(format!("{kind} of {}", write.path));
                return Ok(None);
            }
            (How::Replace | How::Merge, Some(stored)) => {
                let mut new = sent;
                if write.how == How::Merge {
                    let patch = std::mem::replace(&mut new, stored.clone());
                    json_patch::merge(&mut new, &patch);
                }
                let (old, new): (Job, Job) = (
                    serde_json::from_value(stored)?,
                    serde_json::from_value(new)?,
                );
                let version = new.metadata.resource_version.as_ref();
                if version.is_some() && version != old.metadata.resource_version.as_ref() {
                    return Ok(None); // Stale: the API server reports the conflict.
                }
                let findings = if write.is_status {
                    self.checker.status_update(&old, &new)
                } else {
                    self.checker.update(&old, &new)
                };
                (findings, new.metadata.name)
            }
        };
        let denials = findings.denials();
        if denials.is_empty() {
            return Ok(None);
        }
        let recorded = denials
            .iter()
            .map(|finding| format!("{} {}: {finding}", write.method, write.path));
        self.recorded.lock().unwrap().denied.extend(recorded);
        denial(&name.unwrap_or_default(), &findings).map(Some)
    }
}

/// A write of a Job.
struct Write {
    method: Method,
    path: String,
    how: How,
    is_status: bool,
    /// Path of the Job.
    stored: Option<Uri>,
}

#[derive(PartialEq)]
enum How {
    Create,
    Replace,
    /// A merge patch or a server-side apply: lists are replaced, other values merged. Only the template has lists that would be merged.
    Merge,
    Other(String),
}

impl Write {
    fn of(request: &Request<Body>) -> Option<Self> {
        let path = request.uri().path();
        let (before, jobs) = path.split_once("/apis/batch/v1/namespaces/")?;
        let mut segments = jobs.split('/');
        let (namespace, "jobs") = (segments.next()?, segments.next()?) else {
            return None;
        };
        let name = segments.next();
        let is_status = match segments.next() {
            None => false,
            Some("status") => true,
            Some(_) => return None,
        };
        let kind = request
            .headers()
            .get(CONTENT_TYPE)
            .and_then(|kind| kind.to_str().ok())
            .unwrap_or_default();
        let how = match *request.method() {
            Method::POST => How::Create,
            Method::PUT => How::Replace,
            Method::PATCH
                if [
                    "application/merge-patch+json",
                    "application/apply-patch+yaml",
                ]
                .contains(&kind) =>
            {
                How::Merge
            }
            Method::PATCH => How::Other(kind.to_owned()),
            _ => return None,
        };
        let object =
            name.map(|name| format!("{before}/apis/batch/v1/namespaces/{namespace}/jobs/{name}"));
        Some(Self {
            method: request.method().clone(),
            path: path.to_owned(),
            how,
            is_status,
            stored: object.and_then(|object| object.parse().ok()),
        })
    }
}

/// Returns the stored object, or `None` if there is none.
async fn look_up<F, B, E>(
    mut inner: Buffer<Request<Body>, F>,
    uri: &Uri,
) -> Result<Option<Value>, BoxError>
where
    F: Future<Output = Result<Response<B>, E>> + Send + 'static,
    E: Into<BoxError> + 'static,
    B: http_body::Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    let request = Request::get(uri).body(Body::empty())?;
    let response = inner.ready().await?.call(request).await?;
    let is_there = response.status() == StatusCode::OK;
    let bytes = response
        .into_body()
        .collect()
        .await
        .map_err(Into::into)?
        .to_bytes();
    Ok(if is_there {
        Some(serde_json::from_slice(&bytes)?)
    } else {
        None
    })
}

/// Builds a response with a body for the client.
async fn plain<B>(response: Response<B>) -> Result<Response<Body>, BoxError>
where
    B: http_body::Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    let (parts, body) = response.into_parts();
    let bytes = body.collect().await.map_err(Into::into)?.to_bytes();
    Ok(Response::from_parts(parts, bytes.into()))
}

/// Response of the newest release that denies, as the API server sends it.
fn denial(name: &str, findings: &JobFindings) -> Result<Response<Body>, BoxError> {
    let newest = findings.denied_by().newest().unwrap_or_default();
    let of_newest = findings
        .denials()
        .into_iter()
        .filter(|finding| finding.releases().contains(newest));
    let texts: Vec<_> = of_newest
        .flat_map(|finding| finding.messages())
        .filter(|message| message.releases.contains(newest))
        .map(|message| message.message)
        .collect();
    let text = match &texts[..] {
        [only] => only.clone(),
        texts => format!("[{}]", texts.join(", ")),
    };
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": "Invalid", "code": 422,
        "message": format!("Job.batch {name:?} is invalid: {text}"),
        "details": {"group": "batch", "kind": "Job", "name": name},
    });
    Ok(Response::builder()
        .status(StatusCode::UNPROCESSABLE_ENTITY)
        .body(serde_json::to_vec(&status)?.into())?)
}
