package managedby_test

import (
	"context"
	"fmt"
	"log"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/managed-by-policy/managed-by-policy/go/managedby"
)

// A controller completes a Job without the condition SuccessCriteriaMet.
func ExamplePolicy_CheckStatusUpdate() {
	ctx := context.Background()
	policy, err := managedby.New(ctx)
	if err != nil {
		log.Fatal(err)
	}
	controller := "acme.io/runner"
	start := metav1.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	end := metav1.Date(2026, 1, 1, 9, 5, 0, 0, time.UTC)

	old := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "pi"}, Spec: batchv1.JobSpec{ManagedBy: &controller}}
	old.Status.StartTime = &start
	new := old.DeepCopy()
	new.Status.CompletionTime = &end
	new.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}

	findings, err := policy.CheckStatusUpdate(ctx, old, new)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(findings.Err())
	for _, finding := range findings.All {
		fmt.Println(finding.Rule, "at", finding.Path, "in", finding.Releases)
	}
	// Output:
	// Kubernetes 1.31 to 1.37: Job.batch "pi" is invalid: status.conditions: Invalid value: cannot set Complete=True condition without the SuccessCriteriaMet=true condition
	// job-status/complete-without-success-criteria-met at status.conditions in 1.31 to 1.37
}

// The verdict of the policy in a cluster whose settings allow only one controller.
func ExamplePolicy_Review() {
	ctx := context.Background()
	policy, err := managedby.New(ctx, managedby.WithSettings([]byte(`{
		"kubernetes_version": "1.36",
		"controllers": {"kueue.x-k8s.io/multikueue": "any"}
	}`)))
	if err != nil {
		log.Fatal(err)
	}
	verdict, err := policy.Review(ctx, &admissionv1.AdmissionRequest{
		Operation: admissionv1.Create,
		Kind:      metav1.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"},
		Namespace: "team-a",
		Object:    runtime.RawExtension{Raw: []byte(`{"metadata": {"name": "pi"}, "spec": {"managedBy": "kueue.x-k8s.io/multiqueue"}}`)},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(verdict.Allowed, verdict.Code)
	fmt.Println(verdict.Message)
	// Output:
	// false 422
	// Job.batch "pi" is invalid: spec.managedBy: Unsupported value: "kueue.x-k8s.io/multiqueue": allowed for Jobs in namespace "team-a": "kueue.x-k8s.io/multikueue"; did you mean "kueue.x-k8s.io/multikueue"? [managed-by/allowed]
}

// An unstructured object: a JobSet fails after it has completed.
func ExamplePolicy_Check() {
	ctx := context.Background()
	policy, err := managedby.New(ctx)
	if err != nil {
		log.Fatal(err)
	}
	jobSet := func(outcome string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "jobset.x-k8s.io/v1alpha2",
			"kind":       "JobSet",
			"metadata":   map[string]any{"name": "training"},
			"spec":       map[string]any{"managedBy": "kueue.x-k8s.io/multikueue"},
			"status": map[string]any{
				"terminalState": outcome,
				"conditions":    []any{map[string]any{"type": outcome, "status": "True"}},
			},
		}}
	}
	findings, err := policy.Check(ctx, managedby.Change{
		Operation: admissionv1.Update, SubResource: managedby.StatusSubresource,
		OldObject: jobSet("Completed"), Object: jobSet("Failed"),
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, finding := range findings.All {
		fmt.Println(finding.Rule, "at", finding.Path)
	}
	// Output:
	// status/outcome-changed at status.conditions
}
