//! `managed-by status`: reads the workloads of a cluster, and evaluates them with [`assessment`].

mod args;
mod assessment;
mod client;
#[cfg(test)]
mod fake;
#[cfg(test)]
mod judge;
mod output;
mod publish;
mod resources;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use managed_by::{MULTIKUEUE, Release};
use managed_by_console::escape::escape_control;
use managed_by_console::exit::{CliError, ExitStatus};
use managed_by_console::interrupt;
use managed_by_console::settings::ResolvedSettings;
use managed_by_console::stderr;
use managed_by_offline::{Document, Evaluator, MalformedText, manifest, with_overrides};
use serde_json::value::RawValue;
use tokio::runtime;

use crate::args::StatusOutput;
use crate::assessment::{
    ClusterState, Kueue, LEASES, LeaseProfile, Leases, Limits, ObjectStatus, StoredObject, assess,
    without_lease,
};
use crate::output::{StatusReport, UnreadResource};
use client::{Client, ReadError};
use resources::{Resource, Selection};

/// Pause between two reads of the cluster with `--watch`.
const WATCH_INTERVAL: Duration = Duration::from_secs(30);

const KUEUE_GROUP: &str = "kueue.x-k8s.io";
const KUEUE_VERSIONS: [&str; 2] = ["v1beta2", "v1beta1"];

pub use args::StatusArgs;

/// # Errors
/// Returns an error if the settings or the cluster cannot be read, or the output cannot be written.
pub fn run(args: &StatusArgs, quiet: bool) -> Result<ExitStatus, CliError> {
    let settings = ResolvedSettings::from_file(args.settings.as_deref())?;
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let client = Client::connect(args.context.as_deref()).await?;
        let reader = Reader::new(client, args, &settings);
        if args.watch {
            return watch(&reader, args, quiet).await;
        }
        let report = reader.read().await?;
        output::print(&report, args, quiet)?;
        let namespace = reader.namespace.as_deref();
        publish::publish(&reader.client, args, &report, namespace).await?;
        Ok(report.exit_status(args))
    })
}

/// Prints the table, and then each row that changes, until a signal ends the program. The other formats print the whole report again
/// after a change.
async fn watch(
    reader: &Reader<'_>,
    args: &StatusArgs,
    quiet: bool,
) -> Result<ExitStatus, CliError> {
    interrupt::handle_signals();
    let mut known: Option<(BTreeMap<_, _>, Vec<_>)> = None;
    let mut exit = ExitStatus::Error;
    loop {
        match reader.read().await {
            _ if interrupt::is_interrupted() => return Ok(exit),
            Ok(mut report) => {
                exit = report.exit_status(args);
                let rows = report.objects.iter();
                let rows =
                    rows.map(|row: &ObjectStatus| (row.object.clone(), (row.verdict, row.state)));
                let now: (BTreeMap<_, _>, _) = (rows.collect(), report.unchecked.clone());
                if let Some((rows, unchecked)) = known.as_ref().filter(|_| args.is_table()) {
                    report
                        .objects
                        .retain(|row| rows.get(&row.object) != now.0.get(&row.object));
                    report
                        .unchecked
                        .retain(|unread| !unchecked.contains(unread));
                }
                if known.as_ref() != Some(&now) {
                    output::print(&report, args, quiet || known.is_some())?;
                }
                known = Some(now);
            }
            Err(CliError::Error(text)) => stderr!("error: {}\n", escape_control(&text)),
            Err(error) => return Err(error),
        }
        let begin = Instant::now();
        while begin.elapsed() < WATCH_INTERVAL && !interrupt::is_interrupted() {
            tokio::time::sleep(interrupt::INTERVAL).await;
        }
        if interrupt::is_interrupted() {
            return Ok(exit);
        }
    }
}

struct Reader<'r> {
    client: Client,
    args: &'r StatusArgs,
    settings: &'r ResolvedSettings,
    /// The namespace, or [`None`] for all.
    namespace: Option<String>,
}

impl<'r> Reader<'r> {
    fn new(client: Client, args: &'r StatusArgs, settings: &'r ResolvedSettings) -> Self {
        let namespace = args.namespace.clone();
        let namespace = namespace.unwrap_or_else(|| client.default_namespace().to_owned());
        Self {
            namespace: (!args.all_namespaces).then_some(namespace),
            client,
            args,
            settings,
        }
    }

