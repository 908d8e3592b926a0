package envtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/managed-by-policy/managed-by-policy/go/conformance"
	"github.com/managed-by-policy/managed-by-policy/go/conformance/examples/broken"
)

// TestConformanceSuite checks that the conformance suite reports exactly the faults of a controller. It needs the command line in target/debug.
func TestConformanceSuite(t *testing.T) {
	auditLog := filepath.Join(t.TempDir(), "audit.log")
	server := start(t, func(environment *envtest.Environment) {
		arguments := environment.ControlPlane.APIServer.Configure()
		arguments.Append("audit-policy-file", "../conformance/audit-policy.yml").Append("audit-log-path", auditLog)
	})
	program, err := filepath.Abs("../../target/debug/managed-by")
	if err == nil {
		_, err = os.Stat(program)
	}
	if err != nil {
		t.Fatalf("build the command line: %v", err)
	}
	t.Run("an incomplete audit log is an error", func(t *testing.T) {
		_, _, err := conformance.Run(t.Context(), conformance.Options{
			Config: server.config, Namespace: "default", Controller: broken.ControllerName, AuditLog: os.DevNull, Program: program, Timeout: time.Second,
		})
		if err == nil || !strings.Contains(err.Error(), "0 accepted writes to the Jobs, but a watch had 2") {
			t.Errorf("got %v", err)
		}
	})
	clients := kubernetes.NewForConfigOrDie(server.config)
	all := conformance.Releases("1.32.6,1.32.9,1.32,1.33.2,1.33.5,1.33,1.34.1,1.34,1.35,1.36.1,1.36,1.37")
	rejected := func(job, rule string) conformance.Finding {
		return conformance.Finding{Type: "rejected", Job: job, Rule: "job-status/" + rule}
	}
	unfinished := func(job, problem string) conformance.Finding {
		return conformance.Finding{Type: "unfinished", Job: job, Message: problem}
	}
	t.Run("group", func(t *testing.T) {
		for _, test := range []struct {
			name     string
			faults   []broken.Fault
			auditLog string
			want     conformance.TestReport
		}{
			{"no-fault", nil, auditLog, conformance.TestReport{Result: conformance.Success, ConformsTo: all}},
			{"no-start-time", []broken.Fault{broken.NoStartTime}, auditLog, conformance.TestReport{
				Findings: []conformance.Finding{
					rejected("complete", "finished-without-start-time"), rejected("fail", "finished-without-start-time"),
					unfinished("complete", "rejected-repeatedly"), unfinished("fail", "rejected-repeatedly"),
				},
			}},
			{"no-failure-target", []broken.Fault{broken.NoFailureTarget}, auditLog, conformance.TestReport{
				Findings: []conformance.Finding{rejected("fail", "failed-without-failure-target"), unfinished("fail", "rejected-repeatedly")},
			}},
			{"counts-backwards", []broken.Fault{broken.CountsBackwards}, auditLog, conformance.TestReport{
				Findings: []conformance.Finding{rejected("fail", "failed-decreased")},
			}},
			// A watch does not show the fault.
			{"counts-backwards-watched", []broken.Fault{broken.CountsBackwards}, "", conformance.TestReport{Result: conformance.Partial, ConformsTo: all}},
			{"gives-up", []broken.Fault{broken.GivesUp}, auditLog, conformance.TestReport{
				Findings: []conformance.Finding{unfinished("fail", "not-finished")},
			}},
		} {
			t.Run(test.name, func(t *testing.T) {
				t.Parallel()
				namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: test.name}}
				if err := server.Create(t.Context(), namespace); err != nil {
					t.Fatal(err)
				}
				controller := &broken.Controller{Jobs: clients.BatchV1().Jobs(test.name), Faults: test.faults}
				go func() { _ = controller.Run(t.Context()) }()
				report, recording, err := conformance.Run(t.Context(), conformance.Options{
					Config: server.config, Namespace: test.name, Controller: broken.ControllerName, AuditLog: test.auditLog, Program: program,
					Timeout: 20 * time.Second, Log: t.Logf,
				})
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%d bytes, %s", len(recording), report.RejectedWrites.String())
				got := report.Tests[0]
				for i := range got.Findings {
					if finding := &got.Findings[i]; finding.Type == "rejected" {
						finding.Count, finding.Message = 0, ""
					}
				}
				test.want.Name = conformance.Core
				if test.want.Result == "" {
					test.want.Result = conformance.Failure
				}
				if diff := cmp.Diff(test.want, got, cmpopts.IgnoreFields(got, "Missing")); diff != "" {
					t.Errorf("%s\nmissing: %v", diff, got.Missing)
				}
			})
		}
	})
}
