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
// The releases, settings and user are options of package managedby: managedbyclient.New(t, c, managedby.WithReleases(managedby.V1_36)). Package
// managedbytest has options for failures, such as [managedbytest.FailOnWarnings].
//
// Each finding is reported once. When a test ends, it logs how many writes were checked, and fails if there were none.
package managedbyclient

import (
	"cmp"
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

	"github.com/managed-by-policy/managed-by-policy/go/internal/check"
	"github.com/managed-by-policy/managed-by-policy/go/internal/report"
	"github.com/managed-by-policy/managed-by-policy/go/managedbytest"
)

// Option is an option of [managedbytest], of [managedby.New], or [WithReader].
type Option = managedbytest.Option

type readerOption struct{ client.Reader }

func (readerOption) TestOption() {}

// WithReader sets the reader that fetches stored objects. Pass an uncached reader if the client reads from a cache.
func WithReader(reader client.Reader) Option { return readerOption{reader} }

// VerifyTestMain runs the tests of a package, and exits. The exit code is 1 if a test fails, or if a write that a release denies is made
// after the end of its test, for example by a leaked goroutine. Without it, go test shows such a write only with -v.
//
//	func TestMain(m *testing.M) { managedbyclient.VerifyTestMain(m) }
//
// To clean up before it exits, such as to stop envtest, pass functions. They get the exit code.
func VerifyTestMain(m *testing.M, cleanups ...func(code int)) {
	code := m.Run()
	if late := report.LateFailures(); late > 0 && code == 0 {
		fmt.Fprintf(os.Stderr, "managed-by-policy: denied writes after the end of their test: %d\n", late)
		code = 1
	}
	for _, cleanup := range cleanups {
		cleanup(code)
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
	w := &writeChecker{}
	var others []Option
	for _, o := range options {
		if reader, ok := o.(readerOption); ok {
			w.reader = reader.Reader
		} else {
			others = append(others, o)
		}
	}
	if w.Checker = check.New(t, "managedbyclient", true, others); w.Checker == nil {
		return interceptor.Funcs{}
	}
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
			return w.update(ctx, c, subResource, cmp.Or(body, obj), write)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, subResource string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			patchOptions := (&client.SubResourcePatchOptions{}).ApplyOptions(opts)
			write := func() error { return c.SubResource(subResource).Patch(ctx, obj, patch, opts...) }
			return w.patch(ctx, c, subResource, cmp.Or(patchOptions.SubResourceBody, obj), patch, isDryRun(patchOptions.DryRun), write)
		},
		SubResourceApply: func(ctx context.Context, c client.Client, subResource string, obj runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
			write := func() error { return c.SubResource(subResource).Apply(ctx, obj, opts...) }
			applyOptions := (&client.SubResourceApplyOptions{}).ApplyOpts(opts)
			// A subresource may have another body than the object.
			body := cmp.Or[runtime.ApplyConfiguration](applyOptions.SubResourceBody, obj)
			return w.apply(ctx, c, subResource, obj, body, isDryRun(applyOptions.DryRun), write)
		},
	}
}

func isDryRun(options []string) bool { return slices.Contains(options, metav1.DryRunAll) }
