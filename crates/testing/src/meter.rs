//! What a call costs, counted by the engine itself: the same number on every machine, however busy.
//!
//! waPC's own provider leaves no way to give an instance fuel, so the few host functions that a call needs stand here.

use wasmtime_provider::wasmtime::{
    Caller, Config, Engine, Error as WasmtimeError, Extern, Instance, Linker, Memory, Module,
    Store, Trap,
};

use crate::Error;

/// Plenty: a call that burns this much would have been interrupted long before.
const TANK: u64 = 100_000_000_000;

/// The cost of one call in a fresh instance, the instance's start included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    /// Wasmtime fuel: about one for each wasm instruction.
    pub fuel: u64,
    /// Linear memory at the end, which never shrinks, in bytes.
    pub memory: u64,
}

/// A module compiled with fuel counting.
pub struct Meter {
    engine: Engine,
    module: Module,
    linker: Linker<Call>,
}

#[derive(Default)]
struct Call {
    operation: Vec<u8>,
    payload: Vec<u8>,
    response: Vec<u8>,
    error: Vec<u8>,
}

impl Meter {
    /// Compiles a module.
    ///
    /// # Errors
    /// If wasmtime refuses it.
    pub fn load(wasm: &[u8]) -> Result<Self, Error> {
        Self::compile(wasm).map_err(|e| Error::Load(e.to_string()))
    }

    fn compile(wasm: &[u8]) -> Result<Self, WasmtimeError> {
        let mut config = Config::default();
        config.consume_fuel(true);
        let engine = Engine::new(&config)?;
        let module = Module::new(&engine, wasm)?;
        let mut linker = Linker::new(&engine);
        linker.func_wrap(
            "wapc",
            "__guest_request",
            |mut caller: Caller<'_, Call>, operation: u32, payload: u32| {
                let memory = memory(&mut caller)?;
                let (bytes, call) = memory.data_and_store_mut(&mut caller);
                put(bytes, operation, &call.operation)?;
                put(bytes, payload, &call.payload)
            },
        )?;
        linker.func_wrap(
            "wapc",
            "__guest_response",
            |mut caller: Caller<'_, Call>, at: u32, len: u32| {
                let memory = memory(&mut caller)?;
                let (bytes, call) = memory.data_and_store_mut(&mut caller);
                call.response = get(bytes, at, len)?;
                Ok::<_, WasmtimeError>(())
            },
        )?;
        linker.func_wrap(
            "wapc",
            "__guest_error",
            |mut caller: Caller<'_, Call>, at: u32, len: u32| {
                let memory = memory(&mut caller)?;
                let (bytes, call) = memory.data_and_store_mut(&mut caller);
                call.error = get(bytes, at, len)?;
                Ok::<_, WasmtimeError>(())
            },
        )?;
        // Nothing that is measured asks the host for anything.
        linker.define_unknown_imports_as_traps(&module)?;
        Ok(Self {
            engine,
            module,
            linker,
        })
    }

    /// Runs one operation in a fresh instance and tells its cost.
    ///
    /// # Errors
    /// If the guest traps or says that it failed.
    pub fn measure(&self, operation: &str, payload: &[u8]) -> Result<Cost, Error> {
        self.run(operation, payload)
            .map_err(|e| Error::Call(e.to_string()))
    }

    fn run(&self, operation: &str, payload: &[u8]) -> Result<Cost, WasmtimeError> {
        let mut store = Store::new(
            &self.engine,
            Call {
                operation: operation.as_bytes().to_vec(),
                payload: payload.to_vec(),
                ..Call::default()
            },
        );
        store.set_fuel(TANK)?;
        let instance = self.linker.instantiate(&mut store, &self.module)?;
        start(&instance, &mut store)?;
        let call = instance.get_typed_func::<(u32, u32), i32>(&mut store, "__guest_call")?;
        let lengths = (
            u32::try_from(operation.len())?,
            u32::try_from(payload.len())?,
        );
        if call.call(&mut store, lengths)? == 0 {
            let error = String::from_utf8_lossy(&store.data().error).into_owned();
            return Err(WasmtimeError::msg(error));
        }
        let memory = instance.get_memory(&mut store, "memory");
        Ok(Cost {
            fuel: TANK.saturating_sub(store.get_fuel()?),
            memory: memory.map_or(0, |m| m.data_size(&store) as u64),
        })
    }
}

/// waPC's two start functions, either of which a module may lack.
fn start(instance: &Instance, store: &mut Store<Call>) -> Result<(), WasmtimeError> {
    for name in ["_start", "wapc_init"] {
        if let Ok(function) = instance.get_typed_func::<(), ()>(&mut *store, name) {
            function.call(&mut *store, ())?;
        }
    }
    Ok(())
}

fn memory(caller: &mut Caller<'_, Call>) -> Result<Memory, WasmtimeError> {
    let memory = caller.get_export("memory").and_then(Extern::into_memory);
    memory.ok_or_else(|| WasmtimeError::msg("the module exports no memory"))
}

fn put(memory: &mut [u8], at: u32, bytes: &[u8]) -> Result<(), WasmtimeError> {
    let rest = memory
        .get_mut(at as usize..)
        .ok_or(Trap::MemoryOutOfBounds)?;
    let target = rest.get_mut(..bytes.len()).ok_or(Trap::MemoryOutOfBounds)?;
    target.copy_from_slice(bytes);
    Ok(())
}

fn get(memory: &[u8], at: u32, len: u32) -> Result<Vec<u8>, WasmtimeError> {
    let rest = memory.get(at as usize..).ok_or(Trap::MemoryOutOfBounds)?;
    let bytes = rest.get(..len as usize).ok_or(Trap::MemoryOutOfBounds)?;
    Ok(bytes.to_vec())
}
