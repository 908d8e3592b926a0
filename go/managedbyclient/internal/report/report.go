// Package report reports findings to a test, also from goroutines of the code under test.
package report

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/managed-by-policy/managed-by-policy/go/managedbytest"
)

// T reports findings to a test. After the end of the test, for example from a leaked goroutine, it writes to standard error, because
// the testing package would panic.
type T struct {
	managedbytest.T
	locate func() string
	mutex  sync.Mutex
	ended  bool
}

// To returns a T for a test. If locate is not nil, it returns the location in the code under test, or an empty string.
func To(t managedbytest.T, locate func() string) *T {
	r := &T{T: t, locate: locate}
	t.Cleanup(func() {
		r.mutex.Lock()
		defer r.mutex.Unlock()
		r.ended = true
	})
	return r
}

// Errorf fails the test.
func (r *T) Errorf(format string, args ...any) {
	r.Helper()
	r.report(true, fmt.Sprintf(format, args...))
}

// Logf logs to the test.
func (r *T) Logf(format string, args ...any) {
	r.Helper()
	r.report(false, fmt.Sprintf(format, args...))
}

func (r *T) report(fails bool, text string) {
	r.Helper()
	if r.locate != nil {
		if line := r.locate(); line != "" {
			text = line + ": " + text
		}
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.ended {
		fmt.Fprintf(os.Stderr, "managed-by-policy: after the end of the test: %s\n", text)
		return
	}
	// Errorf would print a location in this package before the text.
	if tb, ok := r.T.(testing.TB); ok && ownsOutput(tb) {
		fmt.Fprintf(tb.Output(), "%s\n", text)
		if fails {
			tb.Fail()
		}
		return
	}
	if fails {
		r.T.Errorf("%s", text)
	} else {
		r.T.Logf("%s", text)
	}
}

// ownsOutput reports whether t is a type of the testing package. A wrapper may have its own Errorf.
func ownsOutput(t testing.TB) bool {
	switch t.(type) {
	case *testing.T, *testing.B, *testing.F:
		return true
	default:
		return false
	}
}

// CallersLine returns file and line of the code that called a client: the innermost frame outside this module, managedbytest and
// controller-runtime.
func CallersLine() string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	for {
		frame, more := frames.Next()
		if frame.Function != "" && !isSkipped(frame.Function) {
			return fmt.Sprintf("%s:%d", short(frame.File), frame.Line)
		}
		if !more {
			return ""
		}
	}
}

// skipped are the prefixes of functions between the code under test and a report.
var skipped = []string{
	"github.com/managed-by-policy/managed-by-policy/go/managedbyclient.",
	"github.com/managed-by-policy/managed-by-policy/go/managedbyclient/internal/",
	"github.com/managed-by-policy/managed-by-policy/go/managedbytest.",
	"sigs.k8s.io/controller-runtime/",
	"runtime.",
}

func isSkipped(function string) bool {
	for _, prefix := range skipped {
		if strings.HasPrefix(function, prefix) {
			return true
		}
	}
	return false
}

// short returns a file's path relative to the test's working directory, or its folder and name if it is elsewhere.
func short(file string) string {
	if folder, err := os.Getwd(); err == nil {
		if path, err := filepath.Rel(folder, file); err == nil && filepath.IsLocal(path) {
			return path
		}
	}
	return filepath.Join(filepath.Base(filepath.Dir(file)), filepath.Base(file))
}
