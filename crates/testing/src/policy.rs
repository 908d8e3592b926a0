//! Runs the built module in wasmi, with the same protocol as PolicyServer.
//!
//! The module is compiled once, each call gets a fresh instance, and a call that runs out of fuel is interrupted. PolicyServer uses
//! wasmtime, which takes minutes to build; `make e2e` tests the module in PolicyServer.

use std::sync::Arc;

use anyhow::{Result, anyhow, ensure};
use serde::Deserialize;
use serde_json::Value;
use wasmi::errors::LinkerError;
use wasmi::{
    Caller, Config, CustomFuelCosts, Engine, Error as WasmiError, Extern, Linker, Memory, Module,
    Store, StoreLimits, StoreLimitsBuilder, TrapCode,
};

use crate::library::ValidationResponse;
use crate::{admission, module};

/// Fuel limit of a call: more than a call can consume within PolicyServer's timeout of two seconds. Unit tests use less.
const FUEL: u64 = if cfg!(test) {
    50_000_000
} else {
    100_000_000_000
};

/// Response of `validate_settings`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SettingsValidationResponse {
    /// True if the policy accepts the settings.
    pub valid: bool,
    /// The reason if it does not.
    pub message: Option<String>,
}

/// Handler of host calls. It takes binding, namespace, operation and payload, and returns a response or an error.
pub type Host = dyn Fn(&str, &str, &str, &[u8]) -> Result<Vec<u8>, String> + Send + Sync;

/// The cost of one call in a fresh instance, including the instance's start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    /// Fuel consumed in wasmi: about one per wasm instruction, the same on every machine.
    pub fuel: u64,
    /// Size of linear memory after the call, in bytes. Linear memory never shrinks.
    pub memory: u64,
}

/// A compiled policy. Clones share the compiled module.
#[derive(Clone)]
pub struct Policy {
    module: Module,
    linker: Linker<Call>,
    host: Option<Arc<Host>>,
}

/// State of one guest call: waPC's request, response and errors.
#[derive(Default)]
struct Call {
    operation: Vec<u8>,
    payload: Vec<u8>,
    response: Vec<u8>,
    error: Option<String>,
    host: Option<Arc<Host>>,
    host_response: Vec<u8>,
    host_error: Vec<u8>,
    limits: StoreLimits,
}

impl Policy {
    /// Compiles an annotated module. PolicyServer does not start without protocol version v1 in its metadata.
    pub fn load(wasm: &[u8]) -> Result<Self> {
        let metadata = module::metadata(wasm)?.unwrap_or_default();
        let version = metadata.get("protocolVersion").and_then(Value::as_str);
        ensure!(version == Some("v1"), "Policy is missing protocol version");
        Self::load_unannotated(wasm)
    }

    /// Compiles a module with or without metadata, as kwctl does.
    pub fn load_unannotated(wasm: &[u8]) -> Result<Self> {
        let mut config = Config::default();
        config.consume_fuel(true);
        // Charge fuel only for instructions: translation would be charged only to the first call of a function.
        config.fuel_cost(CustomFuelCosts {
            bytes_copied_per_fuel: 64,
            fuel_per_bytes_translated: 0,
            fuel_per_bytes_validated: 0,
        });
        let engine = Engine::new(&config);
        Ok(Self {
            module: Module::new(&engine, wasm).map_err(|e| anyhow!("{e}"))?,
            linker: linker(&engine).map_err(|e| anyhow!("{e}"))?,
            host: None,
        })
    }

    /// Sets the handler of host calls. Without a handler, every host call fails.
    #[must_use]
    pub fn with_host(self, host: Arc<Host>) -> Self {
        Self {
            host: Some(host),
            ..self
        }
    }

    /// Runs one operation in a fresh instance.
    pub fn call(&self, operation: &str, payload: &[u8]) -> Result<Vec<u8>> {
        self.run(operation, payload).map(|(response, _)| response)
    }

