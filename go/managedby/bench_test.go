package managedby_test

import (
	"fmt"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/managed-by-policy/managed-by-policy/go/managedby"
)

// BenchmarkCheckStatusUpdate checks an update of a small and of a large Job, for one release and for all.
func BenchmarkCheckStatusUpdate(b *testing.B) {
	start := metav1.Now()
	for _, releases := range []managedby.Releases{{managedby.V1_37}, managedby.AllReleases()} {
		policy := newPolicy(b, managedby.WithReleases(releases...))
		for _, kilobytes := range []int{6, 118} {
			old := delegated()
			value := strings.Repeat("x", kilobytes<<9)
			old.Spec.Template.Spec.Containers = []corev1.Container{{Name: "pi", Image: "pi", Env: []corev1.EnvVar{{Name: "X", Value: value}}}}
			new := withStatus(old, batchv1.JobStatus{StartTime: &start, Active: 1})
			b.Run(fmt.Sprintf("%dKB/releases=%d", kilobytes, len(releases)), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if findings, err := policy.CheckStatusUpdate(b.Context(), old, new); err != nil || findings.Err() != nil {
						b.Fatal(findings, err)
					}
				}
			})
		}
	}
}
