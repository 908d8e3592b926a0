package envtest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	clientfake "sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/managed-by-policy/managed-by-policy/go/internal/check"
	"github.com/managed-by-policy/managed-by-policy/go/internal/recorded"
	"github.com/managed-by-policy/managed-by-policy/go/managedby"
	"github.com/managed-by-policy/managed-by-policy/go/managedbyclient"
	"github.com/managed-by-policy/managed-by-policy/go/managedbyclient/managedbyreactor"
	"github.com/managed-by-policy/managed-by-policy/go/managedbyclient/managedbytransport"
	"github.com/managed-by-policy/managed-by-policy/go/managedbytest"
)

// mistake is the rejected example of a rule: a status that a Job gets, and the status before.
type mistake struct {
	rule      string
	OldObject struct{ Spec, Status json.RawMessage }
	Object    struct{ Status json.RawMessage }
}

// mistakes reads the rejected examples of a family of rules from their pages.
func mistakes(t *testing.T, family string) []mistake {
	t.Helper()
	pages, err := filepath.Glob("../../crates/managed-by/src/rule/" + family + "/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("no pages: %v", err)
	}
	var all []mistake
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		_, example, _ := strings.Cut(string(text), "\n## Rejected\n")
		_, example, _ = strings.Cut(example, "```json\n")
		example, _, _ = strings.Cut(example, "```")
		m := mistake{rule: strings.TrimSuffix(filepath.Base(page), ".md")}
		if err := json.Unmarshal([]byte(example), &m); err != nil {
			t.Fatalf("%s: %v", page, err)
		}
		all = append(all, m)
	}
	return all
}

// job returns the Job of the example with its template. The examples with a success policy omit its rules.
func (m *mistake) job(t *testing.T, name string) *batchv1.Job {
	t.Helper()
	job := delegated(name)
	if err := json.Unmarshal(m.OldObject.Spec, &job.Spec); err != nil {
		t.Fatal(err)
	}
	if policy := job.Spec.SuccessPolicy; policy != nil {
		policy.Rules = []batchv1.SuccessPolicyRule{{SucceededCount: ptr[int32](1)}}
		job.Spec.CompletionMode, job.Spec.Completions = ptr(batchv1.IndexedCompletion), ptr[int32](1)
	}
	return job
}

func (m *mistake) status(t *testing.T, text json.RawMessage) batchv1.JobStatus {
	t.Helper()
	var status batchv1.JobStatus
	if err := json.Unmarshal(text, &status); err != nil {
		t.Fatal(err)
	}
	return status
}

var jobKind = batchv1.SchemeGroupVersion.WithKind("Job")

// TestAcceptedMistakes writes the statuses that only the rules about conventions find. kube-apiserver accepts them.
func TestAcceptedMistakes(t *testing.T) {
	server := start(t)
	for i, m := range mistakes(t, "job_conventions") {
		if m.rule == "future-time" {
			continue // Needs the time of the write, which a client doesn't send.
		}
		job := m.job(t, fmt.Sprintf("pi-%d", i))
		if err := server.Create(t.Context(), job); err != nil {
			t.Fatalf("%s: %v", m.rule, err)
		}
		job.Status = m.status(t, m.OldObject.Status)
		if err := server.Status().Update(t.Context(), job); err != nil {
			t.Fatalf("%s: %v", m.rule, err)
		}
		written := check.Unstructured(job, jobKind)
		var status map[string]any
		if err := json.Unmarshal(m.Object.Status, &status); err != nil {
			t.Fatal(err)
		}
		written.Object["status"] = status
		r := recorded.New(t.Context())
		err := managedbyclient.New(r, server.WithWatch).Status().Update(t.Context(), written)
		r.End()
		logs := strings.Join(r.Logs, "\n")
		if err != nil || len(r.Failures) > 0 || !strings.Contains(logs, "Kubernetes 1.32 to 1.37: status.") {
			t.Errorf("%s: %v, failures %q, logs %q", m.rule, err, r.Failures, logs)
		}
		if _, isStored, _ := unstructured.NestedFieldNoCopy(written.Object, "status", "suceeded"); isStored {
			t.Errorf("%s: kube-apiserver stores the unknown field", m.rule)
		}
	}
}

