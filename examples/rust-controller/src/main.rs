//! Runs the controller against the cluster of your kubeconfig.

use std::error::Error;
use std::sync::Arc;

use futures::StreamExt as _;
use k8s_openapi::api::batch::v1::Job;
use kube::runtime::controller::Controller;
use kube::runtime::watcher;
use kube::{Api, Client};
use rust_controller::controller::{Context, on_error, reconcile};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let client = Client::try_default().await?;
    let version = client.apiserver_version().await?;
    // Some providers write `36+`.
    let minor = version.minor.trim_end_matches('+').parse()?;
    let jobs: Api<Job> = Api::all(client.clone());
    Controller::new(jobs, watcher::Config::default())
        .run(reconcile, on_error, Arc::new(Context { client, minor }))
        .for_each(|outcome| async move {
            if let Err(error) = outcome {
                eprintln!("{error}");
            }
        })
        .await;
    Ok(())
}
