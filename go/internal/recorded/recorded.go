// Package recorded has a test that only notes what it is told, for tests of assertions.
package recorded

import (
	"context"
	"fmt"
)

// T is a managedbytest.T that never fails.
type T struct {
	ctx context.Context
	// Failures and Logs are what the test was told.
	Failures, Logs []string
}

// New makes a test with a context.
func New(ctx context.Context) *T { return &T{ctx: ctx} }

// Helper does nothing.
func (t *T) Helper() {}

// Context gives the context of New.
func (t *T) Context() context.Context { return t.ctx }

// Errorf notes a failure.
func (t *T) Errorf(format string, args ...any) {
	t.Failures = append(t.Failures, fmt.Sprintf(format, args...))
}

// Logf notes a line.
func (t *T) Logf(format string, args ...any) {
	t.Logs = append(t.Logs, fmt.Sprintf(format, args...))
}