    /// Measures one operation in a fresh instance.
    pub fn measure(&self, operation: &str, payload: &[u8]) -> Result<Cost> {
        self.run(operation, payload).map(|(_, cost)| cost)
    }

    fn run(&self, operation: &str, payload: &[u8]) -> Result<(Vec<u8>, Cost)> {
        let call = Call {
            operation: operation.as_bytes().to_vec(),
            payload: payload.to_vec(),
            host: self.host.clone(),
            // As in Kubewarden 1.38.
            limits: StoreLimitsBuilder::new().memory_size(256 << 20).build(),
            ..Call::default()
        };
        let mut store = Store::new(self.linker.engine(), call);
        store.limiter(|call| &mut call.limits);
        let failed = |error: &WasmiError| match error.as_trap_code() {
            Some(TrapCode::OutOfFuel) => anyhow!("the call ran out of fuel"),
            _ => anyhow!("{error}"),
        };
        let (memory, succeeded) = self.call_guest(&mut store).map_err(|e| failed(&e))?;
        let fuel = store.get_fuel().map_err(|e| failed(&e))?;
        let cost = Cost {
            fuel: FUEL.saturating_sub(fuel),
            memory: memory.map_or(0, |memory| memory.data_size(&store) as u64),
        };
        let call = store.into_data();
        match succeeded {
            0 => Err(anyhow!(call.error.unwrap_or_default())),
            _ => Ok((call.response, cost)),
        }
    }

    /// Instantiates the module, and calls its start functions and the operation.
    fn call_guest(&self, store: &mut Store<Call>) -> Result<(Option<Memory>, i32), WasmiError> {
        store.set_fuel(FUEL)?;
        let instance = self
            .linker
            .instantiate_and_start(&mut *store, &self.module)?;
        for name in ["_start", "wapc_init"] {
            if let Some(start) = instance.get_func(&*store, name) {
                start.typed::<(), ()>(&*store)?.call(&mut *store, ())?;
            }
        }
        let call = instance.get_typed_func::<(u32, u32), i32>(&*store, "__guest_call")?;
        let lengths = (
            length(&store.data().operation)?,
            length(&store.data().payload)?,
        );
        let succeeded = call.call(&mut *store, lengths)?;
        Ok((instance.get_memory(&*store, "memory"), succeeded))
    }

    pub fn validate(&self, request: &Value, settings: &Value) -> Result<ValidationResponse> {
        self.validate_bytes(&admission::payload(request, settings))
    }

    /// Calls `validate` with a raw payload, even one that PolicyServer would never send.
    pub fn validate_bytes(&self, payload: &[u8]) -> Result<ValidationResponse> {
        Ok(serde_json::from_slice(&self.call("validate", payload)?)?)
    }

    pub fn validate_settings(&self, settings: &Value) -> Result<SettingsValidationResponse> {
        let response = self.call("validate_settings", settings.to_string().as_bytes())?;
        Ok(serde_json::from_slice(&response)?)
    }

    pub fn protocol_version(&self) -> Result<Value> {
        Ok(serde_json::from_slice(
            &self.call("protocol_version", b"")?,
        )?)
    }
}

type Guest<'a> = Caller<'a, Call>;

