package managedby

import (
	"context"
	"errors"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// exchange is the state of a waPC call: its request and response.
type exchange struct {
	operation string
	payload   []byte
	response  []byte
	failure   string
	log       string
}

type exchangeKey struct{}

// withExchange adds the exchange to the context of a call, for the host functions.
func withExchange(ctx context.Context, x *exchange) context.Context {
	return context.WithValue(ctx, exchangeKey{}, x)
}

var errOutOfBounds = errors.New("the guest passed an address outside its memory")

// hostFunction is one of waPC's imports. Its parameters are 32 bits wide.
type hostFunction struct {
	name       string
	parameters int
	results    int
	call       func(x *exchange, memory api.Memory, stack []uint64)
}

// hostFunctions are all imports of waPC 1. The guest makes no host calls, so the functions for them return failure.
var hostFunctions = []hostFunction{
	{"__guest_request", 2, 0, func(x *exchange, memory api.Memory, stack []uint64) {
		if !memory.WriteString(uint32(stack[0]), x.operation) || !memory.Write(uint32(stack[1]), x.payload) {
			panic(errOutOfBounds)
		}
	}},
	{"__guest_response", 2, 0, func(x *exchange, memory api.Memory, stack []uint64) {
		x.response = append([]byte(nil), read(memory, stack)...)
	}},
	{"__guest_error", 2, 0, func(x *exchange, memory api.Memory, stack []uint64) { x.failure = string(read(memory, stack)) }},
	{"__console_log", 2, 0, func(x *exchange, memory api.Memory, stack []uint64) { x.log = string(read(memory, stack)) }},
	{"__host_call", 8, 1, func(_ *exchange, _ api.Memory, stack []uint64) { stack[0] = 0 }},
	{"__host_response_len", 0, 1, func(_ *exchange, _ api.Memory, stack []uint64) { stack[0] = 0 }},
	{"__host_response", 1, 0, func(*exchange, api.Memory, []uint64) {}},
	{"__host_error_len", 0, 1, func(_ *exchange, _ api.Memory, stack []uint64) { stack[0] = 0 }},
	{"__host_error", 1, 0, func(*exchange, api.Memory, []uint64) {}},
}

// read returns the bytes at the address and length in the first two parameters. They alias guest memory, so callers must copy them.
func read(memory api.Memory, stack []uint64) []byte {
	bytes, ok := memory.Read(uint32(stack[0]), uint32(stack[1]))
	if !ok {
		// wazero returns the panic as the error of the call.
		panic(errOutOfBounds)
	}
	return bytes
}

// instantiateHost adds the module "wapc", which the guest imports, to the runtime.
func instantiateHost(ctx context.Context, r wazero.Runtime) error {
	builder := r.NewHostModuleBuilder("wapc")
	for _, f := range hostFunctions {
		call := api.GoModuleFunc(func(ctx context.Context, guest api.Module, stack []uint64) {
			x, ok := ctx.Value(exchangeKey{}).(*exchange)
			if !ok {
				panic(errors.New("the guest was called without an exchange"))
			}
			f.call(x, guest.Memory(), stack)
		})
		builder = builder.NewFunctionBuilder().WithGoModuleFunction(call, i32s(f.parameters), i32s(f.results)).Export(f.name)
	}
	_, err := builder.Instantiate(ctx)
	return err
}

func i32s(n int) []api.ValueType {
	types := make([]api.ValueType, n)
	for i := range types {
		types[i] = api.ValueTypeI32
	}
	return types
}
