package managedby

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// Version is the version of managed-by-policy. The package rejects modules of other versions.
const Version = "0.1.0"

// wasm is the policy with the feature "findings". `make go/managedby/module.wasm` builds it, and tags go/v... contain it.
//
//go:embed module.wasm
var wasm []byte

const (
	// maxMemoryPages limits the memory of an instance to 256 MiB, far more than the largest request needs.
	maxMemoryPages = 4096
	// maxIdleMemory is the maximum memory of an idle instance. WebAssembly memory never shrinks.
	maxIdleMemory = 8 << 20
)

// module is the compiled policy with a pool of instances.
type module struct {
	runtime  wazero.Runtime
	compiled wazero.CompiledModule
	// running contains a token for each running instance.
	running chan struct{}
	// idle contains the idle instances.
	idle chan *instance
}

// loaded compiles the embedded module once per process.
var loaded = sync.OnceValues(func() (*module, error) { return load(context.Background(), wasm) })

// load compiles a module and verifies its version.
func load(ctx context.Context, wasm []byte) (*module, error) {
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithMemoryLimitPages(maxMemoryPages))
	m, err := compile(ctx, r, wasm)
	if err == nil {
		err = m.verify(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("managedby: cannot load the module: %w", err), r.Close(ctx))
	}
	return m, nil
}

func compile(ctx context.Context, r wazero.Runtime, wasm []byte) (*module, error) {
	if err := instantiateHost(ctx, r); err != nil {
		return nil, err
	}
	compiled, err := r.CompileModule(ctx, wasm)
	if err != nil {
		return nil, err
	}
	threads := runtime.GOMAXPROCS(0)
	return &module{
		runtime:  r,
		compiled: compiled,
		running:  make(chan struct{}, threads),
		idle:     make(chan *instance, threads),
	}, nil
}

// verify returns an error if the module has another version or supports other releases.
func (m *module) verify(ctx context.Context) error {
	response, err := m.call(ctx, "describe", nil)
	if err != nil {
		return err
	}
	var description struct {
		Version  string   `json:"version"`
		Releases Releases `json:"releases"`
	}
	if err := json.Unmarshal(response, &description); err != nil {
		return err
	}
	if description.Version != Version {
		return fmt.Errorf("it has version %q, but this package has version %q: run `make go/managedby/module.wasm`", description.Version, Version)
	}
	if !slices.Equal(description.Releases, AllReleases()) {
		return fmt.Errorf("it supports releases %v, but this package supports %v", description.Releases, AllReleases())
	}
	return nil
}

// call runs one operation on an idle or new instance. It returns when the context is done. The guest then continues in the background,
// for a short time that is linear in the size of the input. Letting wazero interrupt the guest would make each call several times
// slower.
func (m *module) call(ctx context.Context, operation string, payload []byte) ([]byte, error) {
	select {
	case m.running <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	// select chooses randomly if the context has also ended.
	if ctx.Err() != nil {
		<-m.running
		return nil, context.Cause(ctx)
	}
	if ctx.Done() == nil {
		defer func() { <-m.running }()
		return m.run(ctx, operation, payload)
	}
	type result struct {
		response []byte
		err      error
	}
	done := make(chan result, 1)
	go func() {
		defer func() { <-m.running }()
		response, err := m.run(ctx, operation, payload)
		done <- result{response, err}
	}()
	select {
	case r := <-done:
		return r.response, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (m *module) run(ctx context.Context, operation string, payload []byte) ([]byte, error) {
	i, err := m.instance(ctx)
	if err != nil {
		return nil, err
	}
	response, err := i.call(ctx, operation, payload)
	var callError *guestError
	if err != nil && !errors.As(err, &callError) || i.memory() > maxIdleMemory {
		// After a trap, the state of the instance is undefined. An instance that has grown would keep its memory.
		return response, errors.Join(err, i.close())
	}
	// This never blocks, because idle has room for all instances that can run.
	m.idle <- i
	return response, err
}

func (m *module) instance(ctx context.Context) (*instance, error) {
	select {
	case i := <-m.idle:
		return i, nil
	default:
		return newInstance(ctx, m)
	}
}

// instance is an instance of the module. It is not safe for concurrent use.
type instance struct {
	module    api.Module
	guestCall api.Function
}

func newInstance(ctx context.Context, m *module) (*instance, error) {
	// Without a name there can be several instances.
	config := wazero.NewModuleConfig().WithName("").WithStartFunctions()
	module, err := m.runtime.InstantiateModule(ctx, m.compiled, config)
	if err != nil {
		return nil, fmt.Errorf("managedby: cannot instantiate the module: %w", err)
	}
	i := &instance{module: module, guestCall: module.ExportedFunction("__guest_call")}
	init := module.ExportedFunction("wapc_init")
	if i.guestCall == nil || init == nil {
		return nil, errors.Join(errors.New("managedby: the module is not a waPC guest"), i.close())
	}
	if _, err := init.Call(withExchange(ctx, &exchange{})); err != nil {
		return nil, errors.Join(fmt.Errorf("managedby: cannot initialize the module: %w", err), i.close())
	}
	return i, nil
}

// call runs one operation. After an error other than *guestError the instance is unusable.
func (i *instance) call(ctx context.Context, operation string, payload []byte) ([]byte, error) {
	x := exchange{operation: operation, payload: payload}
	stack := [2]uint64{uint64(len(operation)), uint64(len(payload))}
	err := i.guestCall.CallWithStack(withExchange(ctx, &x), stack[:])
	switch {
	case err != nil && x.log != "":
		return nil, fmt.Errorf("managedby: the module failed: %s", x.log)
	case err != nil:
		return nil, fmt.Errorf("managedby: the module failed: %w", err)
	case uint32(stack[0]) == 0:
		return nil, &guestError{x.failure}
	}
	return x.response, nil
}

// memory returns the size of the instance's memory in bytes.
func (i *instance) memory() uint32 { return i.module.Memory().Size() }

func (i *instance) close() error { return i.module.Close(context.Background()) }

// guestError is an error that the guest returned. The instance remains usable.
type guestError struct{ message string }

func (e *guestError) Error() string { return "managedby: " + e.message }
