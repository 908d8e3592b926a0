package managedby

import (
	"context"
	"errors"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// exchange is one call of waPC: what the guest fetches, and what it hands back.
type exchange struct {
	operation string
	payload   []byte
	response  []byte
	failure   string
	log       string
}

type exchangeKey struct{}

// withExchange lets the host's functions find the exchange of the call that runs them.
func withExchange(ctx context.Context, x *exchange) context.Context {
	return context.WithValue(ctx, exchangeKey{}, x)
}

var errOutOfMemory = errors.New("the guest named memory that it does not have")

// hostFunction is one of waPC's imports. Its parameters are 32 bits wide.
type hostFunction struct {
	name       string
	parameters int
	results    int
	call       func(x *exchange, memory api.Memory, stack []uint64)
}

// hostFunctions are all that waPC 1 imports. The guest asks nothing of the host, so those for questions say that there is no answer.
var hostFunctions = []hostFunction{
	{"__guest_request", 2, 0, func(x *exchange, memory api.Memory, stack []uint64) {
		if !memory.WriteString(uint32(stack[0]), x.operation) || !memory.Write(uint32(stack[1]), x.payload) {
			panic(errOutOfMemory)
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

// read gives the bytes that the first two parameters name. They are the guest's: copy them.
func read(memory api.Memory, stack []uint64) []byte {
	bytes, ok := memory.Read(uint32(stack[0]), uint32(stack[1]))
	if !ok {
		// wazero makes it the error of the call.
		panic(errOutOfMemory)
	}
	return bytes
}

// instantiateHost gives the runtime the module "wapc", which the guest imports.
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
