//go:build unix

package managedby

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func ptr[T any](value T) *T { return &value }

// statusUpdate returns the states of a Job that finishes, and the request of about size bytes that updates it.
func statusUpdate(tb testing.TB, size int) (old, new *batchv1.Job, request *admissionv1.AdmissionRequest) {
	tb.Helper()
	start := metav1.NewTime(time.Date(2026, 11, 20, 9, 0, 1, 0, time.UTC))
	end := metav1.NewTime(start.Add(5 * time.Minute))
	condition := func(conditionType batchv1.JobConditionType) batchv1.JobCondition {
		return batchv1.JobCondition{Type: conditionType, Status: corev1.ConditionTrue, LastProbeTime: end, LastTransitionTime: end}
	}
	old = &batchv1.Job{
		TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"},
		ObjectMeta: metav1.ObjectMeta{
			Name: "pi", Namespace: "default", UID: "0e6f1f6d-5d5c-4f0e-9a3b-2c3d4e5f6a7b", ResourceVersion: "123456",
			Generation: 2, CreationTimestamp: start, Labels: map[string]string{"kueue.x-k8s.io/queue-name": "team-a"},
		},
		Spec: batchv1.JobSpec{
			ManagedBy: ptr("kueue.x-k8s.io/multikueue"), Parallelism: ptr[int32](3), Completions: ptr[int32](3),
			CompletionMode: ptr(batchv1.IndexedCompletion), BackoffLimit: ptr[int32](6), Suspend: ptr(false),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"batch.kubernetes.io/job-name": "pi"}},
				Spec: corev1.PodSpec{
					Containers: []corev1.Container{{
						Name: "pi", Image: "registry.example.com/team-a/pi:1.2.3",
						Command: []string{"perl", "-Mbignum=bpi", "-wle", "print bpi(2000)"},
						Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
							corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("1Gi"),
						}},
					}},
					RestartPolicy: corev1.RestartPolicyNever,
				},
			},
		},
		Status: batchv1.JobStatus{
			StartTime: &start, Terminating: ptr[int32](1), Ready: ptr[int32](0), Succeeded: 2, CompletedIndexes: "0,2",
			UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{Succeeded: []types.UID{"0e6f1f6d-5d5c-4f0e-9a3b-2c3d4e5f6a7c"}},
			Conditions:              []batchv1.JobCondition{condition(batchv1.JobSuccessCriteriaMet)},
		},
	}
	for {
		new = old.DeepCopy()
		new.Status = batchv1.JobStatus{
			StartTime: &start, CompletionTime: &end, Terminating: ptr[int32](0), Ready: ptr[int32](0), Succeeded: 3, CompletedIndexes: "0-2",
			UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{},
			Conditions:              []batchv1.JobCondition{condition(batchv1.JobSuccessCriteriaMet), condition(batchv1.JobComplete)},
		}
		request = &admissionv1.AdmissionRequest{
			UID: "705ab4f5-6393-11e8-b7cc-42010a800002", Operation: admissionv1.Update, SubResource: StatusSubresource,
			Kind:     metav1.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"},
			Resource: metav1.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"},
			Name:     "pi", Namespace: "default", UserInfo: authenticationv1.UserInfo{Username: "ana"},
		}
		var err error
		if request.Object.Raw, err = json.Marshal(new); err != nil {
			tb.Fatal(err)
		}
		if request.OldObject.Raw, err = json.Marshal(old); err != nil {
			tb.Fatal(err)
		}
		text, err := evaluateInput(request, nil, []byte("{}"))
		if err != nil {
			tb.Fatal(err)
		}
		if len(text)+100 > size {
			return old, new, request
		}
		container := &old.Spec.Template.Spec.Containers[0]
		for range (size-len(text))/400 + 1 {
			i := len(container.Env)
			container.Env = append(container.Env, corev1.EnvVar{Name: fmt.Sprintf("VARIABLE_%d", i), Value: fmt.Sprintf("a value, number %d", i)})
		}
	}
}

var sizes = []struct {
	name  string
	bytes int
}{{"6KB", 6 << 10}, {"118KB", 118 << 10}}

// reportCPU returns a function that reports the CPU time since the call. It depends less on other programs on the machine than
// ns/op.
func reportCPU(b *testing.B) func() {
	spent := func() time.Duration {
		var usage syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
			b.Fatal(err)
		}
		return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	before := spent()
	return func() { b.ReportMetric(float64((spent()-before).Nanoseconds())/float64(b.N), "cpu-ns/op") }
}

// BenchmarkNoop is the baseline: a module that accepts the same requests without reading them.
func BenchmarkNoop(b *testing.B) {
	wasm, err := os.ReadFile(filepath.Join("..", "..", "noop.wasm"))
	if err != nil {
		b.Skipf("needs the module that does nothing: make noop.wasm: %v", err)
	}
	ctx := context.Background()
	m, err := compile(ctx, wazero.NewRuntimeWithConfig(ctx, runtimeConfig()), wasm)
	if err != nil {
		b.Fatal(err)
	}
	for _, size := range sizes {
		_, _, request := statusUpdate(b, size.bytes)
		b.Run(size.name, func(b *testing.B) {
			b.ReportAllocs()
			defer reportCPU(b)()
			for b.Loop() {
				text, err := evaluateInput(request, nil, []byte("{}"))
				if err != nil {
					b.Fatal(err)
				}
				if _, err := m.call(ctx, "validate", text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkReview reviews a request for one release.
func BenchmarkReview(b *testing.B) {
	policy, err := New(b.Context(), WithSettings([]byte(`{"kubernetes_version":"1.37"}`)))
	if err != nil {
		b.Fatal(err)
	}
	for _, size := range sizes {
		_, _, request := statusUpdate(b, size.bytes)
		b.Run(size.name, func(b *testing.B) {
			b.ReportAllocs()
			defer reportCPU(b)()
			for b.Loop() {
				verdict, err := policy.Review(b.Context(), request)
				if err != nil || !verdict.Allowed {
					b.Fatal(verdict, err)
				}
			}
		})
	}
}

// BenchmarkCheckStatusUpdate checks an update of a typed Job, for one release and for all that accept it: 1.31 and newer.
func BenchmarkCheckStatusUpdate(b *testing.B) {
	for _, releases := range []Releases{{V1_37}, AllReleases()[1:]} {
		policy, err := New(b.Context(), WithReleases(releases...))
		if err != nil {
			b.Fatal(err)
		}
		for _, size := range sizes {
			old, new, _ := statusUpdate(b, size.bytes)
			b.Run(fmt.Sprintf("%s/releases=%d", size.name, len(releases)), func(b *testing.B) {
				b.ReportAllocs()
				defer reportCPU(b)()
				for b.Loop() {
					findings, err := policy.CheckStatusUpdate(b.Context(), old, new)
					if err != nil || findings.Err() != nil {
						b.Fatal(findings, err)
					}
				}
			})
		}
	}
}

// BenchmarkLoad compiles the module, as the first New in a process does.
func BenchmarkLoad(b *testing.B) {
	defer reportCPU(b)()
	for b.Loop() {
		m, err := load(context.Background(), wasm)
		if err != nil {
			b.Fatal(err)
		}
		if err := m.runtime.Close(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkInstance creates an instance, as a call does if none is idle.
func BenchmarkInstance(b *testing.B) {
	m, err := loaded()
	if err != nil {
		b.Fatal(err)
	}
	defer reportCPU(b)()
	for b.Loop() {
		i, err := newInstance(b.Context(), m)
		if err != nil {
			b.Fatal(err)
		}
		if err := i.close(); err != nil {
			b.Fatal(err)
		}
	}
}
