// Package report tells a test what is found, wherever the code under test runs.
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

// T tells a test what is found. A write may come when the test has ended, from a goroutine that it left behind. The testing package
// panics then, so a T writes to standard error instead.
type T struct {
	managedbytest.T
	locate func() string
	mutex  sync.Mutex
	ended  bool
}

// To tells a test. If locate is not nil, it says where in the code under test, or nothing.
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
	r.tell(true, fmt.Sprintf(format, args...))
}

// Logf tells the test.
func (r *T) Logf(format string, args ...any) {
	r.Helper()
	r.tell(false, fmt.Sprintf(format, args...))
}

func (r *T) tell(fails bool, text string) {
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
	// The testing package would put a line of this package before the text.
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

// ownsOutput says whether it is a test of the testing package itself. What wraps one may have an Errorf of its own.
func ownsOutput(t testing.TB) bool {
	switch t.(type) {
	case *testing.T, *testing.B, *testing.F:
		return true
	default:
		return false
	}
}

// CallersLine is the file and the line of the code that called a client: the innermost that is not of this package, of
// managedbytest or of controller-runtime.
func CallersLine() string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	for {
		frame, more := frames.Next()
		if frame.Function != "" && !isBetween(frame.Function) {
			return fmt.Sprintf("%s:%d", short(frame.File), frame.Line)
		}
		if !more {
			return ""
		}
	}
}

// between are the packages that stand between the code under test and a report.
var between = []string{
	"github.com/managed-by-policy/managed-by-policy/go/managedbyclient.",
	"github.com/managed-by-policy/managed-by-policy/go/managedbyclient/internal/",
	"github.com/managed-by-policy/managed-by-policy/go/managedbytest.",
	"sigs.k8s.io/controller-runtime/",
	"runtime.",
}

func isBetween(function string) bool {
	for _, prefix := range between {
		if strings.HasPrefix(function, prefix) {
			return true
		}
	}
	return false
}

// short is a file from where the test runs, in the folder of its package; a file elsewhere has its folder before it.
func short(file string) string {
	if folder, err := os.Getwd(); err == nil {
		if path, err := filepath.Rel(folder, file); err == nil && filepath.IsLocal(path) {
			return path
		}
	}
	return filepath.Join(filepath.Base(filepath.Dir(file)), filepath.Base(file))
}
