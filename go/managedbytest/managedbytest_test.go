package managedbytest_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/managed-by-policy/managed-by-policy/go/internal/recorded"
	"github.com/managed-by-policy/managed-by-policy/go/managedby"
	"github.com/managed-by-policy/managed-by-policy/go/managedbytest"
)

func job(managedBy string, status batchv1.JobStatus) *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "pi", Namespace: "default"},
		Spec:       batchv1.JobSpec{ManagedBy: &managedBy, Suspend: new(bool)},
		Status:     status,
	}
}

const runner = "acme.io/runner"

func TestAssertions(t *testing.T) {
	start := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	ready := int32(1)
	none, running := job(runner, batchv1.JobStatus{}), job(runner, batchv1.JobStatus{StartTime: &start, Active: 1, Ready: &ready})
	tooReady := job(runner, batchv1.JobStatus{Ready: &ready})
	suspendedTwice := []batchv1.JobCondition{{Type: "Suspended", Status: "True"}, {Type: "Suspended", Status: "False"}}
	duplicate := job(runner, batchv1.JobStatus{Conditions: suspendedTwice})
	invalid := none.DeepCopy()
	invalid.Spec.Suspend, invalid.Spec.Parallelism, invalid.Spec.Template.Spec.RestartPolicy = nil, new(int32), corev1.RestartPolicyAlways
	*invalid.Spec.Parallelism = -1
	suspended := none.DeepCopy()
	*suspended.Spec.Suspend = true
	moved := suspended.DeepCopy()
	moved.Spec.Template.Spec.NodeSelector = map[string]string{"pool": "b"}

	for _, test := range []struct {
		name   string
		assert func(managedbytest.T) bool
		fails  string
		logs   string
	}{
		{"an accepted status", func(t managedbytest.T) bool {
			return managedbytest.AssertStatusUpdate(t, none, running, managedby.AllReleases())
		}, "", ""},
		{"a denied status", func(t managedbytest.T) bool {
			return managedbytest.AssertStatusUpdate(t, none, tooReady, managedby.AllReleases())
		}, `Update of the status of Job default/pi:
    Kubernetes 1.31 to 1.37: Job.batch "pi" is invalid: status.ready: Invalid value: 1: cannot set more ready pods than active
    job-status/ready-exceeds-active: https://github.com/managed-by-policy/managed-by-policy/blob/v` + managedby.Version + `/crates/managed-by/src/rule/job_status/ready-exceeds-active.md`, ""},
		{"a status that a release accepts", func(t managedbytest.T) bool {
			return managedbytest.AssertStatusUpdate(t, none, tooReady, managedby.Releases{managedby.V1_30})
		}, "", ""},
		{"a typo, which only warns", func(t managedbytest.T) bool {
			return managedbytest.AssertCreate(t, job("kubernetes.io/job-controler", batchv1.JobStatus{}), managedby.AllReleases())
		}, "", `Create of Job default/pi: Kubernetes 1.30 to 1.37: spec.managedBy: `},
		{"a status that is accepted and still wrong", func(t managedbytest.T) bool {
			return managedbytest.AssertStatusUpdate(t, none, duplicate, managedby.AllReleases())
		}, "", `Update of the status of Job default/pi: Kubernetes 1.30 to 1.37: status.conditions[1].type: Duplicate value: "Suspended"`},
		{"a change of the field", func(t managedbytest.T) bool {
			return managedbytest.AssertUpdate(t, none, job("acme.io/other", batchv1.JobStatus{}), managedby.Releases{managedby.V1_36})
		}, `Update of Job default/pi:
    Kubernetes 1.36 from 1.36.2: Job.batch "pi" is invalid: spec.managedBy: Invalid value: "acme.io/other": field is immutable
    managed-by/immutable: https://`, ""},
		{"a Job that kube-apiserver denies for other fields", func(t managedbytest.T) bool {
			return managedbytest.AssertCreate(t, invalid, managedby.AllReleases())
		}, "", "Create of Job default/pi: spec.parallelism: not checked, kube-apiserver may reject it\nCreate of Job default/pi: spec.template: not checked"},
		{"an update that kube-apiserver denies for other fields", func(t managedbytest.T) bool {
			return managedbytest.AssertUpdate(t, none, invalid, managedby.AllReleases())
		}, "", "Update of Job default/pi: spec.parallelism: not checked"},
		{"what early patches of 1.36 deny", func(t managedbytest.T) bool {
			return managedbytest.AssertUpdate(t, suspended, moved, managedby.AllReleases())
		}, `Update of Job default/pi:
    Kubernetes 1.36.0 to 1.36.1: Job.batch "pi" is invalid: spec.template: Invalid value: field is immutable`, "Update of Job default/pi: spec.template: not checked"},
		{"no release", func(t managedbytest.T) bool {
			return managedbytest.AssertStatusUpdate(t, none, running, nil)
		}, "managedby: WithReleases needs a release", ""},
		{"no Job", func(t managedbytest.T) bool {
			return managedbytest.AssertCreate(t, nil, managedby.AllReleases())
		}, "AssertCreate: job is nil", ""},
		{"no new Job", func(t managedbytest.T) bool {
			return managedbytest.AssertStatusUpdate(t, none, nil, managedby.AllReleases())
		}, "AssertStatusUpdate: new is nil: pass the Job that the controller writes", ""},
		{"no old Job", func(t managedbytest.T) bool {
			return managedbytest.AssertStatusUpdate(t, nil, running, managedby.AllReleases())
		}, "AssertStatusUpdate: old is nil: pass the stored Job. Before the first status, that is a Job with an empty status", ""},
		{"a status that the code under test changed in place", func(t managedbytest.T) bool {
			return managedbytest.AssertStatusUpdate(t, tooReady, tooReady, managedby.AllReleases())
		}, "AssertStatusUpdate: old and new are the same object: pass a DeepCopy", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := recorded.New(t.Context())
			ok := test.assert(r)
			if failures := strings.Join(r.Failures, "\n"); ok != (test.fails == "") || !strings.HasPrefix(failures, test.fails) || (failures == "") != ok {
				t.Errorf("assertion returned %t, got failures:\n%s\nwant prefix:\n%s", ok, failures, test.fails)
			}
			if logs := strings.Join(r.Logs, "\n"); !strings.HasPrefix(logs, test.logs) || (logs == "") != (test.logs == "") {
				t.Errorf("logs %q, not %q", logs, test.logs)
			}
		})
	}
}