/// Defines waPC's host functions.
fn linker(engine: &Engine) -> Result<Linker<Call>, LinkerError> {
    let mut linker = Linker::new(engine);
    let wapc = "wapc";
    linker.func_wrap(
        wapc,
        "__guest_request",
        |mut guest: Guest, operation, payload| {
            put(&mut guest, operation, |call| &call.operation)?;
            put(&mut guest, payload, |call| &call.payload)
        },
    )?;
    linker.func_wrap(wapc, "__guest_response", |mut guest: Guest, at, len| {
        guest.data_mut().response = get(&guest, at, len)?;
        Ok::<_, WasmiError>(())
    })?;
    linker.func_wrap(wapc, "__guest_error", |mut guest: Guest, at, len| {
        guest.data_mut().error = Some(text(&guest, at, len)?);
        Ok::<_, WasmiError>(())
    })?;
    linker.func_wrap(
        wapc,
        "__host_call",
        |mut guest: Guest,
         binding: u32,
         binding_len: u32,
         namespace: u32,
         namespace_len: u32,
         operation: u32,
         operation_len: u32,
         payload: u32,
         payload_len: u32| {
            let binding = text(&guest, binding, binding_len)?;
            let namespace = text(&guest, namespace, namespace_len)?;
            let operation = text(&guest, operation, operation_len)?;
            let payload = get(&guest, payload, payload_len)?;
            let host = guest.data().host.clone();
            let host = host.ok_or_else(|| WasmiError::new("no host call handler is set"))?;
            let response = host(&binding, &namespace, &operation, &payload);
            let succeeded = i32::from(response.is_ok());
            match response {
                Ok(response) => guest.data_mut().host_response = response,
                Err(error) => guest.data_mut().host_error = error.into_bytes(),
            }
            Ok::<_, WasmiError>(succeeded)
        },
    )?;
    linker.func_wrap(wapc, "__host_response_len", |guest: Guest| {
        length(&guest.data().host_response)
    })?;
    linker.func_wrap(wapc, "__host_response", |mut guest: Guest, at| {
        put(&mut guest, at, |call| &call.host_response)
    })?;
    linker.func_wrap(wapc, "__host_error_len", |guest: Guest| {
        length(&guest.data().host_error)
    })?;
    linker.func_wrap(wapc, "__host_error", |mut guest: Guest, at| {
        put(&mut guest, at, |call| &call.host_error)
    })?;
    linker.func_wrap(wapc, "__console_log", |_: Guest, _: u32, _: u32| {})?;
    Ok(linker)
}

fn memory(guest: &Guest) -> Result<Memory, WasmiError> {
    let memory = guest.get_export("memory").and_then(Extern::into_memory);
    memory.ok_or_else(|| WasmiError::new("the module exports no memory"))
}

/// Writes a part of the call to the guest's memory.
fn put(guest: &mut Guest, at: u32, part: fn(&Call) -> &Vec<u8>) -> Result<(), WasmiError> {
    let (memory, call) = memory(guest)?.data_and_store_mut(guest);
    let bytes = part(call);
    let rest = memory.get_mut(at as usize..);
    let target = rest.and_then(|rest| rest.get_mut(..bytes.len()));
    target
        .ok_or(TrapCode::MemoryOutOfBounds)?
        .copy_from_slice(bytes);
    Ok(())
}

fn get(guest: &Guest, at: u32, len: u32) -> Result<Vec<u8>, WasmiError> {
    let rest = memory(guest)?.data(guest).get(at as usize..);
    let bytes = rest.and_then(|rest| rest.get(..len as usize));
    Ok(bytes.ok_or(TrapCode::MemoryOutOfBounds)?.to_vec())
}

fn text(guest: &Guest, at: u32, len: u32) -> Result<String, WasmiError> {
    String::from_utf8(get(guest, at, len)?).map_err(|e| WasmiError::new(e.to_string()))
}

fn length(bytes: &[u8]) -> Result<u32, WasmiError> {
    u32::try_from(bytes.len()).map_err(|e| WasmiError::new(e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::Policy;

    /// Module that counts its calls in a global and responds with the count.
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

    fn policy(wat: &str) -> Policy {
        Policy::load_unannotated(&wat::parse_str(wat).unwrap()).unwrap()
    }

    #[test]
    fn each_call_gets_a_fresh_instance() {
        let policy = policy(COUNTER);
        for _ in 0..3 {
            assert_eq!(policy.call("validate", b"").unwrap(), b"1");
        }
    }

    #[test]
    fn a_call_that_runs_out_of_fuel_is_interrupted() {
        let error = policy(LOOPS_WHEN_CALLED).call("validate", b"").unwrap_err();
        assert!(error.to_string().ends_with("the call ran out of fuel"));
    }
}
