package envtest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/managed-by-policy/managed-by-policy/go/conformance"
)

// TestConformanceSuite checks that the conformance suite finds the fault of each broken controller, and none in good ones. It needs the command line in target/debug.
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
			Config: server.config, Namespace: "default", Controller: controllerName, AuditLog: os.DevNull, Program: program, Timeout: time.Second,
		})
		if err == nil || !strings.Contains(err.Error(), "0 accepted writes to the Jobs, but a watch had 9") {
			t.Errorf("got %v", err)
		}
	})
	for _, member := range population {
		t.Run(member.name, func(t *testing.T) {
			t.Parallel()
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: member.name}}
			if err := server.Create(t.Context(), namespace); err != nil {
				t.Fatal(err)
			}
			config := rest.CopyConfig(server.config)
			config.UserAgent = "managed-by-conformance"
			controller := newController(kubernetes.NewForConfigOrDie(config).BatchV1().Jobs(member.name))
			member.change(controller)
			go controller.start(t.Context())
			report, _, err := conformance.Run(t.Context(), conformance.Options{
				Config: server.config, Namespace: member.name, Controller: controllerName, AuditLog: auditLog, Program: program, Seed: 1,
				Labels: map[string]string{"acme.io/queue": "default"}, Timeout: 25 * time.Second, Log: t.Logf,
			})
			if err != nil {
				t.Fatal(err)
			}
			test := report.Tests[0]
			expected := conformance.Success
			if member.want != nil {
				expected = conformance.Failure
			}
			if test.Result != expected {
				t.Errorf("%s, missing %v", test.Result, test.Missing)
			}
			found := map[string]bool{}
			for _, finding := range test.Findings {
				text := strings.Join([]string{finding.Type, finding.Rule, finding.Message}, " ")
				i := slices.IndexFunc(member.want, func(part string) bool { return strings.Contains(text, part) })
				if i < 0 {
					t.Errorf("unexpected: %s: %s", finding.Job, text)
				} else {
					found[member.want[i]] = true
				}
			}
			for _, part := range member.want {
				if !found[part] {
					t.Errorf("not found: %s", part)
				}
			}
		})
	}
}
