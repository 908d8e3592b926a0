//! What the tests share: one seam for the front ends, so that the same cases run on all of them.

pub(crate) mod cluster;
pub(crate) mod payload;

use std::fmt::Debug;
use std::sync::{Arc, LazyLock};

use managed_by_testing::{Engine, Error, GuestSettingsVerdict, Host, Policy, admission};
use serde_json::Value;
use xtask::judge::judge_in;

use cluster::Played;

pub(crate) use xtask::judge::Answer;
pub(crate) use xtask::root;

/// A built module.
pub(crate) fn module(file: &str) -> Vec<u8> {
    std::fs::read(root(file)).unwrap_or_else(|e| panic!("{file}: {e}; `make {file}` builds it"))
}

/// The built and annotated policy in every engine, which must give the same answers.
pub(crate) struct Guest(Vec<(Engine, Policy)>);

impl Guest {
    fn load(file: &str) -> Self {
        let wasm = module(file);
        let load = |engine: &Engine| (*engine, Policy::load(*engine, &wasm).unwrap());
        Self(Engine::ALL.iter().map(load).collect())
    }

    fn with_host(&self, host: &Arc<Host>) -> Self {
        let with = |(engine, policy): &(Engine, Policy)| {
            (*engine, policy.clone().with_host(Arc::clone(host)))
        };
        Self(self.0.iter().map(with).collect())
    }

    /// The policy in one of the engines.
    pub(crate) fn on(&self, engine: Engine) -> &Policy {
        &self.0.iter().find(|(e, _)| *e == engine).unwrap().1
    }

    fn ask<T: PartialEq + Debug>(
        &self,
        ask: impl Fn(&Policy) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut answers = self.0.iter().map(|(engine, policy)| (engine, ask(policy)));
        let (first, answer) = answers.next().unwrap();
        for (engine, other) in answers {
            match (&answer, &other) {
                (Ok(answer), Ok(other)) => assert_eq!(answer, other, "{first:?} and {engine:?}"),
                (Err(answer), Err(other)) => {
                    assert_eq!(
                        answer.to_string(),
                        other.to_string(),
                        "{first:?} and {engine:?}"
                    );
                }
                _ => panic!("{first:?}: {answer:?}, {engine:?}: {other:?}"),
            }
        }
        answer
    }

    pub(crate) fn call(&self, operation: &str, payload: &[u8]) -> Result<Vec<u8>, Error> {
        self.ask(|policy| policy.call(operation, payload))
    }

    pub(crate) fn validate_bytes(&self, payload: &[u8]) -> Result<Answer, Error> {
        self.ask(|policy| policy.validate_bytes(payload))
    }

    pub(crate) fn validate_settings(
        &self,
        settings: &Value,
    ) -> Result<GuestSettingsVerdict, Error> {
        self.ask(|policy| policy.validate_settings(settings))
    }

    pub(crate) fn protocol_version(&self) -> Result<Value, Error> {
        self.ask(Policy::protocol_version)
    }
}

/// The built and annotated policy. It has no host, because it asks for nothing.
pub(crate) static GUEST: LazyLock<Guest> = LazyLock::new(|| Guest::load("annotated-policy.wasm"));

/// The policy for pods in a cluster that has the recorded Jobs.
static PODS_GUEST: LazyLock<Guest> = LazyLock::new(|| pods_guest_in(Played::Recorded));

/// The policy for pods, whose host answers for a cluster.
pub(crate) fn pods_guest_in(cluster: Played) -> Guest {
    static COMPILED: LazyLock<Guest> = LazyLock::new(|| Guest::load("annotated-pods-policy.wasm"));
    COMPILED.with_host(&cluster.host())
}

/// The answer of the module in every engine to bytes that the host might never send.
pub(crate) fn in_engine(payload: &[u8]) -> Answer {
    GUEST.validate_bytes(payload).unwrap()
}

/// The answer of the library on this machine.
pub(crate) fn natively(request: &Value, settings: &Value) -> Answer {
    natively_from(request, &settings.to_string())
}

/// As [`natively`], with the text of the settings as it is.
pub(crate) fn natively_from(request: &Value, settings: &str) -> Answer {
    judge_in(&Played::Recorded, &request.to_string(), settings)
}

/// The answer of every front end, which must be the same. As in a cluster, pods go to the policy for pods.
pub(crate) fn everywhere(request: &Value, settings: &Value) -> Answer {
    let native = natively(request, settings);
    let guest: &Guest = if request["kind"]["kind"] == "Pod" {
        &PODS_GUEST
    } else {
        &GUEST
    };
    let payload = admission::payload(request, settings);
    let guest = guest.validate_bytes(&payload).unwrap();
    assert_eq!(native, guest, "library and module disagree on {request}");
    native
}
