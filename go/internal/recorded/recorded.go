// Package recorded contains a test double that records failures and logs, for tests of assertions.
package recorded

import (
	"context"
	"fmt"
)

// T implements managedbytest.T. It records failures instead of failing the test.
type T struct {
	ctx      context.Context
	cleanups []func()
	// Failures and Logs are the recorded messages.
	Failures, Logs []string
}

// New returns a T with a context.
func New(ctx context.Context) *T { return &T{ctx: ctx} }

// Helper does nothing.
func (t *T) Helper() {}

// Context returns the context passed to New.
func (t *T) Context() context.Context { return t.ctx }

// Cleanup registers a function that End calls.
func (t *T) Cleanup(f func()) { t.cleanups = append(t.cleanups, f) }

// End ends the test and calls the registered functions, last one first.
func (t *T) End() {
	for len(t.cleanups) > 0 {
		last := len(t.cleanups) - 1
		f := t.cleanups[last]
		t.cleanups = t.cleanups[:last]
		f()
	}
}

// Errorf records a failure.
func (t *T) Errorf(format string, args ...any) {
	t.Failures = append(t.Failures, fmt.Sprintf(format, args...))
}

// Logf records a log line.
func (t *T) Logf(format string, args ...any) {
	t.Logs = append(t.Logs, fmt.Sprintf(format, args...))
}
