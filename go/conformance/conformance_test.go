package conformance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// write writes a file in a directory of the test, and returns its name.
func write(t *testing.T, name, content string) string {
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReportOfEvaluation(t *testing.T) {
	program := write(t, "managed-by", `#!/bin/sh
cat > /dev/null
cat <<'JSON'
{"releases": ["1.35", "1.36.1", "1.36"], "deniedBy": ["1.36.1"], "rejectedWrites": 0, "unfinished": 0,
 "profiles": [{"profile": "Core", "exercisedIn": ["1.35", "1.36.1"], "missing": [{"id": "start"}]}],
 "deniedObjects": [{"object": "Job.batch team-a/run-fail", "writes": [{"denials": []},
   {"denials": [{"rule": "r", "releases": ["1.36.1"], "message": "m"}]}, {"denials": [{"rule": "r", "releases": ["1.36.1"], "message": "m"}]},
   {"rejected": {"message": "Job.batch \"run-fail\" is invalid: {\"a\": {}}: immutable"}, "repeated": 2, "denials": []}]}]}
JSON
exit 1
`)
	result, err := evaluate(t.Context(), &Options{Program: program}, nil)
	if err != nil {
		t.Fatal(err)
	}
	report := result.testReport(Core, "run", true)
	if report.Result != Partial || report.ConformsTo != "1.35" || strings.Join(report.Missing, ",") != "start" || len(report.Findings) != 2 {
		t.Errorf("got %+v", report)
	}
	if want := (Finding{Type: "denied", Job: "fail", Rule: "r", Releases: "1.36.1", Count: 2, Message: "m"}); report.Findings[0] != want {
		t.Errorf("got %+v, want %+v", report.Findings[0], want)
	}
	if want := (Finding{Type: "rejected", Job: "fail", Count: 3, Message: `Job.batch "fail" is invalid: {...}: immutable`}); report.Findings[1] != want {
		t.Errorf("got %+v, want %+v", report.Findings[1], want)
	}
	result.RejectedWrites = 1
	if report := result.testReport(Core, "run", true); report.Result != Failure || report.ConformsTo != "" {
		t.Errorf("with a rejected write: got %+v", report)
	}
}

func TestIncompleteRecordingIsAnError(t *testing.T) {
	program := write(t, "managed-by", "#!/bin/sh\necho '{\"skipped\": 1}'; echo 'truncated line' >&2; exit 2\n")
	if _, err := evaluate(t.Context(), &Options{Program: program}, nil); err == nil || !strings.Contains(err.Error(), "truncated line") {
		t.Errorf("got %v", err)
	}
}

func TestProfileReport(t *testing.T) {
	report := profileReport([]TestReport{{Name: Core, Result: Success}, {Name: "Indexed", Result: Partial}, {Name: "Suspend", Result: Skipped}})
	const want = "Core: success. Extended features: partial (0 passed, 1 partial, 1 skipped, 0 failed)."
	if report.Summary != want || len(report.Extended.UnsupportedFeatures) != len(Features())-2 {
		t.Errorf("got %+v", report)
	}
}

func TestAuditLogWithoutOtherWrites(t *testing.T) {
	event := func(name, userAgent, code, stage string) string {
		return `{"stage":"` + stage + `","userAgent":"` + userAgent + `","objectRef":{"resource":"jobs","apiGroup":"batch","namespace":"team-a","name":"` + name + `"},"responseStatus":{"code":` + code + `}}`
	}
	path := write(t, "audit.log", strings.Join([]string{
		event("mine", "controller", "200", "ResponseComplete"), event("mine", "controller", "422", "ResponseComplete"),
		event("mine", userAgent, "201", "RequestReceived"), event("mine", userAgent, "403", "ResponseComplete"),
		`{"objectRef":{"resource":"pods","namespace":"team-a","name":"mine"}}`, "not JSON", "",
	}, "\n"))
	records, err := readAuditLog(path, "team-a")
	if err != nil || len(records) != 3 || countAccepted(records) != 1 {
		t.Errorf("got %d records, %d accepted, %v", len(records), countAccepted(records), err)
	}
	if records, err := readAuditLog(path, "team-b"); err != nil || len(records) != 0 {
		t.Errorf("got %d records, %v", len(records), err)
	}
}
