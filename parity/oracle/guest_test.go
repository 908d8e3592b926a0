package main

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// modulePath is the policy module that `make go/managedby/module.wasm` builds.
const modulePath = "../../go/managedby/module.wasm"

// maxMemory is the memory size above which an instance is replaced. WebAssembly memory never shrinks.
const maxMemory = 8 << 20

// guest runs the policy module in wazero. It doesn't use the host in package managedby, whose go.mod requires newer Kubernetes
// dependencies: with these, the oracles of the oldest releases would not test the released code.
type guest struct {
	runtime  wazero.Runtime
	compiled wazero.CompiledModule
	instance api.Module
	request  string
	response []byte
}

// policy is shared by all inputs in this process; the fuzzer runs one input at a time per process. [TestMain] compiles the module,
// because the fuzzer limits each input to 10 seconds.
var policy *guest

// verdict is the policy's response to a request.
type verdict struct {
	Accepted bool   `json:"accepted"`
	Code     int    `json:"code"`
	Message  string `json:"message"`
}

// review returns the policy's verdict on a payload: settings and request.
func review(t testing.TB, payload string) (result verdict) {
	t.Helper()
	if err := json.Unmarshal(policy.call(t, "validate", payload), &result); err != nil {
		t.Fatal(err)
	}
	return result
}

// newGuest compiles the module. It implements only waPC's functions for request and response, because the policy makes no host calls.
func newGuest() *guest {
	ctx := context.Background()
	wasm, err := os.ReadFile(modulePath)
	if err != nil {
		panic(err)
	}
	g := &guest{runtime: wazero.NewRuntime(ctx)}
	if g.compiled, err = g.runtime.CompileModule(ctx, wasm); err != nil {
		panic(err)
	}
	host := g.runtime.NewHostModuleBuilder("wapc")
	for _, f := range g.compiled.ImportedFunctions() {
		_, name, _ := f.Import()
		function := func(memory api.Memory, stack []uint64) { clear(stack) }
		switch name {
		case "__guest_request":
			function = func(memory api.Memory, stack []uint64) {
				operation, payload, _ := strings.Cut(g.request, "\n")
				memory.WriteString(uint32(stack[0]), operation)
				memory.WriteString(uint32(stack[1]), payload)
			}
		case "__guest_response", "__guest_error", "__console_log":
			function = func(memory api.Memory, stack []uint64) {
				bytes, _ := memory.Read(uint32(stack[0]), uint32(stack[1]))
				g.response = append(g.response[:0], bytes...)
			}
		}
		call := func(_ context.Context, m api.Module, stack []uint64) { function(m.Memory(), stack) }
		host.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(call), f.ParamTypes(), f.ResultTypes()).Export(name)
	}
	if _, err := host.Instantiate(ctx); err != nil {
		panic(err)
	}
	return g
}

// call runs an operation of the module and reuses the instance, like a program that embeds it.
func (g *guest) call(t testing.TB, operation, payload string) []byte {
	t.Helper()
	ctx := context.Background()
	if g.instance != nil && g.instance.Memory().Size() > maxMemory {
		g.instance.Close(ctx)
		g.instance = nil
	}
	if g.instance == nil {
		instance, err := g.runtime.InstantiateModule(ctx, g.compiled, wazero.NewModuleConfig().WithName("").WithStartFunctions("wapc_init"))
		if err != nil {
			t.Fatal(err)
		}
		g.instance = instance
	}
	g.request, g.response = operation+"\n"+payload, nil
	done, err := g.instance.ExportedFunction("__guest_call").Call(ctx, uint64(len(operation)), uint64(len(payload)))
	if err != nil || done[0] == 0 {
		t.Fatalf("the policy failed: %v %s\n%s", err, g.response, payload)
	}
	return g.response
}
