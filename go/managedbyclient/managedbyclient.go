// Package managedbyclient checks every write that the code under test makes through a controller-runtime client. If a
// kube-apiserver release would deny the write, it fails the test with kube-apiserver's error.
//
//	c := fake.NewClientBuilder().WithObjects(job).WithInterceptorFuncs(managedbyclient.Funcs(t)).Build()
//	reconciler := &Reconciler{Client: c}
//
// With envtest, wrap the client: managedbyclient.New(t, c). The API server there validates writes too, but only for its own release.
//
// A write that a release would deny is not sent, and the code under test gets the API server's error. A server-side apply is sent
// first and its result checked, because only the API server can compute it.
//
// The releases, settings and user are options of package managedby: managedbyclient.New(t, c, managedby.WithReleases(managedby.V1_36)).
//
// Each finding is reported once. When a test ends, it logs how many writes were checked, and fails if there were none.
package managedbyclient

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/managed-by-policy/managed-by-policy/go/managedby"
	"github.com/managed-by-policy/managed-by-policy/go/managedbyclient/internal/report"
	"github.com/managed-by-policy/managed-by-policy/go/managedbytest"
)

// Option configures the checks: an option of this package, or of [managedby.New], such as [managedby.WithReleases],
// [managedby.WithSettings] and [managedby.WithUser]. The default releases are [managedby.WithManagedByOnByDefault].
type Option interface{ TestOption() }

type option func(*writeChecker)

func (option) TestOption() {}

// WithReader sets the reader that fetches stored objects. Pass an uncached reader if the client reads from a cache.
func WithReader(reader client.Reader) Option {
	return option(func(w *writeChecker) { w.reader = reader })
}

// WithFailHandler sets the function that fails a test of another framework, so that its summary has the line of the code under test.
// For Ginkgo, pass its Fail: managedbyclient.New(GinkgoT(), c, managedbyclient.WithFailHandler(Fail)).
func WithFailHandler(fail func(message string, callerSkip ...int)) Option {
	return option(func(w *writeChecker) { w.report.Fail = fail })
}

// AllowNoWrites permits a test in which no write is checked. Without this option, such a test fails, because its code probably uses
// another client.
func AllowNoWrites() Option {
	return option(func(w *writeChecker) { w.allowNoWrites = true })
}

// FailOnIgnoredChanges fails the test if the API server ignores a change: of the status in Update or Patch, or of the spec in a write of
// the status. Without this option, such changes are warnings, which are written to standard error at the end of the test. For a list of
// packages (go test ./...), go test shows them only with -v.
func FailOnIgnoredChanges() Option {
	return option(func(w *writeChecker) { w.failOnIgnored = true })
}

// VerifyTestMain runs the tests of a package, and exits. The exit code is 1 if a test fails, or if a write that a release denies is made
// after the end of its test, for example by a leaked goroutine. Without it, go test shows such a write only with -v.
//
//	func TestMain(m *testing.M) { managedbyclient.VerifyTestMain(m) }
func VerifyTestMain(m *testing.M) {
	code := m.Run()
	if late := report.LateFailures(); late > 0 && code == 0 {
		fmt.Fprintf(os.Stderr, "managed-by-policy: denied writes after the end of their test: %d\n", late)
		code = 1
	}
	os.Exit(code)
}

// New wraps a client, such as one for envtest or the client of a manager. For a manager that you create, see [ForManager].
func New(t managedbytest.T, c client.Client, options ...Option) client.Client {
	t.Helper()
	if watching, ok := c.(client.WithWatch); ok {
		return NewWithWatch(t, watching, options...)
	}
	return struct{ client.Client }{NewWithWatch(t, withoutWatch{c}, options...)}
}

// NewWithWatch wraps a client with Watch.
func NewWithWatch(t managedbytest.T, c client.WithWatch, options ...Option) client.WithWatch {
	t.Helper()
	return interceptor.NewClient(c, Funcs(t, options...))
}

// withoutWatch adapts a client for the interceptor, which requires Watch but does not call it.
type withoutWatch struct{ client.Client }

