package managedby_test

import (
	"testing"

	"github.com/managed-by-policy/managed-by-policy/go/managedby"
)

func newPolicy(t testing.TB, options ...managedby.Option) *managedby.Policy {
	t.Helper()
	policy, err := managedby.New(t.Context(), options...)
	if err != nil {
		t.Fatal(err)
	}
	return policy
}