    /// Returns the resources with workloads that the cluster serves, and the version of Kueue's API.
    async fn discover(
        &self,
        selection: &Selection,
        known: &[Resource],
        unchecked: &mut Vec<UnreadResource>,
    ) -> Result<(Vec<Resource>, Option<String>), CliError> {
        let served = self.client.served_groups().await;
        let served = served.map_err(|e| self.client.failed(&e))?;
        let mut resources = Vec::new();
        let mut by_version = BTreeMap::new();
        let is_undiscovered = unchecked.len();
        for resource in known.iter().filter(|one| selection.includes(one)) {
            // A group may have versions that serve other kinds only.
            for (mut resource, is_readable) in resource.served_by(&served) {
                let version = resource.group_version();
                if !by_version.contains_key(&version) {
                    let read = self.client.served_resources(&version).await;
                    by_version.insert(version.clone(), read.map_err(|e| e.to_string()));
                }
                match by_version.get(&version) {
                    Some(Ok(served)) => {
                        if let Some(is_namespaced) = served.get(&resource.plural) {
                            resource.is_namespaced = *is_namespaced;
                            if is_readable {
                                resources.push(resource);
                            } else {
                                let reason = format!("unknown version {version}");
                                unchecked.push(UnreadResource::workloads(&resource, reason));
                            }
                            break;
                        }
                    }
                    Some(Err(reason)) => {
                        unchecked.push(UnreadResource::workloads(&resource, reason.clone()));
                    }
                    None => {}
                }
            }
        }
        if let (Some(kind), []) = (&selection.kind, &*resources)
            && unchecked.len() == is_undiscovered
        {
            let text = format!("the cluster does not serve {kind}");
            return Err(CliError::Error(text));
        }
        let versions = served.get(KUEUE_GROUP).map_or(&[][..], Vec::as_slice);
        let is_known = |version: &&String| KUEUE_VERSIONS.contains(&&***version);
        let kueue = versions.iter().find(is_known).or(versions.first());
        Ok((resources, kueue.cloned()))
    }

    /// Reads the cluster, and evaluates every workload. What cannot be read is listed in the report.
    async fn read(&self) -> Result<StatusReport, CliError> {
        let version = self.client.version().await;
        let version = version.map_err(|e| self.client.failed(&e))?;
        let limits = Limits {
            now: self.client.time(),
            after: self.args.after,
            dispatch: self.args.dispatch_limit,
            writers: self.args.writers.clone(),
        };
        let release = version.parse::<Release>().ok();
        let release = release.filter(|_| self.settings.release().is_none());
        let settings = with_overrides(&self.settings.json, release, &[]);
        let known = resources::known(&settings);
        let settings = managed_by::Settings::from_json(settings.as_bytes());
        let settings = settings.map_err(|problems| CliError::Error(problems.to_string()))?;
        let evaluator = Evaluator::new(settings, None);
        let selection = Selection::new(self.args.object.as_deref(), &known)?;
        let mut unchecked = Vec::new();
        let (resources, kueue) = self.discover(&selection, &known, &mut unchecked).await?;
        let mut cluster = ClusterState {
            kueue: self.read_kueue(kueue, &mut unchecked).await,
            ..ClusterState::default()
        };
        let mut objects = Vec::new();
        for resource in &resources {
            self.read_workloads(
                resource,
                &selection,
                &evaluator,
                &mut objects,
                &mut unchecked,
            )
            .await;
        }
        let has_name = selection.name.is_some();
        if let (Some(name), []) = (&selection.name, &*objects)
            && !unchecked.iter().any(|unread| unread.has_workloads)
        {
            let kinds: Vec<_> = resources.iter().map(Resource::to_string).collect();
            let kinds = kinds.join(" and ");
            return Err(CliError::Error(format!("{kinds} \"{name}\" not found")));
        }
        for object in &objects {
            let write = object.last_status_write(limits.now);
            if write.is_some_and(|write| limits.age_of_evidence(Some(write.time)).is_none()) {
                cluster.busy.insert(object.controller().to_owned());
            }
        }
        let controllers: BTreeSet<_> = objects.iter().map(StoredObject::controller).collect();
        for lease in LEASES {
            if controllers.contains(lease.controller) {
                self.read_lease(lease, &limits, &mut cluster.leases, &mut unchecked)
                    .await;
            }
        }
        let mut objects: Vec<_> = objects
            .into_iter()
            .map(|object| assess(object, &cluster, &limits))
            .collect();
        objects.sort_by(|a, b| {
            let key = |row: &ObjectStatus| (row.object.namespace.clone(), row.object.kind.clone());
            (key(a), &a.object.name).cmp(&(key(b), &b.object.name))
        });
        if let Some(reason) = without_lease(&objects) {
            unchecked.push(UnreadResource {
                is_absent: true,
                ..UnreadResource::new("leases.coordination.k8s.io".to_owned(), reason)
            });
        }
        Ok(StatusReport {
            now: limits.now,
            after: limits.after,
            objects,
            unchecked,
            known_controllers: evaluator
                .known_controllers()
                .chain([MULTIKUEUE])
                .map(str::to_owned)
                .collect(),
            has_name,
        })
    }

