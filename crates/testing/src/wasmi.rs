//! The policy in wasmi, an interpreter: it builds in a minute, and loads a module in milliseconds.
//!
//! waPC has no provider of its own for wasmi, so its host functions are written here.

use std::error::Error as StdError;
use std::sync::Arc;

use wapc::{HOST_NAMESPACE, ModuleState, WebAssemblyEngineProvider, wapc_functions as name};
use wasmi::errors::LinkerError;
use wasmi::{
    Caller, Config, Engine, Error as WasmiError, Extern, Linker, Memory, Module, Store, TrapCode,
    TypedFunc,
};

use crate::Error;
use crate::policy::Compiled;

/// How many instructions a call may take, about: what compiled code runs in the second that PolicyServer gives at least.
const FUEL: u64 = if cfg!(test) {
    50_000_000
} else {
    5_000_000_000
};

type Boxed = Box<dyn StdError + Send + Sync>;

/// A module that wasmi has taken.
#[derive(Clone)]
struct Loaded {
    module: Module,
    linker: Linker<Arc<ModuleState>>,
}

pub(crate) fn load(wasm: &[u8]) -> Result<Arc<dyn Compiled>, Error> {
    let mut config = Config::default();
    config.consume_fuel(true);
    let engine = Engine::new(&config);
    let module = Module::new(&engine, wasm).map_err(|e| Error::Load(e.to_string()))?;
    let linker = linker(&engine).map_err(|e| Error::Load(e.to_string()))?;
    Ok(Arc::new(Loaded { module, linker }))
}

impl Compiled for Loaded {
    fn instance(&self) -> Result<Box<dyn WebAssemblyEngineProvider>, Error> {
        Ok(Box::new(Provider {
            loaded: self.clone(),
            running: None,
        }))
    }
}

/// One instance of a module.
struct Provider {
    loaded: Loaded,
    running: Option<Running>,
}

struct Running {
    store: Store<Arc<ModuleState>>,
    guest_call: TypedFunc<(i32, i32), i32>,
}

impl WebAssemblyEngineProvider for Provider {
    fn init(&mut self, host: Arc<ModuleState>) -> Result<(), Boxed> {
        let Loaded { module, linker } = &self.loaded;
        let mut store = Store::new(linker.engine(), host);
        store.set_fuel(FUEL)?;
        let instance = linker.instantiate_and_start(&mut store, module)?;
        for start in name::REQUIRED_STARTS {
            if let Some(start) = instance.get_func(&store, start) {
                store.set_fuel(FUEL)?;
                start.typed::<(), ()>(&store)?.call(&mut store, ())?;
            }
        }
        let guest_call = instance.get_typed_func(&store, name::GUEST_CALL)?;
        self.running = Some(Running { store, guest_call });
        Ok(())
    }

    fn call(&mut self, operation: i32, payload: i32) -> Result<i32, Boxed> {
        let running = self.running.as_mut().ok_or("not initialized")?;
        running.store.set_fuel(FUEL)?;
        let lengths = (operation, payload);
        match running.guest_call.call(&mut running.store, lengths) {
            Ok(answer) => Ok(answer),
            Err(e) => {
                // waPC's provider for wasmtime says it like this.
                let error = match e.as_trap_code() {
                    Some(TrapCode::OutOfFuel) => {
                        "guest code interrupted, execution deadline exceeded".to_owned()
                    }
                    _ => e.to_string(),
                };
                running.store.data().set_guest_error(error);
                Ok(0)
            }
        }
    }

    fn replace(&mut self, _: &[u8]) -> Result<(), Boxed> {
        Err("a policy is not replaced while it runs".into())
    }
}

