// Package recorded has a test that only notes what it is told, for tests of assertions.
package recorded

import (
	"context"
	"fmt"
)

// T is a managedbytest.T that never fails.
type T struct {
	ctx      context.Context
	cleanups []func()
	// Failures and Logs are what the test was told.
	Failures, Logs []string
}

// New makes a test with a context.
func New(ctx context.Context) *T { return &T{ctx: ctx} }

// Helper does nothing.
func (t *T) Helper() {}

// Context gives the context of New.
func (t *T) Context() context.Context { return t.ctx }

// Cleanup keeps a function for End.
func (t *T) Cleanup(f func()) { t.cleanups = append(t.cleanups, f) }

// End ends the test: what Cleanup was given runs, the last first.
func (t *T) End() {
	for len(t.cleanups) > 0 {
		last := len(t.cleanups) - 1
		f := t.cleanups[last]
		t.cleanups = t.cleanups[:last]
		f()
	}
}

// Errorf notes a failure.
func (t *T) Errorf(format string, args ...any) {
	t.Failures = append(t.Failures, fmt.Sprintf(format, args...))
}

// Logf notes a line.
func (t *T) Logf(format string, args ...any) {
	t.Logs = append(t.Logs, fmt.Sprintf(format, args...))
}