func (withoutWatch) Watch(context.Context, client.ObjectList, ...client.ListOption) (watch.Interface, error) {
	return nil, errors.ErrUnsupported
}

// ForManager wraps the clients of a manager. They look up stored objects in the API server, not in the manager's cache.
//
//	mgr, err := manager.New(config, manager.Options{NewClient: managedbyclient.ForManager(t)})
func ForManager(t managedbytest.T, options ...Option) client.NewClientFunc {
	return func(config *rest.Config, opts client.Options) (client.Client, error) {
		t.Helper()
		c, err := client.New(config, opts)
		if err != nil {
			return nil, err
		}
		opts.Cache = nil
		direct, err := client.New(config, opts)
		if err != nil {
			return nil, err
		}
		return New(t, c, append([]Option{WithReader(direct)}, options...)...), nil
	}
}

// Funcs returns interceptors for the fake client's WithInterceptorFuncs. They check creates, updates, patches and applies of objects
// and their status.
func Funcs(t managedbytest.T, options ...Option) interceptor.Funcs {
	t.Helper()
	w := &writeChecker{
		report: report.Options{Located: true}, callSite: report.CallersLine(),
		options: []managedby.Option{managedby.WithReleases(managedby.WithManagedByOnByDefault()...)},
	}
	for _, o := range options {
		switch o := o.(type) {
		case option:
			o(w)
		case managedby.Option:
			w.options = append(w.options, o)
		default:
			t.Errorf("managedbyclient: unsupported option %T", o)
		}
	}
	w.t = report.New(t, w.report)
	var err error
	if w.policy, err = managedby.New(t.Context(), w.options...); err != nil {
		t.Errorf("%v", err)
		return interceptor.Funcs{}
	}
	t.Cleanup(w.summarize)
	return interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			return w.create(ctx, c, obj, func() error { return c.Create(ctx, obj, opts...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
			return w.update(ctx, c, "", obj, func() error { return c.Update(ctx, obj, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			dryRun := isDryRun((&client.PatchOptions{}).ApplyOptions(opts).DryRun)
			return w.patch(ctx, c, "", obj, patch, dryRun, func() error { return c.Patch(ctx, obj, patch, opts...) })
		},
		Apply: func(ctx context.Context, c client.WithWatch, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			applyOptions := &client.ApplyOptions{}
			applyOptions.ApplyOptions(opts)
			return w.apply(ctx, c, "", obj, obj, isDryRun(applyOptions.DryRun), func() error { return c.Apply(ctx, obj, opts...) })
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, subResource string, obj client.Object, opts ...client.SubResourceUpdateOption) error {
			body := (&client.SubResourceUpdateOptions{}).ApplyOptions(opts).SubResourceBody
			write := func() error { return c.SubResource(subResource).Update(ctx, obj, opts...) }
			return w.update(ctx, c, subResource, subResourceBody(obj, body), write)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, subResource string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			patchOptions := (&client.SubResourcePatchOptions{}).ApplyOptions(opts)
			write := func() error { return c.SubResource(subResource).Patch(ctx, obj, patch, opts...) }
			return w.patch(ctx, c, subResource, subResourceBody(obj, patchOptions.SubResourceBody), patch, isDryRun(patchOptions.DryRun), write)
		},
		SubResourceApply: func(ctx context.Context, c client.Client, subResource string, obj runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
			write := func() error { return c.SubResource(subResource).Apply(ctx, obj, opts...) }
			applyOptions := (&client.SubResourceApplyOptions{}).ApplyOpts(opts)
			body := obj
			if applyOptions.SubResourceBody != nil {
				body = applyOptions.SubResourceBody
			}
			return w.apply(ctx, c, subResource, obj, body, isDryRun(applyOptions.DryRun), write)
		},
	}
}

func isDryRun(options []string) bool { return slices.Contains(options, metav1.DryRunAll) }

// subResourceBody returns the body of a subresource write: the object, unless the options set another body.
func subResourceBody(obj, body client.Object) client.Object {
	if body != nil {
		return body
	}
	return obj
}
