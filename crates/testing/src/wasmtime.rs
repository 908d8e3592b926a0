//! The policy in wasmtime, with the settings that PolicyServer gives it.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use wapc::WebAssemblyEngineProvider;
use wasmtime_provider::wasmtime::{Config, Engine};
use wasmtime_provider::{EpochDeadlines, WasmtimeEngineProviderBuilder, WasmtimeEngineProviderPre};

use crate::Error;
use crate::policy::Compiled;

/// PolicyServer's `--policy-timeout`, in ticks.
const DEADLINE: u64 = 2;

/// How long PolicyServer's ticks are.
const TICK: Duration = Duration::from_secs(1);

pub(crate) fn load(wasm: &[u8]) -> Result<Arc<dyn Compiled>, Error> {
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
    Ok(Arc::new(compiled))
}

impl Compiled for WasmtimeEngineProviderPre {
    fn instance(&self) -> Result<Box<dyn WebAssemblyEngineProvider>, Error> {
        let deadlines = EpochDeadlines {
            wapc_init: DEADLINE,
            wapc_func: DEADLINE,
        };
        let instance = self.rehydrate(Some(deadlines));
        let instance = instance.map_err(|e| Error::Call(e.to_string()))?;
        Ok(Box::new(instance))
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
