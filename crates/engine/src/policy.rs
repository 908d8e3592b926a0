//! A compiled policy, called as PolicyServer calls it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use wapc::{HostCallback, WapcHost};
use wasmtime_provider::wasmtime::{Config, Engine};
use wasmtime_provider::{EpochDeadlines, WasmtimeEngineProviderBuilder, WasmtimeEngineProviderPre};

use crate::{Error, admission, metadata};

/// PolicyServer's `--policy-timeout`, in ticks.
const DEADLINE: u64 = 2;

/// How long PolicyServer's ticks are.
const TICK: Duration = Duration::from_secs(1);

/// A policy's answer to `validate`, as Kubewarden reads it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verdict {
    /// Whether the request may go on.
    pub accepted: bool,
    /// Why not.
    pub message: Option<String>,
    /// HTTP status of a denial.
    pub code: Option<u16>,
    /// Shown to the client.
    pub warnings: Option<Vec<String>>,
    /// For the audit log.
    pub audit_annotations: Option<BTreeMap<String, String>>,
    /// The object to store instead, of a policy that mutates.
    pub mutated_object: Option<Value>,
}

/// A policy's answer to `validate_settings`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SettingsVerdict {
    /// Whether the policy can work with the settings.
    pub valid: bool,
    /// Why not.
    pub message: Option<String>,
}

/// What the host answers a guest that asks: binding, namespace, operation and payload in, an answer or an error out.
pub type Host = dyn Fn(&str, &str, &str, &[u8]) -> Result<Vec<u8>, String> + Send + Sync;

/// A compiled policy. A clone shares what was compiled.
#[derive(Clone)]
pub struct Policy {
    compiled: WasmtimeEngineProviderPre,
    host: Option<Arc<Host>>,
}

impl Policy {
    /// Compiles an annotated module.
    ///
    /// # Errors
    /// If wasmtime refuses it, or it has no metadata with protocol version v1: PolicyServer would not start.
    pub fn load(wasm: &[u8]) -> Result<Self, Error> {
        let metadata = metadata::read(wasm)?.ok_or(Error::NoProtocolVersion)?;
        if metadata.get("protocolVersion").and_then(Value::as_str) != Some("v1") {
            return Err(Error::NoProtocolVersion);
        }
        Self::load_unannotated(wasm)
    }

    /// Compiles a module whether it is annotated or not, as kwctl does.
    ///
    /// # Errors
    /// If wasmtime refuses it.
    pub fn load_unannotated(wasm: &[u8]) -> Result<Self, Error> {
        let load = |e: &dyn std::fmt::Display| Error::Load(e.to_string());
        let mut config = Config::default();
        config.wasm_function_references(true);
        config.epoch_interruption(true);
        let engine = Engine::new(&config).map_err(|e| load(&e))?;
        tick(&engine);
        let compiled = WasmtimeEngineProviderBuilder::new()
            .engine(engine)
            .module_bytes(wasm)
            .build_pre()
            .map_err(|e| load(&e))?;
        Ok(Self {
            compiled,
            host: None,
        })
    }

    /// The same policy with a host that answers what it asks. Without one every question is an error.
    #[must_use]
    pub fn with_host(self, host: Arc<Host>) -> Self {
        Self {
            host: Some(host),
            ..self
        }
    }

    /// Runs one operation in a fresh instance.
    ///
    /// # Errors
    /// If the guest traps, says that it failed, or takes more than two ticks.
    pub fn call(&self, operation: &str, payload: &[u8]) -> Result<Vec<u8>, Error> {
        let deadlines = EpochDeadlines {
            wapc_init: DEADLINE,
            wapc_func: DEADLINE,
        };
        let instance = self.compiled.rehydrate(Some(deadlines));
        let instance = instance.map_err(|e| Error::Call(e.to_string()))?;
        let callback = self.host.clone().map(|host| -> Box<HostCallback> {
            Box::new(move |_, binding, namespace, operation, payload| {
                host(binding, namespace, operation, payload).map_err(Into::into)
            })
        });
        let host = WapcHost::new(Box::new(instance), callback)?;
        Ok(host.call(operation, payload)?)
    }

    /// Asks for a verdict.
    ///
    /// # Errors
    /// As [`Policy::call`], and if the answer is no verdict.
    pub fn validate(&self, request: &Value, settings: &Value) -> Result<Verdict, Error> {
        self.validate_bytes(&admission::payload(request, settings))
    }

    /// Asks for a verdict on bytes that PolicyServer might never send.
    ///
    /// # Errors
    /// As [`Policy::validate`].
    pub fn validate_bytes(&self, payload: &[u8]) -> Result<Verdict, Error> {
        Ok(serde_json::from_slice(&self.call("validate", payload)?)?)
    }

    /// Asks whether the policy can work with the settings.
    ///
    /// # Errors
    /// As [`Policy::call`], and if the answer is none.
    pub fn validate_settings(&self, settings: &Value) -> Result<SettingsVerdict, Error> {
        let answer = self.call("validate_settings", settings.to_string().as_bytes())?;
        Ok(serde_json::from_slice(&answer)?)
    }

    /// Asks which protocol the policy speaks.
    ///
    /// # Errors
    /// As [`Policy::call`], and if the answer is no JSON.
    pub fn protocol_version(&self) -> Result<Value, Error> {
        Ok(serde_json::from_slice(
            &self.call("protocol_version", b"")?,
        )?)
    }
}

/// Moves the engine's epoch on for as long as the engine is in use.
fn tick(engine: &Engine) {
    let engine = engine.weak();
    thread::spawn(move || {
        loop {
            thread::sleep(TICK);
            let Some(engine) = engine.upgrade() else {
                return;
            };
            engine.increment_epoch();
        }
    });
}

#[cfg(test)]
mod tests {
    use super::Policy;

    /// Counts its calls in a global, and answers the count.
    const COUNTER: &[u8] = br#"(module
        (import "wapc" "__guest_response" (func $respond (param i32 i32)))
        (memory (export "memory") 1)
        (global $calls (mut i32) (i32.const 48))
        (func (export "__guest_call") (param i32 i32) (result i32)
            (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
            (i32.store8 (i32.const 0) (global.get $calls))
            (call $respond (i32.const 0) (i32.const 1))
            (i32.const 1)))"#;

    const ENDLESS: &[u8] = br#"(module
        (memory (export "memory") 1)
        (func (export "__guest_call") (param i32 i32) (result i32) (loop (br 0)) (i32.const 1)))"#;

    #[test]
    fn nothing_survives_a_request() {
        let policy = Policy::load_unannotated(COUNTER).unwrap();
        for _ in 0..3 {
            assert_eq!(policy.call("validate", b"").unwrap(), b"1");
        }
    }

    #[test]
    fn a_call_that_takes_too_long_is_interrupted() {
        let policy = Policy::load_unannotated(ENDLESS).unwrap();
        let error = policy.call("validate", b"").unwrap_err().to_string();
        assert!(error.contains("deadline"), "{error}");
    }
}
