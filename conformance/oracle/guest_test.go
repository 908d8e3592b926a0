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

// modulePath is the policy as `make go/managedby/module.wasm` builds it.
const modulePath = "../../go/managedby/module.wasm"

// maxMemory is what an instance may hold between two questions. Memory of WebAssembly never shrinks.
const maxMemory = 8 << 20

// guest is the policy in wazero. The package in go/ has a host too, but its module asks for newer versions of what the
// releases are built from, so the oldest of them would not be the code that was released.
type guest struct {
	runtime  wazero.Runtime
	compiled wazero.CompiledModule
	instance api.Module
	question string
	response []byte
}

// policy is the one of this process. The fuzzer asks one question at a time in each of its processes. It gives an input 10 seconds, so
// [TestMain] compiles the module.
var policy *guest

// verdict is the policy's answer to a request.
type verdict struct {
	Accepted bool   `json:"accepted"`
	Code     int    `json:"code"`
	Message  string `json:"message"`
}

// ask gives the policy's verdict on a question: settings and request.
func ask(t testing.TB, question string) (is verdict) {
	t.Helper()
	if err := json.Unmarshal(policy.call(t, "validate", question), &is); err != nil {
		t.Fatal(err)
	}
	return is
}

// newGuest compiles the module. Of waPC it needs the functions that hand a question over and its answer back; the policy asks
// its host nothing.
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
				operation, payload, _ := strings.Cut(g.question, "\n")
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

// call runs an operation of the module, whose instance serves many, as in a program that embeds it.
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
	g.question, g.response = operation+"\n"+payload, nil
	done, err := g.instance.ExportedFunction("__guest_call").Call(ctx, uint64(len(operation)), uint64(len(payload)))
	if err != nil || done[0] == 0 {
		t.Fatalf("the policy failed: %v %s\n%s", err, g.response, payload)
	}
	return g.response
}