// TestEachMistakeThroughEachClient makes each mistake that kube-apiserver rejects through each checked client. The client returns
// kube-apiserver's text, does not send the status, and the test of the controller fails.
func TestEachMistakeThroughEachClient(t *testing.T) {
	server := start(t)
	jobs := batchv1.SchemeGroupVersion.WithResource("jobs")
	releases := managedby.WithReleases(server.release)
	wrapped := func(r managedbytest.T) *rest.Config {
		config := rest.CopyConfig(server.config)
		config.Wrap(managedbytransport.New(r, releases))
		return config
	}
	clients := map[string]func(r managedbytest.T, stored, written *batchv1.Job) error{
		"controller-runtime": func(r managedbytest.T, _, written *batchv1.Job) error {
			return managedbyclient.New(r, server.WithWatch, releases).Status().Update(t.Context(), written)
		},
		"controller-runtime, fake": func(r managedbytest.T, stored, written *batchv1.Job) error {
			c := clientfake.NewClientBuilder().WithObjects(stored).WithStatusSubresource(stored).
				WithInterceptorFuncs(managedbyclient.Funcs(r, releases)).Build()
			return c.Status().Update(t.Context(), written)
		},
		"clientset": func(r managedbytest.T, _, written *batchv1.Job) error {
			_, err := kubernetes.NewForConfigOrDie(wrapped(r)).BatchV1().Jobs("default").UpdateStatus(t.Context(), written, metav1.UpdateOptions{})
			return err
		},
		"clientset, fake": func(r managedbytest.T, stored, written *batchv1.Job) error {
			c := fake.NewClientset(stored)
			managedbyreactor.Prepend(r, c, releases)
			_, err := c.BatchV1().Jobs("default").UpdateStatus(t.Context(), written, metav1.UpdateOptions{})
			return err
		},
		"dynamic": func(r managedbytest.T, _, written *batchv1.Job) error {
			_, err := dynamic.NewForConfigOrDie(wrapped(r)).Resource(jobs).Namespace("default").UpdateStatus(t.Context(), check.Unstructured(written, jobKind), metav1.UpdateOptions{})
			return err
		},
		"dynamic, fake": func(r managedbytest.T, stored, written *batchv1.Job) error {
			c := dynamicfake.NewSimpleDynamicClient(scheme.Scheme, check.Unstructured(stored, jobKind))
			managedbyreactor.Prepend(r, c, releases)
			_, err := c.Resource(jobs).Namespace("default").UpdateStatus(t.Context(), check.Unstructured(written, jobKind), metav1.UpdateOptions{})
			return err
		},
	}
	compared := 0
	for i, m := range mistakes(t, "job_status") {
		stored := m.job(t, fmt.Sprintf("pi-%d", i))
		if err := server.Create(t.Context(), stored); err != nil {
			t.Fatalf("%s: %v", m.rule, err)
		}
		accepted := stored.DeepCopy()
		// The newest releases don't accept the status before some mistakes. These are then made in the first status.
		if accepted.Status = m.status(t, m.OldObject.Status); server.Status().Update(t.Context(), accepted) == nil {
			stored = accepted
		}
		written := stored.DeepCopy()
		written.Status = m.status(t, m.Object.Status)
		want := server.Status().Update(t.Context(), written.DeepCopy(), client.DryRunAll)
		if want == nil {
			t.Logf("%s: kube-apiserver %s accepts the status", m.rule, server.release)
			continue
		}
		for name, write := range clients {
			r := recorded.New(t.Context())
			err := write(r, stored.DeepCopy(), written.DeepCopy())
			r.End()
			if err == nil || err.Error() != want.Error() {
				t.Errorf("%s, %s: got %v, want %v", m.rule, name, err, want)
			}
			if len(r.Failures) != 1 {
				t.Errorf("%s, %s: failures %q", m.rule, name, r.Failures)
			}
			compared++
		}
		var after batchv1.Job
		if err := server.Get(t.Context(), client.ObjectKeyFromObject(stored), &after); err != nil || after.ResourceVersion != stored.ResourceVersion {
			t.Errorf("%s: written, %v", m.rule, err)
		}
	}
	if compared < 28*len(clients) {
		t.Errorf("compared only %d errors", compared)
	}
}
