//! `managed-by status`: reads the workloads of a cluster, and evaluates them with [`assessment`].

mod args;
mod assessment;
mod client;
mod output;
mod publish;
mod resources;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime};

use chrono::DateTime;
use managed_by::MULTIKUEUE;
use managed_by_console::exit::{CliError, ExitStatus};
use managed_by_console::interrupt;
use managed_by_console::settings::ResolvedSettings;
use managed_by_offline::{Document, Evaluator, MalformedText, manifest, with_overrides};
use serde_json::value::RawValue;
use tokio::runtime;

use crate::args::StatusOutput;

use crate::assessment::{
    ClusterState, Kueue, LEASES, Limits, ObjectStatus, StoredObject, Unread, assess,
};
use crate::output::{StatusReport, UnreadResource};
use client::{Client, ReadError};
use resources::{Resource, Selection};

/// Pause between two reads of the cluster with `--watch`.
const WATCH_INTERVAL: Duration = Duration::from_secs(30);

/// Label of a Workload with the UID of the object that it belongs to.
const JOB_UID: &str = "kueue.x-k8s.io/job-uid";
const KUEUE_GROUP: &str = "kueue.x-k8s.io";
/// Newest version first.
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
        let reader = Reader::new(client, args, &settings).await?;
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

/// Prints the table, and then each row that changes, until a signal ends the program.
async fn watch(
    reader: &Reader<'_>,
    args: &StatusArgs,
    quiet: bool,
) -> Result<ExitStatus, CliError> {
    interrupt::handle_signals();
    let mut known: BTreeMap<_, (_, _)> = BTreeMap::new();
    let mut is_first = true;
    loop {
        let mut report = reader.read().await?;
        let exit = report.exit_status(args);
        let rows = report.objects.iter();
        let rows = rows.map(|row: &ObjectStatus| (row.object.clone(), (row.verdict, row.state)));
        let rows: BTreeMap<_, _> = rows.collect();
        report
            .objects
            .retain(|row| known.get(&row.object) != rows.get(&row.object));
        known = rows;
        if is_first || !report.objects.is_empty() {
            output::print(&report, args, quiet || !is_first)?;
        }
        is_first = false;
        let mut left = WATCH_INTERVAL;
        while !left.is_zero() && !interrupt::is_interrupted() {
            let pause = left.min(interrupt::INTERVAL);
            tokio::time::sleep(pause).await;
            left = left.saturating_sub(pause);
        }
        if interrupt::is_interrupted() {
            return Ok(exit);
        }
    }
}

/// Reader of the selected workloads of a cluster.
struct Reader<'r> {
    client: Client,
    args: &'r StatusArgs,
    /// The settings, with the release of the cluster unless they have one.
    settings: String,
    selection: Selection,
    /// Served resources with workloads.
    resources: Vec<Resource>,
    /// Resources that discovery could not list.
    undiscovered: Vec<UnreadResource>,
    /// Version of Kueue's API that the cluster serves.
    kueue: Option<&'static str>,
    /// The namespace, or [`None`] for all.
    namespace: Option<String>,
}

impl<'r> Reader<'r> {
    async fn new(
        client: Client,
        args: &'r StatusArgs,
        settings: &ResolvedSettings,
    ) -> Result<Self, CliError> {
        let version = client.release().await?;
        let release = version.filter(|_| settings.release().is_none());
        let served = client.served_groups().await?;
        let known = resources::known(&settings.json);
        let selection = Selection::new(args.object.as_deref(), &known)?;
        let mut resources = Vec::new();
        let mut undiscovered = Vec::new();
        for resource in known.into_iter().filter(|one| selection.includes(one)) {
            let Some(resource) = resource.served_by(&served) else {
                continue;
            };
            match client.serves(&resource).await {
                Ok(true) => resources.push(resource),
                Ok(false) => {}
                Err(error) => undiscovered.push(error.unchecked(&resource)?),
            }
        }
        if let (Some(kind), []) = (selection.kind(), &*resources) {
            let text = format!("the cluster does not serve {kind}");
            return Err(CliError::Error(text));
        }
        let versions = served.get(KUEUE_GROUP);
        let is_served =
            |version: &&&str| versions.is_some_and(|v| v.iter().any(|v| v == **version));
        let kueue = KUEUE_VERSIONS.iter().find(is_served).copied();
        let namespace = args.namespace.clone();
        let namespace = namespace.unwrap_or_else(|| client.default_namespace().to_owned());
        Ok(Self {
            settings: with_overrides(&settings.json, release, &[]),
            namespace: (!args.all_namespaces).then_some(namespace),
            client,
            args,
            selection,
            resources,
            undiscovered,
            kueue,
        })
    }

