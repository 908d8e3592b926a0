// Package ginkgo_test runs a suite like the one that kubebuilder scaffolds, with failing specs, and checks its output.
package ginkgo_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/managed-by-policy/managed-by-policy/go/managedbyclient"
	"github.com/managed-by-policy/managed-by-policy/go/managedbytest"
)

var _ = Describe("the reconciler", func() {
	runner := "acme.io/runner"
	var c client.Client
	var job *batchv1.Job
	BeforeEach(func() {
		job = &batchv1.Job{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "pi"},
			Spec:       batchv1.JobSpec{ManagedBy: &runner},
		}
		k8sClient := fake.NewClientBuilder().WithObjects(job).Build()
		c = managedbyclient.New(GinkgoT(), k8sClient, managedbytest.WithFailHandler(Fail))
		if err := c.Get(GinkgoT().Context(), client.ObjectKeyFromObject(job), job); err != nil {
			Fail(err.Error())
		}
	})
	// write writes a status that a release denies.
	write := func(ready int32) error {
		job.Status.Ready = &ready
		return c.Status().Update(GinkgoT().Context(), job) // the line in the summary
	}
	It("writes a status", func() {
		if err := write(1); !apierrors.IsInvalid(err) {
			Fail(fmt.Sprint(err))
		}
		fmt.Println("continues after the first finding")
		_ = write(2)
	})
	It("writes a status in a goroutine", func() {
		done := make(chan error)
		go func() { done <- write(3) }()
		if err := <-done; !apierrors.IsInvalid(err) {
			Fail(fmt.Sprint(err))
		}
	})
	It("writes nothing", func() {})
})

func TestFindingsAreInTheSummary(t *testing.T) {
	if os.Getenv("RUN_SPECS") != "" {
		RunSpecs(t, "Controller Suite")
		return
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	suite := exec.CommandContext(t.Context(), program, "-test.run", "^TestFindingsAreInTheSummary$", "-ginkgo.no-color")
	suite.Env = append(os.Environ(), "RUN_SPECS=yes")
	text, err := suite.CombinedOutput()
	output := string(text)
	if err == nil || strings.Contains(output, "PANICKED") {
		t.Fatalf("the suite passed or panicked: %s", output)
	}
	source, err := os.ReadFile("ginkgo_test.go")
	if err != nil {
		t.Fatal(err)
	}
	before, _, _ := strings.Cut(string(source), "// the line in the summary")
	line := strings.Count(before, "\n") + 1
	folder, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	_, summary, _ := strings.Cut(output, "Summarizing 3 Failures:")
	location := fmt.Sprintf("%s:%d\n", filepath.Join(folder, "ginkgo_test.go"), line)
	if strings.Count(summary, location) != 2 {
		t.Errorf("the summary does not name %s twice:\n%s", location, summary)
	}
	for _, want := range []string{
		"status.ready: Invalid value: 1: cannot set more ready pods than active", "continues after the first finding",
		"status.ready: Invalid value: 2: cannot set more ready pods than active",
		"status.ready: Invalid value: 3: cannot set more ready pods than active",
		"no write reached the client",
	} {
		if !strings.Contains(output, want) {
			t.Errorf("missing %q:\n%s", want, output)
		}
	}
}
