package managedby

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestModulesAreReleasedTogether checks that the module for controller-runtime requires this version, and that the guides install
// it.
func TestModulesAreReleasedTogether(t *testing.T) {
	manifest, err := os.ReadFile(filepath.Join("..", "managedbyclient", "go.mod"))
	if err != nil {
		t.Skipf("needs the repository around the module: %v", err)
	}
	if want := "github.com/managed-by-policy/managed-by-policy/go v" + Version + "\n"; !strings.Contains(string(manifest), want) {
		t.Errorf("managedbyclient/go.mod does not require %s", want)
	}
	for _, guide := range []string{filepath.Join("..", "README.md"), filepath.Join("..", "..", "docs", "tutorials", "controller-test.md")} {
		text, err := os.ReadFile(guide)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "/go@v"+Version+"\n") || !strings.Contains(string(text), "/managedbyclient@v"+Version) {
			t.Errorf("%s does not install release %s", guide, Version)
		}
	}
}

func TestOtherModulesAreRejected(t *testing.T) {
	other, err := os.ReadFile(filepath.Join("..", "..", "noop.wasm"))
	if err != nil {
		t.Skipf("needs the module that does nothing: make noop.wasm: %v", err)
	}
	for _, test := range []struct {
		name string
		wasm []byte
		want string
	}{
		{"nothing", nil, "cannot load the module"},
		{"half of it", wasm[:len(wasm)/2], "cannot load the module"},
		{"another policy", other, "No handler registered for function describe"},
		{"of another version", []byte(strings.ReplaceAll(string(wasm), Version, "9.9.9")), `has version "9.9.9"`},
	} {
		m, err := load(t.Context(), test.wasm)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, %v", test.name, m, err)
		}
	}
}

// TestFailureOfTheGuest exceeds the memory limit of an instance, which is dropped, and makes calls that return an error. The next
// calls succeed.
func TestFailureOfTheGuest(t *testing.T) {
	m, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.call(t.Context(), "evaluate", make([]byte, maxMemoryPages<<16)); err == nil || !strings.Contains(err.Error(), "the module failed") {
		t.Errorf("too large: %v", err)
	}
	if _, err := m.call(t.Context(), "nonsense", nil); err == nil || !strings.Contains(err.Error(), "nonsense") {
		t.Errorf("no such operation: %v", err)
	}
	if _, err := m.call(t.Context(), "evaluate", []byte(`{"releases":["1.29"],"review":{}}`)); err == nil || !strings.Contains(err.Error(), "expected a release from 1.30 to 1.37") {
		t.Errorf("no such release: %v", err)
	}
	if _, err := m.call(t.Context(), "describe", nil); err != nil {
		t.Error(err)
	}
}

// TestContextDeadlineExceededDuringCall sets a deadline that passes during a call, which takes a few tenths of a second.
func TestContextDeadlineExceededDuringCall(t *testing.T) {
	if runtime.GOMAXPROCS(0) == 1 {
		t.Skip("needs two threads: Go cannot interrupt the guest")
	}
	m, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	long := []byte(`{"review":{"request":[` + strings.Repeat("[],", 16<<20) + "[]]}}")
	if _, err := m.call(ctx, "evaluate", long); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("call after the deadline: got error %v, want %v", err, context.DeadlineExceeded)
	}
	if _, err := m.call(t.Context(), "describe", nil); err != nil {
		t.Errorf("the next call: %v", err)
	}
}

// TestMemoryIsReleased sends a large request. The instance that grew is not kept for the next call.
func TestMemoryIsReleased(t *testing.T) {
	m, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	large := append([]byte(`{"review":{}}`), bytes.Repeat([]byte(" "), maxIdleMemory)...)
	if _, err := m.call(t.Context(), "evaluate", large); err != nil {
		t.Fatal(err)
	}
	for range len(m.idle) {
		i := <-m.idle
		if i.memory() > maxIdleMemory {
			t.Errorf("an idle instance holds %d bytes", i.memory())
		}
		m.idle <- i
	}
}
