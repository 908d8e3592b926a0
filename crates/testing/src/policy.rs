//! A compiled policy, called as PolicyServer calls it.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use wapc::{HostCallback, WapcHost, WebAssemblyEngineProvider};

use crate::judge::Answer;
use crate::{Error, admission, module};

/// What runs the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Engine {
    /// An interpreter that builds fast. It counts instructions to stop a call that takes too long.
    #[cfg(feature = "wasmi")]
    Wasmi,
    /// What PolicyServer has. It looks at the clock to stop a call that takes too long.
    #[cfg(feature = "wasmtime")]
    Wasmtime,
}

impl Engine {
    /// Every engine that this crate is built with.
    pub const ALL: &[Self] = &[
        #[cfg(feature = "wasmi")]
        Self::Wasmi,
        #[cfg(feature = "wasmtime")]
        Self::Wasmtime,
    ];

    fn load(self, wasm: &[u8]) -> Result<Arc<dyn Compiled>, Error> {
        match self {
            #[cfg(feature = "wasmi")]
            Self::Wasmi => crate::wasmi::load(wasm),
            #[cfg(feature = "wasmtime")]
            Self::Wasmtime => crate::wasmtime::load(wasm),
        }
    }
}

/// A module that an engine has taken.
pub(crate) trait Compiled: Send + Sync {
    /// A fresh instance. Nothing in it was there before.
    fn instance(&self) -> Result<Box<dyn WebAssemblyEngineProvider>, Error>;
}

/// A policy's answer to `validate_settings`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GuestSettingsVerdict {
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
    compiled: Arc<dyn Compiled>,
    host: Option<Arc<Host>>,
}

impl Policy {
    /// Compiles an annotated module.
    ///
    /// # Errors
    /// If the engine refuses it, or it has no metadata with protocol version v1: PolicyServer would not start.
    pub fn load(engine: Engine, wasm: &[u8]) -> Result<Self, Error> {
        let metadata = module::metadata(wasm)?.ok_or(Error::NoProtocolVersion)?;
        if metadata.get("protocolVersion").and_then(Value::as_str) != Some("v1") {
            return Err(Error::NoProtocolVersion);
        }
        Self::load_unannotated(engine, wasm)
    }

    /// Compiles a module whether it is annotated or not, as kwctl does.
    ///
    /// # Errors
    /// If the engine refuses it.
    pub fn load_unannotated(engine: Engine, wasm: &[u8]) -> Result<Self, Error> {
        Ok(Self {
            compiled: engine.load(wasm)?,
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
    /// If the guest traps, says that it failed, or takes too long.
    pub fn call(&self, operation: &str, payload: &[u8]) -> Result<Vec<u8>, Error> {
        let callback = self.host.clone().map(|host| -> Box<HostCallback> {
            Box::new(move |_, binding, namespace, operation, payload| {
                host(binding, namespace, operation, payload).map_err(Into::into)
            })
        });
        let host = WapcHost::new(self.compiled.instance()?, callback)?;
        Ok(host.call(operation, payload)?)
    }

    /// Asks for a verdict.
    ///
    /// # Errors
    /// As [`Policy::call`], and if the answer is no verdict.
    pub fn validate(&self, request: &Value, settings: &Value) -> Result<Answer, Error> {
        self.validate_bytes(&admission::payload(request, settings))
    }

    /// Asks for a verdict on bytes that PolicyServer might never send.
    ///
    /// # Errors
    /// As [`Policy::validate`].
    pub fn validate_bytes(&self, payload: &[u8]) -> Result<Answer, Error> {
        Ok(serde_json::from_slice(&self.call("validate", payload)?)?)
    }

    /// Asks whether the policy can work with the settings.
    ///
    /// # Errors
    /// As [`Policy::call`], and if the answer is none.
    pub fn validate_settings(&self, settings: &Value) -> Result<GuestSettingsVerdict, Error> {
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

#[cfg(test)]
mod tests {
    use super::{Engine, Policy};

    /// Counts its calls in a global, and answers the count.
    const COUNTER: &str = r#"(module
        (import "wapc" "__guest_response" (func $respond (param i32 i32)))
        (memory (export "memory") 1)
        (global $calls (mut i32) (i32.const 48))
        (func (export "__guest_call") (param i32 i32) (result i32)
            (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
            (i32.store8 (i32.const 0) (global.get $calls))
            (call $respond (i32.const 0) (i32.const 1))
            (i32.const 1)))"#;

    const LOOPS_WHEN_CALLED: &str = r#"(module
        (memory (export "memory") 1)
        (func (export "__guest_call") (param i32 i32) (result i32) (loop (br 0)) (i32.const 1)))"#;

    const LOOPS_WHEN_INITIALIZED: &str = r#"(module
        (memory (export "memory") 1)
        (func (export "wapc_init") (loop (br 0)))
        (func (export "__guest_call") (param i32 i32) (result i32) (i32.const 1)))"#;

    /// Answers from outside of its memory.
    const OUT_OF_BOUNDS: &str = r#"(module
        (import "wapc" "__guest_error" (func $fail (param i32 i32)))
        (memory (export "memory") 1)
        (func (export "__guest_call") (param i32 i32) (result i32)
            (call $fail (i32.const 65536) (i32.const 1))
            (i32.const 0)))"#;

    fn everywhere(wat: &str) -> impl Iterator<Item = (Engine, Policy)> {
        let wasm = wat::parse_str(wat).unwrap();
        let load = move |engine| (engine, Policy::load_unannotated(engine, &wasm).unwrap());
        Engine::ALL.iter().copied().map(load)
    }

    #[test]
    fn nothing_survives_a_request() {
        for (engine, policy) in everywhere(COUNTER) {
            for _ in 0..3 {
                assert_eq!(policy.call("validate", b"").unwrap(), b"1", "{engine:?}");
            }
        }
    }

    #[test]
    fn a_call_that_takes_too_long_is_interrupted() {
        for (engine, policy) in everywhere(LOOPS_WHEN_CALLED) {
            let error = policy.call("validate", b"").unwrap_err().to_string();
            assert_eq!(
                error,
                "internal server error: Guest call failure: guest code interrupted, execution deadline exceeded",
                "{engine:?}"
            );
        }
    }

    #[test]
    fn a_start_that_takes_too_long_is_interrupted() {
        for (engine, policy) in everywhere(LOOPS_WHEN_INITIALIZED) {
            let error = policy.call("validate", b"").unwrap_err().to_string();
            let start = "internal server error: Initialization failed: ";
            assert!(error.starts_with(start), "{engine:?}: {error}");
        }
    }

    #[cfg(feature = "wasmi")]
    #[test]
    fn an_answer_from_outside_of_the_memory_is_an_error() {
        let wasm = wat::parse_str(OUT_OF_BOUNDS).unwrap();
        let policy = Policy::load_unannotated(Engine::Wasmi, &wasm).unwrap();
        let error = policy.call("validate", b"").unwrap_err().to_string();
        assert!(error.contains("out of bounds"), "{error}");
    }
}