    async fn read_kueue(
        &self,
        version: Option<String>,
        unchecked: &mut Vec<UnreadResource>,
    ) -> Option<Kueue> {
        let mut kueue = Kueue::default();
        for kind in Kueue::KINDS {
            let resource = Resource::new(KUEUE_GROUP, version.as_deref()?, &Kueue::plural(kind));
            let namespace = self.namespace.as_deref();
            let namespace = namespace.filter(|_| Kueue::is_namespaced(kind));
            let read = self.client.list(&resource, namespace, &[], |_, items| {
                for item in items {
                    kueue.add(kind, item.get());
                }
            });
            if let Err(error) = read.await {
                kueue.unread.insert(kind);
                unchecked.push(UnreadResource::new(resource.to_string(), error.to_string()));
            }
        }
        Some(kueue)
    }

    /// Reads the Lease of a controller in any namespace, or else in the one where its project installs it.
    async fn read_lease(
        &self,
        lease: &LeaseProfile,
        limits: &Limits,
        leases: &mut Leases,
        unchecked: &mut Vec<UnreadResource>,
    ) {
        let LeaseProfile {
            namespace, name, ..
        } = lease;
        let resource = Resource::new("coordination.k8s.io", "v1", "leases");
        let selector = format!("metadata.name={name}");
        let selectors = [("fieldSelector", &*selector)];
        let listed = self.client.list(&resource, None, &selectors, |_, items| {
            for item in items {
                leases.add(lease, item.get());
            }
        });
        let read = match listed.await {
            Err(ReadError::Forbidden) => {
                let found = self.client.get(&resource.path(Some(namespace), name)).await;
                match found.map(|json| leases.add(lease, &json)) {
                    Err(ReadError::NotFound) => Err(ReadError::Forbidden),
                    read => read,
                }
            }
            read => read,
        };
        let place = format!("{resource} {name}");
        match read {
            Ok(()) if leases.is_found(lease, limits) => {}
            Ok(()) => {
                let reason = "none, or several: cannot tell whether the controller runs";
                unchecked.push(UnreadResource {
                    is_absent: true,
                    ..UnreadResource::new(place, reason.to_owned())
                });
            }
            Err(error) => {
                leases.note_unread(lease);
                unchecked.push(UnreadResource::new(place, error.to_string()));
            }
        }
    }

    async fn read_workloads(
        &self,
        resource: &Resource,
        selection: &Selection,
        evaluator: &Evaluator<'_>,
        objects: &mut Vec<StoredObject>,
        unchecked: &mut Vec<UnreadResource>,
    ) {
        let mut malformed = Vec::new();
        let add = |json: &str, _: &[&RawValue]| {
            for document in Document::parse_all(json) {
                let read = match &document {
                    Ok(document) => manifest::objects(document),
                    Err(malformed) => vec![Err(malformed.clone())],
                };
                for object in read {
                    match read_object(resource, object, evaluator) {
                        Ok(object) => objects.extend(object),
                        Err(unread) => malformed.push(unread),
                    }
                }
            }
        };
        let name = selection.name.as_ref();
        let fields = name.map_or_else(String::new, |name| format!("metadata.name={name}"));
        let labels = self.args.selector.as_deref().unwrap_or_default();
        let selectors = [("labelSelector", labels), ("fieldSelector", &fields)];
        let namespace = self.namespace.as_deref();
        let read = self.client.list(resource, namespace, &selectors, add).await;
        if let Err(error) = read {
            unchecked.push(UnreadResource::workloads(resource, error.to_string()));
        }
        unchecked.append(&mut malformed);
    }
}

/// Reads a workload; [`None`] for another object. The error is an entry for the report.
fn read_object(
    resource: &Resource,
    object: Result<manifest::Object<'_>, MalformedText>,
    evaluator: &Evaluator<'_>,
) -> Result<Option<StoredObject>, UnreadResource> {
    let object = object.map_err(|e| UnreadResource::workloads(resource, e.text))?;
    StoredObject::read(&object, &resource.to_string(), evaluator).map_err(|reason| {
        let name = object.full_name("").namespaced_name();
        // The path is relative to the request.
        let reason = reason.strip_prefix("object.").unwrap_or(&reason);
        let unread = UnreadResource::workloads(resource, reason.to_owned());
        UnreadResource {
            resource: format!("{resource} {name}"),
            ..unread
        }
    })
}

impl UnreadResource {
    /// Creates an entry for a resource that verdicts depend on.
    fn new(resource: String, reason: String) -> Self {
        Self {
            resource,
            reason,
            has_workloads: false,
            group_kind: Default::default(),
            is_absent: false,
        }
    }

    /// Creates an entry for a resource whose workloads were not read.
    fn workloads(resource: &Resource, reason: String) -> Self {
        Self {
            has_workloads: true,
            group_kind: resource.group_kind(),
            ..Self::new(resource.to_string(), reason)
        }
    }
}

impl StatusArgs {
    pub(crate) fn is_table(&self) -> bool {
        matches!(self.output, StatusOutput::Table | StatusOutput::Wide)
    }
}
