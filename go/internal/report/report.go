// Package report reports findings to a test, also from goroutines of the code under test.
package report

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/managed-by-policy/managed-by-policy/go/managedbytest"
)

// lateFailures counts failures after the end of their test.
var lateFailures atomic.Int64

// LateFailures returns the number of failures after the end of their test.
func LateFailures() int64 { return lateFailures.Load() }

// T reports findings to a test, each once. After the end of the test, for example from a leaked goroutine, it writes to standard error,
// because the testing package would panic.
type T struct {
	managedbytest.T
	// located adds the location in the code under test to each text.
	located bool
	// failAt, if set, fails the test at a location of the stack instead of Errorf, except for *testing.T, *testing.B and *testing.F.
	failAt   func(message string, callerSkip ...int)
	mutex    sync.Mutex
	ended    bool
	failures int
	// repeats counts the repetitions of each text, texts has the texts in their order, and warnings those of Logf.
	repeats         map[string]int
	texts, warnings []string
}

// New returns a T for a test.
func New(t managedbytest.T, located bool, failAt func(message string, callerSkip ...int)) *T {
	r := &T{T: t, located: located, failAt: failAt, repeats: map[string]int{}}
	t.Cleanup(r.end)
	return r
}

// end reports how often findings were repeated, and writes warnings to standard error, because go test hides the log of a test that
// passes. (For a list of packages, it hides standard error too.) It runs when the test ends; later findings go to standard error too.
func (r *T) end() {
	r.Helper()
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for _, text := range r.texts {
		if n := r.repeats[text]; n > 0 {
			first, _, _ := strings.Cut(text, "\n")
			times := "times"
			if n == 1 {
				times = "time"
			}
			r.write(false, fmt.Sprintf("%s: %d more %s", strings.TrimSuffix(first, ":"), n, times))
		}
	}
	if testing.Testing() && !testing.Verbose() && !FailedOrSkipped(r.T) {
		for _, text := range r.warnings {
			times := ""
			if n := r.repeats[text]; n > 0 {
				times = fmt.Sprintf(" (%d times)", n+1)
			}
			fmt.Fprintf(os.Stderr, "managed-by-policy: %s%s\n", text, times)
		}
	}
	r.ended = true
}

// Errorf fails the test.
func (r *T) Errorf(format string, args ...any) {
	r.Helper()
	r.report(true, r.locate()+fmt.Sprintf(format, args...))
}

// Logf logs a warning to the test.
func (r *T) Logf(format string, args ...any) {
	r.Helper()
	text := r.locate() + fmt.Sprintf(format, args...)
	if isNew := r.report(false, text); isNew {
		r.mutex.Lock()
		defer r.mutex.Unlock()
		r.warnings = append(r.warnings, text)
	}
}

// Summarize reports a text about the whole test, which has no location in the code under test.
func (r *T) Summarize(fails bool, text string) {
	r.Helper()
	r.report(fails, text)
}

// locate returns the location in the code under test as a prefix.
func (r *T) locate() string {
	if !r.located {
		return ""
	}
	if line := CallersLine(); line != "" {
		return line + ": "
	}
	return ""
}

// report reports a text, and returns true if it is the first time.
func (r *T) report(fails bool, text string) bool {
	r.Helper()
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.ended && fails {
		lateFailures.Add(1)
	}
	if n, known := r.repeats[text]; known {
		r.repeats[text] = n + 1
		return false
	}
	r.repeats[text] = 0
	r.texts = append(r.texts, text)
	if r.ended {
		fmt.Fprintf(os.Stderr, "managed-by-policy: after the end of the test: %s\n", text)
		return true
	}
	r.write(fails, text)
	return true
}

func (r *T) write(fails bool, text string) {
	r.Helper()
	// Errorf would print a location in this package before the text.
	if tb, ok := r.T.(testing.TB); ok && isTestingType(tb) {
		fmt.Fprintf(tb.Output(), "%s\n", text)
		if fails {
			tb.Fail()
		}
		return
	}
	if fails {
		r.fail(text)
	} else {
		r.T.Logf("%s", text)
	}
}

// fail fails a test that is not of the testing package. Ginkgo panics to end the goroutine, which would end the process if it is not
// the goroutine of the test. Ginkgo has recorded the failure, so the code under test continues and gets the API server's error.
func (r *T) fail(text string) {
	r.Helper()
	r.failures++
	defer func() {
		if p := recover(); p != nil {
			if !strings.HasPrefix(reflect.TypeOf(p).PkgPath(), "github.com/onsi/ginkgo/") {
				panic(p)
			}
			// Ginkgo keeps only the first failure of a spec.
			if r.failures > 1 {
				r.T.Logf("%s", text)
			}
		}
	}()
	if r.failAt != nil {
		_, depth := caller()
		r.failAt(text, depth)
		return
	}
	r.T.Errorf("%s", text)
}

// isTestingType reports whether t is a type of the testing package. A wrapper may have its own Errorf.
func isTestingType(t testing.TB) bool {
	switch t.(type) {
	case *testing.T, *testing.B, *testing.F:
		return true
	default:
		return false
	}
}

// FailedOrSkipped reports whether a test failed or was skipped.
func FailedOrSkipped(t managedbytest.T) bool {
	state, ok := t.(interface {
		Failed() bool
		Skipped() bool
	})
	return ok && (state.Failed() || state.Skipped())
}

// CallersLine returns file and line of the code that called a client: the innermost frame whose function matches no prefix in
// skipped. It is empty if there is no such frame.
func CallersLine() string {
	if frame, _ := caller(); frame.Function != "" {
		return fmt.Sprintf("%s:%d", shortPath(frame.File), frame.Line)
	}
	return ""
}

// caller returns the frame for CallersLine, and its depth: 0 for the caller of this function. Without such a frame, both are zero.
func caller() (runtime.Frame, int) {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	for depth := 0; ; depth++ {
		frame, more := frames.Next()
		if frame.Function != "" && !isSkipped(frame.Function) {
			return frame, depth
		}
		if !more {
			return runtime.Frame{}, 0
		}
	}
}

// skipped are the prefixes of functions between the code under test and a report.
var skipped = []string{
	"github.com/managed-by-policy/managed-by-policy/go/managedbyclient.",
	"github.com/managed-by-policy/managed-by-policy/go/internal/check.",
	"github.com/managed-by-policy/managed-by-policy/go/internal/report.",
	"github.com/managed-by-policy/managed-by-policy/go/managedbyclient/managedbytransport.",
	"github.com/managed-by-policy/managed-by-policy/go/managedbyclient/managedbyreactor.",
	"github.com/managed-by-policy/managed-by-policy/go/managedbytest.",
	"sigs.k8s.io/controller-runtime/",
	"k8s.io/client-go/",
	"net/http.",
	"runtime.",
	"testing.",
	"github.com/onsi/ginkgo/",
}

func isSkipped(function string) bool {
	return slices.ContainsFunc(skipped, func(prefix string) bool { return strings.HasPrefix(function, prefix) })
}

// shortPath returns a file's path relative to the test's working directory, or its folder and name if it is elsewhere.
func shortPath(file string) string {
	if folder, err := os.Getwd(); err == nil {
		if path, err := filepath.Rel(folder, file); err == nil && filepath.IsLocal(path) {
			return path
		}
	}
	return filepath.Join(filepath.Base(filepath.Dir(file)), filepath.Base(file))
}