// TestGuidesShowTheFailure compares the failure in docs/tutorials/controller-test.md and README.md with the printed one.
func TestGuidesShowTheFailure(t *testing.T) {
	start := metav1.NewTime(time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC))
	running := job(runner, batchv1.JobStatus{StartTime: &start, Active: 1})
	forgetful := job(runner, finished(running.Status, start))
	forgetful.Status.Conditions = forgetful.Status.Conditions[1:]
	r := recorded.New(t.Context())
	managedbytest.AssertStatusUpdate(r, running, forgetful, managedby.AllReleases())
	for _, guide := range []string{filepath.Join("..", "..", "docs", "tutorials", "controller-test.md"), filepath.Join("..", "README.md")} {
		text, err := os.ReadFile(guide)
		if err != nil {
			t.Skipf("needs the repository around the module: %v", err)
		}
		for line := range strings.Lines(r.Failures[0]) {
			if !strings.Contains(string(text), strings.TrimSpace(line)) {
				t.Errorf("%s does not show: %s", guide, line)
			}
		}
	}
}

// TestFirstTestOfTheGuide follows docs/tutorials/controller-test.md: the "go mod edit" lines in docs/tasks/install.md, its file, which has a
// mistake, and its fix.
func TestFirstTestOfTheGuide(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "docs", "tutorials", "controller-test.md"))
	if err != nil {
		t.Skipf("needs the repository around the module: %v", err)
	}
	guide := string(text)
	_, after, _ := strings.Cut(guide, "\n```go\n")
	file, _, _ := strings.Cut(after, "\n```\n")
	_, after, _ = strings.Cut(after, "\n```go\n")
	line, _, _ := strings.Cut(after, "\n```\n")
	before, other, found := strings.Cut(file, "\t\tbatchv1.JobCondition{")
	if !found {
		t.Fatalf("the first Go block of docs/tutorials/controller-test.md sets no condition: %s", file)
	}
	fixed := before + "\t\t" + line + "\n\t\tbatchv1.JobCondition{" + other

	module := t.TempDir()
	run := func(program string, arguments ...string) (string, error) {
		command := exec.CommandContext(t.Context(), program, arguments...)
		command.Dir = module
		command.Env = append(os.Environ(), "GOWORK=off")
		output, err := command.CombinedOutput()
		return string(output), err
	}
	save := func(text string) {
		if err := os.WriteFile(filepath.Join(module, "status_test.go"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	steps := [][]string{{"go", "mod", "init", "example.com/controller"}, {"go", "mod", "edit", "-go=1.25"}}
	install, err := os.ReadFile(filepath.Join(root, "docs", "tasks", "install.md"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(install)) {
		if strings.HasPrefix(line, "  go mod edit -replace ") {
			steps = append(steps, strings.Fields(strings.ReplaceAll(line, "../managed-by-policy", root)))
		}
	}
	if len(steps) != 4 {
		t.Fatalf("docs/tasks/install.md must replace two modules: %v", steps)
	}
	// The versions in this module's go.mod, so that the test is reproducible.
	for _, module := range []string{"k8s.io/api", "k8s.io/apimachinery"} {
		version, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Path}}@{{.Version}}", module).Output()
		if err != nil {
			t.Fatal(err)
		}
		steps = append(steps, []string{"go", "mod", "edit", "-require", strings.TrimSpace(string(version))})
	}
	for _, step := range steps {
		if output, err := run(step[0], step[1:]...); err != nil {
			t.Fatalf("%v: %v\n%s", step, err, output)
		}
	}
	save(fixed)
	if output, err := run("go", "test", "-mod=mod", "."); err != nil {
		t.Fatalf("the first test of the guide fails: %v\n%s", err, output)
	}
	save(file)
	output, err := run("go", "test", "-mod=mod", ".")
	if err == nil || !strings.Contains(output, "status.conditions: Invalid value: cannot set Complete=True condition without") {
		t.Errorf("the mistake is not found: %v\n%s", err, output)
	}
}

// finished returns the status that a controller writes for a Job whose pods have succeeded.
func finished(running batchv1.JobStatus, at metav1.Time) batchv1.JobStatus {
	done := *running.DeepCopy()
	done.Active, done.Ready, done.Terminating = 0, new(int32), new(int32)
	done.Succeeded++
	done.CompletionTime = &at
	for _, conditionType := range []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobComplete} {
		done.Conditions = append(done.Conditions, batchv1.JobCondition{Type: conditionType, Status: corev1.ConditionTrue, LastTransitionTime: at})
	}
	return done
}