/// waPC's host functions.
fn linker(engine: &Engine) -> Result<Linker<Arc<ModuleState>>, LinkerError> {
    let mut linker = Linker::new(engine);
    linker.func_wrap(
        HOST_NAMESPACE,
        name::GUEST_REQUEST_FN,
        |mut caller: Guest, operation: u32, payload: u32| {
            if let Some(request) = caller.data().get_guest_request() {
                put(&mut caller, operation, request.operation.as_bytes())?;
                put(&mut caller, payload, &request.msg)?;
            }
            Ok(())
        },
    )?;
    linker.func_wrap(
        HOST_NAMESPACE,
        name::GUEST_RESPONSE_FN,
        |caller: Guest, at: u32, len: u32| {
            let response = get(&caller, at, len)?;
            caller.data().set_guest_response(response);
            Ok(())
        },
    )?;
    linker.func_wrap(
        HOST_NAMESPACE,
        name::GUEST_ERROR_FN,
        |caller: Guest, at: u32, len: u32| {
            let error = text(&caller, at, len)?;
            caller.data().set_guest_error(error);
            Ok(())
        },
    )?;
    linker.func_wrap(
        HOST_NAMESPACE,
        name::HOST_CALL,
        |caller: Guest,
         binding: u32,
         binding_len: u32,
         namespace: u32,
         namespace_len: u32,
         operation: u32,
         operation_len: u32,
         payload: u32,
         payload_len: u32| {
            let answer = caller.data().do_host_call(
                &text(&caller, binding, binding_len)?,
                &text(&caller, namespace, namespace_len)?,
                &text(&caller, operation, operation_len)?,
                &get(&caller, payload, payload_len)?,
            );
            answer.map_err(|e| WasmiError::new(e.to_string()))
        },
    )?;
    linker.func_wrap(
        HOST_NAMESPACE,
        name::HOST_RESPONSE_LEN_FN,
        |caller: Guest| length(caller.data().host_response_len()),
    )?;
    linker.func_wrap(
        HOST_NAMESPACE,
        name::HOST_RESPONSE_FN,
        |mut caller: Guest, at: u32| {
            let host = Arc::clone(caller.data());
            let written = host.with_host_response(|response| put(&mut caller, at, response));
            written.unwrap_or(Ok(()))
        },
    )?;
    linker.func_wrap(HOST_NAMESPACE, name::HOST_ERROR_LEN_FN, |caller: Guest| {
        length(caller.data().get_host_error().map_or(0, |e| e.len()))
    })?;
    linker.func_wrap(
        HOST_NAMESPACE,
        name::HOST_ERROR_FN,
        |mut caller: Guest, at: u32| {
            let error = caller.data().get_host_error();
            put(&mut caller, at, error.unwrap_or_default().as_bytes())
        },
    )?;
    linker.func_wrap(
        HOST_NAMESPACE,
        name::HOST_CONSOLE_LOG,
        |caller: Guest, at: u32, len: u32| {
            caller.data().do_console_log(&text(&caller, at, len)?);
            Ok(())
        },
    )?;
    Ok(linker)
}

/// The guest that calls a host function.
type Guest<'a> = Caller<'a, Arc<ModuleState>>;

fn memory(caller: &Guest) -> Result<Memory, WasmiError> {
    let memory = caller.get_export("memory").and_then(Extern::into_memory);
    memory.ok_or_else(|| WasmiError::new("the module exports no memory"))
}

fn put(caller: &mut Guest, at: u32, bytes: &[u8]) -> Result<(), WasmiError> {
    memory(caller)?.write(caller, at as usize, bytes)?;
    Ok(())
}

fn get(caller: &Guest, at: u32, len: u32) -> Result<Vec<u8>, WasmiError> {
    let data = memory(caller)?.data(caller);
    let rest = data.get(at as usize..);
    let bytes = rest.and_then(|rest| rest.get(..len as usize));
    let bytes = bytes.ok_or(TrapCode::MemoryOutOfBounds)?;
    Ok(bytes.to_vec())
}

fn text(caller: &Guest, at: u32, len: u32) -> Result<String, WasmiError> {
    String::from_utf8(get(caller, at, len)?).map_err(|e| WasmiError::new(e.to_string()))
}

fn length(bytes: usize) -> Result<u32, WasmiError> {
    u32::try_from(bytes).map_err(|e| WasmiError::new(e.to_string()))
}