    /// Reads the cluster, and evaluates every workload.
    async fn read(&self) -> Result<StatusReport, CliError> {
        let settings = managed_by::Settings::from_json(self.settings.as_bytes());
        let settings = settings.map_err(|problems| CliError::Error(problems.to_string()))?;
        let evaluator = Evaluator::new(settings, None);
        let mut unchecked = self.undiscovered.clone();
        let mut objects = Vec::new();
        let mut cluster = ClusterState::default();
        let has_name = self.selection.name().is_some();
        if has_name {
            self.read_workloads(&evaluator, &mut objects, &mut unchecked)
                .await?;
        }
        let label = objects
            .first()
            .map(|object| format!("{JOB_UID}={}", object.uid));
        cluster.kueue = self.read_kueue(label, &mut unchecked).await?;
        if !has_name {
            self.read_workloads(&evaluator, &mut objects, &mut unchecked)
                .await?;
        }
        let controllers: BTreeSet<_> = objects.iter().map(StoredObject::controller).collect();
        for (controller, namespace, name) in LEASES {
            if controllers.contains(controller) {
                let path =
                    format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{name}");
                match self.client.get(&path).await {
                    Ok(json) => cluster.leases.add(controller, &json),
                    Err(ReadError::NotFound) => {}
                    Err(error) => {
                        let resource = format!("leases.coordination.k8s.io in {namespace}");
                        unchecked.push(error.unchecked_part(resource)?);
                    }
                }
            }
        }
        for object in &objects {
            if let Some(write) = &object.last_status_write {
                cluster.leases.note_write(object.controller(), write.time);
            }
        }
        let limits = Limits {
            // After the last read, so that no object is from the future.
            now: DateTime::from(SystemTime::now()),
            after: self.args.after,
            writers: self.args.writers(),
        };
        let mut objects: Vec<_> = objects
            .into_iter()
            .map(|object| assess(object, &cluster, &limits))
            .collect();
        objects.sort_by(|a, b| {
            let key = |row: &ObjectStatus| (row.object.namespace.clone(), row.object.kind.clone());
            (key(a), &a.object.name).cmp(&(key(b), &b.object.name))
        });
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

    /// Reads the objects of Kueue: Workloads with a label, or all.
    async fn read_kueue(
        &self,
        label: Option<String>,
        unchecked: &mut Vec<UnreadResource>,
    ) -> Result<Option<Kueue>, CliError> {
        let Some(version) = self.kueue else {
            return Ok(None);
        };
        let mut kueue = Kueue::default();
        for name in Kueue::RESOURCES {
            let resource = Resource::new(KUEUE_GROUP, version, name);
            let is_namespaced = matches!(name, "localqueues" | "workloads");
            let labels = label.as_deref().filter(|_| name == "workloads");
            let labels = labels.unwrap_or_default();
            let namespace = self.namespace.as_deref().filter(|_| is_namespaced);
            let read = self
                .client
                .list(&resource, namespace, labels, |page| {
                    for item in items(page) {
                        kueue.add(name, item.get());
                    }
                })
                .await;
            match read {
                Ok(()) | Err(ReadError::NotFound) => {}
                Err(error) => {
                    kueue.note_unread(Unread(name));
                    unchecked.push(error.unchecked_part(resource.to_string())?);
                }
            }
        }
        Ok(Some(kueue))
    }

    async fn read_workloads(
        &self,
        evaluator: &Evaluator<'_>,
        objects: &mut Vec<StoredObject>,
        unchecked: &mut Vec<UnreadResource>,
    ) -> Result<(), CliError> {
        let namespace = self.namespace.as_deref();
        let name = self.selection.name();
        for resource in &self.resources {
            let mut malformed = Vec::new();
            let mut add = |text: &str| {
                for document in Document::parse_all(text) {
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
            let read = if let Some(name) = name {
                let path = resource.path(namespace, name);
                self.client.get(&path).await.map(|json| add(&json))
            } else {
                let labels = self.args.selector.as_deref().unwrap_or_default();
                self.client.list(resource, namespace, labels, add).await
            };
            match (read, name) {
                (Ok(()), _) | (Err(ReadError::NotFound), None) => {}
                (Err(ReadError::NotFound), Some(name)) => {
                    return Err(CliError::Error(format!("{resource} \"{name}\" not found")));
                }
                (Err(error), _) => unchecked.push(error.unchecked(resource)?),
            }
            unchecked.append(&mut malformed);
        }
        Ok(())
    }
}

/// Reads a workload; [`None`] for another object.
///
/// # Errors
/// Returns an entry for an object that cannot be read, so that it is not missing in the report.
fn read_object(
    resource: &Resource,
    object: Result<manifest::Object<'_>, MalformedText>,
    evaluator: &Evaluator<'_>,
) -> Result<Option<StoredObject>, UnreadResource> {
    let unread = |resource, reason| UnreadResource {
        resource,
        reason,
        has_workloads: true,
    };
    let object = object.map_err(|e| unread(resource.to_string(), e.text))?;
    StoredObject::read(&object, evaluator).map_err(|reason| {
        let name = object.full_name("").namespaced_name();
        // The path is relative to the request.
        let reason = reason.strip_prefix("object.").unwrap_or(&reason);
        unread(format!("{resource} {name}"), reason.to_owned())
    })
}

fn items(list: &str) -> Vec<&RawValue> {
    #[derive(serde::Deserialize)]
    struct List<'a> {
        #[serde(borrow)]
        items: Vec<&'a RawValue>,
    }
    serde_json::from_str(list).map_or_else(|_| Vec::new(), |list: List<'_>| list.items)
}

impl StatusArgs {
    /// Returns the field managers of `--writer`, by controller.
    fn writers(&self) -> BTreeMap<String, Vec<String>> {
        let mut writers: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (controller, manager) in &self.writers {
            let list = writers.entry(controller.clone()).or_default();
            list.push(manager.clone());
        }
        writers
    }

    pub(crate) fn is_table(&self) -> bool {
        matches!(self.output, StatusOutput::Table | StatusOutput::Wide)
    }
}