// In a test t is a *testing.T. Release 1.30 requires a success policy for the condition SuccessCriteriaMet.
func ExampleAssertStatusUpdate() {
	t := recorded.New(context.Background())

	start := metav1.NewTime(time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC))
	old := job(runner, batchv1.JobStatus{StartTime: &start, Active: 1})
	new := job(runner, finished(old.Status, metav1.NewTime(start.Add(time.Hour))))

	fmt.Println(managedbytest.AssertStatusUpdate(t, old, new, managedby.Since(managedby.V1_31)))
	fmt.Println(managedbytest.AssertStatusUpdate(t, old, new, managedby.AllReleases()))
	fmt.Println(t.Failures[0])
	// Output:
	// true
	// false
	// Update of the status of Job default/pi:
	//     Kubernetes 1.30: Job.batch "pi" is invalid: [status.conditions: Invalid value: cannot set SuccessCriteriaMet to NonIndexed Job, status.conditions: Invalid value: cannot set SuccessCriteriaMet=True for Job without SuccessPolicy]
	//     job-status/success-criteria-met-non-indexed: https://github.com/managed-by-policy/managed-by-policy/blob/v0.1.0/crates/managed-by/src/rule/job_status/success-criteria-met-non-indexed.md
	//     job-status/success-criteria-met-without-success-policy: https://github.com/managed-by-policy/managed-by-policy/blob/v0.1.0/crates/managed-by/src/rule/job_status/success-criteria-met-without-success-policy.md
}
