package managedbytest

import (
	"fmt"

	"github.com/managed-by-policy/managed-by-policy/go/managedby"
)

// Option is an option of the packages that check the writes of a client: one of this package, or of [managedby.New], such as
// [managedby.WithReleases], [managedby.WithSettings] and [managedby.WithUser]. The default releases are [managedby.WithManagedByOnByDefault].
type Option interface{ TestOption() }

// Options are the options of a checker.
type Options struct {
	AllowNoWrites, FailOnIgnoredChanges, FailOnWarnings bool
	// Controller is the name in managedBy that all updated objects must have; empty for any.
	Controller string
	// Fail fails the test instead of Errorf.
	Fail func(message string, callerSkip ...int)
	// Policy contains the options of the policy.
	Policy []managedby.Option
}

type option func(*Options)

func (option) TestOption() {}

// AllowNoWrites permits a test in which no write is checked. Without this option, such a test fails, because its code probably uses
// another client.
func AllowNoWrites() Option { return option(func(o *Options) { o.AllowNoWrites = true }) }

// FailOnIgnoredChanges fails the test if the API server ignores a change: of the status in a write of the object, or of the spec in a write
// of the status. Without this option, such changes are warnings.
func FailOnIgnoredChanges() Option {
	return option(func(o *Options) { o.FailOnIgnoredChanges = true })
}

// FailOnWarnings fails the test for every warning. Without this option, warnings are written to standard error at the end of the test. For
// a list of packages (go test ./...), go test shows them only with -v.
func FailOnWarnings() Option { return option(func(o *Options) { o.FailOnWarnings = true }) }

// ForController fails the test if it updates an object, or its status, whose managedBy does not name this controller.
func ForController(name string) Option { return option(func(o *Options) { o.Controller = name }) }

// WithFailHandler sets the function that fails a test of another framework, so that its summary has the line of the code under test.
// For Ginkgo, pass its Fail: managedbyclient.New(GinkgoT(), c, managedbytest.WithFailHandler(Fail)).
func WithFailHandler(fail func(message string, callerSkip ...int)) Option {
	return option(func(o *Options) { o.Fail = fail })
}

// ParseOptions returns the options of a checker.
func ParseOptions(options []Option) (Options, error) {
	var parsed Options
	for _, o := range options {
		switch o := o.(type) {
		case option:
			o(&parsed)
		case managedby.Option:
			parsed.Policy = append(parsed.Policy, o)
		default:
			return parsed, fmt.Errorf("unsupported option %T", o)
		}
	}
	return parsed, nil
}
