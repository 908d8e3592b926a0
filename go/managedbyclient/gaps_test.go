package managedbyclient_test

import (
	"context"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	applybatchv1 "k8s.io/client-go/applyconfigurations/batch/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/managed-by-policy/managed-by-policy/go/internal/recorded"
	"github.com/managed-by-policy/managed-by-policy/go/managedby"
	"github.com/managed-by-policy/managed-by-policy/go/managedbyclient"
	"github.com/managed-by-policy/managed-by-policy/go/managedbytest"
)

// TestCachedClient writes through a client whose cache is empty or outdated. A write that succeeds without a check fails the test, if the kind
// has rules.
func TestCachedClient(t *testing.T) {
	other := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "other", Namespace: "default"}}
	for name, cached := range map[string]func(client.Object) error{
		"empty": func(obj client.Object) error {
			return apierrors.NewNotFound(schema.GroupResource{Resource: "jobs"}, obj.GetName())
		},
		"outdated": func(obj client.Object) error {
			obj.SetResourceVersion("1")
			return nil
		},
	} {
		open := func() (store, cache client.WithWatch) {
			store = fake.NewClientBuilder().WithObjects(job(), other.DeepCopy()).Build()
			return store, interceptor.NewClient(store, interceptor.Funcs{
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, options ...client.GetOption) error {
					if err := c.Get(ctx, key, obj, options...); err != nil {
						return err
					}
					return cached(obj)
				},
			})
		}
		for _, write := range []struct {
			method string
			make   func(c client.Client, obj *batchv1.Job) error
		}{
			{"Status().Apply", func(c client.Client, obj *batchv1.Job) error {
				status := applybatchv1.JobStatus().WithActive(1)
				return c.Status().Apply(t.Context(), applybatchv1.Job(obj.Name, obj.Namespace).WithStatus(status), client.FieldOwner("test"))
			}},
			{"Status().Update", func(c client.Client, obj *batchv1.Job) error { return c.Status().Update(t.Context(), obj) }},
			{"Status().Patch", func(c client.Client, obj *batchv1.Job) error {
				old := obj.DeepCopy()
				obj.Status.Failed++
				return c.Status().Patch(t.Context(), obj, client.MergeFromWithOptions(old, client.MergeFromWithOptimisticLock{}))
			}},
			{"Update", func(c client.Client, obj *batchv1.Job) error {
				if err := c.Update(t.Context(), other.DeepCopy()); err != nil {
					return err
				}
				return c.Update(t.Context(), obj)
			}},
		} {
			if name == "outdated" && write.method == "Status().Apply" {
				continue // An apply has no resourceVersion to compare.
			}
			r := recorded.New(t.Context())
			store, cache := open()
			if err := write.make(managedbyclient.New(r, cache), get(t, store)); err != nil {
				t.Errorf("%s: %v", write.method, err)
			}
			want := write.method + " of Job default/pi: the write succeeded but was not checked"
			if len(r.Failures) != 1 || !strings.Contains(r.Failures[0], want) || !strings.HasPrefix(r.Failures[0], "gaps_test.go:") {
				t.Errorf("%s cache, %s: got failures %q, want %q", name, write.method, r.Failures, want)
			}
			r = recorded.New(t.Context())
			store, cache = open()
			if err := write.make(managedbyclient.New(r, cache, managedbyclient.WithReader(store)), get(t, store)); err != nil || len(r.Failures) != 0 {
				t.Errorf("%s cache, %s, WithReader: %v, failures %q", name, write.method, err, r.Failures)
			}
		}
	}
}

// TestWarningsAreVisible runs a passing test without -v, as go test does in the folder of a package.
func TestWarningsAreVisible(t *testing.T) {
	const variable = "WARNINGS=yes"
	if isSet(variable) {
		c := managedbyclient.New(t, fake.NewClientBuilder().WithObjects(job()).Build())
		for range 2 {
			obj := get(t, c)
			obj.Status.Active = 1
			if err := c.Update(t.Context(), obj); err != nil {
				t.Error(err)
			}
		}
		obj := get(t, c)
		obj.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobSuspended, Status: "true"}}
		if err := c.Status().Update(t.Context(), obj); err != nil {
			t.Error(err)
		}
		managedbytest.AssertStatusUpdate(t, job(), obj, managedby.AllReleases())
		return
	}
	output, err := runAgain(t, "^TestWarningsAreVisible$", variable)
	for _, warning := range []string{
		": Update of Job default/pi: the changed status is ignored: use Status().Update (2 times)\n",
		`: Status().Update of Job default/pi: Kubernetes 1.32 to 1.37: status.conditions[0].status: Unsupported value: "true"`,
		`: Update of the status of Job default/pi: Kubernetes 1.30 to 1.37: status.conditions[0].status: Unsupported value: "true"`,
	} {
		if err != nil || strings.Count(output, warning) != 1 {
			t.Errorf("%v: %q is not printed once: %s", err, warning, output)
		}
	}
}
